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

from kubectl_eksdoc.kubernetes.updates import (
    AllBudgets,
    AllNodes,
    AllPods,
    AttachedVolumes,
    BudgetChanged,
    BudgetRemoved,
    HookEnded,
    NodeChanged,
    NodeRemoved,
    PodChanged,
    PodRemoved,
    PodsFound,
    RequestAnswered,
    RunUpdate,
)
from kubectl_eksdoc.model.actions import RunCommand
from kubectl_eksdoc.model.nodes import Pod

from ..outcome import DrainTarget, PodVerdict
from ..result import DrainPlan
from .actions import BalancerExclusion, NodeActions, VolumeDetachment
from .events import THE_DRAIN, DrainEvent, DrainEventKind
from .eviction_requests import EvictionRequests
from .guards import RunGuards, RunHolds, WaveGate
from .limits import SETTLE_TIMEOUT_S, UNREADY_WAIT_S, RunLimits
from .observed import LatePods, Observations, ResponseHandler
from .pod_evictions import ObservedState, PodEviction, PodStep
from .replacements import AutoscalerProtection, ReplacementTimes
from .stall_timeouts import TerminationTimeout
from .state import DrainedNode, DrainRunState, NodePhase

UNCERTAIN_STEPS = (PodStep.REQUESTED, PodStep.ACCEPTED, PodStep.IN_DOUBT)
"""In these steps it is unknown whether the pod will go."""

