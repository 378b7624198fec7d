"""Node steps of an upgrade, by node owner: at the end, or earlier if a kubelet is too old for the control plane."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from kubectl_eksdoc.amazon.addon_needs import CLUSTER_AUTOSCALER
from kubectl_eksdoc.amazon.amis import GroupUpdateKind
from kubectl_eksdoc.amazon.versions import Fit, in_words, kubelet_skew, minor_of
from kubectl_eksdoc.model.connection import CommandTarget, file_of, kubectl, shell
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.knowledge import basis
from kubectl_eksdoc.model.nodes import GROUP_LABELS, NodeOwner
from kubectl_eksdoc.model.quantities import Version

from . import addon_steps as addons
from . import karpenter_steps as karpenter
from . import steps
from .checking import CheckFacts, Gate, aws, number
from .checks.insights import kubelets_refused
from .checks.release_notes import NodeGroupNodes, groups
from .checks.software import RunningVersion, running
from .karpenter_steps import MINUTES, way_of
from .step_forms import new_by_eksctl, of_group, of_scaling_group
from .steps import (
    Phase,
    UpgradeStep,
    check,
    deleted,
    deleting,
    eks,
    lost,
    numbered,
    preparing,
    restarted,
)


def before(facts: CheckFacts, now: Version, step: Version, again: bool) -> Iterator[UpgradeStep]:
    """Replace the groups whose kubelets the API server of `step` would not serve by nodes of `current`. Nodes of Auto
    Mode are replaced at once, so their blockers have to be fixed before the first step. `listed_before`: an earlier
    step has listed the blockers."""
    every = groups(facts.cluster.nodes)
    old = [(group, why) for group in every if (why := _too_old(facts, group, step))]
    if old:
        first = f"nodes are replaced before the control plane gets {in_words(step)}, which would not serve them"
        yield from _looked_at(facts, Phase.BEFORE_CONTROL_PLANE, first, again)
    elif now == facts.way.now and any(group.owner is NodeOwner.AUTO_MODE for group in every):
        yield from _looked_at(facts, Phase.BEFORE_CONTROL_PLANE, _EARLY, again)
    for group, why in old:
        yield from _of(facts, group, now, Phase.BEFORE_CONTROL_PLANE, f"once the control plane has {why}; ")


_LIMIT = f"EKS gives the pods of a node {MINUTES} minutes, Karpenter waits for ever: neither says which budget it is"
_EARLY = "EKS Auto Mode begins to replace its nodes as soon as the control plane has a new version"


def after(facts: CheckFacts, there: Sequence[RunningVersion], again: bool) -> Iterator[UpgradeStep]:
    """Replace all nodes that are behind, the smallest groups first, to find problems at a small scale.
    `running_versions`: all software that runs; `listed_before`: an earlier step has listed the blockers, and the
    replacement of Auto Mode nodes has begun since."""
    target = facts.way.target
    behind = [each for each in groups(facts.cluster.nodes) if _behind(each, target)]
    if not behind:
        return
    if not again or any(each.owner is not NodeOwner.AUTO_MODE for each in behind):
        yield from _looked_at(facts, Phase.NODES, _LIMIT, again)
    scaled = any(each.owner in (NodeOwner.MANAGED, NodeOwner.EKSCTL, NodeOwner.SELF_MANAGED) for each in behind)
    if scaled:
        yield from _autoscaler(facts, there, held=True)
    for group in sorted(behind, key=lambda each: (_TURN.index(each.owner), len(each.nodes), each.name)):
        if group.owner is not NodeOwner.FARGATE:
            yield from _of(facts, group, target, Phase.NODES, "")
    if scaled:
        yield from _autoscaler(facts, there, held=False)


_TURN = (
    NodeOwner.MANAGED,
    NodeOwner.EKSCTL,
    NodeOwner.SELF_MANAGED,
    NodeOwner.KARPENTER,
    NodeOwner.AUTO_MODE,
    NodeOwner.HYBRID,
    NodeOwner.FARGATE,
)


def _behind(group: NodeGroupNodes, version: Version) -> bool:
    """Whether a node is older than `version`; a kubelet of unknown version may be."""
    return any(node.kubelet is None or minor_of(node.kubelet) < version for node in group.nodes)


def _too_old(facts: CheckFacts, group: NodeGroupNodes, step: Version) -> str:
    """Why the control plane must not get `step` before the group is replaced; "" where an earlier step has upgraded it,
    or it is new enough. A group is upgraded as a whole, to the version before the step that requires it. The insights
    of EKS are about the next step."""
    oldest = min((minor_of(node.kubelet) for node in group.nodes if node.kubelet is not None), default=None)
    if oldest is None:
        return ""
    now = facts.way.now
    if oldest < now and kubelets_refused(facts, facts.way.steps[0]):
        if step == facts.way.steps[0]:
            return f"{in_words(step)}, its kubelets are too old by EKS's own insight"
        oldest = now
    for each in facts.way.steps:
        verdict = kubelet_skew(each, oldest)
        if verdict.fit is Fit.TOO_OLD:
            if each == step:
                return f"{in_words(step)}, {verdict.why}"
            oldest = now
        now = each
    return ""


def _looked_at(facts: CheckFacts, phase: Phase, why: str, again: bool) -> Iterator[UpgradeStep]:
    """Findings block only the first of these steps."""
    gate = Gate.BEFORE_NODES
    yield UpgradeStep(
        phase,
        "Look again before nodes are replaced" if again else "Check that nothing blocks the replacement of nodes",
        why,
        (check("--target", in_words(facts.way.target), "--gate", gate.value),),
        "it exits with 0",
        at=facts.way.target,
        gate=None if again else gate,
    )
    if not again:
        yield from steps.asked(facts, phase)


_HOLD = (
    "Keep the Cluster Autoscaler from removing new nodes",
    "it takes empty ones away before pods come to them; EKS ends the scale-down of an update early where it scales up"
    " meanwhile. Pods that wait get no new nodes as long as it is away",
    "it has no pod",
)
_GIVE_BACK = (
    "Give the Cluster Autoscaler its replicas back",
    "no node is added for pods that wait until it runs again",
    "its pods are Ready",
)


def _autoscaler(facts: CheckFacts, there: Sequence[RunningVersion], held: bool) -> Iterator[UpgradeStep]:
    """The step that scales it down before the nodes are replaced, or the one after them that scales it up again."""
    for each in there:
        of = each.subject
        if each.software == CLUSTER_AUTOSCALER and of.kind == "Deployment":
            title, why, done = _HOLD if held else _GIVE_BACK
            owner = (of.kind, of.namespace, of.name)
            had = next((it.replicas for it in facts.cluster.workloads if (it.kind, it.namespace, it.name) == owner), 1)
            scale = kubectl("scale", "deployment", of.name, of.namespace, f"--replicas={0 if held else had}")
            yield UpgradeStep(
                Phase.NODES, title, why, (scale,), done, at=facts.way.target, source=basis("self-managed-nodes").source
            )
            return


def _of(
    facts: CheckFacts, group: NodeGroupNodes, version: Version, phase: Phase, because: str
) -> Iterator[UpgradeStep]:
    yield from _MAKERS[group.owner](facts, group, version, phase, because)


def _managed(
    facts: CheckFacts, group: NodeGroupNodes, version: Version, phase: Phase, because: str
) -> Iterator[UpgradeStep]:
    """One update to `version`; the minors between are skipped, as far as the version skew allows."""
    chosen = way_of(facts, group, version)
    to = in_words(version)
    named = ("--nodegroup-name", group.name)
    wait = eks(facts, "wait nodegroup-active", *named)
    look = eks(facts, "describe-nodegroup", *named, "--query", "nodegroup.[amiType,releaseVersion,launchTemplate]")
    about = (group.name, *(node.name for node in group.nodes))
    if chosen.way is GroupUpdateKind.NEW_GROUP:
        title = f"Make a new group beside {group.name} with {to}, and drain {group.name}"
        saved = eks(facts, "describe-nodegroup", *named, "--query", "nodegroup", "--output", "yaml")
        commands: tuple[str, ...] = (
            f"{saved} > {shell(file_of(group.name))}",
            eks(facts, "create-nodegroup", "--cli-input-yaml", "file://new.yaml"),
            eks(facts, "wait nodegroup-active", "--nodegroup-name", "NAME-OF-THE-NEW-GROUP"),
            *_emptied(facts, group),
            eks(facts, "delete-nodegroup", *named),
        )
        why = (
            f"{chosen.why}; new.yaml has what the first command saves, but for what EKS adds (status, ARN, "
            "resources), with another name, and an amiType and version of today (YAML takes AWS CLI 2). "
            f"The old group is the rollback: uncordon its nodes as long as it is there{_losing(facts, group)}"
        )
    elif chosen.way is GroupUpdateKind.TEMPLATE:
        title = f"Give the launch template of group {group.name} an AMI of {to}, and update the group to it"
        commands = (look, f"{eks(facts, 'update-nodegroup-version', *named)} --launch-template id=LT,version=N", wait)
        why = f"{chosen.why}: neither version nor release may be given then"
    else:
        sure = chosen.way is GroupUpdateKind.IN_PLACE
        title = (
            f"Update group {group.name} {f'in place to {to}' if sure else f'to {to}, in place if its AMI allows it'}"
        )
        commands = (look, eks(facts, "update-nodegroup-version", *named, "--kubernetes-version", to), wait)
        why = (
            f"{chosen.why}; with an AMI of its own in the launch template, or for a quick rollback, create a new "
            "group instead: an in-place update cannot be rolled back"
        )
    forms = of_group(facts, group, to, chosen.way, _emptied(facts, group))
    gone = chosen.way is GroupUpdateKind.NEW_GROUP
    done = f"the old group is gone, and no node is older than {to}" if gone else f"every node of it has {to}"
    gate, seen = Gate.BEFORE_NODES, _nodes(group)
    source = chosen.source
    yield UpgradeStep(phase, title, because + why, commands, done, seen, version, gate, (), about, source, forms=forms)


def _emptied(facts: CheckFacts, group: NodeGroupNodes, *nodes: str) -> tuple[str, ...]:
    """The commands that plan and then run the drain of the group, or of its `nodes`, with the judged settings."""
    words = (*(nodes or ("--nodegroup", group.name)), *deleting(_deleted(facts, group)))
    return tuple(shell("kubectl", "eksdoc", "drain", verb, *words) for verb in ("plan", "run"))


def _deleted(facts: CheckFacts, group: NodeGroupNodes) -> tuple[Finding, ...]:
    found = deleted(facts)
    here = karpenter.here(facts.cluster, group) if found else None
    return tuple(each for each in found if here is not None and here.has(each.subject))


def _losing(facts: CheckFacts, group: NodeGroupNodes) -> str:
    """A sentence about what the flags of the group's drain delete; "" for nothing."""
    found = _deleted(facts, group)
    return f". Its drain deletes for good: {lost(found)}" if found else ""


