"""The application: what the process gives it, the first paint, and what comes from other threads."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from kubectl_eksdoc.tui.framed import Framed
from kubectl_eksdoc.tui.opening import Opening

if TYPE_CHECKING:
    from kubectl_eksdoc.tui.model import Facts
    from kubectl_eksdoc.tui.run.following import Following
    from kubectl_eksdoc.tui.screen import PlanScreen


class EksdocApp(Framed):
    """`opening` says what is read and what is marked; nothing else of the process is known here."""

    _following: Following | None = None

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
        super().__init__(ascii=opening.ascii, plain=opening.plain, light=opening.light)
        self.opening = opening

    def on_mount(self) -> None:
        self.tidy_when_told_to_stop()
        from kubectl_eksdoc.tui.screen import PlanScreen

        self.push_screen(PlanScreen(self.opening, self.read, lambda: self.following))
        self.call_after_refresh(self.read)

    def on_eksdoc_app_progressed(self, event: Progressed) -> None:
        self._main.progressed(event.kind, event.count)

    def on_eksdoc_app_read(self, event: Read) -> None:
        self._main.read(event.facts)

    def on_eksdoc_app_not_read(self, event: NotRead) -> None:
        self._main.not_read(event.why, event.remedy)

    @property
    def following(self) -> Following:
        """The run of this process. Only where runs can be begun: `Opening.desk` is there."""
        from kubectl_eksdoc.tui.run.following import Following

        if self._following is None:
            assert self.opening.desk is not None, "keys of runs have looked"
            self._following = Following(self, self.opening.desk, self.read)
        return self._following

    @property
    def runs_something(self) -> bool:
        return self._following is not None and self._following.under_way

    async def action_quit(self) -> None:
        """A run is never left by a key: it is asked what becomes of it."""
        if self.runs_something:
            self.following.ask_what_next()
        else:
            self.exit(0)

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
