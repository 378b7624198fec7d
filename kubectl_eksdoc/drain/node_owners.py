"""Advice after a drain, by owner of the nodes: where new nodes come from, how emptied ones leave, and known surprises.

Sources: the EKS user guide on updates of managed node groups, the API models of EKS and EC2 Auto Scaling, the sources
of eksctl and Karpenter. Advice that rests only on operators' experience says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kubectl_eksdoc.amazon.group_updates import PATIENCE, PAUSE, SURGE_PER_ZONE
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import quantities
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.findings import Code
from kubectl_eksdoc.model.nodes import NODE_POOL, PROVISIONER, NodeOwner
from kubectl_eksdoc.model.quantities import duration

from .outcome import HOLDS, PodVerdict, SlowNode, TargetVerdict
from .rollover_offers import (
    NodeGroupRemoval,
    Option,
    ReplacementStep,
    Way,
    instance_id,
    unsure,
    word,
)

SETTINGS = (
    "clusterName nodeRole subnets instanceTypes capacityType scalingConfig updateConfig labels taints launchTemplate"
)
"""The settings that a new managed group copies; amiType, version and releaseVersion are not copied, as it is made to
change them."""

ID_IGNORES_PROTECTION = unsure(
    "Scale-in protection keeps new nodes from a lowered desired size; it does not stop a termination by instance id",
    "low: experience, not verified",
)
REBALANCES = (
    "Ending nodes of one zone first unbalances the group, and Auto Scaling may then end nodes of other zones: "
    "go round the zones, or suspend AZRebalance meanwhile"
)
FINISH_IS_LATE = (
    "A termination lifecycle hook (its HeartbeatTimeout) and the target groups' deregistration delay come on top of "
    "the drain before an instance is gone"
)
AT_MINIMUM = unsure("A decrement is refused where it would go below the group's minimum size: lower that first")


@frozen
class ReplacementAdvice:
    arrive: tuple[ReplacementStep, ...]
    leave: tuple[ReplacementStep, ...]
    beware: tuple[str, ...] = ()


def advise(leaving: NodeGroupRemoval) -> ReplacementAdvice:
    """The steps and warnings for the time after the drain of `removal`'s targets."""
    return _OWNERS[leaving.owner](leaving)


def _managed(leaving: NodeGroupRemoval) -> ReplacementAdvice:
    wanted = quantities.parse(leaving.cluster.identity.server_version)
    to_version = f"--kubernetes-version {wanted.major}.{wanted.minor}" if wanted else ""
    copied = ", ".join(f"{name}: {name}" for name in SETTINGS.split())
    file = f"{leaving.group_word}-next.json"
    describe = leaving.aws_group("describe-nodegroup", f"--query 'nodegroup.{{{copied}}}'")
    also = "" if leaving.whole else " It takes the group's other nodes and their pods too: see what it does to them."
    create = (f"{describe} > {file}", f"aws eks create-nodegroup --cli-input-json file://{file} {leaving.at}")
    how = "The first command writes the settings to {}; in it add {}, remove what is null, and name the launch "
    how += "template by id alone. Then the second."
    if leaving.without_ami:
        return _without_ami(leaving, how.format(file, "a nodegroupName and an amiType of Amazon Linux 2023"), create)
    arrive = (
        ReplacementStep(
            "Blue/green: make a new group beside it, before the drain. "
            + how.format(file, "a nodegroupName (and amiType for ARM or GPU)"),
            create,
            before=True,
        ),
        ReplacementStep(
            "In place: the group's own update brings new nodes and ends the old ones. Started after this drain it "
            "finds the emptied nodes empty; the evicted pods need room elsewhere until then." + also,
            (leaving.aws_group("update-nodegroup-version", to_version),),
        ),
    )
    return ReplacementAdvice(arrive, _ended(leaving, " (Or let its own update end them.)"), _managed_surprises(leaving))


def _ended(leaving: NodeGroupRemoval, or_else: str = "") -> tuple[ReplacementStep, ...]:
    if not leaving.whole:
        return (leaving.end_by_id(),)
    text = f"Once the pods run elsewhere: delete the group, all of its nodes are empty.{or_else}"
    return (ReplacementStep(text, (leaving.aws_group("delete-nodegroup"),)),)


