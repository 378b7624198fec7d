"""The run controller of the screens on a served cluster: requests that it refuses before any change, and whole runs."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from kubectl_eksdoc.cli.flags import GlobalOptions
from kubectl_eksdoc.drain.command.run_controller import RunController
from kubectl_eksdoc.drain.command.screen_ports import (
    ActiveRun,
    PreparedRun,
    RunKind,
    RunSummaryView,
)
from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.read import plan_drain
from kubectl_eksdoc.drain.report.plan import DrainView
from kubectl_eksdoc.drain.run.history import NodeState, RunHistory
from kubectl_eksdoc.drain.run.loop import RunRequest
from kubectl_eksdoc.drain.run.replay import from_events
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer
from kubectl_eksdoc.embedded.serving.requests import ServedRequest
from kubectl_eksdoc.errors import Drifted, EksdocError, Forbidden, Locked, UsageError
from kubectl_eksdoc.host.journals import read_recording
from kubectl_eksdoc.model.budgets import IntOrPercent
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.journal import LockState, RunEvents, RunSummary, effective_phase
from kubectl_eksdoc.session.sources import SourceChoice
from kubectl_eksdoc.simulator import faults as mishaps
from tests.cli.processes import until
from tests.drain.command.served import Machine, cordoned, machine
from tests.embedded.clients import worlds
from tests.kube.live_backend.test_complete_drain import Evictions
from tests.rehearsed import BLUE

LONGEST_S = 60.0


def desk_of(machine: Machine, **environ: str) -> RunController:
    options = GlobalOptions(connection=Connection(kubeconfig=machine.config))
    return RunController(machine._around(environ), lambda: options)


def shown_to(machine: Machine, targeting: Targeting = BLUE, policy: DrainPolicy = DrainPolicy()) -> DrainView:
    reader = machine._around({}).open_reader(SourceChoice(), Connection(kubeconfig=machine.config), None)
    cluster, plan = plan_drain(reader, targeting, policy)
    return DrainView(plan, cluster)


def prepared(machine: Machine, desk: RunController) -> PreparedRun:
    return desk.prepare(BLUE, DrainPolicy(), shown_to(machine))


def over(live: ActiveRun, seen: RunHistory | None = None) -> RunSummaryView:
    """The run's result, once all events have arrived."""
    ends_s = time.monotonic() + LONGEST_S
    while True:
        update = live.take_update()
        if seen is not None:
            seen.add(update.events)
        if update.outcome is not None:
            return update.outcome
        assert time.monotonic() < ends_s, update.progress
        time.sleep(0.02)


# Requests that are refused before any change


def test_a_plan_of_a_cluster_that_has_changed_is_not_prepared(api: Api, one: Machine, seen: Evictions) -> None:
    shown = shown_to(one)
    api.run_locked(lambda plane: mishaps.delete_node(plane, "old-1"))
    before = dict(seen.of)
    with pytest.raises(Drifted) as refused:
        desk_of(one).prepare(BLUE, DrainPolicy(), shown)
    assert "ctrl+r reads it again" in refused.value.hint and seen.of == before


def test_missing_rights_are_all_named(api: Api, server: SimulatedApiServer, tmp_path: Path) -> None:
    reader = machine(server, tmp_path / "eve", worlds.VIEWER_TOKEN)
    with pytest.raises(Forbidden, match="does not let you: patch nodes") as refused:
        prepared(reader, desk_of(reader))
    assert "create pods/eviction" in refused.value.message and cordoned(api) == set()


def test_a_lock_that_another_process_holds_is_said_before_anything_is_typed(api: Api, one: Machine) -> None:
    lease = {"metadata": {"name": "eksdoc-drain"}, "spec": {"holderIdentity": "ben@desk", "leaseDurationSeconds": 30}}
    path, admin = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", f"Bearer {worlds.ADMIN_TOKEN}"
    api.handle(ServedRequest("POST", path, {}, {"authorization": admin}, json.dumps(lease).encode()))
    with pytest.raises(Locked, match="ben@desk leads a run of this cluster") as refused:
        prepared(one, desk_of(one))
    assert "5 shows the runs" in refused.value.hint and cordoned(api) == set()


def test_a_run_whose_leader_is_gone_is_interrupted_whatever_it_told_last() -> None:
    run = RunSummary("r1", None, "running", "ann@laptop/1", None)
    assert effective_phase(run, LockState("ann@laptop/1")) == effective_phase(run, None) == "running"
    for held in (LockState(), LockState("ann@laptop/1", expired=True), LockState("ben@desk/2")):
        assert effective_phase(run, held) == "interrupted"
        assert effective_phase(replace(run, phase="ended"), held) == "ended"


@pytest.mark.parametrize("what", ["prepare", "go on", "give back"])
def test_read_only_refuses_all(what: str, one: Machine, seen: Evictions) -> None:
    desk = desk_of(one, EKSDOC_READ_ONLY="1")
    doing = {
        "prepare": lambda: prepared(one, desk),
        "go on": lambda: desk.prepare_resume("r1"),
        "give back": lambda: desk.prepare_rollback("r1"),
    }
    with pytest.raises(UsageError, match="EKSDOC_READ_ONLY is set"):
        doing[what]()
    assert desk.live is None and not seen.of


