"""Observed state of nodes and pods, and the phases that follow from it: observation outranks any response. Also handles
responses to the actions of a run, and pods that came after the plan was made."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.kubernetes.drain_filters import foreign_drain
from kubectl_eksdoc.kubernetes.updates import (
    AllPods,
    AttachedVolumes,
    PodChanged,
    PodRemoved,
    PodsFound,
    RequestAnswered,
    RunUpdate,
)
from kubectl_eksdoc.model.actions import (
    Cordon,
    Delete,
    Evict,
    Exclude,
    ListPods,
    PodChange,
    Protect,
    ReadPod,
    Release,
    Restart,
)
from kubectl_eksdoc.model.journal import UNCORDONED
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.model.quantities import format_duration

from ..outcome import Eviction, NotEvictedPod, PodVerdict
from ..result import DrainPlan
from .actions import BalancerExclusion, VolumeDetachment
from .answers import ACCEPTED, deployment_name, interpret_response, server_error
from .events import DrainEventKind
from .eviction_requests import EvictionRequests
from .guards import RunHolds
from .pod_evictions import PodEviction, PodStep
from .replacements import AutoscalerProtection
from .stall_timeouts import TerminationTimeout, eviction_alarm, is_stuck
from .state import FINAL_PHASES, DrainedNode, DrainRunState, NodePhase


class Observations:
    """Mutable by its parts. `partial`: a node with pods that cannot be evicted is still emptied of the others. `run`:
    the run id in the notes on the nodes that this run changes, "" if there is none."""

    def __init__(
        self,
        run_state: DrainRunState,
        requests: EvictionRequests,
        detachment: VolumeDetachment,
        termination_timeout: TerminationTimeout,
        partial: bool,
        run: str,
    ) -> None:
        self._run = run
        self._run_state = run_state
        self._requests = requests
        self._detachment = detachment
        self._termination_timeout = termination_timeout
        self._partial = partial

    def update_node(self, node: DrainedNode, now_s: float) -> None:
        if node.phase not in FINAL_PHASES:
            self._update_own_phase(node, now_s)
        for eviction in node.evictions.values():
            previous_step = eviction.step
            eviction.update(self._run_state.observed, now_s)
            if previous_step is PodStep.ACCEPTED and eviction.step in (PodStep.WAITING, PodStep.KEPT):
                self._run_state.mark_changed(self._requests.release(eviction))
            if eviction.step in (PodStep.STOPPING, PodStep.GONE) and eviction.step is not previous_step:
                self._requests.stall_timeout.stop_waiting(eviction, now_s)
            self._run_state.record_pod_end(eviction, previous_step, now_s)
        self._termination_timeout.update_node(node, now_s)
        if is_stuck(node):
            self._run_state.leave_alone(node, now_s, _kept_reason(node))
        elif self._termination_timeout.is_abandoned(node, now_s):
            self._run_state.leave_alone(node, now_s, self._termination_timeout.abandoned_reason(node))
        elif node.phase is NodePhase.GOING and node.is_empty:
            self._run_state.end_node(node, NodePhase.LOST, now_s)
        elif node.phase is NodePhase.ACTIVE and node.kept_evictions and (node.is_empty or not self._partial):
            self._run_state.leave_alone(node, now_s, _kept_reason(node))
        elif node.phase is NodePhase.ACTIVE and node.is_empty:
            node.set_phase(NodePhase.EMPTY, now_s)
            node.empty_since_s = now_s
            self._run_state.record_event(now_s, DrainEventKind.EMPTY, node.name)
        self._detachment.finish_if_detached(node, now_s)

    def _update_own_phase(self, node: DrainedNode, now_s: float) -> None:
        """Update the phase of the node itself. It may be cordoned now, or drained by another client: the run does not
        compete with that client, and only waits for the pods."""
        if node.phase is NodePhase.GOING:
            return
        run_state = self._run_state
        observed_node = run_state.observed.nodes.get(node.name)
        if observed_node is None or observed_node.uid != node.target.node.uid:
            node.set_phase(NodePhase.GOING, now_s)
            run_state.record_event(now_s, DrainEventKind.LOST, node.name, reason="it is not in the cluster any more")
        elif foreign := foreign_drain(observed_node):
            node.set_phase(NodePhase.GOING, now_s)
            run_state.record_event(now_s, DrainEventKind.ADOPTED, node.name, reason=foreign.message)
        elif reason := self._other_run_reason(node, observed_node):
            run_state.leave_alone(node, now_s, reason)
        elif node.phase is NodePhase.OPEN and observed_node.unschedulable and self._has_own_note(observed_node):
            node.set_phase(NodePhase.CORDONED, now_s)
            run_state.may_start_nodes = True
            run_state.record_event(
                now_s, DrainEventKind.CORDONED_ONLY if node.cordon_only else DrainEventKind.CORDONED, node.name
            )
        elif node.phase is not NodePhase.OPEN and not observed_node.unschedulable:
            run_state.leave_alone(node, now_s, f"{UNCORDONED}: it is not cordoned again without being asked")

    def _has_own_note(self, observed_node: Node) -> bool:
        """Whether the note of this run is on the node. A node that another client cordoned before is noted as well."""
        return not self._run or (
            observed_node.note is not None and observed_node.note.run == self._run and observed_node.note.drains
        )

    def _other_run_reason(self, node: DrainedNode, observed_node: Node) -> str:
        """Return why the node belongs to another run of this tool; "" if it does not. A note that existed when the plan
        was made no longer counts."""
        note, earlier_note = observed_node.note, node.target.node.note
        if (
            not self._run
            or note is None
            or note.run == self._run
            or (earlier_note is not None and note.run == earlier_note.run)
        ):
            return ""
        journal_text = f" (its journal is in namespace {note.journal})" if note.journal else ""
        return f"another run of this tool has it, {note.run}{journal_text}"


def _kept_reason(node: DrainedNode) -> str:
    return "; ".join(f"{eviction.pod.key}: {eviction.message}" for eviction in node.kept_evictions)


# Pods that were scheduled onto a node after the plan was made: before its cordon, through a toleration, or bound to
# it without the scheduler.
#
# A new plan decides whether, when and under which limits they are evicted. If an owner puts pods onto the same node
# again and again, they are kept and the node is left alone. The same applies to a pod that this run's own restart
# created: the user asked for no downtime, and another restart in the same run has no effect.


MAX_RETURNS = 2
"""Pods of one owner that are rescheduled onto the same node are evicted again this many times."""

_EMPTYING_PHASES = (NodePhase.ACTIVE, NodePhase.EMPTY, NodePhase.DETACHING)


class LatePods:
    """Mutable. Pods that were scheduled onto drained nodes after the plan was made."""

    def __init__(self, run_state: DrainRunState, requests: EvictionRequests, holds: RunHolds, partial: bool) -> None:
        self._run_state = run_state
        self._requests = requests
        self._holds = holds
        self._partial = partial
        self._late_uids: dict[str, set[str]] = defaultdict(set)  # UIDs by node
        self._returns: Counter[tuple[str, str]] = Counter()  # by node and owner
        self._last_position = max((p.planned.position for p in run_state.evictions.values()), default=0)

    @property
    def by_node(self) -> dict[str, tuple[str, ...]]:
        """UIDs of late pods by node, for nodes that are being emptied, or are empty except for them."""
        phases = {name: self._run_state.nodes[name].phase for name, uids in self._late_uids.items() if uids}
        emptied = [name for name, phase in phases.items() if phase in _EMPTYING_PHASES]
        return {name: tuple(sorted(self._late_uids[name])) for name in emptied}

    def handle(self, update: RunUpdate) -> None:
        """Handle an update that `observed` already contains."""
        observed = self._run_state.observed
        match update:
            case PodChanged(pod, _):
                self._check_pod(observed.pod(pod.uid))
            case PodRemoved(uid, _):
                for uids in self._late_uids.values():
                    uids.discard(uid)
            case AllPods():
                self._late_uids.clear()
                for pod in observed.pods():
                    self._check_pod(pod)
            case PodsFound(ListPods(), pods):
                for pod in pods:
                    self._check_pod(observed.pod(pod.uid))

    def _check_pod(self, pod: Pod | None) -> None:
        node = self._run_state.nodes.get(pod.node) if pod is not None else None
        if pod is None or node is None or node.cordon_only:
            return
        if node.is_unplanned(pod):
            self._late_uids[node.name].add(pod.uid)
        else:
            self._late_uids[node.name].discard(pod.uid)

    def add_plan(self, plan: DrainPlan, now_s: float) -> None:
        """Evict the late pods as `plan` says, after everything planned before; the rest of `plan` is ignored."""
        evictions_by_uid = {eviction.pod.uid: eviction for eviction in plan.evictions}
        staying_by_uid = {staying_pods.pod.uid: staying_pods for staying_pods in plan.left}
        drained = {target.node.name: target for target in plan.targets}
        for name, uids in self.by_node.items():
            node, target = self._run_state.nodes[name], drained.get(name)
            if target is None:
                continue
            if not target.order:
                self._run_state.leave_alone(node, now_s, "; ".join(target.why))
                continue
            staying_pods = [staying_by_uid[uid] for uid in uids if uid in staying_by_uid]
            evictions = [evictions_by_uid[uid] for uid in uids if uid in evictions_by_uid]
            staying_pods += self._repeatedly_rescheduled(node, evictions)
            kept_uids = {each.pod.uid for each in staying_pods}
            self._keep_pods(node, staying_pods, now_s)
            if not node.has_ended:
                self._evict(node, [each for each in evictions if each.pod.uid not in kept_uids], plan.slots, now_s)
        self._last_position += max((eviction.position for eviction in plan.evictions), default=0)

    def _repeatedly_rescheduled(self, node: DrainedNode, evictions: Iterable[Eviction]) -> list[NotEvictedPod]:
        """Return the pods that were rescheduled too often; count one more return for the others."""
        owners = {(node.name, _owner_text(each.pod)): None for each in evictions}
        repeated = {key for key in owners if self._returns[key] >= MAX_RETURNS}
        self._returns.update(key for key in owners if key not in repeated)
        # Namespace and name of the workloads that this run has restarted.
        requested = (p for p in self._run_state.evictions.values() if p.step is not PodStep.WAITING)
        restarted_workloads = {
            (p.pod.namespace, p.planned.eviction_mode.restarts.name)
            for p in requested
            if p.planned.eviction_mode.restarts
        }
        not_evicted = []
        for pod in (each.pod for each in evictions):
            if pod.owner is not None and (pod.namespace, deployment_name(pod.owner)) in restarted_workloads:
                reason = "this run has restarted its workload already, and the new pod came to a drained node"
                not_evicted.append(NotEvictedPod(pod, node.name, PodVerdict.BLOCKED, (), reason))
            elif (node.name, _owner_text(pod)) in repeated:
                reason = f"{_owner_text(pod)} puts pods on this node again and again"
                not_evicted.append(NotEvictedPod(pod, node.name, PodVerdict.BLOCKED, (), reason))
        return not_evicted

    def _keep_pods(self, node: DrainedNode, not_evicted: Iterable[NotEvictedPod], now_s: float) -> None:
        """Keep these pods. A pod with verdict STAY is ignored. For a pod that should be evicted and cannot be, the node
        is left alone, or only the pod if `partial`."""
        blocked = [each for each in not_evicted if each.verdict is not PodVerdict.STAY]
        node.staying_uids |= {each.pod.uid for each in not_evicted}
        node.blocked_late_pods += tuple(each.pod.key for each in blocked)
        self._late_uids[node.name] -= {each.pod.uid for each in not_evicted}
        for each in blocked:
            self._run_state.record_event(now_s, DrainEventKind.KEPT, each.pod.key, node.name, each.reason)
        if blocked and not self._partial:
            self._run_state.leave_alone(node, now_s, "; ".join(f"{each.pod.key}: {each.reason}" for each in blocked))

    def _evict(self, node: DrainedNode, evictions: list[Eviction], slots: Mapping[str, int], now_s: float) -> None:
        if not evictions:
            return
        for eviction in evictions:
            pod_eviction = PodEviction(eviction._replace(position=self._last_position + eviction.position))
            node.evictions[eviction.pod.uid] = self._run_state.evictions[eviction.pod.uid] = pod_eviction
            pod_eviction.start(now_s)
            self._late_uids[node.name].discard(eviction.pod.uid)
        self._requests.add_planned(evictions, slots)
        self._holds.guards.add_evictions(evictions)
        if node.phase is not NodePhase.ACTIVE:
            node.set_phase(NodePhase.ACTIVE, now_s)
            node.empty_listings = 0
        pods = ", ".join(eviction.pod.key for eviction in evictions)
        self._run_state.record_event(
            now_s, DrainEventKind.REPLANNED, node.name, reason=f"came to it after the plan was made: {pods}"
        )
        self._run_state.mark_changed((node.name,))


def _owner_text(pod: Pod) -> str:
    return f"{pod.owner.kind} {pod.namespace}/{pod.owner.name}" if pod.owner is not None else f"pod {pod.key}"


FAILED_READ_S = 90.0
"""Duration of a failing read: a minute of retries and the pause after it."""

MAX_CORDON_REFUSALS = 5
"""A node is left alone after this many refusals of its cordon (refusals as such, not conflicts, throttling
or server errors)."""

ERROR_TOLERANCE = 2
"""Errors on one node's cordon are tolerated this many times as long as errors that stop the whole drain."""


