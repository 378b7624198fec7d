"""Advice after a drain, by owner of the nodes: where new nodes come from, how emptied ones leave, and known surprises.

Sources: the EKS user guide on updates of managed node groups, the API models of EKS and EC2 Auto Scaling, the sources
of eksctl and Karpenter. Advice that rests only on operators' experience says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kubectl_eksdoc.amazon.group_updates import DRAIN_TIMEOUT, SURGE_PER_ZONE, TERMINATION_DELAY
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import quantities
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.findings import Code
from kubectl_eksdoc.model.nodes import NODE_POOL, PROVISIONER, NodeOwner
from kubectl_eksdoc.model.quantities import format_duration

from .outcome import HOLDING_VERDICTS, PodVerdict, SlowNode, TargetVerdict
from .rollover_offers import (
    NodeGroupRemoval,
    ReplacementMethod,
    ReplacementOption,
    ReplacementStep,
    instance_id,
    shell_word,
    with_confidence,
)

COPIED_SETTINGS = (
    "clusterName nodeRole subnets instanceTypes capacityType scalingConfig updateConfig labels taints launchTemplate"
)
"""The settings that a new managed group copies; amiType, version and releaseVersion are not copied, as it is made to
change them."""

SCALE_IN_PROTECTION_WARNING = with_confidence(
    "Scale-in protection keeps new nodes from a lowered desired size; it does not stop a termination by instance id",
    "low: experience, not verified",
)
REBALANCE_WARNING = (
    "Ending nodes of one zone first unbalances the group, and Auto Scaling may then end nodes of other zones: "
    "go round the zones, or suspend AZRebalance meanwhile"
)
LIFECYCLE_HOOK_WARNING = (
    "A termination lifecycle hook (its HeartbeatTimeout) and the target groups' deregistration delay come on top of "
    "the drain before an instance is gone"
)
MINIMUM_SIZE_WARNING = with_confidence(
    "A decrement is refused where it would go below the group's minimum size: lower that first"
)


@frozen
class ReplacementAdvice:
    arrive: tuple[ReplacementStep, ...]
    leave: tuple[ReplacementStep, ...]
    beware: tuple[str, ...] = ()


def replacement_advice(removal: NodeGroupRemoval) -> ReplacementAdvice:
    """The steps and warnings for the time after the drain of `removal`'s targets."""
    return _ADVICE_BY_OWNER[removal.owner](removal)


def _managed_advice(removal: NodeGroupRemoval) -> ReplacementAdvice:
    version = quantities.parse_version(removal.cluster.identity.server_version)
    version_flag = f"--kubernetes-version {version.major}.{version.minor}" if version else ""
    query_fields = ", ".join(f"{name}: {name}" for name in COPIED_SETTINGS.split())
    file = f"{removal.group_word}-next.json"
    describe = removal.nodegroup_command("describe-nodegroup", f"--query 'nodegroup.{{{query_fields}}}'")
    other_nodes_text = (
        "" if removal.is_complete else " It takes the group's other nodes and their pods too: see what it does to them."
    )
    create = (f"{describe} > {file}", f"aws eks create-nodegroup --cli-input-json file://{file} {removal.region_flag}")
    instructions = (
        "The first command writes the settings to {}; in it add {}, remove what is null, and name the launch "
    )
    instructions += "template by id alone. Then the second."
    if removal.missing_ami:
        return _advice_without_ami(
            removal, instructions.format(file, "a nodegroupName and an amiType of Amazon Linux 2023"), create
        )
    arrive = (
        ReplacementStep(
            "Blue/green: make a new group beside it, before the drain. "
            + instructions.format(file, "a nodegroupName (and amiType for ARM or GPU)"),
            create,
            before_drain_only=True,
        ),
        ReplacementStep(
            "In place: the group's own update brings new nodes and ends the old ones. Started after this drain it "
            "finds the emptied nodes empty; the evicted pods need room elsewhere until then." + other_nodes_text,
            (removal.nodegroup_command("update-nodegroup-version", version_flag),),
        ),
    )
    return ReplacementAdvice(
        arrive, _removal_steps(removal, " (Or let its own update end them.)"), _managed_warnings(removal)
    )


