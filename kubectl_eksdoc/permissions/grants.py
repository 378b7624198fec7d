"""RBAC objects and IAM policies that grant the permissions of commands.

Belongs here: the rights of several commands merged, the objects and policy documents that grant exactly these rights.
Never here: the rights of a single command (`cli.rights`, beside its parser), requests, JSON, YAML and tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubectl_eksdoc.amazon import iam
from kubectl_eksdoc.amazon.iam import ClusterArnParts
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.guards import policy_rules
from kubectl_eksdoc.model.api_objects import (
    COMPONENT_LABEL,
    FIELD_MANAGER,
    MANAGED_BY_LABEL,
    NAME_LABEL,
    PROGRAM,
    VERSION_LABEL,
    Doc,
)
from kubectl_eksdoc.model.permissions import AccessReview, OptInRight, Permission, opt_ins_for
from kubectl_eksdoc.model.placement import RBAC

# RBAC objects that grant rights: roles, and bindings if subjects are given.


OPT_INS_ANNOTATION = "eksdoc.io/opt-ins"
"""The annotation of a role that names what it allows beyond the commands' own use."""
SUBJECT_KINDS = ("User", "Group", "ServiceAccount")
_COMPONENT = "permissions"


@frozen
class RbacSubject:
    """A subject of a binding; `namespace` only for a ServiceAccount."""

    kind: str
    name: str
    namespace: str = ""

    @property
    def doc(self) -> Doc:
        if self.namespace:
            return {"kind": self.kind, "name": self.name, "namespace": self.namespace}
        return {"kind": self.kind, "name": self.name, "apiGroup": RBAC}


@frozen
class RoleNames:
    """The name of the objects, and the version of the tool that printed them."""

    name: str
    version: str

    @property
    def labels(self) -> Doc:
        return {
            NAME_LABEL: PROGRAM,
            VERSION_LABEL: self.version,
            COMPONENT_LABEL: _COMPONENT,
            MANAGED_BY_LABEL: FIELD_MANAGER,
        }

    def metadata(self, namespace: str, opt_ins: Iterable[OptInRight] = ()) -> Doc:
        namespace_field = {"namespace": namespace} if namespace else {}
        risks = "; ".join(each.description for each in opt_ins)
        annotations = {"annotations": {OPT_INS_ANNOTATION: risks}} if risks else {}
        return {"name": self.name, **namespace_field, "labels": self.labels, **annotations}


def rbac_objects(
    names: RoleNames, permissions: Sequence[Permission], subjects: Sequence[RbacSubject] = ()
) -> tuple[Doc, ...]:
    """A ClusterRole for the rights in all namespaces, a Role for each other namespace, each with its binding."""
    docs: list[Doc] = []
    for namespace in sorted({each.namespace for each in permissions}):
        kind = "Role" if namespace else "ClusterRole"
        in_namespace = [each for each in permissions if each.namespace == namespace]
        opt_ins = opt_ins_for(each.right for each in in_namespace)
        common = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": names.metadata(namespace, opt_ins)}
        docs.append({**common, "rules": policy_rules(in_namespace)})
        if subjects:
            docs.append(
                {
                    **common,
                    "kind": f"{kind}Binding",
                    "roleRef": {"apiGroup": RBAC, "kind": kind, "name": names.name},
                    "subjects": [each.doc for each in subjects],
                }
            )
    return tuple(docs)


# IAM policies that allow actions on the necessary resources only.
#
# Source of the limit: IAM and STS quotas, 6,144 characters of a managed policy, white space not counted.


MAX_POLICY_SIZE = 6144
_VERSION = "2012-10-17"


def policies(actions: Iterable[str], place: ClusterArnParts, max_size: int = MAX_POLICY_SIZE) -> tuple[Doc, ...]:
    """As few policies as the size limit allows; none without actions. A statement that is too long alone is split."""
    documents: list[list[Doc]] = []
    for statement in _statements(actions, place):
        for part in _split_statement(statement, max_size):
            if documents and policy_size(_policy([*documents[-1], part])) <= max_size:
                documents[-1].append(part)
            else:
                documents.append([part])
    return tuple(map(_policy, documents))


def policy_size(value: object) -> int:
    """Size in characters as IAM counts it: JSON without white space. Names in policies contain no character to
    escape."""
    if isinstance(value, dict):
        return 1 + sum(policy_size(key) + policy_size(each) + 2 for key, each in value.items())
    if isinstance(value, list):
        return 1 + sum(policy_size(each) + 1 for each in value)
    return len(str(value)) + 2


def _policy(statements: Sequence[Doc]) -> Doc:
    return {"Version": _VERSION, "Statement": list(statements)}


def _statements(actions: Iterable[str], place: ClusterArnParts) -> list[Doc]:
    """One statement for all actions on the same resources; the one on all resources comes last."""
    actions_by_resources: dict[tuple[str, ...], list[str]] = {}
    for action in sorted(set(actions)):
        actions_by_resources.setdefault(iam.resource_arns(action, place), []).append(action)
    return [
        {
            "Sid": _statement_id(grouped_actions[0]) if resources != (iam.ANY_RESOURCE,) else "Anything",
            "Effect": "Allow",
            "Action": grouped_actions,
            "Resource": resources[0] if len(resources) == 1 else list(resources),
        }
        for resources, grouped_actions in sorted(
            actions_by_resources.items(), key=lambda it: (it[0] == (iam.ANY_RESOURCE,), it[0])
        )
    ]


