"""When a run must ask for nothing more, for now or at all: what it meets that no plan knows.

Each has a default and a flag. What holds a run is over when its cause is; what stops it is for a person to look at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from kubectl_eksdoc.drain.outcome import Eviction
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.run.answers import Errors
from kubectl_eksdoc.drain.run.events import Happened
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.drain.run.replacements import Replacements
from kubectl_eksdoc.kubernetes.news import (
    AllNodes,
    AllPods,
    News,
    NodeGone,
    NodeIs,
    PodGone,
    PodIs,
    RequestAnswered,
    WatchInterrupted,
    WatchRestored,
)
from kubectl_eksdoc.model.actions import Delete, Evict, ListPods, Look, Restart
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.quantities import duration


class RunGuards:
    """Mutable. Told what the engine is told; asked before it is asked."""

    def __init__(self, plan: DrainPlan, seen: ObservedState, limits: RunLimits) -> None:
        self._limits = limits
        self._seen = seen
        self._targets = {target.node.name for target in plan.targets}
        self.replacements = Replacements(plan.evictions, seen)
        self._were_ready = {node.name for node in seen.nodes.values() if node.ready == "True"}
        self._pending: dict[str, tuple[Pod, float]] = {}  # by UID, with the time since when
        self._of_pods, self._of_nodes = Errors(), Errors()
        self._away: tuple[str, float] | None = None
        self._down: set[str] = set()
        self._earlier: set[str] = set()  # UIDs of replacements that were there before

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
                pass  # whether the cluster can be read is told by the watches
            case RequestAnswered(act, answer):
                self._of_nodes.answered(str(getattr(act, "node", "")), answer, now_s)

    def expect(self, evictions: Iterable[Eviction]) -> None:
        """These go: what replaces them is watched."""
        self.replacements.expect(evictions)

    def awaits(self, pods: Iterable[Pod], now_s: float) -> None:
        """These replace pods that were evicted before: they are waited for like those that come."""
        for pod in pods:
            self._earlier.add(pod.uid)
            self._see(pod, now_s)

    def hold(self, now_s: float) -> str:
        """Why nothing more may be asked for now; "" if it may."""
        if self._away is not None:
            return f"the cluster cannot be watched: {self._away[0]}"
        for errors in (self._of_pods, self._of_nodes):
            if errors.failing(now_s):
                return errors.counted
        waiting = [pod for pod, since_s in self._pending.values() if now_s - since_s >= self._limits.hold_s]
        return f"{_named(waiting)} no node yet" if waiting else ""

    def stop(self, now_s: float) -> str:
        """Why nothing more must be asked for at all; "" if it may."""
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
        """When its word may change though nothing is told."""
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
        """Whether more of them are not Ready than of the pods that they replace: what was ill before stays so."""
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


# Whether a run may ask for more: held by a guard or by the user for now, or stopped by one of them for good.


Tell = Callable[[float, Happened, str], object]
"""Called with the time, what happened and why."""


class RunHolds:
    """Mutable. `tell` hears when it begins and ceases to hold, and when it stops."""

    def __init__(self, guards: RunGuards, tell: Tell) -> None:
        self.guards = guards
        self._tell = tell
        self.held = self._paused = ""
        self.stopped = ""
        self.stopped_s = 0.0
        self.held_for_s = 0.0  # how long it held, the last time
        self._held_s = 0.0  # since when
        self._pauses_s = 0.0  # those that are over, in all
        self._paused_s: float | None = None  # since when it is, as far as it was looked

    @property
    def on(self) -> bool:
        return bool(self.held or self.stopped)

    def pause(self, why: str) -> None:
        """By the user, from the next look on; "" lets it go on."""
        self._paused = why

    @property
    def is_paused(self) -> bool:
        """Whether the user wants nothing to be asked for now, not even what may be while a guard holds it."""
        return bool(self._paused)

    def paused_s(self, now_s: float) -> float:
        """So long it was paused in all."""
        return self._pauses_s + (0.0 if self._paused_s is None else now_s - self._paused_s)

    def hold(self, why: str, now_s: float, since_s: float) -> None:
        """Until the next look, and told, whatever holds it already; `since_s`: it was so before anybody knew."""
        if not self.held:
            self._held_s = max(0.0, since_s)
        self.held = why
        self._tell(now_s, Happened.HELD, why)

    def stop(self, why: str, now_s: float) -> None:
        """For good; the first reason stands."""
        if not self.stopped:
            self.stopped, self.stopped_s = why, now_s
            self._tell(now_s, Happened.STOPPED, why)

    def look(self, now_s: float, drained: bool = False) -> bool:
        """Ask the guards; whether what was held may go on now. `drained`: there is nothing left to stop."""
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
        """When its word may change though nothing is told."""
        return min(self.guards.next_s(now_s), default=float("inf"))
