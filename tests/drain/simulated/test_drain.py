"""A drain in virtual time: budget slots, replacement by owner, parallel nodes, and nodes that wait for room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.simulation import simulate
from kubectl_eksdoc.drain.timeline import (
    MAX_REFUSED_NODES,
    THOROUGH_NODE_COUNT,
    DrainTerms,
    PodMove,
    ReservedPlacement,
    Timeline,
)
from kubectl_eksdoc.kubernetes.replacement import Replacement


def at(timeline: Timeline) -> dict[str, float]:
    return {moved.uid: moved.evicted_s for moved in timeline.moves}


def test_a_budget_of_one_is_given_back_when_the_replacement_is_ready() -> None:
    pods = [PodMove(name, ("web",), stop_s=5, start_s=20) for name in "abc"]
    timeline = simulate([("n", pods)], DrainTerms({"web": 1}))
    assert at(timeline) == {"a": 0, "b": 20, "c": 40}
    assert timeline.makespan_s == 45


def test_a_statefulset_starts_after_the_old_pod_is_gone() -> None:
    pods = [PodMove(name, ("db",), stop_s=30, start_s=20, replacement=Replacement.AFTER_GONE) for name in "ab"]
    assert at(simulate([("n", pods)], DrainTerms({"db": 1}))) == {"a": 0, "b": 50}


def test_a_pod_that_nothing_replaces_keeps_its_slot_for_good() -> None:
    pods = [PodMove("a", ("web",), replacement=Replacement.NEVER), PodMove("b", ("web",))]
    timeline = simulate([("n", pods)], DrainTerms({"web": 1}))
    assert timeline.never_evicted == ("b",)
    assert timeline.nodes == ()


def test_late_ones_go_last_of_those_that_wait() -> None:
    nodes = [
        ("n1", [PodMove("first", ("k",), start_s=9), PodMove("leader", ("k",), late=True)]),
        ("n2", [PodMove("b", ("k",))]),
    ]
    assert list(at(simulate(nodes, DrainTerms({"k": 1})))) == ["first", "b", "leader"]


def test_critical_pods_wait_for_the_others_of_their_node_to_be_gone() -> None:
    timeline = simulate([("n", [PodMove("dns", critical=True), PodMove("a", stop_s=30)])], DrainTerms())
    assert at(timeline) == {"a": 0, "dns": 30}


def test_so_many_nodes_at_once() -> None:
    nodes = [(f"n{i}", [PodMove(f"p{i}", stop_s=10)]) for i in range(3)]
    timeline = simulate(nodes, DrainTerms(nodes_at_once={"": 1}, node_settle_s=5))
    assert [(s.node, s.start_s, s.empty_s, s.done_s) for s in timeline.nodes] == [
        ("n0", 0, 10, 15),
        ("n1", 15, 25, 30),
        ("n2", 30, 40, 45),
    ]


def test_a_wave_begins_when_the_one_before_is_done() -> None:
    nodes = [(f"n{i}", [PodMove(f"p{i}", stop_s=10.0 * (i + 1))]) for i in range(3)]
    timeline = simulate(nodes, DrainTerms(waves={"n0": 1, "n1": 1, "n2": 2}, node_settle_s=5))
    assert [(s.node, s.start_s, s.done_s) for s in timeline.nodes] == [("n0", 0, 15), ("n1", 0, 25), ("n2", 25, 60)]


def test_a_full_zone_lets_others_pass() -> None:
    nodes = [(f"n{i}", [PodMove(f"p{i}", stop_s=10)]) for i in range(3)]
    terms = DrainTerms(nodes_at_once={"a": 1}, domains={"n0": ("a",), "n1": ("a",), "n2": ("b",)})
    assert [(s.node, s.start_s) for s in simulate(nodes, terms).nodes] == [("n0", 0), ("n2", 0), ("n1", 10)]


def test_where_evictions_keep_their_distance_the_longest_chain_goes_first() -> None:
    """Pods without a budget can go in between, but must not delay the next pod of a budget."""
    free = [PodMove(f"f{i}") for i in range(20)]
    chain = [PodMove(x, ("web",), start_s=10) for x in "abc"]
    timeline = simulate([("n", free), ("m", chain)], DrainTerms({"web": 1}, eviction_interval_s=1))
    assert [at(timeline)[x] for x in "abc"] == [0, 10, 20]
    assert timeline.makespan_s == 22


def test_a_pod_is_away_from_its_eviction_on_and_not_while_it_waits_for_it() -> None:
    pods = [PodMove(x, stop_s=1, start_s=3) for x in "abcd"]
    assert simulate([("n", pods)], DrainTerms()).peak_away == 4
    assert simulate([("n", pods)], DrainTerms(eviction_interval_s=2)).peak_away == 2
    assert simulate([("n", pods)], DrainTerms(eviction_interval_s=3)).peak_away == 1


LIMITS = ("x", "y")


@st.composite
def drains(draw: st.DrawFn) -> tuple[list[tuple[str, list[PodMove]]], DrainTerms]:
    seconds = st.integers(0, 20).map(float)
    nodes = []
    for n in range(draw(st.integers(1, 5))):
        pods = [
            PodMove(
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
        nodes_at_once={"": draw(st.integers(1, 5)), "zone": draw(st.integers(1, 2))},
        domains={node: ("zone",) for node, _ in nodes if draw(st.booleans())},
        eviction_interval_s=draw(st.sampled_from((0.0, 1.0))),
        budget_lag_s=draw(st.sampled_from((0.0, 2.0))),
        node_settle_s=draw(st.sampled_from((0.0, 5.0))),
    )
    return nodes, terms


Nodes = Sequence[tuple[str, Sequence[PodMove]]]


class Shelf:
    """Reservations with that many places: a node takes one for each pod; its successor node adds as many as it `has`.

    Nodes of `hidden` find their places only in a thorough search.
    """

    def __init__(
        self, places: int, sizes: Mapping[str, int], has: Mapping[str, int], hidden: frozenset[str] = frozenset()
    ) -> None:
        self.places = places
        self._sizes = sizes
        self._has = has
        self._hidden = hidden
        self.asked: list[tuple[str, bool]] = []
        self.admitted: list[str] = []

    def admit(self, node: str, thorough: bool, partly: bool = False) -> bool:
        if partly:
            return False  # here nodes are taken whole
        self.asked.append((node, thorough))
        if (node in self._hidden and not thorough) or self._sizes[node] > self.places:
            return False
        self.places -= self._sizes[node]
        self.admitted.append(node)
        return True

    def renew(self, node: str) -> None:
        self.places += self._has[node]


def a_shelf(nodes: Nodes, places: int, hidden: Sequence[str] = ()) -> Shelf:
    """Reservations where a node's successor has room for all pods of that node."""
    sizes = {name: len(given) for name, given in nodes}
    return Shelf(places, sizes, sizes, frozenset(hidden))


