"""`drain run` and the commands that inspect and control runs, from the command line, with several machines on one
served cluster."""

from __future__ import annotations

import json
import re
import time
from itertools import product
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer
from kubectl_eksdoc.simulator import faults as mishaps
from tests.cli.running import judge
from tests.drain.command.served import EVICTED, Machine, cordoned, docs, machine
from tests.embedded.clients import worlds
from tests.kube.live_backend.test_complete_drain import Evictions

BLUE = ("--nodegroup", "blue")


def valid(doc: dict[str, object]) -> str:
    """The kind of a document that is valid by its schema."""
    kind = str(doc["kind"])
    judge(kind).validate(doc)
    return kind


def nodes_of(machine: Machine) -> int:
    """The number of nodes that the plan drains."""
    ran = machine.run("drain", "plan", *BLUE, "-o", "name")
    return len(ran.out.split())


def agreed(machine: Machine) -> tuple[str, ...]:
    """Plan until a node can be drained: while replacement pods of a stopped run still start, budgets allow no
    eviction."""
    ends_s = time.monotonic() + 30.0
    while (count := nodes_of(machine)) == 0:
        assert time.monotonic() < ends_s
        time.sleep(0.05)
    return (*BLUE, "--yes", "--expect-nodes", str(count))


def test_what_is_typed_back_is_drained(api: Api, seen: Evictions, one: Machine) -> None:
    count = nodes_of(one)
    one.types = f"lab {count}\n"
    ran = one.run("drain", "run", *BLUE)
    assert ran.code == 1, ran.err  # the plan leaves some nodes out
    assert count == 1 and "NODES, in the order of the plan" in ran.out
    assert "Drained: 1 of 1 node emptied by 16 evictions" in ran.out
    assert "Type 'lab 1' to drain 1 node of lab" in ran.err and "BLOCKERS" in ran.err
    assert "NEXT (nothing was changed)" not in ran.err
    summary = ran.err[ran.err.index("\nDRAIN lab\n") + 1 : ran.err.index("Type 'lab 1'")].splitlines()
    assert len(summary) <= 12 and summary[1] == "  nodes       1 of 6: old-1", "directly above the prompt"
    assert len(seen.of) == 16 and max(seen.of.values()) == 1
    assert len(cordoned(api)) >= count


@pytest.mark.long
def test_nothing_is_done_without_what_must_be_typed(api: Api, seen: Evictions, one: Machine) -> None:
    before = cordoned(api)
    assert one.run("drain", "run", *BLUE).code == 2
    one.types = "yes\n"
    ran = one.run("drain", "run", *BLUE)
    assert ran.code == 2 and "Nothing was done" in ran.err
    ran = one.run("drain", "run", *BLUE, "--yes", "--expect-nodes", "17")
    assert ran.code == 7 and "--expect-nodes 17 is wrong" in ran.err
    ran = one.run("drain", "run", *agreed(one), EKSDOC_READ_ONLY="1")
    assert ran.code == 2 and "EKSDOC_READ_ONLY" in ran.err
    for dry in ("--dry-run", "--dry-run=client"):
        ran = one.run("drain", "run", *agreed(one), dry)
        assert ran.code == 1 and "TARGETS" in ran.out
    assert (cordoned(api), seen.of) == (before, {})
    assert one.run("drain", "status").out == "No run is kept in namespace kube-system.\n"


def test_what_the_server_would_refuse_is_told(api: Api, server: SimulatedApiServer, tmp_path: Path) -> None:
    reader = machine(server, tmp_path / "eve", worlds.VIEWER_TOKEN)
    ran = reader.run("drain", "run", *BLUE, "--dry-run=server")
    assert ran.code == 1 and "the server would refuse old-1: " in ran.err and "cannot patch resource" in ran.err
    assert "the server would do 0 of " in ran.err


@pytest.mark.long
def test_a_saved_plan_is_run_and_told_in_lines_of_json(
    seen: Evictions, one: Machine, other: Machine, tmp_path: Path
) -> None:
    file = saved(one, tmp_path / "plan.json")
    ran = one.run("drain", "run", "--plan", file, "--yes", "--expect-nodes", str(nodes_of(one)), "-o", "json")
    assert ran.code == 1 and len(seen.of) == 16, ran.err
    said = docs(ran.out)
    kinds = [valid(doc) for doc in said]
    assert kinds == ["DrainRunEvent"] * (len(said) - 1) + ["DrainRun"]
    assert [doc["what"] for doc in said[:-1]].count("evicted") == said[-1]["evictions"] == 16
    assert said[-1]["outcome"] == "done" and {doc["run"] for doc in said} == {said[-1]["run"]}
    status = one.run("drain", "status", str(said[-1]["run"]), "-o", "json")
    doc = json.loads(status.out)
    assert valid(doc) == "DrainRunStatus" and doc["run"]["ended"] == "done"
    assert sum(node["granted"] for node in doc["run"]["nodes"]) == 16
    # The event is reported again, from the journal in the cluster.
    there = other.run("drain", "status", "--events")
    assert there.code == 0 and there.out.count("evicted") == 16 and re.search(r"done +old-1", there.out)


