"""Engine of a running drain: decides all actions from the observed state.

All targets are cordoned first, including those that are not drained. A node is started when all targets were observed
cordoned, its wave is next, and the new nodes that it needs have joined (`guards.WaveGate`). On started nodes a pod is
evicted when its limits have room; after a refusal by a budget the run waits for a change of that budget and does not
poll (`actions`, `eviction_requests`). For pods that are scheduled onto a node later a new plan is made
(`other_drains`). A node is drained when it was listed empty twice (`observed`, `answers`). The engine decides and
performs no action itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import inf

from kubectl_eksdoc.kubernetes.news import (
    AllBudgets,
    AllNodes,
    AllPods,
    AttachedVolumes,
    BudgetGone,
    BudgetIs,
    HookEnded,
    News,
    NodeGone,
    NodeIs,
    PodGone,
    PodIs,
    PodsFound,
    RequestAnswered,
)
from kubectl_eksdoc.model.actions import Errand
from kubectl_eksdoc.model.nodes import Pod

from ..outcome import DrainTarget, PodVerdict
from ..result import DrainPlan
from .actions import Excluding, NodeActions, VolumeDetaching
from .events import Happened, RunMoment
from .eviction_requests import EvictionRequests
from .guards import RunGuards, RunHolds, WaveGate
from .limits import ILL_S, SETTLES_S, RunLimits
from .observed import LatePods, Observations, Replies
from .pod_evictions import ObservedState, PodPursuit, PodStep
from .replacements import Protecting, ReplacementTimes
from .stall_timeouts import Stopping
from .state import THE_RUN, DrainedNode, DrainRunState, NodePhase

UNSURE = (PodStep.ASKED, PodStep.ACCEPTED, PodStep.IN_DOUBT)
"""In these steps it is unknown whether the pod will go."""

GOING = (PodStep.REPLACED, PodStep.LEAVING)
"""In these steps it is certain that the pod goes, whatever this run does."""


class Engine:
    """Mutable. Times are seconds since the run started. Pass updates in, then ask for the due actions and until when to
    wait.

    `hooks`: the hook points for which the user has a command (`BEFORE_WAVE`, `AFTER_WAVE`). `run`: the run id in the
    notes on the nodes that it changes, "" if there is none. `skipped`: targets of the run that are cordoned and not
    drained, in addition to those of the plan.
    """

    def __init__(
        self,
        plan: DrainPlan,
        seen: ObservedState,
        limits: RunLimits = RunLimits(),
        hooks: frozenset[str] = frozenset(),
        run: str = "",
        skipped: Sequence[DrainTarget] = (),
    ) -> None:
        self.plan = plan
        self.seen = seen
        self._board = board = DrainRunState(plan, seen, skipped)
        self._brakes = RunHolds(RunGuards(plan, seen, limits), self._tell_of_itself)
        self._asking = asking = EvictionRequests(plan, seen, limits.blocked_s)
        self._excluding = excluding = Excluding(board)
        self._protecting = Protecting(plan, board)
        detaching = VolumeDetaching(board)
        stopping = Stopping(board, plan.policy, limits.blocked_s)
        self._sights = Observations(board, asking, detaching, stopping, plan.policy.partial, run)
        times_s = limits.blocked_s, limits.failing_s
        self._replies = Replies(board, asking, excluding, detaching, self._protecting, *times_s)
        grace_s = plan.policy.grace_seconds
        self._acting = NodeActions(board, asking, excluding, detaching, stopping, self._brakes, grace_s)
        self._strangers = LatePods(board, asking, self._brakes, plan.policy.partial)
        self._waves = WaveGate(board, self._brakes, plan, hooks, limits.soak_s)
        self._ready_s = limits.ready_s
        self._drained_s: float | None = None  # when the last node ended
        self._settled = False  # the last replacements are Ready, or no longer waited for
        self._skipped: list[str] = []
        self._heard = 0  # number of events that `new_events` has returned

    # Input

    def take(self, news: News, now_s: float) -> None:
        self.seen.take(news)
        self._brakes.guards.take(news, now_s)
        self._excluding.take(news)
        self._strangers.take(news)
        board = self._board
        match news:
            case PodIs(pod, _):
                board.stir_pod(pod.uid)
                if pod.ready:
                    board.stir(self._asking.ready(pod, now_s))
            case PodGone(uid, _):
                board.stir_pod(uid)
            case BudgetIs(budget, _):
                board.stir(self._asking.moved(budget.key, now_s))
            case BudgetGone(key):
                board.stir(self._asking.moved(key, now_s))
            case NodeIs(node):
                board.stir((node.name,))
                self._protecting.see((node,))
            case NodeGone(name):
                board.stir((name,))
            case AllPods(pods, _):
                for pod, _ in pods:
                    if pod.ready:
                        self._asking.ready(pod, now_s)
                board.stir_all()
            case AllNodes(nodes):
                board.stir_all()
                self._protecting.see(nodes)
            case AllBudgets():
                self._asking.patience.told(now_s)
                board.stir_all()
            case RequestAnswered() | PodsFound() | AttachedVolumes():
                self._replies.take(news, now_s)
            case HookEnded():
                self._waves.take(news, now_s)

    def renewed(self, node: str) -> None:
        """Record that a new node has joined in place of `node`."""
        self._waves.renewed(node)

    def extend(self, plan: DrainPlan, now_s: float) -> None:
        """Add a plan made from the current observations: late pods are evicted or kept as it says."""
        self._strangers.extend(plan, now_s)

    def doubt(self, uids: Iterable[str], now_s: float) -> None:
        """Mark pods that the earlier process may already have evicted: they are read first."""
        for uid in uids:
            pursuit = self._board.pursuits.get(uid)
            if pursuit is not None and pursuit.step is PodStep.WAITING:
                self._asking.ledger.take(pursuit.eviction, now_s)
                pursuit.to(PodStep.IN_DOUBT, now_s)

    def protects(self, node: str, uid: str, surely: bool) -> None:
        """Record a node that the earlier process protected from autoscalers, or may have (`confirmed` False): it is
        released with the others."""
        self._protecting.stands(node, uid, surely)

    def awaits(self, pods: Iterable[Pod], now_s: float) -> None:
        """Record replacements of pods that the earlier process evicted: later steps wait for them, too."""
        self._brakes.guards.awaits(pods, now_s)

    def skip(self, node: str, why: str, now_s: float) -> None:
        """Record a node that should be drained and is not in this plan."""
        self._skipped.append(node)
        self.tell(now_s, Happened.LEFT_ALONE, node, why=why)

    def leave_alone(self, node: str, why: str, now_s: float) -> None:
        """Request nothing more on the node. Pods that are stopping go; the node stays cordoned, and the drain continues
        on other nodes."""
        found = self._board.nodes.get(node)
        if found is not None and not found.over:
            self._board.leave_alone(found, now_s, why)

    def finish_wave(self, why: str) -> None:
        """Start no further wave: after the current one the drain stops with this reason. "" cancels that."""
        self._waves.finish(why)

    def pause(self, why: str) -> None:
        """Send no further requests for now; "" resumes."""
        self._brakes.pause(why)

    def hold(self, why: str, now_s: float, since_s: float | None = None) -> None:
        """Record that no requests are sent for a while (since `since_s`); the next call of `due_actions` ends the
        hold."""
        self._brakes.hold(why, now_s, now_s if since_s is None else since_s)

    def stop(self, why: str, now_s: float) -> None:
        """Send no further requests. Those in flight finish by themselves."""
        self._brakes.stop(why, now_s)

    def wait_no_longer(self) -> None:
        """Stop waiting for replacements to become Ready."""
        self._ready_s = 0.0

    # Output

    def acts(self, now_s: float) -> list[Errand]:
        """Return all actions that are due now, in this order."""
        board = self._board
        if self._brakes.look(now_s, self._waves.over):
            self._asking.patience.held(self._brakes.held_for_s, now_s)
            board.stir_all()
            self._waves.released()
        self._waves.look(now_s)
        board.stir(board.timers.due(now_s))
        board.stir(self._asking.due(now_s))
        self._excluding.say_what_is_unknown(now_s)
        found: list[Errand] = []
        while board.is_stirred or board.may_begin:
            nodes = board.stirred()
            for node in nodes:
                self._sights.look(node, now_s)
            found += self._acting.acts(nodes, now_s)
            if board.may_begin:
                found += self._waves.begin(now_s)
        self._settle(now_s)
        return [*self._protecting.acts(now_s, over=self._is_at_its_end(now_s)), *found]

    def next_s(self, now_s: float) -> float:
        """When there is something to do even without an update; infinity if there is not."""
        parts = self._board.timers.next_s, self._asking.next_s, self._waves.next_s(), self._protecting.next_s()
        ready_s = inf
        if self._drained_s is not None and not self._settled:
            ill_s, last_s = self._waits_s(self._drained_s)
            ready_s = ill_s if now_s < ill_s < last_s else last_s
        return min(*parts, ready_s, self._brakes.next_s(now_s))

    # State

    @property
    def moments(self) -> Sequence[RunMoment]:
        """All events, oldest first."""
        return self._board.moments

    def new_moments(self) -> Sequence[RunMoment]:
        """Return the events since the last call."""
        new = self.moments[self._heard :]
        self._heard = len(self.moments)
        return new

    def tell(self, at_s: float, what: Happened, subject: str, node: str = "", why: str = "") -> None:
        """Record an event that happened outside the engine."""
        self._board.tell(at_s, what, subject, node, why)

    def soaks_left_s(self, now_s: float) -> float:
        """Return the remaining soak time between waves, as far as is known."""
        return self._waves.soaks_left_s(now_s)

    @property
    def over(self) -> bool:
        """Whether every node has ended, replacements are Ready or no longer waited for, and no node is protected for
        them any more."""
        return self._waves.over and self._settled and self._protecting.over

    @property
    def drained(self) -> bool:
        """Whether every node has ended."""
        return self._waves.over

    @property
    def drained_s(self) -> float | None:
        """When the last node ended."""
        return self._drained_s

    @property
    def unready(self) -> tuple[Pod, ...]:
        """Replacements that are not Ready now, with a node or without."""
        return self._brakes.guards.unready

    @property
    def arrivals(self) -> Mapping[str, ReplacementTimes]:
        """When each replacement of an evicted pod was created, scheduled and Ready."""
        return self._brakes.guards.replacements.arrivals

    def needs(self, node: str) -> tuple[str, ...]:
        """Return the nodes whose replacements must have joined before this node is started."""
        found = self._board.nodes.get(node)
        return self._waves.needs(found) if found is not None else ()

    def refused_s(self, pursuit: PodPursuit, now_s: float) -> float | None:
        """Return how long the pod has been refused or without room; None if it is not."""
        return self._asking.patience.waited_s(pursuit, now_s)

    def _settle(self, now_s: float) -> None:
        if not self._waves.over or self._settled:
            return
        if self._drained_s is None:
            self._drained_s = now_s
        ill_s, last_s = self._waits_s(self._drained_s)
        ill = now_s >= ill_s and not self._brakes.guards.awaits_ready
        self._settled = now_s >= last_s or ill or not self.unready

    def _waits_s(self, drained_s: float) -> tuple[float, float]:
        """Return until when it waits for replacements of pods that were not Ready, and of any pods."""
        return drained_s + ILL_S, drained_s + self._ready_s

    def _is_at_its_end(self, now_s: float) -> bool:
        """Whether only protected nodes remain to be released."""
        return (self._waves.over and self._settled) or self._asks_for_nothing(now_s)

    @property
    def nodes(self) -> Collection[DrainedNode]:
        """The drained nodes, in the plan's order."""
        return self._board.drained

    @property
    def cordoned_only(self) -> tuple[str, ...]:
        """The targets that are not drained and were observed cordoned by this run."""
        nodes = self._board.nodes.values()
        return tuple(node.name for node in nodes if node.cordon_only and node.phase is NodePhase.CORDONED)

    @property
    def held(self) -> str:
        """Why it sends no requests for now; "" while it does."""
        return self._brakes.held

    @property
    def is_paused(self) -> bool:
        """Whether a user paused the run."""
        return self._brakes.is_paused

    def paused_s(self, now_s: float) -> float:
        """Return how long the run was paused in total."""
        return self._brakes.paused_s(now_s)

    @property
    def pending(self) -> tuple[Pod, ...]:
        """Replacements of evicted pods that have no node now."""
        return self._brakes.guards.pending

    @property
    def placed(self) -> Mapping[str, int]:
        """Number of replacements that were scheduled onto each node, including those that are gone."""
        return Counter(self._brakes.guards.replacements.nodes.values())

    @property
    def stopped(self) -> str:
        """Why it sends no more requests; "" while it does."""
        return self._brakes.stopped

    @property
    def evictions_per_second(self) -> float | None:
        """The current eviction rate limit: the user's limit, or less while the server is throttling; None without a
        limit."""
        return self._asking.rate

    @property
    def in_flight(self) -> tuple[str, ...]:
        """The pods (ns/name) that were requested to go and have not gone: they go whatever this run does."""
        return tuple(p.pod.key for p in self._board.pursuits.values() if p.step in (*UNSURE, *GOING))

    def is_settled(self, now_s: float) -> bool:
        """Whether the run was stopped, its requests have settled (or took longer than the limit), and no node is
        protected any more."""
        return self._asks_for_nothing(now_s) and self._protecting.over

    def _asks_for_nothing(self, now_s: float) -> bool:
        if not self.stopped or any(p.step in UNSURE for p in self._board.pursuits.values()):
            return False
        return now_s - self._brakes.stopped_s >= SETTLES_S or not self.in_flight

    @property
    def strangers(self) -> Mapping[str, tuple[str, ...]]:
        """UIDs of pods that are in no plan, by the node onto which they were scheduled: a new plan is needed, see
        `add_plan`."""
        return self._strangers.on

    @property
    def remaining(self) -> tuple[str, ...]:
        """Nodes that have not ended."""
        return tuple(node.name for node in self._board.drained if not node.over)

    @property
    def undone(self) -> dict[str, tuple[str, ...]]:
        """Existing nodes of the plan that are not drained, each with its remaining pods (ns/name)."""
        ends = (NodePhase.DONE, NodePhase.LOST)
        left = {node.name: node.left for node in self._board.drained if node.phase not in ends}
        return {**{name: self._on(name) for name in self._skipped}, **left}

    def _on(self, node: str) -> tuple[str, ...]:
        """Return the pods (ns/name) on a node that would have to be evicted, according to the plan."""
        left = (left for left in self.plan.left if left.node == node)
        return tuple(each.pod.key for each in left if each.verdict is not PodVerdict.STAY)

    def _tell_of_itself(self, at_s: float, what: Happened, why: str) -> None:
        self.tell(at_s, what, THE_RUN, why=why)
