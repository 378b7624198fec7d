"""Replacements of evicted pods: which pods they are, and onto which nodes they were scheduled. Also the protection of
nodes from autoscalers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import Enum
from math import inf
from typing import NamedTuple

from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.kubernetes.drain_filters import foreign_drain
from kubectl_eksdoc.kubernetes.replacement import returns_as_daemon_set_pod
from kubectl_eksdoc.model.actions import Protect, Release
from kubectl_eksdoc.model.nodes import SCALE_DOWN_PROTECTIONS, Node, NodeOwner, Pod

from ..outcome import Eviction
from ..result import DrainPlan
from .answers import deployment_name
from .events import DrainEventKind
from .pod_evictions import ObservedState
from .stall_timeouts import (
    MAX_ATTEMPTS,
    RETRY_S,
    AttemptResult,
    attempt_result,
    is_uncertain,
)
from .state import DrainRunState


class ReplacementTimes(NamedTuple):
    """When a replacement was first observed, with a node, and Ready, in seconds since the run started; `owner`: its
    owner's UID."""

    owner: str
    since_s: float
    scheduled_s: float | None = None
    ready_s: float | None = None


class Replacements:
    """Mutable. `nodes`: the node of each replacement by UID, including replacements that are gone. `arrivals` likewise,
    in the order in which they were observed."""

    def __init__(self, evictions: Iterable[Eviction], observed: ObservedState) -> None:
        self.nodes: dict[str, str] = {}
        self.arrivals: dict[str, ReplacementTimes] = {}
        self._owners: set[str] = set()  # UIDs of owners whose pods are replaced
        self._restarted_workloads: set[tuple[str, str]] = (
            set()
        )  # namespace and name of workloads that create new ReplicaSets
        self.were_unready: Counter[str] = Counter()  # by owner: number of evicted pods that were not Ready
        self._known_uids = {pod.uid for pod in observed.pods()}
        self.add_evictions(evictions)

    def add_evictions(self, evictions: Iterable[Eviction]) -> None:
        """Add evictions: new pods of their owners are replacements from now on."""
        for eviction in evictions:
            if eviction.pod.owner is not None:
                self._owners.add(eviction.pod.owner.uid)
                self.were_unready[eviction.pod.owner.uid] += not eviction.pod.ready
            if eviction.eviction_mode.restarts is not None:
                self._restarted_workloads.add((eviction.pod.namespace, eviction.eviction_mode.restarts.name))

    def __contains__(self, pod: Pod) -> bool:
        """Whether it replaces an evicted pod: it has the same owner, or belongs to a new ReplicaSet of a restarted
        workload."""
        if pod.uid in self._known_uids or pod.owner is None:
            return False
        return pod.owner.uid in self._owners or (pod.namespace, deployment_name(pod.owner)) in self._restarted_workloads

    def record(self, pod: Pod, now_s: float) -> bool:
        """Record a pod if it is a replacement: its node, and its times. Returns whether it is one."""
        if pod not in self or pod.owner is None:
            return False
        if pod.node:
            self.nodes[pod.uid] = pod.node
        times = self.arrivals.get(pod.uid) or ReplacementTimes(pod.owner.uid, now_s)
        if times.scheduled_s is None and pod.node:
            times = times._replace(scheduled_s=now_s)
        if times.ready_s is None and pod.ready:
            times = times._replace(ready_s=now_s)
        self.arrivals[pod.uid] = times
        return True


# Protection of nodes from autoscalers while a run needs them.
#
# The Cluster Autoscaler and Karpenter remove nodes that are empty or hardly used; new nodes of a drain are empty until
# the pods are scheduled onto them. Sources: kubernetes/autoscaler cluster-autoscaler/FAQ.md ("How can I prevent Cluster
# Autoscaler from scaling down a particular node?"), karpenter.sh/docs/concepts/disruption (node-level controls).


JOINED_REASON = "it joined meanwhile, and evicted pods must be scheduled onto it"
EMPTY_REASON = (
    "it was empty when the run began: an autoscaler would remove it first, and evicted pods must be scheduled onto it"
)

_NEVER_REMOVED = (NodeOwner.FARGATE, NodeOwner.HYBRID)
"""A Fargate node exists as long as its pod; a hybrid node is a machine of the user."""


def protection_reason(node: Node, existed: bool, was_empty: bool) -> str:
    """Return why no autoscaler may remove this node, which is not a target; "" if one may. `existed`: it existed when
    the run started; `was_empty`: it was empty then."""
    if node.unschedulable or node.deletion_at is not None or foreign_drain(node) or node.owner in _NEVER_REMOVED:
        return ""
    if not existed:
        return JOINED_REASON
    return EMPTY_REASON if was_empty else ""


class _ProtectionStep(Enum):
    WANTED = "wanted"
    HELD = "held"
    RELEASING = "releasing"
    OVER = "over"


class _NodeProtection:
    """Mutable. `may_be_protected`: this run may have protected it; `pending`: a request is in flight."""

    __slots__ = ("attempts", "may_be_protected", "node", "not_before_s", "pending", "reason", "step", "uid")

    def __init__(self, node: str, uid: str, reason: str) -> None:
        self.node = node
        self.uid = uid
        self.reason = reason
        self.pending = self.may_be_protected = False
        self.set_step(_ProtectionStep.WANTED)

    @property
    def is_finished(self) -> bool:
        """Whether the node has no protection of this run, and will get none without a new request."""
        return self.step is _ProtectionStep.OVER or (
            self.step is _ProtectionStep.WANTED and not self.pending and not self.may_be_protected
        )

    def set_step(self, step: _ProtectionStep) -> None:
        self.step = step
        self.attempts, self.not_before_s = 0, 0.0

    def record_failure(self, now_s: float) -> bool:
        """Count a failed attempt; return whether there were too many."""
        self.attempts, self.not_before_s = self.attempts + 1, now_s + RETRY_S
        return self.attempts >= MAX_ATTEMPTS


