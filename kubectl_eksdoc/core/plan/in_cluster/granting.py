"""The rights of an errand as RBAC has them: what holds everywhere, and what holds in a namespace alone."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.permissions import Permission
from kubectl_eksdoc.core.model.placing import RBAC
from kubectl_eksdoc.core.plan.in_cluster.errand import Errand
from kubectl_eksdoc.core.rules.role_rules import rules

_API = f"{RBAC}/v1"
_IRSA = "eks.amazonaws.com/role-arn"


def granted(errand: Errand, permissions: Sequence[Permission]) -> tuple[Doc, ...]:
    """The ServiceAccount, and the roles that are bound to it: first those that a binding names."""
    found = [_account(errand)]
    for where in sorted({each.namespace for each in permissions}):
        kind, meta = "Role" if where else "ClusterRole", errand.role_metadata(where)
        allowed = rules(each for each in permissions if each.namespace == where)
        found.append({"apiVersion": _API, "kind": kind, "metadata": meta, "rules": allowed})
        found.append(
            {
                "apiVersion": _API,
                "kind": f"{kind}Binding",
                "metadata": meta,
                "roleRef": {"apiGroup": RBAC, "kind": kind, "name": meta["name"]},
                "subjects": [{"kind": "ServiceAccount", "name": errand.name, "namespace": errand.namespace}],
            }
        )
    return tuple(found)


def _account(errand: Errand) -> Doc:
    """Its token is mounted where a pod asks for it, and nowhere else."""
    meta = errand.metadata(annotations={_IRSA: errand.role} if errand.role else None)
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta, "automountServiceAccountToken": False}
