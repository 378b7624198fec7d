"""What comes after an evicted pod: when its controller replaces it, and whether on the node it left.

Sources: pkg/controller/controller_utils.go (IsPodActive), pkg/controller/statefulset, pkg/controller/job,
pkg/controller/daemon/util/daemonset_util.go, pkg/scheduler/framework/plugins/nodeunschedulable.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from kubectl_eksdoc.core.model.nodes import UNSCHEDULABLE_TAINT
from kubectl_eksdoc.core.model.pods import ENDED, Owner, Pod, Toleration
from kubectl_eksdoc.core.model.workloads import Workload


class Replacement(str, Enum):
    """When the next pod is created."""

    FIRST = "first"  # by a rollout that surges: it is Ready before the old one stops
    AT_ONCE = "at-once"  # at the eviction: old and new overlap, both need room
    AFTER_GONE = "after-gone"  # same name, so only when the old object is gone
    JOB = "job"  # a new pod starts over after the Job's back-off, if backoffLimit allows; the work is lost
    SAME_NODE = "same-node"  # a DaemonSet's: it ignores the cordon
    NEVER = "never"  # nobody creates it again
    UNKNOWN = "unknown"  # a controller we know nothing of


_BY_OWNER = {
    "ReplicaSet": ("apps", Replacement.AT_ONCE),
    "ReplicationController": ("", Replacement.AT_ONCE),
    "StatefulSet": ("apps", Replacement.AFTER_GONE),
    "Job": ("batch", Replacement.JOB),
    "DaemonSet": ("apps", Replacement.SAME_NODE),
}
"""By kind: of which group it is, and what it does."""
_LEAVES_FINISHED = (Replacement.AT_ONCE, Replacement.JOB)


def by_owner(owner: Owner | None) -> Replacement:
    """What this kind of controller does about an evicted pod."""
    if owner is None:
        return Replacement.NEVER
    known = _BY_OWNER.get(owner.kind)
    return known[1] if known is not None and known[0] == owner.group else Replacement.UNKNOWN


def replacement(pod: Pod) -> Replacement:
    """What happens after `pod` is evicted.

    A mirror pod's static pod goes on running. ReplicaSets and Jobs have dealt with a finished pod before
    it is evicted, while a StatefulSet needs its name back.
    """
    if pod.annotations and pod.mirror:
        return Replacement.NEVER
    after = by_owner(pod.owner)
    return Replacement.NEVER if pod.phase in ENDED and after in _LEAVES_FINISHED else after


def comes_back_to_its_node(pod: Pod) -> bool:
    """Whether it is a DaemonSet's, one that has ended included; asked of every pod there is, and of few it is true."""
    owner = pod.owner
    return owner is not None and owner.kind == "DaemonSet" and replacement(pod) is Replacement.SAME_NODE


def tolerates_cordon(tolerations: Sequence[Toleration]) -> Toleration | None:
    """The toleration by which the scheduler ignores that a node is unschedulable."""
    for toleration in tolerations:
        if toleration.tolerates(UNSCHEDULABLE_TAINT, "", "NoSchedule"):
            return toleration
    return None


def returns_to_node(pod: Pod, workload: Workload | None) -> str:
    """Why the pod's replacement can come back to the cordoned node, or "" when it cannot.

    `workload` is the pod's own controller (for a ReplicaSet's pod the ReplicaSet): its template decides.
    Without it the pod itself must do, which carries what admission added, too.
    """
    if replacement(pod) is Replacement.NEVER:
        return ""
    if replacement(pod) is Replacement.SAME_NODE:
        return "its DaemonSet tolerates the cordon"
    if workload is not None and workload.pinned_to and workload.pinned_to == pod.node:
        return f"its template sets spec.nodeName {workload.pinned_to}, so the scheduler is not asked"
    toleration = tolerates_cordon(pod.tolerations if workload is None else workload.template_tolerations)
    if toleration is None:
        return ""
    if not toleration.key:
        return "it tolerates every taint, the cordon included"
    return f"it tolerates {UNSCHEDULABLE_TAINT}"
