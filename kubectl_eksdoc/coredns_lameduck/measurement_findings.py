"""Findings of a DNS measurement: only lost answers of the service are failures, only queries sent on time count."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.coredns import (
    KEPT,
    NAME,
    SERVICE,
    SYSTEM,
    TCP,
    TRANSPORTS,
    UDP,
    Counts,
    DnsPod,
    DnsStand,
    LoadReport,
    MeasuredStream,
    Propagation,
)
from kubectl_eksdoc.model.findings import Finding, Subject, clause, in_order
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.probes.pods import left_finding

from .measurement_plan import (
    LATE_S,
    Happening,
    MeasurementZone,
    MeasurePlan,
)
from .shutdown import CLIENT_S, FASTEST_S

# Events of CoreDNS pods: termination began, left the service, ended, new pods joined. Observed once a second, by the
# API server's clock.


class What(str, Enum):
    """In the order in which events of the same time are listed."""

    TOLD = "told to end"
    OUT = "left the endpoints"
    GONE = "gone"
    CAME = "joined the endpoints"


@frozen
class MeasurementEvent:
    at: datetime
    what: What
    pod: str


def moments(stands: Sequence[DnsStand]) -> tuple[MeasurementEvent, ...]:
    """The events between `states`, in order; earlier events are not included."""
    found: list[MeasurementEvent] = []
    for before, after in itertools.pairwise(stands):
        found += _between(before, after)
    order = {what: place for place, what in enumerate(What)}
    return tuple(sorted(found, key=lambda each: (each.at, order[each.what], each.pod)))


def _between(before: DnsStand, after: DnsStand) -> Iterator[MeasurementEvent]:
    now = {pod.uid: pod for pod in after.pods}
    for pod in before.pods:
        there = now.get(pod.uid)
        if pod.told_at is None and (there is None or there.told_at is not None):
            yield MeasurementEvent(after.at, What.TOLD, pod.name)
        if not pod.ended and (there is None or there.ended):
            yield MeasurementEvent(after.at, What.GONE, pod.name)
    if isinstance(before.serving, Unknown) or isinstance(after.serving, Unknown):
        return
    known = {address: pod.name for pod in (*before.pods, *after.pods) for address in pod.addresses}
    yield from _moved(before.serving - after.serving, What.OUT, known, after.at)
    yield from _moved(after.serving - before.serving, What.CAME, known, after.at)


def _moved(addresses: frozenset[str], what: What, known: dict[str, str], at: datetime) -> Iterator[MeasurementEvent]:
    """One event for each pod, because all its addresses change at once."""
    for name in sorted({known[address] for address in addresses if address in known}):
        yield MeasurementEvent(at, what, name)


def settled(first: Sequence[DnsPod], stand: DnsStand, wanted: int) -> bool:
    """Whether the affected pods have ended, and the desired number is Ready."""
    going = {pod.uid for pod in first}
    left = [pod for pod in stand.pods if pod.uid in going and not pod.ended]
    ready = [pod for pod in stand.pods if pod.ready and pod.told_at is None and not pod.ended]
    return not left and len(ready) >= wanted


# Result of a measurement: for each zone the report of its pod, the change, and the states of CoreDNS.


@frozen
class CorednsAct:
    """The change of CoreDNS, and its time by the API server's clock (None: it was not made). `refused`: why not;
    `finished`: the affected pods have ended, and as many pods are Ready as before."""

    done_at: datetime | None = None
    refused: str = ""
    missing: str = ""
    finished: bool = False


@frozen
class MeasuredZone:
    zone: MeasurementZone
    report: LoadReport | Unknown


@frozen
class DnsMeasurement:
    """The result of a measurement.

    `ended`: when it ended, by the API server's clock. `unseen`: why the states of CoreDNS are not completely known, or
    "". `left`: names of pods of `owner` that still exist at the end; `not_removed`: why the owner could not be removed.
    `interrupted`: the user ended it early.
    """

    zones: tuple[MeasuredZone, ...]
    deed: CorednsAct = CorednsAct()
    moments: tuple[MeasurementEvent, ...] = ()
    ended: datetime | None = None
    unseen: str = ""
    owner: str = ""
    left: tuple[str, ...] = ()
    not_removed: str = ""
    interrupted: bool = False

    @property
    def told(self) -> tuple[MeasurementEvent, ...]:
        """When the termination of pods began."""
        return tuple(each for each in self.moments if each.what is What.TOLD)


def offset_s(moment: MeasurementEvent, report: LoadReport) -> float:
    """Seconds since the report's start; AWS keeps the clocks of nodes and API server in sync."""
    return (moment.at - report.began).total_seconds()


