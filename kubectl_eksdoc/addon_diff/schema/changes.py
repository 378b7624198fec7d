"""How two configuration schemas differ, by path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kubectl_eksdoc.addon_diff.schema.paths import GOES_ON, Allowed, SchemaPaths, spelled
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import ANY_KEY, ITEMS, ConfigPath, shown

# Whether what may stand at a path became less, more, or something else.


@frozen
class SchemaShift:
    """`tighter`: something fits no more; `looser`: something fits that did not. Both, where it is another thing."""

    tighter: bool
    looser: bool
    what: str


def shifts(old: Allowed, new: Allowed) -> Iterator[SchemaShift]:
    """What differs between what two schemas allow at the same path, not below it.

    Swapping `old` and `new` swaps `tighter` and `looser`, but not the rules by which it was seen.
    """
    yield from _sets("types", old.types or None, new.types or None)
    yield from _sets("values", old.enum, new.enum)
    yield from _asked("pattern", old.patterns, new.patterns)
    yield from _asked("format", old.formats, new.formats)
    for name in sorted({name for name, _ in (*old.limits, *new.limits)}):
        was, now = _strictest(old, name), _strictest(new, name)
        if was == now:
            continue
        if was is None or now is None:
            tighter, looser = was is None, now is None
        elif name in _UPWARDS or name in _DOWNWARDS:
            tighter = now > was if name in _UPWARDS else now < was
            looser = not tighter
        else:
            tighter = looser = True
        yield SchemaShift(
            tighter, looser, f"{name} was {'none' if was is None else was}, is {'none' if now is None else now}"
        )
    yield from _sets("alternatives", old.either or None, new.either or None)
    if old.required != new.required:
        yield SchemaShift(new.required, old.required, "is required" if new.required else "is not required any more")
    if old.closed != new.closed:
        what = "takes no other keys any more" if new.closed else "takes any key"
        yield SchemaShift(new.closed, old.closed, what)
    if old.alternative != new.alternative:
        what = "only in some alternatives" if new.alternative else "in all alternatives"
        yield SchemaShift(new.alternative, old.alternative, what)


def _sets(name: str, old: tuple[str, ...] | None, new: tuple[str, ...] | None) -> Iterator[SchemaShift]:
    """Of what may be chosen from; None for anything."""
    if old == new:
        return
    lost = new is not None and (old is None or not _held(name, set(old), set(new)))
    won = old is not None and (new is None or not _held(name, set(new), set(old)))
    yield SchemaShift(lost, won, f"{name} were {_list(old)}, are {_list(new)}")


def _held(name: str, these: set[str], among: set[str]) -> bool:
    """Whether all of `these` are still allowed; every integer is a number."""
    return these <= (among | {"integer"} if name == "types" and "number" in among else among)


def _asked(name: str, old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[SchemaShift]:
    """Of what all has to fit."""
    if old != new:
        tighter, looser = not set(new) <= set(old), not set(old) <= set(new)
        yield SchemaShift(tighter, looser, f"{name} was {_list(old or None)}, is {_list(new or None)}")


_UPWARDS = {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"}
_DOWNWARDS = {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"}


def _strictest(allowed: Allowed, name: str) -> float | None:
    """Of what all schemas at the path ask for."""
    values = [value for key, value in allowed.limits if key == name]
    if not values:
        return None
    found: float = max(values) if name in _UPWARDS else min(values)
    return found


def _list(these: tuple[str, ...] | None) -> str:
    return "any" if these is None else " or ".join(these) if these else "none"


@frozen
class OneSided:
    """A path that only one of the two schemas has. `refused`: the other one refuses a value there; otherwise it lets
    any key pass without a word."""

    allowed: Allowed
    refused: bool

    @property
    def path(self) -> ConfigPath:
        return self.allowed.path

    def __str__(self) -> str:
        return str(self.allowed)


@frozen
class Renamed:
    """What only the old schema has at `old` and only the new one at `new`, evidently the same; with all below it."""

    old: ConfigPath
    new: ConfigPath
    why: str

    def __str__(self) -> str:
        return f"{shown(self.old)} is {shown(self.new)}: {self.why}"


@frozen
class _Changed:
    """Something else is allowed at a path of both."""

    path: ConfigPath
    what: str

    def __str__(self) -> str:
        return f"{shown(self.path)}: {self.what}"


@frozen
class SchemaChanges:
    """From an old schema to a new one; each sorted by path.

    `tightened`: some values fit no more; `loosened`: some fit that did not; what is allowed instead of something else
    is in both. `defaults`: what holds where nothing is configured is another. `unclear`: what of either schema is not
    understood, so that there may be more differences.
    """

    added: tuple[OneSided, ...] = ()
    removed: tuple[OneSided, ...] = ()
    renamed: tuple[Renamed, ...] = ()
    tightened: tuple[_Changed, ...] = ()
    loosened: tuple[_Changed, ...] = ()
    defaults: tuple[_Changed, ...] = ()
    unclear: tuple[_Changed, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything differs; what is unclear in both alike is no difference, and no pass either."""
        return any((self.added, self.removed, self.renamed, self.tightened, self.loosened, self.defaults))

    @property
    def lines(self) -> tuple[str, ...]:
        """Each in one line."""
        return (
            *(f"added {each}" for each in self.added),
            *(f"removed {each}" for each in self.removed),
            *(f"renamed {each}" for each in self.renamed),
            *(f"tightened {each}" for each in self.tightened),
            *(f"loosened {each}" for each in self.loosened),
            *(f"default of {each}" for each in self.defaults),
            *(f"unclear {each}" for each in self.unclear),
        )