class ResponseHandler:
    """Mutable by its parts. `blocked_s`: how long to wait for unexpected pods on an empty node, and for a cordon
    without effect; `failing_s`: how long to retry a server that answers only with errors."""

    def __init__(
        self,
        run_state: DrainRunState,
        requests: EvictionRequests,
        exclusion: BalancerExclusion,
        detachment: VolumeDetachment,
        protection: AutoscalerProtection,
        blocked_s: float,
        failing_s: float,
    ) -> None:
        self._run_state = run_state
        self._requests = requests
        self._exclusion = exclusion
        self._detachment = detachment
        self._protection = protection
        self._blocked_s = blocked_s
        self._failing_s = failing_s

    def handle(self, update: RequestAnswered | PodsFound | AttachedVolumes, now_s: float) -> None:
        run_state = self._run_state
        match update:
            case RequestAnswered(Cordon(name), response):
                self._handle_cordon(run_state.nodes[name], response, now_s)
            case RequestAnswered(Evict() | Restart() | Delete() as action, response):
                self._handle_pod(run_state.evictions[action.pod.uid], action, response, now_s)
            case PodsFound(ReadPod(pod), pods):
                self._handle_pod_read(run_state.evictions[pod.uid], next(iter(pods), None), now_s)
            case RequestAnswered(ReadPod(pod), response):
                # The read is repeated; the pod is given up when reads fail for too long.
                eviction = run_state.evictions[pod.uid]
                message = response.message
                previous_step = eviction.step
                eviction.handle_failed_read(message, self._max_failed_reads, now_s)
                if eviction.step is PodStep.KEPT:
                    self._run_state.mark_changed(self._requests.release(eviction))
                self._run_state.record_pod_end(eviction, previous_step, now_s)
                self._run_state.mark_changed((eviction.planned.node,))
            case RequestAnswered(ListPods(name), response):
                self._handle_failed_listing(run_state.nodes[name], response.message, now_s)
            case PodsFound(ListPods(name), pods):
                self._handle_listing(run_state.nodes[name], pods, now_s)
            case RequestAnswered(Exclude() as action, response):
                self._exclusion.handle_response(action, response, now_s)
            case RequestAnswered(Protect() | Release() as action, response):
                self._protection.handle_response(action, response, now_s)
            case AttachedVolumes():
                self._detachment.handle(update, now_s)

    def _handle_cordon(self, node: DrainedNode, response: ApiStatus | LostResponse, now_s: float) -> None:
        """Handle the response to a cordon. Success alone is not enough: the node is started when it is observed
        unschedulable."""
        node.request_pending, node.cordon_answered, node.since_s = False, True, now_s
        self._run_state.mark_changed((node.name,))
        node.cordon_unseen_since_s = now_s if node.cordon_unseen_since_s is None else node.cordon_unseen_since_s
        if isinstance(response, ApiStatus) and response.ok:
            if now_s - node.cordon_unseen_since_s >= self._blocked_s:
                limit_text = format_duration(self._blocked_s)
                self._run_state.leave_alone(node, now_s, f"its cordon is accepted, and not seen on it for {limit_text}")
            return
        message = response.message
        self._run_state.record_event(now_s, DrainEventKind.REFUSED, node.name, reason=message)
        if self._is_final_cordon_failure(node, response, now_s):
            self._run_state.leave_alone(node, now_s, f"it cannot be cordoned: {message}")

    def _is_final_cordon_failure(self, node: DrainedNode, response: ApiStatus | LostResponse, now_s: float) -> bool:
        """Whether this response to the cordon was one failure too many, so that the node is left alone. Server errors
        that also affect other nodes stop the whole drain before this limit is reached."""
        if server_error(response):
            node.cordon_failing_since_s = now_s if node.cordon_failing_since_s is None else node.cordon_failing_since_s
            return now_s - node.cordon_failing_since_s >= ERROR_TOLERANCE * self._failing_s
        node.cordon_failing_since_s = None
        if isinstance(response, ApiStatus) and response.code not in (409, 429):
            node.cordon_refusals += 1
        return node.cordon_refusals >= MAX_CORDON_REFUSALS or (
            node.cordon_unseen_since_s is not None and now_s - node.cordon_unseen_since_s >= self._blocked_s
        )

    def _handle_pod(
        self, pod_eviction: PodEviction, action: PodChange, response: ApiStatus | LostResponse, now_s: float
    ) -> None:
        planned, previous_step = pod_eviction.planned, pod_eviction.step
        response_meaning = interpret_response(action, response)
        pod_eviction.handle_response(response_meaning, now_s)
        self._requests.rate_limit.handle_response(response_meaning, now_s)
        if pod_eviction.step in (PodStep.WAITING, PodStep.KEPT):
            self._run_state.mark_changed(self._requests.release(pod_eviction))
            self._requests.stall_timeout.start_waiting(pod_eviction, now_s)
            self._run_state.record_event(
                now_s,
                DrainEventKind.REFUSED,
                pod_eviction.pod.key,
                planned.node,
                pod_eviction.message or response_meaning.message,
            )
        elif isinstance(response, ApiStatus) and response.ok:
            self._requests.stall_timeout.stop_waiting(pod_eviction, now_s)
            self._run_state.record_event(
                now_s, ACCEPTED[planned.eviction_mode.means], pod_eviction.pod.key, planned.node
            )
        if not (pod_eviction.has_ended or pod_eviction.alarm_reported) and (
            reason := eviction_alarm(pod_eviction, now_s, self._blocked_s)
        ):
            pod_eviction.alarm_reported = True
            self._run_state.record_event(now_s, DrainEventKind.WARNED, pod_eviction.pod.key, planned.node, reason)
        self._run_state.record_pod_end(pod_eviction, previous_step, now_s)
        self._run_state.mark_changed((planned.node,))

    def _handle_pod_read(self, eviction: PodEviction, pod: Pod | None, now_s: float) -> None:
        previous_step = eviction.step
        eviction.handle_read(pod, self._run_state.observed, now_s)
        if eviction.step is PodStep.WAITING and previous_step is not PodStep.WAITING:
            self._run_state.mark_changed(self._requests.release(eviction))
            self._requests.stall_timeout.start_waiting(eviction, now_s)
        self._run_state.record_pod_end(eviction, previous_step, now_s)
        self._run_state.mark_changed((eviction.planned.node,))

    def _handle_failed_listing(self, node: DrainedNode, message: str, now_s: float) -> None:
        node.request_pending, node.since_s = False, now_s
        node.failed_listings += 1
        self._run_state.mark_changed((node.name,))
        if node.phase is NodePhase.EMPTY and node.failed_listings >= self._max_failed_reads:
            self._run_state.leave_alone(node, now_s, f"which pods are on it cannot be listed: {message}")

    @property
    def _max_failed_reads(self) -> int:
        """Number of failed reads that are too many: each takes a minute."""
        return max(2, int(self._blocked_s / FAILED_READ_S))

    def _handle_listing(self, node: DrainedNode, pods: Sequence[Pod], now_s: float) -> None:
        node.request_pending, node.since_s, node.failed_listings = False, now_s, 0
        self._run_state.mark_changed((node.name,))
        if node.phase is not NodePhase.EMPTY:
            return
        unexpected = sorted(pod.key for pod in pods if node.is_unexpected(pod))
        node.empty_listings = 0 if unexpected else node.empty_listings + 1
        if unexpected and now_s - node.empty_since_s >= self._blocked_s:
            node.blocked_late_pods += tuple(unexpected)
            self._run_state.leave_alone(node, now_s, f"still on it: {', '.join(unexpected)}")
        if node.empty_listings == 2 and not self._detachment.start(node, pods, now_s):
            self._run_state.end_node(node, NodePhase.DONE, now_s)
            self._run_state.record_event(now_s, DrainEventKind.DONE, node.name)
