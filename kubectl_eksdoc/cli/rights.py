"""The rights each command may use, as data: errors, documents and `kubectl auth can-i` lists read this.

No command writes yet, and none calls AWS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc.core.model import codes, kinds
from kubectl_eksdoc.core.model.kinds import Resource


@dataclass(frozen=True, slots=True)
class Right:
    """One RBAC rule over all namespaces. `required`: without it the command cannot answer at all."""

    verb: str
    resource: Resource
    required: bool = False

    @property
    def unknown_without(self) -> tuple[str, ...]:
        """The finding codes whose answer is unknown without this right, sorted."""
        return tuple(sorted(code.name for code in codes.ALL if self.resource in code.needs))

    def __str__(self) -> str:
        return f"{self.verb} {self.resource.full_name}"


_NOTHING_WITHOUT = (kinds.NODES, kinds.PODS)

DRAIN_PLAN = tuple(Right("list", resource, resource in _NOTHING_WITHOUT) for resource in kinds.ALL)

BY_COMMAND: Mapping[str, tuple[Right, ...]] = {"drain plan": DRAIN_PLAN}
