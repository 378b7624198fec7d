"""What is painted first: the frame of the screens, while all that they are made of is loaded behind it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static


class FirstScreen(Screen[None]):
    """Made of next to nothing, because every import before the first paint is waited for by somebody."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "app.quit", "quit", show=False)]

    def __init__(self, load: Callable[[], object], loaded: Callable[[], object]) -> None:
        """`load` is called in a thread once this is seen, and then `loaded` by the app."""
        super().__init__()
        self._load = load
        self._loaded = loaded

    def compose(self) -> ComposeResult:
        yield Static("eksdoc  reading the cluster…", id="identity")
        yield Static(id="line", markup=False)
        nodes = Static(id="nodes", classes="framed")
        nodes.border_title = r"\[1] Nodes"
        yield nodes
        yield Static("q quit", id="foot")

    def on_mount(self) -> None:
        app = self.app  # which may be over by the time when it is asked
        self.call_after_refresh(threading.Thread(target=self._work, args=(app,), name="loader", daemon=True).start)

    def on_key(self, event: events.Key) -> None:
        """It comes too early for what it does, and is not silent about it."""
        if event.is_printable and event.key != "q":
            self.query_one("#line", Static).update(f"{event.character}: nothing is read yet")

    def _work(self, app: App[object]) -> None:
        try:
            self._load()
        finally:  # whatever went wrong is raised again by whoever wants to use it
            if app.is_running:
                app.call_from_thread(app.call_later, self._loaded)