@pytest.mark.long
def test_somebody_elses_drain_is_watched(api: Api, one: Machine, other: Machine) -> None:
    """The other drain is a run of this tool on another machine."""
    words = agreed(one)
    with one.running("drain", "run", *words):
        one.out.until(EVICTED)
        watched = other.run("drain", "status", "--attach", "old-1", "-o", "json")
    said = docs(watched.out)
    assert watched.code == 0 and {valid(doc) for doc in said} == {"DrainWatch"}, watched.err
    assert said[0]["nodes"][0]["pods"] and said[-1]["nodes"][0]["pods"] == []
    run = said[-1]["nodes"][0]["run"]
    assert said[-1]["nodes"][0]["drainedBy"] == f"run {run['run']} of eksdoc"
    assert run["journalNamespace"] == "kube-system" and f"drain status {run['run']} -w" in run["command"]
    unknown = other.run("drain", "status", "--attach", "nowhere")
    assert unknown.code == 2 and "there is no node nowhere" in unknown.err


SOURCES = (("--demo",), ("--snapshot", "dump"))
COMMANDS = [("run", "old-1"), ("status",), ("status", "--attach"), ("pause",), ("abort",), ("resume",), ("rollback",)]


@pytest.mark.parametrize("source", SOURCES)
def test_another_source_before_the_command_does_not_lead_to_the_live_cluster(
    source: tuple[str, ...], one: Machine, seen: Evictions
) -> None:
    """The source flag stands before the subcommand and before the subcommand's own flags."""
    wrong = []
    for command, early in product(COMMANDS, (True, False)):
        words = (*source, "drain", *command) if early else ("drain", *source, *command)
        ran = one.run(*words)
        if ran.code != 2 or "runs are of the live cluster" not in ran.err or seen.of:
            wrong.append((words, ran))
    assert wrong == []


@pytest.mark.long
def test_a_run_is_ended_and_gone_on_with_elsewhere(api: Api, seen: Evictions, one: Machine, other: Machine) -> None:
    """The resumed run has the same guards and hooks."""
    one.times_told = lambda: int(EVICTED in one.out.getvalue())
    guards = ("--hook-before-wave", "true", "--eviction-timeout", "31m", "--stop-not-ready", "0")
    ran = one.run("drain", "run", *agreed(one), *guards)
    assert ran.code == 6 and "Stopped: the user stopped it" in ran.out, ran.out
    assert "stopping: nothing more is asked for" in ran.err and "drain resume" in ran.out
    status = other.run("drain", "status", "-o", "json").out
    left = one.run("drain", "resume", "--yes", "--expect-nodes", "99")
    assert left.code == 7 and "would go on draining" in left.err
    count = left.err.rpartition("draining ")[2].split()[0]
    refused = other.run("drain", "resume", "--yes", "--expect-nodes", count)
    assert refused.code == 2 and "--hook-before-wave true" in refused.err and "--without-hooks" in refused.err
    again = other.goes_on("--yes", "--expect-nodes", count, "--without-hooks")
    assert again.code in (0, 1), (again.err, status)
    assert len(seen.of) == 16 and max(seen.of.values()) == 1 and seen.overdrawn == []
    over = other.run("drain", "resume")
    assert over.code == 2 and "no run is unfinished" in over.err


def stopped_early(one: Machine) -> None:
    """A run that was stopped before its end, so that a part of it remains."""
    one.times_told = lambda: int(EVICTED in one.out.getvalue())
    assert one.run("drain", "run", *agreed(one)).code == 6
    one.times_told = lambda: 0


def rolled_back(by: Machine) -> None:
    count = by.run("drain", "rollback", "--yes", "--expect-nodes", "99").err.rpartition("give back ")[2].split()[0]
    assert by.run("drain", "rollback", "--yes", "--expect-nodes", count).code == 0


@pytest.mark.long
def test_what_was_rolled_back_while_it_was_read_is_not_gone_on_with(
    api: Api, seen: Evictions, one: Machine, other: Machine
) -> None:
    before = cordoned(api)
    stopped_early(one)
    evicted = dict(seen.of)
    one.types, one.before_typing = "lab 1\n", lambda: rolled_back(other)
    late = one.run("drain", "resume")
    assert late.code == 7 and "was rolled back meanwhile" in late.err, late.err
    assert (cordoned(api), seen.of) == (before, evicted)
    (run,) = re.findall(r"run (\S+) was rolled back meanwhile", late.err)
    again = other.run("drain", "resume", run)
    assert again.code == 2 and "was rolled back" in again.err


