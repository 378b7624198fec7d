"""Two clients that keep their journals in two namespaces have two locks: the annotations on the nodes reveal each run
to the other client."""

from __future__ import annotations

import re

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.model.api_objects import with_value
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.drain.command.served import EVICTED, Machine, cordoned, docs
from tests.drain.command.test_runs import agreed, rolled_back, stopped_early, valid
from tests.kube.live_backend.test_complete_drain import Evictions

ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4}")
ELSEWHERE = ("--journal-namespace", "default")


@pytest.mark.long
def test_a_second_drain_is_not_begun_on_nodes_of_the_first(seen: Evictions, one: Machine, other: Machine) -> None:
    words = agreed(one)
    with one.running("drain", "run", *words, *ELSEWHERE):
        one.out.until(EVICTED)
        second = other.run("drain", "run", *words)
        third = other.run("drain", "run", "new-1", "--force", "--delete-emptydir-data", "--yes", "--expect-nodes", "1")
        run = ID.findall(one.err.getvalue())[0]
    assert second.code == 3, second.err
    assert f"another drain is under way: run {run}, led by ann@" in second.err
    assert (
        "journal in namespace default; node old-1 carries its notes" in second.err or "more nodes carry" in second.err
    )
    for verb in ("status", "resume", "rollback"):
        assert f"kubectl eksdoc drain {verb} {run} " in second.err and "--journal-namespace default" in second.err
    assert third.code == 3 and "another drain is under way: run " in third.err, "nor on other nodes"
    assert one.code == 1 and len(seen.of) == 16 and max(seen.of.values()) == 1


class Elsewhere(Machine):
    """A machine that keeps its journals in the other namespace."""

    def __init__(self, of: Machine) -> None:
        super().__init__(of.home, of.config)

    def run(self, *argv: str, **environ: str):  # type: ignore[no-untyped-def]
        more = ELSEWHERE if argv[:2] != ("drain", "plan") else ()
        return super().run(*argv, *more, **environ)


@pytest.mark.long
def test_a_run_that_is_over_is_in_nobodys_way(api: Api, seen: Evictions, one: Machine, other: Machine) -> None:
    before = cordoned(api)
    stopped_early(Elsewhere(one))  # its end was written
    again = other.run("drain", "run", *agreed(other))
    assert again.code == 1 and len(seen.of) == 16 and max(seen.of.values()) == 1, again.err
    rolled_back(other)
    rolled_back(Elsewhere(other))
    assert cordoned(api) == before


@pytest.mark.long
def test_status_and_rollback_lead_to_the_other_namespace(one: Machine, other: Machine) -> None:
    stopped_early(Elsewhere(one))
    shown = other.run("drain", "status")
    assert "its journal is in namespace default" in shown.out and "--journal-namespace default" in shown.out
    (run,) = set(ID.findall(shown.out))
    for verb in ("resume", "rollback"):
        refused = other.run("drain", verb, run)
        assert refused.code == 2 and f"the journal of run {run} is in namespace default" in refused.err, refused.err
        assert f"kubectl eksdoc drain {verb} {run} " in refused.err
    # When it attaches to the node, it names the run.
    other.times_told = lambda: 1
    watched = other.run("drain", "status", "--attach", "old-1", "-o", "json")
    said = docs(watched.out)
    assert {valid(doc) for doc in said} == {"DrainWatch"}
    shown_run = said[0]["nodes"][0]["run"]
    assert (shown_run["run"], shown_run["journalNamespace"]) == (run, "default")
    assert shown_run["command"].startswith(f"kubectl eksdoc drain status {run} -w ")


def test_who_begins_while_the_second_reads_its_plan_is_seen_under_the_lock(
    api: Api, seen: Evictions, one: Machine, other: Machine
) -> None:
    def noted(plane: ControlPlane) -> None:
        item = plane.registry.get("nodes", ("", "old-1"))
        prior = '{"journal":"default","unschedulable":false}'
        notes = {"eksdoc.io/run": "another", "eksdoc.io/prior": prior}
        plane.registry.update(item, with_value(item.doc, ("metadata", "annotations"), notes))

    other.types, other.before_typing = "lab 1\n", lambda: api.run_locked(noted)
    second = other.run("drain", "run", *agreed(one)[:2])
    assert second.code == 3 and "node old-1 carries the notes of run another" in second.err, second.err
    assert "its journal is not in namespace default any more" in second.err and not seen.of
