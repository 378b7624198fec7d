"""The journal in the cluster, on a served cluster: appended entries are stored exactly once, by one writer."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.drain.run.journal import replay_journals
from kubectl_eksdoc.embedded.serving.faults import BrokenConnection, Fault, FaultMoment
from kubectl_eksdoc.errors import ClusterError, EksdocError, Forbidden, JournalError, LockLost, UsageError
from kubectl_eksdoc.kube.cluster_journal import ClusterJournal
from kubectl_eksdoc.kube.runs import (
    REQUESTED_BY_KEY,
    REQUESTED_KEY,
    ConfigMaps,
    head_name,
    list_runs,
    read_run,
    remove_run,
    request_phase,
)
from kubectl_eksdoc.model.journal import JournaledNode, JournalEntry, NoteEntry, NoteKind, RunPhase, RunStarted
from tests.builders import NOW
from tests.examples import examples
from tests.fakes.sender import Hands
from tests.kube.spaces import SPACE, World, an_api, directly, no_fence, served


def a_beginning(run: str = "r1", leader: str = "ada@desk") -> RunStarted:
    return RunStarted(
        0, NOW, run, "sha256:1", "1", "ada", "desk", leader, (JournaledNode("old-0", "uid-0", 1),), ("old-0",)
    )


def notes(first: int, last: int, why: str = "") -> list[JournalEntry]:
    return [NoteEntry(number, NOW, NoteKind.PAUSED, why=why) for number in range(first, last)]


def written(space: World) -> list[JournalEntry]:
    found = read_run(space.sound, "r1").entries
    assert found.dropped == ()
    return list(found.entries)


def test_chunks_are_closed_when_they_are_full(space: World) -> None:
    journal = space.journal(chunk_bytes=2000)
    journal.start(a_beginning())
    for number in range(1, 60):
        journal.append(notes(number, number + 1))
    journal.append(notes(60, 160))
    stored = read_run(space.sound, "r1")
    assert list(stored.entries.entries) == [a_beginning(), *notes(1, 160)] and stored.entries.dropped == ()
    assert replay_journals(stored.entries).next_number == 160
    assert {each.labels["eksdoc.io/run"] for each in (stored.head, *stored.chunks)} == {"r1"}
    assert [chunk.name for chunk in stored.chunks][:2] == ["eksdoc-run-r1-000", "eksdoc-run-r1-001"]
    sizes = [sum(map(len, chunk.data.values())) for chunk in stored.chunks]
    assert len(sizes) > 5 and all(2000 <= size < 2500 for size in sizes[:-1])


def test_an_entry_larger_than_a_chunk_has_one_of_its_own(space: World) -> None:
    journal = space.journal(chunk_bytes=1000)
    journal.start(a_beginning())
    given = [*notes(1, 2, "x" * 3000), *notes(2, 3), *notes(3, 4, "y" * 3000)]
    journal.append(given)
    journal.append(notes(4, 5))
    assert written(space) == [a_beginning(), *given, *notes(4, 5)]


def test_a_second_writer_is_told_that_it_lost(space: World) -> None:
    first, second = space.journal("aaa"), space.journal("bbb")
    first.start(a_beginning())
    first.append(notes(1, 3))
    second.open("r1")
    second.adopt("eve@lab", [NoteEntry(3, NOW, NoteKind.ADOPTED, "eve@lab")])
    with pytest.raises(LockLost, match="another process writes to eksdoc-run-r1-000: eve@lab leads it now") as lost:
        first.append(notes(3, 4))
    assert lost.value.holder == "eve@lab" and lost.value.exit_code == 6
    with pytest.raises(LockLost):
        first.report_progress(RunPhase.PAUSED)
    (run,) = list_runs(space.sound)
    assert (run.leader, run.phase) == ("eve@lab", "running")


@pytest.mark.parametrize("entries", [0, 9])
def test_who_adopts_sees_that_the_other_still_writes(space: World, entries: int) -> None:
    first, second = space.journal("aaa", 300), space.journal("bbb", 300)
    first.start(a_beginning())
    first.append(notes(1, 1 + entries))
    second.open("r1")
    first.append(notes(30, 31))
    with pytest.raises(LockLost):
        second.adopt("eve@lab", notes(20, 21))
    second.open("r1")
    second.adopt("eve@lab", notes(20, 21))
    assert written(space) == [a_beginning(), *notes(1, 1 + entries), *notes(30, 31), *notes(20, 21)]


def test_runs_are_listed_and_removed(space: World) -> None:
    for run in ("r1", "r2", "r1-000x"):
        journal = space.journal()
        journal.start(a_beginning(run, f"leader of {run}"))
        journal.append(notes(1, 3))
    maps = space.sound
    assert [(each.run, each.begun, each.leader) for each in list_runs(maps)] == [
        (run, NOW, f"leader of {run}") for run in ("r2", "r1-000x", "r1")
    ]
    remove_run(maps, "r1")
    assert [each.run for each in list_runs(maps)] == ["r2", "r1-000x"]
    assert [each.name for each in maps.find("eksdoc.io/run=r1")] == []
    with pytest.raises(UsageError, match="there is no run r1 in namespace kube-system"):
        read_run(maps, "r1")


def wanted(maps: ConfigMaps) -> tuple[str, str]:
    head = maps.get(head_name("r1"))
    assert head is not None
    return head.data.get(REQUESTED_KEY, ""), head.data.get(REQUESTED_BY_KEY, "")


def test_others_can_ask_the_leader(space: World) -> None:
    journal, maps = space.journal(), space.sound
    journal.start(a_beginning())
    assert wanted(maps) == ("", "")
    request_phase(maps, "r1", RunPhase.PAUSED, "eve@lab")
    assert wanted(maps) == ("paused", "eve@lab")
    journal.append(notes(1, 2))
    journal.report_progress(RunPhase.PAUSED)
    other = space.journal("bbb")
    other.open("r1")
    other.adopt("eve@lab", notes(2, 3))
    assert wanted(maps) == ("", "")
    with pytest.raises(UsageError, match="there is no run r2"):
        request_phase(maps, "r2", RunPhase.PAUSED, "eve@lab")


def test_a_run_that_was_begun_is_not_begun_again(space: World) -> None:
    space.journal("aaa").start(a_beginning())
    with pytest.raises(JournalError, match="there is a run r1 already"):
        space.journal("bbb").start(a_beginning(leader="eve@lab"))


def test_an_id_that_is_none(space: World) -> None:
    for run in ("", "../x", "x" * 41):
        with pytest.raises(UsageError, match="is no id of a run"):
            space.journal().start(a_beginning(run))


def wrote(space: World, token: str, run: str) -> None:
    journal = space.journal(token=token)
    journal.start(a_beginning(run))
    journal.append(notes(1, 2))
    journal.append(notes(2, 3))


@pytest.mark.parametrize(
    ("right", "without"),
    [
        ("create configmaps", lambda space: wrote(space, "reader", "r2")),
        ("patch configmaps", lambda space: wrote(space, "creator", "r2")),
        ("patch configmaps", lambda space: request_phase(space.maps("reader"), "r1", RunPhase.PAUSED, "eve@lab")),
        ("list configmaps", lambda space: list_runs(space.maps("blind"))),
        ("delete configmaps", lambda space: remove_run(space.maps("reader"), "r1")),
    ],
)
def test_a_right_that_is_missing_is_named(space: World, right: str, without: Callable[[World], object]) -> None:
    space.journal().start(a_beginning())
    with pytest.raises(Forbidden) as error:
        without(space)
    assert error.value.missing == right and f"kubectl auth can-i {right} -n kube-system" in error.value.hint


def test_what_somebody_removed_is_said(space: World) -> None:
    journal, maps = space.journal(), space.sound
    journal.start(a_beginning())
    journal.append(notes(1, 2))
    remove_run(maps, "r1")
    with pytest.raises(JournalError, match="eksdoc-run-r1-000 is not in the cluster any more"):
        journal.append(notes(2, 3))


def test_what_somebody_spoiled_is_said_and_the_rest_is_read(space: World) -> None:
    journal, maps = space.journal(chunk_bytes=300), space.sound
    journal.start(a_beginning())
    journal.append(notes(1, 20))
    chunks = read_run(maps, "r1").chunks
    maps.delete(chunks[1].name, chunks[1].uid)
    assert maps.patch(chunks[2].name, chunks[2].resource_version, {}, {"README": "who left this here?"}).ok
    found = read_run(maps, "r1").entries
    assert found.dropped[0] == "eksdoc-run-r1-001 is missing"
    assert "eksdoc-run-r1-002, README, line 1: it is truncated, or is not a journal line" in found.dropped
    assert len(found.entries) > 15


def tell_a_story(space: World) -> tuple[list[JournalEntry], EksdocError | None]:
    """Return the confirmed entries, and the error that ended the writing early, if any."""
    confirmed: list[JournalEntry] = []
    try:
        journal = space.journal(chunk_bytes=600)
        journal.start(a_beginning())
        confirmed.append(a_beginning())
        for number in range(1, 30, 2):
            journal.append(notes(number, number + 2))
            confirmed += notes(number, number + 2)
        journal.report_progress(RunPhase.ENDED)
    except EksdocError as error:
        return confirmed, error
    return confirmed, None


WRITING = "reset answer-lost conflict throttled server-timeout server-error unavailable cut-short repeated webhook-down"


@pytest.mark.parametrize(("share", "seeds"), [("30%", 1), pytest.param("5%", 3, marks=pytest.mark.long)])
@pytest.mark.parametrize("fault", WRITING.split())
def test_faults_that_pass_lose_nothing(fault: str, share: str, seeds: int) -> None:
    for seed in range(seeds):
        with served(f"{fault}@{share}", seed=seed) as among:
            confirmed, error = tell_a_story(among)
        assert error is None
        assert written(among) == confirmed == [a_beginning(), *notes(1, 31)]
        assert list_runs(among.sound)[0].phase == "ended"


@pytest.mark.parametrize("fault", ["forbidden", "denied", "unanswered"])
@pytest.mark.parametrize("share", ["30%", "100%"])
def test_what_ends_a_run_loses_nothing_that_was_confirmed(fault: str, share: str) -> None:
    with served(f"{fault}@{share}") as among:
        among.timeout_s = 0.02
        confirmed, error = tell_a_story(among)
    assert isinstance(error, (JournalError, ClusterError)) or (error is None and share != "100%")
    if confirmed:
        assert written(among)[: len(confirmed)] == confirmed
    if share == "100%":
        assert error is not None and "kube-system" in str(error)


def again(append: Callable[[], object]) -> None:
    """Repeat until it succeeds."""
    for _ in range(40):
        try:
            append()
            break
        except JournalError:
            continue


def test_a_server_that_is_away_for_long_is_an_error_and_later_it_goes_on() -> None:
    away = [
        Fault(BrokenConnection(), "configmaps", "PATCH", skip=1, times=30),
        Fault(BrokenConnection(), "-000$", "GET", times=2),
    ]
    with served(*away) as among:
        journal = among.journal()
        journal.start(a_beginning())
        journal.append(notes(1, 2))
        journal.append(notes(2, 3))
        begun = among.hands.seconds
        with pytest.raises(JournalError, match="the server gave no answer"):
            journal.append(notes(3, 4))
        assert 30 < among.hands.seconds - begun <= 50
        again(lambda: journal.append(notes(3, 4)))
    assert written(among) == [a_beginning(), *notes(1, 4)]


def test_a_batch_that_failed_and_is_there_all_the_same_spoils_nothing() -> None:
    """The batch closed its chunk, but neither the answer nor a read could confirm that to the writer."""
    lost = [
        Fault(BrokenConnection(FaultMoment.AFTER), "-000$", "PATCH", times=1),
        Fault(BrokenConnection(), "-000$", "GET|PATCH", times=40),
    ]
    with served(*lost) as among:
        journal = among.journal(chunk_bytes=300)
        journal.start(a_beginning())
        journal.append(notes(1, 2))
        with pytest.raises(JournalError):
            journal.append(notes(2, 5))
        again(lambda: journal.append(notes(2, 5)))
        journal.append(notes(5, 6))
    stands = replay_journals(read_run(among.sound, "r1").entries)
    assert stands.next_number == 6 and stands.dropped == ()


def test_nothing_is_sent_when_the_fence_is_down(space: World) -> None:
    def down() -> None:
        raise LockLost("too late")

    journal = ClusterJournal(space.maps(), "aaa", down)
    with pytest.raises(LockLost, match="too late"):
        journal.start(a_beginning())
    assert space.senders[-1].sent == []


def test_a_namespace_that_is_not_there(space: World) -> None:
    with pytest.raises(UsageError, match="there is no namespace nowhere to keep the journal") as error:
        maps = ConfigMaps(space.direct, "nowhere", space.hands.clock())
        ClusterJournal(maps, "aaa", no_fence).start(a_beginning())
    assert "kubectl create namespace nowhere" in error.value.hint


# Writers that take a run from each other: only the last adopter can write, and no entry is lost.


def beginning() -> RunStarted:
    return RunStarted(0, NOW, "r1", "d", "1", "ada", "desk", "nobody")


def a_note(number: int, who: str) -> NoteEntry:
    return NoteEntry(number, NOW, NoteKind.PAUSED, who, "x" * 50)


STEPS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(("append", "append", "adopt")), st.integers(1, 4)))


@settings(max_examples=examples(150))
@given(steps=STEPS)
def test_only_who_adopted_last_can_write(steps: list[tuple[int, str, int]]) -> None:
    maps = ConfigMaps(directly(an_api()), SPACE, Hands().clock())
    writers = [ClusterJournal(maps, f"w{i}", no_fence, 400) for i in range(3)]
    writers[0].start(beginning())
    for writer in writers[1:]:
        writer.open("r1")  # and they never learn the answer
    leader, number = 0, 1
    expected: list[JournalEntry] = [beginning()]
    for who, what, count in steps:
        entries = [a_note(number + i, f"w{who}") for i in range(count)]
        if what == "adopt":
            writers[who].open("r1")
            writers[who].adopt(f"w{who}", entries)
            leader = who
        elif who == leader:
            writers[who].append(entries)
        else:
            with pytest.raises(LockLost):
                writers[who].append(entries)
            continue
        expected += entries
        number += count
    stored = read_run(maps, "r1")
    assert list(stored.entries.entries) == expected and stored.entries.dropped == ()


def test_four_at_once_lose_nothing(space: World) -> None:
    """Four writers adopt the run again whenever another one took it, which no real client does: each confirmed entry is
    stored once."""
    space.journal("begin").start(beginning())
    confirmed: dict[str, list[JournalEntry]] = {f"w{i}": [] for i in range(4)}
    lost: list[str] = []

    def write(name: str, first: int) -> None:
        journal = space.journal(name, 1500)
        number, opened = first, False
        while len(confirmed[name]) < 25:
            entries: list[JournalEntry] = [a_note(number, name)]
            number += 1
            try:
                if opened:
                    journal.append(entries)
                else:
                    journal.open("r1")
                    journal.adopt(name, entries)
            except LockLost:
                lost.append(name)
                opened = False
                continue
            opened = True
            confirmed[name] += entries

    threads = [threading.Thread(target=write, args=(name, 1000 * i)) for i, name in enumerate(confirmed, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stored = read_run(space.sound, "r1")
    assert stored.entries.dropped == () and lost, "they were in each other's way"
    for name, entries in confirmed.items():
        ours = [each for each in stored.entries.entries if isinstance(each, NoteEntry) and each.subject == name]
        assert [each for each in ours if each in entries] == entries, name
        assert len(ours) == len(set(ours))
