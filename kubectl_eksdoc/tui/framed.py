"""What every application of ours has: its looks, and that it leaves the terminal as it found it."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from textual.app import App
from textual.driver import Driver
from textual.filter import LineFilter, NoColor
from textual.notifications import Notify
from textual.screen import ModalScreen

from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.text import shown
from kubectl_eksdoc.tui import palette
from kubectl_eksdoc.tui.small import TooSmall, lines, too_small

SCREENS_CSS = Path(__file__).with_name("screens.tcss")
"""The styles of whatever comes after the first paint, for the screen over which all others lie."""

ROOMY = 100
"""Columns in which a dialog and what is told for a moment have room beside each other, mostly."""

LOOK_S = 1.0
"""So often it is looked whether the terminal is still there."""


class Framed(App[int]):
    """`only_ascii`: no other sign is drawn; `plain`: no colour is."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar = []
    CSS_PATH = Path(__file__).with_name("first.tcss")  # what else is parsed before the first paint is waited for

    def __init__(self, *, ascii: bool, plain: bool, light: bool) -> None:
        super().__init__()
        self.only_ascii = ascii
        self.is_leaving = False  # widgets go one by one then
        self._plain = plain
        for theme in (palette.DARK_THEME, palette.LIGHT_THEME):
            self.register_theme(theme)
        if light:
            self.theme = palette.LIGHT
        else:  # Textual's own is dark, too; the usual way would parse all styles twice before the first paint
            self.set_reactive(Framed.theme, palette.DARK)
            self.stylesheet.set_variables(self.get_css_variables())
        self.set_class(plain, "-plain")
        self.set_class(ascii, "-ascii")

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Where no colours are wanted there are none: by itself Textual makes them greys."""
        return [NoColor()] if self._plain else super().get_line_filters()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """For Textual's own themes, which do not know them."""
        return dict(palette.DARK_THEME.variables)

    def get_driver_class(self) -> type[Driver]:
        usual = super().get_driver_class()
        if usual.__name__ != "LinuxDriver":  # of macOS, too; not of Windows
            return usual
        from kubectl_eksdoc.tui.terminal import TerminalDriver

        return TerminalDriver

    def hear_signals(self) -> None:
        """Without this the terminal is left as it is: alternate screen, no cursor, no echo. In the event loop."""
        import asyncio

        try:
            loop = asyncio.get_running_loop()
            for name in ("SIGTERM", "SIGHUP"):
                number = getattr(signal, name, None)
                if number is not None:
                    loop.add_signal_handler(number, self.exit, 128 + number)
        except (NotImplementedError, RuntimeError, ValueError):
            pass  # no such signals here, or not in the main thread

    def leave_when_left(self) -> None:
        """That the terminal is not there any more is as if one was told to stop."""
        self.set_interval(LOOK_S, self._leave_when_left)

    def _leave_when_left(self) -> None:
        if getattr(self._driver, "is_left", False):
            self.exit(128 + signal.SIGHUP)

    def on_notify(self, event: Notify) -> None:
        """Before Textual shows it: what is told once more takes the place of what was told, and does not pile up."""
        message = event.notification.message
        for told in [each for each in self._notifications if each.message == message]:
            self._unnotify(told, refresh=False)

    def exit(self, *args: Any, **more: Any) -> None:
        self.is_leaving = True
        super().exit(*args, **more)

    async def action_quit(self) -> None:
        self.exit(0)

    def action_help_quit(self) -> None:
        """Ctrl-C."""
        self.run_worker(self.action_quit())

    def push_screen(self, *args: Any, **more: Any) -> Any:
        if args and isinstance(args[0], ModalScreen) and self.size.width < ROOMY:
            self.clear_notifications()  # they would lie over what is asked
        pushed = super().push_screen(*args, **more)
        self.call_later(self.fit)
        return pushed

    def on_resize(self) -> None:
        self.call_later(self.fit)  # when its size is known here, too

    def fit(self) -> None:
        """Where there is no room for a screen, a message lies over it; keys go where they went."""
        columns, rows = self.size
        small = too_small(columns, rows)
        for screen in self.screen_stack:
            covers = screen.query(TooSmall)
            if not small:
                covers.remove()
                continue
            look = Look(ascii=self.only_ascii)
            told = lines(columns, rows, [shown(line, look) for line in self.run_in_short()])
            said = "\n".join(told).replace("[", r"\[")
            for cover in covers:
                cover.update(said)
            if not covers and screen.is_mounted:
                screen.mount(TooSmall(said))

    def run_in_short(self) -> list[str]:
        """What must be seen of a run that is under way where there is no room for its screen, and its keys."""
        return []
