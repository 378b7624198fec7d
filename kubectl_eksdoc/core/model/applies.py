"""What a server-side apply is answered with."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.core.model.api_objects import Doc


@dataclass(frozen=True, slots=True, order=True)
class Conflict:
    """`owner` is the field manager that has the field, in the server's words."""

    field: str
    owner: str


@dataclass(frozen=True, slots=True)
class Applied:
    """The object as it is then, or would be."""

    doc: Doc


@dataclass(frozen=True, slots=True)
class Conflicting:
    """Nothing was changed: others have these fields, with other values. Sorted."""

    conflicts: tuple[Conflict, ...]
