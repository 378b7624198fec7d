"""What the numbers mean: only what clients see is a failure, and only what was asked on time is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubectl_eksdoc.core.model import dns_measure_codes as codes
from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.coredns import NAME, SELECTOR, SERVICE, SYSTEM
from kubectl_eksdoc.core.model.dns_measure import KEPT, TCP, TRANSPORTS, UDP, Counts, Report, Stream
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, Subject, When, in_order
from kubectl_eksdoc.core.plan.dns.measuring.learned import said
from kubectl_eksdoc.core.plan.dns.measuring.manner import LATE_S, Happening
from kubectl_eksdoc.core.plan.dns.measuring.moments import What
from kubectl_eksdoc.core.plan.dns.measuring.plan import MeasurePlan
from kubectl_eksdoc.core.plan.dns.measuring.result import SLACK_S, Measured, MeasuredZone, offset_s, untold_s
from kubectl_eksdoc.core.plan.probe_left import left_finding

_SERVICE = Subject("Service", SERVICE, SYSTEM)
_SAID = {UDP: "UDP", TCP: "TCP", KEPT: "UDP from a socket that is kept"}


def findings_of(plan: MeasurePlan, measured: Measured) -> tuple[Finding, ...]:
    found: list[Finding] = []
    for zone in measured.zones:
        found += _of_zone(plan, measured, zone)
    found += _silent(plan, measured)
    found += _not_asked_from(plan)
    found += _not_done(plan, measured)
    if measured.not_removed or measured.left:
        namespace = plan.manner.namespace
        found.append(left_finding(codes.LEFT, measured.owner, namespace, measured.left, measured.not_removed))
    return in_order(found)


def _of_zone(plan: MeasurePlan, measured: Measured, zone: MeasuredZone) -> Iterator[Finding]:
    report, where = zone.report, f"from zone {zone.zone.said}"
    if isinstance(report, Unknown):
        yield _unknown(f"nothing was measured {where}: {report.why}", report.missing or "what a pod there measures")
        return
    service = {s: report.total(s) for s in plan.streams if _pod_of(plan, s) == ""}
    total = sum(service.values(), Counts())
    if total.bad:
        yield _lost(plan, measured, zone, report, service)
    if total.late:
        yield Finding(
            codes.LATE,
            Severity.MEDIUM,
            Status.FAIL,
            _SERVICE,
            f"{total.late} of {total.sent} answers through the service came after more than {LATE_S:g} s {where}",
            (f"in the seconds {_spans(_when(report, service, 'late'))}",),
            (Remedy("Look at CoreDNS's CPU limit and its upstream, and at what else changed in those seconds.", _TOP),),
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
        message = f"{where}, all {total.sent} questions through the service were answered"
        evidence = tuple(_what_it_shows(plan, measured))
        yield Finding(codes.LOST, Severity.INFO, Status.PASS, _SERVICE, message, evidence)


def _lost(
    plan: MeasurePlan, measured: Measured, zone: MeasuredZone, report: Report, service: dict[Stream, Counts]
) -> Finding:
    total = sum(service.values(), Counts())
    transports = (*TRANSPORTS, KEPT)
    by = {transport: sum(c.bad for s, c in service.items() if s.transport == transport) for transport in transports}
    parts = ", ".join(f"{count} over {_SAID[transport]}" for transport, count in by.items() if count)
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
    return Finding(
        codes.LOST,
        Severity.HIGH,
        Status.FAIL,
        _SERVICE,
        f"{total.bad} of {total.sent} questions through the service had no answer from zone {zone.zone.said} ({parts})",
        tuple(evidence),
        (
            Remedy(
                "Let CoreDNS answer on while kube-proxy hears that it ends: see which lameduck fits its grace period.",
                "kubectl eksdoc coredns-lameduck",
            ),
            Remedy("Measure again after that, with the same happening.", when=When.TOMORROW),
        ),
    )


def _silent(plan: MeasurePlan, measured: Measured) -> Iterator[Finding]:
    """Endpoints that were silent before they were told to end; whoever looks at them wants to know from where."""
    for pod in dict.fromkeys(target.pod for target in plan.targets if target.pod):
        mine = [stream for stream in plan.streams if _pod_of(plan, stream) == pod]
        bad = {zone.zone.said: _bad_before(measured, zone.report, mine, pod) for zone in measured.zones}
        found = {zone: seconds for zone, seconds in bad.items() if seconds}
        if found:
            total = sum(sum(seconds.values()) for seconds in found.values())
            yield Finding(
                codes.ENDPOINT,
                Severity.MEDIUM,
                Status.FAIL,
                Subject("Pod", pod, SYSTEM),
                f"{total} questions to its own address had no answer, though nobody had told it to end",
                tuple(f"from zone {zone} in the seconds {_spans(seconds)}" for zone, seconds in found.items()),
                (Remedy("Look at its log, its node, and network policies between the two.", _LOGS.format(pod)),),
            )


def _bad_before(measured: Measured, report: Report | Unknown, streams: Iterable[Stream], pod: str) -> dict[int, int]:
    """Questions without an answer by seconds, until the pod was told to end."""
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


_TOP = f"kubectl top pods -n {SYSTEM} -l {SELECTOR}"
_LOGS = f"kubectl logs -n {SYSTEM} {{}} --tail=50"


def _what_it_shows(plan: MeasurePlan, measured: Measured) -> Iterator[str]:
    ended = sorted({each.pod for each in measured.moments if each.what is What.TOLD})
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


def _not_done(plan: MeasurePlan, measured: Measured) -> Iterator[Finding]:
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


def _unknown(message: str, missing: str, evidence: tuple[str, ...] = ()) -> Finding:
    return Finding(codes.NOT_MEASURED, Severity.MEDIUM, Status.UNKNOWN, _SERVICE, message, evidence, (_AGAIN,), missing)


_AGAIN = Remedy("Mend what kept it from being measured, and measure again.")


def _pod_of(plan: MeasurePlan, stream: Stream) -> str:
    return next(target.pod for target in plan.targets if target.name == stream.target)


def _when(report: Report, service: Iterable[Stream], what: str) -> set[int]:
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