def _removal_steps(removal: NodeGroupRemoval, alternative: str = "") -> tuple[ReplacementStep, ...]:
    if not removal.is_complete:
        return (removal.terminate_step(),)
    text = f"Once the pods run elsewhere: delete the group, all of its nodes are empty.{alternative}"
    return (ReplacementStep(text, (removal.nodegroup_command("delete-nodegroup"),)),)


def _advice_without_ami(removal: NodeGroupRemoval, instructions: str, create: tuple[str, ...]) -> ReplacementAdvice:
    """A new group can be made after the drain as well as before it: the group's own update brings no nodes of the
    version."""
    new_group_step = ReplacementStep(
        f"Make a new group with Amazon Linux 2023 beside it: the group's own update cannot bring newer nodes, as "
        f"{removal.missing_ami}. {instructions}",
        create,
    )
    probe = shell("kubectl", "eksdoc", "imds-probe", "--nodegroup", removal.group, "--assume", "ami=AL2023")
    template_warning = (
        "Its nodes come from a launch template: only if that names an AMI of its own, a new version of it with an AMI "
        "of Amazon Linux 2023 and update-nodegroup-version --launch-template can replace them in place"
    )
    beware = (
        f"Nodes of Amazon Linux 2023 have hop limit 1 and require IMDSv2: {probe} names the pods that would break",
        *((template_warning,) if removal.has_launch_template else ()),
        *_SIZE_WARNINGS,
        *_partial_removal_warnings(removal),
    )
    return ReplacementAdvice((new_group_step,), _removal_steps(removal), beware)


_SIZE_WARNINGS = (
    "Raising desiredSize gives nodes with the group's old AMI and version",
    "Lowering desiredSize lets Auto Scaling choose the node, perhaps a new one; eviction is tried for 15 minutes, then "
    "the node goes whatever its budgets say",
)


def _partial_removal_warnings(removal: NodeGroupRemoval) -> tuple[str, ...]:
    return (
        *(() if removal.is_complete else (REBALANCE_WARNING, MINIMUM_SIZE_WARNING, SCALE_IN_PROTECTION_WARNING)),
        LIFECYCLE_HOOK_WARNING,
    )


def _managed_warnings(removal: NodeGroupRemoval) -> tuple[str, ...]:
    others_text = f", {removal.other_count} of them not targets here" if removal.other_count else ""
    nodes_text = f"all {len(removal.members)} nodes" if len(removal.members) > 1 else "its one node"
    warnings = [
        "update-nodegroup-version without --release-version takes the latest AMI, without --kubernetes-version the "
        f"cluster's version, and it rolls {nodes_text} of the group{others_text}",
        *_SIZE_WARNINGS,
    ]
    if removal.runs_al2:
        warnings.append(
            "Its nodes run Amazon Linux 2: an update cannot change a group's AMI type, and there is no such AMI from "
            "Kubernetes 1.33 on; only a new group gets Amazon Linux 2023"
        )
    warnings += [
        "A launch template with an AMI of its own allows neither --kubernetes-version nor --release-version: give its "
        "new version with --launch-template",
        "A managed group cannot go back to an earlier version or AMI",
    ]
    return (*warnings, *_partial_removal_warnings(removal))


def _eksctl_advice(removal: NodeGroupRemoval) -> ReplacementAdvice:
    cluster, group = removal.cluster_word, removal.group_word
    instance_types = {node.instance_type for node in removal.members}
    instance_type = shell_word(instance_types.pop(), "") if len(instance_types) == 1 else ""
    create = (
        f"eksctl create nodegroup --cluster {cluster} {removal.region_flag} --name {group}-next --managed=false "
        f"--nodes {len(removal.members)}" + (f" --node-type {instance_type}" if instance_type else "")
    )
    delete_step = ReplacementStep(
        "Once the pods run elsewhere: delete the group.",
        (f"eksctl delete nodegroup --cluster {cluster} {removal.region_flag} --name {group}",),
    )
    return ReplacementAdvice(
        arrive=(
            ReplacementStep(
                "Make a new group beside it, before the drain; better from its config file, because labels, taints, "
                "zones and disks are not copied.",
                (create,),
            ),
        ),
        leave=(delete_step,) if removal.is_complete else (removal.terminate_step(),),
        beware=(
            "eksctl delete nodegroup drains whatever is left first, by name, always with --force and "
            "--delete-emptydir-data: what this plan blocks for that goes without a question",
            "Raising the desired size gives nodes of the old launch template",
            "Lowering it lets Auto Scaling choose the node, perhaps a new one, without regard for budgets",
            *_partial_removal_warnings(removal),
        ),
    )


