"""Who hears of Spot notices, as far as CoreDNS is concerned: the answer of `interruption` in a clause."""

from __future__ import annotations

from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.findings import Status
from kubectl_eksdoc.core.plan.dns.facts import Notices
from kubectl_eksdoc.core.plan.interruption.plan import InterruptionPlan


def notices_of(plan: InterruptionPlan) -> Notices | Unknown:
    """Of Karpenter's nodes."""
    if plan.outage.handled is True:
        return Notices(True, f"{plan.outage.by} drains it at the notice")
    install = plan.facts.install
    if isinstance(install, Unknown):
        return install
    if isinstance(install, Absent):
        return Notices(False, "there is no Karpenter in the cluster any more")
    vital = [each for each in plan.links if each.vital]
    if plan.outage.handled is False:
        broken = next((each for each in vital if each.failed), None)
        if broken is None:
            return Notices(False, "Karpenter receives no events")
        mend = next((each.command for each in broken.remedy if each.command), "")
        return Notices(False, f"Karpenter does not receive its events ({broken.name}: {broken.what})", mend)
    doubted = next((each for each in vital if each.status is Status.UNKNOWN), None)
    if doubted is None:
        return Unknown("what Karpenter hears of is not known")
    return Unknown(f"{doubted.name}: {doubted.what}", doubted.missing)
