"""Faults that clients meet: answers that are not those of the API, that are late, or that never come."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from kubectl_eksdoc.embedded.cluster_faults import (
    CLUSTERS,
    ONCE_AT_S,
    FaultName,
    FaultParameters,
    FaultRequest,
    FaultValueKind,
    MakeFault,
)
from kubectl_eksdoc.embedded.serving import faults
from kubectl_eksdoc.embedded.serving.faults import (
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
from kubectl_eksdoc.embedded.serving.targets import ServedRequest
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import knowledge
from kubectl_eksdoc.model.quantities import go_duration
from kubectl_eksdoc.model.spelling import maybe
from kubectl_eksdoc.simulator.faults import TimedMishap

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


# Faults that those who watch meet.


def _watching(effect: Callable[[FaultParameters], Effect]) -> Callable[[FaultParameters], Fault]:
    return lambda given: Fault(effect(given), watches=True, share=given.share)


WATCHES: Mapping[str, MakeFault] = {
    "watch-cut": _watching(lambda given: WatchCut(int(given.number))),
    "watch-expired": _watching(lambda given: WatchExpired(int(given.number))),
    "watch-late": _watching(lambda given: WatchDelayed(given.number)),
    "watch-doubled": _watching(lambda given: WatchDoubled()),
    "watch-silent": _watching(lambda given: WatchSilent()),
}


# All faults by their names, and those that a user asked for: ``NAME[=VALUE][@SHARE or @TIME]``.


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
    """The faults that were asked for, made: those of requests, and those of the cluster."""

    requests: tuple[Fault, ...] = ()
    cluster: tuple[TimedMishap, ...] = ()


def parse(text: str) -> FaultRequest:
    """One fault as it is written.

    Raises:
        UsageError: there is none of that name, or it does not take what stands behind it.
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
    """Each of them with chance of its own, which follows from `seed` and its place."""
    effects = [_MAKES[each.named.name](replace(each.given, seed=seed * 1000 + i)) for i, each in enumerate(asked)]
    return FaultSet(
        tuple(each for each in effects if isinstance(each, Fault)),
        tuple(each for each in effects if isinstance(each, TimedMishap)),
    )


def check_nodes(asked: Iterable[FaultRequest], nodes: Collection[str]) -> None:
    """
    Raises:
        UsageError: a fault is of a node that is not there.
    """
    for each in asked:
        node = each.given.text
        if each.named.takes is FaultValueKind.NODE and node and node not in nodes:
            raise UsageError(f"--fault {each.text}: there is no node {node!r}{maybe(node, nodes)}")


def _near(name: str) -> str:
    """Names close to it; of a status code those that answer with it."""
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
    """A share, or the time of a mishap."""
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
    """``5``, ``30s``, ``2m``: a bare number is of seconds."""
    bare = re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text)
    found = go_duration(f"{text}s" if bare else text)
    if found is None or not 0 <= found.total_seconds() <= _LONGEST_S:
        raise wanted
    return found.total_seconds()
