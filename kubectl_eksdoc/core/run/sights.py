"""What is seen of a node and its pods, and what has become of them by that: it counts more than any answer."""

from __future__ import annotations

from kubectl_eksdoc.core.model.journal import UNCORDONED
from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.rules.foreign_drains import foreign_drain
from kubectl_eksdoc.core.run.asking import Asking
from kubectl_eksdoc.core.run.board import Board
from kubectl_eksdoc.core.run.detaching import Detaching
from kubectl_eksdoc.core.run.moments import Happened
from kubectl_eksdoc.core.run.nodes import ENDS, DrainedNode, Phase
from kubectl_eksdoc.core.run.pursuits import Step
from kubectl_eksdoc.core.run.stopping import Stopping, is_stuck


class Sights:
    """Mutable by its parts. `partial`: a node with pods that do not go is emptied of the others all the same. `run`:
    the id that is noted on the nodes that we change, "" where none is."""

    def __init__(
        self, board: Board, asking: Asking, detaching: Detaching, stopping: Stopping, partial: bool, run: str
    ) -> None:
        self._run = run
        self._board = board
        self._asking = asking
        self._detaching = detaching
        self._stopping = stopping
        self._partial = partial

    def look(self, node: DrainedNode, now_s: float) -> None:
        if node.phase not in ENDS:
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
        elif why := self._whose_else(node, there):
            board.leave_alone(node, now_s, why)
        elif node.phase is Phase.OPEN and there.unschedulable and self._is_noted(there):
            node.to(Phase.CORDONED, now_s)
            board.may_begin = True
            board.tell(now_s, Happened.CORDONED_ONLY if node.cordon_only else Happened.CORDONED, node.name)
        elif node.phase is not Phase.OPEN and not there.unschedulable:
            board.leave_alone(node, now_s, f"{UNCORDONED}: it is not cordoned again without being asked")

    def _is_noted(self, there: Node) -> bool:
        """Whether everybody can see that it is ours to drain: also what somebody had cordoned before is noted."""
        return not self._run or (there.note is not None and there.note.run == self._run and there.note.drains)

    def _whose_else(self, node: DrainedNode, there: Node) -> str:
        """Why it is another run's of ours; "" if it is not. What was noted on it when it was planned is over."""
        note, before = there.note, node.target.node.note
        if not self._run or note is None or note.run == self._run or (before is not None and note.run == before.run):
            return ""
        where = f" (its journal is in namespace {note.journal})" if note.journal else ""
        return f"another run of this tool has it, {note.run}{where}"


def _why_kept(node: DrainedNode) -> str:
    return "; ".join(f"{pursuit.pod.key}: {pursuit.said}" for pursuit in node.kept)
