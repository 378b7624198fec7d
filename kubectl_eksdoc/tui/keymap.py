"""Key bindings: user-defined keys for named actions, checked for conflicts; hints at the foot of the screen."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, NamedTuple

from textual import events
from textual.color import Color
from textual.content import Content
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

from kubectl_eksdoc.errors import matches, maybe
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.knowledge import file, made
from kubectl_eksdoc.report.text import Look, Tone, joined, shown

from .tables.pods import cells
from .words import FittingText, fitted

# The keys: one table (`knowledge/keys.json`) for bindings, hints and help.


class ScreenPage(str, Enum):
    """A page of the screen; its number is its key."""

    PLAN = "1"
    HEADROOM = "2"
    WAVES = "3"
    BLOCKERS = "4"
    WHAT_IF = "="
    RUN = "5"
    LOG = "6"
    PODS = "pods"
    BUDGET = "budget"


class ScreenPlace(NamedTuple):
    """A page and its subject: the node of `ScreenPage.PODS`, the budget (ns/name) of `ScreenPage.BUDGET`."""

    page: ScreenPage
    about: str = ""


class HelpPart(str, Enum):
    """The section of the help that lists a key."""

    MOVE = "Move"
    MARK = "Mark"
    PLAN = "Plan"
    RUN = "Run"
    TIME = "Time"
    LOOK = "Look"
    ANYWHERE = "Anywhere"


@frozen
class KeyBinding:
    """`id` names the binding in a keymap; `keys` in Textual's spelling; `shown` for users; `pages`: where it works
    (empty: everywhere). `foot`: its place at the foot of the screen, 0 for help only. `given`: the argument of its
    action, None for none."""

    id: str
    keys: str
    action: str
    words: str
    part: HelpPart
    shown: str = ""
    pages: tuple[ScreenPage, ...] = ()
    foot: int = 0
    given: Any = None

    def elsewhere(self, page: ScreenPage) -> str:
        """The pages where the key works, in a clause, if it does nothing on `page`; else ""."""
        if not self.pages or page in self.pages:
            return ""
        return f"on {joined([f'[{each.value}]' for each in self.pages])} only ({self.words.split(' (')[0]})"

    @property
    def is_at_foot(self) -> bool:
        """Whether it has a hint, alone or together with other keys."""
        return bool(self.foot) or self.action in _TOGETHER


TYPED_AFTER = frozenset({"filter", "prompt"})
"""Actions of keys that open an input line: their bindings have priority, so that even a fast next key goes to that
line. (The key after m is a binding; `screen.PlanScreen.handles_key` handles both.)"""

_MARK, _COPY, _PAGES, _KNOBS = 1, 3, 6, 8
"""Places at the foot."""

_TOGETHER = {"page": (_PAGES, "pages"), "parallel": (_KNOBS, "knobs"), "grace": (_KNOBS, "knobs")}
"""Actions whose keys share a place."""


def keys_of(screens: str) -> tuple[KeyBinding, ...]:
    """The keys of plans (``plan``), runs (``run``) or replays (``replay``), in the order of the help."""
    found = (made(KeyBinding, each) for each in file("keys")[screens])
    return tuple(key if key.shown else replace(key, shown=key.keys) for key in found)


KEYS = keys_of("plan")


class Hint(NamedTuple):
    """A hint at the foot of a screen: `key` for users, several separated by spaces, and their effect. `actions`: the
    action of a click on each key; empty if nothing is clickable."""

    key: str
    words: str
    actions: tuple[str, ...] = ()


TYPING = (Hint("enter", "keep"), Hint("esc", "show all"))
"""Hints while the user types a filter: other keys are letters."""


def hint(keys: Sequence[KeyBinding], words: str = "") -> Hint:
    """The hint of one key, or of several keys that share their `words`."""
    said = words or keys[0].words.split(",")[0].split(" (")[0]
    return Hint(" ".join(key.shown.split()[0] for key in keys), said, tuple(f"do('{key.id}')" for key in keys))


def foot(
    page: ScreenPage, keys: Sequence[KeyBinding] = KEYS, copies: str | None = "", marks: str = "mark"
) -> tuple[Hint, ...]:
    """``space mark  m mark…  r run…``: the most useful first. `keys`: those that have an effect now; `copy_label`: what
    y copies here, None for nothing; `mark_label`: the effect of space."""
    kept = {key.foot: key for key in keys if key.foot and (not key.pages or page in key.pages)}
    if copies is None:
        kept.pop(_COPY, None)
    said = {_COPY: copies or "", _MARK: marks}
    hints = {place: hint([key], said.get(place, "")) for place, key in kept.items()}
    for place, words in dict.fromkeys(_TOGETHER.values()):
        if several := [key for key in keys if _TOGETHER.get(key.action) == (place, words)]:
            hints[place] = hint(several, words)
    return tuple(hints[place] for place in sorted(hints))


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
"""Textual's names of keys that move the cursor: they belong to the tables."""

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
"""Textual's names of characters that have another name in Unicode."""


