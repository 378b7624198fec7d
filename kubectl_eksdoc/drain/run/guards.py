"""Guards of a run: when it holds or stops because of events that no plan foresees. Also wave gates.

Each guard has a default and a flag. A hold ends with its cause; a stop needs a user.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Set
from enum import Enum
from math import inf

from kubectl_eksdoc.kubernetes.news import (
    AllNodes,
    AllPods,
    HookEnded,
    News,
    NodeGone,
    NodeIs,
    PodGone,
    PodIs,
    RequestAnswered,
    WatchInterrupted,
    WatchRestored,
)
from kubectl_eksdoc.model.actions import AFTER_WAVE, BEFORE_WAVE, Delete, Evict, Hook, ListPods, Look, Restart
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.quantities import duration

from ..outcome import Eviction
from ..result import DrainPlan
from .answers import Errors
from .events import Happened
from .limits import RunLimits
from .pod_evictions import ObservedState
from .replacements import Replacements
from .stall_timeouts import in_waves
from .state import DrainedNode, DrainRunState, NodePhase


class RunGuards:
    """Mutable. Receives the same updates as the engine, and is asked before each action."""

    def __init__(self, plan: DrainPlan, seen: ObservedState, limits: RunLimits) -> None:
        self._limits = limits
        self._seen = seen
        self._targets = {target.node.name for target in plan.targets}
        self.replacements = Replacements(plan.evictions, seen)
        self._were_ready = {node.name for node in seen.nodes.values() if node.ready == "True"}
        self._pending: dict[str, tuple[Pod, float]] = {}  # by UID, with the start of the wait
        self._of_pods, self._of_nodes = Errors(), Errors()
        self._away: tuple[str, float] | None = None
        self._down: set[str] = set()
        self._earlier: set[str] = set()  # UIDs of replacements that existed before

    def take(self, news: News, now_s: float) -> None:
        match news:
            case PodIs(pod, _):
                self._see(pod, now_s)
            case PodGone(uid, _):
                self._pending.pop(uid, None)
            case AllPods(pods, _):
                self._pending = {uid: held for uid, held in self._pending.items() if self._seen.pod(uid) is not None}
                for pod, _ in pods:
                    self._see(pod, now_s)
            case NodeIs() | NodeGone() | AllNodes():
                self._down = set(self._not_ready())
            case WatchInterrupted(said):
                self._away = self._away or (said, now_s)
            case WatchRestored():
                self._away = None
            case RequestAnswered(Evict() | Restart() | Delete() as act, answer):
                self._of_pods.answered(act.pod.uid, answer, now_s)
            case RequestAnswered(Look() | ListPods()):
                pass  # whether the cluster can be read is reported by the watches
            case RequestAnswered(act, answer):
                self._of_nodes.answered(str(getattr(act, "node", "")), answer, now_s)

    def expect(self, evictions: Iterable[Eviction]) -> None:
        """Add evictions: replacements of their pods are tracked."""
        self.replacements.expect(evictions)

    def awaits(self, pods: Iterable[Pod], now_s: float) -> None:
        """Add replacements of pods that were evicted before: they are waited for like new ones."""
        for pod in pods:
            self._earlier.add(pod.uid)
            self._see(pod, now_s)

    def hold(self, now_s: float) -> str:
        """Return why no more requests may be sent now; "" if they may."""
        if self._away is not None:
            return f"the cluster cannot be watched: {self._away[0]}"
        for errors in (self._of_pods, self._of_nodes):
            if errors.failing(now_s):
                return errors.counted
        waiting = [pod for pod, since_s in self._pending.values() if now_s - since_s >= self._limits.hold_s]
        return f"{_named(waiting)} no node yet" if waiting else ""

    def stop(self, now_s: float) -> str:
        """Return why the run must stop; "" if it need not."""
        limits = self._limits
        if self._away is not None and now_s - self._away[1] >= limits.away_s:
            return f"the cluster cannot be watched for {duration(limits.away_s)}: {self._away[0]}"
        for errors in (self._of_pods, self._of_nodes):
            if errors.fails_for(limits.failing_s, now_s):
                return f"the server answers with errors for {duration(limits.failing_s)}: {errors.said}"
        late = [pod for pod, since_s in self._pending.values() if now_s - since_s >= limits.pending_s]
        if late:
            return f"{_named(late)} no node for {duration(limits.pending_s)}: {late[0].not_ready_because}"
        if len(self._down) > limits.not_ready:
            return f"{len(self._down)} nodes became NotReady meanwhile: {', '.join(sorted(self._down))}"
        return ""

    def next_s(self, now_s: float) -> Iterator[float]:
        """Yield when the guards' answer may change without an update."""
        limits = self._limits
        for _, since_s in self._pending.values():
            yield from (each for each in (since_s + limits.hold_s, since_s + limits.pending_s) if each > now_s)
        if self._away is not None:
            yield self._away[1] + limits.away_s
        for errors in (self._of_pods, self._of_nodes):
            yield from errors.next_s(limits.failing_s, now_s)

    @property
    def pending(self) -> tuple[Pod, ...]:
        """The replacements that have no node now."""
        return tuple(pod for pod, _ in self._pending.values())

    @property
    def unready(self) -> tuple[Pod, ...]:
        """The replacements that are not Ready now, with a node or without."""
        pods = (pod for pod in self._seen.pods() if pod.uid in self._earlier or pod in self.replacements)
        return tuple(pod for pod in pods if not (pod.ready or pod.deleting or pod.finished))

    @property
    def awaits_ready(self) -> bool:
        """Whether more replacements are not Ready than the pods that they replace were: a pod that was unhealthy before
        may stay so."""
        now = Counter(pod.owner.uid for pod in self.unready if pod.owner is not None)
        return not now <= self.replacements.were_unready

    def _see(self, pod: Pod, now_s: float) -> None:
        ours = self.replacements.see(pod, now_s) or pod.uid in self._earlier
        if pod.node or pod.deleting or pod.finished:
            self._pending.pop(pod.uid, None)
        elif ours:
            since_s = self._pending[pod.uid][1] if pod.uid in self._pending else now_s
            self._pending[pod.uid] = pod, since_s

    def _not_ready(self) -> Iterator[str]:
        for name in self._were_ready - self._targets:
            node = self._seen.nodes.get(name)
            if node is not None and node.ready != "True":
                yield name


