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

from kubectl_eksdoc.errors import close_matches, did_you_mean
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.knowledge import from_json, knowledge_file
from kubectl_eksdoc.report.text import Appearance, Tone, join_words, printable

from .tables.pods import cell_width
from .words import FittingText, fit_parts

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
    subject: str = ""


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
    (empty: everywhere). `foot`: its place at the foot of the screen, 0 for help only. `given`: the argument of
    its action, None for none."""

    id: str
    keys: str
    action: str
    words: str
    part: HelpPart
    shown: str = ""
    pages: tuple[ScreenPage, ...] = ()
    foot: int = 0
    given: Any = None

    def other_pages_only(self, page: ScreenPage) -> str:
        """The pages where the key works, in a clause, if it does nothing on `page`; else ""."""
        if not self.pages or page in self.pages:
            return ""
        return f"on {join_words([f'[{each.value}]' for each in self.pages])} only ({self.words.split(' (')[0]})"

    @property
    def is_at_foot(self) -> bool:
        """Whether it has a hint, alone or together with other keys."""
        return bool(self.foot) or self.action in _SHARED_PLACES


PROMPT_ACTIONS = frozenset({"filter", "prompt"})
"""Actions of keys that open an input line: their bindings have priority, so that even a fast next key goes to that
line. (The key after m is a binding; `screen.PlanScreen.handles_key` handles both.)"""

_MARK_PLACE, _COPY_PLACE, _PAGES_PLACE, _KNOBS_PLACE = 1, 3, 6, 8
"""Places at the foot."""

_SHARED_PLACES = {
    "page": (_PAGES_PLACE, "pages"),
    "parallel": (_KNOBS_PLACE, "knobs"),
    "grace": (_KNOBS_PLACE, "knobs"),
}
"""Actions whose keys share a place."""


def load_keys(screens: str) -> tuple[KeyBinding, ...]:
    """The keys of plans (``plan``), runs (``run``) or replays (``replay``), in the order of the help."""
    bindings = (from_json(KeyBinding, each) for each in knowledge_file("keys")[screens])
    return tuple(key if key.shown else replace(key, shown=key.keys) for key in bindings)


PLAN_KEYS = load_keys("plan")


class Hint(NamedTuple):
    """A hint at the foot of a screen: `key` for users, several separated by spaces, and their effect. `actions`: the
    action of a click on each key; empty if nothing is clickable."""

    key: str
    words: str
    actions: tuple[str, ...] = ()


TYPING_HINTS = (Hint("enter", "keep"), Hint("esc", "show all"))
"""Hints while the user types a filter: other keys are letters."""


def key_hint(keys: Sequence[KeyBinding], words: str = "") -> Hint:
    """The hint of one key, or of several keys that share their `words`."""
    description = words or keys[0].words.split(",")[0].split(" (")[0]
    return Hint(" ".join(key.shown.split()[0] for key in keys), description, tuple(f"do('{key.id}')" for key in keys))


def foot_hints(
    page: ScreenPage, keys: Sequence[KeyBinding] = PLAN_KEYS, copy_label: str | None = "", mark_label: str = "mark"
) -> tuple[Hint, ...]:
    """``space mark  m mark…  r run…``: the most useful first. `keys`: those that have an effect now; `copy_label`: what
    y copies here, None for nothing; `mark_label`: the effect of space."""
    keys_by_place = {key.foot: key for key in keys if key.foot and (not key.pages or page in key.pages)}
    if copy_label is None:
        keys_by_place.pop(_COPY_PLACE, None)
    labels = {_COPY_PLACE: copy_label or "", _MARK_PLACE: mark_label}
    hints = {place: key_hint([key], labels.get(place, "")) for place, key in keys_by_place.items()}
    for place, words in dict.fromkeys(_SHARED_PLACES.values()):
        if shared_keys := [key for key in keys if _SHARED_PLACES.get(key.action) == (place, words)]:
            hints[place] = key_hint(shared_keys, words)
    return tuple(hints[place] for place in sorted(hints))


CURSOR_KEYS = frozenset(
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

_NAMED_KEYS = frozenset(
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
_KEY_PATTERN = re.compile(r"(?:(?:ctrl|shift|alt)\+)*(?P<key>.+)\Z", re.DOTALL)
_FUNCTION_KEY = re.compile(r"f(?:[1-9]|1[0-9]|2[0-4])\Z")
_TEXTUAL_NAMES = {
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

    keys: tuple[KeyBinding, ...] = PLAN_KEYS
    problems: tuple[str, ...] = ()

    def by_id(self, key_id: str) -> KeyBinding:
        """The binding with this id, which must exist."""
        return next(key for key in self.keys if key.id == key_id)


RUN_KEY_PREFIX = "run-"
"""Prefix of the actions on the screens of runs."""


def plan_screen_keys(user_keys: Mapping[str, str]) -> dict[str, str]:
    return {name: keys for name, keys in user_keys.items() if not name.startswith(RUN_KEY_PREFIX)}


def run_screen_keys(user_keys: Mapping[str, str]) -> dict[str, str]:
    return {name: keys for name, keys in user_keys.items() if name.startswith(RUN_KEY_PREFIX)}


def textual_key_name(text: str) -> str:
    """Textual's name of a key written as ``x``, ``{``, ``ctrl+x``, ``space`` or ``f5``; "" if it is no key."""
    if len(text) == 1:
        return _symbol_name(text)
    match = _KEY_PATTERN.match(text)
    key = match["key"] if match else ""
    modifiers = text[: len(text) - len(key)]
    if len(key) == 1:
        return f"{modifiers}{_symbol_name(key)}" if _symbol_name(key) else ""
    is_known = key in _NAMED_KEYS or _FUNCTION_KEY.match(key) or key in _SYMBOL_NAMES
    return text if is_known else ""


