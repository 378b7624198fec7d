"""CoreDNS in a sentence."""

from __future__ import annotations

from kubectl_eksdoc.core.model import dns_codes as codes
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.findings import Severity, Status
from kubectl_eksdoc.core.plan.dns.plan import DnsPlan
from kubectl_eksdoc.render.text import counted


def verdict(plan: DnsPlan) -> str:
    """The first line."""
    if elsewhere(plan):
        return "DNS does not depend on CoreDNS here."
    failing = {each.code for each in plan.findings if each.status is Status.FAIL}
    worst = {each.severity for each in plan.findings if each.status is Status.FAIL}
    unknown = sum(each.status is Status.UNKNOWN for each in plan.findings)
    if codes.FAILING in failing or codes.NOT_SERVING in failing:
        said = "DNS has trouble now"
    elif worst & {Severity.CRITICAL, Severity.HIGH}:
        said = "DNS answers now, and lookups will fail when a node of it goes"
    elif failing:
        said = "DNS answers, and could be safer"
    elif unknown:
        said = "Nothing is known to be wrong with DNS, and not everything is known"
    else:
        said = "Lookups survive the nodes they are answered on"
    more = f"; {counted(unknown, 'thing')} {'is' if unknown == 1 else 'are'} not known" if unknown and failing else ""
    return f"{said}{more}."


def elsewhere(plan: DnsPlan) -> bool:
    """Nobody needs CoreDNS."""
    return isinstance(plan.facts.deployed, Absent) and [each.code for each in plan.findings] == [codes.WITHOUT]


def what(plan: DnsPlan) -> str:
    """``CoreDNS v1.11.4-eksbuild.2, an add-on of EKS: 2 of 2 pods Ready, lameduck 5 s of 30 s of grace``."""
    facts = plan.facts
    of = facts.deployed
    if elsewhere(plan):
        return f"{plan.findings[0].message[:1].upper()}{plan.findings[0].message[1:]}."
    if isinstance(of, (Absent, Unknown)):
        return f"CoreDNS: {of.said if isinstance(of, Absent) else of.why}."
    addon = facts.addon
    if isinstance(addon, Absent):
        whose = "self-managed"
    elif isinstance(addon, Unknown):
        whose = "an add-on of EKS or not (not known)"
    else:
        whose = "an add-on of EKS"
    ready = sum(pod.ready for pod in facts.pods)
    lameduck = plan.ending.lameduck_s
    said = "lameduck not known" if lameduck is None else f"lameduck {lameduck:g} s" if lameduck else "no lameduck"
    pods = f"{ready} of {counted(max(of.replicas, len(facts.pods)), 'pod')} Ready"
    return f"CoreDNS {of.version or '(version not known)'}, {whose}: {pods}, {said} of {of.grace_s} s of grace."
