"""Actions of a running drain for nodes that changed: cordon, evict, exclude from load balancers, list pods and attached
volumes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from math import inf

from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.kubernetes.drain_filters import foreign_drain
from kubectl_eksdoc.kubernetes.updates import AllPods, AttachedVolumes, PodChanged, RunUpdate
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import ClusterAction, Cordon, Exclude, ListAttachments, ListPods, ReadPod
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.network import Service
from kubectl_eksdoc.model.nodes import EXCLUDE_FROM_LOAD_BALANCERS, Node, NodeOwner, Pod
from kubectl_eksdoc.model.quantities import format_duration

from .answers import action_for
from .events import THE_DRAIN, DrainEventKind
from .eviction_requests import EvictionRequests
from .guards import RunHolds
from .pod_evictions import ObservedState, PodEviction, PodStep
from .stall_timeouts import (
    MAX_ATTEMPTS,
    RETRY_S,
    AttemptResult,
    SameNameHolds,
    TerminationTimeout,
    attempt_result,
)
from .state import LISTING_INTERVAL_S, DrainedNode, DrainRunState, NodePhase

# Traffic of load balancers that target nodes: whether a node can be excluded without a pod losing its traffic.


_REQUIRED_KINDS = (kinds.SERVICES, kinds.TARGET_GROUP_BINDINGS)


def unreadable_kinds(cluster: Cluster) -> str:
    """Return the resources that are required but could not be read, as a clause; "" if all were read."""
    return "; ".join(f"{read.resource.full_name}: {read.detail}" for read in cluster.not_read(*_REQUIRED_KINDS))


def node_target_services(cluster: Cluster) -> tuple[Service, ...]:
    """Return the Services whose load balancers target nodes (instance targets), not pods, as far as is known."""
    target_types = {f"{each.namespace}/{each.service}": each.target_type for each in cluster.target_group_bindings}
    services = []
    for service in cluster.services:
        targets_pods = target_types[service.key] == "ip" if service.key in target_types else service.ip_targets
        if not targets_pods and (service.type == "LoadBalancer" or service.key in target_types):
            services.append(service)
    return tuple(services)


class LoadBalancerTargets:
    """Mutable: tracks the pods of those `services` (of `node_target_services`) to which a node forwards only to its own
    pods (externalTrafficPolicy Local)."""

    def __init__(self, services: Sequence[Service], observed: ObservedState) -> None:
        self._observed = observed
        self._local_services: dict[str, list[Service]] = defaultdict(list)  # by namespace
        self._members: dict[str, set[str]] = defaultdict(set)  # by Service, UIDs; some may be gone
        for service in services:
            if service.local and service.selector:
                self._local_services[service.namespace].append(service)
        for pod in observed.pods():
            self._track(pod)

    def handle(self, update: RunUpdate) -> None:
        match update:
            case PodChanged(pod, _):
                self._track(pod)
            case AllPods(pods, _):
                for pod, _ in pods:
                    self._track(pod)

    def is_excluded(self, node: str) -> bool:
        """Whether load balancers send nothing to the node, or it does not exist."""
        observed_node = self._observed.nodes.get(node)
        return observed_node is None or EXCLUDE_FROM_LOAD_BALANCERS in observed_node.labels

    def pods_losing_traffic(self, node: str, staying: Collection[str]) -> set[str]:
        """Return the UIDs of pods on the node that would lose their traffic although they are not evicted yet;
        `staying` are pods that the drain does not evict."""
        return {pod.uid for key in self._service_keys for pod in self._ready_pods(key) if pod.node == node} - set(
            staying
        )

    def exclusion_obstacle(self, node: str) -> str:
        """Return why the node must not be excluded now, as a clause; "" if it may be."""
        other_nodes = {each.name for each in self._observed.nodes.values() if each.name != node and takes_traffic(each)}
        if not other_nodes:
            return "no other node is there to take it that is Ready and not cordoned"
        for key in self._service_keys:
            nodes = {pod.node for pod in self._ready_pods(key)}
            if node in nodes and not nodes & other_nodes:
                return f"no other node that is not cordoned has a Ready pod of Service {key}"
        return ""

    @property
    def _service_keys(self) -> list[str]:
        return [service.key for services in self._local_services.values() for service in services]

    def _track(self, pod: Pod) -> None:
        for service in self._local_services.get(pod.namespace, ()):
            if all(pod.labels.get(key) == value for key, value in service.selector.items()):
                self._members[service.key].add(pod.uid)

    def _ready_pods(self, service: str) -> Iterator[Pod]:
        members = self._members[service]
        for uid in list(members):
            pod = self._observed.pod(uid)
            if pod is None:
                members.discard(uid)
            elif pod.ready and not pod.deleting:
                yield pod


def takes_traffic(node: Node) -> bool:
    """Whether load balancers can continue to send traffic to the node while others are excluded."""
    if node.ready != "True" or node.unschedulable or node.deletion_at is not None or foreign_drain(node):
        return False
    return EXCLUDE_FROM_LOAD_BALANCERS not in node.labels and node.owner is not NodeOwner.FARGATE


# Exclusion of nodes from load balancers before their pods are evicted.
#
# A node is excluded before its first eviction. Exception: if a Service reaches a pod only through the pod's own node,
# the node is excluded with the eviction of the last such pod on it; otherwise more pods would lose their traffic at
# once than a budget allows.


class _NodeExclusion:
    """Mutable: the exclusion of one node. `pending`: a request is in flight; `finished`: no further request is sent."""

    __slots__ = ("attempts", "finished", "not_before_s", "pending")

    def __init__(self) -> None:
        self.pending = self.finished = False
        self.attempts = 0
        self.not_before_s = -inf


class BalancerExclusion:
    """Mutable. Evictions that were selected wait here until the exclusion of their node is answered."""

    def __init__(self, run_state: DrainRunState) -> None:
        self._run_state = run_state
        cluster = run_state.observed.first
        services = node_target_services(cluster)
        self._balancers = LoadBalancerTargets(services, run_state.observed)
        self._disabled = not services
        self._nodes: dict[str, _NodeExclusion] = defaultdict(_NodeExclusion)
        self._held_evictions: dict[str, list[PodEviction]] = defaultdict(list)
        self._unreadable = unreadable_kinds(cluster)

    def handle(self, update: RunUpdate) -> None:
        self._balancers.handle(update)

    def warn_unreadable_kinds(self, now_s: float) -> None:
        """Warn once about resources that could not be read."""
        if self._unreadable:
            reason = (
                f"whether load balancers send to the nodes is not known ({self._unreadable}): where they do, they are"
            )
            self._run_state.record_event(
                now_s, DrainEventKind.WARNED, THE_DRAIN, reason=f"{reason} not taken from them before their pods go"
            )
            self._unreadable = ""

    def actions_before_eviction(self, node: DrainedNode, eviction: PodEviction, now_s: float) -> list[Exclude] | None:
        """Return the requests that must precede the eviction of this selected pod; the eviction is held until they are
        answered. None: evict at once."""
        if self._is_done(node):
            return None
        state = self._nodes[node.name]
        has_started = state.pending or state.attempts
        if not has_started and self._balancers.pods_losing_traffic(node.name, node.staying_uids) - {eviction.pod.uid}:
            return None
        if not has_started and self._balancers.exclusion_obstacle(node.name):
            return None
        self._held_evictions[node.name].append(eviction)
        return list(self._request_exclusion(node, now_s))

    def actions_when_empty(self, node: DrainedNode, now_s: float) -> Iterator[Exclude]:
        """Yield the requests for a node that has no pods left to evict."""
        if self._is_done(node) or self._balancers.pods_losing_traffic(node.name, node.staying_uids):
            return
        state = self._nodes[node.name]
        reason = "" if state.pending or state.attempts else self._balancers.exclusion_obstacle(node.name)
        if reason:
            self._give_up_node(node.name, f"load balancers still send to it: {reason}", now_s)
        else:
            yield from self._request_exclusion(node, now_s)

    def retries(self, node: DrainedNode, now_s: float) -> Iterator[Exclude]:
        """Yield the request again after a failed response."""
        if self._held_evictions.get(node.name):
            yield from self._request_exclusion(node, now_s)

    def released_evictions(self, node: str) -> list[PodEviction]:
        """Return the held evictions that need not wait any longer."""
        return self._held_evictions.pop(node, []) if self._nodes[node].finished else []

    def drop_held(self) -> list[PodEviction]:
        """Return and forget all held evictions: none of them may be requested any more."""
        held_evictions, self._held_evictions = self._held_evictions, defaultdict(list)
        return [eviction for each in held_evictions.values() for eviction in each]

    def next_s(self, node: str, now_s: float) -> float:
        """When the request is sent again; infinity if it is not, or only waits for permission."""
        state = self._nodes.get(node)
        if state is None or state.pending or state.finished or state.not_before_s <= now_s:
            return inf
        return state.not_before_s

    def handle_response(self, action: Exclude, response: ApiStatus | LostResponse, now_s: float) -> None:
        state, result = self._nodes[action.node], attempt_result(response)
        state.pending = False
        self._run_state.mark_changed((action.node,))
        if result is AttemptResult.DONE:
            self._run_state.record_event(now_s, DrainEventKind.EXCLUDED, action.node)
        if result in (AttemptResult.DONE, AttemptResult.GONE):
            state.finished = True
        elif result is AttemptResult.FORBIDDEN and state.attempts + 1 >= MAX_ATTEMPTS:
            self._stop_forbidden(response.message, now_s)
        else:
            state.attempts, state.not_before_s = state.attempts + 1, now_s + RETRY_S
            if result is AttemptResult.REFUSED or state.attempts >= MAX_ATTEMPTS:
                self._give_up_node(action.node, f"it is not taken from load balancers: {response.message}", now_s)

    def _is_done(self, node: DrainedNode) -> bool:
        return self._disabled or self._nodes[node.name].finished or self._balancers.is_excluded(node.name)

    def _request_exclusion(self, node: DrainedNode, now_s: float) -> Iterator[Exclude]:
        state = self._nodes[node.name]
        if not state.pending and not state.finished and now_s >= state.not_before_s:
            state.pending = True
            yield Exclude(node.name, node.target.node.uid)

    def _give_up_node(self, node: str, reason: str, now_s: float) -> None:
        self._nodes[node].finished = True
        self._run_state.record_event(now_s, DrainEventKind.WARNED, node, reason=reason)

    def _stop_forbidden(self, message: str, now_s: float) -> None:
        for state in self._nodes.values():
            state.finished = True
        self._run_state.mark_all_changed()
        if not self._disabled:
            self._disabled = True
            self._run_state.record_event(
                now_s, DrainEventKind.WARNED, THE_DRAIN, reason=f"nodes are not taken from load balancers: {message}"
            )


# Volumes of evicted pods: a node is drained only when they are detached from it.
#
# An EBS volume is attached to one node at a time: until it is detached, its pod starts on no other node, and an
# instance that is terminated with the volume still attached delays that by minutes. Volumes of pods that stay are not
# waited for.


FORCE_DETACH_S = 360.0
"""After this time the attach-detach controller detaches a volume by force even if it is still mounted
(ReconcilerMaxWaitForUnmountDuration, pkg/controller/volume/attachdetach/attach_detach_controller.go)."""


class VolumeDetachment:
    """Mutable. Asks for the attached volumes of empty nodes as often as necessary."""

    def __init__(self, run_state: DrainRunState) -> None:
        self._run_state = run_state
        cluster = run_state.observed.first
        self._volumes = {claim.key: claim.volume for claim in cluster.claims if claim.volume}
        self._unreadable = "; ".join(read.detail for read in cluster.not_read(kinds.CLAIMS))
        self._awaited: dict[str, set[str]] = {}  # by node, the volumes to be detached, as of the last request
        self._disabled = False

    def start(self, node: DrainedNode, remaining_pods: Sequence[Pod], now_s: float) -> bool:
        """Whether there are volumes to wait for; `remaining_pods` are the pods that are on the node now."""
        gone_pods = [eviction.pod for eviction in node.evictions.values() if eviction.step is PodStep.GONE]
        if self._unreadable and any(_claim_keys(pod) for pod in gone_pods):
            self._give_up(f"persistentvolumeclaims: {self._unreadable}", now_s)
        volumes = self._volumes_of(gone_pods) - self._volumes_of(remaining_pods)
        if self._disabled or not volumes:
            return False
        self._awaited[node.name] = volumes
        node.set_phase(NodePhase.DETACHING, now_s)
        return True

    def handle(self, update: AttachedVolumes, now_s: float) -> None:
        node = self._run_state.nodes[update.action.node]
        node.request_pending, node.volumes_listed_s = False, now_s
        self._run_state.mark_changed((node.name,))
        if update.refused:
            self._give_up(update.read_error, now_s)
        elif not update.read_error and node.name in self._awaited:
            self._awaited[node.name] &= set(update.volumes)

    def finish_if_detached(self, node: DrainedNode, now_s: float) -> None:
        """End the wait if the volumes are detached, or after the timeout."""
        if node.phase is not NodePhase.DETACHING:
            return
        volumes = self._awaited[node.name]
        if volumes and not self._disabled and now_s - node.since_s < FORCE_DETACH_S:
            return
        if volumes and not self._disabled:
            reason = f"still attached to it after {format_duration(FORCE_DETACH_S)}: {', '.join(sorted(volumes))}"
            self._run_state.record_event(now_s, DrainEventKind.WARNED, node.name, reason=reason)
        self._run_state.end_node(node, NodePhase.DONE, now_s)
        self._run_state.record_event(now_s, DrainEventKind.DONE, node.name)

    def is_due(self, node: DrainedNode, now_s: float) -> bool:
        """Whether it is time to list the attached volumes again."""
        return (
            node.phase is NodePhase.DETACHING
            and not node.request_pending
            and now_s >= node.volumes_listed_s + LISTING_INTERVAL_S
        )

    def next_s(self, node: DrainedNode) -> float:
        if node.phase is not NodePhase.DETACHING:
            return inf
        ends_s = node.since_s + FORCE_DETACH_S
        return ends_s if node.request_pending else min(ends_s, node.volumes_listed_s + LISTING_INTERVAL_S)

    def _volumes_of(self, pods: Iterable[Pod]) -> set[str]:
        return {self._volumes[claim] for pod in pods for claim in _claim_keys(pod) if claim in self._volumes}

    def _give_up(self, reason: str, now_s: float) -> None:
        if not self._disabled:
            self._disabled = True
            message = f"nodes are done without waiting until the volumes of their pods are detached: {reason}"
            self._run_state.record_event(now_s, DrainEventKind.WARNED, THE_DRAIN, reason=message)
        self._run_state.mark_all_changed()


def _claim_keys(pod: Pod) -> list[str]:
    return [f"{pod.namespace}/{volume.detail}" for volume in pod.volumes if volume.has_claim]


class NodeActions:
    """Mutable by its parts. `grace_s`: grace period of the evicted pods, None for each pod's own."""

    def __init__(
        self,
        run_state: DrainRunState,
        requests: EvictionRequests,
        exclusion: BalancerExclusion,
        detachment: VolumeDetachment,
        termination_timeout: TerminationTimeout,
        holds: RunHolds,
        grace_s: int | None,
    ) -> None:
        self._run_state = run_state
        self._requests = requests
        self._exclusion = exclusion
        self._detachment = detachment
        self._termination_timeout = termination_timeout
        self._holds = holds
        self._grace_s = grace_s
        self._same_name_holds = SameNameHolds(run_state)

    def actions(self, nodes: Sequence[DrainedNode], now_s: float) -> Iterator[ClusterAction]:
        """Yield actions in this order: all cordons, then evictions in the plan's order, each after what must precede
        it, then reads."""
        if self._holds.stop_reason:
            self._return_to_waiting(self._exclusion.drop_held(), now_s)
        elif not self._holds.is_paused:
            yield from self._cordons(nodes, now_s)
        if not self._holds.is_active:
            yield from self._held_requests(nodes, now_s)
            yield from self._eviction_requests(nodes, now_s)
        for node in nodes:
            for eviction in node.evictions.values():
                if eviction.step is PodStep.IN_DOUBT and not eviction.read_pending and eviction.not_before_s <= now_s:
                    eviction.read_pending = True
                    yield ReadPod(eviction.pod)
            if (
                node.phase is NodePhase.EMPTY
                and not node.request_pending
                and now_s >= node.since_s + LISTING_INTERVAL_S
            ):
                node.request_pending = True
                yield ListPods(node.name)
            if self._detachment.is_due(node, now_s):
                node.request_pending = True
                yield ListAttachments(node.name)
            times = node.next_s(now_s), self._exclusion.next_s(node.name, now_s), self._detachment.next_s(node)
            self._run_state.timers.set(node.name, min(*times, self._termination_timeout.next_s(node, now_s)))

    def _cordons(self, nodes: Sequence[DrainedNode], now_s: float) -> Iterator[ClusterAction]:
        for node in nodes:
            if (
                node.phase is NodePhase.OPEN
                and not node.request_pending
                and (not node.cordon_answered or now_s >= node.since_s + LISTING_INTERVAL_S)
            ):
                node.request_pending = True
                note = node.target.node.note
                ended_run = note.run if note is not None else ""
                yield Cordon(node.name, node.target.node.uid, ended_run, skipped=not node.target.order)

    def _held_requests(self, nodes: Sequence[DrainedNode], now_s: float) -> Iterator[ClusterAction]:
        """Yield evictions that waited until their node was excluded from load balancers, and further exclusion
        requests."""
        for node in nodes:
            released = self._exclusion.released_evictions(node.name)
            if node.phase is NodePhase.ACTIVE:
                yield from self._exclusion.retries(node, now_s)
                evictions = [each for each in released if each.step is PodStep.REQUESTED]
                for eviction in evictions:
                    self._requests.ledger.reserve(eviction.planned, now_s)
                    yield action_for(eviction.planned, self._grace_s)
            else:
                self._return_to_waiting(released, now_s)
            if node.phase is NodePhase.EMPTY:
                yield from self._exclusion.actions_when_empty(node, now_s)

    def _return_to_waiting(self, evictions: Sequence[PodEviction], now_s: float) -> None:
        """Return selected evictions to the waiting state: they are not requested now."""
        for eviction in evictions:
            if eviction.step is PodStep.REQUESTED:
                eviction.set_step(PodStep.WAITING, now_s)
                self._run_state.mark_changed(self._requests.release(eviction))

    def _eviction_requests(self, nodes: Sequence[DrainedNode], now_s: float) -> Iterator[ClusterAction]:
        due = [eviction for node in nodes if node.phase is NodePhase.ACTIVE for eviction in node.due_evictions()]
        waiting = [eviction for eviction in due if not self._is_left_to_finish(eviction, now_s)]
        candidates = [eviction for eviction in waiting if not self._requests.stall_timeout.has_expired(eviction, now_s)]
        for eviction in self._requests.select(candidates, now_s):
            preceding = self._exclusion.actions_before_eviction(
                self._run_state.nodes[eviction.planned.node], eviction, now_s
            )
            if preceding is None:
                yield action_for(eviction.planned, self._grace_s)
            else:
                self._requests.ledger.reserve(
                    eviction.planned, inf
                )  # its slots are reserved until it is sent, however late
                yield from preceding
        for eviction in waiting:
            if eviction.step is PodStep.WAITING:
                self._give_up_if_stalled(eviction, now_s)

    def _is_left_to_finish(self, eviction: PodEviction, now_s: float) -> bool:
        """Whether the pod is not evicted now: it may still finish by itself, or must."""
        if eviction.is_never_evicted and not eviction.may_finish(now_s):
            waited = format_duration(eviction.planned.eviction_mode.waits_s)
            self._keep_pod(eviction, f"it did not finish within {waited}, and its Job would fail", now_s)
        return eviction.is_never_evicted or eviction.may_finish(now_s)

    def _give_up_if_stalled(self, eviction: PodEviction, now_s: float) -> None:
        """Give up a pod that was refused for too long without any change; its node is left alone then."""
        self._same_name_holds.report(eviction.planned.budget, now_s)
        ends_s = self._requests.stall_timeout.ends_s(eviction, now_s)
        if now_s < ends_s:
            self._run_state.timers.set(eviction.planned.node, ends_s)
            return
        eviction.message = self._requests.stall_timeout.reason(eviction)
        self._keep_pod(eviction, eviction.message, now_s)

    def _keep_pod(self, eviction: PodEviction, reason: str, now_s: float) -> None:
        eviction.keep(reason, now_s)
        self._run_state.record_pod_end(eviction, PodStep.WAITING, now_s)
        self._run_state.mark_changed((eviction.planned.node,))