SLACK_S = 3
"""Event times are accurate to a second, and come from two clocks."""
_CLOCKS_S = 5.0
"""Smaller differences between clocks are ignored."""


def until(report: LoadReport | Unknown, ended: datetime | None, read_s: float) -> LoadReport | Unknown:
    """The report without the seconds after `ended_at` (API server's clock), which belong to the cleanup.

    It was read `read_s` after that. If it contains later seconds, the node's clock is ahead, and it is unknown which
    seconds count.
    """
    if ended is None or isinstance(report, Unknown):
        return report
    last = (ended - report.began).total_seconds()
    ahead = report.length - last - read_s
    if ahead > _CLOCKS_S:
        return Unknown(f"the clock of its node is ahead of the API server's, by {ahead:.0f} s at least")
    kept = {stream: {t: one for t, one in of.items() if t <= last} for stream, of in report.seconds.items()}
    return replace(report, seconds=kept)


def untold_s(report: LoadReport, ended: datetime | None) -> float:
    """Last seconds that are not reported, because the load generator ended early or its log was truncated."""
    return 0.0 if ended is None else max(0.0, (ended - report.began).total_seconds() - report.length)


# Shutdown budget from a measurement: how long pods answered after termination began, and until when clients lost
# answers.


@frozen
class _Ended:
    """`answered_s`: from the start of termination to the first answer that the pod's own address lost, the shortest
    over transports and zones; None where its own address was not queried. `answered_until_end`: it still answered at
    the end of the measurement, or less than a client's timeout before."""

    pod: str
    answered_s: int | None
    until_end: bool = False


def ended_pods(plan: MeasurePlan, measured: DnsMeasurement) -> tuple[_Ended, ...]:
    """The pods whose termination began during the measurement, in order; accurate to a second, by two clocks."""
    reports = [zone.report for zone in measured.zones if not isinstance(zone.report, Unknown)]
    found = []
    for moment in measured.told:
        lasted, until_end = list[int](), False
        for report in reports:
            told_s = round(offset_s(moment, report))
            of = list(_lasted(plan, report, moment.pod, told_s))
            until_end = until_end or any(told_s + each > report.length - CLIENT_S for each in of)
            lasted += of
        found.append(_Ended(moment.pod, min(lasted, default=None), until_end))
    return tuple(found)


def _lasted(plan: MeasurePlan, report: LoadReport, pod: str, told_s: int) -> Iterator[int]:
    """For each stream to the pod's own address."""
    names = {target.name for target in plan.targets if target.pod == pod}
    for stream, seconds in report.seconds.items():
        if stream.target in names:
            bad = (t for t, one in seconds.items() if t >= told_s and one.counts.bad)
            yield max(0, min(bad, default=report.length) - told_s)


def lost_until_s(plan: MeasurePlan, measured: DnsMeasurement) -> int | None:
    """Seconds from the start of a pod's termination to the end of the second in which the service lost the last answer;
    None without a loss. Long-lived sockets are left out, because their flows follow other rules
    (`configuration.client_findings`)."""
    services = {target.name for target in plan.targets if not target.pod}
    found = []
    for zone in measured.zones:
        if isinstance(zone.report, Unknown):
            continue
        begins = [round(offset_s(each, zone.report)) for each in measured.told]
        for stream, seconds in zone.report.seconds.items():
            counts = stream.target in services and stream.transport != KEPT
            bad = [t for t, one in seconds.items() if one.counts.bad and counts]
            found += [
                1 + t - max(each for each in begins if each <= t) for t in bad if any(each <= t for each in begins)
            ]
    return max(found, default=None)


def propagation(plan: MeasurePlan, measured: DnsMeasurement, nodes: int) -> Propagation | None:
    """The propagation time for a cluster with `nodes` nodes; None where no pod ended, or not all was observed.

    Without a lost answer, every node switched to other endpoints while the pods still answered. That is certain only if
    each pod was seen to stop, every query was sent in time, and all seconds were reported.
    """
    whole = measured.ended is not None and not (measured.interrupted or measured.unseen)
    ended = ended_pods(plan, measured)
    known = [each.answered_s for each in ended if each.answered_s is not None]
    if not whole or not known or any(isinstance(zone.report, Unknown) for zone in measured.zones):
        return None
    until = lost_until_s(plan, measured)
    if until is not None:
        return Propagation(max(FASTEST_S, until), nodes, measured.ended, lost=True)
    if len(known) < len(ended) or any(each.until_end for each in ended) or not _all_told(plan, measured):
        return None
    return Propagation(max(FASTEST_S, *known), nodes, measured.ended)


