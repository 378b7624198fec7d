"""RBAC objects and IAM policies that grant the permissions of commands.

Belongs here: the rights of several commands merged, the objects and policy documents that grant exactly these rights.
Never here: the rights of a single command (`cli.rights`, beside its parser), requests, JSON, YAML and tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubectl_eksdoc.amazon import iam
from kubectl_eksdoc.amazon.iam import IamPlace
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.guards import rules
from kubectl_eksdoc.model.api_objects import COMPONENT, MANAGED_BY, MANAGER, NAME, PROGRAM, VERSION, Doc
from kubectl_eksdoc.model.permissions import OptIn, Permission, Review, opt_ins_of
from kubectl_eksdoc.model.placing import RBAC

# RBAC objects that grant rights: roles, and bindings if subjects are given.


OPT_INS = "eksdoc.io/opt-ins"
"""The annotation of a role that names what it allows beyond the commands' own use."""
KINDS = ("User", "Group", "ServiceAccount")
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
class ObjectNames:
    """The name of the objects, and the version of the tool that printed them."""

    name: str
    version: str

    @property
    def labels(self) -> Doc:
        return {NAME: PROGRAM, VERSION: self.version, COMPONENT: _COMPONENT, MANAGED_BY: MANAGER}

    def metadata(self, namespace: str, opted: Iterable[OptIn] = ()) -> Doc:
        where = {"namespace": namespace} if namespace else {}
        risks = "; ".join(each.said for each in opted)
        more = {"annotations": {OPT_INS: risks}} if risks else {}
        return {"name": self.name, **where, "labels": self.labels, **more}


def objects(
    called: ObjectNames, permissions: Sequence[Permission], subjects: Sequence[RbacSubject] = ()
) -> tuple[Doc, ...]:
    """A ClusterRole for the rights in all namespaces, a Role for each other namespace, each with its binding."""
    found: list[Doc] = []
    for where in sorted({each.namespace for each in permissions}):
        kind = "Role" if where else "ClusterRole"
        here = [each for each in permissions if each.namespace == where]
        opted = opt_ins_of(each.right for each in here)
        head = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": called.metadata(where, opted)}
        found.append({**head, "rules": rules(here)})
        if subjects:
            found.append(
                {
                    **head,
                    "kind": f"{kind}Binding",
                    "roleRef": {"apiGroup": RBAC, "kind": kind, "name": called.name},
                    "subjects": [each.doc for each in subjects],
                }
            )
    return tuple(found)


# IAM policies that allow actions on the necessary resources only.
#
# Source of the limit: IAM and STS quotas, 6,144 characters of a managed policy, white space not counted.


LONGEST = 6144
_VERSION = "2012-10-17"


def policies(actions: Iterable[str], place: IamPlace, longest: int = LONGEST) -> tuple[Doc, ...]:
    """As few policies as the size limit allows; none without actions. A statement that is too long alone is split."""
    found: list[list[Doc]] = []
    for statement in _statements(actions, place):
        for part in _short_enough(statement, longest):
            if found and size(_policy([*found[-1], part])) <= longest:
                found[-1].append(part)
            else:
                found.append([part])
    return tuple(map(_policy, found))


def size(value: object) -> int:
    """Size in characters as IAM counts it: JSON without white space. Names in policies contain no character to
    escape."""
    if isinstance(value, dict):
        return 1 + sum(size(key) + size(each) + 2 for key, each in value.items())
    if isinstance(value, list):
        return 1 + sum(size(each) + 1 for each in value)
    return len(str(value)) + 2


def _policy(statements: Sequence[Doc]) -> Doc:
    return {"Version": _VERSION, "Statement": list(statements)}


def _statements(actions: Iterable[str], place: IamPlace) -> list[Doc]:
    """One statement for all actions on the same resources; the one on all resources comes last."""
    together: dict[tuple[str, ...], list[str]] = {}
    for action in sorted(set(actions)):
        together.setdefault(iam.resources(action, place), []).append(action)
    return [
        {
            "Sid": _name(those[0]) if on != (iam.ANY,) else "Anything",
            "Effect": "Allow",
            "Action": those,
            "Resource": on[0] if len(on) == 1 else list(on),
        }
        for on, those in sorted(together.items(), key=lambda it: (it[0] == (iam.ANY,), it[0]))
    ]


