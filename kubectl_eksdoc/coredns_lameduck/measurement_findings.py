"""Findings of a DNS measurement: only lost answers of the service are failures, only queries sent on time count."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.coredns import (
    NAME,
    SERVICE,
    SYSTEM_NAMESPACE,
    TCP,
    TRANSPORTS,
    UDP,
    UDP_KEPT,
    CoreDnsPod,
    CoreDnsState,
    EndpointPropagation,
    LoadReport,
    QueryCounts,
    QueryStream,
)
from kubectl_eksdoc.model.findings import Finding, Subject, clause, sort_findings
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.probes.pods import not_removed_finding

from .measurement_plan import (
    LATE_S,
    MeasuredChange,
    MeasurementPlan,
    MeasurementZone,
)
from .shutdown import CLIENT_TIMEOUT_S, MIN_PROPAGATION_S

# Events of CoreDNS pods: termination began, left the service, ended, new pods joined. Observed once a second, by the
# API server's clock.


class MeasurementEventKind(str, Enum):
    """In the order in which events of the same time are listed."""

    TOLD = "told to end"
    OUT = "left the endpoints"
    GONE = "gone"
    CAME = "joined the endpoints"


@frozen
class MeasurementEvent:
    at: datetime
    what: MeasurementEventKind
    pod: str


def measurement_events(states: Sequence[CoreDnsState]) -> tuple[MeasurementEvent, ...]:
    """The events between `states`, in order; earlier events are not included."""
    events: list[MeasurementEvent] = []
    for before, after in itertools.pairwise(states):
        events += _events_between(before, after)
    order = {kind: index for index, kind in enumerate(MeasurementEventKind)}
    return tuple(sorted(events, key=lambda each: (each.at, order[each.what], each.pod)))


def _events_between(before: CoreDnsState, after: CoreDnsState) -> Iterator[MeasurementEvent]:
    pods_after = {pod.uid: pod for pod in after.pods}
    for pod in before.pods:
        current = pods_after.get(pod.uid)
        if pod.deletion_requested_at is None and (current is None or current.deletion_requested_at is not None):
            yield MeasurementEvent(after.at, MeasurementEventKind.TOLD, pod.name)
        if not pod.ended and (current is None or current.ended):
            yield MeasurementEvent(after.at, MeasurementEventKind.GONE, pod.name)
    if isinstance(before.serving, Unknown) or isinstance(after.serving, Unknown):
        return
    pod_by_address = {address: pod.name for pod in (*before.pods, *after.pods) for address in pod.addresses}
    yield from _endpoint_events(before.serving - after.serving, MeasurementEventKind.OUT, pod_by_address, after.at)
    yield from _endpoint_events(after.serving - before.serving, MeasurementEventKind.CAME, pod_by_address, after.at)


def _endpoint_events(
    addresses: frozenset[str], kind: MeasurementEventKind, pod_by_address: dict[str, str], time: datetime
) -> Iterator[MeasurementEvent]:
    """One event for each pod, because all its addresses change at once."""
    for name in sorted({pod_by_address[address] for address in addresses if address in pod_by_address}):
        yield MeasurementEvent(time, kind, name)


def has_settled(first: Sequence[CoreDnsPod], state: CoreDnsState, desired: int) -> bool:
    """Whether the affected pods have ended, and the desired number is Ready."""
    affected_uids = {pod.uid for pod in first}
    remaining = [pod for pod in state.pods if pod.uid in affected_uids and not pod.ended]
    ready = [pod for pod in state.pods if pod.ready and pod.deletion_requested_at is None and not pod.ended]
    return not remaining and len(ready) >= desired


# Result of a measurement: for each zone the report of its pod, the change, and the states of CoreDNS.


@frozen
class CorednsAction:
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
    deed: CorednsAction = CorednsAction()
    moments: tuple[MeasurementEvent, ...] = ()
    ended: datetime | None = None
    unseen: str = ""
    owner: str = ""
    left: tuple[str, ...] = ()
    not_removed: str = ""
    interrupted: bool = False

    @property
    def terminations(self) -> tuple[MeasurementEvent, ...]:
        """When the termination of pods began."""
        return tuple(each for each in self.moments if each.what is MeasurementEventKind.TOLD)


def offset_s(event: MeasurementEvent, report: LoadReport) -> float:
    """Seconds since the report's start; AWS keeps the clocks of nodes and API server in sync."""
    return (event.at - report.began).total_seconds()