def _self_managed_advice(removal: NodeGroupRemoval) -> ReplacementAdvice:
    first_instance = next((i for target in removal.targets if (i := instance_id(target.node))), "")
    if not first_instance:
        return ReplacementAdvice(
            (ReplacementStep("Unknown: none of these nodes names an EC2 instance. Their creator makes new ones."),),
            (ReplacementStep("Also unknown: their creator terminates them."),),
        )
    new_node_count = len(removal.emptied_nodes) or len(removal.targets)
    query = "--query 'AutoScalingInstances[0].AutoScalingGroupName' --output text"
    find_group = (
        f"aws autoscaling describe-auto-scaling-instances --instance-ids {first_instance} {query} {removal.region_flag}"
    )
    update_group = 'aws autoscaling update-auto-scaling-group --auto-scaling-group-name "$ASG"'
    size = (
        '$(($(aws autoscaling describe-auto-scaling-groups --auto-scaling-group-names "$ASG" --query '
        f"'AutoScalingGroups[0].DesiredCapacity' --output text {removal.region_flag}) + {new_node_count}))"
    )
    return ReplacementAdvice(
        arrive=(
            ReplacementStep("Make a new version of the launch template, with the new AMI, and have the group use it."),
            ReplacementStep(
                "Before the drain: find the group, have its new instances protected from scale-in, then raise the "
                f"desired size by {new_node_count} (its maximum must allow that). With several Auto Scaling "
                "groups: each for itself.",
                (
                    f"ASG=$({find_group})",
                    f"{update_group} --new-instances-protected-from-scale-in {removal.region_flag}",
                    f'aws autoscaling set-desired-capacity --auto-scaling-group-name "$ASG" --desired-capacity {size} '
                    f"{removal.region_flag}",
                ),
            ),
        ),
        leave=(
            removal.terminate_step(),
            ReplacementStep(
                "When all of them are gone: end the protection of later instances (those made meanwhile keep it).",
                (f"{update_group} --no-new-instances-protected-from-scale-in {removal.region_flag}",),
            ),
        ),
        beware=(
            "Raising the desired size before the new launch template version gives nodes of the old AMI",
            "Lowering the desired size by hand lets Auto Scaling choose the node, perhaps a new one, without regard "
            "for budgets",
            SCALE_IN_PROTECTION_WARNING,
            REBALANCE_WARNING,
            MINIMUM_SIZE_WARNING,
            LIFECYCLE_HOOK_WARNING,
        ),
    )


def _karpenter_advice(removal: NodeGroupRemoval) -> ReplacementAdvice:
    pool = removal.group
    limits = next((node_pool.limits for node_pool in removal.cluster.node_pools if node_pool.name == pool), ())
    limited = f" Its limits: {', '.join(f'{name} {value}' for name, value in limits)}." if limits else ""
    claims = any(NODE_POOL in node.labels for node in removal.members)
    listed = f"nodeclaims -l {NODE_POOL}" if claims else f"nodes -l {PROVISIONER}"
    list_command = f"kubectl get {listed}={removal.group_word}"
    spot_warnings = ("A Spot interruption takes a node within two minutes, whatever the plan says",)
    return ReplacementAdvice(
        arrive=(
            ReplacementStep(
                f"Karpenter makes nodes for evicted pods once they are Pending; nothing is made in advance.{limited}",
                (list_command,),
            ),
        ),
        leave=(_delete_nodeclaims_step(removal) if claims else _delete_nodes(removal),),
        beware=(
            "Nodes made in advance are consolidated away while they are empty, before the drain uses them",
            "Changing the EC2NodeClass drifts every node of it, and Karpenter begins to replace them at once, by its "
            "own order and its NodePools' disruption budgets (10 % unless set)",
            f"Delete {'claims of emptied' if claims else 'emptied'} nodes only: Karpenter drains what is left on a "
            "node, waits for its budgets without end, and deletes pods by force only where the NodePool sets "
            "terminationGracePeriod",
            *(spot_warnings if any(node.capacity_type == "spot" for node in removal.members) else ()),
            "Before it ends an instance, Karpenter waits until the volumes of its evicted pods are detached",
        ),
    )


