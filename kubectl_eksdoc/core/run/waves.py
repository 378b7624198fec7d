"""Which nodes are begun: when all are cordoned, their wave has come, and the new ones that they need have joined."""

from __future__ import annotations

from kubectl_eksdoc.core.plan.drain.policy import DrainPolicy
from kubectl_eksdoc.core.run.board import Board
from kubectl_eksdoc.core.run.moments import Happened
from kubectl_eksdoc.core.run.nodes import Phase


class Waves:
    """Mutable. Where the user limits the nodes at once, or pins them, a wave waits for the one before."""

    def __init__(self, board: Board, policy: DrainPolicy) -> None:
        self._board = board
        self._gated = bool(policy.max_unavailable or policy.pins)
        self._waiting = list(board.nodes.values())
        self._joined: set[str] = set()  # nodes in whose place new ones are

    def renewed(self, node: str) -> None:
        """A new node has joined in the place of `node`."""
        self._joined.add(node)
        self._board.may_begin = True

    def begin(self, now_s: float) -> None:
        """Nodes are begun when all are cordoned: what is evicted must not land on the next one."""
        self._board.may_begin = False
        self._waiting = [node for node in self._waiting if node.phase in (Phase.OPEN, Phase.CORDONED)]
        if any(node.phase is Phase.OPEN for node in self._waiting):
            return
        wave = self._wave()
        for node in self._waiting:
            if (not self._gated or node.target.wave == wave) and self._joined.issuperset(node.target.needs):
                node.to(Phase.ACTIVE, now_s)
                self._board.tell(now_s, Happened.BEGUN, node.name)
                self._board.stir((node.name,))

    def _wave(self) -> int:
        """The first of which not all nodes are over; 0 without waves."""
        waves = (node.target.wave for node in self._board.nodes.values() if not node.over)
        return min(waves, default=0) if self._gated else 0