def _named(pods: list[Pod]) -> str:
    first = pods[0].key
    return f"{first} has" if len(pods) == 1 else f"{first} and {len(pods) - 1} more have"


# Holds and stops of a run: by a guard or by the user, for now or for good.


Tell = Callable[[float, Happened, str], object]
"""Called with the time, the kind of event, and the reason."""


class RunHolds:
    """Mutable. `record_event` is called when a hold begins or ends, and when the run stops."""

    def __init__(self, guards: RunGuards, tell: Tell) -> None:
        self.guards = guards
        self._tell = tell
        self.held = self._paused = ""
        self.stopped = ""
        self.stopped_s = 0.0
        self.held_for_s = 0.0  # duration of the last hold
        self._held_s = 0.0  # start of the current hold
        self._pauses_s = 0.0  # total of the pauses that are over
        self._paused_s: float | None = None  # start of the current pause, as of the last check

    @property
    def on(self) -> bool:
        return bool(self.held or self.stopped)

    def pause(self, why: str) -> None:
        """Pause by the user, from the next check on; "" resumes."""
        self._paused = why

    @property
    def is_paused(self) -> bool:
        """Whether the user wants no requests now, not even those that are allowed during a guard's hold."""
        return bool(self._paused)

    def paused_s(self, now_s: float) -> float:
        """Return the total time of all pauses."""
        return self._pauses_s + (0.0 if self._paused_s is None else now_s - self._paused_s)

    def hold(self, why: str, now_s: float, since_s: float) -> None:
        """Hold until the next check and report it, even if there is another hold; `since_s`: when it really started."""
        if not self.held:
            self._held_s = max(0.0, since_s)
        self.held = why
        self._tell(now_s, Happened.HELD, why)

    def stop(self, why: str, now_s: float) -> None:
        """Stop for good; the first reason is kept."""
        if not self.stopped:
            self.stopped, self.stopped_s = why, now_s
            self._tell(now_s, Happened.STOPPED, why)

    def look(self, now_s: float, drained: bool = False) -> bool:
        """Check the guards; return whether a hold has just ended. `drained`: there is nothing left to stop."""
        if why := "" if drained else self.guards.stop(now_s):
            self.stop(why, now_s)
        if self.is_paused is not (self._paused_s is not None):
            self._pauses_s = self.paused_s(now_s)
            self._paused_s = now_s if self.is_paused else None
        before, self.held = self.held, self._paused or self.guards.hold(now_s)
        if self.held and not before:
            self._held_s = now_s
            self._tell(now_s, Happened.HELD, self.held)
        if before and not self.held:
            self.held_for_s = now_s - self._held_s
            self._tell(now_s, Happened.RELEASED, "")
        return bool(before) and not self.held

    def next_s(self, now_s: float) -> float:
        """When the holds may change without an update."""
        return min(self.guards.next_s(now_s), default=float("inf"))


