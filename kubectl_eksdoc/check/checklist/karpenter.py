"""Karpenter's nodes: it replaces them by itself once their AMI is not the one that it would take now (drift).

With an alias, or other terms that find AMIs by themselves, that begins as soon as the control plane has a new version,
not when somebody is ready for it; with AMIs named by their ids it begins when the EC2NodeClass is changed. Budgets hold
back drift and consolidation only: a node that expires (expireAfter, 720h by default) is deleted whatever they say, and
comes back with the new version. So the AMIs are pinned where the EC2NodeClass is known.
Source: Karpenter documentation, Disruption (drift, budgets, expiration) and NodeClasses (amiSelectorTerms).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.amazon.upgrades.sourced import in_words
from kubectl_eksdoc.check.areas import Gate
from kubectl_eksdoc.check.checklist.steps import Phase, UpgradeStep
from kubectl_eksdoc.check.checks.grouped import NodeGroupNodes, groups
from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.model.asked import Confidence
from kubectl_eksdoc.model.cluster import NodeClass, NodePool
from kubectl_eksdoc.model.commands import patch, saved, shell
from kubectl_eksdoc.model.knowledge import KnowledgeSource
from kubectl_eksdoc.model.nodes import NODE_POOL, NodeOwner
from kubectl_eksdoc.model.versions import Version

_DRIFT = KnowledgeSource("Karpenter documentation, Disruption and NodeClasses", Confidence.MEDIUM)
_NO_DRIFT = '{"spec": {"disruption": {"budgets": [{"nodes": "0"}]}}}'
"""For all reasons: budgets by reason came with 1.0."""


def held(facts: CheckFacts) -> Iterator[UpgradeStep]:
    """Before the first step of the control plane, for pools whose nodes would begin to drift with it."""
    if not facts.way.steps:
        return
    for group in groups(facts.cluster.nodes):
        if not _has_pool(group) or _pinned(facts, group.name):
            continue
        named = _class_of(facts, group.name)
        yield _budget(facts, group) if named is None else _pin(facts, group, named)


def _pin(facts: CheckFacts, group: NodeGroupNodes, named: NodeClass) -> UpgradeStep:
    label, terms = f"{NODE_POOL}={group.name}", ", ".join(named.amis[:3]) or "as the family has them"
    return UpgradeStep(
        Phase.BEFORE_CONTROL_PLANE,
        f"Pin the AMIs of EC2NodeClass {named.name}, for NodePool {group.name}",
        (
            f"its AMIs ({terms}) are selected again once the control plane has a new version: its nodes drift "
            "at once, and those that expire are replaced with it, which no disruption budget holds "
            "(expireAfter). In amiSelectorTerms name the ids that the second command prints, each as an "
            f"id, and amiFamily beside them; nodes that have them do not drift{_one_release(facts, group.name)}"
        ),
        (
            saved("ec2nodeclass", named.name, ""),
            shell("kubectl", "get", "nodeclaims", "-l", label, "-o", "jsonpath={.items[*].status.imageID}"),
            shell("kubectl", "edit", "ec2nodeclass", named.name),
        ),
        "its amiSelectorTerms are ids, and no NodeClaim is Drifted",
        shell("kubectl", "get", "ec2nodeclass", named.name, "-o", "jsonpath={.spec.amiSelectorTerms}"),
        at=facts.way.now,
        source=_DRIFT,
    )


def _budget(facts: CheckFacts, group: NodeGroupNodes) -> UpgradeStep:
    """Of a pool whose class is not known."""
    return UpgradeStep(
        Phase.BEFORE_CONTROL_PLANE,
        f"Hold Karpenter back from NodePool {group.name}",
        (
            "its AMI is selected again once the control plane has a new version: its nodes drift at "
            "once, by default 10 % of them at a time, before what blocks their replacement is fixed. A "
            "budget of 0 (from Karpenter 0.34 on) holds that, and consolidation, too; new nodes still "
            "come, and it does not hold expiry (expireAfter): where nodes expire meanwhile, pin the AMIs "
            "in the EC2NodeClass by their ids. The file has the budgets of before"
        ),
        (
            saved("nodepool", group.name, ""),
            patch("nodepool", group.name, "", _NO_DRIFT),
        ),
        "its only disruption budget is 0",
        shell("kubectl", "get", "nodepool", group.name, "-o", "jsonpath={.spec.disruption.budgets}"),
        at=facts.way.now,
        source=_DRIFT,
    )


def _has_pool(group: NodeGroupNodes) -> bool:
    """What was made by a Provisioner, before 0.32, has no disruption budgets."""
    return group.owner is NodeOwner.KARPENTER and any(node.labels.get(NODE_POOL) for node in group.nodes)


def replaced(
    facts: CheckFacts, group: NodeGroupNodes, version: Version, phase: Phase, because: str, nodes: str
) -> UpgradeStep:
    """By drift: `held` is taken back, or pinned AMIs are changed."""
    named = _class_of(facts, group.name)
    pool = f"NodePool {group.name}" if group.name else "no NodePool"
    if (ids := _ids(named)) and named is not None:
        title = f"Name AMIs of {in_words(version)} in EC2NodeClass {named.name}, for {pool}"
        why = (
            f"it names its AMIs ({', '.join(ids[:3])}): nothing changes before they are changed, then every node of the"
            " class drifts, within the disruption budgets of its NodePool (10 % by default)"
        )
        commands: tuple[str, ...] = (
            saved("ec2nodeclass", named.name, ""),
            shell("kubectl", "edit", "ec2nodeclass", named.name),
        )
    elif named is not None and facts.way.steps:
        title = f"Let Karpenter replace the nodes of {pool}: give EC2NodeClass {named.name} its AMIs back"
        terms = ", ".join(named.amis) or "the AMIs of its family"
        why = (
            f"with {terms} instead of ids every node of the class drifts, within"
            " the disruption budgets of its NodePool (10 % by default)"
        )
        commands = (_given_back(named),)
    else:
        title = f"Let Karpenter replace the nodes of {pool}: give it its disruption budgets back"
        why = (
            "they drift by themselves once the control plane has a new version; the budgets say how many of them at a"
            f" time (10 % where none is set), and those of before are in the file that was saved{_alias(named)}"
        )
        commands = (shell("kubectl", "edit", "nodepool", group.name),) if _has_pool(group) and facts.way.steps else ()
    return UpgradeStep(
        phase,
        title,
        because + why,
        commands,
        f"every node of it has {in_words(version)}, and no NodeClaim is Drifted",
        nodes,
        version,
        gate=Gate.BEFORE_NODES,
        about=tuple(filter(None, (group.name, *(node.name for node in group.nodes)))),
        source=_DRIFT,
    )


def _given_back(named: NodeClass) -> str:
    """By an alias, which is all that may be said with it; other terms are in the file that was saved."""
    key, _, value = named.amis[0].partition("=") if len(named.amis) == 1 else ("", "", "")
    if key != "alias" or '"' in value or "\\" in value:
        return shell("kubectl", "edit", "ec2nodeclass", named.name)
    return patch("ec2nodeclass", named.name, "", f'{{"spec": {{"amiSelectorTerms": [{{"alias": "{value}"}}]}}}}')


def _one_release(facts: CheckFacts, pool: str) -> str:
    """Of an alias that names a release: one from before a minor version has no AMI for it."""
    named, to = _class_of(facts, pool), in_words(facts.way.target)
    terms = () if named is None else named.amis
    pinned = [each for each in terms if each.startswith("alias=") and "@" in each and not each.endswith("@latest")]
    if not pinned:
        return ""
    return (
        f". Its AMIs are of one release ({', '.join(pinned[:3])}): where there is none of that release for {to}, no new"
        " node comes once the control plane has it; name a release that has one, at the latest then"
    )


def _alias(named: NodeClass | None) -> str:
    if named is None:
        return "; whether its EC2NodeClass names AMIs is unknown: check amiSelectorTerms first"
    return f"; its AMIs: {', '.join(named.amis) or 'as the family has them'}"


def _class_of(facts: CheckFacts, pool: str) -> NodeClass | None:
    found: NodePool | None = next((each for each in facts.cluster.node_pools if each.name == pool), None)
    if found is None or not found.node_class:
        return None
    return next((each for each in facts.cluster.node_classes if each.name == found.node_class), None)


def _ids(named: NodeClass | None) -> tuple[str, ...]:
    """AMIs by their ids, if it takes no others."""
    if named is None or not named.amis or not all(each.startswith("id=") for each in named.amis):
        return ()
    return named.amis


def _pinned(facts: CheckFacts, pool: str) -> bool:
    return bool(_ids(_class_of(facts, pool)))
