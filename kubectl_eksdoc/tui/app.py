"""The application: what the process gives it, the first paint, and what comes from other threads."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.app import App
from textual.filter import LineFilter, NoColor
from textual.message import Message

from kubectl_eksdoc.tui import palette
from kubectl_eksdoc.tui.first import FirstScreen
from kubectl_eksdoc.tui.opening import Opening

if TYPE_CHECKING:
    from kubectl_eksdoc.tui.model import Facts
    from kubectl_eksdoc.tui.screen import PlanScreen


class EksdocApp(App[int]):
    """`opening` says what is read and what is marked; nothing else of the process is known here."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar = []
    CSS_PATH = "app.tcss"

    @dataclass
    class Progressed(Message):
        """So many objects of a kind were read."""

        kind: str
        count: int

    @dataclass
    class Read(Message):
        """The cluster was read."""

        facts: Facts

    @dataclass
    class NotRead(Message):
        """It was not, and why."""

        why: str
        remedy: str = ""

    def __init__(self, opening: Opening) -> None:
        super().__init__()
        self.opening = opening
        self.only_ascii = opening.ascii
        for theme in (palette.DARK_THEME, palette.LIGHT_THEME):
            self.register_theme(theme)
        self.theme = palette.LIGHT if opening.light else palette.DARK
        self.set_class(opening.plain, "-plain")
        self.set_class(opening.ascii, "-ascii")

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Where no colours are wanted there are none: by itself Textual makes them greys."""
        return [NoColor()] if self.opening.plain else super().get_line_filters()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """For Textual's own themes, which do not know them."""
        return dict(palette.DARK_THEME.variables)

    def on_mount(self) -> None:
        self._tidy_when_told_to_stop()
        if "kubectl_eksdoc.tui.screen" in sys.modules:
            self._open()
        else:
            self.push_screen(FirstScreen(_load, self._open))

    def _open(self) -> None:
        from kubectl_eksdoc.tui.screen import PlanScreen

        screen = PlanScreen(self.opening, self.read)
        if isinstance(self.screen, FirstScreen):
            self.switch_screen(screen)
        else:
            self.push_screen(screen)
        self.call_after_refresh(self.read)

    def _tidy_when_told_to_stop(self) -> None:
        """Without this the terminal is left as it is: alternate screen, no cursor, no echo."""
        import asyncio

        try:
            loop = asyncio.get_running_loop()
            for name in ("SIGTERM", "SIGHUP"):
                number = getattr(signal, name, None)
                if number is not None:
                    loop.add_signal_handler(number, self.exit, 128 + number)
        except (NotImplementedError, RuntimeError, ValueError):
            pass  # no such signals here, or not in the main thread

    def on_eksdoc_app_progressed(self, event: Progressed) -> None:
        self._main.progressed(event.kind, event.count)

    def on_eksdoc_app_read(self, event: Read) -> None:
        self._main.read(event.facts)

    def on_eksdoc_app_not_read(self, event: NotRead) -> None:
        self._main.not_read(event.why, event.remedy)

    @property
    def _main(self) -> PlanScreen:
        from kubectl_eksdoc.tui.screen import PlanScreen

        return next(screen for screen in self.screen_stack if isinstance(screen, PlanScreen))

    def read(self) -> None:
        """The cluster, in a thread: it may take long, and loads much."""
        threading.Thread(target=self._read, name="reader", daemon=True).start()

    def _read(self) -> None:
        from kubectl_eksdoc.errors import EksdocError
        from kubectl_eksdoc.tui.model import Facts
        from kubectl_eksdoc.tui.sheets.nodes import facts_of

        def tell(kind: str, count: int) -> None:
            self.post_message(self.Progressed(kind, count))

        try:
            cluster = self.opening.read(tell)
            self.post_message(self.Read(Facts(cluster, facts_of(cluster))))
        except EksdocError as error:
            self.post_message(self.NotRead(error.message, error.hint))
        except Exception as error:  # a bug must not leave a screen that waits for ever
            self.post_message(self.NotRead(f"this is a bug in kubectl eksdoc, please report it: {error!r}"))


def _load() -> None:
    import kubectl_eksdoc.tui.screen  # noqa: F401 - facts, plans and all pages