def _statement_id(action: str) -> str:
    """The Sid from the resource types, only letters and digits: ``EksClusterAddonNodegroup``."""
    types = iam.resource_types(action)
    service = types[0].partition(":")[0]
    return "".join(word.capitalize() for word in (service, *(each.partition(":")[2] for each in types))).replace(
        "-", ""
    )


def _split_statement(statement: Doc, max_size: int) -> list[Doc]:
    actions = statement["Action"]
    if len(actions) == 1 or policy_size(_policy([statement])) <= max_size:
        return [statement]
    half = len(actions) // 2
    parts = [{**statement, "Sid": f"{statement['Sid']}1", "Action": actions[:half]}]
    parts.append({**statement, "Sid": f"{statement['Sid']}2", "Action": actions[half:]})
    return [each for part in parts for each in _split_statement(part, max_size)]


# The rights of one command, and those of several commands merged, without duplicates.


@frozen
class NeededRight:
    """A right in the cluster.

    `required`: at least one of the commands cannot answer at all without it. `lost`: the missing answers and actions
    without it, without duplicates.
    """

    permission: Permission
    required: bool
    lost: tuple[str, ...]
    commands: tuple[str, ...]


@frozen
class IamAction:
    """An IAM action; the fields are those of `NeededRight`."""

    action: str
    lost: tuple[str, ...]
    commands: tuple[str, ...]


@frozen
class RequiredPermissions:
    """The rights that commands need. `commands`: as a user types them, without the program. Rights and actions are
    sorted, without duplicates."""

    commands: tuple[str, ...]
    rights: tuple[NeededRight, ...]
    iam_actions: tuple[IamAction, ...]

    @property
    def changes(self) -> bool:
        """Whether the rights allow changes in the cluster or in AWS."""
        return any(each.permission.verb not in READ_VERBS for each in self.rights) or any(
            not each.action.partition(":")[2].startswith(READ_ACTION_PREFIXES) for each in self.iam_actions
        )

    @property
    def opt_ins(self) -> tuple[OptInRight, ...]:
        """The opt-ins that the rights belong to."""
        return opt_ins_for(each.right for each in self.permissions)

    @property
    def permissions(self) -> tuple[Permission, ...]:
        return tuple(each.permission for each in self.rights)

    @property
    def actions(self) -> tuple[str, ...]:
        return tuple(each.action for each in self.iam_actions)


READ_VERBS = ("get", "list", "watch")
READ_ACTION_PREFIXES = ("Describe", "GenerateServiceLastAccessedDetails", "Get", "List", "Lookup")
"""First words of the IAM actions that only read (service authorization reference, access level)."""


def merge_permissions(parts: Sequence[RequiredPermissions]) -> RequiredPermissions:
    """The permissions merged: a right in all namespaces replaces the same right in one namespace."""
    rights: dict[Permission, NeededRight] = {}
    for right in (one for part in parts for one in part.rights):
        rights[right.permission] = _merge_rights(rights.get(right.permission, right), right)
    for namespaced in [right for right in rights if right.namespace]:
        everywhere = rights.get(namespaced._replace(namespace=""))
        if everywhere is not None:
            rights[everywhere.permission] = _merge_rights(everywhere, rights.pop(namespaced))
    iam_actions: dict[str, IamAction] = {}
    for one in (one for part in parts for one in part.iam_actions):
        known = iam_actions.get(one.action, one)
        iam_actions[one.action] = IamAction(
            one.action, _distinct(known.lost, one.lost), _distinct(known.commands, one.commands)
        )
    return RequiredPermissions(
        _distinct(*(part.commands for part in parts)),
        tuple(sorted(rights.values(), key=_right_sort_key)),
        tuple(iam_actions[action] for action in sorted(iam_actions)),
    )


def _merge_rights(first: NeededRight, second: NeededRight) -> NeededRight:
    return NeededRight(
        first.permission,
        first.required or second.required,
        _distinct(first.lost, second.lost),
        _distinct(first.commands, second.commands),
    )


def _distinct(*parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for part in parts for each in part))


def _right_sort_key(right: NeededRight) -> tuple[bool, str, bool, str, str, str]:
    """Required rights first, and rights in all namespaces before the others."""
    permission = right.permission
    return (
        not right.required,
        permission.namespace,
        permission.verb not in READ_VERBS,
        permission.resource.group,
        permission.resource.plural,
        (f"{permission.subresource} {permission.verb}"),
    )


# Which of the required rights a user has.


@frozen
class HeldRight:
    """Whether the user has a right. `held` None: the cluster does not report it, and `why` gives the reason."""

    needed: NeededRight
    held: bool | None
    why: str = ""


def check_held(required: RequiredPermissions, reviews: Iterable[AccessReview]) -> tuple[HeldRight, ...]:
    """The rights in the order of `required`; a right without a review is unknown."""
    by_permission = {right.permission: right for right in reviews}
    results = []
    for right in required.rights:
        review = by_permission.get(right.permission) or AccessReview(right.permission, None, "it was not asked")
        results.append(HeldRight(right, review.allowed, review.why))
    return tuple(results)
