"""A place in the time of a recorded run: it never leaves it, and what is known there does not depend on the way."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.drain.run.chronicle import PlannedNode, RunHistory
from kubectl_eksdoc.drain.run.moments import WENT_WRONG, Happened, RunMoment
from kubectl_eksdoc.drain.run.replay import SPEEDS, Replay, ReplaySource, RunReplay
from tests.builders import NOW
from tests.examples import examples

AIMS = (PlannedNode("old-0", 1), PlannedNode("old-1", 2))

MOMENTS = st.lists(
    st.builds(
        RunMoment,
        st.floats(0, 1000) | st.integers(0, 20).map(float),
        st.sampled_from(Happened),
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

MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("pass_by"), st.floats(0, 50)),
        st.tuples(st.just("go_to"), st.floats(-2000, 2000)),
        st.tuples(st.just("play_or_pause")),
        st.tuples(st.just("faster"), st.sampled_from((-1, 1))),
        st.tuples(st.just("step"), st.sampled_from((-1, 1))),
        st.tuples(st.just("to_wrong"), st.sampled_from((-1, 1))),
    ),
    max_size=30,
)


def seen(chronicle: RunHistory) -> object:
    """All of it, as data."""
    nodes = {
        name: (
            node.state,
            node.begun_s,
            node.ended_s,
            node.why,
            node.gone,
            [(pod.pod, pod.state, pod.since_s, pod.why, pod.refused) for pod in node.pods.values()],
        )
        for name, node in chronicle.nodes.items()
    }
    return nodes, chronicle.moments, chronicle.held, chronicle.stopped, chronicle.refusals


def goes_to_and_fro(recording: RunReplay, moves: list[tuple]) -> None:
    replay, chronicle = Replay(recording), RunHistory(AIMS)
    for name, *given_ in moves:
        getattr(replay, name)(*given_)
        assert 0 <= replay.at_s <= recording.length_s and replay.speed in SPEEDS
        news = replay.take()
        chronicle = RunHistory(AIMS) if news.anew else chronicle
        chronicle.take(news.moments)
        straight = RunHistory(AIMS)
        straight.take(moment for moment in recording.moments if moment.at_s <= replay.at_s)
        assert seen(chronicle) == seen(straight)


@settings(max_examples=examples(300))
@given(RECORDINGS, MOVES)
def test_what_is_known_at_a_place_does_not_depend_on_the_way_there(recording: RunReplay, moves: list[tuple]) -> None:
    goes_to_and_fro(recording, moves)


@given(RECORDINGS, st.floats(0, 1100), st.sampled_from((-1, 1)))
def test_jumps_to_what_went_wrong_leave_none_of_it_out(recording: RunReplay, at_s: float, way: int) -> None:
    replay = Replay(recording)
    replay.go_to(at_s)
    began_s = replay.at_s
    wrong = {moment.at_s for moment in recording.moments if moment.what in WENT_WRONG}
    found = []
    while replay.to_wrong(way):
        found.append(replay.at_s)
        assert replay.paused
    assert found == sorted((each for each in wrong if (each - began_s) * way > 0), reverse=way < 0)


def a_recording(length_s: float) -> RunReplay:
    return RunReplay("r1", ReplaySource.JOURNAL, NOW, length_s, AIMS, (RunMoment(length_s, Happened.DONE, "old-0"),))


def test_it_begins_at_a_speed_at_which_it_is_soon_over() -> None:
    assert [Replay(a_recording(length_s)).speed for length_s in (0, 119, 121, 3600, 10**9)] == [1, 1, 2, 100, 500]


def test_it_stands_still_at_its_end_and_is_played_again_from_its_begin() -> None:
    replay = Replay(a_recording(10))
    replay.pass_by(11)
    assert replay.at_end and not replay.moves and replay.at_s == 10
    replay.play_or_pause()
    assert replay.at_s == 0 and replay.moves
    replay.play_or_pause()
    replay.pass_by(5)
    assert replay.at_s == 0 and not replay.moves
