"""A measurement of DNS in sentences."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.dns_measure import Counts, Report, Target
from kubectl_eksdoc.core.plan.dns.measuring.manner import LATE_S, Happening
from kubectl_eksdoc.core.plan.dns.measuring.moments import What
from kubectl_eksdoc.core.plan.dns.measuring.plan import MeasurePlan
from kubectl_eksdoc.core.plan.dns.measuring.result import Measured
from kubectl_eksdoc.core.plan.dns.measuring.targets import MOST_ENDPOINTS
from kubectl_eksdoc.render.dns_measure.view import MeasureView
from kubectl_eksdoc.render.text import counted

_DOES = {
    Happening.WATCH: "nothing is changed besides",
    Happening.ROLLOUT: "restart the rollout of Deployment coredns, which replaces",
    Happening.EVICTION: "evict",
}


def in_short(view: MeasureView) -> str:
    """The first line."""
    plan, measured = view.plan, view.measured
    if measured is None:
        return would(plan)
    reports = [zone.report for zone in measured.zones if isinstance(zone.report, Report)]
    ended = " It was interrupted." if measured.interrupted else ""
    if not reports:
        return f"DNS was not measured.{ended}"
    total = sum((through_service(plan, report) for report in reports), Counts())
    zones = counted(len(reports), "zone")
    late = f", {total.late} came late" if total.late else ""
    unknown = f", {total.unknown} are not known" if total.unknown else ""
    unasked = [zone for zone in measured.zones if isinstance(zone.report, Unknown)]
    rest = f" {counted(len(unasked), 'zone')} told nothing." if unasked else ""
    asked = f"Asked through the service from {zones}, {total.bad} of {total.sent} questions had no answer"
    return f"{asked}{late}{unknown}. {_meanwhile(measured)}{rest}{ended}"


def _meanwhile(measured: Measured) -> str:
    """What it is worth: DNS that is left alone always answers."""
    gone = {each.pod for each in measured.moments if each.what is What.TOLD}
    if gone:
        return f"{counted(len(gone), 'CoreDNS pod')} ended meanwhile."
    if measured.unseen:
        return "Whether a CoreDNS pod ended meanwhile is not known."
    return "No CoreDNS pod ended meanwhile: this says nothing of a rollout or a drain."


def through_service(plan: MeasurePlan, report: Report) -> Counts:
    names = {target.name for target in plan.targets if not target.pod}
    return sum((report.total(stream) for stream in plan.streams if stream.target in names), Counts())


def would(plan: MeasurePlan) -> str:
    """What would be made and done."""
    if not plan.pods:
        return "There is no node to ask from: nothing would be made."
    namespace = plan.manner.namespace
    made = f"This would make {counted(len(plan.pods), 'pod')}, and the ConfigMap that owns them, in namespace"
    happening = plan.manner.happening
    pods = f" {counted(len(plan.affected), 'pod')}" if happening.changes else ""
    does = _DOES[happening]
    done = f"; {does}." if not happening.changes else f", and {does}{pods} of CoreDNS."
    return f"{made} {namespace}{done} What it makes is deleted at the end."


def about(plan: MeasurePlan) -> list[str]:
    """What somebody should know before it is made."""
    manner = plan.manner
    rate = manner.rate * len(plan.streams)
    told = [
        f"each pod asks {manner.rate:g} times a second each of {named(plan.targets)}, over UDP and TCP, "
        "and the service over one UDP socket that is kept: "
        f"{rate:g} questions a second",
        f"late is after {LATE_S:g} s, lost after {manner.timeout_s:g} s",
        *(f"{family} does not apply: {why}" for family, why in plan.absent.items()),
        f"image: {manner.image}; it needs Python 3.10 or newer",
        "they are bound to their nodes past the scheduler: none is preempted for them, no autoscaler wakes up",
    ]
    pods = sum(1 for target in plan.targets if target.pod)
    if pods == MOST_ENDPOINTS:
        told.append(f"of endpoints, no more than {MOST_ENDPOINTS} are asked at their own address")
    told += _done(plan)
    for owners, why in (
        (plan.stale, "removed first, as a measurement that was killed has left it"),
        (plan.others, "left alone, as another measurement may be running"),
    ):
        if owners:
            told.append(f"{why}: {', '.join(owner.name for owner in owners)}")
    return told


def _done(plan: MeasurePlan) -> Iterable[str]:
    names = ", ".join(pod.name for pod in plan.affected)
    if plan.manner.happening is Happening.ROLLOUT:
        yield f"replaced, as by kubectl rollout restart deployment/coredns -n kube-system: {names}"
        yield "a rollout that hangs is stopped with kubectl rollout undo deployment/coredns -n kube-system"
    if plan.manner.happening is Happening.EVICTION:
        yield f"evicted, once its budget allows it: {names}; its ReplicaSet makes another one"
        if len({target.pod for target in plan.targets if target.pod}) <= 1:
            yield "it is the only one that serves: there is no DNS until the other one is ready"


def named(targets: Iterable[Target]) -> str:
    every = list(targets)
    service = [target.address for target in every if not target.pod]
    pods = len(every) - len(service)
    return f"the service ({', '.join(service)})" + (f" and {counted(pods, 'endpoint')}" if pods else "")
