"""The handling of interruptions in sentences."""

from __future__ import annotations

from kubectl_eksdoc.core.model import interruption_codes as codes
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.interruption import KarpenterInstall
from kubectl_eksdoc.core.model.nodes import NodeOwner
from kubectl_eksdoc.core.plan.interruption.outage import KARPENTER
from kubectl_eksdoc.core.plan.interruption.plan import InterruptionPlan
from kubectl_eksdoc.render.text import counted, joined


def in_short(plan: InterruptionPlan) -> str:
    """The first lines: who hears, who dies."""
    return f"{_who(plan)} {_spot(plan)}"


def _who(plan: InterruptionPlan) -> str:
    facts, handled = plan.facts, plan.outage.handled
    if isinstance(facts.install, Unknown):
        return "How Karpenter is configured is not known, and so whether it hears of interruptions."
    if isinstance(facts.install, Absent):
        nodes = [node for node in facts.cluster.nodes if node.owner is NodeOwner.KARPENTER]
        if nodes:
            return f"There is no Karpenter, and {counted(len(nodes), 'node')} that it made."
        auto = facts.place.auto_mode or any(node.owner is NodeOwner.AUTO_MODE for node in facts.cluster.nodes)
        return (
            "EKS Auto Mode handles interruptions by itself: nothing is to be set." if auto else "There is no Karpenter."
        )
    head = f"Karpenter {facts.install.version or '(version not known)'} ({facts.install.key})"
    broken = [each.name for each in plan.links if each.failed and each.vital and each.code is not codes.LOG]
    if handled is False or broken:
        one = len(broken) == 1
        links = f"the link{'' if one else 's'} {joined(broken)} {'is' if one else 'are'} broken"
        return f"{head} receives no Spot interruption events: {links if broken else 'its log says so'}."
    if handled is None or plan.outage.by != KARPENTER:  # who else drains does not make Karpenter hear
        unsure = [
            each.name for each in plan.links if each.vital and each.status is not None and each.status.value != "pass"
        ]
        return f"Whether {head} receives Spot interruption events is not known: {', '.join(unsure[:3])}."
    lesser = [each.name for each in plan.links if each.failed]
    also = f", but not of everything else ({', '.join(lesser)})" if lesser else ""
    return f"{head} receives Spot interruption events{also}."


HANDLED = {True: "yes", False: "no", None: "unknown"}


def verdicts(plan: InterruptionPlan) -> tuple[str, ...]:
    """Of the two halves of the chain; () without a Karpenter to ask."""
    if not plan.links:
        return ()
    kinds = ", ".join(f"{kind} {HANDLED[so]}" for kind, so in plan.to_queue.items())
    return f"EventBridge delivers to the queue: {kinds}.", f"Karpenter reads the queue: {HANDLED[plan.to_karpenter]}."


def _spot(plan: InterruptionPlan) -> str:
    outage = plan.outage
    if not outage.nodes:
        others = sum(node.capacity_type == "spot" for node in plan.facts.cluster.nodes)
        return (
            f"None of Karpenter's nodes is Spot; {counted(others, 'Spot node')} {'is' if others == 1 else 'are'} "
            "others'."
            if others
            else "No node is known to be Spot."
        )
    pods = sum(len(each.dying) for each in outage.nodes)
    dns = next((each for each in outage.losers if each.dns), None)
    names = f", among them {dns.on_spot} of {dns.ready} CoreDNS" if dns is not None else ""
    now = (
        f" {counted(len(outage.interrupted), 'of them has', 'of them have')} a notice NOW."
        if outage.interrupted
        else ""
    )
    return f"{counted(len(outage.nodes), 'Spot node')} of Karpenter with {counted(pods, 'pod')}{names}.{now}"


def karpenter(install: KarpenterInstall) -> str:
    """``kube-system/karpenter v1.5.0``."""
    return f"{install.key} {install.version or install.tag or '(version not known)'}"
