"""Guards of a run: when it holds or stops because of events that no plan foresees. Also wave gates.

Each guard has a default and a flag. A hold ends with its cause; a stop needs a user.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Set
from enum import Enum
from math import inf

from kubectl_eksdoc.kubernetes.updates import (
    AllNodes,
    AllPods,
    HookEnded,
    NodeChanged,
    NodeRemoved,
    PodChanged,
    PodRemoved,
    RequestAnswered,
    RunUpdate,
    WatchInterrupted,
    WatchRestored,
)
from kubectl_eksdoc.model.actions import AFTER_WAVE, BEFORE_WAVE, Delete, Evict, Hook, ListPods, ReadPod, Restart
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.quantities import format_duration

from ..outcome import Eviction
from ..result import DrainPlan
from .answers import ErrorRate
from .events import DrainEventKind
from .limits import RunLimits
from .pod_evictions import ObservedState
from .replacements import Replacements
from .stall_timeouts import waits_between_waves
from .state import DrainedNode, DrainRunState, NodePhase


class RunGuards:
    """Mutable. Receives the same updates as the engine, and is asked before each action."""

    def __init__(self, plan: DrainPlan, observed: ObservedState, limits: RunLimits) -> None:
        self._limits = limits
        self._observed = observed
        self._targets = {target.node.name for target in plan.targets}
        self.replacements = Replacements(plan.evictions, observed)
        self._were_ready = {node.name for node in observed.nodes.values() if node.ready == "True"}
        self._pending: dict[str, tuple[Pod, float]] = {}  # by UID, with the start of the wait
        self._pod_errors, self._node_errors = ErrorRate(), ErrorRate()
        self._watch_outage: tuple[str, float] | None = None
        self._not_ready_nodes: set[str] = set()
        self._earlier_replacements: set[str] = set()  # UIDs of replacements that existed before

    def handle(self, update: RunUpdate, now_s: float) -> None:
        match update:
            case PodChanged(pod, _):
                self._track(pod, now_s)
            case PodRemoved(uid, _):
                self._pending.pop(uid, None)
            case AllPods(pods, _):
                self._pending = {
                    uid: entry for uid, entry in self._pending.items() if self._observed.pod(uid) is not None
                }
                for pod, _ in pods:
                    self._track(pod, now_s)
            case NodeChanged() | NodeRemoved() | AllNodes():
                self._not_ready_nodes = set(self._newly_not_ready())
            case WatchInterrupted(message):
                self._watch_outage = self._watch_outage or (message, now_s)
            case WatchRestored():
                self._watch_outage = None
            case RequestAnswered(Evict() | Restart() | Delete() as action, response):
                self._pod_errors.record(action.pod.uid, response, now_s)
            case RequestAnswered(ReadPod() | ListPods()):
                pass  # whether the cluster can be read is reported by the watches
            case RequestAnswered(action, response):
                self._node_errors.record(str(getattr(action, "node", "")), response, now_s)

    def add_evictions(self, evictions: Iterable[Eviction]) -> None:
        """Add evictions: replacements of their pods are tracked."""
        self.replacements.add_evictions(evictions)

    def add_replacements(self, pods: Iterable[Pod], now_s: float) -> None:
        """Add replacements of pods that were evicted before: they are waited for like new ones."""
        for pod in pods:
            self._earlier_replacements.add(pod.uid)
            self._track(pod, now_s)

    def hold_reason(self, now_s: float) -> str:
        """Return why no more requests may be sent now; "" if they may."""
        if self._watch_outage is not None:
            return f"the cluster cannot be watched: {self._watch_outage[0]}"
        for errors in (self._pod_errors, self._node_errors):
            if errors.is_failing(now_s):
                return errors.summary
        waiting = [pod for pod, since_s in self._pending.values() if now_s - since_s >= self._limits.hold_s]
        return f"{_pods_have_text(waiting)} no node yet" if waiting else ""

    def stop_reason(self, now_s: float) -> str:
        """Return why the run must stop; "" if it need not."""
        limits = self._limits
        if self._watch_outage is not None and now_s - self._watch_outage[1] >= limits.away_s:
            return f"the cluster cannot be watched for {format_duration(limits.away_s)}: {self._watch_outage[0]}"
        for errors in (self._pod_errors, self._node_errors):
            if errors.is_failing_for(limits.failing_s, now_s):
                return f"the server answers with errors for {format_duration(limits.failing_s)}: {errors.message}"
        overdue = [pod for pod, since_s in self._pending.values() if now_s - since_s >= limits.pending_s]
        if overdue:
            return (
                f"{_pods_have_text(overdue)} no node for {format_duration(limits.pending_s)}: "
                f"{overdue[0].not_ready_because}"
            )
        if len(self._not_ready_nodes) > limits.not_ready:
            return (
                f"{len(self._not_ready_nodes)} nodes became NotReady meanwhile: "
                f"{', '.join(sorted(self._not_ready_nodes))}"
            )
        return ""

    def next_s(self, now_s: float) -> Iterator[float]:
        """Yield when the guards' answer may change without an update."""
        limits = self._limits
        for _, since_s in self._pending.values():
            yield from (each for each in (since_s + limits.hold_s, since_s + limits.pending_s) if each > now_s)
        if self._watch_outage is not None:
            yield self._watch_outage[1] + limits.away_s
        for errors in (self._pod_errors, self._node_errors):
            yield from errors.next_s(limits.failing_s, now_s)

    @property
    def pending(self) -> tuple[Pod, ...]:
        """The replacements that have no node now."""
        return tuple(pod for pod, _ in self._pending.values())

    @property
    def unready(self) -> tuple[Pod, ...]:
        """The replacements that are not Ready now, with a node or without."""
        pods = (
            pod for pod in self._observed.pods() if pod.uid in self._earlier_replacements or pod in self.replacements
        )
        return tuple(pod for pod in pods if not (pod.ready or pod.deleting or pod.finished))

    @property
    def has_new_unready(self) -> bool:
        """Whether more replacements are not Ready than the pods that they replace were: a pod that was unhealthy before
        may stay so."""
        unready = Counter(pod.owner.uid for pod in self.unready if pod.owner is not None)
        return not unready <= self.replacements.were_unready

    def _track(self, pod: Pod, now_s: float) -> None:
        is_replacement = self.replacements.record(pod, now_s) or pod.uid in self._earlier_replacements
        if pod.node or pod.deleting or pod.finished:
            self._pending.pop(pod.uid, None)
        elif is_replacement:
            since_s = self._pending[pod.uid][1] if pod.uid in self._pending else now_s
            self._pending[pod.uid] = pod, since_s

    def _newly_not_ready(self) -> Iterator[str]:
        for name in self._were_ready - self._targets:
            node = self._observed.nodes.get(name)
            if node is not None and node.ready != "True":
                yield name