TIME_TOLERANCE_S = 3
"""Event times are accurate to a second, and come from two clocks."""
_MAX_CLOCK_DIFFERENCE_S = 5.0
"""Smaller differences between clocks are ignored."""


def truncate_report(report: LoadReport | Unknown, ended_at: datetime | None, read_s: float) -> LoadReport | Unknown:
    """The report without the seconds after `ended_at` (API server's clock), which belong to the cleanup.

    It was read `read_s` after that. If it contains later seconds, the node's clock is ahead, and it is unknown which
    seconds count.
    """
    if ended_at is None or isinstance(report, Unknown):
        return report
    last_s = (ended_at - report.began).total_seconds()
    ahead_s = report.duration_s - last_s - read_s
    if ahead_s > _MAX_CLOCK_DIFFERENCE_S:
        return Unknown(f"the clock of its node is ahead of the API server's, by {ahead_s:.0f} s at least")
    kept_seconds = {
        stream: {t: measured_second for t, measured_second in stream_seconds.items() if t <= last_s}
        for stream, stream_seconds in report.seconds.items()
    }
    return replace(report, seconds=kept_seconds)


def unreported_s(report: LoadReport, ended_at: datetime | None) -> float:
    """Last seconds that are not reported, because the load generator ended early or its log was truncated."""
    return 0.0 if ended_at is None else max(0.0, (ended_at - report.began).total_seconds() - report.duration_s)


# Shutdown budget from a measurement: how long pods answered after termination began, and until when clients lost
# answers.


@frozen
class _EndedPod:
    """`answered_s`: from the start of termination to the first answer that the pod's own address lost, the shortest
    over transports and zones; None where its own address was not queried. `answered_until_end`: it still answered at
    the end of the measurement, or less than a client's timeout before."""

    pod: str
    answered_s: int | None
    answered_until_end: bool = False


def ended_pods(plan: MeasurementPlan, measured: DnsMeasurement) -> tuple[_EndedPod, ...]:
    """The pods whose termination began during the measurement, in order; accurate to a second, by two clocks."""
    reports = [zone.report for zone in measured.zones if not isinstance(zone.report, Unknown)]
    ended = []
    for event in measured.terminations:
        all_answered, until_end = list[int](), False
        for report in reports:
            terminated_s = round(offset_s(event, report))
            answered = list(_answered_for_s(plan, report, event.pod, terminated_s))
            until_end = until_end or any(
                terminated_s + each > report.duration_s - CLIENT_TIMEOUT_S for each in answered
            )
            all_answered += answered
        ended.append(_EndedPod(event.pod, min(all_answered, default=None), until_end))
    return tuple(ended)


def _answered_for_s(plan: MeasurementPlan, report: LoadReport, pod: str, terminated_s: int) -> Iterator[int]:
    """For each stream to the pod's own address."""
    names = {target.name for target in plan.targets if target.pod == pod}
    for stream, seconds in report.seconds.items():
        if stream.target in names:
            bad_seconds = (t for t, one in seconds.items() if t >= terminated_s and one.counts.bad)
            yield max(0, min(bad_seconds, default=report.duration_s) - terminated_s)


