"""Every failed finding has a remedy: in the demo at each version, and in a dump of a cluster."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.check.command.cached_runs import RICH, check, document


def test_a_check_that_is_proposed_judges_the_same() -> None:
    """Without its target the command judges the next version, and passes."""
    only = "ami-al2,nodes-behind,program-after,program-before-control-plane"
    accepted = "--accept-unknown", "kubelet-skew,addon-object-unread"
    told = document("--demo", "--target", "1.35", "--no-aws", "--fail-on", "info", *accepted, "--only", only)
    remedies = [remedy for each in told["findings"] for remedy in each["remedy"]]
    commands = [each.get("command", "") for each in (*remedies, *(cause["do"] for cause in told["causes"]))]
    ours = [each for each in commands if each.startswith("kubectl eksdoc check")]
    assert len(ours) > 5
    flags = ("--target 1.35", "--no-aws", "--fail-on info", "--demo", " ".join(accepted))
    assert [each for each in ours if any(each.count(flag) != 1 for flag in flags)] == []


def test_a_check_of_manifests_that_is_proposed_judges_them_where_it_can(tmp_path: Path) -> None:
    (tmp_path / "it.yaml").write_text("apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: x}\n")
    steps = document("--demo", "--target", "1.34", "-f", str(tmp_path))["checklist"]
    commands = [each for step in steps for each in step["commands"] if each.startswith("kubectl eksdoc check")]
    judged = {each for each in commands if f"-f {tmp_path}" in each}
    assert [
        each for each in judged if "--only" in each or "--gate before-nodes" in each or "--gate after" in each
    ] == []
    assert [each for each in judged if "--gate before-control-plane" in each]
    assert [each for each in commands if each.count(" -f ") > 1] == []
    for each in commands:
        assert check(*shlex.split(each)[3:]).code in (0, 1, 5) or "manifests/" in each, each


def test_a_dump_without_times_is_not_of_1970(tmp_path: Path) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "labels": {}}, "spec": {}}
    node["status"] = {"nodeInfo": {"kubeletVersion": "v1.33.0"}}
    (tmp_path / "nodes.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node]}))
    ran = check("--snapshot", str(tmp_path), "--target", "1.34", "--cluster-name", "prod")
    assert "1970" not in ran.out + ran.err
    assert "unknown" not in ran.err.partition("\n")[0], "the cluster has a name"


@pytest.mark.parametrize(
    "words",
    [
        ("--demo", "--target", "1.33"),
        ("--demo", "--target", "1.34"),
        pytest.param(("--demo", "--target", "1.35"), marks=pytest.mark.long),
        ("--snapshot", RICH, "--target", "1.34"),
    ],
)
def test_every_finding_that_fails_says_what_to_do(words: tuple[str, ...]) -> None:
    told = document(*words)
    found = told["findings"]
    said = [(each["code"], str(each["subject"]), each["message"]) for each in found]
    assert len(said) == len(set(said))
    if RICH in words:  # nothing tells its name
        assert {each["subject"]["name"] for each in found if each["subject"]["kind"] == "Cluster"} == {"unnamed"}
        commands = [command for each in told["checklist"] for command in each["commands"] if "aws eks" in command]
        assert commands and all("name NAME-OF-THE-CLUSTER " in command for command in commands)
        assert not [each for each in found if "apiservices: the snapshot has no apiservices" in each["message"]]
    fails = [each for each in found if each["status"] == "fail"]
    assert fails
    assert [(each["code"], each["message"]) for each in fails if not each["remedy"]] == []
    assert [each["code"] for each in fails for remedy in each["remedy"] if not remedy["text"].strip()] == []
