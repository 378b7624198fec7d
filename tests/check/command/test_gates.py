"""The gates of the checklist can be reached in order, and a step counts the findings that its command shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.check.command.cached_runs import RICH, document

DATA = Path(RICH).parent
CLUSTERS = [
    ("--demo", "--target", "1.34"),
    ("--demo", "--target", "1.33"),
    ("--snapshot", RICH, "--target", "1.34"),
    ("--snapshot", str(DATA / "small-traps.tar.gz"), "--target", "1.31", "--no-aws"),
    *(
        pytest.param(words, marks=pytest.mark.long)
        for words in (
            ("--demo", "--target", "1.34", "--no-aws"),
            ("--demo", "--target", "1.34", "--fail-on", "high"),
            ("--snapshot", str(DATA / "medium.tar.gz"), "--target", "1.31"),
            ("--snapshot", str(DATA / "fenced-61.tar.gz"), "--target", "1.35"),
        )
    ),
]


def gate_of(step: dict[str, Any]) -> list[str]:
    """The words of the step's command that checks a gate, none if the step has no such command."""
    found = [shlex.split(each)[3:] for each in step["commands"] if " check " in each and " --gate " in each]
    return found[0] if found and step["title"].startswith("Check that nothing blocks") else []


def counts(told: dict[str, Any], gate: str) -> tuple[int, int]:
    (found,) = (each for each in told["gates"] if each["gate"] == gate)
    return found["fail"], found["unknown"]


_OF_NODES = ("kubelet-skew", "ami-al2", "cgroup-v1", "nodegroup-release", "nodegroup-update", "ami-al2023-moves")


def is_ended_by(finding: dict[str, Any], step: dict[str, Any]) -> bool:
    """Whether the finding's remedy is about this step."""
    code, name, title = finding["code"], finding["subject"]["name"], step["title"]
    if code == "kube-proxy-skew" or name.startswith("kube-proxy version skew"):
        return title.startswith("Update add-on kube-proxy")
    if code == "check-addon-unfit":
        return title.startswith(f"Update add-on {name} ")
    if code.startswith("program-"):
        return f"{finding['subject'].get('namespace')}/{name})" in title
    if name.startswith(("Kubelet version skew", "Amazon Linux 2 ")):
        return step["phase"] == "nodes" and bool(re.match("Make|Update group|Replace|Let|Name AMIs", title))
    return code in _OF_NODES and bool(re.search(rf"\b{re.escape(name)}\b", title)) and "AMIs of" not in title


@pytest.mark.parametrize("words", CLUSTERS)
def test_no_gate_waits_for_what_only_a_later_step_ends_and_each_step_counts_what_its_command_shows(
    words: tuple[str, ...],
) -> None:
    told = document(*words)
    steps = told["checklist"]
    gates = [each for each in steps if gate_of(each)]
    assert gates
    for each in gates:
        shown = document(*gate_of(each))
        assert counts(shown, each["gate"]) == counts(told, each["gate"]), each["title"]
        for finding in shown["findings"]:
            if finding["status"] != "pass" and finding["gate"] == each["gate"]:
                ends = [step["number"] for step in steps if is_ended_by(finding, step)]
                assert not ends or min(ends) < each["number"], (finding["code"], finding["message"], ends)