def changes(old: SchemaPaths, new: SchemaPaths) -> SchemaChanges:
    both = [path for path in old.at if path in new]
    removed = [each for each in old if each.path not in new]
    added = [each for each in new if each.path not in old]
    renamed = _renamed(removed, added, old, new)
    found = [(path, shift) for path in both for shift in shifts(old.at[path], new.at[path])]
    return SchemaChanges(
        added=tuple(
            OneSided(each, old.refuses(each.path)) for each in added if not _below(each, [to.new for to in renamed])
        ),
        removed=tuple(
            OneSided(each, new.refuses(each.path)) for each in removed if not _below(each, [of.old for of in renamed])
        ),
        renamed=tuple(renamed),
        tightened=tuple(_Changed(path, shift.what) for path, shift in found if shift.tighter),
        loosened=tuple(_Changed(path, shift.what) for path, shift in found if shift.looser),
        defaults=tuple(_default(old.at[path], new.at[path]) for path in both if _differs(old.at[path], new.at[path])),
        unclear=tuple(_unclear(old, new)),
    )


def _unclear(old: SchemaPaths, new: SchemaPaths) -> list[_Changed]:
    """What is not understood in the same words in both is the same there, but for what was not read to its end."""
    before, now = set(old.unclear), set(new.unclear)
    same = {(path, text) for path, text in before & now if text != GOES_ON}
    found = [_Changed(path, f"{text} (before)") for path, text in before - same]
    found += [_Changed(path, f"{text} (now)") for path, text in now - same]
    for path in old.at.keys() & new.at.keys():
        was, is_now = (f"{_changes_list(each.unchecked)} {each.again}".strip() for each in (old.at[path], new.at[path]))
        if was != is_now:
            found.append(_Changed(path, f"what is not checked there was {was or 'nothing'}, is {is_now or 'nothing'}"))
    return sorted(found, key=lambda each: (each.path, each.what))


def _changes_list(names: tuple[str, ...]) -> str:
    return ", ".join(names)


def _below(each: Allowed, tops: Sequence[ConfigPath]) -> bool:
    return any(each.path[: len(top)] == top for top in tops)


def _differs(old: Allowed, new: Allowed) -> bool:
    return (old.has_default, spelled(old.default)) != (new.has_default, spelled(new.default))


def _default(old: Allowed, new: Allowed) -> _Changed:
    was, now = (spelled(each.default) if each.has_default else "none" for each in (old, new))
    return _Changed(new.path, f"was {was}, is {now}")


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
    same = [
        replace(each, path=each.path[len(top) :], description="", has_default=False, default=None) for each in found
    ]
    return [replace(each, required=False) if not each.path else each for each in same]
