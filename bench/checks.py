"""Measures ``check`` of a dump of more than 10,000 pods: from the files to the printed page."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.lines import Line, Plan
from bench.measure import in_turn, run

_RECORDED = Path(__file__).resolve().parents[1] / "tests" / "data" / "clusters" / "rich.tar.gz"
_TIMES = 41
"""So often is the recorded cluster in it."""
_FAILS = (1,)


def check(plan: Plan) -> Iterator[Line]:
    """All checks; AWS is not asked."""
    with tempfile.TemporaryDirectory() as folder:
        # In a process of its own: this one must stay small.
        writer = (sys.executable, "-m", "bench.replicated", str(_RECORDED), folder, str(_TIMES))
        written = json.loads(run(writer, plan.env, keep=True).stdout)
        command = (sys.executable, "-m", "kubectl_eksdoc", "check", "--snapshot", folder, "--target", "1.34")
        (ours,) = in_turn(plan.times, partial(run, command, plan.env, _FAILS))
    what = f"check of {written['Node']} nodes and {written['Pod']:,} pods"
    yield Line(f"{what}: wall", ours.wall, "s", 5)
    yield Line(f"{what}: peak memory", ours.peak, "MiB", 300)
