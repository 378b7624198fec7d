"""What a measurement tells of the shutdown budget: how long pods answered after they were told to end, and until when
clients still lost answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.dns_measure import KEPT, Propagation, Report
from kubectl_eksdoc.core.plan.dns.measuring.moments import What
from kubectl_eksdoc.core.plan.dns.measuring.plan import MeasurePlan
from kubectl_eksdoc.core.plan.dns.measuring.result import SLACK_S, Measured, offset_s, untold_s
from kubectl_eksdoc.core.plan.dns.shutdown import CLIENT_S, FASTEST_S


@dataclass(frozen=True, slots=True)
class Ended:
    """`answered_s`: from being told to end to the first answer that its own address lost, by the transport and from the
    zone where that was shortest; None where its own address was not asked. `until_end`: it was still answering when the
    measurement ended, or less than a client's timeout before."""

    pod: str
    answered_s: int | None
    until_end: bool = False


def ended_pods(plan: MeasurePlan, measured: Measured) -> tuple[Ended, ...]:
    """Those that were told to end while it was measured, in that order; a second fine, by two clocks."""
    told = [each for each in measured.moments if each.what is What.TOLD]
    reports = [zone.report for zone in measured.zones if not isinstance(zone.report, Unknown)]
    found = []
    for moment in told:
        lasted, until_end = list[int](), False
        for report in reports:
            told_s = round(offset_s(moment, report))
            of = list(_lasted(plan, report, moment.pod, told_s))
            until_end = until_end or any(told_s + each > report.length - CLIENT_S for each in of)
            lasted += of
        found.append(Ended(moment.pod, min(lasted, default=None), until_end))
    return tuple(found)


def _lasted(plan: MeasurePlan, report: Report, pod: str, told_s: int) -> Iterator[int]:
    """Of each stream to its own address."""
    names = {target.name for target in plan.targets if target.pod == pod}
    for stream, seconds in report.seconds.items():
        if stream.target in names:
            bad = (t for t, one in seconds.items() if t >= told_s and one.counts.bad)
            yield max(0, min(bad, default=report.length) - told_s)


def lost_until_s(plan: MeasurePlan, measured: Measured) -> int | None:
    """Seconds from a pod being told to end to the end of the second in which the service lost the last answer; None
    where none was. A socket that is kept is left out: its flows live on by other rules (`judging.clients`)."""
    told = [each for each in measured.moments if each.what is What.TOLD]
    services = {target.name for target in plan.targets if not target.pod}
    found = []
    for zone in measured.zones:
        if isinstance(zone.report, Unknown):
            continue
        begins = [round(offset_s(each, zone.report)) for each in told]
        for stream, seconds in zone.report.seconds.items():
            counts = stream.target in services and stream.transport != KEPT
            bad = [t for t, one in seconds.items() if one.counts.bad and counts]
            found += [
                1 + t - max(each for each in begins if each <= t) for t in bad if any(each <= t for each in begins)
            ]
    return max(found, default=None)


def propagation(plan: MeasurePlan, measured: Measured, nodes: int) -> Propagation | None:
    """Of a cluster with so many `nodes`; None where no pod ended, or not all of it was seen. Where no answer was lost,
    every node sent elsewhere while pods still answered: that is known only where each of them was seen to stop, every
    question was asked in time, and all of it was told."""
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


def _all_told(plan: MeasurePlan, measured: Measured) -> bool:
    """Of the service: from every zone, each second, and nothing that is unsure."""
    services = {target.name for target in plan.targets if not target.pod}
    reports = [zone.report for zone in measured.zones if isinstance(zone.report, Report)]
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


def said(plan: MeasurePlan, measured: Measured) -> Iterator[str]:
    """A sentence for each thing learned."""
    ended = ended_pods(plan, measured)
    for each in ended:
        if each.answered_s is not None:
            least = "at least " if each.until_end else ""
            yield f"{each.pod} answered for {least}{each.answered_s} s after it was told to end"
    until = lost_until_s(plan, measured)
    known = [each.answered_s for each in ended if each.answered_s is not None]
    if until is not None:
        yield f"the service lost answers until {until} s after a pod was told to end"
    elif known and not any(each.until_end for each in ended):
        yield f"every node that asked sent elsewhere within {max(known)} s: no answer was lost"
