"""Which configuration schemas are judged here: those of whose every keyword it is known what it means, and that it is
harmless to make code of it. Source: JSON Schema draft 6 (draft-wright-json-schema-validation-01)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.aws.configuration import referred

_DRAFTS = re.compile(r"https?://json-schema\.org/draft-0[67]/schema#?\Z")
_TYPES = {"array", "boolean", "integer", "null", "number", "object", "string"}
MOST = 20_000

FORMATS = {"boolean": r"^(true|false)\Z", "integer": r"^[+-]?[0-9]+\Z", "number": r"^[+-]?[0-9]+(\.[0-9]+)?\Z"}
"""Those of EKS's own, on texts; it publishes no meaning for them: this is what the add-ons make of such values."""


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1e9


def _type(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(each, str) and each in _TYPES for each in names)


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _plain(value: Any, deepest: int = 10) -> bool:
    """A value whose equality is beyond doubt."""
    if isinstance(value, list):
        return deepest > 0 and all(_plain(each, deepest - 1) for each in value)
    return value is None or isinstance(value, (str, bool)) or _number(value)


_REPEATED_GROUP = re.compile(r"\)[*+{]|\(\?[^:]|\\[1-9]")
_WITHOUT_END = re.compile(r"[*+]|\{\d*,")


def _pattern(value: Any) -> bool:
    """One that means the same to everybody, and that no text keeps busy for long: no repeated groups, nothing that
    looks around or back, and at most two parts without an end, of which the place where it starts may be one."""
    if not isinstance(value, str) or len(value) > 200 or not value.isascii() or not value.isprintable():
        return False
    try:
        re.compile(value)
    except (re.error, RecursionError, OverflowError):
        return False
    anywhere = not value.startswith("^") or "|" in value
    return not _REPEATED_GROUP.search(value) and len(_WITHOUT_END.findall(value)) + anywhere <= 2


_SHAPES: dict[str, Callable[[Any], bool]] = {
    "type": _type,
    "enum": lambda value: isinstance(value, list) and bool(value) and all(_plain(each) for each in value),
    "const": _plain,
    "pattern": _pattern,
    "format": lambda value: isinstance(value, str) and value != "regex",
    "uniqueItems": lambda value: isinstance(value, bool),
    "multipleOf": lambda value: _number(value) and value > 0,
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _count),
}
JUDGED = frozenset(_SHAPES)
"""Keywords that say something of a value by themselves."""

_HOLDS: dict[str, Callable[[Any], bool]] = {
    "required": _names,
    "properties": lambda value: isinstance(value, dict),
    "patternProperties": lambda value: isinstance(value, dict) and all(_pattern(each) for each in value),
    "additionalProperties": lambda value: isinstance(value, (dict, bool)),
    "items": lambda value: isinstance(value, (dict, bool)),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), lambda value: isinstance(value, list) and bool(value)),
}

_REFUSED = {
    *("not", "contains", "propertyNames", "dependencies", "additionalItems", "id", "if", "then", "else"),
    *("dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems", "prefixItems"),
    *("minContains", "maxContains", "extends", "disallow", "divisibleBy"),
}
"""What draft 6 or another draft gives a meaning that is not followed here. Other names mean nothing in any draft: a
validator reads over them, as over the keys that stand beside ``properties`` in one of CoreDNS's schemas."""


def unjudgeable(root: Doc) -> str:
    """Why the schema is not judged, in a clause; "" if it is."""
    draft = root.get("$schema", "http://json-schema.org/draft-06/schema#")
    if not isinstance(draft, str) or not _DRAFTS.match(draft):
        return f"it is of the draft {draft!r}"
    todo: list[Any] = [root]
    followed: set[str] = set()
    seen = 0
    while todo:
        schema = todo.pop()
        seen += 1
        if seen > MOST:
            return f"it consists of more than {MOST} schemas"
        if isinstance(schema, bool):
            continue
        if not isinstance(schema, dict):
            return f"a schema is {str(schema)[:60]!r}"
        if "$ref" in schema:
            ref = schema["$ref"]
            if referred(root, ref) is None:
                return f"the reference {str(ref)[:60]!r} leads nowhere in it"
            todo += [referred(root, ref)] if ref not in followed else []
            followed.add(ref)
            continue
        bad = next(_bad(schema), "")
        if bad:
            return bad
        todo += _below(schema)
    return ""


def _bad(schema: Doc) -> Iterator[str]:
    for key, value in schema.items():
        rule = _SHAPES.get(key) or _HOLDS.get(key)
        if rule is not None and not rule(value):
            yield f"{key} is {str(value)[:60]!r}"
        if key in _REFUSED or (key.startswith("$") and key not in ("$schema", "$comment")):
            yield f"the keyword {key} is not known here"


def _below(schema: Doc) -> list[Any]:
    found = [*schema.get("properties", {}).values(), *schema.get("patternProperties", {}).values()]
    found += [schema[key] for key in ("additionalProperties", "items") if key in schema]
    return found + [each for key in ("allOf", "anyOf", "oneOf") for each in schema.get(key, ())]
