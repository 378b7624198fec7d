"""A CoreDNS that EKS does not manage: its ConfigMap is changed by server-side apply, without overwriting other managers
unasked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kubectl_eksdoc.embedded.serving.requests import RbacRule, restricted
from kubectl_eksdoc.model.api_objects import Doc
from tests.cli.running import document
from tests.coredns_lameduck.command.served_changes import TOKEN, Desk, desk, served

if TYPE_CHECKING:
    from tests.aws.world.server import World

YES = ("--yes", "--expect-changes", "1")
READS = RbacRule(("get", "list", "watch"))
LISTED = ("nodes", "namespaces", "pods", "configmaps", "deployments", "poddisruptionbudgets", "serviceaccounts")
CHANGES = ("get", "list", "watch", "patch")
WITHOUT = (*LISTED, "horizontalpodautoscalers", "endpointslices")
USERS = {
    "blind": restricted("blind", (RbacRule(CHANGES, WITHOUT),)),
    "viewer": restricted("viewer", (READS,)),
}


@pytest.fixture
def ann(aws: World, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Desk]:
    with served(USERS) as at:
        found = desk(at, tmp_path / "ann", aws, managed=False, token=getattr(request, "param", TOKEN))
        _owned_by(found, "kubectl-create")
        yield found


def _owned_by(ann: Desk, manager: str) -> None:
    """Another manager owns the whole ConfigMap, as after an installation of CoreDNS by a manifest."""

    def theirs(doc: Doc) -> Doc:
        entries = [each | {"manager": manager, "operation": "Update"} for each in doc["metadata"]["managedFields"]]
        return {**doc, "metadata": {**doc["metadata"], "managedFields": entries}}

    ann.objects.update("ConfigMap", "coredns", theirs, manager)


def owners(ann: Desk) -> set[str]:
    entries = ann.map["metadata"]["managedFields"]
    return {each["manager"] for each in entries if "f:Corefile" in each["fieldsV1"].get("f:data", {})}


def test_whoever_has_the_corefile_is_named_and_not_overwritten(ann: Desk) -> None:
    before = ann.map
    ran = ann.apply("--set", "lameduck=20s", *YES)
    assert ran.code == 1 and ".data.Corefile is kubectl-create's" in " ".join(ran.err.split()), ran.err
    told = document(ann.run("--set", "lameduck=20s", "-o", "json").out, "DnsChange")
    assert told["conflicts"] == [{"field": ".data.Corefile", "owner": "kubectl-create"}]
    assert told["change"]["managed"] is False and told["mode"] is None
    assert ann.map == before and not ann.journals


@pytest.mark.long
def test_it_is_taken_where_that_is_meant_and_every_pod_runs_it(ann: Desk) -> None:
    ann.types = "prod 1\n"
    ran = ann.apply("--set", "lameduck=20s", "--force-conflicts", "-o", "json")
    told = document(ran.out, "DnsChange")
    assert ran.code == 0 and told["applied"] and told["verified"]["all"], ran.err
    assert "lameduck 20s" in ann.corefile and owners(ann) == {"eksdoc"}
    (journal,) = ann.journals
    saved = json.loads(journal.with_name(f"{journal.stem}.configmap-of-before.json").read_text())
    assert "lameduck 5s" in saved["data"]["Corefile"] and saved["metadata"] == {
        "name": "coredns",
        "namespace": "kube-system",
    }
    assert [json.loads(line)["entry"] for line in journal.read_text().splitlines()] == [
        "begun",
        "asking",
        "asked",
        "ended",
    ]
    again = ann.apply("--resume", journal.stem, "-o", "json")
    assert again.code == 0 and document(again.out, "DnsChange")["verified"]["all"], again.err
    once_more = ann.apply("--set", "lameduck=15s", *YES)
    assert once_more.code == 0 and "lameduck 15s" in ann.corefile, "it is ours now, so nobody is in conflict"
    assert ann.updates == 0


@pytest.mark.long
def test_it_is_reverted_unless_another_client_changed_it_since(ann: Desk) -> None:
    before = ann.corefile
    assert ann.apply("--set", "lameduck=20s", "--force-conflicts", *YES).code == 0
    (journal,) = ann.journals
    ann.types = "prod 1\n"
    undone = ann.changes("undo", journal.stem)
    assert undone.code == 0 and ann.corefile == before, undone.err
    assert "the Corefile as it was before" in undone.err
    told = json.loads(ann.changes("-o", "json").out)["changes"]
    assert [each["state"] for each in told] == ["done", "undone"]
    assert ann.apply("--set", "lameduck=20s", *YES).code == 0
    ann.edits(lambda text: text.replace("cache 30", "cache 31"))
    undone = ann.changes("undo", ann.journals[-1].stem)
    assert undone.code == 7 and "another client has changed it since" in undone.err and "cache 31" in ann.corefile


def test_the_rollback_that_is_shown_needs_no_file_that_is_not_there(ann: Desk) -> None:
    told = document(ann.run("--set", "lameduck=20s", "-o", "json").out, "DnsChange")
    (back,) = told["wayBack"]
    assert "of-before.json" not in back and "lameduck 5s" in back and back.startswith("printf ")


@pytest.mark.long
def test_a_dry_run_asks_the_server_and_changes_nothing(ann: Desk) -> None:
    before = ann.map
    ran = ann.apply("--set", "lameduck=20s", "--force-conflicts", "--dry-run=server")
    assert ran.code == 0 and "the server would take it" in ran.err and ann.map == before
    ran = ann.apply("--set", "lameduck=20s", "--dry-run=server")
    assert ran.code == 1 and ".data.Corefile is kubectl-create's" in ran.err and ann.map == before


@pytest.mark.long
@pytest.mark.parametrize("ann", ["blind"], indirect=True)
def test_who_may_look_nowhere_knows_nothing(ann: Desk) -> None:
    flags = ("--force-conflicts", *YES, "--verify-for", "20s", "-o", "json")
    ran = ann.apply("--set", "lameduck=20s", *flags)
    told = document(ran.out, "DnsChange")
    assert ran.code == 5 and not told["verified"]["all"], ran.err
    assert {pod["taken"] for pod in told["verified"]["pods"]} == {"unknown"}
    missing = {right for pod in told["verified"]["pods"] for right in pod["missing"]}
    assert missing == {"get pods/log", "get pods/proxy"}


@pytest.mark.parametrize("ann", ["viewer"], indirect=True)
@pytest.mark.long
def test_who_may_not_patch_is_told_so(ann: Desk) -> None:
    ran = ann.apply("--set", "lameduck=20s", "--force-conflicts", *YES)
    assert ran.code == 3 and "patch configmaps" in ran.err and "lameduck 5s" in ann.corefile
    (journal,) = ann.journals
    assert [json.loads(line)["entry"] for line in journal.read_text().splitlines()] == ["begun", "asking", "refused"]


@pytest.mark.long
def test_what_a_killed_run_has_done_is_decided_by_the_live_corefile(ann: Desk) -> None:
    """The run was killed between its journal entry and the write, or after the write."""
    assert ann.apply("--set", "lameduck=20s", "--force-conflicts", *YES).code == 0
    (journal,) = ann.journals
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:2]))
    behind = ann.apply("--resume", journal.stem, "-o", "json")
    assert behind.code == 0 and document(behind.out, "DnsChange")["verified"]["all"], behind.err
    ann.edits(lambda text: text.replace("lameduck 20s", "lameduck 5s"))
    ahead = ann.apply("--resume", journal.stem)
    assert ahead.code != 0 and "was not made: nothing was changed" in ahead.err


@pytest.mark.long
def test_who_changes_it_between_two_looks_is_not_overwritten(ann: Desk) -> None:
    ann.types = "prod 1\n"
    ann.happens = lambda: ann.edits(lambda text: text.replace("cache 30", "cache 31"))
    ran = ann.apply("--set", "lameduck=20s", "--force-conflicts")
    assert ran.code == 7 and "cache 31" in ann.corefile and "lameduck 5s" in ann.corefile
