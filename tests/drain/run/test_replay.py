"""Replay of a journal: the state at a moment does not depend on the steps by which the replay got there."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.run.events import PROBLEM_EVENTS, DrainEvent, DrainEventKind
from kubectl_eksdoc.drain.run.history import NodeState, PlannedNode, RunHistory
from kubectl_eksdoc.drain.run.replay import (
    CONTINUED_BY_OTHER,
    PlannedFigures,
    Replay,
    ReplaySource,
    RunReplay,
    from_events,
    from_journal,
)
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.model.actions import Cordon, Evict, Restore
from kubectl_eksdoc.model.journal import (
    DONE,
    ROLLED_BACK,
    JournalEntries,
    JournalEntry,
    NoteKind,
    RunEnd,
    RunEvent,
    RunEvents,
)
from tests.builders import NOW, a_pod
from tests.drain.run.test_journal import Story

OK, REFUSED = ApiStatus(201), ApiStatus(403, message="no")


def second_by_second(entries: list[JournalEntry]) -> JournalEntries:
    return JournalEntries(tuple(replace(entry, at=NOW + timedelta(seconds=at)) for at, entry in enumerate(entries)))


def recorded(entries: JournalEntries) -> RunReplay:
    recording = from_journal(entries)
    assert recording is not None
    return recording


def known(recording: RunReplay) -> RunHistory:
    chronicle = RunHistory(recording.planned_nodes)
    chronicle.add(recording.events)
    return chronicle


def test_a_journal_is_told_with_its_times_and_how_it_ended() -> None:
    story = Story()
    story.does(Cordon("old-0", "uid-0"), OK)
    story.does(Evict(a_pod("a", node="old-0")), OK)
    story.does(Evict(a_pod("b", node="old-0")), REFUSED)
    story.notes(NoteKind.NODE_DONE, "old-0")
    story.notes(NoteKind.ENDED, why=DONE)
    recording = recorded(second_by_second(story.entries))
    assert (recording.run, recording.source, recording.started_by) == ("r1", ReplaySource.JOURNAL, "ada@desk")
    assert (recording.started_at, recording.length_s) == (NOW, 8.0)
    assert [(m.at_s, m.what, m.subject) for m in recording.events] == [
        (2.0, DrainEventKind.CORDONED, "old-0"),
        (4.0, DrainEventKind.EVICTED, a_pod("a").key),
        (6.0, DrainEventKind.REFUSED, a_pod("b").key),
        (7.0, DrainEventKind.DONE, "old-0"),
    ]
    assert recording.planned_nodes == (PlannedNode("old-0", 1), PlannedNode("old-1", 2)), (
        "with their waves, and no pods"
    )
    assert (recording.outcome, recording.is_complete, recording.plan_figures) == (DONE, True, None)
    details = dict(recording.details(2))
    assert details["said"] == "no" and details["HTTP code"] == "403" and details["answer"] == "refused"
    assert details["asked"] == f"evict Pod {a_pod('b').key}" and {"entry 5", "entry 6"} <= set(details)
    assert dict(recording.details(3)).keys() == {"entry 7"} and recording.details(99) == ()


def test_what_is_not_in_it_is_said() -> None:
    story = Story()
    story.does(Cordon("old-0", "uid-0"), OK, before="schedulable")
    story.does(Evict(a_pod("a", node="old-0")), LostResponse("cut"))
    recording = recorded(story.journal)
    assert not recording.outcome and not recording.is_complete
    assert recording.details_text == (f"The results of these are not in it: evict {a_pod('a').key}.",)
    story.does(Restore("old-0", "uid-0", True), OK)
    story.notes(NoteKind.ENDED, why=ROLLED_BACK)
    recording = recorded(story.journal)
    assert recording.is_complete and recording.details_text[0] == "Given back as they were before: old-0."
    entries = JournalEntries(story.journal.entries[:1] + story.journal.entries[2:], ("line 2: it was cut off",))
    assert recorded(entries).dropped[:2] == ("line 2: it was cut off", "entry 1 is missing")
    assert from_journal(JournalEntries()) is None


def event(at_s: float, what: str, subject: str, node: str = "", since_s: float = 0.0, run: str = "r1") -> RunEvent:
    return RunEvent(run, NOW + timedelta(seconds=int(since_s + at_s)), at_s, what, subject, node)


END = RunEnd(
    "r1", "done", 9.5, nodes=(("old-0", 1), ("old-1", 2)), evictions=7, p50_s=20.0, p95_s=40.0, said=("Good.",)
)


def test_events_know_more() -> None:
    told = (
        event(0.5, "cordoned", "old-0"),
        event(2.5, "evicted", "shop/a", "old-0"),
        event(4, "gone", "shop/a", "old-0"),
    )
    recording = from_events(RunEvents((*told, END)))
    assert recording is not None
    assert (recording.run, recording.source, recording.started_at) == ("r1", ReplaySource.EVENTS, NOW)
    assert [moment.at_s for moment in recording.events] == [0.5, 2.5, 4.0] and recording.length_s == 9.5
    assert recording.planned_nodes == (PlannedNode("old-0", 1), PlannedNode("old-1", 2))
    assert (
        recording.plan_figures == PlannedFigures(7, 20.0, 40.0)
        and recording.is_complete
        and recording.details_text == ("Good.",)
    )
    assert known(recording).gone == 1


def test_events_without_an_end() -> None:
    told = (event(0, "cordoned", "old-1"), event(3, "evicted", "shop/a", "old-0"), event(4, "sung", "old-9"))
    recording = from_events(RunEvents((*told, event(5, "done", "x", run="r2")), ("line 9: strange",)))
    assert recording is not None
    assert (
        recording.planned_nodes == (PlannedNode("old-1", 0), PlannedNode("old-0", 0)) and recording.plan_figures is None
    )
    assert not recording.outcome and not recording.is_complete and recording.length_s == 3
    assert recording.dropped == (
        "line 9: strange",
        "an event 'sung' is not known to this version",
        "lines of other runs than r1: 1",
    )
    assert from_events(RunEvents((END,))) is None


def test_a_run_that_was_gone_on_with_is_one_run() -> None:
    first = (event(1, "left-alone", "old-0"), event(2, "stopped", "the drain"))
    stopped = replace(END, outcome="stopped", stopped="enough")
    then = (event(0, "evicted", "shop/a", "old-0", since_s=100), event(5, "done", "old-0", since_s=100))
    last = replace(END, ended_s=6.0, resumed=True, nodes=(("old-0", 3),))
    for told in ((*first, stopped, *then, last), (*first, *then, last)):
        recording = from_events(RunEvents(told))
        assert recording is not None
        times = [(round(moment.at_s), moment.what) for moment in recording.events]
        assert times[1:] == [
            (2, DrainEventKind.STOPPED),
            (100, DrainEventKind.ADOPTED),
            (100, DrainEventKind.EVICTED),
            (105, DrainEventKind.DONE),
        ]
        assert recording.events[2].why == CONTINUED_BY_OTHER and recording.plan_figures is None
        assert not known(recording).stop_reason and known(recording).nodes["old-0"].state is NodeState.DONE
        assert recording.planned_nodes == (
            (PlannedNode("old-0", 1), PlannedNode("old-1", 2)) if stopped in told else (PlannedNode("old-0", 3),)
        )


AIMS = (PlannedNode("old-0", 1), PlannedNode("old-1", 2))

MOMENTS = st.lists(
    st.builds(
        DrainEvent,
        st.floats(0, 1000) | st.integers(0, 20).map(float),
        st.sampled_from(DrainEventKind),
        st.sampled_from(("old-0", "old-1", "shop/a", "shop/b", "the drain")),
        st.sampled_from(("", "old-0", "old-1")),
        st.sampled_from(("", "no room")),
    ),
    max_size=20,
).map(lambda found: sorted(found, key=lambda moment: moment.at_s))

RECORDINGS = st.builds(
    lambda moments, more_s: RunReplay(
        "r1", ReplaySource.EVENTS, NOW, (moments[-1].at_s if moments else 0.0) + more_s, AIMS, tuple(moments)
    ),
    MOMENTS,
    st.floats(0, 100),
)


def seen(chronicle: RunHistory) -> object:
    """The whole state of a run's history, as data."""
    nodes = {
        name: (
            node.state,
            node.started_s,
            node.ended_s,
            node.reason,
            node.gone,
            [(pod.pod, pod.state, pod.since_s, pod.reason, pod.refusals) for pod in node.pods.values()],
        )
        for name, node in chronicle.nodes.items()
    }
    return nodes, chronicle.events, chronicle.hold_reason, chronicle.stop_reason, chronicle.refusals


