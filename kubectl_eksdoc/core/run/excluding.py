"""Nodes are taken from load balancers before their pods go: when, and which evictions wait for it.

A node is left out before its first eviction; but where a Service has no other way to a pod than its own node, only with
the eviction of the last such pod there, or more of them would be cut off at once than any budget allows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import inf

from kubectl_eksdoc.core.model.acts import Exclude
from kubectl_eksdoc.core.rules.api.statuses import Lost, Status
from kubectl_eksdoc.core.rules.news import News
from kubectl_eksdoc.core.run import balancers
from kubectl_eksdoc.core.run.board import THE_RUN, Board
from kubectl_eksdoc.core.run.moments import Happened
from kubectl_eksdoc.core.run.nodes import DrainedNode
from kubectl_eksdoc.core.run.pursuits import Pursuit
from kubectl_eksdoc.core.run.tries import AGAIN_S, TRIES, Came, came_of, said_of


class _Exclusion:
    """Mutable: of one node. `asked`: an act is under way; `over`: nothing is asked for any more."""

    __slots__ = ("asked", "not_before_s", "over", "tries")

    def __init__(self) -> None:
        self.asked = self.over = False
        self.tries = 0
        self.not_before_s = -inf


class Excluding:
    """Mutable. Pursuits that were chosen wait here until their node's answer has come."""

    def __init__(self, board: Board) -> None:
        self._board = board
        cluster = board.seen.first
        services = balancers.behind_nodes(cluster)
        self._balancers = balancers.Balancers(services, board.seen)
        self._off = not services
        self._nodes: dict[str, _Exclusion] = defaultdict(_Exclusion)
        self._held: dict[str, list[Pursuit]] = defaultdict(list)
        self._untold = balancers.unread(cluster)

    def take(self, news: News) -> None:
        self._balancers.take(news)

    def say_what_is_unknown(self, now_s: float) -> None:
        """Once."""
        if self._untold:
            why = f"whether load balancers send to the nodes is not known ({self._untold}): where they do, they are"
            self._board.tell(now_s, Happened.WARNED, THE_RUN, why=f"{why} not taken from them before their pods go")
            self._untold = ""

    def first(self, node: DrainedNode, pursuit: Pursuit, now_s: float) -> list[Exclude] | None:
        """What is to be done before this pod, which was chosen, is asked for: it is held until then. None: nothing."""
        if self._is_done(node):
            return None
        state = self._nodes[node.name]
        waits = state.asked or state.tries
        if not waits and self._balancers.cut_off(node.name, node.stays) - {pursuit.pod.uid}:
            return None
        if not waits and self._balancers.why_not(node.name):
            return None
        self._held[node.name].append(pursuit)
        return list(self._ask(node, now_s))

    def last(self, node: DrainedNode, now_s: float) -> Iterator[Exclude]:
        """What is to be done for a node that has none to evict any more."""
        if self._is_done(node) or self._balancers.cut_off(node.name, node.stays):
            return
        state = self._nodes[node.name]
        why = "" if state.asked or state.tries else self._balancers.why_not(node.name)
        if why:
            self._give_up(node.name, f"load balancers still send to it: {why}", now_s)
        else:
            yield from self._ask(node, now_s)

    def again(self, node: DrainedNode, now_s: float) -> Iterator[Exclude]:
        """What was not answered well is asked for again."""
        if self._held.get(node.name):
            yield from self._ask(node, now_s)

    def freed(self, node: str) -> list[Pursuit]:
        """Those that were held and need not wait any more."""
        return self._held.pop(node, []) if self._nodes[node].over else []

    def dropped(self) -> list[Pursuit]:
        """All that are held: none of them must be asked for any more."""
        held, self._held = self._held, defaultdict(list)
        return [pursuit for each in held.values() for pursuit in each]

    def next_s(self, node: str, now_s: float) -> float:
        """When it is asked for again; infinity where it is not, or only waits to be let."""
        state = self._nodes.get(node)
        if state is None or state.asked or state.over or state.not_before_s <= now_s:
            return inf
        return state.not_before_s

    def answered(self, act: Exclude, answer: Status | Lost, now_s: float) -> None:
        state, came = self._nodes[act.node], came_of(answer)
        state.asked = False
        self._board.stir((act.node,))
        if came is Came.DONE:
            self._board.tell(now_s, Happened.EXCLUDED, act.node)
        if came in (Came.DONE, Came.GONE):
            state.over = True
        elif came is Came.FORBIDDEN and state.tries + 1 >= TRIES:
            self._forbidden(said_of(answer), now_s)
        else:
            state.tries, state.not_before_s = state.tries + 1, now_s + AGAIN_S
            if came is Came.REFUSED or state.tries >= TRIES:
                self._give_up(act.node, f"it is not taken from load balancers: {said_of(answer)}", now_s)

    def _is_done(self, node: DrainedNode) -> bool:
        return self._off or self._nodes[node.name].over or self._balancers.leaves_out(node.name)

    def _ask(self, node: DrainedNode, now_s: float) -> Iterator[Exclude]:
        state = self._nodes[node.name]
        if not state.asked and not state.over and now_s >= state.not_before_s:
            state.asked = True
            yield Exclude(node.name, node.target.node.uid)

    def _give_up(self, node: str, why: str, now_s: float) -> None:
        self._nodes[node].over = True
        self._board.tell(now_s, Happened.WARNED, node, why=why)

    def _forbidden(self, said: str, now_s: float) -> None:
        for state in self._nodes.values():
            state.over = True
        self._board.stir_all()
        if not self._off:
            self._off = True
            self._board.tell(now_s, Happened.WARNED, THE_RUN, why=f"nodes are not taken from load balancers: {said}")
