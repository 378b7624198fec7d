"""Runs whose journal was deleted from the cluster: the node annotations reveal them, status reports them, and a
rollback uses those annotations."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from kubectl_eksdoc.drain.command.rollback import RollbackPlan, preview_messages
from kubectl_eksdoc.drain.run.journal import CordonedNode, ProtectedNode
from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.handler import ScaledTime, SimulatedApiServer
from kubectl_eksdoc.embedded.serving.requests import ADMIN, RbacRule, TokenUsers, restricted
from kubectl_eksdoc.model.api_objects import with_value
from kubectl_eksdoc.model.nodes import SCALE_DOWN_PROTECTIONS, Node, RunNote
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.builders import a_node
from tests.drain.command.served import EVICTED, Machine, cordoned, machine
from tests.drain.command.test_runs import agreed, stopped_early, valid
from tests.embedded.clients import worlds
from tests.kube.live_backend.test_cordons import lasting

MAPS = "configmaps"
KEEPER = "keeper-token"
JOURNALS = restricted("keeper", (RbacRule(("get", "list"), (MAPS, "leases"), ("", "coordination.k8s.io")),))


@pytest.fixture
def api() -> Api:
    access = TokenUsers({worlds.ADMIN_TOKEN: ADMIN, KEEPER: JOURNALS})
    return Api(worlds.plane_of("small-traps", worlds.QUICK), ApiSetup(access), ScaledTime(time.monotonic, 10.0))


def removed(api: Api, *parts: str) -> str:
    """Delete the journals of all runs, or these parts of them; return the id of a run."""

    def remove(plane: ControlPlane) -> str:
        maps = [item for item in plane.store.list(MAPS) if item.key[1].startswith("eksdoc-run-")]
        for item in maps:
            if not parts or item.doc["metadata"]["labels"]["eksdoc.io/part"] in parts:
                plane.registry.delete(item)
        return str(maps[0].doc["metadata"]["labels"]["eksdoc.io/run"])

    return api.run_locked(remove)


def nodes(api: Api) -> dict[str, object]:
    return api.run_locked(lambda plane: {item.key[1]: _kept(item.doc) for item in plane.store.list("nodes")})


def _kept(doc: dict[str, object]) -> object:
    """The state of the objects that a run may have changed."""
    made = lasting(doc)
    spec = {key: value for key, value in made["spec"].items() if value}  # no taints are no taints
    return spec, made["metadata"].get("labels"), made["metadata"].get("annotations")


@pytest.mark.long
def test_it_is_shown_and_taken_back_by_the_notes_on_another_machine(api: Api, one: Machine, other: Machine) -> None:
    before = nodes(api)
    stopped_early(one)
    assert nodes(api) != before
    drained, run = nodes(api), removed(api)
    check_status_shows_it(other, run)
    check_it_cannot_be_resumed(other, run)
    check_no_other_run_is_begun(one, run)
    assert nodes(api) == drained
    asked = other.run("drain", "rollback", run, "--yes", "--expect-nodes", "99")
    assert asked.code == 7, asked.err
    assert "this would give back 1 node\n" in asked.err, "what the plan of the run counted, without skipped targets"
    assert f"the journal of run {run} is gone" in asked.err and "Not known: which pods it evicted" in asked.err
    other.types = f"lab {asked.err.rpartition('give back ')[2].split()[0]}\n"
    back = other.run("drain", "rollback")
    assert back.code == 0 and "old-1 is as it was before" in back.out, back.err
    assert nodes(api) == before
    status = other.run("drain", "status", run)
    assert "rolled back" in status.out and "its journal is gone" not in status.out
    again = one.run("drain", "resume", run)
    assert again.code == 2 and "was rolled back" in again.err


@pytest.mark.long
def test_a_run_whose_journal_goes_while_it_is_under_way_ends_and_says_what_helps(
    api: Api, one: Machine, other: Machine
) -> None:
    before = cordoned(api)
    with one.running("drain", "run", *agreed(one)):
        one.out.until(EVICTED)
        run = removed(api)
    assert one.code == 6 and f"drain rollback {run}" in one.err.getvalue(), one.err.getvalue()
    assert "drain resume" not in one.err.getvalue() and "uncordon" not in one.err.getvalue()
    asked = other.run("drain", "rollback", run, "--yes", "--expect-nodes", "99").err
    count = asked.rpartition("give back ")[2].split()[0]
    assert other.run("drain", "rollback", run, "--yes", "--expect-nodes", count).code == 0
    assert cordoned(api) == before
    for item in api.run_locked(lambda plane: plane.store.list("nodes")):
        assert not set(SCALE_DOWN_PROTECTIONS) & set(item.doc["metadata"].get("annotations") or ())


@pytest.mark.long
def test_the_advice_after_its_namespace_is_gone_works(api: Api, one: Machine, other: Machine) -> None:
    before = nodes(api)
    api.run_locked(lambda plane: plane.registry.create("namespaces", {"metadata": {"name": "jj"}}))
    with one.running("drain", "run", *agreed(one), "--journal-namespace", "jj"):
        one.out.until(EVICTED)
        run = removed(api)
        api.run_locked(lambda plane: plane.registry.delete(plane.registry.get("namespaces", ("", "jj"))))
    (advice,) = re.findall(rf"by the notes on its nodes: kubectl eksdoc (drain rollback {run}.*)", one.err.getvalue())
    words = advice.replace(one.config, other.config).partition(" --kubeconfig")[0].split()
    refused = other.run("drain", "resume", run, "--journal-namespace", "jj")
    assert f"drain rollback {run}" in refused.err and "--journal-namespace" not in refused.err, refused.err
    back = other.run(*words, "--yes", "--expect-nodes", "1")
    assert back.code == 0, back.err
    assert nodes(api) == before


def check_status_shows_it(other: Machine, run: str) -> None:
    """The status also names the command."""
    for words in ((), (run,), ("-w",)):
        shown = other.run("drain", "status", *words)
        assert shown.code == 0 and "its journal is gone" in shown.out, shown.err
        assert f"kubectl eksdoc drain rollback {run}" in shown.out and "6 nodes carry its notes" in shown.out
    doc = json.loads(other.run("drain", "status", "-o", "json").out)
    assert valid(doc) == "DrainRunStatus"
    assert [(each["run"], each["nodes"], each["journal"]) for each in doc["withoutJournal"]] == [
        (run, [f"old-{i}" for i in range(6)], "gone")
    ]


def check_it_cannot_be_resumed(other: Machine, run: str) -> None:
    """The error gives the reason."""
    for words in ((run,), ()):
        refused = other.run("drain", "resume", *words)
        assert refused.code == 2 and f"the journal of run {run} is gone" in refused.err, refused.err
        assert f"drain rollback {run}" in refused.err


def check_no_other_run_is_begun(one: Machine, run: str) -> None:
    """No other run starts on the nodes of the run."""
    refused = one.run("drain", "run", *agreed(one))
    assert refused.code == 3 and f"old-0 and 5 more nodes carry the notes of run {run}" in refused.err, refused.err
    assert f"drain rollback {run}" in refused.err


def test_which_of_two_is_meant_must_be_said(api: Api, one: Machine) -> None:
    def annotate(plane: ControlPlane, name: str, run: str) -> None:
        item = plane.registry.get("nodes", ("", name))
        notes = {"eksdoc.io/run": run, "eksdoc.io/prior": '{"unschedulable":false}'}
        plane.registry.update(item, with_value(item.doc, ("metadata", "annotations"), notes))

    api.run_locked(lambda plane: annotate(plane, "old-1", "lost-a"))
    api.run_locked(lambda plane: annotate(plane, "old-2", "lost-b"))
    refused = one.run("drain", "rollback")
    assert refused.code == 2 and "lost-a, lost-b" in refused.err
    before = nodes(api)
    dry = one.run("drain", "rollback", "lost-b", "--dry-run")
    said = "old-2 would be as it was before, if its note of this run can be read\n"
    assert (dry.code, dry.out, nodes(api)) == (5, said, before), "its note does not name a journal, as all of ours do"
    assert one.run("drain", "rollback", "lost-b", "--yes", "--expect-nodes", "1").out.startswith("old-2 is as it was")
    assert nodes(api) != before


def test_what_a_rollback_would_do_is_said_by_nodes_as_they_are_now() -> None:
    def noted(name: str, run: str = "r1") -> Node:
        return a_node(name, note=RunNote(run, "kube-system"))

    there = (noted("old-0"), noted("old-1"), noted("old-2", "r2"), a_node("old-3"))
    changed = [CordonedNode(node.name, node.uid, True, uncordoned_by_others=node.name == "old-1") for node in there]
    which = RollbackPlan(
        "r1", (*changed, CordonedNode("old-0", "of-before", True)), (ProtectedNode("old-3", "x", True),), 2
    )
    assert preview_messages(which, there) == [
        "old-0 would be as it was before",
        "old-1 would be as it was before, but for its cordon: another client has uncordoned it since",
        "old-2 would stay as it is: it has no note of this run any more",
        "old-3 would stay as it is: it has no note of this run any more",
        "old-0 is gone: nothing of it would change",
        "old-3 is gone: nothing of it would change",
    ]


def test_there_may_be_nothing_to_take_back(one: Machine) -> None:
    assert "no run is there" in one.run("drain", "rollback").err
    assert "there is no run lost-a" in one.run("drain", "rollback", "lost-a").err


def test_who_may_not_read_nodes_is_told_what_status_lacks(server: SimulatedApiServer, tmp_path: Path) -> None:
    keeper = machine(server, tmp_path / "eve", KEEPER)
    shown = keeper.run("drain", "status")
    assert shown.code == 0 and "note: runs whose journal is gone are not found" in shown.out, shown.err


@pytest.mark.long
@pytest.mark.parametrize("part", ["head", pytest.param("entries", marks=pytest.mark.long)])
def test_notes_are_enough_where_only_a_part_is_gone(api: Api, one: Machine, other: Machine, part: str) -> None:
    before = nodes(api)
    stopped_early(one)
    run = removed(api, part)
    asked = other.run("drain", "rollback", run, "--yes", "--expect-nodes", "99").err
    count = asked.rpartition("give back ")[2].split()[0]
    assert other.run("drain", "rollback", run, "--yes", "--expect-nodes", count).code == 0, asked
    assert nodes(api) == before
    status = other.run("drain", "status", run)
    assert "rolled back" in status.out and "drain resume" not in status.out
    assert ("does not say how the run began" in status.out) is (part == "head")
