"""``interruption`` on the demo and on snapshots, its refusals, and its output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.edited_snapshots import edited
from tests.cli.running import document as valid
from tests.cli.running import run_cli
from tests.embedded.clients.worlds import archive
from tests.interruption.command.incident import values_in


def document(*words: str) -> dict[str, Any]:
    return valid(run_cli("interruption", *words, "-o", "json").out, "Interruption")


def statuses(found: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["status"] for each in found["links"]}


def test_the_demo_is_the_incident() -> None:
    ran = run_cli("interruption", "--demo")
    assert ran.code == 1 and ran.err.startswith("context demo")
    found = document("--demo")
    assert statuses(found)["setting"] == "pass" and statuses(found)["queue"] == "fail" and found["handled"] == "no"
    assert found["karpenter"]["queue"] == "demo-shop" == found["queue"]["name"]


@pytest.mark.long
def test_a_snapshot_without_answers_of_aws_tells_what_the_cluster_does(snapshot: str, tmp_path: Path) -> None:
    def without_answers(name: str, document: dict[str, Any]) -> None:
        """A snapshot without answers of AWS, and without logs."""
        if name.endswith("aws-answers"):
            document.clear()
        elif name.endswith("cluster-answers"):
            document["logs"] = []

    path = edited(snapshot, tmp_path / "less.eksdoc", without_answers)
    ran = run_cli("interruption", "--snapshot", path)
    assert ran.code == 5 and "holds no answers of AWS" in ran.out
    found = document("--snapshot", path)
    assert (statuses(found)["setting"], statuses(found)["queue"], found["handled"]) == ("pass", "unknown", "unknown")
    refused = run_cli("interruption", "--snapshot", str(archive("rich")), "--print", "stack")
    assert refused.code == 2 and "in which account and region" in refused.err
    assert run_cli("interruption", "--snapshot", path, "--print", "helm-values").code == 5


@pytest.mark.parametrize("what", ["stack", "commands", "iam", "helm-values"])
@pytest.mark.long
def test_stdout_is_the_document_and_nothing_else(what: str) -> None:
    ran = run_cli("interruption", "--demo", "--print", what)
    assert ran.code == 0 and ran.err.startswith("context demo") and ran.out.endswith("\n")
    if what == "commands":
        assert ran.out.startswith("#!/bin/sh\n") and "set -eu\n" in ran.out
        assert "export AWS_REGION=ap-northeast-2" in ran.out
    else:
        assert isinstance(json.loads(ran.out) if what == "iam" else values_in(ran.out), dict)


@pytest.mark.long
def test_the_queue_has_the_name_that_was_given() -> None:
    ran = run_cli("interruption", "--demo", "--print", "stack", "--queue", "mine")
    resources = values_in(ran.out)["Resources"]
    assert resources["InterruptionQueue"]["Properties"]["QueueName"] == "mine"
    assert (
        "interruptionQueue: mine" in run_cli("interruption", "--demo", "--print", "helm-values", "--queue", "mine").out
    )
    assert statuses(document("--demo", "--queue", "mine"))["setting"] == "fail"
    commands = [
        remedy.get("command", "")
        for each in document("--demo", "--queue", "mine")["findings"]
        for remedy in each["remedy"]
    ]
    assert any("--demo --queue mine --print stack" in each for each in commands)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("spot-1",), "'spot-1' is not understood"),
        (("--queue", "a b"), "no name of a queue"),
        (("--accept-unknown", "interruption-rul"), "did you mean interruption-rule"),
    ],
)
def test_what_does_not_fit_is_said(argv: tuple[str, ...], said: str) -> None:
    ran = run_cli("interruption", "--demo", *argv)
    assert ran.code == 2 and said in ran.err and ran.out == ""
