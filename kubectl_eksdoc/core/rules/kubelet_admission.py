"""Which pods a kubelet refuses that somebody bound to its node past the scheduler: there is no room for them.

Source: pkg/kubelet/lifecycle/predicate.go (InsufficientResourceError), pkg/kubelet/kubelet.go (rejectPod), v1.33;
pkg/scheduler/framework/plugins/noderesources/fit.go (the order of resources).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.model.placement import CPU, MEMORY, PODS
from kubectl_eksdoc.core.model.pods import Pod


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
