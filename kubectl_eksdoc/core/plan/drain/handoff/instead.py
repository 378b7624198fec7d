"""A managed group's nodes replaced in three ways, side by side: this drain, the group's own update, blue/green."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.core.model.codes import Code
from kubectl_eksdoc.core.model.durations import in_words
from kubectl_eksdoc.core.plan.drain.handoff.departure import Departure
from kubectl_eksdoc.core.plan.drain.handoff.offers import Option, Way
from kubectl_eksdoc.core.plan.drain.outcome import PodVerdict, SlowNode, TargetVerdict
from kubectl_eksdoc.core.rules.group_updates import PATIENCE, PAUSE, SURGE_PER_ZONE

STOP = {
    code.name
    for code in (
        Code.of("budget-never-allows"),
        Code.of("budget-sync-failed"),
        Code.of("budget-unhealthy"),
        Code.of("pod-several-budgets"),
        Code.of("pod-returns"),
        Code.of("pod-stuck-terminating"),
    )
}
"""The pod does not leave its node: the API refuses, it comes back, or it does not stop."""

_MAY_STOP = {code.name for code in (Code.of("budget-exhausted"), Code.of("budget-stale"), Code.of("budget-disagrees"))}
"""The API refuses now, and can allow within the 15 minutes."""

_OURS = {
    code.name
    for code in (
        Code.of("pod-emptydir"),
        Code.of("pod-unmanaged"),
        Code.of("pod-protected"),
        Code.of("pod-daemonset-missing"),
        Code.of("pod-local-volume"),
        Code.of("only-backend"),
        Code.of("job-would-fail"),
    )
}
"""Only this plan minds: the API evicts the pod. Any code that is in none of these sets counts as not judged."""


def compare(leaving: Departure, surge: int | None) -> tuple[Option, ...]:
    """The three ways for exactly these targets; `surge` is that of the policy."""
    held = tuple(row.pod.key for row in leaving.left if row.verdict in (PodVerdict.BLOCKED, PodVerdict.UNKNOWN))
    rounds = max((target.finish_round for target in leaving.targets if target.order), default=0)
    order = "this plan's: " + (f"{_counted(rounds, 'round')}" if rounds else "nothing to evict")
    waits = "as long as you let it; what stops it is named"
    return (
        Option(
            Way.OWN_DRAIN,
            nodes=len(leaving.emptied),
            surge=surge or 0,
            surge_why=_joining(surge),
            order=order,
            waits=waits,
            least_seconds=None,
            way_back="uncordon a node, until it is ended",
            stopped_by=held,
        ),
        _update(leaving),
        Option(
            Way.BLUE_GREEN,
            nodes=len(leaving.members),
            surge=len(leaving.members),
            surge_why="as many new ones as the group has, before the drain",
            order=order,
            waits=waits,
            least_seconds=None,
            way_back="uncordon the old nodes, until their group is deleted",
            stopped_by=held,
        ),
    )


def _joining(surge: int | None) -> str:
    if surge is None:
        return "none by itself: evicted pods need room on the nodes that stay"
    first = f"{_counted(surge, 'node')} first, for all targets together" if surge else "none first"
    return f"{first}, then one for each drained node: you or an autoscaler must add them"


def _update(leaving: Departure) -> Option:
    nodes, zones = len(leaving.members), len(leaving.zones)
    stops, may, unasked, unjudged = _sorted(leaving)
    patience_s = PATIENCE.total_seconds()
    slow = [e.pod.key for e in leaving.evictions if e.pod.grace_seconds >= patience_s]
    slow += [pod for node in leaving.slow if not node.certain for pod in node.pods]
    too_slow = [pod for node in leaving.slow if node.certain for pod in node.pods]
    surge_why = (
        f"up to {SURGE_PER_ZONE} for each of {_counted(zones, 'zone')} its nodes are in, or maxUnavailable if that is "
        "more; none with updateStrategy MINIMAL"
        if zones
        else f"up to {SURGE_PER_ZONE} for each zone, and the zones are not known"
    )
    return Option(
        Way.GROUP_UPDATE,
        nodes=nodes,
        surge=SURGE_PER_ZONE * zones if zones else None,
        surge_why=surge_why,
        order="random nodes, maxUnavailable at a time (1 unless set)",
        waits="15 minutes for a node's pods, then PodEvictionFailure; no pod is named" + _too_long(leaving.slow),
        least_seconds=nodes * int(PAUSE.total_seconds()),
        way_back="none: a group cannot return to an earlier version or AMI",
        stopped_by=tuple(dict.fromkeys((*stops, *too_slow))),
        may_be_stopped_by=tuple(dict.fromkeys((*may, *(pod for pod in slow if pod not in too_slow)))),
        unasked=unasked,
        not_judged=unjudged,
    )


def _too_long(slow: Sequence[SlowNode]) -> str:
    """The node that takes longest by itself, and how many others take too long."""
    if not slow:
        return ""
    worst = max(slow, key=lambda node: (node.certain, node.seconds))
    others = f"; so it is with {len(slow) - 1} more" if len(slow) > 1 else ""
    pace = "" if worst.certain else ", with slow pods,"
    return f"; {worst.node}{pace} takes at least {in_words(worst.seconds)} alone ({worst.why}){others}"


def _sorted(leaving: Departure) -> tuple[tuple[str, ...], ...]:
    """What the update would do to the pods that this plan leaves: stops at, may stop at, evicts unasked, not judged.

    A pod with several codes is where the API's own refusal puts it. Pods of a refused node were not judged.
    """
    refused = {t.node.name for t in leaving.targets if t.verdict is TargetVerdict.REFUSED}
    found: tuple[list[str], ...] = ([], [], [], [])
    for row in leaving.left:
        said = set(row.codes)
        if row.verdict is PodVerdict.BLOCKED and said & STOP:
            found[0].append(row.pod.key)
        elif row.verdict is PodVerdict.BLOCKED and said & _MAY_STOP:
            found[1].append(row.pod.key)
        elif row.verdict is PodVerdict.BLOCKED and said & _OURS:
            found[2].append(row.pod.key)
        elif row.node in refused or row.verdict is PodVerdict.UNKNOWN:
            found[3].append(row.pod.key)
    return tuple(map(tuple, found))


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