def _delete_nodeclaims_step(removal: NodeGroupRemoval) -> ReplacementStep:
    names = [shell_word(node.name, "NODE") for node in removal.emptied_nodes]
    return ReplacementStep(
        "Delete the NodeClaim of each emptied node: Karpenter ends the instance and removes the node.",
        tuple(
            "kubectl delete nodeclaim "
            f"$(kubectl get nodeclaims -o jsonpath='{{.items[?(@.status.nodeName==\"{name}\")].metadata.name}}')"
            for name in names
        ),
    )


def _delete_nodes(leaving: NodeGroupRemoval) -> ReplacementStep:
    """Nodes of a Provisioner, from before Karpenter v0.32, have no NodeClaim. The finalizer that Karpenter sets on
    every node ends the instance (karpenter.sh/v0.32/concepts/disruption)."""
    return ReplacementStep(
        "Delete each emptied node: Karpenter's finalizer on it ends the instance first.",
        tuple(f"kubectl delete node {shell_word(node.name, 'NODE')}" for node in leaving.emptied_nodes),
    )


def _hybrid_advice(removal: NodeGroupRemoval) -> ReplacementAdvice:
    return ReplacementAdvice(
        arrive=(ReplacementStep("Nothing in AWS makes these machines: join new ones yourself, before the drain."),),
        leave=(
            ReplacementStep(
                with_confidence("On each machine run `nodeadm uninstall`, or switch it off; then delete its node")
                + ".",
                tuple(f"kubectl delete node {shell_word(node.name, 'NODE')}" for node in removal.emptied_nodes),
            ),
        ),
        beware=("A kubelet that still runs registers its node again, without the cordon",),
    )


def _auto_mode_advice(removal: NodeGroupRemoval) -> ReplacementAdvice:
    return ReplacementAdvice(
        (ReplacementStep("EKS makes nodes for Pending pods itself."),),
        (
            ReplacementStep(
                "EKS replaces these nodes itself after an upgrade and respects budgets: this plan leaves them alone."
            ),
        ),
    )


def _fargate_advice(removal: NodeGroupRemoval) -> ReplacementAdvice:
    return ReplacementAdvice(
        (ReplacementStep("A new node comes with each new pod, with the control plane's version."),),
        (ReplacementStep("A node goes with its pod: restart the pod's owner. This plan leaves them alone."),),
    )


_ADVICE_BY_OWNER: Mapping[NodeOwner, Callable[[NodeGroupRemoval], ReplacementAdvice]] = {
    NodeOwner.MANAGED: _managed_advice,
    NodeOwner.EKSCTL: _eksctl_advice,
    NodeOwner.KARPENTER: _karpenter_advice,
    NodeOwner.AUTO_MODE: _auto_mode_advice,
    NodeOwner.FARGATE: _fargate_advice,
    NodeOwner.HYBRID: _hybrid_advice,
    NodeOwner.SELF_MANAGED: _self_managed_advice,
}


# Three ways to replace a managed group's nodes, compared: this drain, the group's own update, blue/green.


def compare_options(removal: NodeGroupRemoval, surge: int | None) -> tuple[ReplacementOption, ...]:
    """The three ways for exactly these targets; empty where only a new group is possible. `surge`: as in the policy."""
    if removal.missing_ami:
        return ()
    holding_pods = tuple(row.pod.key for row in removal.not_evicted if row.verdict in HOLDING_VERDICTS)
    rounds = max((target.finish_round for target in removal.targets if target.order), default=0)
    order = "this plan's: " + (f"{_count_of(rounds, 'round')}" if rounds else "nothing to evict")
    waits = "as long as you let it; what stops it is named"
    return (
        ReplacementOption(
            ReplacementMethod.OWN_DRAIN,
            nodes=len(removal.emptied_nodes),
            surge=surge or 0,
            surge_why=_surge_text(surge),
            order=order,
            waits=waits,
            least_seconds=None,
            way_back="uncordon a node, until it is ended",
            stopped_by=holding_pods,
        ),
        _group_update_option(removal),
        ReplacementOption(
            ReplacementMethod.BLUE_GREEN,
            nodes=len(removal.members),
            surge=len(removal.members),
            surge_why="as many new ones as the group has, before the drain",
            order=order,
            waits=waits,
            least_seconds=None,
            way_back="uncordon the old nodes, until their group is deleted",
            stopped_by=holding_pods,
        ),
    )


