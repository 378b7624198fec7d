"""How two configuration schemas differ, by path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import ANY_KEY, ITEMS, ConfigPath, shown

from .schema_paths import (
    ALL_OF,
    CHOICES,
    DOWNWARDS,
    GOES_ON,
    UPWARDS,
    Allowed,
    SchemaPaths,
    in_words,
    spelled,
)


@frozen
class Renamed:
    """What only the old schema has at `old` and only the new one at `new`, evidently the same; with all below it."""

    old: ConfigPath
    new: ConfigPath
    why: str

    def __str__(self) -> str:
        return f"{shown(self.old)} is {shown(self.new)}: {self.why}"


@frozen
class SchemaChanges:
    """From an old schema to a new one, each sorted by path. `tightened`: some values fit no more; `defaults`: what
    holds where nothing is configured is another; `unclear`: what of one schema alone is not understood, or of neither
    is read, so that there may be more differences. What is allowed besides is nobody's concern, and left out."""

    added: tuple[Allowed, ...] = ()
    removed: tuple[Allowed, ...] = ()
    renamed: tuple[Renamed, ...] = ()
    tightened: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """Each in one line."""
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
    """What is not understood in the same words in both is the same there, but for what was not read to its end. What
    fitted one of several alternatives that are gone may fit no more, whatever stands in their place."""
    before, now = {*old.unclear}, {*new.unclear}
    yield from before ^ now
    yield from (each for each in before & now if each[1] == GOES_ON)
    for was, asked in both:
        if "anyOf" in was.rules and "anyOf" not in asked.rules:
            yield asked.path, f"no alternatives, and was {in_words('anyOf', was.rules['anyOf'])}"


def _default(of: Allowed) -> str:
    return spelled(of.default) if of.has_default else "none"


def _tightened(old: Allowed, new: Allowed) -> Iterator[str]:
    """The rules of the new schema by which something fits no more, with those of before."""
    for rule, asked in new.rules.items():
        was = old.rules.get(rule)
        if was is None or not _still_fits(rule, was, asked):
            before = "not" if asked is True else "any" if was is None else _value(was)
            yield f"{in_words(rule, asked)}, and was {before}"


def _value(asked: Any) -> str:
    return " or ".join(asked) if isinstance(asked, tuple) else str(asked)


def _still_fits(rule: str, was: Any, asked: Any) -> bool:
    """All that fitted; every integer is a number."""
    if rule in CHOICES:
        return {*was} <= {*asked} | ({"integer"} if "number" in asked else set())
    if rule in ALL_OF:
        return {*asked} <= {*was}
    return bool(asked <= was if rule in UPWARDS else asked >= was if rule in DOWNWARDS else asked == was)


def _below(each: Allowed, tops: Sequence[ConfigPath]) -> bool:
    return any(each.path[: len(top)] == top for top in tops)


def _renamed(removed: Sequence[Allowed], added: Sequence[Allowed], old: SchemaPaths, new: SchemaPaths) -> list[Renamed]:
    """Only where nothing else comes into question, and what is allowed is the same down to the last key."""
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
    """The same last key under another parent: no other path of either schema ends in it, and not both parents came or
    went as well."""
    key = before.path[-1]
    if after.path[-1] != key or before.path[:-1] == after.path[:-1]:
        return ""
    alone = all(sum(each.path[-1:] == (key,) for each in side) == 1 for side in (old, new))
    stays = before.path[:-1] in new or after.path[:-1] in old
    return "the same key, of the same shape, under another parent" if alone and stays else ""


def _respelled(before: Allowed, after: Allowed, gone: Sequence[Allowed], come: Sequence[Allowed]) -> str:
    """The same parent, and names that differ in capitals, dashes and a plural only; no other is spelled like them."""
    if before.path[:-1] != after.path[:-1]:
        return ""
    plain = _plain(before.path)
    alone = all(sum(_plain(each.path) == plain for each in side) == 1 for side in (gone, come))
    return "the same name, spelled in another way" if _plain(after.path) == plain and plain[-1] and alone else ""


def _plain(path: ConfigPath) -> ConfigPath:
    name = "".join(each for each in path[-1].lower() if each.isalnum())
    return (*path[:-1], name.removesuffix("s"))


def _shape(top: ConfigPath, of: SchemaPaths) -> list[Allowed]:
    """What may stand at a path and below, without its name; whether it has to is its parent's affair."""
    found = [each for each in of if each.path[: len(top)] == top]
    same = [replace(each, path=each.path[len(top) :], has_default=False, default=None) for each in found]
    return [
        replace(each, rules={name: each.rules[name] for name in each.rules if name != "required"})
        if not each.path
        else each
        for each in same
    ]
