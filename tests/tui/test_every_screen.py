"""Every screen on terminals of three sizes, dark, light and without colours: its golden file, and that all text is
readable.

A golden file has the text of a scene in each size, and below it the roles of its colours (`tests.tui.screen_text`). The
roles are the same in the light theme; without colours the text is the same.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.widgets import Input

from kubectl_eksdoc.tui import base_app as framed
from kubectl_eksdoc.tui.keymap import FootBar, HeadLine, textual_key_name
from tests.examples import one_in
from tests.report.golden import check_golden
from tests.tui.pilots import Drives
from tests.tui.scenes import SCENES
from tests.tui.screen_text import Seen, pale, seen

GOLDEN = Path(__file__).parent / "golden" / "screens"
SIZES = ((120, 36), (80, 24), (60, 20))
LEAST = 4.5
"""Of what is to be read, by WCAG 2.1 (1.4.3)."""

FRAMES = tuple("╭╰┏┗")
HEAVY = str.maketrans("┏━┓┃┗┛╔═╗║╚╝", "╭─╮│╰╯╭─╮│╰╯")
"""The frame that has the focus, and that of a dialog, where no colour says so."""


async def look_at(app: App[int], pilot: Drives, theme: str, plain: bool = False) -> Seen:
    if (theme, plain) != (app.theme, app.has_class("-plain")):
        app.theme, app._plain = theme, plain  # type: ignore[attr-defined]
        app.set_class(plain, "-plain")
        await pilot.pause()
        for bar in app.screen.query(FootBar):
            bar.show(bar._hints)
        for head in app.screen.query(HeadLine):
            head.show(head._parts, head._gap)
        app.screen.refresh(layout=True, recompose=False)
        for widget in app.screen.query("*"):
            widget.refresh()
        await pilot.pause()
    return seen(app)


def told(found: Seen, size: tuple[int, int]) -> str:
    return f"== {size[0]}x{size[1]}\n{found.text}--\n{found.roles}"


@pytest.mark.parametrize("name", one_in(10, list(SCENES)))
def test_every_screen_looks_like_this_and_can_be_read(name: str) -> None:
    looks: list[str] = []
    figures: list[set[str]] = []

    async def see(app: App[int], pilot: Drives) -> None:
        for field in app.screen.query(Input):
            field.cursor_blink = False
        for size in SIZES:
            if app.size != size:
                await pilot.resize_terminal(*size)
                await pilot.pause(0.1)  # the screen behind a dialog is drawn later
                await pilot.pause()
            dark = await look_at(app, pilot, framed.DARK)
            light = await look_at(app, pilot, framed.LIGHT)
            plain = await look_at(app, pilot, framed.DARK, plain=True)
            looks.append(told(dark, size))
            assert light.text == dark.text
            assert light.roles == dark.roles
            assert plain.text.translate(HEAVY) == dark.text.translate(HEAVY)
            assert all(look.contrast is None for row in plain.rows for _, look in row), "there is a colour"
            if isinstance(app.screen.focused, Input):
                assert any(look.role.endswith("~") for row in plain.rows for _, look in row), "there is no cursor"
            assert [*pale(dark, LEAST), *pale(light, LEAST)] == []
            assert dead_keys(app) == []
            if not dark.is_dialog:
                figures.append(figures_of(dark.text))
                assert figures[-1] <= figures[0], "one is cut"
            await look_at(app, pilot, framed.DARK)

    SCENES[name](see)
    check_golden(GOLDEN / f"{name}.txt", "".join(looks))


def dead_keys(app: App[int]) -> list[str]:
    """Keys in the footer that do nothing on this screen, or only report why not."""
    screen: Any = app.screen
    refusal = getattr(screen, "refusal", getattr(screen, "why_not", None))
    ids = {key.id: key for key in screen.keymap.keys} if hasattr(screen, "keymap") else {}
    dead = []
    for hint in (hint for bar in screen.query(FootBar) for hint in bar._hints):
        called = [ids[found[1]] for action in hint.actions if (found := _DOES.match(action)) and found[1] in ids]
        dead += [f"{key.shown}: {refusal(key)}" for key in called if refusal(key)]
        if not called and not hint.actions and hint.words:
            dead += [
                each
                for each in hint.key.split()
                if textual_key_name(_LONG.get(each, each)) not in screen.active_bindings
            ]
    return dead


_DOES = re.compile(r"do\('(.*)'\)")
_LONG = {"esc": "escape"}


def figures_of(text: str) -> set[str]:
    """The figures in the head and in frame titles: a smaller terminal may omit one, but never cuts one."""
    lines = text.splitlines()
    head = next((at for at, line in enumerate(lines) if line[:1] in FRAMES), 0)
    kept = [*lines[:head], *(line for line in lines if line[:1] in FRAMES)]
    return {word.strip(",.;:()") for line in kept for word in line.split() if any(map(str.isdigit, word))}
