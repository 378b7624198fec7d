"""A line at the head of a screen, made of parts: what matters least is left out where the terminal is narrow."""

from __future__ import annotations

from collections.abc import Sequence

from textual.color import Color
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.tui.fitting import FittingText, fitted


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
        look = Look(ascii=getattr(self.app, "only_ascii", False))
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
