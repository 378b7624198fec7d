"""Choice of a fix for nodes whose pods cannot reach the metadata service, the smallest blast radius first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kubectl_eksdoc.amazon.metadata_service import POD, Reach
from kubectl_eksdoc.errors import UsageError, maybe
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import When
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import NodeGroup
from kubectl_eksdoc.model.metadata import Act, OnClass, OnInstances, OnTemplate
from kubectl_eksdoc.model.nodes import NodeOwner

from .affected import AffectedPod, Effect
from .fix import (
    CARRIED_OUT,
    CONTROLLER_FLAGS,
    NAMES,
    OWN_ROLE,
    REPLACE_NODES,
    RESTART_PODS,
    BlastRadius,
    Fix,
    FixOptions,
    RuleScope,
    complaints,
)
from .node_sources import (
    GroupNodes,
    behind,
    leaving,
    on_class,
    on_group_template,
    on_instances,
)
from .plan import MetadataPlan
from .pod_fixes import on_pods
from .sources import MetadataFacts, NodesAlike

# Nodes whose replacements already have the right options, and supposed fixes that do not work.
#
# Sources: EKS user guide, launch templates ("existing node groups that don't use a custom launch template can't be
# updated directly"; the template that EKS creates must not be edited); botocore's model of EKS, Issue.code; eksctl's
# schema, ``disablePodIMDS``, and pkg/cfn/builder/nodegroup.go (two hops without it).


NO_TEMPLATE = (
    "node group {} was created without a launch template of its own, so it can never get one, and the one that EKS "
    "made for it must not be edited: the group is unhealthy then (Ec2LaunchTemplateVersionMismatch). Make another "
    "group from a launch template with a hop limit of {}, and drain this one onto it"
)
BY_EKSCTL = (
    "eksctl changes no template of a node group that is there: declare another one like {} with disablePodIMDS: false, "
    "which gives two hops, and drain this one onto it"
)
BEYOND_EKSCTL = (
    "eksctl changes no template of a node group that is there, and sets no hop limit above {}: make another group "
    "beside {} from a launch template of your own with a hop limit of {} (launchTemplate of a managed node group in "
    "eksctl's file, or aws eks create-nodegroup --launch-template), and drain this one onto it"
)
OF_SCALING_GROUP = (
    "auto scaling group {} launches from {}: make {} with a hop limit of {}, and let the group launch from that; its "
    "running nodes stay as they are until each is drained and ended"
)


def replaced(of: GroupNodes) -> Fix:
    """The next node has the right options: drain and terminate the running ones."""
    named = ("--nodegroup", of.alike.name) if of.alike.name else of.alike.nodes
    return Fix(
        REPLACE_NODES,
        When.LATER,
        f"Replace these nodes: the next one is in order already, as {of.alike.next.by} says",
        (of.drained(*named),),
        (),
        BlastRadius(len(of.nodes), of.pods_on(of.nodes), how="each is drained and ended, at your pace"),
        "it holds for every node to come",
        ("drain run ends no node: its last page says how they leave", *complaints(RuleScope.INSTANCES)),
    )


_CUT = (Reach.CUT_OFF, Reach.V1_ONLY)

_FIXED = {
    NodeOwner.AUTO_MODE: "EKS Auto Mode fixes the options of its nodes, and they cannot be changed",
    NodeOwner.FARGATE: "Fargate has no instance metadata service, and no EKS Pod Identity (give the service accounts "
    "of these pods a role by IRSA: eksctl create iamserviceaccount)",
    NodeOwner.HYBRID: "a hybrid node is no EC2 instance, and has no such service",
}


def choices(of: GroupNodes, affected: Sequence[AffectedPod] = ()) -> FixOptions:
    """`affected`: pods on these nodes. No fixes if every pod reaches the service, now and on the next node."""
    alike, facts = of.alike, of.facts
    if not {alike.here.reach, alike.later.reach} & {*_CUT}:
        return FixOptions()
    fixed, assumed = _FIXED.get(alike.owner), facts.assumed is not None
    # Assumed options are no reason to change nodes.
    ways = [] if fixed or assumed else [*_on_nodes(of)]
    found = [*on_pods(of, affected), *(each for each in ways if isinstance(each, Fix))]
    cannot = [each for each in ways if isinstance(each, str)]
    if fixed and not assumed:
        cannot = [f"{fixed}: only what the pods themselves are given helps"]
    elif not found and not cannot and not assumed:
        cannot = [f"nothing is known that would change it: {_why(of)}"]
    meant = facts.intent is not None  # with an intent, fixes of pods come before those that open nodes
    in_order = sorted(
        found, key=lambda fix: (meant and fix.name not in _ON_PODS, *fix.blast.size, NAMES.index(fix.name))
    )
    return FixOptions(tuple(in_order), tuple(cannot))


def offered(
    plan: MetadataPlan,
    whole: Cluster,
    vpc: str = "",
    profile: str = "",
    every: bool = False,
    kubectl: tuple[str, ...] = (),
) -> tuple[tuple[NodesAlike, FixOptions], ...]:
    """For each node set of the plan, in order. `whole_cluster`: not restricted to the scope; `vpc`: its VPC ID, "" if
    unknown; `profile`: the AWS profile of the requests, so that commands use the same account.

    AWS recommends a hop limit of 1: node fixes are offered only for pods that may need the service and have no role for
    it, or if the node sets were named (`are_named`); with an intent, only for pods that certainly need it.
    """
    pods, meant = leaving(whole.pods), plan.facts.intent is not None
    found = []
    for group in plan.groups:
        helped = every or any(_by_node(each, meant) for each in group.affected)
        of = behind(group.alike, plan.facts, plan.hops, whole, pods, vpc, profile, kubectl)
        choice = choices(of, group.affected)
        if not helped:
            choice = FixOptions(tuple(fix for fix in choice.fixes if fix.name in _ON_PODS))
        found.append((group.alike, choice))
    return tuple(found)


_ON_PODS = (CONTROLLER_FLAGS, RESTART_PODS, OWN_ROLE)


def _by_node(affected: AffectedPod, sure: bool) -> bool:
    """The pod lacks, or without an intent may lack, what its node could give, and what its own role should not give."""
    effects = (Effect.BROKEN, Effect.WILL_BREAK) if sure else (Effect.BROKEN, Effect.WILL_BREAK, Effect.POSSIBLE)
    return affected.effect in effects and affected.asks and not affected.own_role


def _on_nodes(of: GroupNodes) -> Iterator[Fix | str]:
    """A text is the reason why there is no such fix."""
    if of.alike.here.reach in _CUT:
        running = on_instances(of)
        yield running if running is not None else "the running instances are not known well enough to change them"
    if of.alike.later.reach is Reach.REACHABLE:
        yield replaced(of)
    elif of.alike.owner is NodeOwner.KARPENTER:
        yield on_class(of) or f"which EC2NodeClass to change is not known: {_why(of)}"
    elif of.alike.owner is NodeOwner.MANAGED:
        yield from _on_group(of)
    else:
        yield _by_scaling_group(of)


def _on_group(of: GroupNodes) -> Iterator[Fix | str]:
    group = of.group
    if group is None:
        yield f"whether node group {of.alike.name} has a launch template of its own is not known: {_why(of)}"
        return
    if group.template is None:
        yield NO_TEMPLATE.format(group.name, of.hops)
        return
    template = of.template(group.template)
    if template is None:
        yield f"what launch template {group.template} says is not known: {_why(of)}"
        return
    yield on_group_template(of, group, template)


def _by_scaling_group(of: GroupNodes) -> str:
    """Advice for the owner of the auto scaling group."""
    if of.alike.owner is NodeOwner.EKSCTL:
        beyond = of.hops > POD
        return BEYOND_EKSCTL.format(POD, of.alike.name, of.hops) if beyond else BY_EKSCTL.format(of.alike.name)
    group = of.scaling
    if group is None:
        return f"what launches the next of these nodes is not known, or is not one thing: {_why(of)}"
    if group.template is None:
        return OF_SCALING_GROUP.format(group.name, "a launch configuration", "a launch template", of.hops)
    if group.others:
        names = f"several launch templates ({', '.join(map(str, (group.template, *group.others)))})"
        return OF_SCALING_GROUP.format(group.name, names, "a version of each", of.hops)
    return OF_SCALING_GROUP.format(group.name, f"launch template {group.template}", "a version", of.hops)


def _why(of: GroupNodes) -> str:
    """Why the options are unknown, as far as reported."""
    options = of.alike.next.options
    return options.why if isinstance(options, Unknown) else "it was not read"


# The fix that the user names: its combined action, or why it cannot be applied.


Offered = Sequence[tuple[NodesAlike, FixOptions]]


@frozen
class SelectedFix:
    """`fixes` differ only in their nodes; `action` combines them."""

    act: Act
    fixes: tuple[Fix, ...]


def chosen(offered: Offered, name: str) -> SelectedFix:
    """Select a fix by name from all node sets. Instances of several sets are one fix; templates and classes are not.

    Raises:
        UsageError: there is no such fix, or it cannot be applied.
    """
    fixes = tuple(fix for _, choice in offered for fix in choice.fixes if fix.name == name)
    acts = tuple(dict.fromkeys(fix.act for fix in fixes if fix.act is not None))
    # These pods are not checked here: the fix cannot be applied either way.
    if name in NAMES and name not in CARRIED_OUT:
        hint = f"Without --apply, -o wide has its commands; this tool carries out {', '.join(CARRIED_OUT)}."
        raise UsageError(f"{name} is done by the owners of these nodes or pods", hint)
    if not acts:
        raise _none(offered, name)
    if all(isinstance(act, OnInstances) for act in acts):
        each = tuple(one for act in acts if isinstance(act, OnInstances) for one in act.each)
        return SelectedFix(OnInstances(tuple(sorted(each, key=lambda one: one.node))), fixes)
    if len(acts) > 1:
        names = ", ".join(sorted(_of(act) for act in acts))
        raise UsageError(f"{name} is of several: {names}", "Name one group: --nodegroup NAME.")
    return SelectedFix(acts[0], fixes)


def _of(act: Act) -> str:
    match act:
        case OnTemplate():
            return f"node group {act.group}"
        case OnClass():
            return f"EC2NodeClass {act.name}"
        case OnInstances():
            return "instances"


def _none(offered: Offered, name: str) -> UsageError:
    found: Iterable[str] = (fix.name for _, choice in offered for fix in choice.fixes)
    there = list(dict.fromkeys(found))
    why = [each for _, choice in offered for each in choice.cannot]
    if not there:
        unaffected = "No pod there is known to be affected; name the groups that are to be changed all the same"
        hint = "; ".join(dict.fromkeys(why)) or unaffected
        return UsageError("there is nothing to fix on these nodes", f"{hint}.")
    known = maybe(name, there)
    reasons = f" {'; '.join(dict.fromkeys(why))}." if why and name in NAMES else ""  # none for a misspelled name
    return UsageError(f"there is no fix {name} for these nodes{known}", f"There are: {', '.join(there)}.{reasons}")


_READY = ("", "ACTIVE", "DEGRADED")


def forbidden(act: Act, facts: MetadataFacts) -> str:
    """Why the fix must not be started now, a clause; "" if nothing known prevents it."""
    if not isinstance(act, OnTemplate):
        return ""
    group = facts.told.node_groups.get(act.group)
    if isinstance(group, NodeGroup) and group.status not in _READY:
        return f"node group {act.group} is {group.status}, and takes no update now"
    return ""
