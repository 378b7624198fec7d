"""Rights that are missing, as the objects by which an administrator gives them."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model.permissions import Permission
from kubectl_eksdoc.render.encode import Json, to_yaml

_API = "rbac.authorization.k8s.io/v1"


def roles(name: str, permissions: Iterable[Permission]) -> str:
    """A ClusterRole of what is needed everywhere, and a Role for each namespace of the others; "" for none. They say
    nothing of who is bound to them."""
    by_namespace: dict[str, list[Permission]] = {}
    for each in permissions:
        by_namespace.setdefault(each.namespace, []).append(each)
    return "---\n".join(to_yaml(_role(name, where, by_namespace[where])) for where in sorted(by_namespace))


def _role(name: str, namespace: str, permissions: Iterable[Permission]) -> Json:
    """One rule for all resources of a group with the same verbs."""
    verbs: dict[tuple[str, str], set[str]] = {}
    for each in permissions:
        of = f"{each.resource.plural}/{each.subresource}" if each.subresource else each.resource.plural
        verbs.setdefault((each.resource.group, of), set()).add(each.verb)
    rules: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, of), allowed in sorted(verbs.items()):
        rules.setdefault((group, tuple(sorted(allowed))), []).append(of)
    metadata: dict[str, Json] = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": _API,
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": metadata,
        "rules": [
            {"apiGroups": [group], "resources": [*of], "verbs": [*allowed]} for (group, allowed), of in rules.items()
        ],
    }