def _all_told(plan: MeasurePlan, measured: DnsMeasurement) -> bool:
    """Whether the service was queried from every zone in each second, without uncertain answers."""
    services = {target.name for target in plan.targets if not target.pod}
    reports = [zone.report for zone in measured.zones if isinstance(zone.report, LoadReport)]
    asked = [
        seconds
        for report in reports
        for stream, seconds in report.seconds.items()
        if stream.target in services and stream.transport != KEPT
    ]
    return (
        len(reports) == len(plan.zones)
        and bool(asked)
        and all(untold_s(report, measured.ended) <= SLACK_S for report in reports)
        and all(one.counts.sent and not one.counts.unknown for seconds in asked for one in seconds.values())
    )


def said(plan: MeasurePlan, measured: DnsMeasurement) -> Iterator[str]:
    """What the measurement shows about the shutdown budget, in sentences."""
    ended = ended_pods(plan, measured)
    for each in ended:
        if each.answered_s is not None:
            least = "at least " if each.until_end else ""
            yield f"{each.pod} answered for {least}{each.answered_s} s after it began to terminate"
    until = lost_until_s(plan, measured)
    known = [each.answered_s for each in ended if each.answered_s is not None]
    if until is not None:
        yield f"the service lost answers until {until} s after a pod began to terminate"
    elif known and not any(each.until_end for each in ended):
        yield f"every node that asked sent elsewhere within {max(known)} s: no answer was lost"


_SERVICE = Subject("Service", SERVICE, SYSTEM)
_SAID = {UDP: "UDP", TCP: "TCP", KEPT: "UDP from a socket that is kept"}


def findings_of(plan: MeasurePlan, measured: DnsMeasurement) -> tuple[Finding, ...]:
    found: list[Finding] = []
    for zone in measured.zones:
        found += _of_zone(plan, measured, zone)
    found += _silent(plan, measured)
    found += _not_asked_from(plan)
    found += _not_done(plan, measured)
    if measured.not_removed or measured.left:
        namespace = plan.manner.namespace
        found.append(left_finding("dns-measure-left", measured.owner, namespace, measured.left, measured.not_removed))
    return in_order(found)


def _of_zone(plan: MeasurePlan, measured: DnsMeasurement, zone: MeasuredZone) -> Iterator[Finding]:
    report, where = zone.report, f"from zone {zone.zone.said}"
    if isinstance(report, Unknown):
        yield _unknown(f"nothing was measured {where}: {report.why}", report.missing or "what a pod there measures")
        return
    service = {s: report.total(s) for s in plan.streams if _pod_of(plan, s) == ""}
    total = sum(service.values(), Counts())
    if total.bad:
        yield _lost(plan, measured, zone, report, service)
    if total.late:
        yield Finding.of(
            "dns-answers-late",
            _SERVICE,
            (f"in the seconds {_spans(_when(report, service, 'late'))}",),
            late=total.late,
            sent=total.sent,
            late_s=LATE_S,
            zone=zone.zone.said,
        )
    unknown = {t for of in report.seconds.values() for t, second in of.items() if second.counts.unknown}
    if unknown:
        yield _unknown(
            f"{len(unknown)} of {report.length} s are not known {where}: the asking pod was too busy to ask on time",
            "questions that are sent on time",
            (f"in the seconds {_spans(unknown)}",),
        )
    untold = untold_s(report, measured.ended)
    if untold > SLACK_S:
        missing = "the rest of the asking pod's log"
        yield _unknown(f"the last {untold:.0f} s were not told of {where}: the asking pod ended too soon", missing)
    if not total.sent:
        yield _unknown(f"no question was sent {where}", "what a pod there measures")
    elif not total.bad and not total.late and not unknown and untold <= SLACK_S:
        yield Finding.of(
            "dns-answers-lost/none",
            _SERVICE,
            tuple(_what_it_shows(plan, measured)),
            zone=zone.zone.said,
            sent=total.sent,
        )


def _lost(
    plan: MeasurePlan,
    measured: DnsMeasurement,
    zone: MeasuredZone,
    report: LoadReport,
    service: dict[MeasuredStream, Counts],
) -> Finding:
    total = sum(service.values(), Counts())
    transports = (*TRANSPORTS, KEPT)
    lost = {transport: sum(c.bad for s, c in service.items() if s.transport == transport) for transport in transports}
    parts = ", ".join(clause("dns-answers-lost/over", count=count, by=_SAID[by]) for by, count in lost.items() if count)
    spans = _spans(_when(report, service, "bad"))
    why = sorted({w for s in service for one in report.seconds.get(s, {}).values() for w in one.why})
    evidence = [f"in the seconds {spans}"]
    evidence += [
        f"{each.pod}: {each.what.value} at +{max(0, round(offset_s(each, report)))} s"
        for each in measured.moments
        if each.what is not What.CAME
    ]
    evidence += [f"said: {', '.join(why)}"] if why else []
    evidence += said(plan, measured)
    return Finding.of(
        "dns-answers-lost", _SERVICE, tuple(evidence), bad=total.bad, sent=total.sent, said=zone.zone.said, parts=parts
    )


