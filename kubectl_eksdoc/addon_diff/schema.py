"""JSON Schemas of add-on configuration values: all paths, through references, lists and alternatives, and the
difference of two schemas.

Source: JSON Schema draft 6 (draft-wright-json-schema-01, -validation-01): keywords beside a ``$ref`` and unknown
keywords are ignored. Parts that are not understood stay in the result as unclear; no schema raises an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import ANY_KEY, ITEMS_STEP, ConfigPath, format_path, resolve_ref
from kubectl_eksdoc.model.api_objects import Doc

# Values that a configuration schema allows at one path.


CHOICES = ("type", "enum", "anyOf")
"""Rules that a value satisfies if it matches one of several; values and alternatives are JSON texts."""
ALL_OF = ("pattern", "format")
"""Rules of which a value must satisfy each."""
LOWER_LIMITS = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
UPPER_LIMITS = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")

Rules = Mapping[str, Any]
"""Rules by JSON Schema keyword: a tuple for `CHOICES` and `ALL_OF`, a number, or a bool (``required``: by the object
that contains the value; ``closed``: no keys except those that have paths)."""


@frozen
class AllowedValue:
    """Values allowed at `path`. `default` is None if the schema has no default; `has_default` tells the difference.
    `unclear`: parts of the schema that are not understood, so the schema may allow more or less."""

    path: ConfigPath
    rules: Rules = field(default_factory=dict)
    has_default: bool = False
    default: Any = None
    unclear: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """The rules on one line: ``string, format boolean, required``."""
        rules = dict(self.rules)
        return ", ".join([" or ".join(rules.pop("type", ("anything",))), *(rule_text(*each) for each in rules.items())])

    def __str__(self) -> str:
        return f"{format_path(self.path)}: {self.description}"


def rule_text(rule: str, limit: Any) -> str:
    if limit is True:
        return rule
    text = (" or " if rule in CHOICES else " and ").join(limit) if isinstance(limit, tuple) else limit
    return " ".join(f"{rule} {text}".split())


@frozen
class SchemaPaths:
    """All paths of a schema, sorted by their keys; the path of the whole document is ``()``."""

    by_path: Mapping[ConfigPath, AllowedValue] = field(default_factory=dict)

    def __iter__(self) -> Iterator[AllowedValue]:
        return iter(self.by_path.values())

    def __contains__(self, path: ConfigPath) -> bool:
        return path in self.by_path

    def allowed_at(self, path: ConfigPath) -> AllowedValue | None:
        """The values allowed at a path of a values document, in which lists have indexes and maps have any key. None if
        the schema does not mention the path."""
        known = self._known_prefix(path)
        return self.by_path.get(known) if len(known) == len(path) else None

    def is_refused(self, path: ConfigPath) -> bool:
        """The schema certainly refuses a value at this path: an object above it allows no such key."""
        known = self._known_prefix(path)
        allowed = self.by_path.get(known)
        if allowed is None or len(known) == len(path) or allowed.unclear:
            return False
        return "closed" in allowed.rules and "anyOf" not in allowed.rules

    def _known_prefix(self, path: ConfigPath) -> ConfigPath:
        """The longest prefix of the path that the schema mentions."""
        known: ConfigPath = ()
        for step in path:
            candidates = ((*known, step), (*known, ITEMS_STEP if step.startswith("[") else ANY_KEY))
            child = next((each for each in candidates if each in self.by_path), None)
            if child is None:
                break
            known = child
        return known

    @property
    def unclear(self) -> tuple[tuple[ConfigPath, str], ...]:
        """Parts that are not understood, with their paths."""
        return tuple((each.path, text) for each in self for text in each.unclear)


_ESCAPED = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def json_text(value: Any, max_depth: int = 50) -> str:
    """A value as JSON on one line, with sorted keys."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPED)}"'
    if max_depth and isinstance(value, list):
        return f"[{', '.join(json_text(each, max_depth - 1) for each in value)}]"
    if max_depth and isinstance(value, dict):
        return (
            "{" + ", ".join(f"{json_text(key)}: {json_text(value[key], max_depth - 1)}" for key in sorted(value)) + "}"
        )
    return "…" if isinstance(value, (list, dict)) else str(value)


