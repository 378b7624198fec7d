"""Validation of add-on configuration values against their JSON Schema: all violations, each with its path.

This module walks the schema (references, properties, items, alternatives), so that every violation is found with its
exact path; fastjsonschema judges a value by each single keyword. It is pure Python without dependencies, is maintained
and supports draft 6; jsonschema is the reference that the tests compare with, but needs a compiled rpds-py.
fastjsonschema generates and runs Python code from a schema. So it gets one checked keyword at a time, never names or
texts of users, and anything that is not known to be harmless makes the result unknown.

EKS words its own refusals as networknt's json-schema-validator does (terraform-aws-modules/terraform-aws-eks pull 2349:
``$.env.ENABLE_PREFIX_DELEGATION: boolean found, string expected``). That library accepts unknown formats
(networknt/json-schema-validator issue 848), so EKS may accept any text for its ``boolean`` and ``integer``: a violation
of a format alone is doubtful.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import fastjsonschema

from kubectl_eksdoc.model.addons import ConfigPath, SchemaViolation, item, referred, shown
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.kinds import Unknown

# Supported configuration schemas: those whose keywords are all known, and harmless to generate code from. Source: JSON
# Schema draft 6 (draft-wright-json-schema-validation-01).


_DRAFTS = re.compile(r"https?://json-schema\.org/draft-0[67]/schema#?\Z")
_TYPES = {"array", "boolean", "integer", "null", "number", "object", "string"}
MOST = 20_000

FORMATS = {"boolean": r"^(true|false)\Z", "integer": r"^[+-]?[0-9]+\Z", "number": r"^[+-]?[0-9]+(\.[0-9]+)?\Z"}
"""Formats of EKS's own, for texts; EKS publishes no meaning for them: this is how the add-ons parse such values."""


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
    """Whether the equality of such a value is unambiguous."""
    if isinstance(value, list):
        return deepest > 0 and all(_plain(each, deepest - 1) for each in value)
    return value is None or isinstance(value, (str, bool)) or _number(value)


_REPEATED_GROUP = re.compile(r"\)[*+{]|\(\?[^:]|\\[1-9]")
_WITHOUT_END = re.compile(r"[*+]|\{\d*,")


def _pattern(value: Any) -> bool:
    """Whether all regex engines agree on the pattern, and no text takes long to match: no repeated groups, no
    lookaround or backreferences, and at most two unbounded parts, of which a missing anchor is one."""
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
"""Keywords that judge a value by themselves."""

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
"""Keywords that have a meaning in draft 6 or another draft, and are not supported here. Other names have no meaning in
any draft: validators ignore them, such as the keys beside ``properties`` in one of CoreDNS's schemas."""


def unjudgeable(root: Doc) -> str:
    """Why the schema is not supported, a clause; "" if it is."""
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


"""Limits of the validation."""
LONGEST_MATCHED = 4_000
"""Characters of a text that is matched with a pattern, which may take quadratic time."""
DEEPEST = 200


class _TooMuch(Exception):
    """The reason why the validation was not completed, a clause."""


def broken(schema: Doc, values: Doc) -> tuple[SchemaViolation, ...] | Unknown:
    """All violations, sorted by path; () where the schema allows the values."""
    why = unjudgeable(schema)
    if why:
        return Unknown(f"the configuration schema is not judged here: {why}")
    try:
        found = set(_Walk(schema).errors((), schema, values, 0))
    except _TooMuch as error:
        return Unknown(f"the configuration values were not judged to the end: {error}")
    return tuple(sorted(found, key=lambda each: (each.path, each.rule, each.what)))