def _symbol_name(char: str) -> str:
    if char.isalnum():
        return char
    if not char.isprintable():
        return ""
    name = unicodedata.name(char, "").lower().replace("-", "_").replace(" ", "_")
    return _TEXTUAL_NAMES.get(name, name)


_SYMBOL_NAMES = frozenset(_symbol_name(chr(code)) for code in range(33, 127) if not chr(code).isalnum())


def apply_user_keys(user_keys: Mapping[str, str], keys: Sequence[KeyBinding] = PLAN_KEYS) -> Keymap:
    """`user_keys`: keys by action name, several separated by commas. Invalid entries keep their default."""
    problems, mapped = [], {}
    ids = {key.id: key for key in keys}
    for name, text in user_keys.items():
        if name not in ids:
            problems.append(f"keys.json: there is no action {name!r}{did_you_mean(name, ids)}")
            continue
        user_spellings = [text] if text == "," else [part.strip() for part in text.split(",")]
        unknown = next((part for part in user_spellings if not textual_key_name(part)), None)
        cursor_key = next((part for part in user_spellings if textual_key_name(part) in CURSOR_KEYS), None)
        if unknown is not None:
            problems.append(
                f"keys.json: {unknown!r} is no key, so {_kept_key_text(ids[name])}; write v, ctrl+x, space or f5"
            )
        elif cursor_key is not None:
            problems.append(f"keys.json: {cursor_key!r} moves the cursor, so {_kept_key_text(ids[name])}")
        else:
            shown = " ".join(user_spellings)
            mapped[name] = replace(
                ids[name], keys=",".join(textual_key_name(part) for part in user_spellings), shown=shown
            )
    problems += _remove_clashes(mapped, ids)
    return Keymap(tuple(mapped.get(key.id, key) for key in keys), tuple(problems))


