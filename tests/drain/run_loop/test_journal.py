"""A run's journal on disk and in the cluster (a served one): any machine can resume the run, wherever the other one
stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.drain.run.apply import open_run_journal
from kubectl_eksdoc.drain.run.journal import JournalWriter, replay_journals
from kubectl_eksdoc.drain.run.journals import LeaderResponse, RunJournal, request_from_leader
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.faults import BrokenConnection, Delayed, Fault, FaultyHandler
from kubectl_eksdoc.embedded.serving.handler import ManualTime, SimulatedApiServer, serving
from kubectl_eksdoc.errors import JournalError, Locked, LockLost, UsageError
from kubectl_eksdoc.host.journals import JournalFile, read_run, runs_folder
from kubectl_eksdoc.kube.cluster_journal import ClusterJournal
from kubectl_eksdoc.kube.runs import ConfigMaps, RunRequestListener, list_runs, request_phase
from kubectl_eksdoc.kube.runs import read_run as read_stored
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus
from kubectl_eksdoc.model.actions import Cordon, Evict
from kubectl_eksdoc.model.journal import (
    IntentEntry,
    JournalEntries,
    JournalEntry,
    LockState,
    NoteKind,
    RunPhase,
    RunSummary,
)
from kubectl_eksdoc.wiring.runs import JournalLocation
from tests.builders import NOW, a_pod
from tests.embedded.clients import worlds
from tests.fakes.sender import START, Hands, HttpSender


@dataclass
class Machine:
    """A machine with its own folder. Its `JournalWriter` continues the numbers from the journal's end."""

    server: SimulatedApiServer
    home: Path
    name: str
    hands: Hands
    run: str = "r1"
    scribe: JournalWriter = field(default_factory=JournalWriter)

    def __post_init__(self) -> None:
        self.sender = HttpSender(self.server.url(worlds.ADMIN_TOKEN), self._date)
        keeping = JournalLocation(self.run, "ada", self.name, {}, str(self.home / self.name))
        self.journal, self.lock = open_run_journal(self.sender, keeping, self.hands.clock())

    def _date(self) -> datetime:
        return (START + timedelta(seconds=self.hands.seconds)).replace(microsecond=0)

    def begin(self) -> None:
        self.lock.take()
        self.journal.start(
            self.scribe.run_started(
                self.run,
                NOW,
                plan="d",
                tool="1",
                user="ada",
                host=self.name,
                leader=self.lock.holder,
                planned_nodes=(),
                arguments=(),
            )
        )

    def intends(self, name: str) -> IntentEntry:
        intent = self.scribe.intent(Evict(a_pod(name)), NOW)
        self.journal.write([intent])
        return intent

    def here(self) -> tuple[JournalEntry, ...]:
        return read_run(runs_folder({}, str(self.home / self.name)), self.run).entries


@pytest.fixture
def server() -> Iterator[SimulatedApiServer]:
    with serving(Api(worlds.plane_of("small-traps", None), worlds.SETUP, ManualTime())) as made:
        yield made


@pytest.fixture
def hands() -> Hands:
    return Hands()


def test_another_machine_goes_on_with_nothing_but_the_cluster(
    server: SimulatedApiServer, tmp_path: Path, hands: Hands
) -> None:
    first, second = Machine(server, tmp_path, "one", hands), Machine(server, tmp_path, "two", hands)
    first.begin()
    cordon = first.scribe.intent(Cordon("old-0", "uid-0"), NOW, "{}")
    first.journal.write([cordon, first.scribe.result(cordon, ApiStatus(200), NOW)])
    doubtful = first.intends("web-1")
    with pytest.raises(Locked):
        second.lock.take()
    hands.seconds += 70  # the first was killed
    second.lock.take()
    stands = second.journal.adopt("r1", NOW)
    assert [change.intent for change in stands.in_doubt] == [doubtful]
    assert [(node.node, node.confirmed, node.before) for node in stands.cordoned] == [("old-0", True, "{}")]
    assert stands.leader == second.lock.holder and stands.dropped == ()
    second.scribe = JournalWriter(stands.next_number)
    second.intends("web-2")
    assert second.here()[: len(first.here())] == first.here(), "it has a whole copy now"
    with pytest.raises(LockLost):
        first.intends("web-9")


def test_a_machine_that_stood_still_sends_nothing_more(
    server: SimulatedApiServer, tmp_path: Path, hands: Hands
) -> None:
    first, second = Machine(server, tmp_path, "one", hands), Machine(server, tmp_path, "two", hands)
    first.begin()
    hands.seconds += 70
    second.lock.take()
    second.journal.adopt("r1", NOW)
    sent, here = len(first.sender.sent), first.here()
    with pytest.raises(LockLost):
        first.intends("web-1")
    with pytest.raises(LockLost):
        first.lock.renew()
    with pytest.raises(LockLost):
        first.journal.report_progress(RunPhase.ENDED)
    assert len(first.sender.sent) == sent and first.here() == here