def lost_until_s(plan: MeasurementPlan, measured: DnsMeasurement) -> int | None:
    """Seconds from the start of a pod's termination to the end of the second in which the service lost the last answer;
    None without a loss. Long-lived sockets are left out, because their flows follow other rules
    (`configuration.client_findings`)."""
    services = {target.name for target in plan.targets if not target.pod}
    lost_s = []
    for zone in measured.zones:
        if isinstance(zone.report, Unknown):
            continue
        terminations = [round(offset_s(each, zone.report)) for each in measured.terminations]
        for stream, seconds in zone.report.seconds.items():
            is_counted = stream.target in services and stream.transport != UDP_KEPT
            bad_seconds = [t for t, one in seconds.items() if one.counts.bad and is_counted]
            lost_s += [
                1 + t - max(each for each in terminations if each <= t)
                for t in bad_seconds
                if any(each <= t for each in terminations)
            ]
    return max(lost_s, default=None)


def propagation(plan: MeasurementPlan, measured: DnsMeasurement, nodes: int) -> EndpointPropagation | None:
    """The propagation time for a cluster with `nodes` nodes; None where no pod ended, or not all was observed.

    Without a lost answer, every node switched to other endpoints while the pods still answered. That is certain only if
    each pod was seen to stop, every query was sent in time, and all seconds were reported.
    """
    complete = measured.ended is not None and not (measured.interrupted or measured.unseen)
    ended = ended_pods(plan, measured)
    answered = [each.answered_s for each in ended if each.answered_s is not None]
    if not complete or not answered or any(isinstance(zone.report, Unknown) for zone in measured.zones):
        return None
    lost_s = lost_until_s(plan, measured)
    if lost_s is not None:
        return EndpointPropagation(max(MIN_PROPAGATION_S, lost_s), nodes, measured.ended, lost=True)
    if len(answered) < len(ended) or any(each.answered_until_end for each in ended) or not _is_complete(plan, measured):
        return None
    return EndpointPropagation(max(MIN_PROPAGATION_S, *answered), nodes, measured.ended)


def _is_complete(plan: MeasurementPlan, measured: DnsMeasurement) -> bool:
    """Whether the service was queried from every zone in each second, without uncertain answers."""
    services = {target.name for target in plan.targets if not target.pod}
    reports = [zone.report for zone in measured.zones if isinstance(zone.report, LoadReport)]
    service_seconds = [
        seconds
        for report in reports
        for stream, seconds in report.seconds.items()
        if stream.target in services and stream.transport != UDP_KEPT
    ]
    return (
        len(reports) == len(plan.zones)
        and bool(service_seconds)
        and all(unreported_s(report, measured.ended) <= TIME_TOLERANCE_S for report in reports)
        and all(one.counts.sent and not one.counts.unknown for seconds in service_seconds for one in seconds.values())
    )


def budget_sentences(plan: MeasurementPlan, measured: DnsMeasurement) -> Iterator[str]:
    """What the measurement shows about the shutdown budget, in sentences."""
    ended = ended_pods(plan, measured)
    for each in ended:
        if each.answered_s is not None:
            at_least = "at least " if each.answered_until_end else ""
            yield f"{each.pod} answered for {at_least}{each.answered_s} s after it began to terminate"
    lost_s = lost_until_s(plan, measured)
    answered = [each.answered_s for each in ended if each.answered_s is not None]
    if lost_s is not None:
        yield f"the service lost answers until {lost_s} s after a pod began to terminate"
    elif answered and not any(each.answered_until_end for each in ended):
        yield f"every node that asked sent elsewhere within {max(answered)} s: no answer was lost"


_SERVICE = Subject("Service", SERVICE, SYSTEM_NAMESPACE)
_TRANSPORT_WORDS = {UDP: "UDP", TCP: "TCP", UDP_KEPT: "UDP from a socket that is kept"}


def measurement_findings(plan: MeasurementPlan, measured: DnsMeasurement) -> tuple[Finding, ...]:
    found: list[Finding] = []
    for zone in measured.zones:
        found += _zone_findings(plan, measured, zone)
    found += _silent_endpoints(plan, measured)
    found += _unusable_zones(plan)
    found += _action_findings(plan, measured)
    if measured.not_removed or measured.left:
        namespace = plan.settings.namespace
        found.append(
            not_removed_finding("dns-measure-left", measured.owner, namespace, measured.left, measured.not_removed)
        )
    return sort_findings(found)