class AutoscalerProtection:
    """Mutable. Protects the nodes it observes and releases them when the run is over; a refusal stops nothing."""

    def __init__(self, plan: DrainPlan, run_state: DrainRunState) -> None:
        self._run_state = run_state
        self._targets = {target.node.uid for target in plan.targets}
        self._targets |= {node.target.node.uid for node in run_state.nodes.values()}
        used_nodes = {pod.node for pod in run_state.observed.pods() if _occupies_node(pod)}
        self._was_empty = {
            node.uid: node.name not in used_nodes for node in run_state.observed.nodes.values()
        }  # by UID, of all nodes
        self._nodes: dict[str, _NodeProtection] = {}  # by UID
        self._is_forbidden = False
        self.protect_nodes(run_state.observed.nodes.values())

    @property
    def is_finished(self) -> bool:
        """Whether no node is protected by this run, as far as this run can change that."""
        return all(each.is_finished for each in self._nodes.values())

    def protect_nodes(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            if node.uid not in self._targets and node.uid not in self._nodes:
                reason = protection_reason(node, node.uid in self._was_empty, self._was_empty.get(node.uid, False))
                if reason:
                    self._nodes[node.uid] = _NodeProtection(node.name, node.uid, reason)

    def adopt(self, node: str, uid: str, confirmed: bool) -> None:
        """Record that the earlier process protected this node, or may have."""
        protection = self._nodes.setdefault(uid, _NodeProtection(node, uid, "it was when the run was left"))
        protection.may_be_protected = True
        if confirmed:
            protection.set_step(_ProtectionStep.HELD)

    def actions(self, now_s: float, run_ended: bool) -> Iterator[Protect | Release]:
        """Yield the due requests. `run_ended`: the run has ended except for the releases."""
        for protection in self._nodes.values():
            if (
                run_ended
                and protection.step in (_ProtectionStep.WANTED, _ProtectionStep.HELD)
                and not protection.pending
            ):
                protection.set_step(_ProtectionStep.RELEASING if protection.may_be_protected else _ProtectionStep.OVER)
            if protection.pending or now_s < protection.not_before_s:
                continue
            if protection.step is _ProtectionStep.WANTED and not self._is_forbidden:
                protection.pending = True
                yield Protect(protection.node, protection.uid)
            elif protection.step is _ProtectionStep.RELEASING:
                protection.pending = True
                yield Release(protection.node, protection.uid)

    def next_s(self) -> float:
        """When a request is repeated; infinity if none is."""
        steps = (
            (_ProtectionStep.RELEASING,) if self._is_forbidden else (_ProtectionStep.WANTED, _ProtectionStep.RELEASING)
        )
        waiting = (each for each in self._nodes.values() if each.step in steps and not each.pending)
        return min((each.not_before_s for each in waiting), default=inf)

    def handle_response(self, action: Protect | Release, response: ApiStatus | LostResponse, now_s: float) -> None:
        protection = self._nodes[action.uid]
        protection.pending = False
        if isinstance(action, Protect):
            result = attempt_result(response)
            protection.may_be_protected = (
                protection.may_be_protected or result is AttemptResult.DONE or is_uncertain(response)
            )
            if result is AttemptResult.DONE:
                protection.set_step(_ProtectionStep.HELD)
                self._run_state.record_event(now_s, DrainEventKind.PROTECTED, protection.node, reason=protection.reason)
            elif result is AttemptResult.GONE:
                protection.set_step(_ProtectionStep.OVER)
            elif result is AttemptResult.REFUSED or protection.record_failure(now_s):
                protection.set_step(_ProtectionStep.HELD if protection.may_be_protected else _ProtectionStep.OVER)
                self._warn_unprotected(protection, result, response.message, now_s)
        else:
            self._handle_release(protection, response, now_s)

    def _warn_unprotected(self, protection: _NodeProtection, result: AttemptResult, message: str, now_s: float) -> None:
        """Warn that a node is not protected; about missing permissions once for all nodes."""
        if result is not AttemptResult.FORBIDDEN:
            self._run_state.record_event(
                now_s,
                DrainEventKind.WARNED,
                protection.node,
                reason=f"an autoscaler may remove it meanwhile: {message}",
            )
        elif not self._is_forbidden:
            self._is_forbidden = True
            self._run_state.record_event(
                now_s, DrainEventKind.WARNED, reason=f"new nodes are not protected from autoscalers: {message}"
            )

    def _handle_release(self, protection: _NodeProtection, response: ApiStatus | LostResponse, now_s: float) -> None:
        result = attempt_result(response)
        if result is AttemptResult.DONE:
            self._run_state.record_event(now_s, DrainEventKind.UNPROTECTED, protection.node)
        if result in (AttemptResult.DONE, AttemptResult.GONE):
            protection.set_step(_ProtectionStep.OVER)
        elif result is AttemptResult.REFUSED or protection.record_failure(now_s):
            protection.set_step(_ProtectionStep.OVER)
            remedy = f"kubectl annotate node {protection.node} {' '.join(f'{key}-' for key in SCALE_DOWN_PROTECTIONS)}"
            reason = f"it stays protected from autoscalers: {response.message}; to end that: {remedy}"
            self._run_state.record_event(now_s, DrainEventKind.WARNED, protection.node, reason=reason)


def _occupies_node(pod: Pod) -> bool:
    """Whether the pod makes its node non-empty for an autoscaler; DaemonSet pods and static pods do not."""
    return not (pod.is_mirror or pod.finished or returns_as_daemon_set_pod(pod))
