"""Whoever is told that something fails is told what to do: of the demo at each version, and of a dump of a cluster."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.check.asked import RICH, check, document


def test_a_check_that_is_proposed_judges_the_same() -> None:
    """Without its target it judges the next version, and passes."""
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


def test_what_goes_with_the_nodes_is_no_reason_to_wait_and_not_silent() -> None:
    """And no flag is said to allow it, as none was given."""
    words = "--demo", "--only", "pod-emptydir,pod-unmanaged"
    ran = check(*words)
    assert ran.code == 0 and "Nothing to do" not in ran.out
    assert "the replacement of nodes deletes data or pods for good: 4 findings (-o wide)." in " ".join(ran.out.split())
    assert "its emptyDir data is deleted with the pod: tmp-dir" in check(*words, "-o", "wide").out
    assert not [each["message"] for each in document(*words)["findings"] if "allows)" in each["message"]]


def test_no_finding_is_said_twice() -> None:
    found = document("--demo", "--target", "1.34")["findings"]
    said = [(each["code"], str(each["subject"]), each["message"]) for each in found]
    assert len(said) == len(set(said))


def test_what_nobody_told_is_no_name_of_a_cluster_in_a_command() -> None:
    """This dump does not tell the cluster's name."""
    steps = document("--snapshot", RICH, "--target", "1.34")["checklist"]
    commands = [command for each in steps for command in each["commands"] if command.startswith("aws eks")]
    assert commands
    assert all("name NAME-OF-THE-CLUSTER " in command for command in commands)


def test_what_a_dump_lacks_is_named_once_and_no_clause_is_cut_off() -> None:
    found = document("--snapshot", RICH, "--target", "1.34")["findings"]
    assert not [each["message"] for each in found if "apiservices: the snapshot has no apiservices" in each["message"]]
    assert not [each["missing"] for each in found if each.get("missing", "").endswith(",")]


def test_the_cluster_has_one_name() -> None:
    """Of this dump nothing tells it."""
    found = document("--snapshot", RICH, "--target", "1.34")["findings"]
    assert {each["subject"]["name"] for each in found if each["subject"]["kind"] == "Cluster"} == {"unnamed"}


def test_an_add_on_that_fits_the_target_is_no_high_finding_for_being_old() -> None:
    """vpc-cni of the demo is three minors behind."""
    for target in ("1.33", "1.34"):
        found = document("--demo", "--target", target)["findings"]
        high = [each["subject"]["name"] for each in found if "unfit" in each["code"] and each["severity"] == "high"]
        assert high == (["coredns"] if target == "1.34" else []), target


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
    found = document(*words)["findings"]
    fails = [each for each in found if each["status"] == "fail"]
    assert fails
    assert [(each["code"], each["message"]) for each in fails if not each["remedy"]] == []
    assert [each["code"] for each in fails for remedy in each["remedy"] if not remedy["text"].strip()] == []