def _name(action: str) -> str:
    """The Sid from the resource types, only letters and digits: ``EksClusterAddonNodegroup``."""
    found = iam.types(action)
    service = found[0].partition(":")[0]
    return "".join(word.capitalize() for word in (service, *(each.partition(":")[2] for each in found))).replace(
        "-", ""
    )


def _short_enough(statement: Doc, longest: int) -> list[Doc]:
    actions = statement["Action"]
    if len(actions) == 1 or size(_policy([statement])) <= longest:
        return [statement]
    half = len(actions) // 2
    parts = [{**statement, "Sid": f"{statement['Sid']}1", "Action": actions[:half]}]
    parts.append({**statement, "Sid": f"{statement['Sid']}2", "Action": actions[half:]})
    return [each for part in parts for each in _short_enough(part, longest)]


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
class WantedPermissions:
    """The rights that commands need. `commands`: as a user types them, without the program. Rights and actions are
    sorted, without duplicates."""

    commands: tuple[str, ...]
    needed: tuple[NeededRight, ...]
    asked: tuple[IamAction, ...]

    @property
    def changes(self) -> bool:
        """Whether the rights allow changes in the cluster or in AWS."""
        return any(each.permission.verb not in READING for each in self.needed) or any(
            not each.action.partition(":")[2].startswith(READING_ACTIONS) for each in self.asked
        )

    @property
    def opt_ins(self) -> tuple[OptIn, ...]:
        """The opt-ins that the rights belong to."""
        return opt_ins_of(each.right for each in self.permissions)

    @property
    def permissions(self) -> tuple[Permission, ...]:
        return tuple(each.permission for each in self.needed)

    @property
    def actions(self) -> tuple[str, ...]:
        return tuple(each.action for each in self.asked)


READING = ("get", "list", "watch")
READING_ACTIONS = ("Describe", "GenerateServiceLastAccessedDetails", "Get", "List", "Lookup")
"""First words of the IAM actions that only read (service authorization reference, access level)."""


def together(parts: Sequence[WantedPermissions]) -> WantedPermissions:
    """The permissions merged: a right in all namespaces replaces the same right in one namespace."""
    needed: dict[Permission, NeededRight] = {}
    for each in (one for part in parts for one in part.needed):
        needed[each.permission] = _both(needed.get(each.permission, each), each)
    for namespaced in [each for each in needed if each.namespace]:
        everywhere = needed.get(namespaced._replace(namespace=""))
        if everywhere is not None:
            needed[everywhere.permission] = _both(everywhere, needed.pop(namespaced))
    asked: dict[str, IamAction] = {}
    for one in (one for part in parts for one in part.asked):
        known = asked.get(one.action, one)
        asked[one.action] = IamAction(one.action, _once(known.lost, one.lost), _once(known.commands, one.commands))
    return WantedPermissions(
        _once(*(part.commands for part in parts)),
        tuple(sorted(needed.values(), key=_order)),
        tuple(asked[action] for action in sorted(asked)),
    )


def _both(one: NeededRight, other: NeededRight) -> NeededRight:
    return NeededRight(
        one.permission,
        one.required or other.required,
        _once(one.lost, other.lost),
        _once(one.commands, other.commands),
    )


def _once(*parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for part in parts for each in part))


def _order(each: NeededRight) -> tuple[bool, str, bool, str, str, str]:
    """Required rights first, and rights in all namespaces before the others."""
    asked = each.permission
    return (
        not each.required,
        asked.namespace,
        asked.verb not in READING,
        asked.resource.group,
        asked.resource.plural,
        (f"{asked.subresource} {asked.verb}"),
    )


# Which of the required rights a user has.


@frozen
class HeldRight:
    """Whether the user has a right. `held` None: the cluster does not report it, and `why` gives the reason."""

    needed: NeededRight
    held: bool | None
    why: str = ""


def held(wanted: WantedPermissions, reviews: Iterable[Review]) -> tuple[HeldRight, ...]:
    """The rights in the order of `required`; a right without a review is unknown."""
    by_permission = {each.permission: each for each in reviews}
    found = []
    for each in wanted.needed:
        review = by_permission.get(each.permission) or Review(each.permission, None, "it was not asked")
        found.append(HeldRight(each, review.allowed, review.why))
    return tuple(found)
