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

from kubectl_eksdoc.model.addons import ConfigPath, SchemaViolation, format_path, item_step, resolve_ref
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.kinds import Unknown

# Supported configuration schemas: those whose keywords are all known, and harmless to generate code from. Source: JSON
# Schema draft 6 (draft-wright-json-schema-validation-01).


_SUPPORTED_DRAFTS = re.compile(r"https?://json-schema\.org/draft-0[67]/schema#?\Z")
_TYPE_NAMES = {"array", "boolean", "integer", "null", "number", "object", "string"}
MAX_SCHEMAS = 20_000

FORMATS = {"boolean": r"^(true|false)\Z", "integer": r"^[+-]?[0-9]+\Z", "number": r"^[+-]?[0-9]+(\.[0-9]+)?\Z"}
"""Formats of EKS's own, for texts; EKS publishes no meaning for them: this is how the add-ons parse such values."""


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1e9


def _is_type(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(each, str) and each in _TYPE_NAMES for each in names)


def _is_name_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_plain_value(value: Any, levels_left: int = 10) -> bool:
    """Whether the equality of such a value is unambiguous."""
    if isinstance(value, list):
        return levels_left > 0 and all(_is_plain_value(each, levels_left - 1) for each in value)
    return value is None or isinstance(value, (str, bool)) or _is_number(value)


_REPEATED_GROUP = re.compile(r"\)[*+{]|\(\?[^:]|\\[1-9]")
_UNBOUNDED = re.compile(r"[*+]|\{\d*,")


def _is_safe_pattern(value: Any) -> bool:
    """Whether all regex engines agree on the pattern, and no text takes long to match: no repeated groups, no
    lookaround or backreferences, and at most two unbounded parts, of which a missing anchor is one."""
    if not isinstance(value, str) or len(value) > 200 or not value.isascii() or not value.isprintable():
        return False
    try:
        re.compile(value)
    except (re.error, RecursionError, OverflowError):
        return False
    is_unanchored = not value.startswith("^") or "|" in value
    return not _REPEATED_GROUP.search(value) and len(_UNBOUNDED.findall(value)) + is_unanchored <= 2


_VALUE_RULES: dict[str, Callable[[Any], bool]] = {
    "type": _is_type,
    "enum": lambda value: isinstance(value, list) and bool(value) and all(_is_plain_value(each) for each in value),
    "const": _is_plain_value,
    "pattern": _is_safe_pattern,
    "format": lambda value: isinstance(value, str) and value != "regex",
    "uniqueItems": lambda value: isinstance(value, bool),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _is_count),
}
JUDGED_KEYWORDS = frozenset(_VALUE_RULES)
"""Keywords that judge a value by themselves."""

_STRUCTURE_RULES: dict[str, Callable[[Any], bool]] = {
    "required": _is_name_list,
    "properties": lambda value: isinstance(value, dict),
    "patternProperties": lambda value: isinstance(value, dict) and all(_is_safe_pattern(each) for each in value),
    "additionalProperties": lambda value: isinstance(value, (dict, bool)),
    "items": lambda value: isinstance(value, (dict, bool)),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), lambda value: isinstance(value, list) and bool(value)),
}

_UNSUPPORTED_KEYWORDS = {
    *("not", "contains", "propertyNames", "dependencies", "additionalItems", "id", "if", "then", "else"),
    *("dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems", "prefixItems"),
    *("minContains", "maxContains", "extends", "disallow", "divisibleBy"),
}
"""Keywords that have a meaning in draft 6 or another draft, and are not supported here. Other names have no meaning in
any draft: validators ignore them, such as the keys beside ``properties`` in one of CoreDNS's schemas."""


