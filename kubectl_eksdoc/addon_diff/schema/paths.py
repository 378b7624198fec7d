"""All paths of a configuration schema, through references, lists, maps and alternatives.

Source: JSON Schema draft 6 (draft-wright-json-schema-01, -validation-01), in which keywords beside a ``$ref`` count for
nothing. What is not understood stays in the result, as unclear; nothing makes it raise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import ANY_KEY, ITEMS, ConfigPath, referred, shown
from kubectl_eksdoc.model.api_objects import Doc

# What a configuration schema allows at one path.


Limit = tuple[str, Any]
"""A keyword with its number: ``("minimum", 2)``."""


@frozen
class Allowed:
    """What may stand at `path`.

    `types` are JSON Schema's names, sorted; () for any. `enum`: the values that may be given, as JSON spells them, None
    for any. `limits` are sorted. `required`: by the object that holds it. `closed`: no keys but those that have paths.
    `either`: one of these has to fit (``anyOf``, ``oneOf``), each in words; `alternative`: the path is there in some of
    them only. `default` is None where the schema names none: `has_default` tells.

    `again`: the schema goes on here as at the definition named, for ever. `unchecked`: keys that stand where no
    validator reads them, beside ``properties`` instead of in it: EKS's own schema does not check them. `unclear`: what
    of the schema is not understood here, so that more or less may be allowed.
    """

    path: ConfigPath
    types: tuple[str, ...] = ()
    enum: tuple[str, ...] | None = None
    patterns: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    limits: tuple[Limit, ...] = ()
    required: bool = False
    closed: bool = False
    either: tuple[str, ...] = ()
    alternative: bool = False
    has_default: bool = False
    default: Any = None
    description: str = ""
    again: str = ""
    unchecked: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """In one line: ``string of format boolean, required``."""
        parts = [" or ".join(self.types) or "anything"]
        parts += [f"of format {' '.join(each.split())}" for each in self.formats]
        parts += [f"matching {' '.join(each.split())}" for each in self.patterns]
        parts += [f"one of {', '.join(self.enum)}"] if self.enum is not None else []
        parts += [f"{name} {value}" for name, value in self.limits]
        parts += [f"either {' or '.join(self.either)}"] if self.either else []
        parts += ["required"] if self.required else []
        parts += ["no other keys"] if self.closed else []
        return ", ".join(parts)

    def __str__(self) -> str:
        return f"{shown(self.path)}: {self.words}"


@frozen
class SchemaPaths:
    """All paths of a schema by their keys, sorted; the whole document is ``()``."""

    at: Mapping[ConfigPath, Allowed] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Allowed]:
        return iter(self.at.values())

    def __contains__(self, path: ConfigPath) -> bool:
        return path in self.at

    def get(self, path: ConfigPath) -> Allowed | None:
        return self.at.get(path)

    def of(self, path: ConfigPath) -> Allowed | None:
        """What may stand at a path of values, where lists have numbers and maps any key; None where nothing is said."""
        found = self._down(path)
        return self.at.get(found) if len(found) == len(path) else None

    def refuses(self, path: ConfigPath) -> bool:
        """Whether a value at a path of values is surely refused, as an object on the way takes no key of that name."""
        found = self._down(path)
        last = self.at.get(found)
        return len(found) < len(path) and last is not None and last.closed and not last.unclear and not last.either

    def _down(self, path: ConfigPath) -> ConfigPath:
        """The path of the schema as far as it says something."""
        here: ConfigPath = ()
        for step in path:
            tried = ((*here, step), (*here, ITEMS if step.startswith("[") else ANY_KEY))
            below = next((each for each in tried if each in self.at), None)
            if below is None:
                break
            here = below
        return here

    @property
    def unclear(self) -> tuple[tuple[ConfigPath, str], ...]:
        """What is not understood, by where it stands."""
        return tuple((each.path, text) for each in self for text in each.unclear)


_ESCAPED = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def spelled(value: Any, deepest: int = 50) -> str:
    """A value as JSON writes it, keys sorted, on one line."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPED)}"'
    if deepest and isinstance(value, list):
        return f"[{', '.join(spelled(each, deepest - 1) for each in value)}]"
    if deepest and isinstance(value, dict):
        return "{" + ", ".join(f"{spelled(key)}: {spelled(value[key], deepest - 1)}" for key in sorted(value)) + "}"
    return "…" if isinstance(value, (list, dict)) else str(value)


MOST = 20_000
"""Schemas within one that are read; the largest that is published has about a hundred, but references to references
could make millions."""
DEEPEST = 40
GOES_ON = "the schema is deeper or longer than is read here"