def _remove_clashes(mapped: dict[str, KeyBinding], ids: Mapping[str, KeyBinding]) -> list[str]:
    """Remove entries from `mapped` that share a key with another action, until there are none; a sentence for each."""
    problems: list[str] = []
    while True:
        owners: dict[str, list[str]] = defaultdict(list)
        for name, key in ids.items():
            for pressed in mapped.get(name, key).keys.split(","):
                owners[pressed].append(name)
        clash = next((names for names in owners.values() if len(names) > 1 and mapped.keys() & set(names)), None)
        if clash is None:
            return problems
        mapped_names = [name for name in clash if name in mapped]
        clashing_names = join_words([repr(name) for name in clash])
        problems.append(
            f"keys.json: {mapped[mapped_names[0]].shown!r} would be the key of {clashing_names}, "
            f"so {join_words([_kept_key_text(ids[name]) for name in mapped_names])}"
        )
        for name in mapped_names:
            del mapped[name]


def _kept_key_text(key: KeyBinding) -> str:
    return f"{key.id!r} stays on {key.shown}"


# Commands after the colon: names of pages and of key actions, k9s names included, matched by prefix.


@frozen
class _PromptCommand:
    """A command: the first of `names` is shown; `key`: the id of the key with the same effect, "" for none; `values`:
    allowed arguments, empty for none."""

    names: tuple[str, ...]
    key: str = ""
    values: tuple[str, ...] = ()


PROMPT_COMMANDS = tuple(from_json(_PromptCommand, each) for each in knowledge_file("keys")["commands"])


@frozen
class TypedCommand:
    """A typed command with its argument, "" for none."""

    command: _PromptCommand
    value: str = ""


def parse_command(text: str) -> TypedCommand | str:
    """The command, or the reason why there is none. A unique prefix of a name is sufficient."""
    words = text.strip().lower().split()
    if not words:
        return "nothing was typed"
    word, arguments = words[0], words[1:]
    match = _find_command(word)
    if isinstance(match, str):
        return match
    name = match.names[0]
    if not match.values:
        return TypedCommand(match) if not arguments else f":{name} takes nothing behind it"
    values = [value for value in match.values if len(arguments) == 1 and value.startswith(arguments[0])]
    if len(values) != 1:
        return f"write :{name} {' or '.join(match.values)}"
    return TypedCommand(match, values[0])


def command_candidates(text: str) -> tuple[str, ...]:
    """The names that match the text typed so far, as they are shown."""
    word = text.strip().lower()
    return tuple(each.names[0] for each in PROMPT_COMMANDS if any(name.startswith(word) for name in each.names))


def _find_command(word: str) -> _PromptCommand | str:
    exact = [each for each in PROMPT_COMMANDS if word in each.names]
    if exact:
        return exact[0]
    candidates = [each for each in PROMPT_COMMANDS if any(name.startswith(word) for name in each.names)]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        return f":{word} could be {' or '.join(each.names[0] for each in candidates)}"
    shown = {name: each.names[0] for each in PROMPT_COMMANDS for name in each.names}
    similar = close_matches(word, shown)
    suggestion = (
        f": did you mean :{shown[similar[0]]}?"
        if similar
        else f": there are {', '.join(each.names[0] for each in PROMPT_COMMANDS)}"
    )
    return f"there is no :{word}{suggestion}"


# The line at the foot of a screen: coloured keys with grey descriptions, the most important first; a click presses a
# key.


_GAP = "  "
HELP_KEY = "?"
"""The key that lists all others: its hint is never omitted."""


def _hint_width(hint: Hint) -> int:
    return cell_width(hint.key) + bool(hint.words) + cell_width(hint.words)


def fit_hints(hints: Sequence[Hint], width: int, more_key: str) -> tuple[Hint, ...]:
    """The first hints that fit, and the help; `more_key` marks omitted hints."""
    shown_hints = list(hints)
    while sum(map(_hint_width, shown_hints)) + len(_GAP) * (len(shown_hints) - 1) > width:
        dropped = next(
            (at for at in range(len(shown_hints) - 1, -1, -1) if shown_hints[at].key not in (HELP_KEY, more_key)), None
        )
        if dropped is None:
            break
        del shown_hints[dropped]
        if not any(each.key == more_key for each in shown_hints):
            shown_hints.append(Hint(more_key, ""))
    return tuple(shown_hints)


