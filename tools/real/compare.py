"""Compare the predictions of plan and rehearsal with the result of a run: pure, from their ``-o json``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations
from typing import Any, NamedTuple

from kubectl_eksdoc.model.quantities import go_duration

Doc = Mapping[str, Any]

FIFTH = 0.2
"""After this share of its pods a run knows how long they take to stop."""

NEAR = 0.2
"""An estimate within this share of the measured duration is right."""

_SAID = re.compile(r"(\d+) of (\d+) pods gone.*about (\S+)(?: to (\S+))? left")


class Left(NamedTuple):
    """The estimate of a run after a fifth of its pods: its end, in seconds from its begin; two for a range."""

    least_s: float
    most_s: float


@dataclass(frozen=True, slots=True)
class Compared:
    """One drain. `in_order`: the share of pairs of evictions in the order of the plan; `placed`: the share of
    replacements on the predicted nodes, node by node; each of rehearsal and run. Times in seconds from the begin to the
    end of the last node. `wrong`: sentences on predictions that did not hold."""

    stop_s: float
    measured: bool
    evictions: int
    in_order: tuple[float, float]
    placed: tuple[float, float]
    refused: tuple[int, int]
    bound_s: float
    p50_s: float
    p95_s: float
    rehearsed_s: float
    left: Left | None
    took_s: float
    held: int
    wrong: tuple[str, ...]

    @property
    def off(self) -> float:
        """How far the p50 is above the measured duration (negative: below), as a share of that."""
        return (self.p50_s - self.took_s) / self.took_s


def compared(stop_s: float, plan: Doc, rehearsal: Doc, events: Sequence[Doc], run: Doc, left: Left | None) -> Compared:
    """`events` are the DrainRunEvents of the run whose DrainRun is `run`."""
    planned = {_pod(each): float(each["atSeconds"] or 0) for each in plan["evictions"]}
    took_s = run["endedSeconds"] - run["readySeconds"]
    refused = (_refused(rehearsal), _refused(run))
    evicted = [each["subject"] for each in events if each["what"] == "evicted"]
    rehearsed = [each["subject"] for each in rehearsal["moments"] if each["what"] == "evicted"]
    bound_s = plan["lowerBound"]["seconds"]
    estimate = plan["estimate"]
    return Compared(
        stop_s=stop_s,
        measured=estimate["stopTimes"]["measured"] == estimate["stopTimes"]["workloads"],
        evictions=len(planned),
        in_order=(in_order(planned, rehearsed), in_order(planned, evicted)),
        placed=(_placed(run, rehearsal["placements"]), _placed(run, run["placements"], "planned")),
        refused=refused,
        bound_s=bound_s,
        p50_s=estimate["p50"],
        p95_s=estimate["p95"],
        rehearsed_s=rehearsal["endedSeconds"],
        left=left,
        took_s=took_s,
        held=sum(each["what"] == "held-by-name" for each in events),
        wrong=tuple(_wrong(planned, evicted, refused, bound_s, took_s, run)),
    )


def _wrong(
    planned: Mapping[str, float],
    evicted: Sequence[str],
    refused: tuple[int, int],
    bound_s: float,
    took_s: float,
    run: Doc,
) -> Iterator[str]:
    if run["outcome"] != "done":
        yield f"the run did not empty every node: {run['stopped'] or ', '.join(run['notEmptied'])}"
    if took_s < bound_s:
        yield f"the run took {took_s:.1f} s, less than its lower bound of {bound_s:.1f} s"
    if refused[1] and not refused[0]:
        yield f"{refused[1]} evictions were refused where none was predicted"
    if sorted(evicted) != sorted(planned):
        missing, others = sorted({*planned} - {*evicted}), sorted({*evicted} - {*planned})
        twice = sorted({pod for pod in evicted if evicted.count(pod) > 1})
        yield f"evictions are not those of the plan: missing {missing}, not planned {others}, twice {twice}"
    if run["onTargets"]:
        yield f"{run['onTargets']} replacements were scheduled onto targets"


def in_order(planned: Mapping[str, float], evicted: Iterable[str]) -> float:
    """The share of pairs that were evicted in the order of their planned times; pairs of the same time have no
    order."""
    times = [planned[pod] for pod in evicted if pod in planned]
    pairs = [(first, second) for first, second in combinations(times, 2) if first != second]
    return sum(first < second for first, second in pairs) / len(pairs) if pairs else 1.0


def _placed(run: Doc, predicted: Sequence[Doc], count: str = "scheduled") -> float:
    """The share of the run's replacements that are on the nodes for which `count` of `predicted` has them."""
    scheduled = {each["node"]: each["scheduled"] for each in run["placements"] or ()}
    agreed = sum(min(each[count], scheduled.get(each["node"], 0)) for each in predicted or ())
    total = sum(scheduled.values())
    return agreed / total if total else 1.0


def _refused(record: Doc) -> int:
    return sum(each["count"] for each in record["refusals"])


def _pod(eviction: Doc) -> str:
    return f"{eviction['namespace']}/{eviction['name']}"


def left_of(said: str, after_s: float) -> Left | None:
    """From the output of `drain status`, `after_s` after the begin of the run; None before a fifth of its pods are
    gone."""
    found = _SAID.search(said)
    if found is None or int(found[1]) < FIFTH * int(found[2]):
        return None
    least, most = (go_duration(text) or timedelta() for text in (found[3], found[4] or found[3]))
    return Left(after_s + least.total_seconds(), after_s + most.total_seconds())


HEADINGS = (
    ("pods stop in", "stop times", "evictions", "evicted in the plan's order: rehearsal, run")
    + ("on the node of: rehearsal, plan's place", "refused: rehearsal, run", "bound", "p50", "p95", "rehearsal")
    + ("said when a fifth were gone", "run", "p50 against the run")
)


def table(rows: Iterable[Compared]) -> str:
    """As Markdown."""
    lines = [HEADINGS, ("---",) * len(HEADINGS), *(_cells(row) for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cells(row: Compared) -> tuple[str, ...]:
    return (
        f"{row.stop_s:g} s",
        "measured" if row.measured else "not measured",
        str(row.evictions),
        ", ".join(f"{share:.0%}" for share in row.in_order),
        ", ".join(f"{share:.0%}" for share in row.placed),
        ", ".join(map(str, row.refused)),
        f"{row.bound_s:.0f} s",
        f"{row.p50_s:.0f} s",
        f"{row.p95_s:.0f} s",
        f"{row.rehearsed_s:.0f} s",
        _left(row.left),
        f"{row.took_s:.0f} s" + (f" ({row.held} same-name holds)" if row.held else ""),
        f"{row.off:+.0%}" + ("" if abs(row.off) <= NEAR or not row.measured else " (!)"),
    )


def _left(left: Left | None) -> str:
    if left is None:
        return "–"
    return f"{left.least_s:.0f} s" if left.least_s == left.most_s else f"{left.least_s:.0f} to {left.most_s:.0f} s"