def cut_off(tmp_path: Path, hands: Hands, last: str) -> Api:
    """A cluster whose first machine wrote the intent for web-1, and then an entry that only this machine has."""
    api = Api(worlds.plane_of("small-traps", None), worlds.SETUP, ManualTime())
    with serving(
        FaultyHandler(api, [Fault(BrokenConnection(), "configmaps", "POST|PATCH", skip=2)], lambda seconds: None)
    ) as server:
        first = Machine(server, tmp_path, "one", hands)
        first.begin()
        first.intends("web-1")
        with pytest.raises((JournalError, LockLost)):
            first.intends(last)
    return api


def test_what_only_this_machine_wrote_is_brought_to_the_cluster(tmp_path: Path, hands: Hands) -> None:
    """The process or the network failed between the two writes: the act of that intent may not have started."""
    api = cut_off(tmp_path, hands, "web-2")
    with serving(api) as server:
        hands.seconds += 70
        again = Machine(server, tmp_path, "one", hands)
        again.lock.take()
        stands = again.journal.adopt("r1", NOW)
        assert [change.intent.name for change in stands.in_doubt] == ["web-1", "web-2"] and stands.dropped == ()
        other = Machine(server, tmp_path, "two", hands)
        again.lock.release()
        other.lock.take()
        assert [c.intent.name for c in other.journal.adopt("r1", NOW).in_doubt] == ["web-1", "web-2"]


def test_two_histories_are_put_together_and_doubted(tmp_path: Path, hands: Hands) -> None:
    """The first machine wrote one more line on its disk before it lost the cluster; the second machine used the same
    number."""
    api = cut_off(tmp_path, hands, "only-here")
    with serving(api) as server:
        hands.seconds += 70
        second = Machine(server, tmp_path, "two", hands)
        second.lock.take()
        second.scribe = JournalWriter(second.journal.adopt("r1", NOW).next_number)
        second.intends("web-3")
        hands.seconds += 70
        first = Machine(server, tmp_path, "one", hands)
        first.lock.take()
        stands = first.journal.adopt("r1", NOW)
    assert sorted(change.intent.name for change in stands.in_doubt) == ["only-here", "web-1", "web-3"]
    assert stands.dropped == ("entry 2 is there twice with different contents: two wrote at once",)
    assert stands.leader == first.lock.holder


def test_a_lock_that_ended_while_it_was_written_is_told(tmp_path: Path, hands: Hands) -> None:
    """The machine was away for so long that it must not carry out the acts that it wrote down."""
    api = Api(worlds.plane_of("small-traps", None), worlds.SETUP, ManualTime())

    def slow(seconds: float) -> None:
        hands.seconds += seconds

    with serving(FaultyHandler(api, [Fault(Delayed(55.0), "configmaps", "POST", skip=1)], slow)) as server:
        machine = Machine(server, tmp_path, "one", hands)
        machine.begin()
        with pytest.raises(LockLost):
            machine.intends("web-1")


def test_what_the_cluster_missed_is_brought_with_the_next_entries(tmp_path: Path, hands: Hands) -> None:
    api = Api(worlds.plane_of("small-traps", None), worlds.SETUP, ManualTime())
    with serving(
        FaultyHandler(api, [Fault(BrokenConnection(), "configmaps", "PATCH", times=20)], lambda seconds: None)
    ) as server:
        machine = Machine(server, tmp_path, "one", hands)
        machine.begin()
        machine.intends("web-1")
        with pytest.raises((JournalError, LockLost)):
            machine.intends("web-2")
        hands.seconds += 5
        machine.lock.take()
        machine.intends("web-3")
        maps = ConfigMaps(machine.sender, "kube-system", hands.clock())
        stands = replay_journals(read_stored(maps, "r1").entries)
    assert [change.intent.name for change in stands.changes] == ["web-1", "web-2", "web-3"] and stands.dropped == ()


def test_a_run_that_was_paused_stays_so(server: SimulatedApiServer, tmp_path: Path, hands: Hands) -> None:
    first, second = Machine(server, tmp_path, "one", hands), Machine(server, tmp_path, "two", hands)
    first.begin()
    first.journal.write([first.scribe.note(NoteKind.PAUSED, NOW)])
    first.lock.release()
    second.lock.take()
    assert second.journal.adopt("r1", NOW).phase is RunPhase.PAUSED
    (run,) = list_runs(ConfigMaps(second.sender, "kube-system", hands.clock()))
    assert (run.phase, run.leader) == ("paused", second.lock.holder)


