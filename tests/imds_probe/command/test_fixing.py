"""``imds-probe --apply`` from the typed confirmation to the result, on the AWS stand-in and a served cluster."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kubectl_eksdoc.embedded.probed import MetadataServices
from kubectl_eksdoc.model.machines import MetadataOptions
from tests.cli.running import document
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs
from tests.imds_probe.command.applied_fixes import PINNED, Desk, desk
from tests.kube.classes import hop_limit_of, served_classes
from tests.probes.stand_ins import SPEED, TOKEN, Lab, there

if TYPE_CHECKING:
    from tests.aws.world.server import World


@pytest.fixture
def ann(aws: World, tmp_path: Path) -> Desk:
    return desk(tmp_path / "ann", aws, kubeconfigs.one(tmp_path / "config", "https://127.0.0.1:1", name="lab"))


def entries(ann: Desk) -> list[dict[str, Any]]:
    (journal,) = ann.journals
    return [json.loads(line) for line in journal.read_text().splitlines()]


def test_it_offers_what_it_then_does(ann: Desk) -> None:
    told = json.loads(ann.run("-o", "json").out)
    offered = {group["name"]: [fix["name"] for fix in group["fixes"]] for group in told["groups"]}
    assert offered == {
        "blue": ["instance-options"],
        "own": ["instance-options", "template-version"],
        "general": ["instance-options", "node-class"],
    }


def test_instances_of_one_group_are_changed_and_the_journal_is_its_owners_alone(ann: Desk) -> None:
    ann.types = "prod 2\n"
    ran = ann.fix("instance-options", "--nodegroup", "blue", "-o", "json")
    told = document(ran.out, "ImdsFix")
    assert ran.code == 0 and told["outcome"]["whole"], ran.err
    assert ann.limits == [2, 2, 1, 1, 1] and told["nodes"] == ["n0", "n1"]
    assert all("--http-put-response-hop-limit 1" in line for line in told["wayBack"]) and len(told["wayBack"]) == 2
    (journal,) = ann.journals
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600
    first = entries(ann)[0]
    assert first["wayBack"] == told["wayBack"] and first["act"]["each"][0]["before"]["hop_limit"] == 1
    assert "ROLLBACK" in ran.err and "hop limit 1 → 2" in ran.err
    for at in (0, 1):
        set_by_another(ann, at, 3)
    again = ann.run("--apply", "--resume", journal.stem, "-o", "json")
    told = document(again.out, "ImdsFix")
    assert again.code == 1 and told["wayBack"] == [], "nothing of it is left to be reverted"


def test_a_wrong_word_or_nobody_changes_nothing(ann: Desk) -> None:
    for types in ("prod 1\n", "\n", ""):
        ann.types = types
        ran = ann.fix("instance-options", "--nodegroup", "blue")
        assert ran.code == 2 and ran.out == ""
    assert "--yes --expect-nodes N" in ran.err and ann.limits == [1] * 5 and not ann.journals


def test_read_only_refuses_and_a_dry_run_does_not(ann: Desk) -> None:
    ann.environ = {"EKSDOC_READ_ONLY": "1"}
    ran = ann.fix("instance-options")
    assert ran.code == 2 and "EKSDOC_READ_ONLY" in ran.err
    dry = ann.fix("instance-options", "--dry-run", "-o", "json")
    assert dry.code == 0 and document(dry.out, "ImdsFix")["outcome"] is None
    assert ann.limits == [1] * 5 and not ann.journals


@pytest.mark.long
def test_a_dry_run_of_the_server_asks_ec2(ann: Desk) -> None:
    well = document(ann.fix("instance-options", "--nodegroup", "blue", "--dry-run=server", "-o", "json").out, "ImdsFix")
    assert all("EC2 would take it" in line for line in well["tried"]) and len(well["tried"]) == 2
    ann.aws.deny("ec2:CreateLaunchTemplateVersion")
    ran = ann.fix("template-version", "--dry-run=server", "-o", "json")
    told = document(ran.out, "ImdsFix")
    assert ran.code == 1 and "ec2:CreateLaunchTemplateVersion" in told["tried"][0] and "no dry run" in told["tried"][1]
    assert ann.limits == [1] * 5 and ann.aws.count("eks:UpdateNodegroupVersion") == 0


def test_what_changes_while_it_is_typed_is_not_what_was_shown(ann: Desk) -> None:
    ann.types = "prod 2\n"
    ident = ann.nodes[0].provider_id.rpartition("/")[2]
    options = {"InstanceId": ident, "HttpPutResponseHopLimit": 7}
    ann.happens = lambda: ann.aws.client("ec2").modify_instance_metadata_options(**options)
    ran = ann.fix("instance-options", "--nodegroup", "blue")
    assert ran.code == 7 and "not as they were when the fix was shown" in ran.err
    assert ann.limits == [7, 1, 1, 1, 1] and not ann.journals


def test_another_cluster_is_chosen_while_it_is_typed(ann: Desk) -> None:
    ann.types = "prod 2\n"
    ann.happens = lambda: setattr(ann, "who", replace(ann.who, context="other", uid="another"))
    ran = ann.fix("instance-options", "--nodegroup", "blue")
    assert ran.code == 7 and ann.limits == [1] * 5 and not ann.journals


def broken_off(ann: Desk) -> str:
    """A fix that was interrupted after two of five instances; returns the id of its journal."""
    ann.types, ann.told = "prod 5\n", lambda: ann.aws.count("ec2:ModifyInstanceMetadataOptions") >= 2
    assert ann.fix("instance-options").code == 6 and ann.limits == [2, 2, 1, 1, 1]
    ann.told = lambda: 0
    return ann.journals[0].name.removesuffix(".jsonl")


def set_by_another(ann: Desk, node: int, hops: int) -> str:
    ident = ann.nodes[node].provider_id.rpartition("/")[2]
    options = {"InstanceId": ident, "HttpPutResponseHopLimit": hops}
    ann.aws.client("ec2").modify_instance_metadata_options(**options)
    return ident


@pytest.mark.long
def test_a_fix_that_was_not_finished_is_told_and_can_be_set_back(ann: Desk) -> None:
    run = broken_off(ann)
    probed = ann.run()
    assert f"fix {run} (instance-options" in probed.err and "was not finished" in probed.err
    assert f"--apply --undo {run}" in probed.err and f"--apply --resume {run}" in probed.err
    theirs = set_by_another(ann, 0, 3)
    dry = ann.run("--apply", "--undo", run, "--dry-run")
    assert dry.code == 0 and ann.limits == [3, 2, 1, 1, 1] and "hop limit 2 → 1" in dry.out
    ann.types = "prod 1\n"
    undone = ann.run("--apply", "--undo", run, "-o", "json")
    told = document(undone.out, "ImdsFix")
    assert undone.code == 0 and ann.limits == [3, 1, 1, 1, 1], undone.err
    assert told["undoes"] == run and theirs in undone.err
    assert "was not finished" not in ann.run().err
    again = ann.run("--apply", "--undo", run)
    assert again.code == 1 and "nothing that fix" in again.err
    later = ann.run("--apply", "--resume", run, "--yes", "--expect-nodes", "5")
    assert ann.limits == [3, 1, 2, 2, 2] and "set back" in later.out, "what was set back is not changed again"


@pytest.mark.long
def test_a_template_and_its_group(ann: Desk) -> None:
    ann.types = "prod 2\n"
    ann.aws.eks().ends_when_asked = 2
    ran = ann.fix("template-version", "-o", "json")
    told = document(ran.out, "ImdsFix")
    assert told["outcome"]["stage"] == "successful" and told["outcome"]["templateVersion"] == 2, ran.err
    group = ann.aws.client("eks").describe_nodegroup(clusterName="prod", nodegroupName="own")["nodegroup"]
    assert (group["launchTemplate"]["version"], group["releaseVersion"]) == ("2", PINNED)
    seen = [(node["what"].partition(" ")[2], node["became"]) for node in told["outcome"]["nodes"]]
    assert told["wayBack"][-1].endswith("--versions 2") and told["wayBack"][0].endswith("version=1")
    assert seen == [("(n2)", "as before"), ("(n3)", "as before")], "the tests' EKS replaces no instance"
    assert ran.code == 1


REFUSED = (
    (("--fix", "instance-options"), "without --apply"),
    (("--apply",), "--apply wants one fix"),
    (("--apply", "--fix", "instance-option"), "did you mean"),
    (("--apply", "--fix", "replace-nodes"), "is done by the owners of these nodes"),
    (("--apply", "--fix", "template-version", "--nodegroup", "blue"), "it can never get one"),
    (("--apply", "--fix", "instance-options", "pod/p0"), "--apply is of nodes"),
    (("--apply", "--resume", "x", "--undo", "x"), "do not go together"),
    (("--apply", "--fix", "instance-options", "--demo"), "--apply is of the live cluster"),
)


@pytest.mark.long
def test_what_does_not_fit_is_said(ann: Desk) -> None:
    told = [(argv, said.lower(), ann.run(*argv)) for argv, said in REFUSED]
    unsaid = [argv for argv, said, ran in told if said not in " ".join(ran.err.split()).lower()]
    assert unsaid == [] and {ran.code for _, _, ran in told} <= {2, 6}
    assert ann.limits == [1] * 5


@pytest.mark.long
def test_pods_on_the_nodes_prove_it(aws: World, tmp_path: Path) -> None:
    """On n1 a network policy blocks the requests, which no option of EC2 shows."""
    two = MetadataOptions("required", 2)
    lab = Lab(services=MetadataServices({"n0": two, "n1": two}, blocked={"n1"}))
    with lab.served() as (server, api):
        config = kubeconfigs.one(tmp_path / "config", server.url(TOKEN), name="lab")
        ann = replace(desk(tmp_path / "ann", aws, config), types="prod 2\n", speed=SPEED)
        flags = ("--nodegroup", "blue", "--active", "--all-nodes", "--wait-for", "30m", "-o", "json")
        ran = ann.fix("instance-options", *flags)
        assert there(api, "pods") == [] == there(api, "configmaps")
    told = document(ran.out, "ImdsFix")["outcome"]
    assert [part["became"] for part in told["parts"]] == ["done", "done"], ran.err
    assert [(each["what"], each["became"]) for each in told["proofs"]] == [
        ("a pod on n0", "done"),
        ("a pod on n1", "something else"),
    ]
    assert ran.code == 1 and "unreachable" in told["proofs"][1]["why"]


@pytest.fixture
def ben(aws: World, tmp_path: Path) -> Iterator[tuple[Desk, Any]]:
    """A user at a cluster that serves its EC2NodeClass."""
    with served_classes() as (server, plane):
        config = kubeconfigs.one(tmp_path / "config", server.url(worlds.ADMIN_TOKEN), name="lab")
        yield desk(tmp_path / "ben", aws, config), plane


@pytest.mark.long
def test_a_class_is_patched(ben: tuple[Desk, Any]) -> None:
    desk, plane = ben
    dry = desk.fix("node-class", "--dry-run=server")
    assert dry.code == 0 and "the API server would take it" in dry.out and hop_limit_of(plane) == 1
    desk.types = "prod 1\n"
    ran = desk.fix("node-class", "-o", "json")
    told = document(ran.out, "ImdsFix")
    assert ran.code == 0 and hop_limit_of(plane) == 2, ran.err
    (journal,) = desk.journals
    desk.hop_limit, desk.types = 2, "prod 1\n"
    back = desk.run("--apply", "--undo", journal.name.removesuffix(".jsonl"))
    assert back.code == 0 and hop_limit_of(plane) == 1 and "drifts" in back.err, back.err
    assert told["outcome"]["parts"][0]["became"] == "done" and "kubectl patch ec2nodeclass" in told["wayBack"][0]


@pytest.mark.long
def test_iam_denies_the_update_when_the_version_is_made(ann: Desk) -> None:
    ann.types = "prod 2\n"
    ann.aws.deny("eks:UpdateNodegroupVersion")
    ran = ann.fix("template-version")
    said = " ".join(ran.err.split())
    assert ran.code == 4 and "eks:UpdateNodegroupVersion" in said and "Nothing was changed" not in said
    assert "Node group own is as it was; version 2 of its launch template is made, and unused." in said
    (journal,) = ann.journals
    assert f"--apply --resume {journal.name.removesuffix('.jsonl')}" in said
    assert all("describe-nodegroup" not in line for line in ran.err.splitlines())


def test_who_is_broken_off_goes_on_and_what_another_client_set_meanwhile_is_in_no_rollback(ann: Desk) -> None:
    run = broken_off(ann)
    theirs = set_by_another(ann, 0, 3)
    ran = ann.run("--apply", "--resume", run, "-o", "json")
    told = document(ran.out, "ImdsFix")
    assert ran.code == 1 and told["fix"] == "instance-options" and ann.limits == [3, 2, 2, 2, 2], ran.err
    assert len(told["wayBack"]) == 4 and theirs not in " ".join(told["wayBack"])


def test_a_group_that_is_updated_already_is_left_alone(ann: Desk) -> None:
    ann.aws.client("eks").update_nodegroup_version(
        clusterName="prod", nodegroupName="own", launchTemplate={"id": ann.template, "version": "1"}
    )
    ran = ann.fix("template-version")
    assert ran.code == 1 and "is UPDATING, and takes no update now" in ran.err and not ann.journals
    dry = ann.fix("template-version", "--dry-run")
    assert dry.code == 1 and "is UPDATING" in dry.out


@pytest.mark.long
def test_a_class_that_is_another_one_by_now(ben: tuple[Desk, Any]) -> None:
    desk, plane = ben
    desk.hop_limit, desk.types = 3, "prod 1\n"  # as it was read, once
    ran = desk.fix("node-class", "--hops", "4")
    assert ran.code == 7 and "something else" in ran.err and hop_limit_of(plane) == 1