def _zone_findings(plan: MeasurementPlan, measured: DnsMeasurement, zone: MeasuredZone) -> Iterator[Finding]:
    report, zone_text = zone.report, f"from zone {zone.zone.label}"
    if isinstance(report, Unknown):
        yield _unknown(f"nothing was measured {zone_text}: {report.why}", report.missing or "what a pod there measures")
        return
    service_totals = {s: report.total(s) for s in plan.streams if _pod_of(plan, s) == ""}
    total = sum(service_totals.values(), QueryCounts())
    if total.bad:
        yield _lost_finding(plan, measured, zone, report, service_totals)
    if total.late:
        yield Finding.of(
            "dns-answers-late",
            _SERVICE,
            (f"in the seconds {_span_text(_seconds_with(report, service_totals, 'late'))}",),
            late=total.late,
            sent=total.sent,
            late_s=LATE_S,
            zone=zone.zone.label,
        )
    unknown_seconds = {t for of in report.seconds.values() for t, second in of.items() if second.counts.unknown}
    if unknown_seconds:
        yield _unknown(
            f"{len(unknown_seconds)} of {report.duration_s} s are not known {zone_text}: the asking pod was too "
            "busy to ask on time",
            "questions that are sent on time",
            (f"in the seconds {_span_text(unknown_seconds)}",),
        )
    unreported = unreported_s(report, measured.ended)
    if unreported > TIME_TOLERANCE_S:
        missing = "the rest of the asking pod's log"
        yield _unknown(
            f"the last {unreported:.0f} s were not told of {zone_text}: the asking pod ended too soon", missing
        )
    if not total.sent:
        yield _unknown(f"no question was sent {zone_text}", "what a pod there measures")
    elif not total.bad and not total.late and not unknown_seconds and unreported <= TIME_TOLERANCE_S:
        yield Finding.of(
            "dns-answers-lost/none",
            _SERVICE,
            tuple(_coverage_texts(plan, measured)),
            zone=zone.zone.label,
            sent=total.sent,
        )


def _lost_finding(
    plan: MeasurementPlan,
    measured: DnsMeasurement,
    zone: MeasuredZone,
    report: LoadReport,
    service: dict[QueryStream, QueryCounts],
) -> Finding:
    total = sum(service.values(), QueryCounts())
    transports = (*TRANSPORTS, UDP_KEPT)
    lost_by_transport = {
        transport: sum(c.bad for s, c in service.items() if s.transport == transport) for transport in transports
    }
    parts = ", ".join(
        clause("dns-answers-lost/over", count=count, by=_TRANSPORT_WORDS[by])
        for by, count in lost_by_transport.items()
        if count
    )
    spans = _span_text(_seconds_with(report, service, "bad"))
    reasons = sorted({w for s in service for one in report.seconds.get(s, {}).values() for w in one.why})
    evidence = [f"in the seconds {spans}"]
    evidence += [
        f"{each.pod}: {each.what.value} at +{max(0, round(offset_s(each, report)))} s"
        for each in measured.moments
        if each.what is not MeasurementEventKind.CAME
    ]
    evidence += [f"said: {', '.join(reasons)}"] if reasons else []
    evidence += budget_sentences(plan, measured)
    return Finding.of(
        "dns-answers-lost", _SERVICE, tuple(evidence), bad=total.bad, sent=total.sent, said=zone.zone.label, parts=parts
    )


