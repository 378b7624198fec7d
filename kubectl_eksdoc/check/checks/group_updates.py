"""Node group updates and node images: an update under way, the pods that made one fail, and AMIs that have ended."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kubectl_eksdoc.amazon import amis
from kubectl_eksdoc.amazon.addon_needs import AL2023, NEEDS
from kubectl_eksdoc.amazon.amis import AmiFamily, GroupUpdateKind
from kubectl_eksdoc.amazon.group_updates import PATIENCE
from kubectl_eksdoc.amazon.versions import Fit, in_words
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.evictions import evict
from kubectl_eksdoc.kubernetes.guards import matching
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import EksAddonUpdate, UpdateHistory
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.eks import TemplateVersions
from kubectl_eksdoc.model.findings import CodeName, Finding, Remedy, Severity, Subject
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import basis
from kubectl_eksdoc.model.machines import NodeGroup, TemplateVersion
from kubectl_eksdoc.model.nodes import Node, NodeOwner, Pod

from ..checking import (
    NOT_ASKED,
    CheckFacts,
    UpgradeCheck,
    ago,
    aws,
    cluster_of,
    issue,
    name_of,
    number,
    sourced,
    unknown,
    unread,
)
from .release_notes import groups, named
from .software import groups_unknown, node_groups, nodes_of, subject
from .software import subject as of_group

IN_PROGRESS, FAILED, SUCCESSFUL = "InProgress", "Failed", "Successful"
"""As EKS writes the status of an update (botocore, eks/2017-11-01, UpdateStatus)."""


@frozen
class _Standing:
    """`unknown`: an update that could not be described; `failed`: the latest update, if it failed."""

    unknown: Unknown | None
    under_way: tuple[EksAddonUpdate, ...]
    failed: EksAddonUpdate | None


def standing(history: UpdateHistory) -> _Standing:
    known = [each for each in history.updates if isinstance(each, EksAddonUpdate)]
    unknown = next((each for each in history.updates if isinstance(each, Unknown)), None)
    failed = known[0] if known and known[0].status == FAILED else None
    return _Standing(unknown, tuple(each for each in known if each.status == IN_PROGRESS), failed)


def begun(facts: CheckFacts, each: EksAddonUpdate) -> str:
    """``, begun 5 hours ago``; "" where the start is not known."""
    return "" if each.begun is None else f", begun {ago(facts.cluster.observed_at, each.begun)}"


def describe(facts: CheckFacts, each: EksAddonUpdate, *of: str) -> str:
    """The command that shows the update; `owner_flags`: name a node group, none for the cluster's own updates."""
    return aws(facts, "eks", "describe-update", "--name", name_of(facts), *of, "--update-id", each.id)


EVICTION_FAILURE = "PodEvictionFailure"
_MOST = 5
_KINDS = (kinds.NODES, kinds.PODS, kinds.BUDGETS)


def _updates(facts: CheckFacts) -> Iterator[Finding]:
    told = facts.aws.group_updates
    if isinstance(told, Unknown):
        yield unknown("nodegroup-update/all", cluster_of(facts), told)
        return
    for name, history in sorted(told.items()):
        if isinstance(history, Unknown):
            yield unknown("nodegroup-update/latest", subject(name), history)
            continue
        found = standing(history)
        if found.unknown is not None:
            yield unknown("nodegroup-update/one", subject(name), found.unknown)
        for each in found.under_way:
            yield Finding.of(
                "nodegroup-update/under-way",
                subject(name),
                (*_parameters(each), f"update {each.id}"),
                type=each.type,
                begun=begun(facts, each),
                command=describe(facts, each, "--nodegroup-name", name),
            )


def _failures(facts: CheckFacts) -> Iterator[Finding]:
    """Only the group's next update ends a failed state; the plan of its drain finds what would block that."""
    told = facts.aws.group_updates
    for name, history in () if isinstance(told, Unknown) else sorted(told.items()):
        failed = None if isinstance(history, Unknown) else standing(history).failed
        if failed is not None:
            yield from _failed(facts, name, failed)


def _failed(facts: CheckFacts, name: str, each: EksAddonUpdate) -> Iterator[Finding]:
    evictions = [error for error in each.errors if error.code == EVICTION_FAILURE]
    seen: tuple[str, ...] = ()
    if evictions:
        yield from unread(facts, "nodegroup-update/pods")
        seen = tuple(
            _in_the_way(facts, name, [one for error in evictions for one in (*error.resources, error.message)])
        )
    yield Finding.of(
        "nodegroup-update/failed",
        subject(name),
        (*seen, *map(issue, each.errors), *_parameters(each), f"update {each.id}"),
        evictions=evictions,
        drain=shell("kubectl", "eksdoc", "drain", "plan", f"--nodegroup={name}"),
        command=describe(facts, each, "--nodegroup-name", name),
        type=each.type,
        begun=begun(facts, each),
        codes=", ".join(dict.fromkeys(error.code for error in each.errors if error.code)),
    )


