"""What is measured of imds-probe is the whole command, on a snapshot that holds what AWS answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import run_cli

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long
def test_the_snapshot_that_is_measured_is_judged_with_what_aws_answers(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "bench.metadata", "--nodes", "24", "--write", str(tmp_path))
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"nodes": 24, "pods": 720, "asked": 30}
    ran = run_cli("imds-probe", "--snapshot", str(tmp_path), "-o", "json")
    groups = json.loads(ran.out)["groups"]
    assert {each["now"]["verdict"] for each in groups} == {"reachable", "unreachable"}
    assert sum(len(each["nodes"]) for each in groups) == 24