MAX_SCHEMAS = 20_000
"""Limit of subschemas that are read. The largest published schema has about a hundred; nested references could make
millions."""
MAX_DEPTH = 40
TRUNCATED = "the schema is deeper or longer than is read here"

_TYPES = {"array", "boolean", "integer", "null", "number", "object", "string"}
_LIMITS = (*LOWER_LIMITS, *UPPER_LIMITS, "multipleOf")
_UNSUPPORTED_KEYWORDS = {"not", "contains", "propertyNames", "patternProperties", "dependencies", "if", "then", "else"}


def read_schema(schema: Doc) -> SchemaPaths:
    """All paths of a schema, sorted."""
    walk = _SchemaWalk(schema, [MAX_SCHEMAS])
    walk.visit((), schema, ())
    return SchemaPaths({path: walk.found[path] for path in sorted(walk.found)})


class _SchemaWalk:
    """Mutable. `found`: the paths found so far. `remaining`: the number of schemas that may still be read, shared with
    the walks of alternatives."""

    def __init__(self, root: Doc, remaining: list[int]) -> None:
        self.root = root
        self.remaining = remaining
        self.found: dict[ConfigPath, AllowedValue] = {}

    def visit(self, path: ConfigPath, schema: Any, references: tuple[str, ...], required: bool = False) -> None:
        """Add the rules of `schema` for `path` and below. `references`: the references followed so far."""
        self.remaining[0] -= 1
        if self.remaining[0] < 0 or len(path) + len(references) > MAX_DEPTH:
            self._add(AllowedValue((), unclear=(TRUNCATED,)))
            return
        own_rules: Rules = {"required": True} if required else {}
        if not isinstance(schema, dict):
            unclear = () if schema is True else (f"a schema that is {json_text(schema)}",)
            self._add(AllowedValue(path, own_rules, unclear=unclear))
            return
        if "$ref" in schema:
            ref = schema["$ref"]
            target = resolve_ref(self.root, ref)
            if target is None:
                self._add(
                    AllowedValue(
                        path, own_rules, unclear=(f"the reference {json_text(ref)} leads nowhere that is read here",)
                    )
                )
            elif ref in references:
                self._add(AllowedValue(path, own_rules))  # a recursive schema: its paths are known already
            else:
                self.visit(path, target, (*references, ref), required)
                self._add(_add_default(AllowedValue(path), schema))
            return
        self._add(_own_rules(path, schema, own_rules))
        for subschema in _as_list(schema.get("allOf")):
            self.visit(path, subschema, (*references, "allOf"), required)
        self._visit_alternatives(path, schema, references)
        self._visit_children(path, schema, references)

    def _visit_alternatives(self, path: ConfigPath, schema: Doc, references: tuple[str, ...]) -> None:
        """Add the alternatives of anyOf and oneOf. A key that only one alternative has is allowed, but not required."""
        branches = [*_as_list(schema.get("anyOf")), *_as_list(schema.get("oneOf"))]
        walks = [_SchemaWalk(self.root, self.remaining) for _ in branches]
        for walk, branch in zip(walks, branches, strict=True):
            walk.visit(path, branch, (*references, "either"))
        for child_path in sorted({each for walk in walks for each in walk.found}):
            choices = [
                (walk.found[child_path], walk.required_keys(child_path)) for walk in walks if child_path in walk.found
            ]
            if child_path in (path, ()) or len(choices) > 1:
                self._add(_join_alternatives(child_path, choices))
            else:
                allowed = choices[0][0]
                rules = {name: limit for name, limit in allowed.rules.items() if name != "required"}
                self._add(replace(allowed, rules=rules))

    def required_keys(self, path: ConfigPath) -> list[str]:
        """The required keys of the object at `path`."""
        children = (each for each in self.found.values() if each.path and each.path[:-1] == path)
        return sorted(each.path[-1] for each in children if "required" in each.rules)

    def _visit_children(self, path: ConfigPath, schema: Doc, references: tuple[str, ...]) -> None:
        required = schema.get("required")
        required_names = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
        properties = schema.get("properties")
        property_schemas = properties if isinstance(properties, dict) else {}
        for name, subschema in property_schemas.items():
            self.visit((*path, name), subschema, references, name in required_names)
        for name in sorted(required_names - property_schemas.keys()):
            self._add(AllowedValue((*path, name), {"required": True}))
        for keyword, step in (("additionalProperties", ANY_KEY), ("items", ITEMS_STEP)):
            if isinstance(child_schema := schema.get(keyword), dict):
                self.visit((*path, step), child_schema, references)

    def _add(self, new: AllowedValue) -> None:
        old = self.found.get(new.path)
        self.found[new.path] = new if old is None else _intersect(old, new)


