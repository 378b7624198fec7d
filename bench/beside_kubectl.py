"""Measure whole drains over HTTP in real time, this tool compared with kubectl: each in a separate process
(drains.py)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median

from bench.lines import Line, Plan
from bench.measure import Unexpected, run

HERE = Path(__file__).resolve().parent
MOST = 3
"""A drain takes a minute, and hardly differs from the next one."""

NEW, EMPTIED = 3, 7
"""With so many new nodes there is room for the pods of so many old ones."""

GIVE_UP_S = 75.0
"""Where there is room for all, kubectl is done by then."""

Said = dict[str, float]


def drain_run(plan: Plan) -> Iterator[Line]:
    """The lines about small, large and crowded clusters; QUICK: only the small one."""
    times = min(plan.times, MOST)
    yield from _small(plan, times)
    if plan.times > 1:
        yield from _large(plan)
        yield from _crowded(plan)


def _small(plan: Plan, times: int) -> Iterator[Line]:
    """One after the other in each round, so that a disturbance of the machine affects all; QUICK: all at once, as they
    mostly wait and no times are compared."""
    ways = ["ours", *(["at-once", "in-turn"] if plan.kubectl else [])]
    with ThreadPoolExecutor(len(ways) if plan.times == 1 else 1) as pool:
        rounds = [
            dict(zip(ways, pool.map(partial(_drained, plan, shape="small"), ways), strict=True)) for _ in range(times)
        ]
    ours = [each["ours"] for each in rounds]
    what = "24 pods off 3 nodes"
    yield Line(f"{what}: drain run, start to end", _median(ours, "wall"), "s")
    yield from _against_the_bound(what, ours)
    if not plan.kubectl:
        return
    at_once, in_turn = [each["at-once"] for each in rounds], [each["in-turn"] for each in rounds]
    yield Line(f"{what}: kubectl, all nodes at once", _median(at_once, "wall"), "s")
    yield Line(f"{what}: kubectl, one node after another", _median(in_turn, "wall"), "s")
    yield Line(f"{what}: drain run against the faster kubectl, start to end", _ratio(rounds, "wall"), "x", 1.15)
    yield Line(f"{what}: the same, to the last pod's end", _ratio(rounds, "gone"), "x", 1.0)
    yield Line(f"{what}: refused, kubectl at once", _refused(at_once), "%")
    yield Line(f"{what}: refused, kubectl in turn", _refused(in_turn), "%")


def _large(plan: Plan) -> Iterator[Line]:
    what = "175 pods off 12 nodes"
    yield from _against_the_bound(what, [_drained(plan, "ours", "large") for _ in range(MOST)])
    if plan.kubectl:
        theirs = [_drained(plan, "at-once", "large")]
        yield Line(f"{what}: kubectl at once against the bound", _gap(theirs), "x")
        yield Line(f"{what}: refused, kubectl at once", _refused(theirs), "%")


def _crowded(plan: Plan) -> Iterator[Line]:
    what = f"the same with {NEW} new nodes"
    ours = _drained(plan, "ours", "large", "--new", str(NEW))
    yield Line(f"{what}: nodes emptied", ours["emptied"], "nodes", EMPTIED, at_least=True)
    yield Line(f"{what}: nodes half drained, pods without a node", ours["half"] + ours["pending"], "", 0)
    if plan.kubectl:
        theirs = _drained(plan, "at-once", "large", "--new", str(NEW), "--eviction-timeout", str(GIVE_UP_S))
        yield Line(f"{what}: nodes emptied, kubectl at once", theirs["emptied"], "nodes")
        yield Line(f"{what}: nodes half drained, kubectl at once", theirs["half"], "nodes")
        yield Line(f"{what}: pods without a node, kubectl at once", theirs["pending"], "pods")


def _against_the_bound(what: str, drained: Sequence[Said]) -> Iterator[Line]:
    yield Line(f"{what}: first cordon to the last pod's end, against the lower bound", _gap(drained), "x", 1.10)
    yield Line(f"{what}: refused of the evictions asked for", _refused(drained), "%", 1.0)
    yield Line(f"{what}: evicted twice", sum(each["again"] for each in drained), "pods", 0)


def _drained(plan: Plan, who: str, shape: str, *more: str) -> Said:
    command = (sys.executable, str(HERE / "drains.py"), who, shape, *more)
    drain = partial(run, (*command, "--kubectl", plan.kubectl or "kubectl"), plan.env, keep=True)
    try:
        told = drain()
    except Unexpected:
        if who == "ours":
            raise
        told = drain()  # one of several kubectl on a busy machine gives up now and then; a run of ours must not
    said: Said = json.loads(told.stdout)
    return said


def _median(drained: Sequence[Said], what: str) -> float:
    return median(each[what] for each in drained)


def _gap(drained: Sequence[Said]) -> float:
    return median(each["took"] / each["bound"] for each in drained)


def _ratio(rounds: Sequence[dict[str, Said]], what: str) -> float:
    """This tool compared with the faster of both, round by round."""
    return median(each["ours"][what] / min(each["at-once"][what], each["in-turn"][what]) for each in rounds)


def _refused(drained: Sequence[Said]) -> float:
    return 100 * median(each["refused"] / each["asked"] for each in drained)
