"""Room as a lower bound: how often nodes are activated at least, and how long what there is must be lent."""

from __future__ import annotations

from random import Random

import pytest

from kubectl_eksdoc.drain.duration.generations import NodeSupply, generations, stream_s
from tests.for_each import for_each


def a_supply(free: float, asked: list[float], given: list[float] | None = None) -> NodeSupply:
    """Nodes n0, n1 … that give back 10 each unless said otherwise."""
    names = [f"n{i}" for i in range(len(asked))]
    gives = given if given is not None else [10.0] * len(asked)
    return NodeSupply("cpu", free, dict(zip(names, asked, strict=True)), dict(zip(names, gives, strict=True)))


@pytest.mark.parametrize(
    ("free", "asked", "number"),
    [
        (30, [8, 8, 8], 1),
        (8, [8, 8], 2),
        (10, [8] * 6, 4),  # 1.25, 1.56, 1.95 nodes … if they could be cut in pieces
        (8, [8, 0], 1),  # the empty one gives its room without having to wait
        (0, [8, 8], 0),  # nothing can begin
        (10, [10, 10, 10], 3),  # one after the other
    ],
)
def test_so_many_generations(free: float, asked: list[float], number: int) -> None:
    assert generations(a_supply(free, asked)) == number


def test_of_nodes_that_give_more_than_they_ask_for_the_best_go_first() -> None:
    assert generations(a_supply(4, [4, 4, 4], [12, 4, 4])) == 2
    assert generations(a_supply(4, [4, 4, 4], [4, 4, 4])) == 3
    assert generations(a_supply(4, [4, 4, 4], [0, 0, 0])) == 0


def test_room_for_one_node_at_a_time_takes_all_of_them_one_after_the_other() -> None:
    supply = a_supply(8, [8, 8, 8], [8, 8, 8])
    assert stream_s(supply, {"n0": 60, "n1": 60, "n2": 60}, 120) == pytest.approx(3 * 180 - 120)


def test_without_room_the_stream_tells_nothing() -> None:
    assert stream_s(a_supply(0, [8]), {"n0": 60}, 120) == 0


@for_each("seed", range(300))
def test_no_order_of_whole_nodes_is_faster(seed: int) -> None:
    """Every node by itself, as soon as there is room: any order at all, with times of its own."""
    c = Random(seed)
    count, renewed = c.randint(1, 6), float(c.choice((0, 30, 120)))
    asked = [float(c.randint(0, 9)) for _ in range(count)]
    given = [a + c.randint(0, 6) for a in asked]
    supply = a_supply(float(c.randint(1, 12)), asked, given)
    seconds = {name: float(c.randint(10, 90)) for name in supply.asked}
    took, steps = _greedy(supply, seconds, renewed, c)
    if took is None:
        return
    assert stream_s(supply, seconds, renewed) <= took + 1e-6
    assert 1 <= generations(supply) <= steps


def _greedy(supply: NodeSupply, seconds: dict[str, float], renewed: float, c: Random) -> tuple[float | None, int]:
    """Until the last is done, None if room never suffices; and the longest chain of nodes that wait for others."""
    waiting = c.sample(sorted(supply.asked), len(supply.asked))
    free, now, end, depth = supply.free, 0.0, 0.0, 0
    under_way: list[tuple[float, str, int]] = []
    while waiting:
        begun = False
        for node in list(waiting):
            if supply.asked[node] <= free:
                free -= supply.asked[node]
                waiting.remove(node)
                end = max(end, now + seconds[node])
                under_way.append((now + seconds[node] + renewed, node, depth + 1))
                begun = True
        if not waiting:
            break
        if not under_way:
            return None, 0
        if not begun:
            under_way.sort()
            now, node, its = under_way.pop(0)
            free += supply.given[node]
            depth = max(depth, its)
    return end, max([depth + 1, *(its for _, _, its in under_way)])
