"""[d] on a pod: what the cluster says of it now, at the side of what it was opened from."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from kubectl_eksdoc.drain.report.pod import pod_lines
from kubectl_eksdoc.model.interruption import PodReport
from kubectl_eksdoc.report.text import shown
from kubectl_eksdoc.tui.footer import FootBar, look_of
from kubectl_eksdoc.tui.keymap import Hint
from kubectl_eksdoc.tui.panel import Answered, Prose, ask
from kubectl_eksdoc.tui.tables.pods import Line

_FOOT = (
    Hint("esc", "close", ("dismiss",)),
    Hint("d", "describe", ("first(False)",)),
    Hint("l", "logs", ("first(True)",)),
    Hint("ctrl+r", "read again", ("read",)),
    Hint("j k", "scroll"),
)


class PodPanel(ModalScreen[None]):
    """`read` is called in a thread of its own: it asks the cluster. Mutable: what was answered last, and what of it
    comes first."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    BINDINGS = [
        ("escape,q,enter", "dismiss"),
        ("d", "first(False)"),
        ("l", "first(True)"),
        ("ctrl+r", "read"),
    ]

    def __init__(self, pod: str, read: Callable[[str], PodReport], now: Callable[[], datetime]) -> None:
        super().__init__()
        self._pod, self._read, self._now, self._logs = pod, read, now, False
        self._answer: PodReport | list[Line] = ["The cluster is asked…"]

    def compose(self) -> ComposeResult:
        with Vertical(id="side"):
            yield Prose(id="about-pod")
            yield FootBar(id="foot")

    def on_mount(self) -> None:
        look = look_of(self)
        self.query_one("#side").border_title = shown(self._pod, look).replace("[", r"\[")
        self.query_one(FootBar).show(_FOOT)
        self.query_one(Prose).focus()
        self.action_read()

    def action_read(self) -> None:
        ask(self, "pod", lambda: self._read(self._pod))
        self._show()

    def action_first(self, logs: bool) -> None:
        """What is known already, in that order."""
        self._logs = logs
        self._show()

    @on(Answered)
    def _answered(self, event: Answered) -> None:
        self._answer = event.answer if isinstance(event.answer, PodReport) else list(event.lines)
        self._show()

    def _show(self) -> None:
        known = self._answer
        lines = pod_lines(known, self._now(), self._logs) if isinstance(known, PodReport) else known
        self.query_one(Prose).show(lines)