def appearance_of(widget: Widget) -> Appearance:
    """The appearance for the app of this widget; apps in tests may not define it."""
    return Appearance(ascii=getattr(widget.app, "only_ascii", False))


class FootBar(Static):
    """The hint line. Redrawn when its width or the theme changes. Mutable."""

    _hints: tuple[Hint, ...] = ()
    _theme = ""
    _shown_content: Content | None = None
    _click_actions: tuple[tuple[int, str], ...] = ()  # (end column, action of a click)

    def show(self, hints: Sequence[Hint]) -> None:
        if (tuple(hints), self.app.theme) != (self._hints, self._theme):
            self._hints, self._theme = tuple(hints), self.app.theme
            self._draw()

    def on_resize(self) -> None:
        self._draw()

    async def on_click(self, event: events.Click) -> None:
        action = next((action for end, action in self._click_actions if event.x - self.gutter.left < end), "")
        if action:
            await self.screen.run_action(action)

    def _draw(self) -> None:
        appearance = appearance_of(self)
        printable_hints = [
            key_text._replace(key=printable(key_text.key, appearance), words=printable(key_text.words, appearance))
            for key_text in self._hints
        ]
        width = self.size.width or self.app.size.width - self.gutter.width
        key_style = Style(foreground=Color.parse(self.app.theme_variables["st-key"]), bold=True)
        parts: list[str | tuple[str, str | Style]] = []
        click_actions: list[tuple[int, str]] = []
        end = 0
        for hint in fit_hints(printable_hints, width, appearance.ellipsis):
            gap_before = _GAP if parts else ""
            end += len(gap_before)
            keys = hint.key.split(" ")
            actions = hint.actions if len(hint.actions) == len(keys) else ("",) * len(keys)
            for index, (key_text, action) in enumerate(zip(keys, actions, strict=True)):
                parts += [(" " if index else gap_before), (key_text, key_style)]
                end += cell_width(key_text) + bool(index)
                click_actions.append((end, action))
            parts.append(f" {hint.words}" if hint.words else "")
            end += bool(hint.words) + cell_width(hint.words)
            click_actions.append((end, actions[0] if len(keys) == 1 else ""))
        self._click_actions = tuple(click_actions)
        content = Content.assemble(*parts)
        if self._shown_content is None or not content.is_same(self._shown_content):
            self._shown_content = content
            self.update(content, layout=False)


# A line at the head of a screen, made of parts: the least important parts are omitted on a narrow terminal.


class HeadLine(Static):
    """Mutable: its parts. Redrawn when its width changes, if the text differs."""

    _parts: tuple[FittingText, ...] = ()
    _gap = "  "
    _shown_content: Content | None = None

    def show(self, parts: Sequence[FittingText], gap: str = "  ") -> None:
        self._parts, self._gap = tuple(parts), gap
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        appearance = appearance_of(self)
        gap = self._gap if not appearance.ascii else appearance.transliterate(self._gap)
        content_parts: list[str | tuple[str, str | Style]] = []
        for part in fit_parts(self._parts, self.size.width or self.app.size.width - self.gutter.width, gap, appearance):
            content_parts += [gap] if content_parts else []
            content_parts.append((f" {part.text} " if part.badge else part.text, self._style(part)))
        content = Content.assemble(*content_parts)
        if self._shown_content is None or not content.is_same(self._shown_content):
            self._shown_content = content
            self.update(content, layout=False)

    def _style(self, part: FittingText) -> Style:
        if part.tone is Tone.TITLE:
            return Style(bold=True)
        colour = "" if part.tone is None else self.app.theme_variables.get(f"st-{part.tone.name.lower()}", "")
        return Style(
            foreground=Color.parse(colour) if colour else None, bold=part.badge or None, reverse=part.badge or None
        )
