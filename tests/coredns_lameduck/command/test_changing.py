"""``coredns-lameduck --set … --apply`` from the typed confirmation to the Corefile of each pod: over HTTP to API server
and AWS."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kubectl_eksdoc.addon_diff.fields import AddonField
from kubectl_eksdoc.addon_diff.outcome import AddonUpdateResult, FieldCheck, ServiceHealth, Verdict
from kubectl_eksdoc.amazon.group_updates import UpdateStage
from kubectl_eksdoc.coredns_lameduck.command.change_options import DnsApplyOptions
from kubectl_eksdoc.coredns_lameduck.command.changing import final_exit_code
from kubectl_eksdoc.coredns_lameduck.report.change import DnsChangeReport
from kubectl_eksdoc.model.api_objects import ObjectName
from tests.builders import a_cluster
from tests.cli.running import document
from tests.coredns_lameduck.command.served_changes import Desk, desk, served

if TYPE_CHECKING:
    from tests.aws.world.server import World

UNKNOWN = ("--accept-unknown", "addon-field-unknown")
SCRIPT = ("--yes", "--expect-changes", "1", *UNKNOWN)


@pytest.fixture
def ann(aws: World, tmp_path: Path) -> Iterator[Desk]:
    with served() as at:
        yield desk(at, tmp_path / "ann", aws)


def test_it_is_shown_and_nothing_is_changed(ann: Desk) -> None:
    before = ann.map
    ran = ann.run("--set", "lameduck=20s")
    assert "+        lameduck 20s" in ran.out and "-        lameduck 5s" in ran.out, ran.err
    assert "aws eks update-addon" in ran.out and ran.code in (0, 5)
    told = document(ann.run("--set", "lameduck=20s", "-o", "json").out, "DnsChange")
    assert told["mode"] == "NONE" and told["changes"] == 1 and not told["refusals"]
    assert ann.map == before and ann.updates == 0 and not ann.journals


@pytest.mark.long
def test_what_is_set_lasts_and_a_hand_edit_does_not(ann: Desk) -> None:
    ann.types = "prod 1\n"
    ran = ann.apply("--set", "lameduck=20s", *UNKNOWN, "-o", "json")
    told = document(ran.out, "DnsChange")
    assert ran.code == 0, ran.err + ran.out
    assert told["outcome"]["stage"] == "successful" and told["verified"]["all"]
    assert {pod["taken"] for pod in told["verified"]["pods"]} == {"verified"} and len(told["verified"]["pods"]) == 2
    assert "lameduck 20s" in ann.corefile
    assert json.loads(ann.values)["corefile"] == ann.corefile
    (journal,) = ann.journals
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600
    assert json.loads(journal.read_text().splitlines()[0])["dns"]["corefile"] == ann.corefile
    assert ann.service is not None
    kept = ann.corefile
    ann.edits(lambda text: text.replace("lameduck 20s", "lameduck 7s"))
    assert "lameduck 7s" in ann.corefile
    assert ann.service.update(resolve_conflicts="OVERWRITE").status == "Successful"
    assert ann.corefile == kept, "the hand edit is lost, and what was set through the add-on is not"
    ann.edits(lambda text: text.replace("lameduck 20s", "lameduck 7s"))
    again = ann.apply("--set", "lameduck=20s", "--yes", "--expect-changes", "0", *UNKNOWN)
    assert again.code == 0 and ann.corefile == kept and ann.updates == 2, "its values have it, and it holds again"


@pytest.mark.long
def test_what_else_is_not_known_to_survive_must_be_acknowledged(ann: Desk) -> None:
    ann.edits(lambda text: text.replace("cache 30", "cache 60"))
    ann.objects.patch("Deployment", "coredns", {"spec": {"minReadySeconds": 7}}, "kubectl-patch")
    ran = ann.apply("--set", "lameduck=20s", "--yes", "--expect-changes", "1")
    assert ran.code == 2 and "only OVERWRITE keeps it" in ran.err and "and what the version makes of them" in ran.err
    assert "minReadySeconds" not in ran.err, "no manifest of the version has it, and EKS did not set it: it stays"
    assert ann.updates == 0 and "lameduck 5s" in ann.corefile
    ann.types = "coredns v1.10.1-eksbuild.11\nprod 1\n"
    ran = ann.apply("--set", "lameduck=20s")
    assert ran.code == 0 and "lameduck 20s" in ann.corefile, ran.err
    assert (ann.objects.get("Deployment", "coredns") or {})["spec"]["minReadySeconds"] == 7


def test_a_hand_edit_of_what_the_add_on_owns_is_refused_with_the_reason(ann: Desk) -> None:
    ran = ann.apply("--set", "lameduck=20s", "--force-conflicts", *SCRIPT)
    assert ran.code == 1 and "a hand edit is put back by its next update" in " ".join(ran.err.split())
    assert ann.updates == 0 and "lameduck 5s" in ann.corefile


@pytest.mark.long
def test_read_only_and_a_wrong_word_change_nothing(ann: Desk) -> None:
    ann.environ["EKSDOC_READ_ONLY"] = "1"
    ran = ann.apply("--set", "lameduck=20s", *SCRIPT)
    assert ran.code == 2 and "EKSDOC_READ_ONLY" in ran.err
    assert ann.run("--set", "lameduck=20s").code in (0, 5), "a look is allowed"
    ann.environ.clear()
    ann.types = "prod 2\n"
    assert ann.apply("--set", "lameduck=20s", *UNKNOWN).code == 2
    wrong = ann.apply("--set", "lameduck=20s", "--yes", "--expect-changes", "9", *UNKNOWN)
    assert wrong.code == 7
    assert ann.updates == 0 and "lameduck 5s" in ann.corefile


@pytest.mark.long
def test_what_changes_while_it_is_typed_is_not_what_was_shown(ann: Desk) -> None:
    ann.types = "prod 1\n"
    ann.happens = lambda: ann.edits(lambda text: text.replace("cache 30", "cache 31"))
    ran = ann.apply("--set", "lameduck=20s", *UNKNOWN)
    assert ran.code == 7 and "not as it was when the change was shown" in ran.err
    assert ann.updates == 0


@pytest.mark.long
def test_a_pod_that_does_not_look_is_not_yet_there_and_is_looked_at_again(ann: Desk) -> None:
    pod = ann.pods[0]
    ann.resolvers.refusing_pods[pod] = ""
    ran = ann.apply("--set", "lameduck=20s", *SCRIPT, "--verify-for", "200s", "--watch-for", "2h")
    assert ran.code == 6 and "not yet" in ran.out and "--resume" in ran.err, ran.err + ran.out
    (journal,) = ann.journals
    ann.resolvers.refusing_pods.clear()
    again = ann.apply("--resume", journal.stem, *UNKNOWN, "-o", "json")
    told = document(again.out, "DnsChange")
    assert again.code == 0 and told["verified"]["all"], again.err
    assert ann.updates == 1


def test_eks_may_not_be_asked(ann: Desk) -> None:
    ann.aws.deny("eks:DescribeAddon")
    ran = ann.apply("--set", "lameduck=20s", *SCRIPT)
    assert ran.code == 1 and "eks:DescribeAddon" in ran.err and "lameduck 5s" in ann.corefile, ran.err


@pytest.mark.long
def test_a_pod_that_refuses_is_told_and_the_way_back_with_it(ann: Desk) -> None:
    pod = ann.pods[0]
    ann.resolvers.refusing_pods[pod] = "plugin/health: address already in use"
    ran = ann.apply("--set", "lameduck=20s", *SCRIPT, "-o", "json")
    told = document(ran.out, "DnsChange")
    assert ran.code == 1, ran.err
    taken = {each["name"]: each for each in told["verified"]["pods"]}
    assert taken[pod]["taken"] == "refused" and "already in use" in taken[pod]["why"]
    assert sorted(each["taken"] for each in taken.values()) == ["refused", "verified"]
    found = [each for each in told["findings"] if each["code"] == "dns-change-not-taken-up"]
    assert [each["severity"] for each in found] == ["critical"] and told["wayBack"]


@pytest.mark.long
def test_without_the_plugin_reload_nothing_takes_it_up(ann: Desk) -> None:
    ann.edits(lambda text: text.replace("    reload\n", ""))
    ran = ann.apply("--set", "lameduck=20s", *SCRIPT)
    assert ran.code == 1 and "kubectl rollout restart deployment/coredns -n kube-system" in ran.out, ran.err
    assert "lameduck 20s" in ann.corefile


FIELD = AddonField(ObjectName("v1", "ConfigMap", "kube-system", "coredns"), ("f:data",))
NOT_READ, NOT_FORETOLD = (
    FieldCheck(FIELD, verdict, None, None, None) for verdict in (Verdict.NOT_READ, Verdict.NOT_PREDICTED)
)


@pytest.mark.parametrize(
    ("came", "code", "accepted"),
    [
        ({}, 0, 0),
        ({"checks": (NOT_FORETOLD,)}, 5, 0),
        ({"checks": (NOT_READ,)}, 5, 5),
        ({"unread": ((FIELD.of, "denied"),)}, 5, 5),
        ({"unwatched": "its targets were not listed"}, 5, 5),
        ({"health": (ServiceHealth("shop/web", 3, 3, 3, 3, unread="denied"),)}, 5, 5),
        ({"health": (ServiceHealth("shop/web", 3, 1, 1, 3),)}, 1, 1),
        ({"stage": UpdateStage.FAILED}, 6, 6),
    ],
)
def test_what_the_update_left_unread_is_unknown_whatever_of_its_fields_is_accepted(
    came: dict[str, Any], code: int, accepted: int
) -> None:
    """`accepted` covers only fields without a prediction."""
    update = AddonUpdateResult(**{"id": "u-1", "stage": UpdateStage.SUCCESSFUL, "seconds": 1.0, **came})
    view = DnsChangeReport(a_cluster(), ended=update, options={})
    assert final_exit_code(view, DnsApplyOptions()) == code
    assert final_exit_code(view, DnsApplyOptions(accepted=("addon-field-unknown",))) == accepted
