"""What a benchmark is asked to do, and the lines of figures it answers with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One measured figure; None: there was nothing to measure. `limit` None: only told; `at_least`: more is better."""

    what: str
    value: float | None
    unit: str
    limit: float | None = None
    at_least: bool = False

    @property
    def met(self) -> bool | None:
        if self.limit is None:
            return None
        if self.value is None:
            return False
        return self.value >= self.limit if self.at_least else self.value <= self.limit


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure, and with which kubectl ("" when there is none).

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
    """Markdown, which reads well as it is."""
    rows = ["| what | measured | target | |", "|---|---|---|---|"]
    for line in lines:
        limit = "" if line.limit is None or not targets else f"{'≥' if line.at_least else '≤'} {_number(line.limit)}"
        verdict = "" if not limit else "met" if line.met else "MISSED"
        measured = "nothing" if line.value is None else f"{_number(line.value)} {line.unit}"
        rows.append(f"| {line.what} | {measured} | {limit} | {verdict} |")
    return "\n".join(rows)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
