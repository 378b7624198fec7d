"""Keys as the user wants them: actions keep their names and get other keys, unless two would be on one key."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kubectl_eksdoc.core.model.spelling import maybe
from kubectl_eksdoc.render.text import joined
from kubectl_eksdoc.tui.keys import KEYS, Key

MOVES = frozenset(
    [
        "j",
        "k",
        "g",
        "G",
        "h",
        "l",
        "up",
        "down",
        "left",
        "right",
        "home",
        "end",
        "pageup",
        "pagedown",
        "ctrl+f",
        "ctrl+b",
        "ctrl+d",
        "ctrl+u",
        "enter",
        "tab",
        "shift+tab",
    ]
)
"""Textual's names of the keys that move the cursor: they are the tables' own."""

_NAMED = frozenset(
    [
        "space",
        "enter",
        "tab",
        "escape",
        "backspace",
        "delete",
        "insert",
        "home",
        "end",
        "pageup",
        "pagedown",
        "up",
        "down",
        "left",
        "right",
    ]
)
_PRESSED = re.compile(r"(?:(?:ctrl|shift|alt)\+)*(?P<key>.+)\Z", re.DOTALL)
_FUNCTION = re.compile(r"f(?:[1-9]|1[0-9]|2[0-4])\Z")
_SIGNS = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
"""Textual's own names of signs that Unicode calls otherwise."""


@dataclass(frozen=True, slots=True)
class Keymap:
    """`keys` as they are in effect; `wrong`: what of the user's file is not followed, a sentence each."""

    keys: tuple[Key, ...] = KEYS
    wrong: tuple[str, ...] = ()

    def of(self, action: str) -> Key:
        """The one with that id, which is there."""
        return next(key for key in self.keys if key.id == action)


OF_RUNS = "run-"
"""The actions of a run's screens begin with it."""


def of_plans(wanted: Mapping[str, str]) -> dict[str, str]:
    return {name: keys for name, keys in wanted.items() if not name.startswith(OF_RUNS)}


def of_runs(wanted: Mapping[str, str]) -> dict[str, str]:
    return {name: keys for name, keys in wanted.items() if name.startswith(OF_RUNS)}


def named(text: str) -> str:
    """Textual's name of a key that is written as ``x``, ``{``, ``ctrl+x``, ``space`` or ``f5``; "" where it is none."""
    if len(text) == 1:
        return _sign(text)
    match = _PRESSED.match(text)
    key = match["key"] if match else ""
    lead = text[: len(text) - len(key)]
    if len(key) == 1:
        return f"{lead}{_sign(key)}" if _sign(key) else ""
    known = key in _NAMED or _FUNCTION.match(key) or key in _SIGN_NAMES
    return text if known else ""


def _sign(char: str) -> str:
    if char.isalnum():
        return char
    if not char.isprintable():
        return ""
    name = unicodedata.name(char, "").lower().replace("-", "_").replace(" ", "_")
    return _SIGNS.get(name, name)


_SIGN_NAMES = frozenset(_sign(chr(code)) for code in range(33, 127) if not chr(code).isalnum())


def read(wanted: Mapping[str, str], keys: Sequence[Key] = KEYS) -> Keymap:
    """`wanted`: keys by the names of actions, several of one with commas. What cannot be followed stays as it is."""
    wrong, mapped = [], {}
    ids = {key.id: key for key in keys}
    for name, text in wanted.items():
        if name not in ids:
            wrong.append(f"keys.json: there is no action {name!r}{maybe(name, ids)}")
            continue
        spelled = [text] if text == "," else [part.strip() for part in text.split(",")]
        unknown = next((part for part in spelled if not named(part)), None)
        moves = next((part for part in spelled if named(part) in MOVES), None)
        if unknown is not None:
            wrong.append(f"keys.json: {unknown!r} is no key, so {_stays(ids[name])}; write v, ctrl+x, space or f5")
        elif moves is not None:
            wrong.append(f"keys.json: {moves!r} moves the cursor, so {_stays(ids[name])}")
        else:
            shown = " ".join(spelled)
            mapped[name] = replace(ids[name], keys=",".join(named(part) for part in spelled), shown=shown)
    wrong += _without_clashes(mapped, ids)
    return Keymap(tuple(mapped.get(key.id, key) for key in keys), tuple(wrong))


def _without_clashes(mapped: dict[str, Key], ids: Mapping[str, Key]) -> list[str]:
    """Takes out of `mapped` what shares a key with another action, until nothing does; a sentence for each."""
    said: list[str] = []
    while True:
        owners: dict[str, list[str]] = defaultdict(list)
        for name, key in ids.items():
            for pressed in mapped.get(name, key).keys.split(","):
                owners[pressed].append(name)
        clash = next((names for names in owners.values() if len(names) > 1 and mapped.keys() & set(names)), None)
        if clash is None:
            return said
        taken = [name for name in clash if name in mapped]
        both = joined([repr(name) for name in clash])
        said.append(
            f"keys.json: {mapped[taken[0]].shown!r} would be the key of {both}, "
            f"so {joined([_stays(ids[name]) for name in taken])}"
        )
        for name in taken:
            del mapped[name]


def _stays(key: Key) -> str:
    return f"{key.id!r} stays on {key.shown}"