def _pods_have_text(pods: list[Pod]) -> str:
    first = pods[0].key
    return f"{first} has" if len(pods) == 1 else f"{first} and {len(pods) - 1} more have"


# Holds and stops of a run: by a guard or by the user, for now or for good.


RecordEvent = Callable[[float, DrainEventKind, str], object]
"""Called with the time, the kind of event, and the reason."""


class RunHolds:
    """Mutable. `record_event` is called when a hold begins or ends, and when the run stops."""

    def __init__(self, guards: RunGuards, record_event: RecordEvent) -> None:
        self.guards = guards
        self._record_event = record_event
        self.hold_reason = self._pause_reason = ""
        self.stop_reason = ""
        self.stopped_s = 0.0
        self.last_hold_s = 0.0  # duration of the last hold
        self._held_since_s = 0.0  # start of the current hold
        self._pauses_s = 0.0  # total of the pauses that are over
        self._paused_since_s: float | None = None  # start of the current pause, as of the last check

    @property
    def is_active(self) -> bool:
        return bool(self.hold_reason or self.stop_reason)

    def pause(self, reason: str) -> None:
        """Pause by the user, from the next check on; "" resumes."""
        self._pause_reason = reason

    @property
    def is_paused(self) -> bool:
        """Whether the user wants no requests now, not even those that are allowed during a guard's hold."""
        return bool(self._pause_reason)

    def paused_s(self, now_s: float) -> float:
        """Return the total time of all pauses."""
        return self._pauses_s + (0.0 if self._paused_since_s is None else now_s - self._paused_since_s)

    def hold(self, reason: str, now_s: float, since_s: float) -> None:
        """Hold until the next check and report it, even if there is another hold; `since_s`: when it really started."""
        if not self.hold_reason:
            self._held_since_s = max(0.0, since_s)
        self.hold_reason = reason
        self._record_event(now_s, DrainEventKind.HELD, reason)

    def stop(self, reason: str, now_s: float) -> None:
        """Stop for good; the first reason is kept."""
        if not self.stop_reason:
            self.stop_reason, self.stopped_s = reason, now_s
            self._record_event(now_s, DrainEventKind.STOPPED, reason)

    def update(self, now_s: float, drained: bool = False) -> bool:
        """Check the guards; return whether a hold has just ended. `drained`: there is nothing left to stop."""
        if reason := "" if drained else self.guards.stop_reason(now_s):
            self.stop(reason, now_s)
        if self.is_paused is not (self._paused_since_s is not None):
            self._pauses_s = self.paused_s(now_s)
            self._paused_since_s = now_s if self.is_paused else None
        previous_reason, self.hold_reason = self.hold_reason, self._pause_reason or self.guards.hold_reason(now_s)
        if self.hold_reason and not previous_reason:
            self._held_since_s = now_s
            self._record_event(now_s, DrainEventKind.HELD, self.hold_reason)
        if previous_reason and not self.hold_reason:
            self.last_hold_s = now_s - self._held_since_s
            self._record_event(now_s, DrainEventKind.RELEASED, "")
        return bool(previous_reason) and not self.hold_reason

    def next_s(self, now_s: float) -> float:
        """When the holds may change without an update."""
        return min(self.guards.next_s(now_s), default=float("inf"))


