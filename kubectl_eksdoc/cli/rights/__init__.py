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

from . import asked, commands
from .asked import Places, Right, needed_with
from .commands import DRAIN_PLAN, MEASURED_WITH

ACCESS_REVIEWS = Resource(
    "SelfSubjectAccessReview", "selfsubjectaccessreviews", "authorization.k8s.io", namespaced=False
)
"""Created before changes; every user may, by the ClusterRole system:basic-user."""

__all__ = ["DRAIN_PLAN", "MEASURED_WITH", "Places", "Right", "needed_with"]

ASKED_OF_AWS: Mapping[str, tuple[AwsOperation, ...]] = {
    **asked.BY_COMMAND,
    "check": commands.ASKED,
    "check --changed-since": commands.ASKED_OF_CHANGES,
    "check --fleet": commands.ASKED,
    "addon-diff --fleet": asked.BY_COMMAND["addon-diff"],
    "imds-probe --fleet": asked.BY_COMMAND["imds-probe"],
    "snapshot": tuple(dict.fromkeys((*commands.ASKED, *commands.ASKED_OF_CHANGES))),
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
    **dict.fromkeys(asked.WISHES, commands.COREDNS_WISH),
    "coredns-lameduck --apply": commands.COREDNS_CHANGE,
    "interruption": commands.INTERRUPTION,
    "coredns-lameduck --measure": commands.DNS_MEASURE,
    "check": commands.CHECK,
    "check --changed-since": commands.CHANGED,
    # In each of its clusters a fleet needs the same rights as the command in one, and no others.
    "check --fleet": commands.CHECK,
    "addon-diff --fleet": commands.ADDON_DIFF,
    "imds-probe --fleet": commands.IMDS_PROBE,
    "snapshot": commands.SNAPSHOT,
    "check --in-cluster": commands.PLACING_CHECK,
    "drain run": commands.RUN,
    "drain run --in-cluster": commands.PLACING_RUN,
    "drain resume": commands.RUN,
    "drain rollback": commands.ROLLBACK,
    "drain status": commands.STATUS,
    "completion": commands.NAMES,
    "drain status --attach": commands.ATTACHED,
    "drain pause": commands.ASK,
    "drain abort": commands.ASK,
    "permissions --check": (Right("create", ACCESS_REVIEWS, True),),
}

BESIDES = ("check --changed-since", "check --refresh-insights", "imds-probe --evidence")
"""Entries that add to the rights of the command without that flag; the others are complete."""


def in_cluster(command: str, flags: Collection[str] = (), opted: Collection[str] = ()) -> tuple[Right, ...]:
    """All RBAC rights that `command` uses with these `flags` (`Right.flag`) and opt-ins."""
    more = BY_COMMAND[command.partition(" --")[0]] if command in BESIDES else ()
    return needed_with((*more, *BY_COMMAND.get(command, ())), flags, opted)


def flags_of(command: str) -> tuple[str, ...]:
    """The flags with which `command` needs more rights (`Right.flag`)."""
    return tuple(dict.fromkeys(right.flag for right in BY_COMMAND.get(command, ()) if right.flag))


def of_aws(command: str) -> tuple[AwsOperation, ...]:
    """All AWS operations that `command` may call."""
    base = command.partition(" --")[0]
    more = ASKED_OF_AWS.get(base, ()) if command in ASKED_OF_AWS and command not in asked.WHOLE else ()
    return tuple(dict.fromkeys((*more, *ASKED_OF_AWS.get(command, ()))))


def needs(journal: str) -> PlanPermissions:
    """The permissions of a plan, and those that its run requires in addition; `journal_namespace`: the namespace of the
    runs' journal."""
    planned = tuple(
        NeededPermission(right.at(""), "nothing can be checked")
        if right.required
        else NeededPermission(right.at(""), right.lost, right.unknown_without)
        for right in DRAIN_PLAN
    )
    for_plan = {need.permission for need in planned}
    run = (right.at(journal if right.journal else "") for right in commands.RUN if right.required)
    return PlanPermissions(
        planned, tuple(NeededPermission(each, "no run") for each in dict.fromkeys(run) if each not in for_plan)
    )


def granted(held: Iterable[Right], places: Places) -> tuple[Permission, ...]:
    """The permissions that RBAC must grant for these rights; a permission in all namespaces includes one in a single
    namespace."""
    found = dict.fromkeys(map(places.permission, held))
    return tuple(each for each in found if not each.namespace or each._replace(namespace="") not in found)


def codes_lost(right: Right) -> tuple[str, ...]:
    """The finding codes that are unknown without the right. They are those of drains: a right that another command uses
    says itself what its answer lacks."""
    of_drains = right in (*DRAIN_PLAN, *commands.READ_FOR_RUNS)
    return right.unknown_without if of_drains or not right.lost else ()


def explained(error: Forbidden, command: str) -> Forbidden:
    """`error` with all rights that `command` needs, and how to grant them, where one of them is missing."""
    rights = BY_COMMAND[command]
    if error.missing not in map(str, rights):
        return error
    hint = permissions.how_to(error.missing, command)
    if hint and hint in error.hint:
        return error
    if not hint:
        hint = _for_reading(rights, command) if all(each.verb == "list" for each in rights) else _for_changing(rights)
    return Forbidden(error.message, "\n".join(filter(None, (error.hint, hint))), error.missing)


def _for_reading(rights: Sequence[Right], command: str) -> str:
    # Reads in one namespace are not in the ClusterRole: the answer is complete enough without them.
    served = ",".join(right.of for right in rights if not right.resource.custom and where(right) == "everywhere")
    custom = " and ".join(right.of for right in rights if right.resource.custom)
    role = f"eksdoc-{command.replace(' ', '-')}"
    return (
        f"Without {' and '.join(str(r) for r in rights if r.required)} in all namespaces nothing can be checked. "
        "An administrator can allow all that this command reads, and bind it with kubectl create clusterrolebinding:\n"
        "    kubectl create "
        f"clusterrole {role} --verb=list --resource={served}\nWhere the cluster has them, also {custom}."
    )


def _for_changing(rights: Sequence[Right]) -> str:
    places: dict[str, list[Right]] = {}
    for right in rights:
        if right.required and not right.lost:  # the server names rights that are passed on to a role
            places.setdefault(where(right), []).append(right)
    lines = []
    for place, needed in places.items():
        verbs: dict[str, list[str]] = {}
        for right in needed:
            verbs.setdefault(right.of, []).append(right.verb)
        rest = "; ".join(f"{', '.join(each)} {of}" for of, each in verbs.items())
        lines.append(f"    {place}: {rest}")
    return "\n".join(["It cannot do without these rights; kubectl auth can-i tells which you have:", *lines])


def where(right: Right) -> str:
    """``everywhere``, ``in the journal's namespace``, ``in kube-system``."""
    whose = {"the journal": right.journal, "the probe": right.probe, "Karpenter": right.karpenter}
    owner = next((each for each, is_there in whose.items() if is_there), "")
    if owner:
        return f"in {owner}'s namespace"
    return f"in {right.namespace}" if right.namespace else "everywhere"
