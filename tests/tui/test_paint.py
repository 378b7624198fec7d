"""Incremental painting gives the same result as a full paint by Textual: every character and colour."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from textual._compositor import Compositor
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip

from kubectl_eksdoc.tui.app import EksdocApp
from kubectl_eksdoc.tui.line_table import LineTable
from kubectl_eksdoc.tui.tables.pods import text_sheet
from tests.examples import one_in
from tests.tui.pilots import NARROW, WIDE, Drives, a_demo, planned
from tests.tui.shared import with_own

_PART = re.compile(r"\x1b\[(\d+);(\d+)H|\x1b\[([\d;]*)m|(\n)|(.)")

Cells = list[list[tuple[str, str]]]


class Terminal(EksdocApp):
    """Each painted cell with its colours, the number of cells painted since the last check, and the number of paints.
    Mutable."""

    def __init__(self, size: tuple[int, int]) -> None:
        super().__init__(a_demo())
        self.cells: Cells = [[(" ", "")] * size[0] for _ in range(size[1])]
        self.painted = 0
        self.frames = 0

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        if renderable is not None and screen is self.screen:
            self.frames += 1
            row = column = 0
            colours = ""
            for y, x, sgr, line, sign in _PART.findall(renderable.render_segments(self.console)):
                if y:
                    row, column = int(y) - 1, int(x) - 1
                elif sign:
                    if column < len(self.cells[row]):  # a closing widget has no room for its frames
                        self.cells[row][column] = sign, colours
                    column += 1
                    self.painted += 1
                elif line:
                    row += 1
                else:
                    colours = "" if sgr == "0" else sgr
        super()._display(screen, renderable)


def by_textual(screen: Screen[Any]) -> Cells:
    """A full paint by Textual's own painter."""
    for widget in screen.query("*"):
        widget._styles_cache.clear()
    whole: Region = screen.size.region
    painter = screen._compositor
    lines = [Strip.join(parts.values()) for parts in Compositor._render_chops(painter, whole, lambda y: True)]
    made: Cells = []
    for line in lines:
        colours, row = "", []
        for _, _, sgr, _, sign in _PART.findall(line.render(screen.app.console)):
            if sign:
                row.append((sign, colours))
            else:
                colours = "" if sgr == "0" else sgr
        made.append(row)
    return made


KEYS = (
    ("j", "j", "space", "ctrl+f", "j", "ctrl+b", "k", "G", "g"),
    ("2", "j", "1", "3", "j", "4", "space", "1", "tab", "j", "tab"),
    ("w", "l", "l", "j", "h", "w", "f", "f", "question_mark", "escape"),
    ("slash", "b", "l", "escape", "o", "j", "escape", "enter", "j", "escape", "tab", "j", "tab"),
)


@pytest.mark.parametrize(("keys", "size"), one_in(3, list(product(KEYS, (WIDE, NARROW)))))
def test_pieces_add_up_to_the_whole(keys: tuple[str, ...], size: tuple[int, int]) -> None:
    app = Terminal(size)

    async def work(pilot: Drives) -> None:
        await planned(pilot)
        for key in keys:
            await pilot.press(key)
            await planned(pilot)
            for _ in range(100):  # some parts are painted later
                if app.cells == by_textual(app.screen):
                    break
                await pilot.pause(0.05)
            assert app.cells == by_textual(app.screen), key

    with_own(app, size, work)


def test_a_key_paints_the_rows_that_differ_and_a_page_of_the_screens_is_painted_once() -> None:
    app = Terminal(WIDE)
    columns, rows = WIDE

    async def work(pilot: Drives) -> None:
        async def painted(key: str) -> int:
            app.painted = 0
            await pilot.press(key)
            await pilot.pause(0.2)
            return app.painted

        await planned(pilot)
        for key in "2121":
            await painted(key)
        assert 0 < await painted("j") < 3 * columns
        assert (rows - 4) * columns < await painted("2") < 1.2 * rows * columns

    with_own(app, WIDE, work)


def test_the_text_beside_a_row_is_painted_with_the_row_and_nothing_is_laid_out() -> None:
    app = Terminal(WIDE)
    layouts: list[object] = []

    async def work(pilot: Drives) -> None:
        await planned(pilot)
        await pilot.press("3", "j")  # to texts that need a scroll bar
        await planned(pilot)
        screen = app.screen
        screen.screen_layout_refresh_signal.subscribe(screen, layouts.append)
        for key in "jkj":
            before = app.frames
            await pilot.press(key)
            await pilot.pause(0.2)
            assert app.frames == before + 1
            assert app.cells == by_textual(screen)
        screen.screen_layout_refresh_signal.unsubscribe(screen)

    with_own(app, WIDE, work)
    assert not layouts


def test_the_scroll_bar_is_where_the_rows_are_when_it_is_shown_again() -> None:
    """A former bug: its thumb stayed at the end when few rows replaced many, and many rows replaced those."""
    app = Terminal(WIDE)

    async def work(pilot: Drives) -> None:
        await planned(pilot)
        table = app.screen.query_one("#page-plan #budgets", LineTable)
        many, few = table.sheet, text_sheet(("none",))
        table.to_end()
        await pilot.pause()
        assert table.scroll_y > 0
        for sheet in (few, many):
            table.show(sheet)
            await pilot.pause()
        assert table.show_vertical_scrollbar
        assert table.vertical_scrollbar.position == table.scroll_y

    with_own(app, WIDE, work)
