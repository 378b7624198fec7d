"""The rights of an errand as RBAC has them: what holds everywhere, and what holds in its namespace alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.permissions import Permission
from kubectl_eksdoc.core.model.placing import RBAC
from kubectl_eksdoc.core.plan.in_cluster.errand import Errand

_API = f"{RBAC}/v1"
_IRSA = "eks.amazonaws.com/role-arn"


def rules(permissions: Iterable[Permission]) -> list[Doc]:
    """One for each set of verbs in each API group, and one for paths that are no resources; sorted, each right once."""
    verbs: dict[tuple[str, str], set[str]] = {}
    for each in permissions:
        plural = f"{each.resource.plural}/{each.subresource}" if each.subresource else each.resource.plural
        verbs.setdefault((each.resource.group, plural), set()).add(each.verb)
    together: dict[tuple[bool, str, tuple[str, ...]], list[str]] = {}
    for (group, plural), found in sorted(verbs.items()):
        together.setdefault((plural.startswith("/"), group, tuple(sorted(found))), []).append(plural)
    return [_rule(is_path, group, allowed, names) for (is_path, group, allowed), names in sorted(together.items())]


def _rule(is_path: bool, group: str, verbs: Sequence[str], names: Sequence[str]) -> Doc:
    of = {"nonResourceURLs": list(names)} if is_path else {"apiGroups": [group], "resources": list(names)}
    return {**of, "verbs": list(verbs)}


def granted(errand: Errand, permissions: Sequence[Permission]) -> tuple[Doc, ...]:
    """The ServiceAccount, and the roles that are bound to it: first those that a binding names."""
    everywhere = rules(each for each in permissions if not each.namespace)
    here = rules(each for each in permissions if each.namespace)
    found = [_account(errand)]
    if everywhere:
        found += [_role(errand, "ClusterRole", everywhere), _binding(errand, "ClusterRole")]
    if here:
        found += [_role(errand, "Role", here), _binding(errand, "Role")]
    return tuple(found)


def _account(errand: Errand) -> Doc:
    """Its token is mounted where a pod asks for it, and nowhere else."""
    meta = errand.metadata(annotations={_IRSA: errand.role} if errand.role else None)
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta, "automountServiceAccountToken": False}


def _role(errand: Errand, kind: str, allowed: list[Doc]) -> Doc:
    return {"apiVersion": _API, "kind": kind, "metadata": errand.metadata(kind == "Role"), "rules": allowed}


def _binding(errand: Errand, kind: str) -> Doc:
    return {
        "apiVersion": _API,
        "kind": f"{kind}Binding",
        "metadata": errand.metadata(kind == "Role"),
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": errand.name},
        "subjects": [{"kind": "ServiceAccount", "name": errand.name, "namespace": errand.namespace}],
    }
