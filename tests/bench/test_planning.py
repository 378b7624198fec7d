"""The process that measures a plan says what the plan came to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long
def test_it_plans_and_plans_again_as_if() -> None:
    command = (
        sys.executable,
        "bench/planning.py",
        "--nodes",
        "20",
        "--targets",
        "16",
        "--surge",
        "1",
        "--what-if",
        "2",
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert said["pods"] == 600
    assert said["drained"] + said["skipped"] == 16
    assert said["evictions"] > 16
    assert said["p50_s"] >= said["bound_s"] > 0
    assert said["gap"] >= 0
    assert len(said["what_if_s"]) == 2
    assert said["peak_mib"] >= said["before_mib"] > 0
