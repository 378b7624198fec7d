"""Which fields of an object with a value of their own are others in one document of it than in another."""

from __future__ import annotations

from kubectl_eksdoc.kubernetes.api.ownership.comparing import compare
from kubectl_eksdoc.kubernetes.api.ownership.trees import Path, names_item
from kubectl_eksdoc.kubernetes.api.schema import Schema
from kubectl_eksdoc.model.api_objects import Doc


def differing(before: Doc, after: Doc, schema: Schema) -> set[Path]:
    """An item of a list that comes or goes is told by what is in it."""
    seen = compare(before, after, schema.root)
    every = set(seen.written | seen.removed)
    every -= {path for path in every if path[-1].startswith("f:") and names_item(path)}
    return {path for path in every if not any(other[: len(path)] == path for other in every if other != path)}
