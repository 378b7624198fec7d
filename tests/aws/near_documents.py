"""Documents near a schema: mostly valid, with an occasional fault."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

TEXTS = st.sampled_from(["", "true", "false", "1", "50%", "-3", "abc", "iptables", "ipvs", "no such", "%"])
SCALARS = st.none() | st.booleans() | st.integers(-2, 1200) | st.sampled_from([1.0, 2.5]) | TEXTS
WRONG = st.one_of(SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(TEXTS, SCALARS, max_size=2))


@st.composite
def near(draw: st.DrawFn, root: dict[str, Any], schema: Any = None, depth: int = 0) -> Any:
    """A value for `schema`, a part of `root` (None: all of it)."""
    schema = root if schema is None else schema
    if not isinstance(schema, dict) or depth > 12:
        return draw(WRONG)
    if "$ref" in schema:
        return draw(near(root, root["definitions"][schema["$ref"].rpartition("/")[2]], depth + 1))
    if depth and draw(st.integers(0, 19)) == 0:
        return draw(WRONG)
    branches = [each for kind in ("anyOf", "oneOf", "allOf") for each in schema.get(kind, ())]
    if branches and draw(st.booleans()):
        return draw(near(root, draw(st.sampled_from(branches)), depth + 1))
    types = schema.get("type", ["object", "string", "integer"])
    kind = draw(st.sampled_from(types if isinstance(types, list) else [types]))
    if kind == "object":
        return draw(_object(root, schema, depth))
    if kind == "array":
        return draw(st.lists(near(root, schema.get("items", True), depth + 1), max_size=3))
    of_kind = {
        "string": st.sampled_from(schema["enum"]) if "enum" in schema else TEXTS,
        "integer": st.integers(-2, 1200),
        "number": st.sampled_from([0, 1.0, 2.5, 7]),
        "boolean": st.booleans(),
        "null": st.none(),
    }
    return draw(of_kind[kind])


@st.composite
def _object(draw: st.DrawFn, root: dict[str, Any], schema: dict[str, Any], depth: int) -> dict[str, Any]:
    properties = schema.get("properties", {})
    some = draw(st.lists(st.sampled_from(sorted(properties)), max_size=4, unique=True)) if properties else []
    must = [name for name in schema.get("required", ()) if draw(st.integers(0, 9))]
    made = {name: draw(near(root, properties.get(name, True), depth + 1)) for name in dict.fromkeys([*some, *must])}
    more = schema.get("additionalProperties", True)
    if isinstance(more, dict) or draw(st.integers(0, 9)) == 0:
        below = near(root, more, depth + 1) if isinstance(more, dict) else WRONG
        made |= draw(st.dictionaries(st.sampled_from(["extra", "a.b/c", "x[0]"]), below, max_size=2))
    return made