GOING_STEPS = (PodStep.REPLACED, PodStep.STOPPING)
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
        observed: ObservedState,
        limits: RunLimits = RunLimits(),
        hooks: frozenset[str] = frozenset(),
        run: str = "",
        skipped: Sequence[DrainTarget] = (),
    ) -> None:
        self.plan = plan
        self.observed = observed
        self._run_state = run_state = DrainRunState(plan, observed, skipped)
        self._holds = RunHolds(RunGuards(plan, observed, limits), self._record_run_event)
        self._requests = requests = EvictionRequests(plan, observed, limits.blocked_s)
        self._exclusion = exclusion = BalancerExclusion(run_state)
        self._protection = AutoscalerProtection(plan, run_state)
        detachment = VolumeDetachment(run_state)
        termination_timeout = TerminationTimeout(run_state, plan.policy, limits.blocked_s)
        self._observations = Observations(
            run_state, requests, detachment, termination_timeout, plan.policy.partial, run
        )
        times_s = limits.blocked_s, limits.failing_s
        self._response_handler = ResponseHandler(run_state, requests, exclusion, detachment, self._protection, *times_s)
        grace_s = plan.policy.grace_seconds
        self._node_actions = NodeActions(
            run_state, requests, exclusion, detachment, termination_timeout, self._holds, grace_s
        )
        self._late_pods = LatePods(run_state, requests, self._holds, plan.policy.partial)
        self._waves = WaveGate(run_state, self._holds, plan, hooks, limits.soak_s)
        self._ready_s = limits.ready_s
        self._drained_s: float | None = None  # when the last node ended
        self._settled = False  # the last replacements are Ready, or no longer waited for
        self._skipped: list[str] = []
        self._returned_events = 0  # number of events that `new_events` has returned

    # Input

    def handle(self, update: RunUpdate, now_s: float) -> None:
        self.observed.handle(update)
        self._holds.guards.handle(update, now_s)
        self._exclusion.handle(update)
        self._late_pods.handle(update)
        run_state = self._run_state
        match update:
            case PodChanged(pod, _):
                run_state.mark_pod_changed(pod.uid)
                if pod.ready:
                    run_state.mark_changed(self._requests.handle_ready_pod(pod, now_s))
            case PodRemoved(uid, _):
                run_state.mark_pod_changed(uid)
            case BudgetChanged(budget, _):
                run_state.mark_changed(self._requests.handle_budget_change(budget.key, now_s))
            case BudgetRemoved(key):
                run_state.mark_changed(self._requests.handle_budget_change(key, now_s))
            case NodeChanged(node):
                run_state.mark_changed((node.name,))
                self._protection.protect_nodes((node,))
            case NodeRemoved(name):
                run_state.mark_changed((name,))
            case AllPods(pods, _):
                for pod, _ in pods:
                    if pod.ready:
                        self._requests.handle_ready_pod(pod, now_s)
                run_state.mark_all_changed()
            case AllNodes(nodes):
                run_state.mark_all_changed()
                self._protection.protect_nodes(nodes)
            case AllBudgets():
                self._requests.stall_timeout.handle_budgets(now_s)
                run_state.mark_all_changed()
            case RequestAnswered() | PodsFound() | AttachedVolumes():
                self._response_handler.handle(update, now_s)
            case HookEnded():
                self._waves.handle(update, now_s)

    def record_joined(self, node: str) -> None:
        """Record that a new node has joined in place of `node`."""
        self._waves.record_joined(node)

    def add_plan(self, plan: DrainPlan, now_s: float) -> None:
        """Add a plan made from the current observations: late pods are evicted or kept as it says."""
        self._late_pods.add_plan(plan, now_s)

    def mark_in_doubt(self, uids: Iterable[str], now_s: float) -> None:
        """Mark pods that the earlier process may already have evicted: they are read first."""
        for uid in uids:
            eviction = self._run_state.evictions.get(uid)
            if eviction is not None and eviction.step is PodStep.WAITING:
                self._requests.ledger.reserve(eviction.planned, now_s)
                eviction.set_step(PodStep.IN_DOUBT, now_s)

    def adopt_protection(self, node: str, uid: str, confirmed: bool) -> None:
        """Record a node that the earlier process protected from autoscalers, or may have (`confirmed` False): it is
        released with the others."""
        self._protection.adopt(node, uid, confirmed)

    def add_replacements(self, pods: Iterable[Pod], now_s: float) -> None:
        """Record replacements of pods that the earlier process evicted: later steps wait for them, too."""
        self._holds.guards.add_replacements(pods, now_s)

    def record_skipped(self, node: str, reason: str, now_s: float) -> None:
        """Record a node that should be drained and is not in this plan."""
        self._skipped.append(node)
        self.record_event(now_s, DrainEventKind.LEFT_ALONE, node, reason=reason)

    def leave_alone(self, node: str, reason: str, now_s: float) -> None:
        """Request nothing more on the node. Pods that are stopping go; the node stays cordoned, and the drain continues
        on other nodes."""
        drained_node = self._run_state.nodes.get(node)
        if drained_node is not None and not drained_node.has_ended:
            self._run_state.leave_alone(drained_node, now_s, reason)

    def finish_wave(self, reason: str) -> None:
        """Start no further wave: after the current one the drain stops with this reason. "" cancels that."""
        self._waves.finish(reason)

    def pause(self, reason: str) -> None:
        """Send no further requests for now; "" resumes."""
        self._holds.pause(reason)

    def hold(self, reason: str, now_s: float, since_s: float | None = None) -> None:
        """Record that no requests are sent for a while (since `since_s`); the next call of `due_actions` ends the
        hold."""
        self._holds.hold(reason, now_s, now_s if since_s is None else since_s)

    def stop(self, reason: str, now_s: float) -> None:
        """Send no further requests. Those in flight finish by themselves."""
        self._holds.stop(reason, now_s)

    def stop_waiting(self) -> None:
        """Stop waiting for replacements to become Ready."""
        self._ready_s = 0.0

    # Output

    def due_actions(self, now_s: float) -> list[RunCommand]:
        """Return all actions that are due now, in this order."""
        run_state = self._run_state
        if self._holds.update(now_s, self._waves.is_finished):
            self._requests.stall_timeout.shift_by_hold(self._holds.last_hold_s, now_s)
            run_state.mark_all_changed()
            self._waves.handle_release()
        self._waves.update(now_s)
        run_state.mark_changed(run_state.timers.due(now_s))
        run_state.mark_changed(self._requests.due_nodes(now_s))
        self._exclusion.warn_unreadable_kinds(now_s)
        actions: list[RunCommand] = []
        while run_state.has_changes or run_state.may_start_nodes:
            nodes = run_state.take_changed()
            for node in nodes:
                self._observations.update_node(node, now_s)
            actions += self._node_actions.actions(nodes, now_s)
            if run_state.may_start_nodes:
                actions += self._waves.start_nodes(now_s)
        self._update_settled(now_s)
        return [*self._protection.actions(now_s, run_ended=self._only_releases_remain(now_s)), *actions]

    def next_s(self, now_s: float) -> float:
        """When there is something to do even without an update; infinity if there is not."""
        parts = self._run_state.timers.next_s, self._requests.next_s, self._waves.next_s(), self._protection.next_s()
        ready_s = inf
        if self._drained_s is not None and not self._settled:
            unready_until_s, ready_until_s = self._ready_deadlines_s(self._drained_s)
            ready_s = unready_until_s if now_s < unready_until_s < ready_until_s else ready_until_s
        return min(*parts, ready_s, self._holds.next_s(now_s))

    # State

    @property
    def events(self) -> Sequence[DrainEvent]:
        """All events, oldest first."""
        return self._run_state.events

    def new_events(self) -> Sequence[DrainEvent]:
        """Return the events since the last call."""
        new_events = self.events[self._returned_events :]
        self._returned_events = len(self.events)
        return new_events

    def record_event(self, at_s: float, kind: DrainEventKind, subject: str, node: str = "", reason: str = "") -> None:
        """Record an event that happened outside the engine."""
        self._run_state.record_event(at_s, kind, subject, node, reason)

    def remaining_soak_s(self, now_s: float) -> float:
        """Return the remaining soak time between waves, as far as is known."""
        return self._waves.remaining_soak_s(now_s)

    @property
    def is_finished(self) -> bool:
        """Whether every node has ended, replacements are Ready or no longer waited for, and no node is protected for
        them any more."""
        return self._waves.is_finished and self._settled and self._protection.is_finished

    @property
    def is_drained(self) -> bool:
        """Whether every node has ended."""
        return self._waves.is_finished

    @property
    def drained_s(self) -> float | None:
        """When the last node ended."""
        return self._drained_s

    @property
    def unready(self) -> tuple[Pod, ...]:
        """Replacements that are not Ready now, with a node or without."""
        return self._holds.guards.unready

    @property
    def arrivals(self) -> Mapping[str, ReplacementTimes]:
        """When each replacement of an evicted pod was created, scheduled and Ready."""
        return self._holds.guards.replacements.arrivals

    def required_nodes(self, node: str) -> tuple[str, ...]:
        """Return the nodes whose replacements must have joined before this node is started."""
        drained_node = self._run_state.nodes.get(node)
        return self._waves.required_nodes(drained_node) if drained_node is not None else ()

    def waiting_s(self, eviction: PodEviction, now_s: float) -> float | None:
        """Return how long the pod has been refused or without room; None if it is not."""
        return self._requests.stall_timeout.waited_s(eviction, now_s)

    def _update_settled(self, now_s: float) -> None:
        if not self._waves.is_finished or self._settled:
            return
        if self._drained_s is None:
            self._drained_s = now_s
        unready_until_s, ready_until_s = self._ready_deadlines_s(self._drained_s)
        unready_deadline_passed = now_s >= unready_until_s and not self._holds.guards.has_new_unready
        self._settled = now_s >= ready_until_s or unready_deadline_passed or not self.unready

    def _ready_deadlines_s(self, drained_s: float) -> tuple[float, float]:
        """Return until when it waits for replacements of pods that were not Ready, and of any pods."""
        return drained_s + UNREADY_WAIT_S, drained_s + self._ready_s

    def _only_releases_remain(self, now_s: float) -> bool:
        """Whether only protected nodes remain to be released."""
        return (self._waves.is_finished and self._settled) or self._has_settled(now_s)

    @property
    def nodes(self) -> Collection[DrainedNode]:
        """The drained nodes, in the plan's order."""
        return self._run_state.drained

    @property
    def cordoned_only(self) -> tuple[str, ...]:
        """The targets that are not drained and were observed cordoned by this run."""
        nodes = self._run_state.nodes.values()
        return tuple(node.name for node in nodes if node.cordon_only and node.phase is NodePhase.CORDONED)

    @property
    def hold_reason(self) -> str:
        """Why it sends no requests for now; "" while it does."""
        return self._holds.hold_reason

    @property
    def is_paused(self) -> bool:
        """Whether a user paused the run."""
        return self._holds.is_paused

    def paused_s(self, now_s: float) -> float:
        """Return how long the run was paused in total."""
        return self._holds.paused_s(now_s)

    @property
    def pending(self) -> tuple[Pod, ...]:
        """Replacements of evicted pods that have no node now."""
        return self._holds.guards.pending

    @property
    def placed(self) -> Mapping[str, int]:
        """Number of replacements that were scheduled onto each node, including those that are gone."""
        return Counter(self._holds.guards.replacements.nodes.values())

    @property
    def stop_reason(self) -> str:
        """Why it sends no more requests; "" while it does."""
        return self._holds.stop_reason

    @property
    def evictions_per_second(self) -> float | None:
        """The current eviction rate limit: the user's limit, or less while the server is throttling; None without a
        limit."""
        return self._requests.rate

    @property
    def in_flight(self) -> tuple[str, ...]:
        """The pods (ns/name) that were requested to go and have not gone: they go whatever this run does."""
        return tuple(
            p.pod.key for p in self._run_state.evictions.values() if p.step in (*UNCERTAIN_STEPS, *GOING_STEPS)
        )

    def is_settled(self, now_s: float) -> bool:
        """Whether the run was stopped, of no requested pod it is unknown whether it goes, those that go have gone (or
        are not waited for any longer), and no node is protected any more."""
        return self._has_settled(now_s) and self._protection.is_finished

    def _has_settled(self, now_s: float) -> bool:
        if not self.stop_reason or any(p.step in UNCERTAIN_STEPS for p in self._run_state.evictions.values()):
            return False
        return now_s - self._holds.stopped_s >= SETTLE_TIMEOUT_S or not self.in_flight

    @property
    def late_pods(self) -> Mapping[str, tuple[str, ...]]:
        """UIDs of pods that are in no plan, by the node onto which they were scheduled: a new plan is needed, see
        `add_plan`."""
        return self._late_pods.by_node

    @property
    def unfinished_nodes(self) -> tuple[str, ...]:
        """Nodes that have not ended."""
        return tuple(node.name for node in self._run_state.drained if not node.has_ended)

    @property
    def not_drained(self) -> dict[str, tuple[str, ...]]:
        """Existing nodes of the plan that are not drained, each with its remaining pods (ns/name)."""
        ends = (NodePhase.DONE, NodePhase.LOST)
        remaining = {node.name: node.remaining_pods for node in self._run_state.drained if node.phase not in ends}
        return {**{name: self._planned_pods_on(name) for name in self._skipped}, **remaining}

    def _planned_pods_on(self, node: str) -> tuple[str, ...]:
        """Return the pods (ns/name) on a node that would have to be evicted, according to the plan."""
        not_evicted = (not_evicted for not_evicted in self.plan.left if not_evicted.node == node)
        return tuple(each.pod.key for each in not_evicted if each.verdict is not PodVerdict.STAY)

    def _record_run_event(self, at_s: float, kind: DrainEventKind, reason: str) -> None:
        self.record_event(at_s, kind, THE_DRAIN, reason=reason)
