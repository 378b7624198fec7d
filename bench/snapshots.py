"""Measure a snapshot of a large cluster against ``gzip -1`` of the same JSON: to the file, and back to facts."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.lines import Line, Plan
from bench.measure import Run, Series, in_turn, run


def snapshot_file(plan: Plan) -> Iterator[Line]:
    """Both with all work of the processes: reading the JSON, writing the file."""
    count, times = str(plan.dumped), min(plan.times, 3)
    with tempfile.TemporaryDirectory() as folder:
        pages, made, packed = (str(Path(folder, name)) for name in ("pages.jsonl", "made.eksdoc", "pages.gz"))
        child = partial(_child, plan, pages, made, count)
        given = _said(child("pages"))
        gzip = partial(run, ("sh", "-c", f"gzip -1 < {pages} > {packed}"), plan.env)
        gzipped, written, read = in_turn(times, gzip, partial(child, "write"), partial(child, "read"))
        said = [_said(each) for each in written.runs]
    what = f"snapshot of {given['nodes']:,} nodes and {plan.dumped:,} pods ({given['bytes'] >> 20:,} MiB of JSON)"
    yield Line(f"{what}: written", _middle(written), "s")
    yield Line("the same against gzip -1 of it", _middle(written) / gzipped.wall, "x", 1.5)
    yield Line("the same, read and made facts, against gzip -1", _middle(read) / gzipped.wall, "x", 1.5)
    yield Line("its size", said[0]["bytes"] / (1 << 20), "MiB")
    yield Line("peak memory of writing", max(each["peak"] for each in said), "MiB", 600)
    yield Line("peak memory of reading", max(_said(each)["peak"] for each in read.runs), "MiB", 600)


def _child(plan: Plan, pages: str, made: str, count: str, what: str) -> Run:
    return run((sys.executable, "-m", "bench.snapshot_file", what, pages, made, count), plan.env, keep=True)


def _said(of: Run) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(of.stdout)
    return said


def _middle(series: Series) -> float:
    seconds = sorted(float(_said(each)["seconds"]) for each in series.runs)
    return seconds[len(seconds) // 2]