def _nodes(group: NodeGroupNodes) -> str:
    """The command that lists the nodes of the group."""
    labels = group.nodes[0].labels if group.nodes else {}
    label = next((key for key in GROUP_LABELS if labels.get(key) == group.name and group.name), "")
    return shell("kubectl", "get", "nodes", *(("-l", f"{label}={group.name}") if label else ()))


def _by_eksctl(
    facts: CheckFacts, group: NodeGroupNodes, version: Version, phase: Phase, because: str
) -> Iterator[UpgradeStep]:
    yield UpgradeStep(
        phase,
        f"Make a new group with eksctl beside {group.name} with {in_words(version)}, and drain {group.name}",
        (
            f"{because}eksctl does not upgrade groups that EKS does not manage: it makes new ones (AL2023 from "
            f"eksctl 0.176 on); the old group is the rollback as long as it exists{_losing(facts, group)}"
        ),
        new_by_eksctl(facts, group.name, _emptied(facts, group)),
        f"no node is older than {in_words(version)}",
        _nodes(group),
        version,
        gate=Gate.BEFORE_NODES,
        about=(group.name, *(node.name for node in group.nodes)),
        source=basis("self-managed-nodes").source,
    )


def _self_managed(
    facts: CheckFacts, group: NodeGroupNodes, version: Version, phase: Phase, because: str
) -> Iterator[UpgradeStep]:
    names = [node.name for node in group.nodes]
    yield UpgradeStep(
        phase,
        f"Replace {number(len(names), 'self-managed node')} by nodes of {in_words(version)}",
        f"{because}new nodes come first: a new version of the launch template, then a higher desired capacity, with the"
        " new instances protected from scale-in; the old ones are drained and then terminated one by one by their ids,"
        " each with decrement. Lowering the desired capacity instead lets the group choose, without regard for budgets"
        f"{_losing(facts, group)}",
        (
            *_emptied(facts, group, *names[:_MOST]),
            aws(facts, "autoscaling", _TERMINATE, "--instance-id", "ID", "--should-decrement-desired-capacity"),
        ),
        f"no node is older than {in_words(version)}",
        _nodes(group),
        version,
        gate=Gate.BEFORE_NODES,
        about=tuple(names),
        source=basis("self-managed-nodes").source,
        forms=of_scaling_group(in_words(version)),
    )