def unsupported_reason(root: Doc) -> str:
    """Why the schema is not supported, a clause; "" if it is."""
    draft = root.get("$schema", "http://json-schema.org/draft-06/schema#")
    if not isinstance(draft, str) or not _SUPPORTED_DRAFTS.match(draft):
        return f"it is of the draft {draft!r}"
    pending: list[Any] = [root]
    followed_refs: set[str] = set()
    count = 0
    while pending:
        schema = pending.pop()
        count += 1
        if count > MAX_SCHEMAS:
            return f"it consists of more than {MAX_SCHEMAS} schemas"
        if isinstance(schema, bool):
            continue
        if not isinstance(schema, dict):
            return f"a schema is {str(schema)[:60]!r}"
        if "$ref" in schema:
            ref = schema["$ref"]
            if resolve_ref(root, ref) is None:
                return f"the reference {str(ref)[:60]!r} leads nowhere in it"
            pending += [resolve_ref(root, ref)] if ref not in followed_refs else []
            followed_refs.add(ref)
            continue
        problem = next(_problems(schema), "")
        if problem:
            return problem
        pending += _subschemas(schema)
    return ""


def _problems(schema: Doc) -> Iterator[str]:
    for key, value in schema.items():
        rule = _VALUE_RULES.get(key) or _STRUCTURE_RULES.get(key)
        if rule is not None and not rule(value):
            yield f"{key} is {str(value)[:60]!r}"
        if key in _UNSUPPORTED_KEYWORDS or (key.startswith("$") and key not in ("$schema", "$comment")):
            yield f"the keyword {key} is not known here"


def _subschemas(schema: Doc) -> list[Any]:
    schemas = [*schema.get("properties", {}).values(), *schema.get("patternProperties", {}).values()]
    schemas += [schema[key] for key in ("additionalProperties", "items") if key in schema]
    return schemas + [each for key in ("allOf", "anyOf", "oneOf") for each in schema.get(key, ())]


# Limits of the validation.
MAX_MATCHED_LENGTH = 4_000
"""Characters of a text that is matched with a pattern, which may take quadratic time."""
MAX_DEPTH = 200


class _LimitExceeded(Exception):
    """The reason why the validation was not completed, a clause."""


def find_violations(schema: Doc, values: Doc) -> tuple[SchemaViolation, ...] | Unknown:
    """All violations, sorted by path; () where the schema allows the values."""
    reason = unsupported_reason(schema)
    if reason:
        return Unknown(f"the configuration schema is not judged here: {reason}")
    try:
        violations = set(_SchemaWalk(schema).errors((), schema, values, 0))
    except _LimitExceeded as error:
        return Unknown(f"the configuration values were not judged to the end: {error}")
    return tuple(sorted(violations, key=lambda each: (each.path, each.rule, each.what)))


class _SchemaWalk:
    """Mutable: `remaining` is the number of schemas that may still be applied."""

    def __init__(self, root: Doc) -> None:
        self.root = root
        self.remaining = MAX_SCHEMAS

    def errors(self, path: ConfigPath, schema: Any, value: Any, depth: int) -> Iterator[SchemaViolation]:
        self.remaining -= 1
        if self.remaining < 0 or depth > MAX_DEPTH:
            raise _LimitExceeded("the schema leads on and on")
        if isinstance(schema, bool):
            if not schema:
                yield SchemaViolation(path, "nothing may stand here", "false", found=_json_type(value))
            return
        if "$ref" in schema:
            yield from self.errors(path, resolve_ref(self.root, schema["$ref"]), value, depth + 1)
            return
        for keyword in sorted(JUDGED_KEYWORDS & schema.keys()):
            if not _satisfies_keyword(keyword, schema[keyword], value):
                yield _violation(path, keyword, schema[keyword], value)
        for branch in schema.get("allOf", ()):
            yield from self.errors(path, branch, value, depth + 1)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                yield from self._alternatives(path, keyword, schema[keyword], value, depth)
        if isinstance(value, dict):
            yield from self._in_object(path, schema, value, depth)
        if isinstance(value, list):
            for index, each in enumerate(value):
                yield from self.errors((*path, item_step(index)), schema.get("items", True), each, depth + 1)

    def _alternatives(
        self, path: ConfigPath, keyword: str, branches: list[Any], value: Any, depth: int
    ) -> Iterator[SchemaViolation]:
        violations_by_branch = [list(self.errors(path, branch, value, depth + 1)) for branch in branches]
        certain_fits = sum(not found for found in violations_by_branch)
        possible_fits = sum(all(each.doubtful for each in found) for found in violations_by_branch)
        if _satisfies(keyword, certain_fits) and _satisfies(keyword, possible_fits):
            return
        doubtful = _satisfies(keyword, possible_fits)
        fits_several = (certain_fits if doubtful else possible_fits) > 1
        reason = "fits several of the alternatives" if fits_several else _alternative_reasons(violations_by_branch)
        yield SchemaViolation(path, reason, keyword, found=_json_type(value), doubtful=doubtful)

    def _in_object(self, path: ConfigPath, schema: Doc, value: Doc, depth: int) -> Iterator[SchemaViolation]:
        for name in schema.get("required", ()):
            if not _satisfies_keyword("required", [name], value):
                yield SchemaViolation((*path, name), "has to be given", "required")
        properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        additional = schema.get("additionalProperties", True)
        unknown_text = "the schema knows no such key here"
        for key, member in value.items():
            matching = [pattern for pattern in patterns if _satisfies_keyword("pattern", pattern, key)]
            schemas = [*([properties[key]] if key in properties else ()), *(patterns[each] for each in matching)]
            if not schemas and additional is False:
                yield SchemaViolation((*path, key), unknown_text, "additionalProperties", found=_json_type(member))
                continue
            for each in schemas or [additional]:
                yield from self.errors((*path, key), each, member, depth + 1)