@frozen
class Keymap:
    """`keys` in effect; `problems` of the user's key file, a sentence each."""

    keys: tuple[KeyBinding, ...] = KEYS
    wrong: tuple[str, ...] = ()

    def of(self, action: str) -> KeyBinding:
        """The binding with this id, which must exist."""
        return next(key for key in self.keys if key.id == action)


OF_RUNS = "run-"
"""Prefix of the actions on the screens of runs."""


def of_plans(wanted: Mapping[str, str]) -> dict[str, str]:
    return {name: keys for name, keys in wanted.items() if not name.startswith(OF_RUNS)}


def of_runs(wanted: Mapping[str, str]) -> dict[str, str]:
    return {name: keys for name, keys in wanted.items() if name.startswith(OF_RUNS)}


def named(text: str) -> str:
    """Textual's name of a key written as ``x``, ``{``, ``ctrl+x``, ``space`` or ``f5``; "" if it is no key."""
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


def read(wanted: Mapping[str, str], keys: Sequence[KeyBinding] = KEYS) -> Keymap:
    """`user_keys`: keys by action name, several separated by commas. Invalid entries keep their default."""
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


def _without_clashes(mapped: dict[str, KeyBinding], ids: Mapping[str, KeyBinding]) -> list[str]:
    """Remove entries from `mapped` that share a key with another action, until there are none; a sentence for each."""
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


def _stays(key: KeyBinding) -> str:
    return f"{key.id!r} stays on {key.shown}"


# Commands after the colon: names of pages and of key actions, k9s names included, matched by prefix.


@frozen
class _Command:
    """A command: the first of `names` is shown; `key`: the id of the key with the same effect, "" for none; `values`:
    allowed arguments, empty for none."""

    names: tuple[str, ...]
    key: str = ""
    values: tuple[str, ...] = ()


COMMANDS = tuple(made(_Command, each) for each in file("keys")["commands"])


@frozen
class Typed:
    """A typed command with its argument, "" for none."""

    command: _Command
    value: str = ""


def read_command(text: str) -> Typed | str:
    """The command, or the reason why there is none. A unique prefix of a name is sufficient."""
    words = text.strip().lower().split()
    if not words:
        return "nothing was typed"
    word, rest = words[0], words[1:]
    found = _named(word)
    if isinstance(found, str):
        return found
    name = found.names[0]
    if not found.values:
        return Typed(found) if not rest else f":{name} takes nothing behind it"
    meant = [value for value in found.values if len(rest) == 1 and value.startswith(rest[0])]
    if len(meant) != 1:
        return f"write :{name} {' or '.join(found.values)}"
    return Typed(found, meant[0])


def begins(text: str) -> tuple[str, ...]:
    """The names that match the text typed so far, as they are shown."""
    word = text.strip().lower()
    return tuple(each.names[0] for each in COMMANDS if any(name.startswith(word) for name in each.names))