_MOST = 20
"""Most names in one command."""
_TERMINATE = "terminate-instance-in-auto-scaling-group"


def _by_karpenter(
    facts: CheckFacts, group: NodeGroupNodes, version: Version, phase: Phase, because: str
) -> Iterator[UpgradeStep]:
    yield karpenter.replaced(facts, group, version, phase, because, _nodes(group))


def _auto_mode(
    facts: CheckFacts, group: NodeGroupNodes, version: Version, phase: Phase, because: str
) -> Iterator[UpgradeStep]:
    yield UpgradeStep(
        phase,
        f"Let EKS Auto Mode replace the nodes of {group.subject}",
        f"{because}EKS does it by itself once the control plane has a new version, within the budgets of the NodePool"
        " and of the pods; nothing is to be drained by hand",
        done_when=f"every node of it has {in_words(version)}",
        verify=_nodes(group),
        at=version,
        gate=Gate.BEFORE_NODES,
        about=tuple(filter(None, (group.name, *(node.name for node in group.nodes)))),
        source=basis("auto-mode-nodes").source,
    )


def _hybrid(
    facts: CheckFacts, group: NodeGroupNodes, version: Version, phase: Phase, because: str
) -> Iterator[UpgradeStep]:
    names = [node.name for node in group.nodes]
    yield UpgradeStep(
        phase,
        f"Upgrade {number(len(names), 'hybrid node')}, each on its own machine",
        (
            f"{because}only you replace them: each is drained, upgraded by nodeadm and let in again, or new "
            f"machines are joined and the old ones go{_losing(facts, group)}"
        ),
        (
            *_emptied(facts, group, *names[:_MOST])[1:],
            f"nodeadm upgrade {in_words(version)} -c file://nodeConfig.yaml",
            shell("kubectl", "uncordon", *names[:_MOST]),
        ),
        f"every node of them has {in_words(version)}",
        _nodes(group),
        version,
        gate=Gate.BEFORE_NODES,
        about=tuple(names),
        source=basis("hybrid-nodes").source,
    )