@given(RECORDINGS, st.floats(0, 1100), st.sampled_from((-1, 1)))
def test_jumps_to_what_went_wrong_leave_none_of_it_out(recording: RunReplay, at_s: float, way: int) -> None:
    replay = Replay(recording)
    replay.go_to(at_s)
    began_s = replay.at_s
    wrong = {moment.at_s for moment in recording.events if moment.what in PROBLEM_EVENTS}
    found = []
    while replay.step_to_problem(way):
        found.append(replay.at_s)
        assert replay.paused
    assert found == sorted((each for each in wrong if (each - began_s) * way > 0), reverse=way < 0)


def a_recording(length_s: float) -> RunReplay:
    return RunReplay(
        "r1", ReplaySource.JOURNAL, NOW, length_s, AIMS, (DrainEvent(length_s, DrainEventKind.DONE, "old-0"),)
    )


def test_it_begins_at_a_speed_at_which_it_is_soon_over() -> None:
    assert [Replay(a_recording(length_s)).speed for length_s in (0, 119, 121, 3600, 10**9)] == [1, 1, 2, 100, 500]


def test_it_stands_still_at_its_end_and_is_played_again_from_its_begin() -> None:
    replay = Replay(a_recording(10))
    replay.advance(11)
    assert replay.at_end and not replay.is_moving and replay.at_s == 10
    replay.play_or_pause()
    assert replay.at_s == 0 and replay.is_moving
    replay.play_or_pause()
    replay.advance(5)
    assert replay.at_s == 0 and not replay.is_moving