def test_a_plan_that_drains_nothing_or_supposes_something_is_none(one: Machine) -> None:
    nothing = Targeting(names=("old-2",))
    desk = desk_of(one)
    shown = shown_to(one, nothing)
    assert not [target for target in shown.targets if target.order], "it is blocked"
    with pytest.raises(UsageError, match="no node of the plan can be drained"):
        desk.prepare(nothing, DrainPolicy(), shown)
    supposes = DrainPolicy(assume_budgets=(("default/web", IntOrPercent(1)),))
    with pytest.raises(UsageError, match="assumes fixes that are not made"):
        desk.prepare(BLUE, supposes, shown)


# Whole runs


def test_a_run_is_prepared_begun_told_and_given_back(
    api: Api, server: SimulatedApiServer, seen: Evictions, one: Machine, tmp_path: Path
) -> None:
    before, desk = cordoned(api), desk_of(one)
    ready = prepared(one, desk)
    assert (ready.kind, ready.cluster_name, ready.nodes, ready.confirmations) == (
        RunKind.DRAIN,
        "lab",
        ("old-1",),
        ("lab 1",),
    )
    assert (cordoned(api), seen.of, desk.live) == (before, {}, None), "nothing was done yet"
    live = ready.start()
    assert desk.live is live and live.view is not None and [aim.node for aim in live.planned_nodes] == ["old-1"]
    known = RunHistory(live.planned_nodes)
    outcome = over(live, known)
    assert not outcome.has_failed and outcome.summary.startswith("Drained: 1 of 1 node emptied by 16 evictions")
    check_it_is_shown_again_with_reasons_and_budgets(outcome.events_file, known)
    assert known.nodes["old-1"].state is NodeState.DONE and known.gone == known.pods == 16
    assert len(seen.of) == 16 and max(seen.of.values()) == 1 and "old-1" in cordoned(api)
    until(lambda: desk.live is not None and desk.live.has_ended)
    check_missing_rights_to_give_back_are_named(live.run, machine(server, tmp_path / "eve", worlds.VIEWER_TOKEN))
    assert "old-1" in cordoned(api)
    back = desk.prepare_rollback(live.run)
    # The targets that were skipped were cordoned too.
    assert (back.kind, back.nodes, back.run) == (RunKind.ROLLBACK, tuple(f"old-{i}" for i in range(6)), live.run)
    assert back.confirmations == ("lab 1",), "what the plan of the run counted"
    assert f"the plan of run {live.run} drains 1 node: this is the number to type" in back.notes
    given = over(back.start())
    assert given.summary == "6 of 6 nodes are as they were before" and not given.has_failed
    assert "old-1 is as it was before" in given.details and cordoned(api) == before
    until(lambda: desk.live is not None and desk.live.has_ended)
    with pytest.raises(UsageError, match="no node that is not given back"):
        desk.prepare_rollback(live.run)


def check_it_is_shown_again_with_reasons_and_budgets(events: str, known: RunHistory) -> None:
    recorded = read_recording(events)
    assert isinstance(recorded, RunEvents) and not recorded.dropped
    again = from_events(recorded)
    assert again is not None and again.is_complete and len(again.events) == len(known.events)
    assert any(each.budgets for each in again.progress_records) and any(each.reasons for each in again.progress_records)


def check_missing_rights_to_give_back_are_named(run: str, eve: Machine) -> None:
    """The error comes before the confirmation prompt."""
    with pytest.raises(Forbidden, match="does not let you: patch nodes"):
        desk_of(eve).prepare_rollback(run)
    asked = eve.run("drain", "rollback", run, "--yes", "--expect-nodes", "1")
    assert asked.code == 3 and "patch nodes" in asked.err


@pytest.mark.long
def test_one_at_a_time_here_and_elsewhere(seen: Evictions, one: Machine, other: Machine) -> None:
    desk = desk_of(one)
    ready = prepared(one, desk)
    live = ready.start()
    for again in (
        lambda: prepared(one, desk),
        lambda: desk.prepare_resume(live.run),
        lambda: desk.prepare_rollback(live.run),
        ready.start,
    ):
        with pytest.raises(UsageError, match=f"run {live.run} is under way here"):
            again()
    until(lambda: seen.of)
    live.submit(RunRequest.PAUSE)
    until(lambda: (update := live.take_update()).progress is not None and update.progress.paused)
    elsewhere = desk_of(other)

    def is_locked() -> bool:
        with pytest.raises((Locked, Drifted)) as refused:  # replacements may still be on their way to be Ready
            prepared(other, elsewhere)
        return refused.type is Locked and live.run in refused.value.message

    until(is_locked)
    with pytest.raises(Locked, match="leads a run of this cluster") as refused:
        elsewhere.prepare_resume(live.run)
    assert re.search(r"a minute after its last renewal \(at \d\d:\d\d:\d\d UTC\): try again then", refused.value.hint)
    live.submit(RunRequest.STOP)
    assert over(live).has_failed and max(seen.of.values(), default=1) == 1


@pytest.mark.parametrize("what", ["prepare_resume", "prepare_rollback"])
def test_a_run_that_is_not_there_is_said_so(what: str, one: Machine) -> None:
    with pytest.raises(EksdocError) as refused:
        getattr(desk_of(one), what)("20261120-000000-none")
    assert "20261120-000000-none" in refused.value.message
