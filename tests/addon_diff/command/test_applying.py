"""``addon-diff --apply`` from the typed confirmation to the result: over HTTP to the API server and AWS."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.addon.stand_in import hands
from tests.addon_diff.command.updated import NEW, OLD, Desk, desk
from tests.cli.running import document, run_cli
from tests.embedded.clients import worlds

if TYPE_CHECKING:
    from tests.aws.world.server import World


@pytest.fixture
def ann(aws: World, tmp_path: Path) -> Iterator[Desk]:
    with worlds.served("rich") as (server, _):
        yield desk(server, tmp_path / "ann", aws)


_COUNTED: dict[tuple[str, ...], int] = {}


def changes(ann: Desk, *flags: str) -> int:
    """The changes that a dry run names; for a cluster in its initial state they are always the same."""
    if flags not in _COUNTED:
        ran = ann.apply("--dry-run", "-o", "json", *flags)
        _COUNTED[flags] = int(json.loads(ran.out)["changes"])
    return _COUNTED[flags]


def test_by_default_nothing_that_somebody_has_set_is_lost(ann: Desk) -> None:
    dry = ann.apply("--dry-run", "-o", "json", "--accept-unknown", "addon-field-unknown")
    count = json.loads(dry.out)["changes"]
    assert ann.env == ("true", "true") and ann.aws.count("eks:UpdateAddon") == 0 and not ann.journals
    ann.types = f"vpc-cni {NEW}\nprod {count}\n"
    ran = ann.apply("-o", "json")
    told = document(ran.out, "AddonUpdate")
    assert told["outcome"]["stage"] == "successful", ran.err
    assert ann.env == ("true", "true") and ann.service.version == NEW
    assert told["values"]["init"]["env"] == {"DISABLE_TCP_EARLY_DEMUX": "true"}
    assert "DISABLE_TCP_EARLY_DEMUX of init container aws-vpc-cni-init" in told["keeps"]
    assert {each["verdict"] for each in told["outcome"]["fields"]} <= {"as predicted", "not predicted"}
    assert told["outcome"]["rollouts"][0]["done"] and ran.code in (0, 5)
    assert "These values were not given" in ran.err and "ROLLBACK" in ran.err
    assert "from here on EKS does it" in ran.err and "pods are new" in ran.err


@pytest.mark.long
def test_an_update_is_listed_and_reverted(ann: Desk) -> None:
    flags = ("--as-asked", "--resolve-conflicts", "OVERWRITE")
    ann.types = f"vpc-cni {NEW}\nprod {changes(ann, *flags)}\n"
    assert ann.apply(*flags).code in (0, 5)
    assert (ann.env, ann.service.version) == (("false", "false"), NEW)
    (change,) = json.loads(ann.changes("-o", "json").out)["changes"]
    assert (change["kind"], change["state"], change["cluster"]) == ("addon-update", "done", "prod")
    ann.aws.eks().addon("prod", "vpc-cni")["addonVersion"] = NEW
    ann.types = ""
    ann.aws.eks().addon("prod", "vpc-cni")["addonVersion"] = "v1.19.5-eksbuild.1"
    theirs = ann.changes("undo", change["id"])
    assert theirs.code == 7 and "is at v1.19.5-eksbuild.1: another client has updated it since" in theirs.err, (
        theirs.err
    )
    addon = ann.aws.eks().addon("prod", "vpc-cni")
    addon["addonVersion"], configured = NEW, addon.get("configurationValues", "")
    addon["configurationValues"] = '{"env":{"WARM_IP_TARGET":"5"}}'
    theirs = ann.changes("undo", change["id"])
    assert theirs.code == 7 and "has other configuration values than those of change" in theirs.err, theirs.err
    addon["configurationValues"] = configured
    shown = ann.changes("undo", change["id"])
    assert shown.code == 2 and "→ v1.12.0-eksbuild.1 with NONE" in shown.err, shown.err
    (count,) = re.findall(r"(\d+) fields? (?:is|are) predicted to change", shown.err)
    ann.types = f"vpc-cni {OLD}\nprod {count}\n"
    undone = ann.changes("undo", change["id"])
    assert undone.code in (0, 1, 5), undone.err
    assert (ann.env[0], ann.service.version) == ("true", OLD)
    assert "no value of that version sets them" in undone.err and "DISABLE_TCP_EARLY_DEMUX" in undone.err
    states = {each["id"]: each["state"] for each in json.loads(ann.changes("-o", "json").out)["changes"]}
    assert states.pop(change["id"]) == "undone" and set(states.values()) == {"done"}


@pytest.mark.long
def test_who_uses_it_is_read_again_before_it_is_sent(aws: World, tmp_path: Path) -> None:
    """The first pod with its own security groups starts during the confirmation: the update would remove its network
    interface."""
    argv = ("--as-asked", "--resolve-conflicts", "OVERWRITE")
    limits = {"vpc.amazonaws.com/pod-eni": "1"}
    spec = {"containers": [{"name": "web", "image": "web", "resources": {"limits": limits, "requests": limits}}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "own", "namespace": "kube-system"}, "spec": spec}
    with worlds.served("small-traps") as (server, _):
        ann = desk(server, tmp_path / "ann", aws)
        told = json.loads(ann.apply(*argv, "--dry-run", "-o", "json").out)
        assert "critical" not in {each["severity"] for each in told["findings"]}
        ann.types = f"vpc-cni {NEW}\nprod {told['changes']}\n"
        ann.happens = lambda: ann.service.objects.apply(pod, "kubectl")
        ran = ann.apply(*argv)
        assert ran.code == 7 and "not as it was when the plan was shown" in ran.err, ran.err
        assert ann.aws.count("eks:UpdateAddon") == 0 and not ann.journals


@pytest.mark.long
def test_who_leaves_can_look_again(ann: Desk) -> None:
    carry_out = ann.aws.eks().carry_out
    ann.aws.eks().carry_out = None
    ann.types, ann.told = f"vpc-cni {NEW}\nprod {changes(ann)}\n", lambda: ann.aws.count("eks:UpdateAddon")
    ran = ann.apply()
    assert ran.code == 6 and "it continues in EKS" in ran.out and "aws eks describe-update" in ran.err
    (journal,) = ann.journals
    ident = journal.name.removesuffix(".jsonl")
    assert f"--apply --resume {ident}" in ran.err
    update = ann.aws.eks().updates[0]
    assert carry_out is not None
    carry_out(update)
    ann.told, ann.types = lambda: 0, ""
    again = ann.run("--apply", "--resume", ident, "-o", "json")
    told = document(again.out, "AddonUpdate")
    assert told["outcome"]["stage"] == "successful" and again.code in (0, 5), again.err
    assert told["outcome"]["update"] == update.id and len(told["wayBack"]["commands"]) == 2
    assert told["wayBack"]["caveats"], "as it was told before the update"
    assert ann.run("--apply", "--resume", "nobody-knows").code == 6


@pytest.mark.long
def test_who_insists_is_told_where_to_look(ann: Desk) -> None:
    def insists() -> int:
        if ann.aws.count("eks:UpdateAddon"):
            raise KeyboardInterrupt
        return 0

    ann.aws.eks().carry_out = None
    ann.types, ann.told = f"vpc-cni {NEW}\nprod {changes(ann)}\n", insists
    ran = ann.apply()
    assert ran.code == 130 and f"what was sent continues; its journal is {ann.journals[0]}" in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--yes",), "without --apply"),
        (("--apply", "--dry-run=server"), "EKS has no dry run"),
        (("--apply", "--demo"), "--demo does not go with it"),
        (("--apply", "--as-asked", "--configuration-values", "x"), "Give one of them"),
        (("--apply", "--resume", "x", "--yes"), "takes no flags of a new one"),
        (("--apply", "--tf-plan", "x"), "Terraform applies what a plan asks for"),
        (("--apply", "--accept-unknown", "addon-field-unknwon"), "addon-field-unknown"),
    ],
)
def test_what_does_not_fit_together(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    ran = run_cli("addon-diff", "vpc-cni", *words)
    assert (ran.code, ran.out) == (2, "") and said in ran.err


def test_an_environment_that_refuses_changes(tmp_path: Path) -> None:
    ran = run_cli("addon-diff", "vpc-cni", "--apply", environ={"EKSDOC_READ_ONLY": "1"})
    assert ran.code == 2 and "EKSDOC_READ_ONLY" in ran.err


@pytest.mark.long
def test_a_script_names_what_it_expects_and_what_may_be_unknown(ann: Desk) -> None:
    yes = ("--yes", "--accept-unknown", "addon-field-unknown,addon-values-refused")
    assert ann.apply(*yes).code == 2
    wrong = ann.apply(*yes, "--expect-changes", "999")
    assert wrong.code == 7 and "--expect-changes 999 is wrong" in wrong.err
    assert ann.aws.count("eks:UpdateAddon") == 0
    ran = ann.apply(*yes, "--expect-changes", str(changes(ann)))
    assert ran.code in (0, 5) and ann.env == ("true", "true"), ran.err
    lost = ann.run("--to", NEW, "--apply", "--as-asked", "--resolve-conflicts", "NONE", *yes, "--expect-changes", "0")
    assert lost.code != 1 or "nothing is sent" in lost.err


@pytest.mark.long
def test_another_update_is_in_progress(ann: Desk) -> None:
    count = changes(ann)
    ann.aws.eks().carry_out = None
    names = {"clusterName": "prod", "addonName": "vpc-cni"}
    ann.aws.client("eks").update_addon(**names, addonVersion=NEW)
    ran = ann.apply()
    assert ran.code == 1 and "another update of vpc-cni is in progress" in ran.err
    ann.aws.eks().settle_addon("prod", "vpc-cni", "ACTIVE")  # it began after the add-on was described
    ann.types = f"vpc-cni {NEW}\nprod {count}\n"
    ran = ann.apply()
    assert ran.code == 4 and "another one is in progress" in ran.err and "Nothing was changed" in ran.err


@pytest.mark.long
def test_an_update_whose_answer_was_lost_is_found_again(ann: Desk) -> None:
    """The machine was suspended between the request and the journal entry that says that EKS accepted it."""
    ann.aws.eks().carry_out = None
    ann.types, ann.told = f"vpc-cni {NEW}\nprod {changes(ann)}\n", lambda: ann.aws.count("eks:UpdateAddon")
    assert ann.apply().code == 6
    (journal,) = ann.journals
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:2]))
    ann.told, ann.types = lambda: 0, ""
    ident = journal.name.removesuffix(".jsonl")
    again = ann.run("--apply", "--resume", ident, "--watch-for", "1s", "-o", "json")
    assert document(again.out, "AddonUpdate")["outcome"]["update"] == ann.aws.eks().updates[0].id, again.err
    ann.aws.deny("eks:ListUpdates")
    again = ann.run("--apply", "--resume", ident)
    assert again.code == 6 and "whether EKS took it is not known" in again.err and "eks:ListUpdates" in again.err


@pytest.mark.long
def test_a_conflict_that_nobody_foresaw_fails_and_the_way_back_is_told(ann: Desk) -> None:
    carry_out = ann.aws.eks().carry_out
    assert carry_out is not None

    def meanwhile(update: Any) -> None:
        hands.sets_env(ann.service.objects, "WARM_ENI_TARGET", "9")
        carry_out(update)

    ann.types = f"vpc-cni {NEW}\nprod {changes(ann)}\n"
    ann.aws.eks().carry_out = meanwhile
    ran = ann.apply()
    assert ran.code == 6 and "EKS could not do it" in ran.out and "ConfigurationConflict" in ran.out
    assert "WARM_ENI_TARGET" in ran.out and "ROLLBACK" in ran.out and "look again with addon-diff" in ran.out
    assert ann.env == ("true", "true") and ann.service.version == OLD


@pytest.mark.long
def test_nothing_is_sent_that_cannot_be_written_down(ann: Desk) -> None:
    (ann.home / "file").write_text("")
    ann.environ = {"XDG_STATE_HOME": str(ann.home / "file")}
    ann.types = f"vpc-cni {NEW}\nprod {changes(ann)}\n"
    ran = ann.apply()
    assert ran.code == 6 and "cannot be written" in ran.err and ann.aws.count("eks:UpdateAddon") == 0
