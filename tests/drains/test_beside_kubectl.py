"""Ours beside kubectl, each on the same cluster made anew, unscaled."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import needed
from tests.drains.drainers import Drained, Drainer, all_at_once, one_after_another, ours, served
from tests.drains.shapes import small
from tests.drains.test_bound import FEW

SLOWER = 1.15
"""So much longer than the faster way with kubectl ours may take: it lists each node twice before it is done, 10 s."""


def drained_by(drainer: Drainer, home: Path) -> tuple[Drained, float]:
    """And the share of evictions that was refused."""
    shape = small()
    with served(shape, home) as world:
        drained = drainer(world)
        assert set(drained.codes) == {0}, drained.err
        assert world.watched.empty() == shape.old_nodes and world.watched.pending == []
        return drained, world.counted.refused_share


@pytest.mark.waits
@pytest.mark.long
def test_as_fast_as_kubectl_and_hardly_ever_refused(tmp_path: Path) -> None:
    kubectl = needed.kubectl_of(needed.KUBECTLS[-1])
    mine, refused = drained_by(ours, tmp_path / "ours")
    with ThreadPoolExecutor() as pool:  # kubectl mostly waits
        others = [
            pool.submit(drained_by, drainer(kubectl), tmp_path / drainer.__name__)
            for drainer in (all_at_once, one_after_another)
        ]
    (at_once, refused_at_once), (in_turn, refused_in_turn) = (each.result() for each in others)
    assert mine.wall_s <= SLOWER * min(at_once.wall_s, in_turn.wall_s), "from the command's start to its end"
    assert mine.gone_s < at_once.gone_s < in_turn.gone_s, "to the end of the last pod"
    assert refused <= FEW and refused_in_turn > 0.2 and refused_at_once > 0.5
