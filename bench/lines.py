"""The parameters of a benchmark, and the lines of figures that it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

HELLO_KEY_MS = 1.8
"""A key of hello.py on the machine on which the limits of keys were set: CPU of the thread that draws, the median."""


@dataclass(frozen=True, slots=True)
class Line:
    """One measured figure; None: there was nothing to measure. `limit` None: for information only; `at_least`: more is
    better. `machine`: the time of a reference measurement beside it, divided by its time where the limit was set
    (`HELLO_KEY_MS`)."""

    what: str
    value: float | None
    unit: str
    limit: float | None = None
    at_least: bool = False
    machine: float | None = None

    @property
    def judged(self) -> float | None:
        """The figure, converted to the machine on which the limit was set."""
        return self.value if self.value is None or self.machine is None else self.value / self.machine

    @property
    def met(self) -> bool | None:
        if self.limit is None:
            return None
        if self.judged is None:
            return False
        return self.judged >= self.limit if self.at_least else self.judged <= self.limit


@dataclass(frozen=True, slots=True)
class Plan:
    """The amount to measure, and the kubectl to use ("" if there is none).

    `pods` are those of a server, `nodes` those of the smaller of two clusters that are planned, `dumped` the pods
    of a snapshot.
    """

    times: int
    pods: int
    nodes: int
    dumped: int
    kubectl: str
    env: dict[str, str]


def table(lines: Sequence[Line], targets: bool) -> str:
    """A table in Markdown, which is readable without rendering."""
    rows = ["| what | measured | machine | judged | target | |", "|---|---|---|---|---|---|"]
    for line in lines:
        limit = "" if line.limit is None or not targets else f"{'≥' if line.at_least else '≤'} {_number(line.limit)}"
        verdict = "" if not limit else "met" if line.met else "MISSED"
        measured = "nothing" if line.value is None else f"{_number(line.value)} {line.unit}"
        beside = ["", ""]
        if line.machine is not None and line.judged is not None:
            beside = [f"{line.machine:.2f}", f"{_number(line.judged)} {line.unit}"]
        rows.append(f"| {' | '.join((line.what, measured, *beside, limit, verdict))} |")
    if any(line.machine is not None for line in lines):
        rows += ["", _MACHINE]
    return "\n".join(rows)


_MACHINE = (
    "machine: what a key of a hello-world app took of the CPU here, pressed in turn with ours, as a multiple of "
    f"{HELLO_KEY_MS} ms, which it takes where the targets were set; judged: measured / machine, and what was measured "
    "where there is none."
)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
