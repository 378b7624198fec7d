"""The objects of RBAC that grant rights: roles, and bindings where it is said to whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.opt_ins import OptIn, opt_ins_of
from kubectl_eksdoc.core.model.own_labels import COMPONENT, MANAGED_BY, MANAGER, NAME, PROGRAM, VERSION
from kubectl_eksdoc.core.model.permissions import Permission
from kubectl_eksdoc.core.model.placing import RBAC
from kubectl_eksdoc.core.rules.role_rules import rules

OPT_INS = "eksdoc.io/opt-ins"
"""The annotation of a role that says what it allows besides what commands do with it."""
KINDS = ("User", "Group", "ServiceAccount")
_COMPONENT = "permissions"


@dataclass(frozen=True, slots=True)
class Subject:
    """Who is given rights; `namespace` of a ServiceAccount alone."""

    kind: str
    name: str
    namespace: str = ""

    @property
    def doc(self) -> Doc:
        if self.namespace:
            return {"kind": self.kind, "name": self.name, "namespace": self.namespace}
        return {"kind": self.kind, "name": self.name, "apiGroup": RBAC}


@dataclass(frozen=True, slots=True)
class Called:
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


def objects(called: Called, permissions: Sequence[Permission], subjects: Sequence[Subject] = ()) -> tuple[Doc, ...]:
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
