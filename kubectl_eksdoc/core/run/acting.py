"""What is to be done now for nodes about which something is new: cordon them, evict from them, look again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.core.model.acts import Act, Cordon, ListPods, Look
from kubectl_eksdoc.core.model.durations import in_words
from kubectl_eksdoc.core.run.asking import Asking
from kubectl_eksdoc.core.run.board import Board
from kubectl_eksdoc.core.run.brakes import Brakes
from kubectl_eksdoc.core.run.means import act_for
from kubectl_eksdoc.core.run.nodes import APART_S, DrainedNode, Phase
from kubectl_eksdoc.core.run.pursuits import Pursuit, Step


class Acting:
    """Mutable by its parts. `grace_s`: how long pods get to stop, None for each its own."""

    def __init__(self, board: Board, asking: Asking, brakes: Brakes, grace_s: int | None) -> None:
        self._board = board
        self._asking = asking
        self._brakes = brakes
        self._grace_s = grace_s

    def acts(self, nodes: Sequence[DrainedNode], now_s: float) -> Iterator[Act]:
        """In this order: all cordons, then evictions in the plan's order, then what is looked at."""
        if not self._brakes.stopped:
            yield from self._cordons(nodes, now_s)
        if not self._brakes.on:
            yield from self._evictions(nodes, now_s)
        for node in nodes:
            yield from self._reads(node, now_s)
            self._board.timers.set(node.name, node.next_s(now_s))

    def _cordons(self, nodes: Sequence[DrainedNode], now_s: float) -> Iterator[Act]:
        for node in nodes:
            if node.phase is Phase.OPEN and not node.asked and (not node.refused or now_s >= node.since_s + APART_S):
                node.asked = True
                yield Cordon(node.name, node.target.node.uid)

    def _evictions(self, nodes: Sequence[DrainedNode], now_s: float) -> Iterator[Act]:
        due = [pursuit for node in nodes if node.phase is Phase.ACTIVE for pursuit in node.turn()]
        waiting = [pursuit for pursuit in due if not self._is_left(pursuit, now_s)]
        for pursuit in self._asking.chosen(waiting, now_s):
            yield act_for(pursuit.eviction, self._grace_s)
        for pursuit in waiting:
            if pursuit.step is Step.WAITING:
                self._give_up(pursuit, now_s)

    def _is_left(self, pursuit: Pursuit, now_s: float) -> bool:
        """Whether nothing is asked of it now: it may still end by itself, or must do that."""
        waits_s = pursuit.eviction.manner.waits_s
        if waits_s and pursuit.not_before_s <= now_s and pursuit.spared:
            self._keep(pursuit, f"it did not finish within {in_words(waits_s)}, and its Job would fail", now_s)
        return pursuit.spared or (bool(waits_s) and pursuit.not_before_s > now_s)

    def _give_up(self, pursuit: Pursuit, now_s: float) -> None:
        """Once its limits did not move for too long; its node is left alone then."""
        begun_s = self._board.nodes[pursuit.eviction.node].since_s + pursuit.eviction.manner.waits_s
        ends_s = self._asking.gives_up_s(pursuit, max(begun_s, self._brakes.released_s))
        if now_s < ends_s:
            self._board.timers.set(pursuit.eviction.node, ends_s)
            return
        self._keep(pursuit, self._asking.why_kept(pursuit), now_s)

    def _keep(self, pursuit: Pursuit, why: str, now_s: float) -> None:
        pursuit.keep(why, now_s)
        self._board.tell_pod(pursuit, Step.WAITING, now_s)
        self._board.stir((pursuit.eviction.node,))

    def _reads(self, node: DrainedNode, now_s: float) -> Iterator[Act]:
        for pursuit in node.pursuits.values():
            if pursuit.step is Step.IN_DOUBT and pursuit.not_before_s <= now_s:
                pursuit.not_before_s = now_s + APART_S
                yield Look(pursuit.pod)
        if node.phase is Phase.EMPTY and not node.asked and now_s >= node.since_s + APART_S:
            node.asked = True
            yield ListPods(node.name)