@pytest.mark.long
def test_it_is_paused_and_gone_on_with_from_elsewhere(seen: Evictions, one: Machine, other: Machine) -> None:
    words = agreed(one)
    with one.running("drain", "run", *words):
        one.out.until(EVICTED)
        assert other.run("drain", "pause").out.endswith("is paused\n"), other.err.getvalue()
        assert "held" in one.out.getvalue() and "ben@" in one.out.getvalue()
        assert "paused" in other.run("drain", "status").out
        locked = other.run("drain", "run", *words)
        assert locked.code == 3 and "another drain is under way" in locked.err
        assert other.run("drain", "resume").out.endswith("continues\n")
    assert one.code == 1 and max(seen.of.values()) == 1 and len(seen.of) == 16


@pytest.mark.long
def test_it_is_aborted_and_rolled_back_from_elsewhere(api: Api, seen: Evictions, one: Machine, other: Machine) -> None:
    before = cordoned(api)
    words = agreed(one)
    with one.running("drain", "run", *words):
        one.out.until(EVICTED)
        assert other.run("drain", "abort").out.startswith("run "), other.err.getvalue()
    assert one.code == 6 and "ben@" in one.out.getvalue()
    assert cordoned(api) > before
    count = len(cordoned(api) - before)
    asked = other.run("drain", "rollback", "--yes", "--expect-nodes", "99").err
    other.types = f"lab {asked.rpartition('give back ')[2].split()[0]}\n"
    back = other.run("drain", "rollback")
    assert back.code == 0 and back.out.count("is as it was before") == count, back.err
    assert "do not move back" in back.err and cordoned(api) == before
    again = other.run("drain", "rollback")
    assert again.code == 0 and "no node that is not given back" in again.err
    assert other.run("drain", "resume").code == 2


@pytest.mark.long
def test_rollback_ends_a_run_that_is_under_way(api: Api, one: Machine, other: Machine) -> None:
    before = cordoned(api)
    words = agreed(one)
    with one.running("drain", "run", *words):
        one.out.until(EVICTED)
        asked = other.run("drain", "rollback", "--yes", "--expect-nodes", "99").err
        count = asked.rpartition("give back ")[2].split()[0]
        back = other.run("drain", "rollback", "--yes", "--expect-nodes", count)
    assert back.code == 0, back.err
    assert one.code == 6 and cordoned(api) == before


def saved(one: Machine, path: Path) -> str:
    path.write_text(one.run("drain", "plan", *BLUE, "-o", "json").out, encoding="utf-8")
    return str(path)


@pytest.mark.long
def test_a_saved_plan_is_not_run_when_the_cluster_has_changed(
    api: Api, seen: Evictions, one: Machine, tmp_path: Path
) -> None:
    count = nodes_of(one)
    file = saved(one, tmp_path / "plan.json")
    before = cordoned(api)
    other_labels = file_with(file, tmp_path / "b.json", '"verdict": "drains"', '"verdict": "skipped"')
    ran = one.run("drain", "run", "--plan", other_labels, "--yes", "--expect-nodes", str(count))
    assert ran.code == 7 and "was skipped and is drains now" in ran.err and "Nothing was done" in ran.err
    assert (cordoned(api), seen.of) == (before, {})
    for words in (("--nodegroup", "blue"), ("--force",)):
        ran = one.run("drain", "run", "--plan", file, *words)
        assert ran.code == 2 and "--plan says" in ran.err


def file_with(path: str, to: Path, old: str, new: str) -> str:
    text = Path(path).read_text(encoding="utf-8")
    assert old in text
    to.write_text(text.replace(old, new), encoding="utf-8")
    return str(to)


@pytest.mark.long
def test_whatever_somebody_did_to_a_run_since_it_was_shown_stops_who_goes_on(
    seen: Evictions, one: Machine, other: Machine
) -> None:
    stopped_early(one)

    def gone_on_elsewhere() -> None:
        other.times_told = lambda: int("run " in other.err.getvalue())
        assert other.run("drain", "resume", "--yes", "--expect-nodes", "1").code == 6

    one.types, one.before_typing = "lab 1\n", gone_on_elsewhere
    late = one.run("drain", "resume")
    assert late.code == 7 and "since it was shown" in late.err, late.err


@pytest.mark.long
def test_what_somebody_uncordoned_and_cordoned_again_stays_theirs(api: Api, one: Machine, other: Machine) -> None:
    with one.running("drain", "run", *agreed(one)):
        one.out.until("begun")
        api.run_locked(lambda plane: mishaps.uncordon(plane, "old-1"))
        one.out.until("it was uncordoned")
        api.run_locked(lambda plane: mishaps.set_cordon(plane, "old-1"))
    assert one.code == 6
    rolled_back(other)
    assert "old-1" in cordoned(api)
