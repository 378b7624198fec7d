"""Rights as the rules of a Role or a ClusterRole (rbac.authorization.k8s.io/v1, PolicyRule)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.permissions import Permission


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