def _silent_endpoints(plan: MeasurementPlan, measured: DnsMeasurement) -> Iterator[Finding]:
    """Endpoints that did not answer before their termination began, with the zones of the queries."""
    for pod in dict.fromkeys(target.pod for target in plan.targets if target.pod):
        pod_streams = [stream for stream in plan.streams if _pod_of(plan, stream) == pod]
        bad_by_zone = {
            zone.zone.label: _unanswered_before_end(measured, zone.report, pod_streams, pod) for zone in measured.zones
        }
        silent_zones = {zone: seconds for zone, seconds in bad_by_zone.items() if seconds}
        if silent_zones:
            total = sum(sum(seconds.values()) for seconds in silent_zones.values())
            yield Finding.of(
                "dns-endpoint-silent",
                Subject("Pod", pod, SYSTEM_NAMESPACE),
                tuple(
                    f"from zone {zone} in the seconds {_span_text(seconds)}" for zone, seconds in silent_zones.items()
                ),
                total=total,
                pod=pod,
            )


def _unanswered_before_end(
    measured: DnsMeasurement, report: LoadReport | Unknown, streams: Iterable[QueryStream], pod: str
) -> dict[int, int]:
    """Queries without an answer by second, until the pod's termination began."""
    end_events = [each for each in measured.moments if each.pod == pod and each.what is not MeasurementEventKind.CAME]
    if isinstance(report, Unknown) or (measured.unseen and not end_events):
        return {}
    last_s = min((offset_s(each, report) for each in end_events), default=float("inf")) - TIME_TOLERANCE_S
    counts: dict[int, int] = {}
    for stream in streams:
        for t, one in report.seconds.get(stream, {}).items():
            if t < last_s and one.counts.bad:
                counts[t] = counts.get(t, 0) + one.counts.bad
    return counts


def _coverage_texts(plan: MeasurementPlan, measured: DnsMeasurement) -> Iterator[str]:
    ended = sorted({each.pod for each in measured.terminations})
    if ended:
        yield f"while {', '.join(ended)} ended"
        yield from budget_sentences(plan, measured)
    elif measured.unseen:
        yield f"whether a CoreDNS pod ended meanwhile is not known: {measured.unseen}"
    else:
        yield "no CoreDNS pod ended meanwhile: this says nothing of a rollout or a drain"


def _unusable_zones(plan: MeasurementPlan) -> Iterator[Finding]:
    if not plan.zones:
        yield _unknown("nothing was measured: the cluster has no nodes to ask from", "a Ready node")
    for zone in plan.zones:
        if not zone.node:
            yield _unknown(
                f"zone {zone.label} has no node to ask from: {zone.why_not}", "a Ready node there that is not cordoned"
            )


_NOT_DONE_TEXTS = {
    MeasuredChange.ROLLOUT: f"the rollout of Deployment {NAME} was not restarted",
    MeasuredChange.EVICTION: "no pod was evicted",
}


def _action_findings(plan: MeasurementPlan, measured: DnsMeasurement) -> Iterator[Finding]:
    happening, action = plan.settings.happening, measured.deed
    if not happening.changes:
        return
    if action.done_at is None:
        reason = action.refused or "it was broken off before"
        yield _unknown(f"{_NOT_DONE_TEXTS[happening]}: {reason}", action.missing or "what happens while a pod leaves")
    elif not action.finished:
        yield _unknown(
            f"it was not over when the time was ({plan.settings.for_s:g} s): what came later was not measured",
            "the rest of it; give more time with --for",
        )


def _unknown(what: str, missing_text: str, evidence: tuple[str, ...] = ()) -> Finding:
    return Finding.of("dns-not-measured", _SERVICE, evidence, what=what, lacking=missing_text)


def _pod_of(plan: MeasurementPlan, stream: QueryStream) -> str:
    return next(target.pod for target in plan.targets if target.name == stream.target)


def _seconds_with(report: LoadReport, service: Iterable[QueryStream], count_name: str) -> set[int]:
    return {t for s in service for t, one in report.seconds.get(s, {}).items() if getattr(one.counts, count_name)}


def _span_text(seconds: Iterable[int]) -> str:
    """``+6 to +9, +14``."""
    parts: list[list[int]] = []
    for t in sorted(set(seconds)):
        if parts and t == parts[-1][1] + 1:
            parts[-1][1] = t
        else:
            parts.append([t, t])
    return ", ".join(f"+{first}" if first == last else f"+{first} to +{last}" for first, last in parts)
