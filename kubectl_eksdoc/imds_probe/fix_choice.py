"""Choice of a fix for nodes whose pods cannot reach the metadata service, the smallest blast radius first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kubectl_eksdoc.amazon.metadata_service import POD_HOPS, ImdsReach
from kubectl_eksdoc.errors import UsageError, did_you_mean
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import When
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import NodeGroup
from kubectl_eksdoc.model.metadata import InstancesFix, LaunchTemplateFix, MetadataFix, NodeClassFix
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
    rule_cautions,
)
from .node_sources import (
    FixScope,
    count_evicted_pods,
    fix_scope,
    instance_options_fix,
    node_class_fix,
    template_version_fix,
)
from .plan import MetadataPlan
from .pod_fixes import pod_fixes
from .sources import MetadataFacts, NodeSet

# Nodes whose replacements already have the right options, and supposed fixes that do not work.
#
# Sources: EKS user guide, launch templates ("existing node groups that don't use a custom launch template can't be
# updated directly"; the template that EKS creates must not be edited); botocore's model of EKS, Issue.code; eksctl's
# schema, ``disablePodIMDS``, and pkg/cfn/builder/nodegroup.go (two hops without it).


NO_TEMPLATE_ADVICE = (
    "node group {} was created without a launch template of its own, so it can never get one, and the one that EKS "
    "made for it must not be edited: the group is unhealthy then (Ec2LaunchTemplateVersionMismatch). Make another "
    "group from a launch template with a hop limit of {}, and drain this one onto it"
)
EKSCTL_ADVICE = (
    "eksctl changes no template of a node group that is there: declare another one like {} with disablePodIMDS: false, "
    "which gives two hops, and drain this one onto it"
)
EKSCTL_LIMIT = (
    "eksctl changes no template of a node group that is there, and sets no hop limit above {}: make another group "
    "beside {} from a launch template of your own with a hop limit of {} (launchTemplate of a managed node group in "
    "eksctl's file, or aws eks create-nodegroup --launch-template), and drain this one onto it"
)
SCALING_GROUP_ADVICE = (
    "auto scaling group {} launches from {}: make {} with a hop limit of {}, and let the group launch from that; its "
    "running nodes stay as they are until each is drained and ended"
)


def replace_nodes_fix(scope: FixScope) -> Fix:
    """The next node has the right options: drain and terminate the running ones."""
    targets = ("--nodegroup", scope.node_set.name) if scope.node_set.name else scope.node_set.nodes
    return Fix(
        REPLACE_NODES,
        When.LATER,
        f"Replace these nodes: the next one is in order already, as {scope.node_set.next.by} says",
        (scope.drain_command(*targets),),
        (),
        BlastRadius(len(scope.nodes), scope.pods_on(scope.nodes), how="each is drained and ended, at your pace"),
        "it holds for every node to come",
        ("drain run ends no node: its last page says how they leave", *rule_cautions(RuleScope.INSTANCES)),
    )


_RESTRICTED = (ImdsReach.UNREACHABLE, ImdsReach.V1_ONLY)

_UNCHANGEABLE = {
    NodeOwner.AUTO_MODE: "EKS Auto Mode fixes the options of its nodes, and they cannot be changed",
    NodeOwner.FARGATE: "Fargate has no instance metadata service, and no EKS Pod Identity (give the service accounts "
    "of these pods a role by IRSA: eksctl create iamserviceaccount)",
    NodeOwner.HYBRID: "a hybrid node is no EC2 instance, and has no such service",
}


def fix_options(scope: FixScope, affected: Sequence[AffectedPod] = ()) -> FixOptions:
    """`affected`: pods on these nodes. No fixes if every pod reaches the service, now and on the next node."""
    node_set, facts = scope.node_set, scope.facts
    if not {node_set.verdict_now.reach, node_set.verdict_next.reach} & {*_RESTRICTED}:
        return FixOptions()
    unchangeable, is_assumed = _UNCHANGEABLE.get(node_set.owner), facts.assumed is not None
    # Assumed options are no reason to change nodes.
    node_fixes = [] if unchangeable or is_assumed else [*_node_fixes(scope)]
    fixes = [*pod_fixes(scope, affected), *(each for each in node_fixes if isinstance(each, Fix))]
    cannot = [each for each in node_fixes if isinstance(each, str)]
    if unchangeable and not is_assumed:
        cannot = [f"{unchangeable}: only what the pods themselves are given helps"]
    elif not fixes and not cannot and not is_assumed:
        cannot = [f"nothing is known that would change it: {_cause(scope)}"]
    has_intent = facts.intent is not None  # with an intent, fixes of pods come before those that open nodes
    sorted_fixes = sorted(
        fixes, key=lambda fix: (has_intent and fix.name not in _POD_FIXES, *fix.blast.sort_key, NAMES.index(fix.name))
    )
    return FixOptions(tuple(sorted_fixes), tuple(cannot))


def offered_fixes(
    plan: MetadataPlan,
    whole_cluster: Cluster,
    vpc: str = "",
    profile: str = "",
    are_named: bool = False,
    kubectl: tuple[str, ...] = (),
) -> tuple[tuple[NodeSet, FixOptions], ...]:
    """For each node set of the plan, in order. `whole_cluster`: not restricted to the scope; `vpc`: its VPC ID, "" if
    unknown; `profile`: the AWS profile of the requests, so that commands use the same account.

    AWS recommends a hop limit of 1: node fixes are offered only for pods that may need the service and have no role for
    it, or if the node sets were named (`are_named`); with an intent, only for pods that certainly need it.
    """
    pods, has_intent = count_evicted_pods(whole_cluster.pods), plan.facts.intent is not None
    results = []
    for group in plan.groups:
        may_change_nodes = are_named or any(_needs_node_fix(each, has_intent) for each in group.affected)
        scope = fix_scope(group.node_set, plan.facts, plan.hops, whole_cluster, pods, vpc, profile, kubectl)
        options = fix_options(scope, group.affected)
        if not may_change_nodes:
            options = FixOptions(tuple(fix for fix in options.fixes if fix.name in _POD_FIXES))
        results.append((group.node_set, options))
    return tuple(results)


_POD_FIXES = (CONTROLLER_FLAGS, RESTART_PODS, OWN_ROLE)


def _needs_node_fix(affected: AffectedPod, is_intent: bool) -> bool:
    """The pod lacks, or without an intent may lack, what its node could give, and what its own role should not give."""
    effects = (Effect.BROKEN, Effect.WILL_BREAK) if is_intent else (Effect.BROKEN, Effect.WILL_BREAK, Effect.POSSIBLE)
    return affected.effect in effects and affected.asks_service and not affected.lacks_own_role


def _node_fixes(scope: FixScope) -> Iterator[Fix | str]:
    """A text is the reason why there is no such fix."""
    if scope.node_set.verdict_now.reach in _RESTRICTED:
        instance_fix = instance_options_fix(scope)
        yield (
            instance_fix
            if instance_fix is not None
            else "the running instances are not known well enough to change them"
        )
    if scope.node_set.verdict_next.reach is ImdsReach.REACHABLE:
        yield replace_nodes_fix(scope)
    elif scope.node_set.owner is NodeOwner.KARPENTER:
        yield node_class_fix(scope) or f"which EC2NodeClass to change is not known: {_cause(scope)}"
    elif scope.node_set.owner is NodeOwner.MANAGED:
        yield from _node_group_fixes(scope)
    else:
        yield _scaling_group_advice(scope)


def _node_group_fixes(scope: FixScope) -> Iterator[Fix | str]:
    group = scope.group
    if group is None:
        yield f"whether node group {scope.node_set.name} has a launch template of its own is not known: {_cause(scope)}"
        return
    if group.template is None:
        yield NO_TEMPLATE_ADVICE.format(group.name, scope.hops)
        return
    template = scope.template(group.template)
    if template is None:
        yield f"what launch template {group.template} says is not known: {_cause(scope)}"
        return
    yield template_version_fix(scope, group, template)


def _scaling_group_advice(scope: FixScope) -> str:
    """Advice for the owner of the auto scaling group."""
    if scope.node_set.owner is NodeOwner.EKSCTL:
        exceeds_eksctl = scope.hops > POD_HOPS
        return (
            EKSCTL_LIMIT.format(POD_HOPS, scope.node_set.name, scope.hops)
            if exceeds_eksctl
            else EKSCTL_ADVICE.format(scope.node_set.name)
        )
    group = scope.scaling_group
    if group is None:
        return f"what launches the next of these nodes is not known, or is not one thing: {_cause(scope)}"
    if group.template is None:
        return SCALING_GROUP_ADVICE.format(group.name, "a launch configuration", "a launch template", scope.hops)
    if group.others:
        names = f"several launch templates ({', '.join(map(str, (group.template, *group.others)))})"
        return SCALING_GROUP_ADVICE.format(group.name, names, "a version of each", scope.hops)
    return SCALING_GROUP_ADVICE.format(group.name, f"launch template {group.template}", "a version", scope.hops)


def _cause(scope: FixScope) -> str:
    """Why the options are unknown, as far as reported."""
    options = scope.node_set.next.options
    return options.why if isinstance(options, Unknown) else "it was not read"


# The fix that the user names: its combined action, or why it cannot be applied.


OfferedFixes = Sequence[tuple[NodeSet, FixOptions]]


@frozen
class SelectedFix:
    """`fixes` differ only in their nodes; `action` combines them."""

    action: MetadataFix
    fixes: tuple[Fix, ...]


def select_fix(offered_fixes: OfferedFixes, name: str) -> SelectedFix:
    """Select a fix by name from all node sets. Instances of several sets are one fix; templates and classes are not.

    Raises:
        UsageError: there is no such fix, or it cannot be applied.
    """
    fixes = tuple(fix for _, choice in offered_fixes for fix in choice.fixes if fix.name == name)
    actions = tuple(dict.fromkeys(fix.action for fix in fixes if fix.action is not None))
    # These pods are not checked here: the fix cannot be applied either way.
    if name in NAMES and name not in CARRIED_OUT:
        hint = f"Without --apply, -o wide has its commands; this tool carries out {', '.join(CARRIED_OUT)}."
        raise UsageError(f"{name} is done by the owners of these nodes or pods", hint)
    if not actions:
        raise _no_fix_error(offered_fixes, name)
    if all(isinstance(act, InstancesFix) for act in actions):
        changes = tuple(change for act in actions if isinstance(act, InstancesFix) for change in act.each)
        return SelectedFix(InstancesFix(tuple(sorted(changes, key=lambda change: change.node))), fixes)
    if len(actions) > 1:
        names = ", ".join(sorted(_action_target(act) for act in actions))
        raise UsageError(f"{name} is of several: {names}", "Name one group: --nodegroup NAME.")
    return SelectedFix(actions[0], fixes)


def _action_target(action: MetadataFix) -> str:
    match action:
        case LaunchTemplateFix():
            return f"node group {action.group}"
        case NodeClassFix():
            return f"EC2NodeClass {action.name}"
        case InstancesFix():
            return "instances"


def _no_fix_error(offered_fixes: OfferedFixes, name: str) -> UsageError:
    fix_names: Iterable[str] = (fix.name for _, choice in offered_fixes for fix in choice.fixes)
    distinct_names = list(dict.fromkeys(fix_names))
    limits = [each for _, choice in offered_fixes for each in choice.cannot]
    if not distinct_names:
        unaffected = "No pod there is known to be affected; name the groups that are to be changed all the same"
        hint = "; ".join(dict.fromkeys(limits)) or unaffected
        return UsageError("there is nothing to fix on these nodes", f"{hint}.")
    suggestion = did_you_mean(name, distinct_names)
    reasons = f" {'; '.join(dict.fromkeys(limits))}." if limits and name in NAMES else ""  # none for a misspelled name
    return UsageError(
        f"there is no fix {name} for these nodes{suggestion}", f"There are: {', '.join(distinct_names)}.{reasons}"
    )


_UPDATABLE = ("", "ACTIVE", "DEGRADED")


def reason_forbidden(action: MetadataFix, facts: MetadataFacts) -> str:
    """Why the fix must not be started now, a clause; "" if nothing known prevents it."""
    if not isinstance(action, LaunchTemplateFix):
        return ""
    group = facts.machines.node_groups.get(action.group)
    if isinstance(group, NodeGroup) and group.status not in _UPDATABLE:
        return f"node group {action.group} is {group.status}, and takes no update now"
    return ""
