"""Faults by the names in ``--fault``: of responses, of watches, and of the cluster itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from fnmatch import fnmatchcase
from typing import Any

from kubectl_eksdoc.errors import UsageError, maybe
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import knowledge
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.quantities import go_duration
from kubectl_eksdoc.simulator import faults as mishaps
from kubectl_eksdoc.simulator.chance import Chance, of_text
from kubectl_eksdoc.simulator.faults import Note, Slower, TimedMishap
from kubectl_eksdoc.simulator.kubelets import NEVER
from kubectl_eksdoc.simulator.plane import ControlPlane
from kubectl_eksdoc.simulator.store import NODES, PODS, Key

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

    def __init__(self, shown: str, words: str) -> None:
        self.shown = shown
        self.words = words


class ShareOf(Enum):
    """The base of a share; `may_be_timed`: a time may be given instead."""

    REQUESTS = "requests"
    PODS = "pods"
    SYNCS = "processes budgets"
    NODES = "new nodes"
    MINUTES = "virtual minutes"

    @property
    def timed(self) -> bool:
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


MakeFault = Callable[[FaultParameters], "Fault | TimedMishap"]


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
    def shown(self) -> str:
        """As typed: ``slow[=SECONDS]``."""
        return f"{self.name}[={self.takes.shown}]" if self.takes.shown else self.name

    @property
    def default_shown(self) -> str:
        """The default value; "" if there is none."""
        if isinstance(self.default, float):
            return f"{self.default:g}{'s' if self.takes is FaultValueKind.SECONDS else ''}"
        return "" if self.takes is FaultValueKind.NOTHING else self.default or "any"

    @property
    def of_requests(self) -> bool:
        """Whether clients meet it, and not the cluster."""
        return self.of is ShareOf.REQUESTS


@frozen
class FaultRequest:
    """A requested fault; `text` as the user wrote it."""

    named: FaultName
    given: FaultParameters
    text: str


FINALIZER = "example.com/never-removed"
CONTROL_PLANE = "control plane"


# Faults of the cluster itself: pods that hang, nodes that are lost, controllers that crash, other clients.


def _is(given: FaultParameters, namespace: str, name: str) -> bool:
    key = f"{namespace}/{name}"
    return fnmatchcase(key, given.text or "*") and of_text(given.seed, key) < given.share


def _some(given: FaultParameters) -> Callable[[Pod], bool]:
    """Return a filter of the selected pods, reduced to the share: by hash of their names, so that it is the same in
    every run."""
    return lambda pod: _is(given, pod.namespace, pod.name)


def _hanging(start_s: float = 0.0, stop_s: float = 0.0) -> Callable[[FaultParameters], TimedMishap]:
    return lambda given: TimedMishap(paced=lambda pace: Slower(pace, _some(given), start_s, stop_s))


def _slow(given: FaultParameters) -> TimedMishap:
    return TimedMishap(paced=lambda pace: Slower(pace, _some(given), given.number))


def _held(given: FaultParameters) -> TimedMishap:
    """Add a finalizer to pods that exist at the start; later pods are left to their controllers."""

    def hold(plane: ControlPlane, chance: Chance, note: Note) -> None:
        meant = [pod for pod in plane.store.list(PODS) if _is(given, *pod.key)]
        held = [pod for pod in meant if mishaps.hold(plane, pod, FINALIZER)]
        if len(held) == 1:
            note(_pod(held[0].key), f"has the finalizer {FINALIZER}")
        elif held:
            note(f"{len(held)} pods", f"have the finalizer {FINALIZER}")

    return TimedMishap(hold, at_s=0.0)


def _late(given: FaultParameters) -> TimedMishap:
    chance = Chance(given.seed)
    return TimedMishap(late_s=lambda: given.number if chance.next() < given.share else 0.0)


def _absent(given: FaultParameters) -> TimedMishap:
    chance = Chance(given.seed)
    return TimedMishap(joins=lambda: chance.next() >= given.share)


def _to_a_node(do: Callable[[ControlPlane, str, Note], object]) -> Callable[[FaultParameters], TimedMishap]:
    """Apply a fault to the given node, or to a random one."""

    def make(given: FaultParameters) -> TimedMishap:
        def happen(plane: ControlPlane, chance: Chance, note: Note) -> None:
            names = [given.text] if given.text else [item.key[1] for item in plane.store.list(NODES)]
            if names:
                do(plane, chance.one_of(names), note)

        return TimedMishap(happen, given.at_s, given.share)

    return make


def _on_a_node(do: Callable[[ControlPlane, str], bool], what: str) -> Callable[[FaultParameters], TimedMishap]:
    def happen(plane: ControlPlane, node: str, note: Note) -> None:
        if do(plane, node):
            note(node, what)

    return _to_a_node(happen)


def _add(plane: ControlPlane, like: str, note: Note) -> None:
    name = mishaps.add(plane, like)
    if name:
        note(name, f"was added by an autoscaler, like {like}")


def _deleted(given: FaultParameters) -> TimedMishap:
    def happen(plane: ControlPlane, chance: Chance, note: Note) -> None:
        pods = [pod.key for pod in plane.store.list(PODS) if fnmatchcase(_pod(pod.key), given.text or "*")]
        if pods and mishaps.delete(plane, *(key := chance.one_of(pods))):
            note(_pod(key), "was deleted by another client")

    return TimedMishap(happen, given.at_s, given.share)


def _restarted(given: FaultParameters) -> TimedMishap:
    def happen(plane: ControlPlane, chance: Chance, note: Note) -> None:
        plane.restart()
        note(CONTROL_PLANE, "has crashed and restarted")

    return TimedMishap(happen, given.at_s, given.share)


def _pod(key: Key) -> str:
    return f"{key[0]}/{key[1]}"


CLUSTERS: Mapping[str, MakeFault] = {
    "silent-pods": _hanging(stop_s=NEVER),
    "stuck-pods": lambda given: TimedMishap(stuck=_some(given)),
    "stuck-finalizers": _held,
    "slow-pods": _slow,
    "endless-pulls": _hanging(start_s=NEVER),
    "budgets-late": _late,
    "same-name-hold": lambda given: TimedMishap(missed=_some(given)),
    "no-new-nodes": _absent,
    "node-not-ready": _on_a_node(mishaps.lose, "is NotReady: its kubelet is not heard of"),
    "node-gone": _on_a_node(mishaps.disappear, "is gone with its instance"),
    "autoscaler-adds": _to_a_node(_add),
    "autoscaler-removes": _to_a_node(
        lambda plane, node, note: mishaps.remove(plane, node, lambda what: note(node, what))
    ),
    "controllers-restart": _restarted,
    "other-cordons": _on_a_node(mishaps.cordon, "was cordoned by another client"),
    "other-uncordons": _on_a_node(mishaps.uncordon, "was uncordoned by another client"),
    "other-drains": _on_a_node(mishaps.drain, "was drained by another client"),
    "pod-deleted": _deleted,
}


UPDATES = "PUT|PATCH"
WRITES = "POST|PUT|PATCH|DELETE"


def _any(
    effect: Callable[[FaultParameters], Effect | Callable[[ServedRequest], Effect | None]],
) -> Callable[[FaultParameters], Fault]:
    return lambda given: Fault(effect(given), share=given.share)


def _evicting(effect: Callable[[FaultParameters], Effect]) -> Callable[[FaultParameters], Fault]:
    return lambda given: Fault(effect(given), EVICTIONS, "POST", share=given.share)


def _writing(effect: Callable[[FaultParameters], Effect]) -> Callable[[FaultParameters], Fault]:
    return lambda given: Fault(effect(given), method=WRITES, share=given.share)


REQUESTS: Mapping[str, MakeFault] = {
    "throttled": _any(lambda given: faults.throttled(max(1, round(given.number)))),
    "over-budget": _evicting(lambda given: faults.over_budget(given.text)),
    "budget-unseen": _evicting(lambda given: faults.processing(given.text)),
    "server-error": _any(lambda given: faults.broken()),
    "unavailable": _any(lambda given: faults.broken(503)),
    "server-timeout": _any(lambda given: faults.timed_out()),
    "conflict": lambda given: Fault(faults.conflicting, method=UPDATES, share=given.share),
    "list-expired": lambda given: Fault(faults.expiring_answer, method="GET", watches=False, share=given.share),
    "forbidden": _any(lambda given: faults.forbidding(given.text)),
    "denied": _writing(lambda given: faults.denied(given.text, "not today")),
    "webhook-down": _writing(lambda given: faults.webhook_down(given.text)),
    "slow": _any(lambda given: Delayed(given.number)),
    "unanswered": _any(lambda given: Dropped()),
    "reset": _any(lambda given: BrokenConnection()),
    "answer-lost": _any(lambda given: BrokenConnection(FaultMoment.AFTER)),
    "cut-short": _any(lambda given: CutShort()),
    "repeated": _writing(lambda given: DuplicatedRequest()),
    "swallowed": _evicting(lambda given: SwallowedEviction()),
}


# Faults of watches.


def _watching(effect: Callable[[FaultParameters], Effect]) -> Callable[[FaultParameters], Fault]:
    return lambda given: Fault(effect(given), watches=True, share=given.share)


WATCHES: Mapping[str, MakeFault] = {
    "watch-cut": _watching(lambda given: WatchCut(int(given.number))),
    "watch-expired": _watching(lambda given: WatchExpired(int(given.number))),
    "watch-late": _watching(lambda given: WatchDelayed(given.number)),
    "watch-doubled": _watching(lambda given: WatchDoubled()),
    "watch-silent": _watching(lambda given: WatchSilent()),
}


# All faults by name, and the parser of requested faults: ``NAME[=VALUE][@SHARE or @TIME]``.


_MAKES = {**REQUESTS, **WATCHES, **CLUSTERS}
ALL = tuple(knowledge.made(FaultName, each) for each in knowledge.file("faults")["records"])
BY_NAME = {named.name: named for named in ALL}

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
    cluster: tuple[TimedMishap, ...] = ()


def parse(text: str) -> FaultRequest:
    """Parse one fault.

    Raises:
        UsageError: there is no such fault, or its value is invalid.
    """
    head, at, when = text.partition("@")
    name, equals, value = head.partition("=")
    named = BY_NAME.get(name)
    if named is None:
        raise UsageError(f"{name!r} is no fault{_near(name)}", HINT)
    given = FaultParameters(at_s=ONCE_AT_S if named.of.timed else None)
    if equals:
        given = _with_value(named, given, value)
    else:
        given = _by_default(named, given)
    return FaultRequest(named, _when(named, given, when) if at else given, text)


def made(asked: Sequence[FaultRequest], seed: int) -> FaultSet:
    """Build the faults, each with its own random sequence, which depends on `seed` and its position."""
    effects = [_MAKES[each.named.name](replace(each.given, seed=seed * 1000 + i)) for i, each in enumerate(asked)]
    return FaultSet(
        tuple(each for each in effects if isinstance(each, Fault)),
        tuple(each for each in effects if isinstance(each, TimedMishap)),
    )


def check_nodes(asked: Iterable[FaultRequest], nodes: Collection[str]) -> None:
    """Check the nodes that faults name.

    Raises:
        UsageError: a fault names a node that does not exist.
    """
    for each in asked:
        node = each.given.text
        if each.named.takes is FaultValueKind.NODE and node and node not in nodes:
            raise UsageError(f"--fault {each.text}: there is no node {node!r}{maybe(node, nodes)}")


def _near(name: str) -> str:
    """Suggest similar names; for a status code the faults that respond with it."""
    answering = [each.name for each in ALL if name and each.about.startswith(name)]
    return f" (did you mean {' or '.join(answering)}?)" if answering else maybe(name, BY_NAME)


def _by_default(named: FaultName, given: FaultParameters) -> FaultParameters:
    if isinstance(named.default, str):
        return replace(given, text=named.default)
    return replace(given, number=named.default)


def _with_value(named: FaultName, given: FaultParameters, value: str) -> FaultParameters:
    takes = named.takes
    if takes is FaultValueKind.NOTHING:
        raise UsageError(f"{named.name} takes no value, and {value!r} is one", HINT)
    wanted = UsageError(f"{named.name} takes {takes.words}, not {value!r}", HINT)
    if takes is FaultValueKind.EVENTS:
        if not re.fullmatch(r"[0-9]{1,9}", value):
            raise wanted
        return replace(given, number=float(value))
    if takes is FaultValueKind.SECONDS:
        return replace(given, number=_seconds(value, wanted))
    if not _TEXTS[takes].fullmatch(value):
        raise wanted
    return replace(given, text=value)


def _when(named: FaultName, given: FaultParameters, when: str) -> FaultParameters:
    """Parse a share, or the time of a cluster fault."""
    or_time = " or a time such as @90s" if named.of.timed else ""
    wanted = UsageError(f"{named.name} takes a share of {named.of.value} as @5%{or_time}, not @{when}", HINT)
    if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?%", when):
        share = float(when[:-1]) / 100
        if share > 1:
            raise wanted
        return replace(given, share=share, at_s=None)
    if not named.of.timed:
        raise wanted
    return replace(given, at_s=_seconds(when, wanted))


def _seconds(text: str, wanted: UsageError) -> float:
    """Parse ``5``, ``30s``, ``2m``: a bare number is in seconds."""
    bare = re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text)
    found = go_duration(f"{text}s" if bare else text)
    if found is None or not 0 <= found.total_seconds() <= _LONGEST_S:
        raise wanted
    return found.total_seconds()