# Wave gates: nodes are started when all targets are cordoned, their wave is next, and the new nodes that they need have
# joined.


class _GateState(Enum):
    """State of one hook of one wave."""

    SHUT = "shut"  # not requested yet
    REQUESTED = "asked"
    OPEN = "open"  # it succeeded, or there is no hook


class Wave:
    """Mutable. `started`: whether one of its nodes was started; `next_wave_from_s`: from when on the next wave may
    start, None while this one is not over."""

    def __init__(self, number: int, nodes: list[DrainedNode], hooks: Set[str]) -> None:
        self.number = number
        self.nodes = nodes
        self.started = False
        self.next_wave_from_s: float | None = None
        self.gates = {when: _GateState.SHUT if when in hooks else _GateState.OPEN for when in (BEFORE_WAVE, AFTER_WAVE)}

    @property
    def is_finished(self) -> bool:
        return all(node.has_ended for node in self.nodes)

    @property
    def waiting(self) -> list[DrainedNode]:
        return [node for node in self.nodes if node.phase is NodePhase.CORDONED]


class WaveGate:
    """Mutable. Where the user limits concurrent nodes, or pins nodes to waves, a wave waits for the one before."""

    def __init__(
        self, run_state: DrainRunState, holds: RunHolds, plan: DrainPlan, hooks: Set[str], soak_s: float
    ) -> None:
        self._run_state = run_state
        self._holds = holds
        self._soak_s = soak_s
        self._joined: set[str] = set()  # nodes whose replacements have joined
        self._hooks = hooks
        gated = waits_between_waves(plan)
        by_number: dict[int, list[DrainedNode]] = defaultdict(list)
        for node in run_state.drained:
            by_number[node.target.wave if gated else 1].append(node)
        self._waves = [Wave(number, by_number[number], hooks) for number in sorted(by_number)]
        self._next_wave_s = inf  # of the next wave
        self._finish_reason = ""  # why no further wave is started

    @property
    def is_finished(self) -> bool:
        """Whether no more nodes are started, and no hook is pending."""
        return all(
            wave.is_finished and (not wave.started or wave.gates[AFTER_WAVE] is _GateState.OPEN) for wave in self._waves
        )

    def remaining_soak_s(self, now_s: float) -> float:
        """Return the remaining soak time between waves, as far as is known."""
        remaining_s = max(0.0, self._next_wave_s - now_s) if self._next_wave_s < inf else 0.0
        unfinished = sum(not wave.is_finished for wave in self._waves)
        return remaining_s + self._soak_s * max(0, unfinished - 1)

    def next_s(self) -> float:
        """When a node may be started without an update; infinity if none is."""
        return self._next_wave_s

    def record_joined(self, node: str) -> None:
        """Record that a new node has joined in place of `node`."""
        self._joined.add(node)
        self._run_state.may_start_nodes = True

    def required_nodes(self, node: DrainedNode) -> tuple[str, ...]:
        """Return the nodes whose replacements must have joined before this node is started."""
        return tuple(sorted(set(node.target.needs) - self._joined))

    def finish(self, reason: str) -> None:
        """Start no further wave: after the current one the drain stops with this reason; "" cancels that."""
        if reason != self._finish_reason:
            self._finish_reason = reason
            self._run_state.may_start_nodes = True

    def handle_release(self) -> None:
        """Handle the end of a hold: the success of a before-wave hook from before the hold is outdated, unless its wave
        has started."""
        for wave in self._waves:
            if BEFORE_WAVE in self._hooks and not wave.started and wave.gates[BEFORE_WAVE] is _GateState.OPEN:
                wave.gates[BEFORE_WAVE] = _GateState.SHUT
        self._run_state.may_start_nodes = True

    def update(self, now_s: float) -> None:
        """Check whether a soak has ended."""
        if self._next_wave_s <= now_s:
            self._next_wave_s = inf
            self._run_state.may_start_nodes = True

    def handle(self, update: HookEnded, now_s: float) -> None:
        """Handle the result of a hook; a failed hook stops the drain."""
        hook = update.hook
        hook_text = f"the hook {hook.when.replace('-', ' ')} {hook.wave}"
        message = (
            f"{hook_text} {'said yes' if update.ok else 'failed'}{f': {update.message}' if update.message else ''}"
        )
        self._run_state.record_event(now_s, DrainEventKind.HOOKED, reason=message)
        if not update.ok:
            self._holds.stop(message, now_s)
            return
        wave = next(wave for wave in self._waves if wave.number == hook.wave)
        wave.gates[hook.when] = _GateState.OPEN
        self._run_state.may_start_nodes = True

    def start_nodes(self, now_s: float) -> Iterator[Hook]:
        """Start nodes if all targets are cordoned, so that no evicted pod is scheduled onto the next node."""
        self._run_state.may_start_nodes = False
        if self._holds.is_active or any(node.phase is NodePhase.OPEN for node in self._run_state.nodes.values()):
            return
        if (
            self._finish_reason
            and not self.is_finished
            and all(wave.is_finished for wave in self._waves if wave.started)
        ):
            self._holds.stop(self._finish_reason, now_s)
            return
        for wave in self._waves:
            if self._finish_reason and not wave.started:
                return
            if startable := [node for node in wave.waiting if self._joined.issuperset(node.target.needs)]:
                yield from self._request_hook(wave, BEFORE_WAVE, wave.waiting)
                if wave.gates[BEFORE_WAVE] is not _GateState.OPEN:
                    return
                self._start_wave_nodes(wave, startable, now_s)
            if not wave.is_finished:
                return
            if wave.started:
                ripe_s = self._next_wave_from_s(wave, now_s)
                yield from self._request_hook(wave, AFTER_WAVE, wave.nodes)
                if wave.gates[AFTER_WAVE] is not _GateState.OPEN or now_s < ripe_s:
                    return

    def _start_wave_nodes(self, wave: Wave, nodes: list[DrainedNode], now_s: float) -> None:
        wave.started = True
        for node in nodes:
            node.set_phase(NodePhase.ACTIVE, now_s)
            self._run_state.record_event(now_s, DrainEventKind.BEGUN, node.name)
            self._run_state.mark_changed((node.name,))

    def _next_wave_from_s(self, wave: Wave, now_s: float) -> float:
        """Return from when on the wave after a finished one may start; there is no soak after the last."""
        if wave.next_wave_from_s is not None:
            return wave.next_wave_from_s
        wave.next_wave_from_s = now_s
        next_wave = next((each for each in self._waves if each.number > wave.number and each.waiting), None)
        if self._soak_s and next_wave is not None:
            wave.next_wave_from_s = self._next_wave_s = now_s + self._soak_s
            until = f"until {format_duration(self._next_wave_s)} from the start of the run"
            reason = (
                f"wave {wave.number} is over: wave {next_wave.number} is not begun for "
                f"{format_duration(self._soak_s)}, {until}"
            )
            self._run_state.record_event(now_s, DrainEventKind.SOAKING, reason=reason)
        return wave.next_wave_from_s

    @staticmethod
    def _request_hook(wave: Wave, when: str, nodes: list[DrainedNode]) -> Iterator[Hook]:
        if wave.gates[when] is _GateState.SHUT:
            wave.gates[when] = _GateState.REQUESTED
            yield Hook(when, wave.number, tuple(node.name for node in nodes))