_TYPES = {"array", "boolean", "integer", "null", "number", "object", "string"}
_LIMITS = {
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
}
_SILENT = {"$schema", "$ref", "$comment", "definitions", "title", "description", "default", "examples"}
_WALKED = {"properties", "items", "additionalProperties", "additionalItems", "allOf", "anyOf", "oneOf"}
_JUDGED = {"type", "enum", "const", "pattern", "format", "required", "uniqueItems", *_LIMITS}
_KNOWN = _SILENT | _WALKED | _JUDGED
_UNREAD = {"not", "contains", "propertyNames", "patternProperties", "dependencies", "if", "then", "else"}
_SIGNS = {"type", "properties", "items", "anyOf", "oneOf", "allOf", "$ref", "enum", "pattern"}


def paths(schema: Doc) -> SchemaPaths:
    """Sorted by path."""
    walk = _Walk(schema, [MOST])
    walk.visit((), schema, ())
    return SchemaPaths({path: walk.found[path] for path in sorted(walk.found)})


class _Walk:
    """Mutable: `found` is what was seen so far; `left` says how many schemas may still be read, by it and by those
    that read alternatives for it."""

    def __init__(self, root: Doc, left: list[int]) -> None:
        self.root = root
        self.left = left
        self.found: dict[ConfigPath, Allowed] = {}

    def visit(
        self, path: ConfigPath, schema: Any, refs: tuple[str, ...], required: bool = False, some: bool = False
    ) -> None:
        """Add what `schema` says of `path` and below. `refs`: the references that led here; `some`: it is an
        alternative."""
        self.left[0] -= 1
        if self.left[0] < 0 or len(path) + len(refs) > DEEPEST:
            self._add((), Allowed((), unclear=(GOES_ON,)))
            return
        if not isinstance(schema, dict):
            unclear = () if schema is True else (f"a schema that is {spelled(schema)}",)
            self._add(path, Allowed(path, required=required, alternative=some, unclear=unclear))
            return
        if "$ref" in schema:
            self._follow(path, schema, refs, required, some)
            return
        here = _here(path, schema)
        self._add(path, replace(here, required=required, alternative=some))
        for each in _schemas(schema.get("allOf")):
            self.visit(path, each, (*refs, "allOf"), required, some)
        self._alternatives(path, schema, refs)
        self._children(path, schema, refs, some)

    def _follow(self, path: ConfigPath, schema: Doc, refs: tuple[str, ...], required: bool, some: bool) -> None:
        ref = schema["$ref"]
        target = referred(self.root, ref)
        if target is None:
            unclear = (f"the reference {spelled(ref)} leads nowhere that is read here",)
            self._add(path, Allowed(path, required=required, alternative=some, unclear=unclear))
        elif ref in refs:
            self._add(path, Allowed(path, required=required, alternative=some, again=ref))
        else:
            self.visit(path, target, (*refs, ref), required, some)
            self._add(path, _annotated(Allowed(path), schema))

    def _alternatives(self, path: ConfigPath, schema: Doc, refs: tuple[str, ...]) -> None:
        branches = [*_schemas(schema.get("anyOf")), *_schemas(schema.get("oneOf"))]
        if not branches:
            return
        tried = [_Walk(self.root, self.left) for _ in branches]
        for walk, branch in zip(tried, branches, strict=True):
            walk.visit(path, branch, (*refs, "either"))
        for below in sorted({each for walk in tried for each in walk.found}):
            every = [(walk.found[below], _must(walk, below)) for walk in tried if below in walk.found]
            if below in (path, ()) or len(every) > 1:
                self._add(below, _any_of(below, every))
            else:
                self._add(below, replace(every[0][0], required=False, alternative=True))

    def _children(self, path: ConfigPath, schema: Doc, refs: tuple[str, ...], some: bool) -> None:
        named = schema.get("required")
        must = {name for name in named if isinstance(name, str)} if isinstance(named, list) else set()
        properties = schema.get("properties")
        known = properties if isinstance(properties, dict) else {}
        for name, below in known.items():
            self.visit((*path, name), below, refs, name in must, some)
        for name in sorted(must - known.keys()):
            self._add((*path, name), Allowed((*path, name), required=True, alternative=some))
        more = schema.get("additionalProperties", True)
        if isinstance(more, dict):
            self.visit((*path, ANY_KEY), more, refs, some=some)
        items = schema.get("items", True)
        if isinstance(items, dict):
            self.visit((*path, ITEMS), items, refs, some=some)

    def _add(self, path: ConfigPath, new: Allowed) -> None:
        old = self.found.get(path)
        self.found[path] = new if old is None else _both(old, new)


