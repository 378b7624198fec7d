"""What commands must be allowed, as an administrator grants it: RBAC objects and IAM policies.

Belongs here: rights of several commands put together, the objects and policy documents that grant them and no more.
Never here: which rights a command has (that is beside its parser, in `cli.rights`), requests, JSON, YAML and tables.
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

# The objects of RBAC that grant rights: roles, and bindings where it is said to whom.


OPT_INS = "eksdoc.io/opt-ins"
"""The annotation of a role that says what it allows besides what commands do with it."""
KINDS = ("User", "Group", "ServiceAccount")
_COMPONENT = "permissions"


@frozen
class RbacSubject:
    """Who is given rights; `namespace` of a ServiceAccount alone."""

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
    """How the objects are called, and by which version of the tool they were printed."""

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
    """A ClusterRole of what holds everywhere, a Role for each namespace of the others, each with its binding."""
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


# Policies of IAM that allow actions on what they need and nothing else.
#
# Source of the limit: IAM and STS quotas, 6,144 characters of a managed policy, white space not counted.


LONGEST = 6144
_VERSION = "2012-10-17"


def policies(actions: Iterable[str], place: IamPlace, longest: int = LONGEST) -> tuple[Doc, ...]:
    """One where it is short enough; none where there are no actions. A statement is cut if it is too long alone."""
    found: list[list[Doc]] = []
    for statement in _statements(actions, place):
        for part in _short_enough(statement, longest):
            if found and size(_policy([*found[-1], part])) <= longest:
                found[-1].append(part)
            else:
                found.append([part])
    return tuple(map(_policy, found))


def size(value: object) -> int:
    """In characters as IAM counts them: of JSON without white space. Names in policies hold nothing to be escaped."""
    if isinstance(value, dict):
        return 1 + sum(size(key) + size(each) + 2 for key, each in value.items())
    if isinstance(value, list):
        return 1 + sum(size(each) + 1 for each in value)
    return len(str(value)) + 2


def _policy(statements: Sequence[Doc]) -> Doc:
    return {"Version": _VERSION, "Statement": list(statements)}


def _statements(actions: Iterable[str], place: IamPlace) -> list[Doc]:
    """One for all actions on the same resources; that on anything comes last."""
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
    """By the types of what it is on, letters and digits alone: ``EksClusterAddonNodegroup``."""
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


# The rights of one command, and those of several put together: each once, with all that rests on it.


@frozen
class NeededRight:
    """A right in the cluster. `required`: of these commands one cannot answer at all without it. `lost`: what is not
    known, or not done, without it, each said once."""

    permission: Permission
    required: bool
    lost: tuple[str, ...]
    commands: tuple[str, ...]


@frozen
class IamAction:
    """An action of IAM, as `NeededRight`."""

    action: str
    lost: tuple[str, ...]
    commands: tuple[str, ...]


@frozen
class WantedPermissions:
    """`commands` as they are typed, without the program. Rights and actions are sorted, and none is there twice."""

    commands: tuple[str, ...]
    needed: tuple[NeededRight, ...]
    asked: tuple[IamAction, ...]

    @property
    def changes(self) -> bool:
        """Whether something can be changed with it, in the cluster or in AWS."""
        return any(each.permission.verb not in READING for each in self.needed) or any(
            not each.action.partition(":")[2].startswith(READING_ACTIONS) for each in self.asked
        )

    @property
    def opt_ins(self) -> tuple[OptIn, ...]:
        """Those that its rights are of."""
        return opt_ins_of(each.right for each in self.permissions)

    @property
    def permissions(self) -> tuple[Permission, ...]:
        return tuple(each.permission for each in self.needed)

    @property
    def actions(self) -> tuple[str, ...]:
        return tuple(each.action for each in self.asked)


READING = ("get", "list", "watch")
READING_ACTIONS = ("Describe", "GenerateServiceLastAccessedDetails", "Get", "List", "Lookup")
"""How the names begin of the actions of IAM that only read (the service authorization reference, access level)."""


def together(parts: Sequence[WantedPermissions]) -> WantedPermissions:
    """What is needed everywhere is not asked for once more in a namespace."""
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
    """What nothing is said without comes first, and what is needed everywhere before the rest."""
    asked = each.permission
    return (
        not each.required,
        asked.namespace,
        asked.verb not in READING,
        asked.resource.group,
        asked.resource.plural,
        (f"{asked.subresource} {asked.verb}"),
    )


# Which of the rights that are wanted somebody has.


@frozen
class HeldRight:
    """`held` None: the cluster does not say, and `why` not."""

    needed: NeededRight
    held: bool | None
    why: str = ""


def held(wanted: WantedPermissions, reviews: Iterable[Review]) -> tuple[HeldRight, ...]:
    """In the order of `wanted`; what no review is about is unknown."""
    by_permission = {each.permission: each for each in reviews}
    found = []
    for each in wanted.needed:
        review = by_permission.get(each.permission) or Review(each.permission, None, "it was not asked")
        found.append(HeldRight(each, review.allowed, review.why))
    return tuple(found)