def _without_ami(leaving: NodeGroupRemoval, how: str, create: tuple[str, ...]) -> ReplacementAdvice:
    """A new group can be made after the drain as well as before it: the group's own update brings no nodes of the
    version."""
    new = ReplacementStep(
        f"Make a new group with Amazon Linux 2023 beside it: the group's own update cannot bring newer nodes, as "
        f"{leaving.without_ami}. {how}",
        create,
    )
    probe = shell("kubectl", "eksdoc", "imds-probe", "--nodegroup", leaving.group, "--assume", "ami=AL2023")
    in_template = (
        "Its nodes come from a launch template: only if that names an AMI of its own, a new version of it with an AMI "
        "of Amazon Linux 2023 and update-nodegroup-version --launch-template can replace them in place"
    )
    beware = (
        f"Nodes of Amazon Linux 2023 have hop limit 1 and require IMDSv2: {probe} names the pods that would break",
        *((in_template,) if leaving.own_template else ()),
        *_OF_SIZE,
        *_of_a_part(leaving),
    )
    return ReplacementAdvice((new,), _ended(leaving), beware)


_OF_SIZE = (
    "Raising desiredSize gives nodes with the group's old AMI and version",
    "Lowering desiredSize lets Auto Scaling choose the node, perhaps a new one; eviction is tried for 15 minutes, then "
    "the node goes whatever its budgets say",
)


def _of_a_part(leaving: NodeGroupRemoval) -> tuple[str, ...]:
    return (*(() if leaving.whole else (REBALANCES, AT_MINIMUM, ID_IGNORES_PROTECTION)), FINISH_IS_LATE)


def _managed_surprises(leaving: NodeGroupRemoval) -> tuple[str, ...]:
    others = f", {leaving.others} of them not targets here" if leaving.others else ""
    nodes = f"all {len(leaving.members)} nodes" if len(leaving.members) > 1 else "its one node"
    said = [
        "update-nodegroup-version without --release-version takes the latest AMI, without --kubernetes-version the "
        f"cluster's version, and it rolls {nodes} of the group{others}",
        *_OF_SIZE,
    ]
    if leaving.on_al2:
        said.append(
            "Its nodes run Amazon Linux 2: an update cannot change a group's AMI type, and there is no such AMI from "
            "Kubernetes 1.33 on; only a new group gets Amazon Linux 2023"
        )
    said += [
        "A launch template with an AMI of its own allows neither --kubernetes-version nor --release-version: give its "
        "new version with --launch-template",
        "A managed group cannot go back to an earlier version or AMI",
    ]
    return (*said, *_of_a_part(leaving))


def _eksctl(leaving: NodeGroupRemoval) -> ReplacementAdvice:
    cluster, group = leaving.cluster_word, leaving.group_word
    types = {node.instance_type for node in leaving.members}
    kind = word(types.pop(), "") if len(types) == 1 else ""
    create = (
        f"eksctl create nodegroup --cluster {cluster} {leaving.at} --name {group}-next --managed=false "
        f"--nodes {len(leaving.members)}" + (f" --node-type {kind}" if kind else "")
    )
    delete = ReplacementStep(
        "Once the pods run elsewhere: delete the group.",
        (f"eksctl delete nodegroup --cluster {cluster} {leaving.at} --name {group}",),
    )
    return ReplacementAdvice(
        arrive=(
            ReplacementStep(
                "Make a new group beside it, before the drain; better from its config file, because labels, taints, "
                "zones and disks are not copied.",
                (create,),
            ),
        ),
        leave=(delete,) if leaving.whole else (leaving.end_by_id(),),
        beware=(
            "eksctl delete nodegroup drains whatever is left first, by name, always with --force and "
            "--delete-emptydir-data: what this plan blocks for that goes without a question",
            "Raising the desired size gives nodes of the old launch template",
            "Lowering it lets Auto Scaling choose the node, perhaps a new one, without regard for budgets",
            *_of_a_part(leaving),
        ),
    )


def _self_managed(leaving: NodeGroupRemoval) -> ReplacementAdvice:
    first = next((i for target in leaving.targets if (i := instance_id(target.node))), "")
    if not first:
        return ReplacementAdvice(
            (ReplacementStep("Unknown: none of these nodes names an EC2 instance. Their creator makes new ones."),),
            (ReplacementStep("Also unknown: their creator terminates them."),),
        )
    more = len(leaving.emptied) or len(leaving.targets)
    query = "--query 'AutoScalingInstances[0].AutoScalingGroupName' --output text"
    ask = f"aws autoscaling describe-auto-scaling-instances --instance-ids {first} {query} {leaving.at}"
    update = 'aws autoscaling update-auto-scaling-group --auto-scaling-group-name "$ASG"'
    size = (
        '$(($(aws autoscaling describe-auto-scaling-groups --auto-scaling-group-names "$ASG" --query '
        f"'AutoScalingGroups[0].DesiredCapacity' --output text {leaving.at}) + {more}))"
    )
    return ReplacementAdvice(
        arrive=(
            ReplacementStep("Make a new version of the launch template, with the new AMI, and have the group use it."),
            ReplacementStep(
                "Before the drain: find the group, have its new instances protected from scale-in, then raise the "
                f"desired size by {more} (its maximum must allow that). With several Auto Scaling "
                "groups: each for itself.",
                (
                    f"ASG=$({ask})",
                    f"{update} --new-instances-protected-from-scale-in {leaving.at}",
                    f'aws autoscaling set-desired-capacity --auto-scaling-group-name "$ASG" --desired-capacity {size} '
                    f"{leaving.at}",
                ),
            ),
        ),
        leave=(
            leaving.end_by_id(),
            ReplacementStep(
                "When all of them are gone: end the protection of later instances (those made meanwhile keep it).",
                (f"{update} --no-new-instances-protected-from-scale-in {leaving.at}",),
            ),
        ),
        beware=(
            "Raising the desired size before the new launch template version gives nodes of the old AMI",
            "Lowering the desired size by hand lets Auto Scaling choose the node, perhaps a new one, without regard "
            "for budgets",
            ID_IGNORES_PROTECTION,
            REBALANCES,
            AT_MINIMUM,
            FINISH_IS_LATE,
        ),
    )


