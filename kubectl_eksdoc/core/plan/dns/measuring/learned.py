"""What a measurement tells of the shutdown budget: how long pods answered after they were told to end, and until when
clients still lost answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.dns_measure import Propagation, Report
from kubectl_eksdoc.core.plan.dns.measuring.moments import What
from kubectl_eksdoc.core.plan.dns.measuring.plan import MeasurePlan
from kubectl_eksdoc.core.plan.dns.measuring.result import Measured, offset_s
from kubectl_eksdoc.core.plan.dns.shutdown import FASTEST_S


@dataclass(frozen=True, slots=True)
class Ended:
    """`answered_s`: from being told to end to the first answer that its own address lost, by the transport and from the
    zone where that was shortest; None where its own address was not asked."""

    pod: str
    answered_s: int | None


def ended_pods(plan: MeasurePlan, measured: Measured) -> tuple[Ended, ...]:
    """Those that were told to end while it was measured, in that order; a second fine, by two clocks."""
    told = [each for each in measured.moments if each.what is What.TOLD]
    reports = [zone.report for zone in measured.zones if not isinstance(zone.report, Unknown)]
    found = []
    for moment in told:
        lasted = [
            each for report in reports for each in _lasted(plan, report, moment.pod, round(offset_s(moment, report)))
        ]
        found.append(Ended(moment.pod, min(lasted, default=None)))
    return tuple(found)


def _lasted(plan: MeasurePlan, report: Report, pod: str, told_s: int) -> Iterator[int]:
    """Of each stream to its own address."""
    names = {target.name for target in plan.targets if target.pod == pod}
    for stream, seconds in report.seconds.items():
        if stream.target in names:
            bad = (t for t, one in seconds.items() if t >= told_s and one.counts.bad)
            yield max(0, min(bad, default=report.length) - told_s)


def lost_until_s(plan: MeasurePlan, measured: Measured) -> int | None:
    """Seconds from a pod being told to end to the last answer that the service lost behind it; None where none was."""
    told = [each for each in measured.moments if each.what is What.TOLD]
    services = {target.name for target in plan.targets if not target.pod}
    found = []
    for zone in measured.zones:
        if isinstance(zone.report, Unknown):
            continue
        begins = [round(offset_s(each, zone.report)) for each in told]
        for stream, seconds in zone.report.seconds.items():
            bad = [t for t, one in seconds.items() if one.counts.bad and stream.target in services]
            found += [t - max(each for each in begins if each <= t) for t in bad if any(each <= t for each in begins)]
    return max(found, default=None)


def propagation(plan: MeasurePlan, measured: Measured, nodes: int) -> Propagation | None:
    """Of a cluster with so many `nodes`; None where no pod ended, or not all of it was seen. Where no answer was lost,
    every node sent elsewhere while pods still answered."""
    whole = measured.ended is not None and not (measured.interrupted or measured.unseen)
    known = [each.answered_s for each in ended_pods(plan, measured) if each.answered_s is not None]
    if not whole or not known or any(isinstance(zone.report, Unknown) for zone in measured.zones):
        return None
    until = lost_until_s(plan, measured)
    seconds = max(FASTEST_S, min(known)) if until is None else until
    return Propagation(seconds, nodes, measured.ended, lost=until is not None)


def said(plan: MeasurePlan, measured: Measured) -> Iterator[str]:
    """A sentence for each thing learned."""
    ended = ended_pods(plan, measured)
    for each in ended:
        if each.answered_s is not None:
            yield f"{each.pod} answered for {each.answered_s} s after it was told to end"
    until = lost_until_s(plan, measured)
    known = [each.answered_s for each in ended if each.answered_s is not None]
    if until is not None:
        yield f"the service still sent to a pod that had ended {until} s after it was told to end"
    elif known:
        yield f"every node sent elsewhere within {min(known)} s: no answer was lost"
