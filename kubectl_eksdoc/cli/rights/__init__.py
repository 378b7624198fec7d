"""The rights that each command may use, as data: read by the error for a missing right, by the README and by tests.

Belongs here: RBAC rights and AWS operations of every command, and what an answer lacks without one.
Never here: a request.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.model.aws_operations import AwsOperation
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.permissions import NeededPermission, Permission, PlanPermissions

from . import commands, definitions
from .commands import DRAIN_PLAN, MEASURED_WITH
from .definitions import Right, RightNamespaces, needed_rights

ACCESS_REVIEWS = Resource(
    "SelfSubjectAccessReview", "selfsubjectaccessreviews", "authorization.k8s.io", namespaced=False
)
"""Created before changes; every user may, by the ClusterRole system:basic-user."""

__all__ = ["DRAIN_PLAN", "MEASURED_WITH", "Right", "RightNamespaces", "needed_rights"]

AWS_OPERATIONS: Mapping[str, tuple[AwsOperation, ...]] = {
    **definitions.BY_COMMAND,
    "check": commands.CHECK_OPERATIONS,
    "check --changed-since": commands.CHANGED_SINCE_OPERATIONS,
    "check --fleet": commands.CHECK_OPERATIONS,
    "addon-diff --fleet": definitions.BY_COMMAND["addon-diff"],
    "imds-probe --fleet": definitions.BY_COMMAND["imds-probe"],
    "snapshot": tuple(dict.fromkeys((*commands.CHECK_OPERATIONS, *commands.CHANGED_SINCE_OPERATIONS))),
    "check --refresh-insights": (questions.REFRESH_INSIGHTS, questions.INSIGHTS_REFRESH),
}
"""The AWS operations of each command, each with its IAM actions. Those of a flag come in addition to those of the
command without it."""

BY_COMMAND: Mapping[str, tuple[Right, ...]] = {
    "drain plan": commands.PLAN,
    "rehearse": commands.PLAN,
    "addon-diff": commands.ADDON_DIFF,
    "addon-diff --after": commands.ADDON_AFTER,
    "addon-diff --apply": commands.ADDON_DIFF,
    "imds-probe": commands.IMDS_PROBE,
    "imds-probe --apply": commands.IMDS_FIX,
    "imds-probe --active": commands.IMDS_ACTIVE,
    "coredns-lameduck": commands.COREDNS,
    **dict.fromkeys(definitions.SHOWN_CHANGES, commands.COREDNS_SHOWN_CHANGE),
    "coredns-lameduck --apply": commands.COREDNS_CHANGE,
    "interruption": commands.INTERRUPTION,
    "coredns-lameduck --measure": commands.DNS_MEASURE,
    "check": commands.CHECK,
    "check --changed-since": commands.CHANGED_SINCE,
    # In each of its clusters a fleet needs the same rights as the command in one, and no others.
    "check --fleet": commands.CHECK,
    "addon-diff --fleet": commands.ADDON_DIFF,
    "imds-probe --fleet": commands.IMDS_PROBE,
    "snapshot": commands.SNAPSHOT,
    "check --in-cluster": commands.IN_CLUSTER_CHECK,
    "drain run": commands.RUN,
    "drain run --in-cluster": commands.IN_CLUSTER_RUN_PLACEMENT,
    "drain resume": commands.RUN,
    "drain rollback": commands.ROLLBACK,
    "drain status": commands.STATUS,
    "completion": commands.COMPLETION,
    "drain status --attach": commands.ATTACH,
    "drain pause": commands.REQUEST_PHASE,
    "drain abort": commands.REQUEST_PHASE,
    "permissions --check": (Right("create", ACCESS_REVIEWS, True),),
}

ADDITIVE = ("check --changed-since", "check --refresh-insights", "imds-probe --evidence")
"""Entries that add to the rights of the command without that flag; the others are complete."""


def cluster_rights(command: str, flags: Collection[str] = (), opt_ins: Collection[str] = ()) -> tuple[Right, ...]:
    """All RBAC rights that `command` uses with these `flags` (`Right.flag`) and opt-ins."""
    base_rights = BY_COMMAND[command.partition(" --")[0]] if command in ADDITIVE else ()
    return needed_rights((*base_rights, *BY_COMMAND.get(command, ())), flags, opt_ins)


def flags_with_rights(command: str) -> tuple[str, ...]:
    """The flags with which `command` needs more rights (`Right.flag`)."""
    return tuple(dict.fromkeys(right.flag for right in BY_COMMAND.get(command, ()) if right.flag))


def aws_operations(command: str) -> tuple[AwsOperation, ...]:
    """All AWS operations that `command` may call."""
    base = command.partition(" --")[0]
    base_operations = (
        AWS_OPERATIONS.get(base, ()) if command in AWS_OPERATIONS and command not in definitions.COMPLETE else ()
    )
    return tuple(dict.fromkeys((*base_operations, *AWS_OPERATIONS.get(command, ()))))


def plan_permissions(journal_namespace: str) -> PlanPermissions:
    """The permissions of a plan, and those that its run requires in addition; `journal_namespace`: the namespace of the
    runs' journal."""
    plan_needs = tuple(
        NeededPermission(right.permission_in(""), "nothing can be checked")
        if right.required
        else NeededPermission(right.permission_in(""), right.lost, right.unknown_without)
        for right in DRAIN_PLAN
    )
    plan_set = {need.permission for need in plan_needs}
    for_run = (
        right.permission_in(journal_namespace if right.journal else "") for right in commands.RUN if right.required
    )
    return PlanPermissions(
        plan_needs, tuple(NeededPermission(each, "no run") for each in dict.fromkeys(for_run) if each not in plan_set)
    )


