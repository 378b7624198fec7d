"""Configuration values: one document over another, and a value in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.aws.configuration import Path as ConfigPath


def over(below: Doc, above: Doc) -> Doc:
    """Maps are merged, anything else is replaced: as Helm puts values over a chart's own."""
    return {
        **below,
        **{
            key: over(below[key], value) if isinstance(value, dict) and isinstance(below.get(key), dict) else value
            for key, value in above.items()
        },
    }


def leaves(values: Doc, at: ConfigPath = ()) -> Iterator[tuple[ConfigPath, Any]]:
    """Whatever is no map that has something in it; a list is one."""
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*at, key))
        else:
            yield (*at, key), value


def with_value(values: Doc, path: ConfigPath, value: Any) -> Doc:
    """`values` with `value` at `path`; what stands in the way is replaced."""
    first, rest = path[0], path[1:]
    inner = values.get(first)
    return {**values, first: with_value(inner if isinstance(inner, dict) else {}, rest, value) if rest else value}