def test_who_goes_on_takes_up_what_was_left_alone() -> None:
    story = Story()
    story.does(Evict(a_pod("a", node="old-0")), OK)
    story.notes(NoteKind.LEFT_ALONE, "old-0", "a stays")
    story.notes(NoteKind.ABORTED, "ben", "enough")
    chronicle = known(recorded(story.journal))
    assert chronicle.stop_reason == "enough" and chronicle.nodes["old-0"].state is NodeState.LEFT_ALONE
    story.notes(NoteKind.ADOPTED, "ben@other")
    assert not known(recorded(story.journal)).stop_reason
    story.does(Evict(a_pod("a", node="old-0")), OK)
    story.notes(NoteKind.NODE_DONE, "old-0")
    node = known(recorded(story.journal)).nodes["old-0"]
    assert node.state is NodeState.DONE and node.gone == len(node.pods) == 1


@given(RECORDINGS, st.lists(st.floats(0, 20), max_size=40))
def test_going_on_every_moment_is_told_once(recording: RunReplay, passed: list[float]) -> None:
    replay, told = Replay(recording), []
    for seconds in passed:
        replay.advance(seconds)
        news = replay.next_update()
        assert not news.restarted
        told += news.events
    replay.go_to(recording.length_s)
    assert [*told, *replay.next_update().events] == list(recording.events)
    assert not replay.next_update().events
