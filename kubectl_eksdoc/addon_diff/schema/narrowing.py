"""Whether what may stand at a path became less, more, or something else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.addon_diff.schema.allowed import Allowed


@dataclass(frozen=True, slots=True)
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
    yield from _limits(old, new)
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


def _limits(old: Allowed, new: Allowed) -> Iterator[SchemaShift]:
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


def _strictest(allowed: Allowed, name: str) -> float | None:
    """Of what all schemas at the path ask for."""
    values = [value for key, value in allowed.limits if key == name]
    if not values:
        return None
    found: float = max(values) if name in _UPWARDS else min(values)
    return found


def _list(these: tuple[str, ...] | None) -> str:
    return "any" if these is None else " or ".join(these) if these else "none"