def some_nodes(*sizes: int, stop_s: float = 10.0) -> list[tuple[str, list[PodMove]]]:
    return [(f"n{i}", [PodMove(f"p{i}-{j}", stop_s=stop_s) for j in range(size)]) for i, size in enumerate(sizes)]


def starts(timeline: Timeline) -> dict[str, float]:
    return {span.node: span.start_s for span in timeline.nodes}


RENEWING = DrainTerms(node_settle_s=5.0, replaced_after_s=100.0)


def test_a_node_that_is_refused_lets_others_pass() -> None:
    nodes = some_nodes(3, 1, 1)
    ground = Shelf(2, {"n0": 3, "n1": 1, "n2": 1}, {"n0": 3, "n1": 2, "n2": 2})
    timeline = simulate(nodes, RENEWING, ground)
    assert starts(timeline) == {"n1": 0, "n2": 0, "n0": 115}
    assert timeline.refused_nodes == ()


def test_renewal_admits_what_was_refused() -> None:
    """Each node takes 10 s to stop, 5 s to settle, and 100 s until its new node joins."""
    nodes = some_nodes(2, 2, 2)
    timeline = simulate(nodes, RENEWING, a_shelf(nodes, 2))
    assert starts(timeline) == {"n0": 0, "n1": 115, "n2": 230}


