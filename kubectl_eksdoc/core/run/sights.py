"""What is seen of a node and its pods, and what has become of them by that: it counts more than any answer."""

from __future__ import annotations

from kubectl_eksdoc.core.model.journal import UNCORDONED
from kubectl_eksdoc.core.rules.foreign_drains import foreign_drain
from kubectl_eksdoc.core.run.asking import Asking
from kubectl_eksdoc.core.run.board import Board
from kubectl_eksdoc.core.run.detaching import Detaching
from kubectl_eksdoc.core.run.moments import Happened
from kubectl_eksdoc.core.run.nodes import DrainedNode, Phase
from kubectl_eksdoc.core.run.pursuits import Step
from kubectl_eksdoc.core.run.stopping import Stopping, is_stuck


class Sights:
    """Mutable by its parts. `partial`: a node with pods that do not go is emptied of the others all the same."""

    def __init__(self, board: Board, asking: Asking, detaching: Detaching, stopping: Stopping, partial: bool) -> None:
        self._board = board
        self._asking = asking
        self._detaching = detaching
        self._stopping = stopping
        self._partial = partial

    def look(self, node: DrainedNode, now_s: float) -> None:
        if not node.over:
            self._look_at_itself(node, now_s)
        self._look_at_pods(node, now_s)
        self._stopping.look(node, now_s)
        if is_stuck(node):
            self._board.leave_alone(node, now_s, _why_kept(node))
        elif self._stopping.is_abandoned(node, now_s):
            self._board.leave_alone(node, now_s, self._stopping.why_abandoned(node))
        elif node.phase is Phase.GOING and node.empty:
            self._board.end(node, Phase.LOST, now_s)
        elif node.phase is Phase.ACTIVE and node.kept and not self._partial:
            self._board.leave_alone(node, now_s, _why_kept(node))
        elif node.phase is Phase.ACTIVE and node.empty:
            node.to(Phase.EMPTY, now_s)
            node.empty_s = now_s
            self._board.tell(now_s, Happened.EMPTY, node.name)
        self._detaching.look(node, now_s)

    def _look_at_pods(self, node: DrainedNode, now_s: float) -> None:
        for pursuit in node.pursuits.values():
            before = pursuit.step
            pursuit.look(self._board.seen, now_s)
            if before is Step.ACCEPTED and pursuit.step in (Step.WAITING, Step.KEPT):
                self._board.stir(self._asking.free(pursuit))
            if pursuit.step in (Step.LEAVING, Step.GONE) and pursuit.step is not before:
                self._asking.goes(pursuit, now_s)
            self._board.tell_pod(pursuit, before, now_s)

    def _look_at_itself(self, node: DrainedNode, now_s: float) -> None:
        """It may be cordoned now, or in others' hands: then nobody fights for it, and its pods are waited for."""
        if node.phase is Phase.GOING:
            return
        board = self._board
        there = board.seen.nodes.get(node.name)
        if there is None or there.uid != node.target.node.uid:
            node.to(Phase.GOING, now_s)
            board.tell(now_s, Happened.LOST, node.name, why="it is not in the cluster any more")
        elif foreign := foreign_drain(there):
            node.to(Phase.GOING, now_s)
            board.tell(now_s, Happened.ADOPTED, node.name, why=foreign.said)
        elif node.phase is Phase.OPEN and there.unschedulable:
            node.to(Phase.CORDONED, now_s)
            board.may_begin = True
            board.tell(now_s, Happened.CORDONED, node.name)
        elif node.phase is not Phase.OPEN and not there.unschedulable:
            board.leave_alone(node, now_s, f"{UNCORDONED}: it is not cordoned again without being asked")


def _why_kept(node: DrainedNode) -> str:
    return "; ".join(f"{pursuit.pod.key}: {pursuit.said}" for pursuit in node.kept)