def _silent(plan: MeasurePlan, measured: DnsMeasurement) -> Iterator[Finding]:
    """Endpoints that did not answer before their termination began, with the zones of the queries."""
    for pod in dict.fromkeys(target.pod for target in plan.targets if target.pod):
        mine = [stream for stream in plan.streams if _pod_of(plan, stream) == pod]
        bad = {zone.zone.said: _bad_before(measured, zone.report, mine, pod) for zone in measured.zones}
        found = {zone: seconds for zone, seconds in bad.items() if seconds}
        if found:
            total = sum(sum(seconds.values()) for seconds in found.values())
            yield Finding.of(
                "dns-endpoint-silent",
                Subject("Pod", pod, SYSTEM),
                tuple(f"from zone {zone} in the seconds {_spans(seconds)}" for zone, seconds in found.items()),
                total=total,
                pod=pod,
            )


def _bad_before(
    measured: DnsMeasurement, report: LoadReport | Unknown, streams: Iterable[MeasuredStream], pod: str
) -> dict[int, int]:
    """Queries without an answer by second, until the pod's termination began."""
    ends = [each for each in measured.moments if each.pod == pod and each.what is not What.CAME]
    if isinstance(report, Unknown) or (measured.unseen and not ends):
        return {}
    last = min((offset_s(each, report) for each in ends), default=float("inf")) - SLACK_S
    found: dict[int, int] = {}
    for stream in streams:
        for t, one in report.seconds.get(stream, {}).items():
            if t < last and one.counts.bad:
                found[t] = found.get(t, 0) + one.counts.bad
    return found


def _what_it_shows(plan: MeasurePlan, measured: DnsMeasurement) -> Iterator[str]:
    ended = sorted({each.pod for each in measured.told})
    if ended:
        yield f"while {', '.join(ended)} ended"
        yield from said(plan, measured)
    elif measured.unseen:
        yield f"whether a CoreDNS pod ended meanwhile is not known: {measured.unseen}"
    else:
        yield "no CoreDNS pod ended meanwhile: this says nothing of a rollout or a drain"


def _not_asked_from(plan: MeasurePlan) -> Iterator[Finding]:
    if not plan.zones:
        yield _unknown("nothing was measured: the cluster has no nodes to ask from", "a Ready node")
    for zone in plan.zones:
        if not zone.node:
            yield _unknown(
                f"zone {zone.said} has no node to ask from: {zone.why_not}", "a Ready node there that is not cordoned"
            )


_WANTED = {
    Happening.ROLLOUT: f"the rollout of Deployment {NAME} was not restarted",
    Happening.EVICTION: "no pod was evicted",
}


def _not_done(plan: MeasurePlan, measured: DnsMeasurement) -> Iterator[Finding]:
    happening, deed = plan.manner.happening, measured.deed
    if not happening.changes:
        return
    if deed.done_at is None:
        why = deed.refused or "it was broken off before"
        yield _unknown(f"{_WANTED[happening]}: {why}", deed.missing or "what happens while a pod leaves")
    elif not deed.finished:
        yield _unknown(
            f"it was not over when the time was ({plan.manner.for_s:g} s): what came later was not measured",
            "the rest of it; give more time with --for",
        )


def _unknown(what: str, lacking: str, evidence: tuple[str, ...] = ()) -> Finding:
    return Finding.of("dns-not-measured", _SERVICE, evidence, what=what, lacking=lacking)


def _pod_of(plan: MeasurePlan, stream: MeasuredStream) -> str:
    return next(target.pod for target in plan.targets if target.name == stream.target)


def _when(report: LoadReport, service: Iterable[MeasuredStream], what: str) -> set[int]:
    return {t for s in service for t, one in report.seconds.get(s, {}).items() if getattr(one.counts, what)}


def _spans(seconds: Iterable[int]) -> str:
    """``+6 to +9, +14``."""
    parts: list[list[int]] = []
    for t in sorted(set(seconds)):
        if parts and t == parts[-1][1] + 1:
            parts[-1][1] = t
        else:
            parts.append([t, t])
    return ", ".join(f"+{first}" if first == last else f"+{first} to +{last}" for first, last in parts)
