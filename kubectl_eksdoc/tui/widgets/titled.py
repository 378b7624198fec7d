"""Titles of a frame that draw it anew only when they change: Textual does so whenever they are given."""

from __future__ import annotations

from textual.widget import Widget


class Titled(Widget):
    """Mutable: the titles as they were given last, as markup."""

    _title = ""
    _subtitle = ""

    def entitle(self, title: str) -> None:
        if title != self._title:
            self._title = self.border_title = title

    def subtitle(self, subtitle: str) -> None:
        if subtitle != self._subtitle:
            self._subtitle = self.border_subtitle = subtitle