def _own_rules(path: ConfigPath, schema: Doc, inherited: Rules) -> AllowedValue:
    """The rules that a schema without a reference sets for the value itself."""
    type_keyword, enum = schema.get("type", []), schema.get("enum")
    types = (
        [type_keyword] if isinstance(type_keyword, str) else type_keyword if isinstance(type_keyword, list) else [None]
    )
    known_types = {name for name in types if isinstance(name, str) and name in _TYPES}
    values = [schema["const"]] if "const" in schema else enum if isinstance(enum, list) else None
    rules: dict[str, Any] = {"type": tuple(sorted(known_types))} if known_types else {}
    rules |= {} if values is None else {"enum": tuple(sorted({json_text(each) for each in values}))}
    rules |= {name: (schema[name],) for name in ALL_OF if isinstance(schema.get(name), str)}
    rules |= {name: schema[name] for name in _LIMITS if _is_number(schema.get(name))}
    rules |= {"uniqueItems": True} if schema.get("uniqueItems") is True else {}
    closed = schema.get("additionalProperties") is False and not schema.get("patternProperties")
    unclear = [f"type: {json_text(type_keyword)}"] if len(known_types) < len(types) else []
    return _add_default(
        AllowedValue(
            path,
            {**rules, **inherited, **({"closed": True} if closed else {})},
            unclear=(*unclear, *_not_understood(schema)),
        ),
        schema,
    )


def _add_default(allowed: AllowedValue, schema: Doc) -> AllowedValue:
    return replace(allowed, has_default=True, default=schema["default"]) if "default" in schema else allowed


def _not_understood(schema: Doc) -> list[str]:
    """Keywords that are not supported, or whose value has a wrong type."""
    rules = {
        "properties": lambda value: isinstance(value, dict),
        "items": lambda value: isinstance(value, (dict, bool)),
        "additionalProperties": lambda value: isinstance(value, (dict, bool)),
        "enum": lambda value: isinstance(value, list),
        "pattern": lambda value: isinstance(value, str),
        "format": lambda value: isinstance(value, str),
        "uniqueItems": lambda value: isinstance(value, bool),
        "required": lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
        **{name: lambda value: isinstance(value, list) and bool(value) for name in ("allOf", "anyOf", "oneOf")},
        **dict.fromkeys(_LIMITS, _is_number),
    }
    keywords = [key for key in schema if key in _UNSUPPORTED_KEYWORDS or (key in rules and not rules[key](schema[key]))]
    return [f"{key}: {json_text(schema[key])}" for key in sorted(keywords)]


def _intersect(old: AllowedValue, new: AllowedValue) -> AllowedValue:
    """The intersection of two schemas for one path (`allOf`, or an alternative with its surrounding schema)."""
    rules, unclear = {**old.rules, **new.rules}, {*old.unclear, *new.unclear}
    for name in old.rules.keys() & new.rules.keys():
        old_limit, limit = old.rules[name], new.rules[name]
        if name in ("type", "enum"):
            rules[name] = tuple(sorted({*old_limit} & {*limit}))
            if name == "type" and not rules[name]:
                rules[name], unclear = _sorted_union(old_limit, limit), unclear | {"no type fits all that is asked"}
        elif isinstance(old_limit, tuple):
            rules[name] = _sorted_union(old_limit, limit)
        elif name in _LIMITS:
            rules[name] = max(old_limit, limit) if name in LOWER_LIMITS else min(old_limit, limit)
    newer = new if new.has_default else old
    return AllowedValue(old.path, rules, newer.has_default, newer.default, tuple(sorted(unclear)))


