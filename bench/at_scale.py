"""Measure the cost of large clusters: plans of generated ones, their distance from the optimum, what-ifs, large
snapshots.

Each plan and each reading has a separate process (planning.py, dump.py); seconds of plans are CPU seconds.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from bench.lines import Line, Plan
from bench.measure import Run, in_turn, run

HERE = Path(__file__).resolve().parent
LARGER = 5
"""How many times as many nodes the larger cluster has."""

LONG_S, FEWER = 10.0, 3
"""A plan that takes longer than this is made no more than so many times."""

PACKED, PACKED_PODS = 200, 53
"""So many full nodes with so many pods each, those of three DaemonSets among them."""

SEEDS = 5
SURGE = 0.01
"""New nodes that join first, as a share of all: each drained node is replaced, so the drain goes in generations."""

SEARCHED = 20
"""The whole portfolio is as much effort as so many simulations of the drain."""

Said = dict[str, Any]


def first_plan(plan: Plan) -> Iterator[Line]:
    """From facts to the plan, for four fifths of the nodes of a cluster and of one five times as large."""
    small, large = plan.nodes, plan.nodes * LARGER
    rounds = [(_made(plan, small), _made(plan, large))]
    while len(rounds) < (plan.times if rounds[0][1]["seconds"] < LONG_S else min(plan.times, FEWER)):
        rounds.append((_made(plan, small), _made(plan, large)))
    seconds = [median(said["seconds"] for said in column) for column in zip(*rounds, strict=True)]
    said = rounds[0][1]
    what = f"first plan of {said['drained'] + said['skipped']} of {large} nodes ({said['pods']:,} pods)"
    yield Line(f"{what}: make_plan", seconds[1], "s", 6)
    yield Line(f"{what}: peak memory", median(large["peak_mib"] for _, large in rounds), "MiB", 1536)
    yield Line(f"{what}: targets drained", said["drained"], "targets", said["drained"] + said["skipped"], at_least=True)
    yield Line(f"first plan of {rounds[0][0]['drained']} of {small} nodes: make_plan", seconds[0], "s")
    yield Line(f"{LARGER} times the nodes: time, against {LARGER} times", seconds[1] / seconds[0] / LARGER, "x", 1.3)


def packed(plan: Plan) -> Iterator[Line]:
    """Full, identical nodes, and one more that joins first: whenever one is drained, all remaining nodes need room."""
    nodes = min(plan.nodes, PACKED)
    command = ["planning.py", "--nodes", str(nodes), "--targets", str(nodes), "--surge", "1", "--alike"]
    command += ["--utilisation", "0.95", "--pods-per-node", str(PACKED_PODS)]
    made = [_said(_child(plan, *command)) for _ in range(plan.times)]
    what = f"{nodes} packed nodes ({made[0]['pods']:,} pods, {made[0]['budgets']:,} budgets)"
    yield Line(f"{what}: make_plan, CPU", _median(made, "seconds"), "s", 3)
    yield Line(f"{what}: drained", made[0]["drained"], "nodes", nodes, at_least=True)


def portfolio(plan: Plan) -> Iterator[Line]:
    """The search for a better order, without the first plan. It stops early, so the tighter drain is used."""
    nodes = plan.nodes
    one = _made(plan, nodes, nodes, utilisation=0.85)
    all_of_them = _made(plan, nodes, nodes, utilisation=0.85, effort=SEARCHED * one["evictions"])
    what = f"all of {nodes} nodes at 85 %"
    yield Line(f"{what}: first plan", one["seconds"], "s")
    yield Line(f"{what}: gap of the first plan", _percent(one["gap"]), "%")
    yield Line(f"{what}: {all_of_them['tried']} orders tried", all_of_them["seconds"], "s")
    yield Line(f"{what}: gap of the best of them", _percent(all_of_them["gap"]), "%")


def gaps(plan: Plan) -> Iterator[Line]:
    """How much longer plans take than the largest lower bound."""
    nodes = plan.nodes
    seeds = range(1, SEEDS + 1)
    by_budget = [_made(plan, nodes, seed=seed) for seed in seeds]
    yield from _gaps(f"gap at 65 % of {nodes} nodes, {SEEDS} seeds", by_budget, 3)
    targets = 2 * nodes * 9 // 10
    by_room = [_made(plan, 2 * nodes, targets, utilisation=0.85, seed=seed) for seed in seeds]
    what = f"gap at 85 % of {2 * nodes} nodes, {targets} targets, {SEEDS} seeds"
    yield from _gaps(what, by_room, 25)
    yield Line(
        f"{what}: drained, at least", min(said["drained"] for said in by_room), "targets", targets, at_least=True
    )


def _gaps(what: str, made: Sequence[Said], limit: float) -> Iterator[Line]:
    found = [100 * said["gap"] for said in made if said["gap"] is not None]
    whole = len(found) == SEEDS
    yield Line(f"{what}: worst", max(found) if whole else None, "%", limit)
    yield Line(f"{what}: median", median(found) if whole else None, "%", limit)


def _percent(gap: float | None) -> float | None:
    return None if gap is None else 100 * gap


def what_if(plan: Plan) -> Iterator[Line]:
    """One budget is assumed to allow one disruption more: the one with the most rounds."""
    said = _made(plan, plan.nodes, times=plan.times)
    what = f"what-if at {plan.nodes} nodes"
    preview, whole = (1000 * median(said[name]) if name in said else None for name in ("preview_s", "what_if_s"))
    yield Line(f"{what}: rounds, waves, blockers", preview, "ms", 50)
    yield Line(f"{what}: full estimate, the whole plan", whole, "ms", 1000)


def large_snapshot(plan: Plan) -> Iterator[Line]:
    """Make facts of many pods on disk, compared with only decoding the same bytes."""
    with tempfile.TemporaryDirectory() as folder:
        written = _said(_child(plan, "dump.py", "write", folder, str(plan.dumped)))
        series = in_turn(
            min(plan.times, FEWER), *(partial(_child, plan, "dump.py", mode, folder) for mode in ("facts", "decoded"))
        )
    ours, theirs = ([_said(each) for each in runs.runs] for runs in series)
    assert {said["pods"] for said in ours + theirs} == {plan.dumped}
    what = f"{plan.dumped:,} pods in {written['bytes'] >> 20:,} MiB of JSON"
    yield Line(f"{what}, made facts", _median(ours, "seconds"), "s")
    yield Line(f"{what}, made facts: peak memory", _median(ours, "peak_mib"), "MiB")
    yield Line(f"{what}, json.loads", _median(theirs, "seconds"), "s")
    yield Line(f"{what}, json.loads: peak memory", _median(theirs, "peak_mib"), "MiB")
    yield Line("facts against json.loads", _median(ours, "seconds") / _median(theirs, "seconds"), "x", 0.6)
    yield Line("the same in user CPU time", _median(ours, "user_s") / _median(theirs, "user_s"), "x")


def _median(said: Sequence[Said], name: str) -> float:
    return float(median(each[name] for each in said))


def _made(
    plan: Plan,
    nodes: int,
    targets: int = 0,
    *,
    utilisation: float = 0.65,
    seed: int = 7,
    effort: int = 0,
    times: int = 0,
) -> Said:
    """The output of planning.py; without `targets` four fifths of the nodes are drained."""
    command = ["planning.py", "--nodes", str(nodes), "--targets", str(targets or nodes * 4 // 5)]
    command += ["--utilisation", str(utilisation), "--seed", str(seed), "--surge", str(round(nodes * SURGE))]
    return _said(_child(plan, *command, "--effort", str(effort), "--what-if", str(times)))


def _child(plan: Plan, script: str, *arguments: str) -> Run:
    return run((sys.executable, str(HERE / script), *arguments), plan.env, keep=True)


def _said(child: Run) -> Said:
    found: Said = json.loads(child.stdout)
    return found