def granted_permissions(rights: Iterable[Right], namespaces: RightNamespaces) -> tuple[Permission, ...]:
    """The permissions that RBAC must grant for these rights; a permission in all namespaces includes one in a single
    namespace."""
    permissions_found = dict.fromkeys(map(namespaces.permission, rights))
    return tuple(
        each for each in permissions_found if not each.namespace or each._replace(namespace="") not in permissions_found
    )


def unknown_codes(right: Right) -> tuple[str, ...]:
    """The finding codes that are unknown without the right. They are those of drains: a right that another command uses
    says itself what its answer lacks."""
    is_drain_right = right in (*DRAIN_PLAN, *commands.READ_FOR_RUNS)
    return right.unknown_without if is_drain_right or not right.lost else ()


def explain_forbidden(error: Forbidden, command: str) -> Forbidden:
    """`error` with all rights that `command` needs, and how to grant them, where one of them is missing."""
    rights = BY_COMMAND[command]
    if error.missing not in map(str, rights):
        return error
    hint = permissions.opt_in_hint(error.missing, command)
    if hint and hint in error.hint:
        return error
    if not hint:
        hint = _read_hint(rights, command) if all(each.verb == "list" for each in rights) else _change_hint(rights)
    return Forbidden(error.message, "\n".join(filter(None, (error.hint, hint))), error.missing)


def _read_hint(rights: Sequence[Right], command: str) -> str:
    # Reads in one namespace are not in the ClusterRole: the answer is complete enough without them.
    resource_list = ",".join(
        right.resource_name for right in rights if not right.resource.custom and scope_text(right) == "everywhere"
    )
    custom = " and ".join(right.resource_name for right in rights if right.resource.custom)
    role = f"eksdoc-{command.replace(' ', '-')}"
    return (
        f"Without {' and '.join(str(r) for r in rights if r.required)} in all namespaces nothing can be checked. "
        "An administrator can allow all that this command reads, and bind it with kubectl create clusterrolebinding:\n"
        "    kubectl create "
        f"clusterrole {role} --verb=list --resource={resource_list}\nWhere the cluster has them, also {custom}."
    )


def _change_hint(rights: Sequence[Right]) -> str:
    rights_by_scope: dict[str, list[Right]] = {}
    for right in rights:
        if right.required and not right.lost:  # the server names rights that are passed on to a role
            rights_by_scope.setdefault(scope_text(right), []).append(right)
    lines = []
    for scope, needed in rights_by_scope.items():
        verbs: dict[str, list[str]] = {}
        for right in needed:
            verbs.setdefault(right.resource_name, []).append(right.verb)
        rights_text = "; ".join(f"{', '.join(each)} {of}" for of, each in verbs.items())
        lines.append(f"    {scope}: {rights_text}")
    return "\n".join(["It cannot do without these rights; kubectl auth can-i tells which you have:", *lines])


def scope_text(right: Right) -> str:
    """``everywhere``, ``in the journal's namespace``, ``in kube-system``."""
    owners = {"the journal": right.journal, "the probe": right.probe, "Karpenter": right.karpenter}
    owner = next((each for each, is_there in owners.items() if is_there), "")
    if owner:
        return f"in {owner}'s namespace"
    return f"in {right.namespace}" if right.namespace else "everywhere"