class _Walk:
    """Mutable: `remaining` is the number of schemas that may still be applied."""

    def __init__(self, root: Doc) -> None:
        self.root = root
        self.left = MOST

    def errors(self, path: ConfigPath, schema: Any, value: Any, depth: int) -> Iterator[SchemaViolation]:
        self.left -= 1
        if self.left < 0 or depth > DEEPEST:
            raise _TooMuch("the schema leads on and on")
        if isinstance(schema, bool):
            if not schema:
                yield SchemaViolation(path, "nothing may stand here", "false", found=_kind(value))
            return
        if "$ref" in schema:
            yield from self.errors(path, referred(self.root, schema["$ref"]), value, depth + 1)
            return
        for keyword in sorted(JUDGED & schema.keys()):
            if not _fits(keyword, schema[keyword], value):
                yield _worded(path, keyword, schema[keyword], value)
        for branch in schema.get("allOf", ()):
            yield from self.errors(path, branch, value, depth + 1)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                yield from self._alternatives(path, keyword, schema[keyword], value, depth)
        if isinstance(value, dict):
            yield from self._in_object(path, schema, value, depth)
        if isinstance(value, list):
            for index, each in enumerate(value):
                yield from self.errors((*path, item(index)), schema.get("items", True), each, depth + 1)

    def _alternatives(
        self, path: ConfigPath, keyword: str, branches: list[Any], value: Any, depth: int
    ) -> Iterator[SchemaViolation]:
        tried = [list(self.errors(path, branch, value, depth + 1)) for branch in branches]
        surely = sum(not found for found in tried)
        perhaps = sum(all(each.doubtful for each in found) for found in tried)
        if _enough(keyword, surely) and _enough(keyword, perhaps):
            return
        doubtful = _enough(keyword, perhaps)
        several = (surely if doubtful else perhaps) > 1
        why = "fits several of the alternatives" if several else _reasons(tried)
        yield SchemaViolation(path, why, keyword, found=_kind(value), doubtful=doubtful)

    def _in_object(self, path: ConfigPath, schema: Doc, value: Doc, depth: int) -> Iterator[SchemaViolation]:
        for name in schema.get("required", ()):
            if not _fits("required", [name], value):
                yield SchemaViolation((*path, name), "has to be given", "required")
        known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        more = schema.get("additionalProperties", True)
        unknown = "the schema knows no such key here"
        for key, below in value.items():
            matching = [pattern for pattern in patterns if _fits("pattern", pattern, key)]
            schemas = [*([known[key]] if key in known else ()), *(patterns[each] for each in matching)]
            if not schemas and more is False:
                yield SchemaViolation((*path, key), unknown, "additionalProperties", found=_kind(below))
                continue
            for each in schemas or [more]:
                yield from self.errors((*path, key), each, below, depth + 1)


def _enough(keyword: str, fitting: int) -> bool:
    return fitting == 1 if keyword == "oneOf" else fitting > 0


def _reasons(tried: list[list[SchemaViolation]]) -> str:
    said = [f"{shown(found[0].path)} {found[0].what}" for found in tried if found]
    return f"fits no alternative: {'; '.join(said)}"


def _fits(keyword: str, wanted: Any, value: Any) -> bool:
    """
    Raises:
        _LimitExceeded: the numbers or texts are too large to be judged.
    """
    if keyword == "pattern" and isinstance(value, str) and len(value) > LONGEST_MATCHED:
        raise _TooMuch(f"a text of more than {LONGEST_MATCHED} characters has to match a pattern")
    try:
        _rule(json.dumps({keyword: wanted}))(value)
    except fastjsonschema.JsonSchemaValueException:
        return False
    except (ArithmeticError, ValueError, RecursionError) as error:
        raise _TooMuch(f"{keyword} cannot be judged: {error}") from error
    return True


@lru_cache(maxsize=512)
def _rule(schema: str) -> Callable[[Any], Any]:
    """The function that judges one keyword."""
    wanted = {"$schema": "http://json-schema.org/draft-06/schema#", **json.loads(schema)}
    judge: Callable[[Any], Any] = fastjsonschema.compile(
        wanted, formats=FORMATS, use_default=False, detailed_exceptions=False
    )
    return judge


_KINDS = {bool: "boolean", str: "string", int: "integer", float: "number", list: "array", dict: "object"}
_WORDS = {
    "string": "a text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def _kind(value: Any) -> str:
    """The type by its JSON Schema name."""
    return _KINDS.get(type(value), "null")


def _worded(path: ConfigPath, keyword: str, wanted: Any, value: Any) -> SchemaViolation:
    kind = _kind(value)
    each = wanted if isinstance(wanted, list) else [wanted]
    texts = tuple(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in each)
    shorter = json.dumps(value, ensure_ascii=False)
    seen = shorter if len(shorter) <= 60 else f"{shorter[:60]}…"
    types = " or ".join(_WORDS.get(one, one) for one in texts)
    what = {
        "type": f"is {_WORDS[kind]}, must be {types}",
        "enum": f"is {seen}, must be one of {', '.join(texts)}",
        "const": f"is {seen}, must be {texts[0] if len(texts) == 1 else json.dumps(wanted)}",
        "pattern": f"is {seen}, must match {texts[0]}" if texts else "",
        "format": f"is {seen}, must be of the format {texts[0]}" if texts else "",
    }.get(keyword, f"is {seen}, which breaks {keyword} {', '.join(texts)}")
    return SchemaViolation(path, what, keyword, texts, kind, doubtful=keyword == "format")