def _karpenter(leaving: NodeGroupRemoval) -> ReplacementAdvice:
    pool = leaving.group
    limits = next((p.limits for p in leaving.cluster.node_pools if p.name == pool), ())
    bounded = f" Its limits: {', '.join(f'{name} {value}' for name, value in limits)}." if limits else ""
    claims = any(NODE_POOL in node.labels for node in leaving.members)
    listed = f"nodeclaims -l {NODE_POOL}" if claims else f"nodes -l {PROVISIONER}"
    see = f"kubectl get {listed}={leaving.group_word}"
    spot = ("A Spot interruption takes a node within two minutes, whatever the plan says",)
    return ReplacementAdvice(
        arrive=(
            ReplacementStep(
                f"Karpenter makes nodes for evicted pods once they are Pending; nothing is made in advance.{bounded}",
                (see,),
            ),
        ),
        leave=(_delete_claims(leaving) if claims else _delete_nodes(leaving),),
        beware=(
            "Nodes made in advance are consolidated away while they are empty, before the drain uses them",
            "Changing the EC2NodeClass drifts every node of it, and Karpenter begins to replace them at once, by its "
            "own order and its NodePools' disruption budgets (10 % unless set)",
            f"Delete {'claims of emptied' if claims else 'emptied'} nodes only: Karpenter drains what is left on a "
            "node, waits for its budgets without end, and deletes pods by force only where the NodePool sets "
            "terminationGracePeriod",
            *(spot if any(node.capacity_type == "spot" for node in leaving.members) else ()),
            "Before it ends an instance, Karpenter waits until the volumes of its evicted pods are detached",
        ),
    )


def _delete_claims(leaving: NodeGroupRemoval) -> ReplacementStep:
    names = [word(node.name, "NODE") for node in leaving.emptied]
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
        tuple(f"kubectl delete node {word(node.name, 'NODE')}" for node in leaving.emptied),
    )


def _hybrid(leaving: NodeGroupRemoval) -> ReplacementAdvice:
    return ReplacementAdvice(
        arrive=(ReplacementStep("Nothing in AWS makes these machines: join new ones yourself, before the drain."),),
        leave=(
            ReplacementStep(
                unsure("On each machine run `nodeadm uninstall`, or switch it off; then delete its node") + ".",
                tuple(f"kubectl delete node {word(node.name, 'NODE')}" for node in leaving.emptied),
            ),
        ),
        beware=("A kubelet that still runs registers its node again, without the cordon",),
    )


def _auto_mode(leaving: NodeGroupRemoval) -> ReplacementAdvice:
    return ReplacementAdvice(
        (ReplacementStep("EKS makes nodes for Pending pods itself."),),
        (
            ReplacementStep(
                "EKS replaces these nodes itself after an upgrade and respects budgets: this plan leaves them alone."
            ),
        ),
    )


def _fargate(leaving: NodeGroupRemoval) -> ReplacementAdvice:
    return ReplacementAdvice(
        (ReplacementStep("A new node comes with each new pod, with the control plane's version."),),
        (ReplacementStep("A node goes with its pod: restart the pod's owner. This plan leaves them alone."),),
    )


_OWNERS: Mapping[NodeOwner, Callable[[NodeGroupRemoval], ReplacementAdvice]] = {
    NodeOwner.MANAGED: _managed,
    NodeOwner.EKSCTL: _eksctl,
    NodeOwner.KARPENTER: _karpenter,
    NodeOwner.AUTO_MODE: _auto_mode,
    NodeOwner.FARGATE: _fargate,
    NodeOwner.HYBRID: _hybrid,
    NodeOwner.SELF_MANAGED: _self_managed,
}


# Three ways to replace a managed group's nodes, compared: this drain, the group's own update, blue/green.


