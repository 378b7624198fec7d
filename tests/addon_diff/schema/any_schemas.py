"""Configuration schemas: the published ones, and generated ones of the same form."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

_ROOT = Path(__file__).parents[3]
_FOLDERS = (
    _ROOT / "tests" / "data" / "aws" / "eks" / "schemas",
    _ROOT / "kubectl_eksdoc" / "embedded" / "demo" / "aws" / "schemas",
)

Schema = dict[str, Any]

PUBLISHED: dict[str, Schema] = {
    f"{path.stem}{' of the demo' if path.parent == _FOLDERS[1] else ''}": json.loads(path.read_text(encoding="utf-8"))
    for folder in _FOLDERS
    for path in sorted(folder.glob("*.json"))
}

PAIRS = [(a, b) for a, b in permutations(PUBLISHED, 2) if a.partition("_v")[0] == b.partition("_v")[0]]

KEYS = st.sampled_from(["env", "init", "enabled", "Enabled", "ENABLE_POD_ENI", "replicas", "replica", "a.b", "x"])
_texts = st.fixed_dictionaries(
    {"type": st.just("string")},
    optional={
        "format": st.sampled_from(["boolean", "integer"]),
        "pattern": st.sampled_from([".*%$", "^[a-z]+$"]),
        "enum": st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, unique=True),
        "minLength": st.integers(0, 3),
    },
)
_numbers = st.fixed_dictionaries(
    {"type": st.sampled_from(["integer", "number"])},
    optional={"minimum": st.integers(0, 5), "maximum": st.integers(3, 9), "default": st.integers(0, 9)},
)
_leaves = _texts | _numbers | st.just({"type": "boolean"}) | st.just({"type": ["object", "null"]}) | st.just({})


def _around(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    objects = st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(KEYS, inner, max_size=4)},
        optional={
            "additionalProperties": st.booleans() | inner,
            "required": st.lists(KEYS, max_size=2, unique=True),
        },
    )
    lists = st.fixed_dictionaries(
        {"type": st.just("array"), "items": inner},
        optional={"maxItems": st.integers(0, 3), "uniqueItems": st.booleans()},
    )
    choices = st.builds(
        lambda kind, branches: {kind: branches},
        st.sampled_from(["anyOf", "oneOf", "allOf"]),
        st.lists(inner, min_size=1, max_size=3),
    )
    return objects | lists | choices


_inner = st.recursive(_leaves | st.just({"$ref": "#/definitions/Shared"}), _around, max_leaves=8)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """An object's schema with one definition, as EKS publishes them."""
    return {
        "$schema": "http://json-schema.org/draft-06/schema#",
        "$ref": "#/definitions/Root",
        "definitions": {
            "Shared": draw(_leaves),
            "Root": {
                "type": "object",
                "additionalProperties": draw(st.booleans()),
                "properties": draw(st.dictionaries(KEYS, _inner, max_size=5)),
            },
        },
    }


_words = st.sampled_from(
    ["type", "properties", "items", "$ref", "anyOf", "allOf", "oneOf", "enum", "required", "format", "pattern"]
    + ["minimum", "additionalProperties", "definitions", "default", "not", "string", "object"]
    + ["#", "#/definitions/a", "a", ""]
)  # fmt: skip
anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3) | _words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words | st.text(max_size=2), inner, max_size=5),
    max_leaves=30,
)
nonsense = st.dictionaries(_words | st.text(max_size=2), anything, max_size=6)
"""JSON objects that are hardly schemas."""