def _parameters(each: EksAddonUpdate) -> tuple[str, ...]:
    said = [f"{name} {value}" for name, value in each.parameters if value]
    return (f"asked for: {', '.join(said)}",) if said else ()


def _in_the_way(facts: CheckFacts, name: str, said: list[str]) -> Iterator[str]:
    """The pods whose eviction would be refused now, on the nodes that EKS names, or on all nodes of the group if those
    are gone. Changes since the update failed are not visible."""
    if facts.cluster.unread(*_KINDS):
        return
    nodes = _nodes(facts, name, said)
    names = {node.name for node in nodes}
    guards = matching(facts.cluster.budgets, ())
    held = []
    for pod in facts.cluster.pods:
        if pod.node in names and not (pod.finished or pod.mirror or pod.of_daemon_set):
            budgets = guards.of(pod)
            answer = evict(pod, budgets, facts.cluster.observed_at, dry_run=True)
            if not answer.ok:
                by = " and ".join(each.name for each in budgets)
                held.append(f"pod {pod.key} on {pod.node} may not go now: budget {by}")
            elif pod.tolerates("node.kubernetes.io/unschedulable", "", "NoSchedule") and _everything(pod):
                held.append(f"pod {pod.key} on {pod.node} tolerates every taint: it is rescheduled onto the same node")
    waited = f"{int(PATIENCE.total_seconds()) // 60} minutes"
    if not held:
        yield f"no budget holds a pod of {', '.join(sorted(names)[:_MOST]) or 'the group'} now; EKS waits {waited}"
    yield from held[: 2 * _MOST]
    if len(held) > 2 * _MOST:
        yield f"{len(held) - 2 * _MOST} more pods"


def _everything(pod: Pod) -> bool:
    """EKS user guide, managed-node-update-behavior: a pod that tolerates all taints is rescheduled onto its node."""
    return any(each.operator == "Exists" and not each.key and not each.effect for each in pod.tolerations)


def _nodes(facts: CheckFacts, name: str, said: list[str]) -> list[Node]:
    ours = nodes_of(facts, name)
    words = {word.strip("[](),.;:'\"") for text in said for word in text.split()}
    return [node for node in ours if node.name in words] or ours


_UPDATES = UpgradeCheck.of("nodegroup-update", _updates)
CHECKS = (_UPDATES, _UPDATES.also(_failures, None))


# AMIs of the nodes: Amazon Linux 2, which has ended, its successors, and custom AMIs.


_OF_EKS = (NodeOwner.FARGATE, NodeOwner.AUTO_MODE)
"""Owners whose node images EKS chooses."""


@frozen
class NodeImageGroup:
    """Nodes of one group and one AMI family; `group`: as EKS describes it, None where EKS does not manage it or did not
    describe it. `family_evidence`: how the family is known."""

    subject: Subject
    owner: NodeOwner
    family: AmiFamily
    told: str
    nodes: tuple[Node, ...] = ()
    group: NodeGroup | None = None


def made(facts: CheckFacts) -> tuple[NodeImageGroup, ...]:
    """By the OS image of the nodes; node groups without nodes by their amiType."""
    described = {each.name: each for each in node_groups(facts)}
    found: list[NodeImageGroup] = []
    for each in groups(node for node in facts.cluster.nodes if node.owner not in _OF_EKS):
        group = described.pop(each.name, None) if each.owner is NodeOwner.MANAGED else None
        by_family: dict[AmiFamily, list[Node]] = {}
        for node in each.nodes:
            by_family.setdefault(_family(node, group), []).append(node)
        for family, nodes in by_family.items():
            told = f"they say of themselves: {nodes[0].os_image or 'nothing'}"
            found.append(NodeImageGroup(each.subject, each.owner, family, told, tuple(nodes), group))
    for group in described.values():
        family = amis.family_of_type(group.ami_type)
        told = f"it has no nodes now, and its amiType is {group.ami_type or 'not told'}"
        found.append(NodeImageGroup(of_group(group.name), NodeOwner.MANAGED, family, told, (), group))
    return tuple(found)


def _family(node: Node, group: NodeGroup | None) -> AmiFamily:
    found = amis.family_of_os(node.os_image)
    if found is AmiFamily.UNKNOWN and group is not None:
        return amis.family_of_type(group.ami_type)
    return found


def _unread(facts: CheckFacts, code: CodeName) -> Iterator[Finding]:
    """Unread data; the nodes alone are sufficient except for groups without nodes."""
    yield from unread(facts, f"{code}/of-nodes", severity=Severity.HIGH)
    yield from groups_unknown(facts, f"{code}/if-nodes", Severity.LOW)