def _surge_text(surge: int | None) -> str:
    if surge is None:
        return "none by itself: evicted pods need room on the nodes that stay"
    first_text = f"{_count_of(surge, 'node')} first, for all targets together" if surge else "none first"
    return f"{first_text}, then one for each drained node: you or an autoscaler must add them"


def _group_update_option(removal: NodeGroupRemoval) -> ReplacementOption:
    nodes, zones = len(removal.members), len(removal.zones)
    stopping, may_stop, unasked_pods, not_judged_pods = _pods_by_update_effect(removal)
    patience_s = DRAIN_TIMEOUT.total_seconds()
    slow_pods = [eviction.pod.key for eviction in removal.evictions if eviction.pod.grace_seconds >= patience_s]
    slow_pods += [pod for node in removal.slow_nodes if not node.is_certain for pod in node.pods]
    too_slow_pods = [pod for node in removal.slow_nodes if node.is_certain for pod in node.pods]
    surge_why = (
        f"up to {SURGE_PER_ZONE} for each of {_count_of(zones, 'zone')} its nodes are in, or maxUnavailable if that is "
        "more; none with updateStrategy MINIMAL"
        if zones
        else f"up to {SURGE_PER_ZONE} for each zone, and the zones are not known"
    )
    return ReplacementOption(
        ReplacementMethod.GROUP_UPDATE,
        nodes=nodes,
        surge=SURGE_PER_ZONE * zones if zones else None,
        surge_why=surge_why,
        order="random nodes, maxUnavailable at a time (1 unless set)",
        waits="15 minutes for a node's pods, then PodEvictionFailure; no pod is named"
        + _slow_nodes_text(removal.slow_nodes),
        least_seconds=nodes * int(TERMINATION_DELAY.total_seconds()),
        way_back="none: a group cannot return to an earlier version or AMI",
        stopped_by=tuple(dict.fromkeys((*stopping, *too_slow_pods))),
        may_be_stopped_by=tuple(dict.fromkeys((*may_stop, *(pod for pod in slow_pods if pod not in too_slow_pods)))),
        unasked=unasked_pods,
        not_judged=not_judged_pods,
    )


def _slow_nodes_text(slow_nodes: Sequence[SlowNode]) -> str:
    """The node that takes longest by itself, and how many others take too long."""
    if not slow_nodes:
        return ""
    worst = max(slow_nodes, key=lambda node: (node.is_certain, node.seconds))
    more = f"; so it is with {len(slow_nodes) - 1} more" if len(slow_nodes) > 1 else ""
    pace = "" if worst.is_certain else ", with slow pods,"
    return f"; {worst.node}{pace} takes at least {format_duration(int(worst.seconds))} alone ({worst.reason}){more}"


def _pods_by_update_effect(removal: NodeGroupRemoval) -> tuple[tuple[str, ...], ...]:
    """Effect of the group's own update on the pods that this plan does not evict: (the update stops at, may stop at,
    evicts without asking, not judged).

    The records of the finding codes decide; of several codes the one with which the eviction API refuses decides. A pod
    without such a code is not judged, as are pods of a refused node.
    """
    refused_nodes = {target.node.name for target in removal.targets if target.verdict is TargetVerdict.REFUSED}
    groups: tuple[list[str], ...] = ([], [], [], [])
    for row in removal.not_evicted:
        update_effects = {Code.of(code).update for code in row.codes}
        if row.verdict is PodVerdict.BLOCKED and "stops" in update_effects:
            groups[0].append(row.pod.key)
        elif row.verdict is PodVerdict.BLOCKED and "may-stop" in update_effects:
            groups[1].append(row.pod.key)
        elif row.verdict is PodVerdict.BLOCKED and "evicts" in update_effects:
            groups[2].append(row.pod.key)
        elif row.node in refused_nodes or row.verdict is PodVerdict.UNKNOWN:
            groups[3].append(row.pod.key)
    return tuple(map(tuple, groups))


def _count_of(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
