"""The line at the foot of a screen: keys in colour, what they do in grey, the most important first; a click presses."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.color import Color
from textual.content import Content
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

from kubectl_eksdoc.report.text import Look, Tone, shown

from .keymap import Hint
from .tables.pods import cells
from .words import FittingText, fitted

_GAP = "  "
HELP = "?"
"""The key that lists all others: it is never left out."""


def _room(hint: Hint) -> int:
    return cells(hint.key) + bool(hint.words) + cells(hint.words)


def fitting(hints: Sequence[Hint], room: int, more: str) -> tuple[Hint, ...]:
    """As many of the first as there is room for, and the help; `more` behind them says that some are left out."""
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
    """How the app that it is in draws; apps of tests may not say."""
    return Look(ascii=getattr(widget.app, "only_ascii", False))


class FootBar(Static):
    """Mutable: the hints that are shown. Drawn again when its width or the theme changes."""

    _hints: tuple[Hint, ...] = ()
    _theme = ""
    _drawn: Content | None = None
    _clicks: tuple[tuple[int, str], ...] = ()  # up to which column a click does what

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


# A line at the head of a screen, made of parts: what matters least is left out where the terminal is narrow.


class HeadLine(Static):
    """Mutable: the parts that are shown. Drawn again when its width changes; what reads as it did is not."""

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