def _al2(facts: CheckFacts) -> Iterator[Finding]:
    yield from _unread(facts, "ami-al2")
    fit = amis.offered(AmiFamily.AL2, facts.way.target)
    for each in made(facts):
        if each.family is AmiFamily.AL2:
            none, target = fit.fit is Fit.TOO_OLD, in_words(facts.way.target)
            yield Finding.of(
                "ami-al2",
                each.subject,
                (*_who(each), sourced(fit.why, fit.source or amis.AL2.source), amis_end()),
                severity=Severity.HIGH if none else Severity.MEDIUM,
                remedy=(_way(facts, each),),
                nodes=bool(each.nodes),
                count=len(each.nodes),
                none=none,
                target=target,
                why=fit.why,
            )


def amis_end() -> str:
    return f"no AMI of it is published since {amis.AL2.ended}, security updates included"


def _who(each: NodeImageGroup) -> tuple[str, ...]:
    return (*((named(each.nodes),) if each.nodes else ()), each.told)


def _way(facts: CheckFacts, each: NodeImageGroup) -> Remedy:
    if each.group is not None:
        way = amis.way_to(each.group.ami_type, facts.way.target, own_image(facts, each.group)).way
        if way is GroupUpdateKind.NEW_GROUP:
            return Remedy.of("group-replace")
        if way is GroupUpdateKind.TEMPLATE:
            return Remedy.of("group-template")
    if each.owner is NodeOwner.KARPENTER:
        return Remedy.of("al2-karpenter")
    return Remedy.of("al2-replace")


def own_image(facts: CheckFacts, group: NodeGroup) -> bool | None:
    """Whether its own launch template names an AMI; None where that is not known."""
    if group.template is None:
        return group.ami_type == amis.CUSTOM
    told = facts.aws.templates.get(group.template, NOT_ASKED)
    used = told.used if isinstance(told, TemplateVersions) else None
    return bool(used.image) if isinstance(used, TemplateVersion) else None


def _told(rule: str) -> str:
    known = basis(rule)
    return f"{known.clause} ({known.source.document})"


def _moves(facts: CheckFacts) -> Iterator[Finding]:
    yield from _unread(facts, "ami-al2023-moves")
    old = [each for each in made(facts) if each.family is AmiFamily.AL2]
    if not old:
        return
    (cni,) = (each.at_least for each in NEEDS if each.nodes == AL2023 and each.at_least is not None)
    yield Finding.of(
        "ami-al2023-moves",
        cluster_of(facts),
        (
            ", ".join(str(each.subject) for each in old),
            *map(_told, ("al2023/metadata", "al2023/cgroup")),
            f"vpc-cni {in_words(cni)} or newer (EKS user guide, al2023)",
            _told("al2023/user-data"),
        ),
        root_cause=old[0].subject if len(old) == 1 else None,
        number=number(len(old), "group"),
    )


def _unknown_images(facts: CheckFacts) -> Iterator[Finding]:
    yield from _unread(facts, "ami-unknown")
    for each in made(facts):
        fit = amis.offered(each.family, facts.way.target)
        if fit.fit is Fit.UNKNOWN:
            wanted = in_words(facts.way.target)
            yield Finding.of(
                "ami-unknown",
                each.subject,
                _who(each),
                wanted=wanted,
                fit_why=fit.why,
                family=each.family.value,
                ubuntu=each.family is AmiFamily.UBUNTU,
            )


def _cgroups(facts: CheckFacts) -> Iterator[Finding]:
    if facts.way.target < basis("cgroup-v1").since:
        return
    yield from _unread(facts, "cgroup-v1")
    yield from _cgroup(facts, Fit.UNKNOWN)


def _cgroup(facts: CheckFacts, fit: Fit) -> Iterator[Finding]:
    """The groups with that verdict. Groups that are too old are replaced by other ones in any case."""
    for each in made(facts):
        found = amis.cgroup_fits(each.family, facts.way.target)
        if found.fit is fit:
            yield Finding.of(
                "cgroup-v1/unknown" if fit is Fit.UNKNOWN else "cgroup-v1/no-start",
                each.subject,
                (*_who(each), *((sourced(found.why, found.source),) if found.source else ())),
                remedy=() if fit is Fit.UNKNOWN else (_way(facts, each),),
                in_words=in_words(facts.way.target),
                fit_why=found.why,
            )


_CGROUPS = UpgradeCheck.of("cgroup-v1", _cgroups)

NODE_IMAGE_CHECKS = (
    UpgradeCheck.of("ami-al2", _al2),
    UpgradeCheck.of("ami-al2023-moves", _moves),
    UpgradeCheck.of("ami-unknown", _unknown_images),
    _CGROUPS,
    _CGROUPS.also(partial(_cgroup, fit=Fit.TOO_OLD), None),
)