def _here(path: ConfigPath, schema: Doc) -> Allowed:
    """What a schema without a reference says of the value itself."""
    types, unclear = _types(schema.get("type", []))
    enum = schema.get("enum")
    values = [schema["const"]] if "const" in schema else enum if isinstance(enum, list) else None
    limits = [(name, schema[name]) for name in _LIMITS if _number(schema.get(name))]
    limits += [("uniqueItems", True)] if schema.get("uniqueItems") is True else []
    said = Allowed(
        path,
        types=types,
        enum=None if values is None else tuple(sorted({spelled(each) for each in values})),
        patterns=(schema["pattern"],) if isinstance(schema.get("pattern"), str) else (),
        formats=(schema["format"],) if isinstance(schema.get("format"), str) else (),
        limits=tuple(sorted(limits)),
        closed=schema.get("additionalProperties") is False and not schema.get("patternProperties"),
        unchecked=tuple(sorted(key for key, value in schema.items() if _misplaced(key, value))),
        unclear=(*unclear, *_not_understood(schema)),
    )
    return _annotated(said, schema)


def _annotated(said: Allowed, schema: Doc) -> Allowed:
    """With the default and the description that stand in `schema`."""
    text = schema.get("description")
    said = replace(said, description=text) if isinstance(text, str) else said
    return replace(said, has_default=True, default=schema["default"]) if "default" in schema else said


def _types(said: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The types, and what of them is none."""
    names = [said] if isinstance(said, str) else said if isinstance(said, list) else [None]
    good = tuple(sorted({name for name in names if isinstance(name, str) and name in _TYPES}))
    bad = any(not isinstance(name, str) or name not in _TYPES for name in names)
    return good, (f"type: {spelled(said)}",) if bad else ()


def _not_understood(schema: Doc) -> list[str]:
    """Keywords that are not read here, or whose value is not what it should be."""
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
        **dict.fromkeys(_LIMITS, _number),
    }
    found = [key for key in schema if key in rules and not rules[key](schema[key])]
    found += [key for key in schema if key not in _KNOWN and not _misplaced(key, schema[key])]
    return [f"{key}: {spelled(schema[key])}" for key in sorted(found)]


def _misplaced(key: str, value: Any) -> bool:
    """What looks like the schema of a key, but stands where JSON Schema reads no keys."""
    if key in _KNOWN or key in _UNREAD or key.startswith("$"):
        return False
    return isinstance(value, dict) and not _SIGNS.isdisjoint(value)


def _both(old: Allowed, new: Allowed) -> Allowed:
    """What two schemas of the same path allow together (`allOf`, or an alternative beside the rest)."""
    enums = [set(each.enum) for each in (old, new) if each.enum is not None]
    types = old.types or new.types
    unclear = {*old.unclear, *new.unclear}
    if old.types and new.types:
        types = tuple(sorted(set(old.types) & set(new.types)))
        if not types:
            types, unclear = _union((old.types, new.types)), unclear | {"no type fits all that is asked"}
    newer = new if new.has_default else old
    return replace(
        old,
        types=types,
        enum=tuple(sorted(set.intersection(*enums))) if enums else None,
        patterns=_merged(old.patterns, new.patterns),
        formats=_merged(old.formats, new.formats),
        limits=tuple(sorted({*old.limits, *new.limits})),
        required=old.required or new.required,
        closed=old.closed or new.closed,
        either=_merged(old.either, new.either),
        alternative=old.alternative and new.alternative,
        has_default=newer.has_default,
        default=newer.default,
        description=new.description or old.description,
        again=old.again or new.again,
        unchecked=_merged(old.unchecked, new.unchecked),
        unclear=tuple(sorted(unclear)),
    )


def _merged(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({*old, *new}))


def _must(walk: _Walk, path: ConfigPath) -> list[str]:
    """The keys that an alternative wants of an object."""
    return sorted(each.path[-1] for each in walk.found.values() if each.required and each.path[:-1] == path)


def _any_of(path: ConfigPath, branches: list[tuple[Allowed, list[str]]]) -> Allowed:
    """What alternatives allow together; each stays to be read in words."""
    every = [each for each, _ in branches]
    return Allowed(
        path,
        types=_union(each.types for each in every),
        either=tuple(sorted({each.words + "".join(f", with {name}" for name in must) for each, must in branches})),
        alternative=True,
        again=next((each.again for each in every if each.again), ""),
        unchecked=tuple(sorted({key for each in every for key in each.unchecked})),
        unclear=tuple(sorted({text for each in every for text in each.unclear})),
    )


def _union(types: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Of alternatives; () where one of them takes any."""
    all_of = list(types)
    return tuple(sorted({name for each in all_of for name in each})) if all(all_of) else ()


def _schemas(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
