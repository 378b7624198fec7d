"""Stop times in plans: commands and screens get them by one function, from the journals on disk and in the cluster."""

from __future__ import annotations

import json

from kubectl_eksdoc.cli.context import DrainRunEdges
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.model.journal import JournalEntries, NoteEntry, NoteKind
from tests.builders import NOW
from tests.cli.running import FakeRuns, Ran, run_cli

HERE, THERE, OLDER, OLDEST = "20261120-0900-4f2a", "20261120-0800-4f2a", "20261120-0700-4f2a", "20261120-0600-4f2a"


def a_journal(*stops_s: float) -> JournalEntries:
    return JournalEntries((NoteEntry(1, NOW, NoteKind.STOPPED, "default/ReplicaSet/web", " ".join(map(str, stops_s))),))


def planned(runs: FakeRuns, here: dict[str, JournalEntries] | None = None) -> Ran:
    edges = DrainRunEdges(open_runs=runs.open, earlier_journals=lambda environ, cluster: dict(here or {}))
    return run_cli("drain", "plan", "old-0", "-o", "json", edges=edges)


def stop_times(ran: Ran) -> object:
    return json.loads(ran.out)["estimate"]["stopTimes"]


def test_a_plan_uses_the_journals_of_the_cluster_too() -> None:
    nowhere = planned(FakeRuns())
    there = planned(FakeRuns({THERE: a_journal(3.0, 3.0, 4.0)}))
    assert (stop_times(nowhere), stop_times(there)) == (
        {"measured": 0, "workloads": 1},
        {"measured": 1, "workloads": 1},
    )
    assert "note: stop times" not in nowhere.err + there.err


def test_a_run_whose_journal_is_here_is_not_read_from_the_cluster_and_of_those_only_the_latest_are() -> None:
    runs = FakeRuns({HERE: a_journal(9.0), THERE: a_journal(9.0), OLDER: a_journal(9.0), OLDEST: a_journal(9.0)})
    planned(runs, {HERE: a_journal(3.0)})
    assert runs.read == [THERE, OLDER]


def test_a_missing_right_is_said_in_one_line_and_what_is_here_is_used() -> None:
    refused = Forbidden("https://x refuses list configmaps", "", "list configmaps")
    ran = planned(FakeRuns(error=refused), {HERE: a_journal(3.0, 3.0, 4.0)})
    said = [line for line in ran.err.splitlines() if "stop times" in line]
    assert said == ["note: stop times in journals of the cluster are not used: https://x refuses list configmaps"]
    assert stop_times(ran) == stop_times(planned(FakeRuns(), {HERE: a_journal(3.0, 3.0, 4.0)}))
    assert ran.err.splitlines()[0].startswith("context ")