# Wave gates: nodes are started when all targets are cordoned, their wave is next, and the new nodes that they need have
# joined.


class _Gate(Enum):
    """State of one hook of one wave."""

    SHUT = "shut"  # not requested yet
    ASKED = "asked"
    OPEN = "open"  # it succeeded, or there is no hook


class Wave:
    """Mutable. `started`: whether one of its nodes was started; `next_wave_from_s`: from when on the next wave may
    start, None while this one is not over."""

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
    """Mutable. Where the user limits concurrent nodes, or pins nodes to waves, a wave waits for the one before."""

    def __init__(self, board: DrainRunState, brakes: RunHolds, plan: DrainPlan, hooks: Set[str], soak_s: float) -> None:
        self._board = board
        self._brakes = brakes
        self._soak_s = soak_s
        self._joined: set[str] = set()  # nodes whose replacements have joined
        self._hooks = hooks
        gated = in_waves(plan)
        by_number: dict[int, list[DrainedNode]] = defaultdict(list)
        for node in board.drained:
            by_number[node.target.wave if gated else 1].append(node)
        self._waves = [Wave(number, by_number[number], hooks) for number in sorted(by_number)]
        self._ripe_s = inf  # of the next wave
        self._finishing = ""  # why no further wave is started

    @property
    def over(self) -> bool:
        """Whether no more nodes are started, and no hook is pending."""
        return all(wave.over and (not wave.begun or wave.gates[AFTER_WAVE] is _Gate.OPEN) for wave in self._waves)

    def soaks_left_s(self, now_s: float) -> float:
        """Return the remaining soak time between waves, as far as is known."""
        left_s = max(0.0, self._ripe_s - now_s) if self._ripe_s < inf else 0.0
        coming = sum(not wave.over for wave in self._waves)
        return left_s + self._soak_s * max(0, coming - 1)

    def next_s(self) -> float:
        """When a node may be started without an update; infinity if none is."""
        return self._ripe_s

    def renewed(self, node: str) -> None:
        """Record that a new node has joined in place of `node`."""
        self._joined.add(node)
        self._board.may_begin = True

    def needs(self, node: DrainedNode) -> tuple[str, ...]:
        """Return the nodes whose replacements must have joined before this node is started."""
        return tuple(sorted(set(node.target.needs) - self._joined))

    def finish(self, why: str) -> None:
        """Start no further wave: after the current one the drain stops with this reason; "" cancels that."""
        if why != self._finishing:
            self._finishing = why
            self._board.may_begin = True

    def released(self) -> None:
        """Handle the end of a hold: the success of a before-wave hook from before the hold is outdated, unless its wave
        has started."""
        for wave in self._waves:
            if BEFORE_WAVE in self._hooks and not wave.begun and wave.gates[BEFORE_WAVE] is _Gate.OPEN:
                wave.gates[BEFORE_WAVE] = _Gate.SHUT
        self._board.may_begin = True

    def look(self, now_s: float) -> None:
        """Check whether a soak has ended."""
        if self._ripe_s <= now_s:
            self._ripe_s = inf
            self._board.may_begin = True

    def take(self, news: HookEnded, now_s: float) -> None:
        """Handle the result of a hook; a failed hook stops the drain."""
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
        """Start nodes if all targets are cordoned, so that no evicted pod is scheduled onto the next node."""
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
        """Return from when on the wave after a finished one may start; there is no soak after the last."""
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
