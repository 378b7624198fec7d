"""A minimal terminal app that answers a key: the baseline for the measurements of our screens."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.events import Key
from textual.widgets import Static


class Hello(App[None]):
    """Mutable: the number of pressed keys."""

    count = 0

    def compose(self) -> ComposeResult:
        yield Static("hello world")

    def on_key(self, event: Key) -> None:
        self.count += 1
        self.query_one(Static).update(f"hello <{self.count}>")


if __name__ == "__main__":
    Hello().run()
