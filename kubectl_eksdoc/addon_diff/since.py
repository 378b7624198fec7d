"""Since which version EKS's schema has a path: what was safe in every update before it is not safe in that one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.addon_diff.fields import AddonField
from kubectl_eksdoc.addon_diff.prediction import FieldChange
from kubectl_eksdoc.addon_diff.schema.allowed import SchemaPaths
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws.configuration import Path as ConfigPath

SchemaOf = Callable[[str], "SchemaPaths | Unknown"]
"""Of a version; asked for once each."""


@dataclass(frozen=True, slots=True)
class SchemaSince:
    """`has` is the first version known to have the path in its schema, `lacks` the last one before it known not to, ""
    if there is none. `exact`: no version in between is unknown."""

    field: AddonField
    config: ConfigPath
    lacks: str
    has: str
    exact: bool


def since(changes: Iterable[FieldChange], versions: Sequence[str], schema_of: SchemaOf) -> tuple[SchemaSince, ...]:
    """Of each field at risk that a configuration value leads to and that the last of `versions` (the oldest first) has.

    Halved again and again, so that of thirty versions five are asked for: a path that has come is taken to stay.
    """
    found = []
    for change in changes:
        if change.at_risk and change.config and versions and _has(schema_of(versions[-1]), change.config) is True:
            found.append(_first(change, versions, schema_of))
    return tuple(found)


def _first(change: FieldChange, versions: Sequence[str], schema_of: SchemaOf) -> SchemaSince:
    below, above = -1, len(versions) - 1  # known to lack it, known to have it
    left = set(range(above))  # of which nothing is known, and which were not found unknown
    while candidates := [at for at in left if below < at < above]:
        at = candidates[len(candidates) // 2]
        left.discard(at)
        match _has(schema_of(versions[at]), change.config):
            case True:
                above = at
            case False:
                below = at
    lacks = versions[below] if below >= 0 else ""
    return SchemaSince(change.field, change.config, lacks, versions[above], above == below + 1)


def _has(schema: SchemaPaths | Unknown, path: ConfigPath) -> bool | None:
    return None if isinstance(schema, Unknown) else schema.of(path) is not None
