"""``imds-probe`` on the demo and on snapshots: the same answers as from the source cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.imds_probe.read import _intent_from_tag
from tests.check.of_aws import eks
from tests.cli.running import run_cli
from tests.embedded.clients.worlds import archive


def document(*words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run_cli("imds-probe", *words, "-o", "json").out)
    return found


def test_a_snapshot_without_answers_of_aws_tells_what_the_cluster_does() -> None:
    path = str(archive("rich"))
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


def test_a_workload_with_the_network_of_its_host_is_one_hop_away() -> None:
    """As for one of its pods: nodes with a hop limit of 1 answer it."""
    found = document("--demo", "ds/aws-node", "-n", "kube-system")
    assert found["hops"] == 1 and {each["now"]["verdict"] for each in found["groups"]} == {"reachable"}
    assert found["verdict"].startswith("Pods on 0 of 14 nodes cannot reach")
    assert document("--demo", "deploy/coredns", "-n", "kube-system")["hops"] == 2


def test_who_would_be_affected_is_named_on_the_page() -> None:
    ran = run_cli("imds-probe", "--demo", "--assume", "hops=1")
    said = " ".join(ran.out.split())
    assert "2 pods may break (kube-system/aws-load-balancer-controller), and whether they do is not known" in said


def test_what_is_meant_is_an_option_of_the_answer() -> None:
    told = document("--demo", "--intent", "hops=1")
    (missed,) = (each["evidence"] for each in told["findings"] if each["code"] == "imds-intent-missed")
    assert {each.partition(" ")[0] for each in missed} == {"blue", "reports", "search", "tools"}
    assert (
        "blue (8): the hop limit is 2, and tokens are optional (now and on the next node)" in missed
        and told["metadata"]["options"]["intent"] == "hops=1"
    )
    for words in (("--intent", "ami=AL2023"), ("--intent", "hops=0"), ("--intent", "hops=1", "--active")):
        assert run_cli("imds-probe", "--demo", *words).code == 2


def test_an_intent_may_stand_in_a_file(tmp_path: Path) -> None:
    (file := tmp_path / "intent").write_text("hops=1,tokens=required\n", encoding="utf-8")
    assert document("--demo", "--intent", str(file))["metadata"]["options"]["intent"] == "hops=1,tokens=required"
    file.write_text("tokens: required", encoding="utf-8")
    assert "is no intent; write hops=1" in run_cli("imds-probe", "--demo", "--intent", str(file)).err
    assert "no file" in run_cli("imds-probe", "--demo", "--intent", str(tmp_path / "none")).err


TAGS = (("imds", "hops=1 tokens=required"), ("Name", "shop"))


@pytest.mark.parametrize(
    ("tag", "said"),
    [
        ("imds", "hops=1,tokens=required"),
        ("none", "cluster prod has no such tag"),
        ("Name", "cluster prod has 'shop' there, which is no intent"),
    ],
)
def test_an_intent_may_be_a_tag_of_the_cluster(tag: str, said: str) -> None:
    class Live:
        live, eks = True, eks(tags=TAGS)

    if tag == "imds":
        assert str(_intent_from_tag(Live(), tag)) == said  # type: ignore[arg-type]
    else:
        with pytest.raises(UsageError, match=said):
            _intent_from_tag(Live(), tag)  # type: ignore[arg-type]
    refused = run_cli("imds-probe", "--demo", "--intent", f"tag:{tag}")
    assert refused.code == 2 and "nothing else keeps all tags" in refused.err


def test_an_intent_that_is_none_is_told_what_an_intent_is() -> None:
    for text in ("hops=x", "ami=AL2023", "hops=1,hops=2"):
        said = run_cli("imds-probe", "--demo", "--intent", text).err
        assert "write hops=1 or hops=1,tokens=required" in said and "or ami=" not in said


def test_proof_by_pods_is_not_promised_of_a_fix_that_makes_other_nodes() -> None:
    ran = run_cli("imds-probe", "--demo", "--apply", "--fix", "node-class", "--active", "--dry-run")
    assert ran.code == 2 and "after node-class Karpenter makes others" in ran.err
