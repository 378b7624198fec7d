"""The DisruptionTarget condition of a pod: who sets it, and when the controller takes it back.

Source: pkg/controller/disruption/disruption.go (nonTerminatingPodHasStaleDisruptionCondition,
syncStalePodDisruption), pkg/registry/core/pod/storage/eviction.go (addConditionAndDeletePod), Kubernetes v1.36.
It decides nothing about evictions: a budget counts its pods by readiness and `status.disruptedPods`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.placing import CPU, MEMORY, PODS
from kubectl_eksdoc.model.pods import Pod

STALE_AFTER = timedelta(minutes=2)
"""How long a pod may be marked as about to be disrupted without being deleted."""

BY_EVICTION = "EvictionByEvictionAPI"
BY_KUBELET = "TerminationByKubelet"
EVICTING = "Eviction API: evicting"


@dataclass(frozen=True, slots=True)
class DisruptionTarget:
    """The condition. `since` is its lastTransitionTime; without one it counts as set long ago."""

    status: str
    since: datetime | None = None
    reason: str = ""
    message: str = ""
    observed_generation: int = 0

    @property
    def holds(self) -> bool:
        return self.status == "True"


def stale_in(
    pod: Pod, held: DisruptionTarget | None, now: datetime, after: timedelta = STALE_AFTER
) -> timedelta | None:
    """How long until the controller takes `held` back: zero is now, None is never.

    Never: the pod is being deleted or finished, or the kubelet set it, which may take as long as it likes.
    """
    if held is None or not held.holds or held.reason == BY_KUBELET or pod.deleting or pod.finished:
        return None
    if held.since is None:
        return timedelta(0)
    return max(timedelta(0), after - (now - held.since))


def after_sync(
    pod: Pod,
    held: DisruptionTarget | None,
    now: datetime,
    *,
    generation: int = 0,
    after: timedelta = STALE_AFTER,
) -> DisruptionTarget | None:
    """The condition after the controller looked at `pod` (whose metadata.generation is `generation`)."""
    if stale_in(pod, held, now, after) == timedelta(0):
        return DisruptionTarget("False", now, observed_generation=generation)
    return held


# Which pods a kubelet refuses that somebody bound to its node past the scheduler: there is no room for them.
#
# Source: pkg/kubelet/lifecycle/predicate.go (InsufficientResourceError), pkg/kubelet/kubelet.go (rejectPod), v1.33;
# pkg/scheduler/framework/plugins/noderesources/fit.go (the order of resources).


@dataclass(frozen=True, slots=True)
class Rejected:
    """As the status of the pod has it, whose phase is Failed."""

    reason: str
    message: str


def rejected(pod: Pod, node: Node, there: Iterable[Pod]) -> Rejected | None:
    """`there`: the other pods of the node; those that have ended take nothing."""
    others = [other for other in there if not other.finished and other.key != pod.key]
    if len(others) + 1 > node.pods_allocatable:
        return _of(PODS, 1, len(others), node.pods_allocatable)
    wanted = pod.placement.requests
    used = [other.placement.requests for other in others]
    for name, asked, taken in (
        (CPU, wanted.cpu, sum(each.cpu for each in used)),
        (MEMORY, wanted.memory, sum(each.memory for each in used)),
    ):
        room = node.allocatable.get(name, 0)
        if asked and taken + asked > room:
            return _of(name, asked, taken, room)
    return None


def _of(resource: str, asked: int, used: int, room: int) -> Rejected:
    text = f"Node didn't have enough resource: {resource}, requested: {asked}, used: {used}, capacity: {room}"
    return Rejected(f"OutOf{resource}", f"Pod was rejected: {text}")
