"""``imds-probe`` on the demo and on snapshots: the same answers as of the cluster they were made of."""

from __future__ import annotations

import json
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.aws.believing import believed
from kubectl_eksdoc.aws.recorded import RecordedOf, Recorder
from kubectl_eksdoc.flows.metadata import KINDS, metadata_facts
from kubectl_eksdoc.host.archives.snapshot import STEM
from kubectl_eksdoc.kube.identity import AwsWanted
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.objects.raw_objects import RawObjects
from kubectl_eksdoc.wiring.metadata import MetadataWorld, open_metadata
from kubectl_eksdoc.wiring.sources import SourceChoice, open_reader
from tests.builders import NOW
from tests.cli.running import run_cli


def document(*words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run_cli("imds-probe", *words, "-o", "json").out)
    return found


def the_demo() -> MetadataWorld:
    return open_metadata(SourceChoice(demo=True), Connection(), AwsWanted(), None, KINDS)


def a_snapshot(folder: Path, with_aws: bool) -> str:
    """Of what `imds-probe --demo` reads, as lists of kubectl."""
    raw = RawObjects()
    open_reader(SourceChoice(demo=True), Connection(), raw=raw).read((*kinds.ALL, kinds.NODE_CLASSES))
    by_kind: dict[str, list[Any]] = {}
    for doc in raw.documents():
        by_kind.setdefault(doc["kind"], []).append(doc)
    for kind, items in by_kind.items():
        (folder / f"{kind.lower()}.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    if with_aws:
        (folder / f"{STEM}.json").write_bytes(recorded())
    packed = folder.parent / "snapshot.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(folder, "snapshot")
    return str(packed)


def recorded() -> bytes:
    demo = the_demo()
    recorder = Recorder(demo.aws.aws)  # type: ignore[union-attr]
    seen = believed(recorder, demo.aws.aws.access)  # type: ignore[union-attr]
    small = open_reader(SourceChoice(demo=True), Connection()).read(KINDS)
    metadata_facts(small, replace(demo, aws=seen).machines)
    cluster = seen.cluster
    return recorder.written(
        RecordedOf(cluster.name, cluster.region, cluster.account, cluster.endpoint, seen.caller.arn, NOW)
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "snapshot"
    made.mkdir()
    return made


def test_the_demo_has_a_group_of_each_kind_and_the_incident() -> None:
    ran = run_cli("imds-probe", "--demo")
    assert ran.code == 1 and ran.err.startswith("context demo")
    owners = {each["owner"] for each in document("--demo")["groups"]}
    assert owners == {"managed", "eksctl", "karpenter", "auto-mode", "fargate", "hybrid", "self-managed"}
    assert "Deployment kube-system/aws-load-balancer-controller: 2 pods are broken now" in ran.out


@pytest.mark.long
def test_what_it_proposes_leads_back_to_what_it_read() -> None:
    told = {each.get("command", "") for one in document("--demo")["findings"] for each in one["remedy"]}
    fix = "kubectl eksdoc imds-probe --nodegroup green --apply --fix instance-options"
    assert {each for each in told if "--apply" in each} == {f"{fix} --demo --dry-run"}


@pytest.mark.long
def test_a_snapshot_says_the_same_and_of_a_part_of_it_too(folder: Path) -> None:
    path = a_snapshot(folder, with_aws=True)
    found = document("--snapshot", path)
    said = {each["sentence"] for each in found["groups"]}
    assert said and said <= {each["sentence"] for each in document("--demo")["groups"]} and found["recognised"]
    (green,) = document("--snapshot", path, "--nodegroup", "green")["groups"]
    assert green["sentence"] in said, "its answers were recorded with those of all others"


def test_a_snapshot_without_answers_of_aws_tells_what_the_cluster_does(folder: Path) -> None:
    path = a_snapshot(folder, with_aws=False)
    ran = run_cli("imds-probe", "--snapshot", path)
    assert ran.code == 5 and "holds no answers of AWS" in ran.out
    told = document("--snapshot", path)
    commands = [each.get("command") or "" for one in told["findings"] for each in one["remedy"]]
    assert any("--active" in each for each in commands)
    refused = [each for each in commands if "--snapshot" in each and ("--active" in each or "--apply" in each)]
    assert not refused, "a snapshot runs no pods"
    found = {each["name"]: each for each in told["groups"]}
    assert found["general"]["next"]["verdict"] == "unreachable", "an EC2NodeClass is of the cluster"
    assert {each["now"]["verdict"] for name, each in found.items() if name} == {"unknown"}


def test_who_would_be_affected_is_named_on_the_page() -> None:
    ran = run_cli("imds-probe", "--demo", "--assume", "hops=1")
    said = " ".join(ran.out.split())
    assert "2 pods may break (kube-system/aws-load-balancer-controller), and whether they do is not known" in said


def test_what_is_meant_is_an_option_of_the_answer() -> None:
    told = document("--demo", "--intent", "hops=1")
    missed = {each["subject"]["name"] for each in told["findings"] if each["code"] == "imds-intent-missed"}
    assert missed == {"blue", "reports", "search", "tools"} and told["metadata"]["options"]["intent"] == "hops=1"
    for words in (("--intent", "ami=AL2023"), ("--intent", "hops=0"), ("--intent", "hops=1", "--active")):
        assert run_cli("imds-probe", "--demo", *words).code == 2


def test_an_intent_that_is_none_is_told_what_an_intent_is() -> None:
    for text in ("hops=x", "ami=AL2023", "hops=1,hops=2"):
        said = run_cli("imds-probe", "--demo", "--intent", text).err
        assert "write hops=1 or hops=1,tokens=required" in said and "or ami=" not in said


def test_proof_by_pods_is_not_promised_of_a_fix_that_makes_other_nodes() -> None:
    ran = run_cli("imds-probe", "--demo", "--apply", "--fix", "node-class", "--active", "--dry-run")
    assert ran.code == 2 and "after node-class Karpenter makes others" in ran.err
