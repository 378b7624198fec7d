"""A drain in virtual time: slots, replacement by owner, nodes at once, and what must hold for any input."""

from __future__ import annotations

from hypothesis import strategies as st

from kubectl_eksdoc.drain.course import DrainTerms, Move, Timeline
from kubectl_eksdoc.drain.simulation import simulate
from kubectl_eksdoc.kubernetes.replacement import Replacement


def at(timeline: Timeline) -> dict[str, float]:
    return {moved.uid: moved.evicted_s for moved in timeline.moves}


def test_a_budget_of_one_is_given_back_when_the_replacement_is_ready() -> None:
    pods = [Move(name, ("web",), stop_s=5, start_s=20) for name in "abc"]
    timeline = simulate([("n", pods)], DrainTerms({"web": 1}))
    assert at(timeline) == {"a": 0, "b": 20, "c": 40}
    assert timeline.makespan_s == 45


def test_a_statefulset_starts_after_the_old_pod_is_gone() -> None:
    pods = [Move(name, ("db",), stop_s=30, start_s=20, after=Replacement.AFTER_GONE) for name in "ab"]
    assert at(simulate([("n", pods)], DrainTerms({"db": 1}))) == {"a": 0, "b": 50}


def test_a_pod_that_nothing_replaces_keeps_its_slot_for_good() -> None:
    pods = [Move("a", ("web",), after=Replacement.NEVER), Move("b", ("web",))]
    timeline = simulate([("n", pods)], DrainTerms({"web": 1}))
    assert timeline.stuck == ("b",)
    assert timeline.nodes == ()


def test_late_ones_go_last_of_those_that_wait() -> None:
    nodes = [("n1", [Move("first", ("k",), start_s=9), Move("leader", ("k",), late=True)]), ("n2", [Move("b", ("k",))])]
    assert list(at(simulate(nodes, DrainTerms({"k": 1})))) == ["first", "b", "leader"]


def test_critical_pods_wait_for_the_others_of_their_node_to_be_gone() -> None:
    timeline = simulate([("n", [Move("dns", critical=True), Move("a", stop_s=30)])], DrainTerms())
    assert at(timeline) == {"a": 0, "dns": 30}


def test_so_many_nodes_at_once() -> None:
    nodes = [(f"n{i}", [Move(f"p{i}", stop_s=10)]) for i in range(3)]
    timeline = simulate(nodes, DrainTerms(at_once={"": 1}, settle_s=5))
    assert [(s.node, s.start_s, s.empty_s, s.done_s) for s in timeline.nodes] == [
        ("n0", 0, 10, 15),
        ("n1", 15, 25, 30),
        ("n2", 30, 40, 45),
    ]


def test_a_wave_begins_when_the_one_before_is_done() -> None:
    nodes = [(f"n{i}", [Move(f"p{i}", stop_s=10.0 * (i + 1))]) for i in range(3)]
    timeline = simulate(nodes, DrainTerms(waves={"n0": 1, "n1": 1, "n2": 2}, settle_s=5))
    assert [(s.node, s.start_s, s.done_s) for s in timeline.nodes] == [("n0", 0, 15), ("n1", 0, 25), ("n2", 25, 60)]


def test_a_full_zone_lets_others_pass() -> None:
    nodes = [(f"n{i}", [Move(f"p{i}", stop_s=10)]) for i in range(3)]
    terms = DrainTerms(at_once={"a": 1}, domains={"n0": ("a",), "n1": ("a",), "n2": ("b",)})
    assert [(s.node, s.start_s) for s in simulate(nodes, terms).nodes] == [("n0", 0), ("n2", 0), ("n1", 10)]


def test_where_evictions_keep_their_distance_the_longest_chain_goes_first() -> None:
    """Pods of no budget can go in between: they must not keep a budget's next pod from its slot."""
    free = [Move(f"f{i}") for i in range(20)]
    chain = [Move(x, ("web",), start_s=10) for x in "abc"]
    timeline = simulate([("n", free), ("m", chain)], DrainTerms({"web": 1}, between_s=1))
    assert [at(timeline)[x] for x in "abc"] == [0, 10, 20]
    assert timeline.makespan_s == 22


def test_a_pod_is_away_from_its_eviction_on_and_not_while_it_waits_for_it() -> None:
    pods = [Move(x, stop_s=1, start_s=3) for x in "abcd"]
    assert simulate([("n", pods)], DrainTerms()).peak_away == 4
    assert simulate([("n", pods)], DrainTerms(between_s=2)).peak_away == 2
    assert simulate([("n", pods)], DrainTerms(between_s=3)).peak_away == 1


def test_an_empty_node_is_done_at_once() -> None:
    assert simulate([("n", [])], DrainTerms(settle_s=5)).makespan_s == 5


LIMITS = ("x", "y")


@st.composite
def drains(draw: st.DrawFn) -> tuple[list[tuple[str, list[Move]]], DrainTerms]:
    seconds = st.integers(0, 20).map(float)
    nodes = []
    for n in range(draw(st.integers(1, 5))):
        pods = [
            Move(
                f"{n}-{i}",
                tuple(sorted(draw(st.sets(st.sampled_from(LIMITS), max_size=2)))),
                draw(seconds),
                draw(seconds),
                draw(st.sampled_from((Replacement.AT_ONCE, Replacement.AFTER_GONE))),
                draw(st.booleans()),
                draw(st.booleans()),
            )
            for i in range(draw(st.integers(0, 6)))
        ]
        nodes.append((f"n{n}", pods))
    terms = DrainTerms(
        slots={x: draw(st.integers(1, 3)) for x in LIMITS},
        at_once={"": draw(st.integers(1, 5)), "zone": draw(st.integers(1, 2))},
        domains={node: ("zone",) for node, _ in nodes if draw(st.booleans())},
        between_s=draw(st.sampled_from((0.0, 1.0))),
        lag_s=draw(st.sampled_from((0.0, 2.0))),
        settle_s=draw(st.sampled_from((0.0, 5.0))),
    )
    return nodes, terms