def compare(leaving: NodeGroupRemoval, surge: int | None) -> tuple[Option, ...]:
    """The three ways for exactly these targets; empty where only a new group is possible. `surge`: as in the policy."""
    if leaving.without_ami:
        return ()
    held = tuple(row.pod.key for row in leaving.left if row.verdict in HOLDS)
    rounds = max((target.finish_round for target in leaving.targets if target.order), default=0)
    order = "this plan's: " + (f"{_counted(rounds, 'round')}" if rounds else "nothing to evict")
    waits = "as long as you let it; what stops it is named"
    return (
        Option(
            Way.OWN_DRAIN,
            nodes=len(leaving.emptied),
            surge=surge or 0,
            surge_why=_joining(surge),
            order=order,
            waits=waits,
            least_seconds=None,
            way_back="uncordon a node, until it is ended",
            stopped_by=held,
        ),
        _update(leaving),
        Option(
            Way.BLUE_GREEN,
            nodes=len(leaving.members),
            surge=len(leaving.members),
            surge_why="as many new ones as the group has, before the drain",
            order=order,
            waits=waits,
            least_seconds=None,
            way_back="uncordon the old nodes, until their group is deleted",
            stopped_by=held,
        ),
    )


def _joining(surge: int | None) -> str:
    if surge is None:
        return "none by itself: evicted pods need room on the nodes that stay"
    first = f"{_counted(surge, 'node')} first, for all targets together" if surge else "none first"
    return f"{first}, then one for each drained node: you or an autoscaler must add them"


def _update(leaving: NodeGroupRemoval) -> Option:
    nodes, zones = len(leaving.members), len(leaving.zones)
    stops, may, unasked, unjudged = _sorted(leaving)
    patience_s = PATIENCE.total_seconds()
    slow = [e.pod.key for e in leaving.evictions if e.pod.grace_seconds >= patience_s]
    slow += [pod for node in leaving.slow if not node.certain for pod in node.pods]
    too_slow = [pod for node in leaving.slow if node.certain for pod in node.pods]
    surge_why = (
        f"up to {SURGE_PER_ZONE} for each of {_counted(zones, 'zone')} its nodes are in, or maxUnavailable if that is "
        "more; none with updateStrategy MINIMAL"
        if zones
        else f"up to {SURGE_PER_ZONE} for each zone, and the zones are not known"
    )
    return Option(
        Way.GROUP_UPDATE,
        nodes=nodes,
        surge=SURGE_PER_ZONE * zones if zones else None,
        surge_why=surge_why,
        order="random nodes, maxUnavailable at a time (1 unless set)",
        waits="15 minutes for a node's pods, then PodEvictionFailure; no pod is named" + _too_long(leaving.slow),
        least_seconds=nodes * int(PAUSE.total_seconds()),
        way_back="none: a group cannot return to an earlier version or AMI",
        stopped_by=tuple(dict.fromkeys((*stops, *too_slow))),
        may_be_stopped_by=tuple(dict.fromkeys((*may, *(pod for pod in slow if pod not in too_slow)))),
        unasked=unasked,
        not_judged=unjudged,
    )


def _too_long(slow: Sequence[SlowNode]) -> str:
    """The node that takes longest by itself, and how many others take too long."""
    if not slow:
        return ""
    worst = max(slow, key=lambda node: (node.certain, node.seconds))
    others = f"; so it is with {len(slow) - 1} more" if len(slow) > 1 else ""
    pace = "" if worst.certain else ", with slow pods,"
    return f"; {worst.node}{pace} takes at least {duration(int(worst.seconds))} alone ({worst.why}){others}"


def _sorted(leaving: NodeGroupRemoval) -> tuple[tuple[str, ...], ...]:
    """Effect of the group's own update on the pods that this plan does not evict: (the update stops at, may stop at,
    evicts without asking, not judged).

    The records of the finding codes decide; of several codes the one with which the eviction API refuses decides. A pod
    without such a code is not judged, as are pods of a refused node.
    """
    refused = {t.node.name for t in leaving.targets if t.verdict is TargetVerdict.REFUSED}
    found: tuple[list[str], ...] = ([], [], [], [])
    for row in leaving.left:
        update = {Code.of(code).update for code in row.codes}
        if row.verdict is PodVerdict.BLOCKED and "stops" in update:
            found[0].append(row.pod.key)
        elif row.verdict is PodVerdict.BLOCKED and "may-stop" in update:
            found[1].append(row.pod.key)
        elif row.verdict is PodVerdict.BLOCKED and "evicts" in update:
            found[2].append(row.pod.key)
        elif row.node in refused or row.verdict is PodVerdict.UNKNOWN:
            found[3].append(row.pod.key)
    return tuple(map(tuple, found))


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