def _satisfies(keyword: str, fitting: int) -> bool:
    return fitting == 1 if keyword == "oneOf" else fitting > 0


def _alternative_reasons(violations_by_branch: list[list[SchemaViolation]]) -> str:
    reasons = [f"{format_path(found[0].path)} {found[0].what}" for found in violations_by_branch if found]
    return f"fits no alternative: {'; '.join(reasons)}"


def _satisfies_keyword(keyword: str, rule_value: Any, value: Any) -> bool:
    """
    Raises:
        _LimitExceeded: the numbers or texts are too large to be judged.
    """
    if keyword == "pattern" and isinstance(value, str) and len(value) > MAX_MATCHED_LENGTH:
        raise _LimitExceeded(f"a text of more than {MAX_MATCHED_LENGTH} characters has to match a pattern")
    try:
        _compile_rule(json.dumps({keyword: rule_value}))(value)
    except fastjsonschema.JsonSchemaValueException:
        return False
    except (ArithmeticError, ValueError, RecursionError) as error:
        raise _LimitExceeded(f"{keyword} cannot be judged: {error}") from error
    return True


@lru_cache(maxsize=512)
def _compile_rule(schema: str) -> Callable[[Any], Any]:
    """The function that judges one keyword."""
    rule_schema = {"$schema": "http://json-schema.org/draft-06/schema#", **json.loads(schema)}
    validate: Callable[[Any], Any] = fastjsonschema.compile(
        rule_schema, formats=FORMATS, use_default=False, detailed_exceptions=False
    )
    return validate


_KIND_NAMES = {bool: "boolean", str: "string", int: "integer", float: "number", list: "array", dict: "object"}
_KIND_TEXTS = {
    "string": "a text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def _json_type(value: Any) -> str:
    """The type by its JSON Schema name."""
    return _KIND_NAMES.get(type(value), "null")


def _violation(path: ConfigPath, keyword: str, rule_value: Any, value: Any) -> SchemaViolation:
    kind = _json_type(value)
    rule_values = rule_value if isinstance(rule_value, list) else [rule_value]
    texts = tuple(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in rule_values)
    value_text = json.dumps(value, ensure_ascii=False)
    shown_value = value_text if len(value_text) <= 60 else f"{value_text[:60]}…"
    types = " or ".join(_KIND_TEXTS.get(one, one) for one in texts)
    message = {
        "type": f"is {_KIND_TEXTS[kind]}, must be {types}",
        "enum": f"is {shown_value}, must be one of {', '.join(texts)}",
        "const": f"is {shown_value}, must be {texts[0] if len(texts) == 1 else json.dumps(rule_value)}",
        "pattern": f"is {shown_value}, must match {texts[0]}" if texts else "",
        "format": f"is {shown_value}, must be of the format {texts[0]}" if texts else "",
    }.get(keyword, f"is {shown_value}, which breaks {keyword} {', '.join(texts)}")
    return SchemaViolation(path, message, keyword, texts, kind, doubtful=keyword == "format")
