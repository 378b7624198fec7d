"""Measure ``check`` of dumps of 10,000 pods, from the files to the printed page, and of manifests alone."""

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
_FAILS, _UNKNOWN = (1,), (5,)
_MANIFESTS = 200
_TWO = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME
spec:
  replicas: 2
  selector:
    matchLabels: {app: NAME}
  template:
    metadata:
      labels: {app: NAME}
    spec:
      containers:
      - name: app
        image: example.com/app:1
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: NAME
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {app: NAME}
"""


def check(plan: Plan) -> Iterator[Line]:
    """All checks, without AWS."""
    with tempfile.TemporaryDirectory() as folder:
        # In a process of its own: this one must stay small.
        writer = (sys.executable, "-m", "bench.replicated", str(_RECORDED), folder, str(_TIMES))
        written = json.loads(run(writer, plan.env, keep=True).stdout)
        command = (sys.executable, "-m", "kubectl_eksdoc", "check", "--snapshot", folder, "--target", "1.34")
        (ours,) = in_turn(plan.times, partial(run, command, plan.env, _FAILS))
    what = f"check of {written['Node']} nodes and {written['Pod']:,} pods"
    yield Line(f"{what}: wall", ours.wall, "s", 5)
    yield Line(f"{what}: peak memory", ours.peak, "MiB", 300)


def check_packed(plan: Plan) -> Iterator[Line]:
    """A dump of full nodes with a budget for each Deployment."""
    with tempfile.TemporaryDirectory() as folder:
        written = json.loads(run((sys.executable, "-m", "bench.packed", folder), plan.env, keep=True).stdout)
        command = (sys.executable, "-m", "kubectl_eksdoc", "check", "--snapshot", folder, "--target", "1.34")
        (ours,) = in_turn(plan.times, partial(run, command, plan.env, _UNKNOWN))
    counts = f"{written['Pod']:,} pods, {written['PodDisruptionBudget']:,} budgets"
    yield Line(f"check of {written['Node']} packed nodes ({counts}): CPU", ours.cpu, "s", 5)


def manifests(plan: Plan) -> Iterator[Line]:
    """Manifests without a cluster: two objects in each file."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(_MANIFESTS):
            (Path(folder) / f"{number}.yaml").write_text(_TWO.replace("NAME", f"app-{number}"), encoding="utf-8")
        flags = ("-f", folder, "--from", "1.33", "--target", "1.34")
        command = (sys.executable, "-m", "kubectl_eksdoc", "check", *flags)
        (ours,) = in_turn(plan.times, partial(run, command, plan.env))
    yield Line(f"check -f of {_MANIFESTS} files: CPU", ours.cpu * 1000, "ms", 300)