def _named(word: str) -> _Command | str:
    exact = [each for each in COMMANDS if word in each.names]
    if exact:
        return exact[0]
    begun = [each for each in COMMANDS if any(name.startswith(word) for name in each.names)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        return f":{word} could be {' or '.join(each.names[0] for each in begun)}"
    shown = {name: each.names[0] for each in COMMANDS for name in each.names}
    near = matches(word, shown)
    meant = (
        f": did you mean :{shown[near[0]]}?" if near else f": there are {', '.join(each.names[0] for each in COMMANDS)}"
    )
    return f"there is no :{word}{meant}"


# The line at the foot of a screen: coloured keys with grey descriptions, the most important first; a click presses a
# key.


_GAP = "  "
HELP = "?"
"""The key that lists all others: its hint is never omitted."""


def _room(hint: Hint) -> int:
    return cells(hint.key) + bool(hint.words) + cells(hint.words)


def fitting(hints: Sequence[Hint], room: int, more: str) -> tuple[Hint, ...]:
    """The first hints that fit, and the help; `more_key` marks omitted hints."""
    kept = list(hints)
    while sum(map(_room, kept)) + len(_GAP) * (len(kept) - 1) > room:
        dropped = next((at for at in range(len(kept) - 1, -1, -1) if kept[at].key not in (HELP, more)), None)
        if dropped is None:
            break
        del kept[dropped]
        if not any(each.key == more for each in kept):
            kept.append(Hint(more, ""))
    return tuple(kept)


def look_of(widget: Widget) -> Look:
    """The appearance for the app of this widget; apps in tests may not define it."""
    return Look(ascii=getattr(widget.app, "only_ascii", False))


class FootBar(Static):
    """The hint line. Redrawn when its width or the theme changes. Mutable."""

    _hints: tuple[Hint, ...] = ()
    _theme = ""
    _drawn: Content | None = None
    _clicks: tuple[tuple[int, str], ...] = ()  # (end column, action of a click)

    def show(self, hints: Sequence[Hint]) -> None:
        if (tuple(hints), self.app.theme) != (self._hints, self._theme):
            self._hints, self._theme = tuple(hints), self.app.theme
            self._draw()

    def on_resize(self) -> None:
        self._draw()

    async def on_click(self, event: events.Click) -> None:
        action = next((action for end, action in self._clicks if event.x - self.gutter.left < end), "")
        if action:
            await self.screen.run_action(action)

    def _draw(self) -> None:
        look = look_of(self)
        said = [each._replace(key=shown(each.key, look), words=shown(each.words, look)) for each in self._hints]
        room = self.size.width or self.app.size.width - self.gutter.width
        key = Style(foreground=Color.parse(self.app.theme_variables["st-key"]), bold=True)
        parts: list[str | tuple[str, str | Style]] = []
        clicks: list[tuple[int, str]] = []
        end = 0
        for hint in fitting(said, room, look.ellipsis):
            lead = _GAP if parts else ""
            end += len(lead)
            keys = hint.key.split(" ")
            actions = hint.actions if len(hint.actions) == len(keys) else ("",) * len(keys)
            for at, (each, action) in enumerate(zip(keys, actions, strict=True)):
                parts += [(" " if at else lead), (each, key)]
                end += cells(each) + bool(at)
                clicks.append((end, action))
            parts.append(f" {hint.words}" if hint.words else "")
            end += bool(hint.words) + cells(hint.words)
            clicks.append((end, actions[0] if len(keys) == 1 else ""))
        self._clicks = tuple(clicks)
        drawn = Content.assemble(*parts)
        if self._drawn is None or not drawn.is_same(self._drawn):
            self._drawn = drawn
            self.update(drawn, layout=False)


# A line at the head of a screen, made of parts: the least important parts are omitted on a narrow terminal.


class HeadLine(Static):
    """Mutable: its parts. Redrawn when its width changes, if the text differs."""

    _parts: tuple[FittingText, ...] = ()
    _gap = "  "
    _drawn: Content | None = None

    def show(self, parts: Sequence[FittingText], gap: str = "  ") -> None:
        self._parts, self._gap = tuple(parts), gap
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        look = look_of(self)
        gap = self._gap if not look.ascii else look.signs(self._gap)
        said: list[str | tuple[str, str | Style]] = []
        for part in fitted(self._parts, self.size.width or self.app.size.width - self.gutter.width, gap, look):
            said += [gap] if said else []
            said.append((f" {part.text} " if part.badge else part.text, self._style(part)))
        drawn = Content.assemble(*said)
        if self._drawn is None or not drawn.is_same(self._drawn):
            self._drawn = drawn
            self.update(drawn, layout=False)

    def _style(self, part: FittingText) -> Style:
        if part.tone is Tone.TITLE:
            return Style(bold=True)
        colour = "" if part.tone is None else self.app.theme_variables.get(f"st-{part.tone.name.lower()}", "")
        return Style(
            foreground=Color.parse(colour) if colour else None, bold=part.badge or None, reverse=part.badge or None
        )
