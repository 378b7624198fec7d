"""A figure without a measurement never meets its target."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import dump
from bench.lines import Line, table
from kubectl_eksdoc.host.dump import DumpReader
from kubectl_eksdoc.model import kinds
from tests.cli.running import run_cli


def test_a_target_is_met_from_below_or_from_above() -> None:
    assert Line("time", 2.0, "s", 2.0).met is True
    assert Line("time", 2.1, "s", 2.0).met is False
    assert Line("drained", 4.0, "targets", 5.0, at_least=True).met is False
    assert Line("drained", 5.0, "targets", 5.0, at_least=True).met is True


def test_what_was_not_measured_is_missed_and_what_has_no_target_is_only_told() -> None:
    assert Line("gap", None, "%", 3).met is False
    assert Line("time", 2.0, "s").met is None


def test_the_table_says_all_of_it_and_leaves_targets_out_when_told_so() -> None:
    lines = [Line("time", 1234.5, "s", 6), Line("gap", None, "%", 3), Line("pods", 7, "")]
    rows = table(lines, targets=True).splitlines()[2:]
    assert rows[0] == "| time | 1,234 s |  |  | ≤ 6 | MISSED |"
    assert rows[1] == "| gap | nothing |  |  | ≤ 3 | MISSED |"
    assert rows[2] == "| pods | 7  |  |  |  |  |"
    assert "MISSED" not in table(lines, targets=False)
    assert "machine:" not in table(lines, targets=True)


def test_on_a_slower_machine_what_is_judged_is_shown_beside_what_was_measured() -> None:
    slow, fast = Line("key", 12.0, "ms", 8, machine=1.6), Line("key", 7.0, "ms", 8, machine=0.8)
    assert (slow.judged, slow.met) == (7.5, True)
    assert (fast.judged, fast.met) == (8.75, False)
    assert (Line("key", 12.0, "ms", 8).met, Line("key", None, "ms", 8, machine=1.6).met) == (False, False)
    told = table([slow, fast], targets=True).splitlines()
    assert told[2] == "| key | 12 ms | 1.60 | 7.5 ms | ≤ 8 | met |"
    assert told[3] == "| key | 7 ms | 0.80 | 8.75 ms | ≤ 8 | MISSED |"
    assert told[-1].startswith("machine: ")


# The large snapshot is one that the tool reads whole.


def test_all_pods_are_read_and_their_nodes_are_there(tmp_path: Path) -> None:
    written = dump.write(str(tmp_path), "120")
    read = DumpReader(str(tmp_path)).read((kinds.NODES, kinds.PODS))
    assert written["pods"] == len(read.pods) == 120
    assert {pod.node for pod in read.pods} == {node.name for node in read.nodes}
    assert all(node.allocatable for node in read.nodes)
    assert written["bytes"] == (tmp_path / "pods.json").stat().st_size > 120 * 6.2 * 1024


# What is measured of imds-probe is the whole command, on a snapshot that holds what AWS answers.


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


# The process that measures a plan says what the plan came to.


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
