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
from kubectl_eksdoc.model.addons import ANY_KEY, ITEMS, ConfigPath, referred, shown
from kubectl_eksdoc.model.api_objects import Doc

# Values that a configuration schema allows at one path.


CHOICES = ("type", "enum", "anyOf")
"""Rules that a value satisfies if it matches one of several; values and alternatives are JSON texts."""
ALL_OF = ("pattern", "format")
"""Rules of which a value must satisfy each."""
UPWARDS = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
DOWNWARDS = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")

Rules = Mapping[str, Any]
"""Rules by JSON Schema keyword: a tuple for `CHOICES` and `ALL_OF`, a number, or a bool (``required``: by the object
that contains the value; ``closed``: no keys except those that have paths)."""


@frozen
class Allowed:
    """Values allowed at `path`. `default` is None if the schema has no default; `has_default` tells the difference.
    `unclear`: parts of the schema that are not understood, so the schema may allow more or less."""

    path: ConfigPath
    rules: Rules = field(default_factory=dict)
    has_default: bool = False
    default: Any = None
    unclear: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The rules on one line: ``string, format boolean, required``."""
        rules = dict(self.rules)
        return ", ".join([" or ".join(rules.pop("type", ("anything",))), *(in_words(*each) for each in rules.items())])

    def __str__(self) -> str:
        return f"{shown(self.path)}: {self.words}"


def in_words(rule: str, asked: Any) -> str:
    if asked is True:
        return rule
    joined = (" or " if rule in CHOICES else " and ").join(asked) if isinstance(asked, tuple) else asked
    return " ".join(f"{rule} {joined}".split())


@frozen
class SchemaPaths:
    """All paths of a schema, sorted by their keys; the path of the whole document is ``()``."""

    at: Mapping[ConfigPath, Allowed] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Allowed]:
        return iter(self.at.values())

    def __contains__(self, path: ConfigPath) -> bool:
        return path in self.at

    def of(self, path: ConfigPath) -> Allowed | None:
        """The values allowed at a path of a values document, in which lists have indexes and maps have any key. None if
        the schema does not mention the path."""
        found = self._down(path)
        return self.at.get(found) if len(found) == len(path) else None

    def refuses(self, path: ConfigPath) -> bool:
        """The schema certainly refuses a value at this path: an object above it allows no such key."""
        found = self._down(path)
        last = self.at.get(found)
        if last is None or len(found) == len(path) or last.unclear:
            return False
        return "closed" in last.rules and "anyOf" not in last.rules

    def _down(self, path: ConfigPath) -> ConfigPath:
        """The longest prefix of the path that the schema mentions."""
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
        """Parts that are not understood, with their paths."""
        return tuple((each.path, text) for each in self for text in each.unclear)


_ESCAPED = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def spelled(value: Any, deepest: int = 50) -> str:
    """A value as JSON on one line, with sorted keys."""
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
"""Limit of subschemas that are read. The largest published schema has about a hundred; nested references could make
millions."""
DEEPEST = 40
GOES_ON = "the schema is deeper or longer than is read here"

_TYPES = {"array", "boolean", "integer", "null", "number", "object", "string"}
_LIMITS = (*UPWARDS, *DOWNWARDS, "multipleOf")
_UNREAD = {"not", "contains", "propertyNames", "patternProperties", "dependencies", "if", "then", "else"}


def paths(schema: Doc) -> SchemaPaths:
    """All paths of a schema, sorted."""
    walk = _Walk(schema, [MOST])
    walk.visit((), schema, ())
    return SchemaPaths({path: walk.found[path] for path in sorted(walk.found)})


class _Walk:
    """Mutable. `found`: the paths found so far. `remaining`: the number of schemas that may still be read, shared with
    the walks of alternatives."""

    def __init__(self, root: Doc, left: list[int]) -> None:
        self.root = root
        self.left = left
        self.found: dict[ConfigPath, Allowed] = {}

    def visit(self, path: ConfigPath, schema: Any, refs: tuple[str, ...], required: bool = False) -> None:
        """Add the rules of `schema` for `path` and below. `references`: the references followed so far."""
        self.left[0] -= 1
        if self.left[0] < 0 or len(path) + len(refs) > DEEPEST:
            self._add(Allowed((), unclear=(GOES_ON,)))
            return
        must: Rules = {"required": True} if required else {}
        if not isinstance(schema, dict):
            unclear = () if schema is True else (f"a schema that is {spelled(schema)}",)
            self._add(Allowed(path, must, unclear=unclear))
            return
        if "$ref" in schema:
            ref = schema["$ref"]
            target = referred(self.root, ref)
            if target is None:
                self._add(
                    Allowed(path, must, unclear=(f"the reference {spelled(ref)} leads nowhere that is read here",))
                )
            elif ref in refs:
                self._add(Allowed(path, must))  # a recursive schema: its paths are known already
            else:
                self.visit(path, target, (*refs, ref), required)
                self._add(_with_default(Allowed(path), schema))
            return
        self._add(_here(path, schema, must))
        for each in _schemas(schema.get("allOf")):
            self.visit(path, each, (*refs, "allOf"), required)
        self._alternatives(path, schema, refs)
        self._children(path, schema, refs)

    def _alternatives(self, path: ConfigPath, schema: Doc, refs: tuple[str, ...]) -> None:
        """Add the alternatives of anyOf and oneOf. A key that only one alternative has is allowed, but not required."""
        branches = [*_schemas(schema.get("anyOf")), *_schemas(schema.get("oneOf"))]
        tried = [_Walk(self.root, self.left) for _ in branches]
        for walk, branch in zip(tried, branches, strict=True):
            walk.visit(path, branch, (*refs, "either"))
        for below in sorted({each for walk in tried for each in walk.found}):
            every = [(walk.found[below], walk.must(below)) for walk in tried if below in walk.found]
            if below in (path, ()) or len(every) > 1:
                self._add(_any_of(below, every))
            else:
                only = every[0][0]
                rules = {name: asked for name, asked in only.rules.items() if name != "required"}
                self._add(replace(only, rules=rules))

    def must(self, path: ConfigPath) -> list[str]:
        """The required keys of the object at `path`."""
        below = (each for each in self.found.values() if each.path and each.path[:-1] == path)
        return sorted(each.path[-1] for each in below if "required" in each.rules)

    def _children(self, path: ConfigPath, schema: Doc, refs: tuple[str, ...]) -> None:
        named = schema.get("required")
        must = {name for name in named if isinstance(name, str)} if isinstance(named, list) else set()
        properties = schema.get("properties")
        known = properties if isinstance(properties, dict) else {}
        for name, below in known.items():
            self.visit((*path, name), below, refs, name in must)
        for name in sorted(must - known.keys()):
            self._add(Allowed((*path, name), {"required": True}))
        for keyword, step in (("additionalProperties", ANY_KEY), ("items", ITEMS)):
            if isinstance(more := schema.get(keyword), dict):
                self.visit((*path, step), more, refs)

    def _add(self, new: Allowed) -> None:
        old = self.found.get(new.path)
        self.found[new.path] = new if old is None else _both(old, new)


def _here(path: ConfigPath, schema: Doc, must: Rules) -> Allowed:
    """The rules that a schema without a reference sets for the value itself."""
    said, enum = schema.get("type", []), schema.get("enum")
    types = [said] if isinstance(said, str) else said if isinstance(said, list) else [None]
    known = {name for name in types if isinstance(name, str) and name in _TYPES}
    values = [schema["const"]] if "const" in schema else enum if isinstance(enum, list) else None
    rules: dict[str, Any] = {"type": tuple(sorted(known))} if known else {}
    rules |= {} if values is None else {"enum": tuple(sorted({spelled(each) for each in values}))}
    rules |= {name: (schema[name],) for name in ALL_OF if isinstance(schema.get(name), str)}
    rules |= {name: schema[name] for name in _LIMITS if _number(schema.get(name))}
    rules |= {"uniqueItems": True} if schema.get("uniqueItems") is True else {}
    closed = schema.get("additionalProperties") is False and not schema.get("patternProperties")
    unclear = [f"type: {spelled(said)}"] if len(known) < len(types) else []
    return _with_default(
        Allowed(
            path,
            {**rules, **must, **({"closed": True} if closed else {})},
            unclear=(*unclear, *_not_understood(schema)),
        ),
        schema,
    )


def _with_default(said: Allowed, schema: Doc) -> Allowed:
    return replace(said, has_default=True, default=schema["default"]) if "default" in schema else said


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
        **dict.fromkeys(_LIMITS, _number),
    }
    found = [key for key in schema if key in _UNREAD or (key in rules and not rules[key](schema[key]))]
    return [f"{key}: {spelled(schema[key])}" for key in sorted(found)]


def _both(old: Allowed, new: Allowed) -> Allowed:
    """The intersection of two schemas for one path (`allOf`, or an alternative with its surrounding schema)."""
    rules, unclear = {**old.rules, **new.rules}, {*old.unclear, *new.unclear}
    for name in old.rules.keys() & new.rules.keys():
        was, asked = old.rules[name], new.rules[name]
        if name in ("type", "enum"):
            rules[name] = tuple(sorted({*was} & {*asked}))
            if name == "type" and not rules[name]:
                rules[name], unclear = _sorted(was, asked), unclear | {"no type fits all that is asked"}
        elif isinstance(was, tuple):
            rules[name] = _sorted(was, asked)
        elif name in _LIMITS:
            rules[name] = max(was, asked) if name in UPWARDS else min(was, asked)
    newer = new if new.has_default else old
    return Allowed(old.path, rules, newer.has_default, newer.default, tuple(sorted(unclear)))


def _sorted(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({*old, *new}))


def _any_of(path: ConfigPath, tried: list[tuple[Allowed, list[str]]]) -> Allowed:
    """The union of alternatives; each is kept as text, with its required keys."""
    branches = [each for each, _ in tried]
    types: Iterable[tuple[str, ...]] = [each.rules.get("type", ()) for each in branches]
    every = tuple(sorted({name for each in types for name in each})) if all(types) else ()
    rules: Rules = {"type": every} if every else {}
    return Allowed(
        path,
        {
            **rules,
            "anyOf": tuple(sorted({each.words + "".join(f", with {key}" for key in must) for each, must in tried})),
        },
        unclear=tuple(sorted({text for each in branches for text in each.unclear})),
    )


def _schemas(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


# Difference of two configuration schemas, by path.


@frozen
class Renamed:
    """A path that only the old schema has and its equivalent that only the new one has, with all paths below."""

    old: ConfigPath
    new: ConfigPath
    why: str

    def __str__(self) -> str:
        return f"{shown(self.old)} is {shown(self.new)}: {self.why}"


@frozen
class SchemaChanges:
    """Changes from an old schema to a new one, each list sorted by path. `tightened`: some values are no longer
    allowed; `defaults`: another default applies; `unclear`: parts that only one of the schemas has or that neither read
    in full, so there may be more differences. Relaxed rules are left out."""

    added: tuple[Allowed, ...] = ()
    removed: tuple[Allowed, ...] = ()
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


def changes(old: SchemaPaths, new: SchemaPaths) -> SchemaChanges:
    both = [(old.at[path], new.at[path]) for path in old.at if path in new]
    removed = [each for each in old if each.path not in new]
    added = [each for each in new if each.path not in old]
    renamed = _renamed(removed, added, old, new)
    return SchemaChanges(
        added=tuple(each for each in added if not _below(each, [to.new for to in renamed])),
        removed=tuple(each for each in removed if not _below(each, [of.old for of in renamed])),
        renamed=tuple(renamed),
        tightened=tuple(f"{shown(now.path)}: {what}" for was, now in both for what in _tightened(was, now)),
        defaults=tuple(
            f"{shown(now.path)}: was {_default(was)}, is {_default(now)}"
            for was, now in both
            if _default(was) != _default(now)
        ),
        unclear=tuple(f"{shown(path)}: {text}" for path, text in sorted(_unclear(old, new, both))),
    )


def _unclear(
    old: SchemaPaths, new: SchemaPaths, both: Sequence[tuple[Allowed, Allowed]]
) -> Iterator[tuple[ConfigPath, str]]:
    """Unclear parts with the same text in both schemas count as equal, unless reading was truncated. If alternatives
    were removed, a value that matched one of them may no longer be allowed."""
    before, now = {*old.unclear}, {*new.unclear}
    yield from before ^ now
    yield from (each for each in before & now if each[1] == GOES_ON)
    for was, asked in both:
        if "anyOf" in was.rules and "anyOf" not in asked.rules:
            yield asked.path, f"no alternatives, and was {in_words('anyOf', was.rules['anyOf'])}"


def _default(of: Allowed) -> str:
    return spelled(of.default) if of.has_default else "none"


def _tightened(old: Allowed, new: Allowed) -> Iterator[str]:
    """The rules of the new schema that are stricter than the old ones, each with the old limit."""
    for rule, asked in new.rules.items():
        was = old.rules.get(rule)
        if was is None or not _still_fits(rule, was, asked):
            before = "not" if asked is True else "any" if was is None else _value(was)
            yield f"{in_words(rule, asked)}, and was {before}"


def _value(asked: Any) -> str:
    return " or ".join(asked) if isinstance(asked, tuple) else str(asked)


def _still_fits(rule: str, was: Any, asked: Any) -> bool:
    """All values that the old rule allowed are still allowed; every integer is a number."""
    if rule in CHOICES:
        return {*was} <= {*asked} | ({"integer"} if "number" in asked else set())
    if rule in ALL_OF:
        return {*asked} <= {*was}
    return bool(asked <= was if rule in UPWARDS else asked >= was if rule in DOWNWARDS else asked == was)


def _below(each: Allowed, tops: Sequence[ConfigPath]) -> bool:
    return any(each.path[: len(top)] == top for top in tops)


def _renamed(removed: Sequence[Allowed], added: Sequence[Allowed], old: SchemaPaths, new: SchemaPaths) -> list[Renamed]:
    """Pairs of paths with equal rules down to the last key, if no other pair is possible."""
    gone, come = ([each for each in side if each.path[-1:] not in ((ITEMS,), (ANY_KEY,))] for side in (removed, added))
    found: list[Renamed] = []
    for before in gone:
        for after in come:
            why = _moved(before, after, old, new) or _respelled(before, after, gone, come)
            if why and _shape(before.path, old) == _shape(after.path, new):
                found.append(Renamed(before.path, after.path, why))
    froms, tos = Counter(each.old for each in found), Counter(each.new for each in found)
    return [each for each in found if froms[each.old] == tos[each.new] == 1]


def _moved(before: Allowed, after: Allowed, old: SchemaPaths, new: SchemaPaths) -> str:
    """The same last key below another parent. No other path of either schema ends with it, and one of the parents
    exists in both schemas."""
    key = before.path[-1]
    if after.path[-1] != key or before.path[:-1] == after.path[:-1]:
        return ""
    alone = all(sum(each.path[-1:] == (key,) for each in side) == 1 for side in (old, new))
    stays = before.path[:-1] in new or after.path[:-1] in old
    return "the same key, of the same shape, under another parent" if alone and stays else ""


def _respelled(before: Allowed, after: Allowed, gone: Sequence[Allowed], come: Sequence[Allowed]) -> str:
    """The same parent, and names that differ only in case, dashes and a plural; no other name is similar."""
    if before.path[:-1] != after.path[:-1]:
        return ""
    plain = _plain(before.path)
    alone = all(sum(_plain(each.path) == plain for each in side) == 1 for side in (gone, come))
    return "the same name, spelled in another way" if _plain(after.path) == plain and plain[-1] and alone else ""


def _plain(path: ConfigPath) -> ConfigPath:
    name = "".join(each for each in path[-1].lower() if each.isalnum())
    return (*path[:-1], name.removesuffix("s"))


def _shape(top: ConfigPath, of: SchemaPaths) -> list[Allowed]:
    """The values allowed at a path and below, relative to it; whether the path is required is left out."""
    found = [each for each in of if each.path[: len(top)] == top]
    same = [replace(each, path=each.path[len(top) :], has_default=False, default=None) for each in found]
    return [
        replace(each, rules={name: each.rules[name] for name in each.rules if name != "required"})
        if not each.path
        else each
        for each in same
    ]