def test_without_renewal_what_is_refused_stays_so() -> None:
    nodes = some_nodes(2, 2)
    timeline = simulate(nodes, replace(RENEWING, replaced_after_s=None), a_shelf(nodes, 2))
    assert (timeline.refused_nodes, timeline.never_evicted) == (("n1",), ("p1-0", "p1-1"))
    assert starts(timeline) == {"n0": 0}
    assert timeline.makespan_s == 15
    many = some_nodes(2 * THOROUGH_NODE_COUNT, *[1] * THOROUGH_NODE_COUNT)
    ground = a_shelf(many, THOROUGH_NODE_COUNT)
    assert simulate(many, DrainTerms(nodes_at_once={"": THOROUGH_NODE_COUNT // 2}), ground).refused_nodes == ("n0",)
    assert ground.asked.count(("n0", False)) == 1, "there is no more room for it when others are done"


def test_a_thorough_question_finds_what_the_quick_one_missed() -> None:
    """The thorough search runs after everything else, so that every node that can be drained is drained."""
    nodes = some_nodes(*[1] * (THOROUGH_NODE_COUNT + 1))
    ground = a_shelf(nodes, THOROUGH_NODE_COUNT + 1, hidden=["n0"])
    timeline = simulate(nodes, DrainTerms(node_settle_s=5), ground)
    assert starts(timeline) == dict.fromkeys(starts(timeline), 0) | {"n0": 15}
    assert ("n0", False) in ground.asked and ground.asked[-1] == ("n0", True)


def test_of_few_nodes_all_are_asked_about_thoroughly() -> None:
    nodes = some_nodes(1, 1, 1)
    ground = a_shelf(nodes, 3, hidden=["n0"])
    assert starts(simulate(nodes, DrainTerms(node_settle_s=5), ground)) == {"n0": 0, "n1": 0, "n2": 0}
    assert all(thorough for _, thorough in ground.asked)


@pytest.mark.parametrize("hopeless", [MAX_REFUSED_NODES, MAX_REFUSED_NODES + 1, 3 * MAX_REFUSED_NODES])
def test_nodes_for_which_there_never_is_room_do_not_keep_others_from_being_drained(hopeless: int) -> None:
    """After some failed searches the other nodes wait until everything else has happened, but no longer."""
    nodes = some_nodes(*[50] * hopeless, 1, 2)
    timeline = simulate(nodes, RENEWING, a_shelf(nodes, 2))
    assert set(starts(timeline)) == {f"n{hopeless}", f"n{hopeless + 1}"}
    assert timeline.refused_nodes == tuple(f"n{i}" for i in range(hopeless))


def test_a_node_that_is_refused_holds_up_the_waves_after_it() -> None:
    nodes = some_nodes(9, 1, 1)
    timeline = simulate(nodes, replace(RENEWING, waves={"n0": 1, "n1": 1, "n2": 2}), a_shelf(nodes, 5))
    assert set(starts(timeline)) == {"n1"}
    assert timeline.refused_nodes == ("n0", "n2")


def test_what_is_reserved_is_there_once_all_it_needs_are_renewed() -> None:
    nodes = some_nodes(1, 1, 1)
    timeline = simulate(nodes, RENEWING, ReservedPlacement({"n0": ("n1", "n2"), "n1": ("n2",)}))
    assert starts(timeline) == {"n2": 0, "n1": 115, "n0": 230}


def test_needs_that_go_in_a_circle_are_refused() -> None:
    nodes = some_nodes(1, 1, 1)
    timeline = simulate(nodes, RENEWING, ReservedPlacement({"n0": ("n1",), "n1": ("n0",)}))
    assert timeline.refused_nodes == ("n0", "n1")
    assert starts(timeline) == {"n2": 0}


@st.composite
def grounded(draw: st.DrawFn) -> tuple[list[tuple[str, list[PodMove]]], DrainTerms, int, frozenset[str]]:
    nodes, terms = draw(drains())
    terms = replace(terms, replaced_after_s=draw(st.sampled_from((None, 0.0, 7.0))))
    hidden = frozenset(name for name, _ in nodes if draw(st.booleans()))
    return nodes, terms, draw(st.sampled_from((*range(9), 99))), hidden


@given(grounded())
def test_on_any_ground_limits_hold_and_only_what_is_admitted_is_touched(
    made: tuple[list[tuple[str, list[PodMove]]], DrainTerms, int, frozenset[str]],
) -> None:
    nodes, terms, places, hidden = made
    ground = a_shelf(nodes, places, sorted(hidden))
    timeline = simulate(nodes, terms, ground)
    assert simulate(nodes, terms, a_shelf(nodes, places, sorted(hidden))) == timeline, "it is deterministic"
    assert ground.places >= 0
    assert {span.node for span in timeline.nodes} == set(ground.admitted)
    assert set(timeline.refused_nodes) == {name for name, _ in nodes} - set(ground.admitted)
    moves = {move.uid: move for _, given in nodes for move in given}
    of = {move.uid: name for name, given in nodes for move in given}
    assert {m.uid for m in timeline.moves} == {uid for uid, name in of.items() if name in ground.admitted}
    assert set(timeline.never_evicted) == moves.keys() - {m.uid for m in timeline.moves}
    for limit, slots in terms.slots.items():
        assert most_away(timeline, moves, limit, terms.budget_lag_s) <= slots
    begun = starts(timeline)
    for span in timeline.nodes:
        active = [other for other in timeline.nodes if other.start_s <= span.start_s < other.done_s]
        assert len(active) <= terms.nodes_at_once[""] or terms.node_settle_s == 0
        assert (
            sum(bool(terms.domains.get(other.node)) for other in active) <= terms.nodes_at_once["zone"]
            or terms.node_settle_s == 0
        )
        gone_s = [m.gone_s for m in timeline.moves if m.node == span.node]
        assert span.done_s == span.empty_s + terms.node_settle_s and span.empty_s == pytest.approx(
            max(gone_s, default=span.start_s)
        )
        critical = [m for m in timeline.moves if m.node == span.node and moves[m.uid].critical]
        ordinary = [m for m in timeline.moves if m.node == span.node and not moves[m.uid].critical]
        for m in critical:
            assert all(o.gone_s <= m.evicted_s for o in ordinary), "critical pods go when the others are gone"
    assert all(m.evicted_s >= begun[m.node] for m in timeline.moves)


@given(drains(), st.sampled_from(LIMITS))
def test_a_strict_limit_serves_by_turn_alone(
    made: tuple[list[tuple[str, list[PodMove]]], DrainTerms], limit: str
) -> None:
    """This holds where no other limit applies: with several limits, turns can wait for each other."""
    nodes, terms = made
    turn = iter(range(1000))
    nodes = [
        (name, [m._replace(limits=(limit,), critical=False, turn=next(turn)) for m in given]) for name, given in nodes
    ]
    terms = replace(terms, strict_limits=frozenset({limit}), nodes_at_once={}, eviction_interval_s=0.0)
    timeline = simulate(nodes, terms)
    turns = {m.uid: m.turn for _, given in nodes for m in given}
    assert [turns[m.uid] for m in timeline.moves] == sorted(turns.values())
    assert not timeline.never_evicted


def most_away(timeline: Timeline, moves: Mapping[str, PodMove], limit: str, lag_s: float) -> int:
    """The most evictions under way at once that take a slot of `limit`."""
    taken = [m for m in timeline.moves if limit in moves[m.uid].limits]
    ends = {m.uid: float("inf") if m.ready_s is None else m.ready_s + lag_s for m in taken}
    return max((sum(o.evicted_s <= m.evicted_s < ends[o.uid] for o in taken) for m in taken), default=0)


@given(
    start=st.integers(0, 500),
    stop=st.integers(0, 500),
    waits=st.integers(0, 500),
    others=st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500)), max_size=4),
)
def test_times_of_what_waits_and_of_what_starts_first(
    start: int, stop: int, waits: int, others: list[tuple[int, int]]
) -> None:
    first = PodMove("first", stop_s=start + stop, start_s=start, replacement=Replacement.SURGE)
    waited = PodMove("waited", ("web",), stop_s=stop, start_s=start, waits_s=waits)
    rest = [PodMove(f"p{i}", ("web",), float(a), float(b)) for i, (a, b) in enumerate(others)]
    timeline = simulate([("n", [first, waited, *rest])], DrainTerms(slots={"web": 1}))
    moved = {each.uid: each for each in timeline.moves}
    assert moved["first"].ready_s is not None and moved["first"].gone_s == moved["first"].ready_s + stop
    assert moved["waited"].evicted_s >= waits
    assert timeline.makespan_s == max(each.gone_s for each in timeline.moves)
    assert not timeline.never_evicted