def test_others_ask_and_the_leader_hears_it(server: SimulatedApiServer, tmp_path: Path, hands: Hands) -> None:
    machine = Machine(server, tmp_path, "one", hands)
    machine.begin()
    maps = ConfigMaps(HttpSender(server.url(worlds.ADMIN_TOKEN)), "kube-system", hands.clock())
    request_phase(maps, "r1", RunPhase.ABORTED, "eve@lab")
    with RunRequestListener(maps, "r1", poll_interval_s=0.01) as asked:
        until_s = time.monotonic() + 10
        while asked.requested == ("", "") and time.monotonic() < until_s:
            time.sleep(0.01)
        assert asked.requested == ("aborted", "eve@lab")


def test_nothing_is_written_before_it_is_begun(server: SimulatedApiServer, tmp_path: Path, hands: Hands) -> None:
    machine = Machine(server, tmp_path, "one", hands)
    with pytest.raises(LockLost):
        machine.journal.write([])
    machine.lock.take()
    with pytest.raises(JournalError, match="neither begun nor adopted"):
        machine.journal.write([])
    with pytest.raises(UsageError, match="there is no run r1"):
        machine.journal.adopt("r1", NOW)


@dataclass
class Overtaken:
    """The journal in the cluster; another machine acts right after the first read of it."""

    inner: ClusterJournal
    then: list[Callable[[], None]]

    def open(self, run: str) -> JournalEntries:
        found = self.inner.open(run)
        if self.then:
            self.then.pop()()
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def test_an_act_of_theirs_that_is_still_under_way_is_waited_out(
    server: SimulatedApiServer, tmp_path: Path, hands: Hands
) -> None:
    """That act arrives after this machine read the run and before it announces that it leads the run."""
    scribe = JournalWriter()
    begun = scribe.run_started(
        "r1", NOW, plan="d", tool="1", user="a", host="b", leader="one", planned_nodes=(), arguments=()
    )
    first, second = (
        ClusterJournal(ConfigMaps(HttpSender(server.url(worlds.ADMIN_TOKEN)), "kube-system", hands.clock()), name, list)
        for name in ("one", "two")
    )
    first.start(begun)
    late = scribe.intent(Evict(a_pod("late")), NOW)
    lock = Machine(server, tmp_path, "two", hands).lock
    lock.take()
    there = Overtaken(second, [lambda: first.append([late])])
    journal = RunJournal(lambda run: JournalFile(tmp_path, run), there, lock)
    stands = journal.adopt("r1", NOW)
    assert [change.intent for change in stands.in_doubt] == [late] and not there.then
    assert stands.next_number == 3 and stands.leader == lock.holder


LEFT = RunSummary("run-1", NOW, "running", "ann@desk/1/run-1/a", NOW)


class Others:
    """run-1 stopped where it was; another machine leads run-2 and renews the lock."""

    def __init__(self) -> None:
        self.looks = 0

    def all(self) -> list[RunSummary]:
        return [LEFT, replace(LEFT, run="run-2", leader="ben@desk/2/run-2/b")]

    def lock(self) -> LockState:
        self.looks += 1
        return LockState("ben@desk/2/run-2/b", NOW + timedelta(seconds=self.looks))

    def request_phase(self, run: str, wanted: RunPhase, who: str) -> None: ...


@pytest.mark.parametrize("wanted", [RunPhase.RUNNING, RunPhase.PAUSED, RunPhase.ABORTED])
def test_nobody_leads_a_run_that_was_left(wanted: RunPhase) -> None:
    assert request_from_leader(Others(), LEFT, wanted, "cid@desk", lambda seconds: None) is LeaderResponse.NO_LEADER  # type: ignore[arg-type]


def test_an_intent_is_here_before_it_is_there(tmp_path: Path, hands: Hands) -> None:
    api = Api(worlds.plane_of("small-traps", None), worlds.SETUP, ManualTime())
    with serving(
        FaultyHandler(api, [Fault(BrokenConnection(), "configmaps", "POST", skip=1)], lambda seconds: None)
    ) as server:
        machine = Machine(server, tmp_path, "one", hands)
        machine.begin()
        with pytest.raises((JournalError, LockLost)):
            machine.intends("web-1")
    assert [each.name for each in machine.here() if isinstance(each, IntentEntry)] == ["web-1"]


def test_notes_are_told_to_all(server: SimulatedApiServer, tmp_path: Path, hands: Hands) -> None:
    machine = Machine(server, tmp_path, "one", hands)
    machine.begin()
    machine.journal.write([machine.scribe.note(NoteKind.PAUSED, NOW, "ada")])
    machine.journal.report_progress(RunPhase.PAUSED)
    machine.lock.release()
    other = Machine(server, tmp_path, "two", hands)
    other.lock.take()
    assert other.journal.adopt("r1", NOW).phase is RunPhase.PAUSED
