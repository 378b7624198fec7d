"""Conflicts of an apply with other owners, and how the server words them.

Source: apimachinery, util/managedfields/internal/conflict.go; errors.NewApplyConflict. The order of
the causes of several owners varies on a server; here they are sorted, as in the message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc.kubernetes.api.ownership.entries import FieldManager
from kubectl_eksdoc.kubernetes.api.ownership.fields import FieldSet
from kubectl_eksdoc.kubernetes.api.ownership.steps import shown
from kubectl_eksdoc.kubernetes.api.ownership.trees import Path
from kubectl_eksdoc.model.api_objects import Doc


@dataclass(frozen=True, slots=True)
class _Conflict:
    owner: FieldManager
    path: Path

    @property
    def field(self) -> str:
        """As in ``.spec.containers[name="app"].image``."""
        return "".join(shown(step) for step in self.path)


@dataclass(frozen=True, slots=True)
class Conflicts:
    """At least one conflict, by owner."""

    found: tuple[_Conflict, ...]

    @classmethod
    def of(cls, fields: Mapping[FieldManager, FieldSet]) -> Conflicts:
        return cls(tuple(_Conflict(owner, path) for owner in sorted(fields) for path in fields[owner]))

    @property
    def message(self) -> str:
        if len(self.found) == 1:
            only = self.found[0]
            return f"Apply failed with 1 conflict: conflict with {only.owner.shown()}: {only.field}"
        lines: list[str] = []
        for owner in dict.fromkeys(conflict.owner for conflict in self.found):
            lines.append(f"conflicts with {owner.shown()}:")
            lines += [f"- {conflict.field}" for conflict in self.found if conflict.owner == owner]
        return f"Apply failed with {len(self.found)} conflicts: " + "\n".join(lines)

    @property
    def causes(self) -> list[Doc]:
        return [
            {"reason": "FieldManagerConflict", "message": f"conflict with {c.owner.shown()}", "field": c.field}
            for c in self.found
        ]

    def status(self) -> Doc:
        """The body of the answer 409."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": "Conflict",
            "details": {"causes": self.causes},
            "code": 409,
        }
