"""Faults by the names in ``--fault``: of responses, of watches, and of the cluster itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from fnmatch import fnmatchcase
from typing import Any

from kubectl_eksdoc.errors import UsageError, did_you_mean
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import knowledge
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.quantities import go_duration
from kubectl_eksdoc.simulator import faults as mishaps
from kubectl_eksdoc.simulator.chance import RandomStream, text_fraction
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from kubectl_eksdoc.simulator.faults import FaultNote, InjectedFault, SlowerKubeletTimes
from kubectl_eksdoc.simulator.kubelets import NEVER
from kubectl_eksdoc.simulator.store import NODES, PODS, ObjectKey

from .serving import faults
from .serving.faults import (
    EVICTIONS,
    BrokenConnection,
    CutShort,
    Delayed,
    Dropped,
    DuplicatedRequest,
    Effect,
    Fault,
    FaultMoment,
    SwallowedEviction,
    WatchCut,
    WatchDelayed,
    WatchDoubled,
    WatchExpired,
    WatchSilent,
)
from .serving.requests import ServedRequest

# Registry of faults: name, effect, value, and the base of a share.


ONCE_AT_S = 60.0
"""Time of a cluster fault without a given time: virtual seconds after the start."""


class FaultValueKind(Enum):
    """The value after ``=``: as help shows it, and in words."""

    NOTHING = ("", "nothing")
    SECONDS = ("SECONDS", "a duration such as 5, 30s or 2m")
    EVENTS = ("EVENTS", "a number of events, 0 or more")
    BUDGET = ("BUDGET", "the name of a budget")
    WEBHOOK = ("WEBHOOK", "the name of a webhook, as guard.example.io")
    RESOURCE = ("RESOURCE", "a resource by its plural, as pods or leases.coordination.k8s.io")
    NODE = ("NODE", "the name of a node")
    PODS = ("PODS", "pods as NAMESPACE/NAME, with * for any text")

    def __init__(self, syntax: str, description: str) -> None:
        self.syntax = syntax
        self.description = description


class ShareOf(Enum):
    """The base of a share; `may_be_timed`: a time may be given instead."""

    REQUESTS = "requests"
    PODS = "pods"
    SYNCS = "processes budgets"
    NODES = "new nodes"
    MINUTES = "virtual minutes"

    @property
    def may_be_timed(self) -> bool:
        return self is ShareOf.MINUTES


@frozen
class FaultParameters:
    """The given values: `number` or `text` after ``=`` or their defaults, `share` from 0 to 1, `at_s` of a cluster
    fault that happens once. Randomness depends on `seed` alone."""

    text: str = ""
    number: float = 0.0
    share: float = 1.0
    at_s: float | None = None
    seed: int = 0


FaultFactory = Callable[[FaultParameters], "Fault | InjectedFault"]


@frozen
class FaultName:
    """A record of `knowledge/faults.json`: `default` is a number or a text."""

    name: str
    about: str
    of: ShareOf
    takes: FaultValueKind = FaultValueKind.NOTHING
    default: Any = ""
    rehearsed_only: bool = False

    @property
    def syntax(self) -> str:
        """As typed: ``slow[=SECONDS]``."""
        return f"{self.name}[={self.takes.syntax}]" if self.takes.syntax else self.name

    @property
    def default_text(self) -> str:
        """The default value; "" if there is none."""
        if isinstance(self.default, float):
            return f"{self.default:g}{'s' if self.takes is FaultValueKind.SECONDS else ''}"
        return "" if self.takes is FaultValueKind.NOTHING else self.default or "any"

    @property
    def is_request_fault(self) -> bool:
        """Whether clients meet it, and not the cluster."""
        return self.of is ShareOf.REQUESTS


@frozen
class FaultRequest:
    """A requested fault; `text` as the user wrote it."""

    fault: FaultName
    parameters: FaultParameters
    text: str


FINALIZER = "example.com/never-removed"
CONTROL_PLANE = "control plane"


# Faults of the cluster itself: pods that hang, nodes that are lost, controllers that crash, other clients.


def _is_selected(parameters: FaultParameters, namespace: str, name: str) -> bool:
    key = f"{namespace}/{name}"
    return fnmatchcase(key, parameters.text or "*") and text_fraction(parameters.seed, key) < parameters.share


def _pod_filter(parameters: FaultParameters) -> Callable[[Pod], bool]:
    """Return a filter of the selected pods, reduced to the share: by hash of their names, so that it is the same in
    every run."""
    return lambda pod: _is_selected(parameters, pod.namespace, pod.name)


def _hanging(start_s: float = 0.0, stop_s: float = 0.0) -> Callable[[FaultParameters], InjectedFault]:
    return lambda given: InjectedFault(
        adjust_times=lambda pace: SlowerKubeletTimes(pace, _pod_filter(given), start_s, stop_s)
    )


def _slow(parameters: FaultParameters) -> InjectedFault:
    return InjectedFault(adjust_times=lambda pace: SlowerKubeletTimes(pace, _pod_filter(parameters), parameters.number))


def _finalizer_fault(parameters: FaultParameters) -> InjectedFault:
    """Add a finalizer to pods that exist at the start; later pods are left to their controllers."""

    def hold(plane: ControlPlane, chance: RandomStream, note: FaultNote) -> None:
        selected = [pod for pod in plane.store.list(PODS) if _is_selected(parameters, *pod.key)]
        changed = [pod for pod in selected if mishaps.add_finalizer(plane, pod, FINALIZER)]
        if len(changed) == 1:
            note(_pod(changed[0].key), f"has the finalizer {FINALIZER}")
        elif changed:
            note(f"{len(changed)} pods", f"have the finalizer {FINALIZER}")

    return InjectedFault(hold, at_s=0.0)


def _late_budgets(parameters: FaultParameters) -> InjectedFault:
    chance = RandomStream(parameters.seed)
    return InjectedFault(extra_delay_s=lambda: parameters.number if chance.next_fraction() < parameters.share else 0.0)


def _no_new_nodes(parameters: FaultParameters) -> InjectedFault:
    chance = RandomStream(parameters.seed)
    return InjectedFault(joins=lambda: chance.next_fraction() >= parameters.share)


def _node_fault(apply: Callable[[ControlPlane, str, FaultNote], object]) -> Callable[[FaultParameters], InjectedFault]:
    """Apply a fault to the given node, or to a random one."""

    def make(parameters: FaultParameters) -> InjectedFault:
        def happen(plane: ControlPlane, chance: RandomStream, note: FaultNote) -> None:
            names = [parameters.text] if parameters.text else [item.key[1] for item in plane.store.list(NODES)]
            if names:
                apply(plane, chance.choose(names), note)

        return InjectedFault(happen, parameters.at_s, parameters.share)

    return make


def _noted_node_fault(
    apply: Callable[[ControlPlane, str], bool], note_text: str
) -> Callable[[FaultParameters], InjectedFault]:
    def happen(plane: ControlPlane, node: str, note: FaultNote) -> None:
        if apply(plane, node):
            note(node, note_text)

    return _node_fault(happen)


def _add_node(plane: ControlPlane, like: str, note: FaultNote) -> None:
    name = mishaps.autoscaler_add(plane, like)
    if name:
        note(name, f"was added by an autoscaler, like {like}")


def _pod_deletion(parameters: FaultParameters) -> InjectedFault:
    def happen(plane: ControlPlane, chance: RandomStream, note: FaultNote) -> None:
        pods = [pod.key for pod in plane.store.list(PODS) if fnmatchcase(_pod(pod.key), parameters.text or "*")]
        if pods and mishaps.delete_pod(plane, *(key := chance.choose(pods))):
            note(_pod(key), "was deleted by another client")

    return InjectedFault(happen, parameters.at_s, parameters.share)


def _controller_restart(parameters: FaultParameters) -> InjectedFault:
    def happen(plane: ControlPlane, chance: RandomStream, note: FaultNote) -> None:
        plane.restart()
        note(CONTROL_PLANE, "has crashed and restarted")

    return InjectedFault(happen, parameters.at_s, parameters.share)


def _pod(key: ObjectKey) -> str:
    return f"{key[0]}/{key[1]}"


CLUSTER_FAULTS: Mapping[str, FaultFactory] = {
    "silent-pods": _hanging(stop_s=NEVER),
    "stuck-pods": lambda given: InjectedFault(is_stuck=_pod_filter(given)),
    "stuck-finalizers": _finalizer_fault,
    "slow-pods": _slow,
    "endless-pulls": _hanging(start_s=NEVER),
    "budgets-late": _late_budgets,
    "same-name-hold": lambda given: InjectedFault(misses_deletion=_pod_filter(given)),
    "no-new-nodes": _no_new_nodes,
    "node-not-ready": _noted_node_fault(mishaps.mark_unreachable, "is NotReady: its kubelet is not heard of"),
    "node-gone": _noted_node_fault(mishaps.delete_node, "is gone with its instance"),
    "autoscaler-adds": _node_fault(_add_node),
    "autoscaler-removes": _node_fault(
        lambda plane, node, note: mishaps.autoscaler_remove(plane, node, lambda what: note(node, what))
    ),
    "controllers-restart": _controller_restart,
    "other-cordons": _noted_node_fault(mishaps.set_cordon, "was cordoned by another client"),
    "other-uncordons": _noted_node_fault(mishaps.uncordon, "was uncordoned by another client"),
    "other-drains": _noted_node_fault(mishaps.drain_node, "was drained by another client"),
    "pod-deleted": _pod_deletion,
}


UPDATES = "PUT|PATCH"
WRITES = "POST|PUT|PATCH|DELETE"


def _any_request(
    effect: Callable[[FaultParameters], Effect | Callable[[ServedRequest], Effect | None]],
) -> Callable[[FaultParameters], Fault]:
    return lambda given: Fault(effect(given), share=given.share)


def _eviction_fault(effect: Callable[[FaultParameters], Effect]) -> Callable[[FaultParameters], Fault]:
    return lambda given: Fault(effect(given), EVICTIONS, "POST", share=given.share)


def _write_fault(effect: Callable[[FaultParameters], Effect]) -> Callable[[FaultParameters], Fault]:
    return lambda given: Fault(effect(given), method=WRITES, share=given.share)


REQUEST_FAULTS: Mapping[str, FaultFactory] = {
    "throttled": _any_request(lambda given: faults.throttled_response(max(1, round(given.number)))),
    "over-budget": _eviction_fault(lambda given: faults.budget_response(given.text)),
    "budget-unseen": _eviction_fault(lambda given: faults.budget_processing(given.text)),
    "server-error": _any_request(lambda given: faults.server_error()),
    "unavailable": _any_request(lambda given: faults.server_error(503)),
    "server-timeout": _any_request(lambda given: faults.timeout_response()),
    "conflict": lambda given: Fault(faults.conflict_for, method=UPDATES, share=given.share),
    "list-expired": lambda given: Fault(faults.expired_list_for, method="GET", watches=False, share=given.share),
    "forbidden": _any_request(lambda given: faults.forbidden_for(given.text)),
    "denied": _write_fault(lambda given: faults.webhook_denial(given.text, "not today")),
    "webhook-down": _write_fault(lambda given: faults.webhook_failure(given.text)),
    "slow": _any_request(lambda given: Delayed(given.number)),
    "unanswered": _any_request(lambda given: Dropped()),
    "reset": _any_request(lambda given: BrokenConnection()),
    "answer-lost": _any_request(lambda given: BrokenConnection(FaultMoment.AFTER)),
    "cut-short": _any_request(lambda given: CutShort()),
    "repeated": _write_fault(lambda given: DuplicatedRequest()),
    "swallowed": _eviction_fault(lambda given: SwallowedEviction()),
}


# Faults of watches.


def _watch_fault(effect: Callable[[FaultParameters], Effect]) -> Callable[[FaultParameters], Fault]:
    return lambda given: Fault(effect(given), watches=True, share=given.share)


WATCH_FAULTS: Mapping[str, FaultFactory] = {
    "watch-cut": _watch_fault(lambda given: WatchCut(int(given.number))),
    "watch-expired": _watch_fault(lambda given: WatchExpired(int(given.number))),
    "watch-late": _watch_fault(lambda given: WatchDelayed(given.number)),
    "watch-doubled": _watch_fault(lambda given: WatchDoubled()),
    "watch-silent": _watch_fault(lambda given: WatchSilent()),
}


# All faults by name, and the parser of requested faults: ``NAME[=VALUE][@SHARE or @TIME]``.


_FACTORIES = {**REQUEST_FAULTS, **WATCH_FAULTS, **CLUSTER_FAULTS}
ALL_FAULTS = tuple(knowledge.from_json(FaultName, each) for each in knowledge.knowledge_file("faults")["records"])
FAULTS_BY_NAME = {named.name: named for named in ALL_FAULTS}

HINT = "All of them: kubectl eksdoc rehearse --fault list"

_TEXTS = {
    FaultValueKind.BUDGET: re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?"),
    FaultValueKind.WEBHOOK: re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?"),
    FaultValueKind.NODE: re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?"),
    FaultValueKind.RESOURCE: re.compile(r"[a-z]+(\.[-a-z0-9.]+)?"),
    FaultValueKind.PODS: re.compile(r"[-a-z0-9*]+/[-a-z0-9.*]+"),
}
_LONGEST_S = 86_400.0


@frozen
class FaultSet:
    """The requested faults, built: those of requests, and those of the cluster."""

    requests: tuple[Fault, ...] = ()
    cluster: tuple[InjectedFault, ...] = ()


def parse_fault(text: str) -> FaultRequest:
    """Parse one fault.

    Raises:
        UsageError: there is no such fault, or its value is invalid.
    """
    head, separator, share_or_time = text.partition("@")
    name, equals, value = head.partition("=")
    named = FAULTS_BY_NAME.get(name)
    if named is None:
        raise UsageError(f"{name!r} is no fault{_similar_names(name)}", HINT)
    parameters = FaultParameters(at_s=ONCE_AT_S if named.of.may_be_timed else None)
    if equals:
        parameters = _with_value(named, parameters, value)
    else:
        parameters = _with_default(named, parameters)
    return FaultRequest(named, _with_share_or_time(named, parameters, share_or_time) if separator else parameters, text)


def build_faults(requests: Sequence[FaultRequest], seed: int) -> FaultSet:
    """Build the faults, each with its own random sequence, which depends on `seed` and its position."""
    effects = [
        _FACTORIES[each.fault.name](replace(each.parameters, seed=seed * 1000 + i)) for i, each in enumerate(requests)
    ]
    return FaultSet(
        tuple(each for each in effects if isinstance(each, Fault)),
        tuple(each for each in effects if isinstance(each, InjectedFault)),
    )


def check_nodes(requests: Iterable[FaultRequest], nodes: Collection[str]) -> None:
    """Check the nodes that faults name.

    Raises:
        UsageError: a fault names a node that does not exist.
    """
    for request in requests:
        node = request.parameters.text
        if request.fault.takes is FaultValueKind.NODE and node and node not in nodes:
            raise UsageError(f"--fault {request.text}: there is no node {node!r}{did_you_mean(node, nodes)}")


def _similar_names(name: str) -> str:
    """Suggest similar names; for a status code the faults that respond with it."""
    answering = [each.name for each in ALL_FAULTS if name and each.about.startswith(name)]
    return f" (did you mean {' or '.join(answering)}?)" if answering else did_you_mean(name, FAULTS_BY_NAME)


def _with_default(named: FaultName, parameters: FaultParameters) -> FaultParameters:
    if isinstance(named.default, str):
        return replace(parameters, text=named.default)
    return replace(parameters, number=named.default)


def _with_value(named: FaultName, parameters: FaultParameters, value: str) -> FaultParameters:
    value_kind = named.takes
    if value_kind is FaultValueKind.NOTHING:
        raise UsageError(f"{named.name} takes no value, and {value!r} is one", HINT)
    usage_error = UsageError(f"{named.name} takes {value_kind.description}, not {value!r}", HINT)
    if value_kind is FaultValueKind.EVENTS:
        if not re.fullmatch(r"[0-9]{1,9}", value):
            raise usage_error
        return replace(parameters, number=float(value))
    if value_kind is FaultValueKind.SECONDS:
        return replace(parameters, number=_seconds(value, usage_error))
    if not _TEXTS[value_kind].fullmatch(value):
        raise usage_error
    return replace(parameters, text=value)


def _with_share_or_time(named: FaultName, parameters: FaultParameters, text: str) -> FaultParameters:
    """Parse a share, or the time of a cluster fault."""
    or_time = " or a time such as @90s" if named.of.may_be_timed else ""
    usage_error = UsageError(f"{named.name} takes a share of {named.of.value} as @5%{or_time}, not @{text}", HINT)
    if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?%", text):
        share = float(text[:-1]) / 100
        if share > 1:
            raise usage_error
        return replace(parameters, share=share, at_s=None)
    if not named.of.may_be_timed:
        raise usage_error
    return replace(parameters, at_s=_seconds(text, usage_error))


def _seconds(text: str, usage_error: UsageError) -> float:
    """Parse ``5``, ``30s``, ``2m``: a bare number is in seconds."""
    bare = re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text)
    parsed_duration = go_duration(f"{text}s" if bare else text)
    if parsed_duration is None or not 0 <= parsed_duration.total_seconds() <= _LONGEST_S:
        raise usage_error
    return parsed_duration.total_seconds()
