"""``interruption`` on the demo and on snapshots, what is refused, and what is printed."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import kubectl_eksdoc.render.schemas as schemas
from kubectl_eksdoc.aws.asking import believed
from kubectl_eksdoc.aws.recorded import RecordedOf, Recorder
from kubectl_eksdoc.embedded.demo.reader import DemoReader
from kubectl_eksdoc.host.archives.snapshot import STEM
from kubectl_eksdoc.interruption.read import NEEDS, interruption_facts
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.objects.single import RawObjects
from tests.builders import NOW
from tests.cli.interruption.incident import values_in
from tests.cli.running import run_cli
from tests.sessions import of_the_demo

JUDGE = jsonschema.Draft202012Validator(schemas.load("Interruption"))


def document(*words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run_cli("interruption", *words, "-o", "json").out)
    assert [error.message for error in JUDGE.iter_errors(found)] == []
    return found


def statuses(found: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["status"] for each in found["links"]}


def a_snapshot(folder: Path, with_aws: bool, leave_out: tuple[str, ...] = ()) -> str:
    """Of what `interruption --demo` reads, as lists of kubectl."""
    raw = RawObjects()
    DemoReader(raw, "interruption").read(kinds.ALL)
    by_kind: dict[str, list[Any]] = {}
    for doc in raw.documents():
        by_kind.setdefault(doc["kind"], []).append(doc)
    held = folder / "snapshot"
    held.mkdir()
    for kind, items in by_kind.items():
        if kind not in leave_out:
            whole = {"apiVersion": "v1", "kind": "List", "items": items}
            (held / f"{kind.lower()}.json").write_text(json.dumps(whole))
    if with_aws:
        (held / f"{STEM}.json").write_bytes(recorded())
    packed = folder / "snapshot.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(held, "snapshot")
    return str(packed)


def recorded() -> bytes:
    demo = of_the_demo(NEEDS)
    recorder = Recorder(demo.aws.aws)  # type: ignore[union-attr]
    seen = believed(recorder, demo.aws.aws.access)  # type: ignore[union-attr]
    demo.aws = seen
    interruption_facts(demo)
    cluster = seen.cluster
    return recorder.written(
        RecordedOf(cluster.name, cluster.region, cluster.account, cluster.endpoint, seen.caller.arn, NOW)
    )


def test_the_demo_is_the_incident() -> None:
    ran = run_cli("interruption", "--demo")
    assert ran.code == 1 and ran.err.startswith("context demo")
    found = document("--demo")
    assert statuses(found)["setting"] == "pass" and statuses(found)["queue"] == "fail" and found["handled"] == "no"
    assert found["karpenter"]["queue"] == "demo-shop" == found["queue"]["name"]


@pytest.mark.long
def test_a_snapshot_without_answers_of_aws_tells_what_the_cluster_does(tmp_path: Path) -> None:
    path = a_snapshot(tmp_path, with_aws=False)
    ran = run_cli("interruption", "--snapshot", path)
    assert ran.code == 5 and "holds no answers of AWS" in ran.out
    found = document("--snapshot", path)
    assert (
        statuses(found)["setting"] == "pass" and statuses(found)["queue"] == "unknown" and found["handled"] == "unknown"
    )
    refused = run_cli("interruption", "--snapshot", path, "--print", "stack")
    assert refused.code == 2 and "in which account and region" in refused.err
    assert run_cli("interruption", "--snapshot", path, "--print", "helm-values").code == 5


def test_a_snapshot_without_deployments_does_not_know_how_karpenter_is_told(tmp_path: Path) -> None:
    path = a_snapshot(tmp_path, with_aws=True, leave_out=("Deployment", "DaemonSet"))
    found = document("--snapshot", path)
    assert found["karpenter"] is None and found["handled"] == "unknown"
    codes = {each["code"] for each in found["findings"] if each["status"] == "unknown"}
    assert {"interruption-karpenter", "interruption-node-termination-handler"} <= codes


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
def test_the_queue_and_the_stack_have_the_names_that_were_given() -> None:
    ran = run_cli("interruption", "--demo", "--print", "stack", "--queue", "mine", "--stack-name", "by-hand")
    assert "--stack-name by-hand" in ran.out
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
        (("--stack-name", "1a"), "no name of a stack"),
        (("--stack-name", "Karpenter-prod"), "would delete the rest"),
        (("--stack-name", "x", "--print", "iam"), "--print iam makes none"),
        (("--accept-unknown", "interruption-rul"), "did you mean interruption-rule"),
    ],
)
def test_what_does_not_fit_is_said(argv: tuple[str, ...], said: str) -> None:
    ran = run_cli("interruption", "--demo", *argv)
    assert ran.code == 2 and said in ran.err and ran.out == ""
