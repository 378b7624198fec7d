"""A table of Textual's own, with as many rows as ours has in the benchmarks: what a key costs in it says how fast this
machine is at that kind of work, at that moment."""

from __future__ import annotations

import sys

from textual.app import App, ComposeResult
from textual.widgets import OptionList


class Table(App[None]):
    def compose(self) -> ComposeResult:
        yield OptionList(*(f"row {at:05} {'of a plain table of Textual ' * 3}" for at in range(int(sys.argv[1]))))


if __name__ == "__main__":
    Table().run()