def _sorted_union(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({*old, *new}))


def _join_alternatives(path: ConfigPath, choices: list[tuple[AllowedValue, list[str]]]) -> AllowedValue:
    """The union of alternatives; each is kept as text, with its required keys."""
    branches = [each for each, _ in choices]
    types: Iterable[tuple[str, ...]] = [each.rules.get("type", ()) for each in branches]
    all_types = tuple(sorted({name for each in types for name in each})) if all(types) else ()
    rules: Rules = {"type": all_types} if all_types else {}
    return AllowedValue(
        path,
        {
            **rules,
            "anyOf": tuple(
                sorted({each.description + "".join(f", with {key}" for key in keys) for each, keys in choices})
            ),
        },
        unclear=tuple(sorted({text for each in branches for text in each.unclear})),
    )


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


# Difference of two configuration schemas, by path.


@frozen
class Renamed:
    """A path that only the old schema has and its equivalent that only the new one has, with all paths below."""

    old: ConfigPath
    new: ConfigPath
    reason: str

    def __str__(self) -> str:
        return f"{format_path(self.old)} is {format_path(self.new)}: {self.reason}"


@frozen
class SchemaChanges:
    """Changes from an old schema to a new one, each list sorted by path. `tightened`: some values are no longer
    allowed; `defaults`: another default applies; `unclear`: parts that only one of the schemas has or that neither read
    in full, so there may be more differences. Relaxed rules are left out."""

    added: tuple[AllowedValue, ...] = ()
    removed: tuple[AllowedValue, ...] = ()
    renamed: tuple[Renamed, ...] = ()
    tightened: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """One line for each change."""
        return (
            *(f"added {each}" for each in self.added),
            *(f"removed {each}" for each in self.removed),
            *(f"renamed {each}" for each in self.renamed),
            *(f"tightened {each}" for each in self.tightened),
            *(f"default of {each}" for each in self.defaults),
            *(f"unclear {each}" for each in self.unclear),
        )


def schema_changes(old: SchemaPaths, new: SchemaPaths) -> SchemaChanges:
    both = [(old.by_path[path], new.by_path[path]) for path in old.by_path if path in new]
    removed = [each for each in old if each.path not in new]
    added = [each for each in new if each.path not in old]
    renamed = _renamed(removed, added, old, new)
    return SchemaChanges(
        added=tuple(each for each in added if not _is_within(each, [new_rename.new for new_rename in renamed])),
        removed=tuple(each for each in removed if not _is_within(each, [old_rename.old for old_rename in renamed])),
        renamed=tuple(renamed),
        tightened=tuple(
            f"{format_path(new_allowed.path)}: {tightened_rule}"
            for old_allowed, new_allowed in both
            for tightened_rule in _tightened_rules(old_allowed, new_allowed)
        ),
        defaults=tuple(
            f"{format_path(new_allowed.path)}: was {_default_text(old_allowed)}, is {_default_text(new_allowed)}"
            for old_allowed, new_allowed in both
            if _default_text(old_allowed) != _default_text(new_allowed)
        ),
        unclear=tuple(f"{format_path(path)}: {text}" for path, text in sorted(_unclear_parts(old, new, both))),
    )


def _unclear_parts(
    old: SchemaPaths, new: SchemaPaths, common: Sequence[tuple[AllowedValue, AllowedValue]]
) -> Iterator[tuple[ConfigPath, str]]:
    """Unclear parts with the same text in both schemas count as equal, unless reading was truncated. If alternatives
    were removed, a value that matched one of them may no longer be allowed."""
    old_parts, new_parts = {*old.unclear}, {*new.unclear}
    yield from old_parts ^ new_parts
    yield from (each for each in old_parts & new_parts if each[1] == TRUNCATED)
    for old_value, new_value in common:
        if "anyOf" in old_value.rules and "anyOf" not in new_value.rules:
            yield new_value.path, f"no alternatives, and was {rule_text('anyOf', old_value.rules['anyOf'])}"


def _default_text(allowed: AllowedValue) -> str:
    return json_text(allowed.default) if allowed.has_default else "none"


