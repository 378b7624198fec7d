"""Which nodes are begun: when all are cordoned, their wave has come, and the new ones that they need have joined.

Between two waves there may be a time to see what comes of the first (a soak), and commands of the user before and after
each (hooks), such as one that fails while an alert fires. Where no wave waits for another the whole drain is wave 1.

What is said before a wave counts for the moment: it is asked for when the wave could be begun at once, and once more if
the drain was held until after the answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Set
from enum import Enum
from math import inf

from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.run.events import Happened
from kubectl_eksdoc.drain.run.guards import RunHolds
from kubectl_eksdoc.drain.run.stall_timeouts import in_waves
from kubectl_eksdoc.drain.run.state import DrainedNode, DrainRunState, NodePhase
from kubectl_eksdoc.kubernetes.news import HookEnded
from kubectl_eksdoc.model.actions import AFTER_WAVE, BEFORE_WAVE, Hook
from kubectl_eksdoc.model.quantities import duration


class _Gate(Enum):
    """One hook of one wave."""

    SHUT = "shut"  # not asked for yet
    ASKED = "asked"
    OPEN = "open"  # it said yes, or there is none


class Wave:
    """Mutable. `begun`: one of its nodes was; `ripe_s`: from when on the next one may be, None while it is not over."""

    def __init__(self, number: int, nodes: list[DrainedNode], hooks: Set[str]) -> None:
        self.number = number
        self.nodes = nodes
        self.begun = False
        self.ripe_s: float | None = None
        self.gates = {when: _Gate.SHUT if when in hooks else _Gate.OPEN for when in (BEFORE_WAVE, AFTER_WAVE)}

    @property
    def over(self) -> bool:
        return all(node.over for node in self.nodes)

    @property
    def waiting(self) -> list[DrainedNode]:
        return [node for node in self.nodes if node.phase is NodePhase.CORDONED]


class WaveGate:
    """Mutable. Where the user limits the nodes at once, or pins them, a wave waits for the one before."""

    def __init__(self, board: DrainRunState, brakes: RunHolds, plan: DrainPlan, hooks: Set[str], soak_s: float) -> None:
        self._board = board
        self._brakes = brakes
        self._soak_s = soak_s
        self._joined: set[str] = set()  # nodes in whose place new ones are
        self._hooks = hooks
        gated = in_waves(plan)
        by_number: dict[int, list[DrainedNode]] = defaultdict(list)
        for node in board.drained:
            by_number[node.target.wave if gated else 1].append(node)
        self._waves = [Wave(number, by_number[number], hooks) for number in sorted(by_number)]
        self._ripe_s = inf  # the next wave's
        self._finishing = ""  # why no other wave is begun

    @property
    def over(self) -> bool:
        """Whether nothing is begun any more, and no hook asked for."""
        return all(wave.over and (not wave.begun or wave.gates[AFTER_WAVE] is _Gate.OPEN) for wave in self._waves)

    def soaks_left_s(self, now_s: float) -> float:
        """So long it still waits between waves, as far as one knows."""
        left_s = max(0.0, self._ripe_s - now_s) if self._ripe_s < inf else 0.0
        coming = sum(not wave.over for wave in self._waves)
        return left_s + self._soak_s * max(0, coming - 1)

    def next_s(self) -> float:
        """When a node may be begun though nothing is told; infinity where none is."""
        return self._ripe_s

    def renewed(self, node: str) -> None:
        """A new node has joined in the place of `node`."""
        self._joined.add(node)
        self._board.may_begin = True

    def needs(self, node: DrainedNode) -> tuple[str, ...]:
        """The nodes in whose place new ones must have joined before it is begun."""
        return tuple(sorted(set(node.target.needs) - self._joined))

    def finish(self, why: str) -> None:
        """No other wave is begun: when the one that is under way is over, the drain stops for this reason; "" takes
        that back."""
        if why != self._finishing:
            self._finishing = why
            self._board.may_begin = True

    def released(self) -> None:
        """It may go on after it was held: a yes from before that is an old one, unless its wave was begun by it."""
        for wave in self._waves:
            if BEFORE_WAVE in self._hooks and not wave.begun and wave.gates[BEFORE_WAVE] is _Gate.OPEN:
                wave.gates[BEFORE_WAVE] = _Gate.SHUT
        self._board.may_begin = True

    def look(self, now_s: float) -> None:
        """Whether a soak has come to its end."""
        if self._ripe_s <= now_s:
            self._ripe_s = inf
            self._board.may_begin = True

    def take(self, news: HookEnded, now_s: float) -> None:
        """What does not say yes stops the drain."""
        hook = news.act
        which = f"the hook {hook.when.replace('-', ' ')} {hook.wave}"
        what = f"{which} {'said yes' if news.ok else 'failed'}{f': {news.said}' if news.said else ''}"
        self._board.tell(now_s, Happened.HOOKED, why=what)
        if not news.ok:
            self._brakes.stop(what, now_s)
            return
        wave = next(wave for wave in self._waves if wave.number == hook.wave)
        wave.gates[hook.when] = _Gate.OPEN
        self._board.may_begin = True

    def begin(self, now_s: float) -> Iterator[Hook]:
        """Nodes are begun when all targets are cordoned: no evicted pod must be scheduled onto the next one."""
        self._board.may_begin = False
        if self._brakes.on or any(node.phase is NodePhase.OPEN for node in self._board.nodes.values()):
            return
        if self._finishing and not self.over and all(wave.over for wave in self._waves if wave.begun):
            self._brakes.stop(self._finishing, now_s)
            return
        for wave in self._waves:
            if self._finishing and not wave.begun:
                return
            if ready := [node for node in wave.waiting if self._joined.issuperset(node.target.needs)]:
                yield from self._asked(wave, BEFORE_WAVE, wave.waiting)
                if wave.gates[BEFORE_WAVE] is not _Gate.OPEN:
                    return
                self._begin_nodes(wave, ready, now_s)
            if not wave.over:
                return
            if wave.begun:
                ripe_s = self._ripe(wave, now_s)
                yield from self._asked(wave, AFTER_WAVE, wave.nodes)
                if wave.gates[AFTER_WAVE] is not _Gate.OPEN or now_s < ripe_s:
                    return

    def _begin_nodes(self, wave: Wave, nodes: list[DrainedNode], now_s: float) -> None:
        wave.begun = True
        for node in nodes:
            node.to(NodePhase.ACTIVE, now_s)
            self._board.tell(now_s, Happened.BEGUN, node.name)
            self._board.stir((node.name,))

    def _ripe(self, wave: Wave, now_s: float) -> float:
        """From when on the wave after one that is over may be begun; there is no soak after the last."""
        if wave.ripe_s is not None:
            return wave.ripe_s
        wave.ripe_s = now_s
        after = next((each for each in self._waves if each.number > wave.number and each.waiting), None)
        if self._soak_s and after is not None:
            wave.ripe_s = self._ripe_s = now_s + self._soak_s
            until = f"until {duration(self._ripe_s)} from the start of the run"
            why = f"wave {wave.number} is over: wave {after.number} is not begun for {duration(self._soak_s)}, {until}"
            self._board.tell(now_s, Happened.SOAKING, why=why)
        return wave.ripe_s

    @staticmethod
    def _asked(wave: Wave, when: str, nodes: list[DrainedNode]) -> Iterator[Hook]:
        if wave.gates[when] is _Gate.SHUT:
            wave.gates[when] = _Gate.ASKED
            yield Hook(when, wave.number, tuple(node.name for node in nodes))


# How far EKS is with an update, by what it says of it; and how often it is asked.