def _fargate(
    facts: CheckFacts, group: NodeGroupNodes, version: Version, phase: Phase, because: str
) -> Iterator[UpgradeStep]:
    yield from restarted(facts, version, phase, because)


_Maker = Callable[[CheckFacts, NodeGroupNodes, Version, Phase, str], Iterator[UpgradeStep]]

_MAKERS: Mapping[NodeOwner, _Maker] = {
    NodeOwner.MANAGED: _managed,
    NodeOwner.EKSCTL: _by_eksctl,
    NodeOwner.SELF_MANAGED: _self_managed,
    NodeOwner.KARPENTER: _by_karpenter,
    NodeOwner.AUTO_MODE: _auto_mode,
    NodeOwner.HYBRID: _hybrid,
    NodeOwner.FARGATE: _fargate,
}


# The complete checklist, in order.


def checklist(facts: CheckFacts, reach: CommandTarget = CommandTarget()) -> tuple[UpgradeStep, ...]:
    """The steps from the current version to the target, or the remaining steps where the control plane is at the
    target. `command_target`: the flags that direct commands to the cluster that was read."""
    return numbered(_all(facts), reach)


def _all(facts: CheckFacts) -> Iterator[UpgradeStep]:
    yield from preparing(facts)
    there = running(facts.cluster.pods)
    now, again = facts.way.now, False
    for step in facts.way.steps:
        first = now == facts.way.now
        yield from addons.programs_before(facts, there, now, step)
        yield from addons.before(facts, there, now, step)
        early = tuple(before(facts, now, step, again))
        again = again or bool(early)
        yield from early
        yield steps.looked_at(facts, step, first)
        if first:
            yield from karpenter.held(facts)
        yield from steps.update(facts, step)
        yield steps.soak(facts, now, step)
        yield from addons.after(facts, there, step)
        yield from addons.programs_after(facts, there, step)
        now = step
    if not facts.way.steps:
        yield from addons.after(facts, there, facts.way.target)
        yield from addons.programs_after(facts, there, facts.way.target)
    yield from after(facts, there, again)
    yield from steps.fargate(facts)
    yield from steps.verified(facts)