def _tightened_rules(old: AllowedValue, new: AllowedValue) -> Iterator[str]:
    """The rules of the new schema that are stricter than the old ones, each with the old limit."""
    for rule, limit in new.rules.items():
        old_limit = old.rules.get(rule)
        if old_limit is None or not _is_no_stricter(rule, old_limit, limit):
            old_text = "not" if limit is True else "any" if old_limit is None else _limit_text(old_limit)
            yield f"{rule_text(rule, limit)}, and was {old_text}"


def _limit_text(limit: Any) -> str:
    return " or ".join(limit) if isinstance(limit, tuple) else str(limit)


def _is_no_stricter(rule: str, old_limit: Any, limit: Any) -> bool:
    """All values that the old rule allowed are still allowed; every integer is a number."""
    if rule in CHOICES:
        return {*old_limit} <= {*limit} | ({"integer"} if "number" in limit else set())
    if rule in ALL_OF:
        return {*limit} <= {*old_limit}
    return bool(
        limit <= old_limit
        if rule in LOWER_LIMITS
        else limit >= old_limit
        if rule in UPPER_LIMITS
        else limit == old_limit
    )


def _is_within(allowed: AllowedValue, parents: Sequence[ConfigPath]) -> bool:
    return any(allowed.path[: len(top)] == top for top in parents)


def _renamed(
    removed: Sequence[AllowedValue], added: Sequence[AllowedValue], old: SchemaPaths, new: SchemaPaths
) -> list[Renamed]:
    """Pairs of paths with equal rules down to the last key, if no other pair is possible."""
    removed_values, added_values = (
        [each for each in side if each.path[-1:] not in ((ITEMS_STEP,), (ANY_KEY,))] for side in (removed, added)
    )
    renames: list[Renamed] = []
    for before in removed_values:
        for after in added_values:
            reason = _moved_reason(before, after, old, new) or _respelled_reason(
                before, after, removed_values, added_values
            )
            if reason and _relative_shape(before.path, old) == _relative_shape(after.path, new):
                renames.append(Renamed(before.path, after.path, reason))
    old_counts, new_counts = Counter(each.old for each in renames), Counter(each.new for each in renames)
    return [each for each in renames if old_counts[each.old] == new_counts[each.new] == 1]


def _moved_reason(before: AllowedValue, after: AllowedValue, old: SchemaPaths, new: SchemaPaths) -> str:
    """The same last key below another parent. No other path of either schema ends with it, and one of the parents
    exists in both schemas."""
    key = before.path[-1]
    if after.path[-1] != key or before.path[:-1] == after.path[:-1]:
        return ""
    is_unique = all(sum(each.path[-1:] == (key,) for each in side) == 1 for side in (old, new))
    has_parent = before.path[:-1] in new or after.path[:-1] in old
    return "the same key, of the same shape, under another parent" if is_unique and has_parent else ""


def _respelled_reason(
    before: AllowedValue,
    after: AllowedValue,
    removed_values: Sequence[AllowedValue],
    added_values: Sequence[AllowedValue],
) -> str:
    """The same parent, and names that differ only in case, dashes and a plural; no other name is similar."""
    if before.path[:-1] != after.path[:-1]:
        return ""
    normalized = _normalized(before.path)
    is_unique = all(
        sum(_normalized(each.path) == normalized for each in side) == 1 for side in (removed_values, added_values)
    )
    return (
        "the same name, spelled in another way"
        if _normalized(after.path) == normalized and normalized[-1] and is_unique
        else ""
    )


def _normalized(path: ConfigPath) -> ConfigPath:
    name = "".join(each for each in path[-1].lower() if each.isalnum())
    return (*path[:-1], name.removesuffix("s"))


def _relative_shape(root: ConfigPath, schema: SchemaPaths) -> list[AllowedValue]:
    """The values allowed at a path and below, relative to it; whether the path is required is left out."""
    allowed_values = [each for each in schema if each.path[: len(root)] == root]
    relative = [replace(each, path=each.path[len(root) :], has_default=False, default=None) for each in allowed_values]
    return [
        replace(each, rules={name: each.rules[name] for name in each.rules if name != "required"})
        if not each.path
        else each
        for each in relative
    ]
