"""Actions of a drain run, as data: an edge carries them out, or they are only recorded."""

from __future__ import annotations

from typing import NamedTuple

from .nodes import Pod


class Cordon(NamedTuple):
    """Make exactly this node unschedulable, and record the run and the earlier state on the node. A node that another
    run has changed is not touched, unless that run is `ended_run`, which has ended. `skipped`: its pods stay."""

    node: str
    uid: str
    ended_run: str = ""
    skipped: bool = False


class Exclude(NamedTuple):
    """Exclude exactly this node from load balancers that send traffic to nodes, and record the run on the node."""

    node: str
    uid: str


class Restore(NamedTuple):
    """Restore exactly this node's state from before this run cordoned or excluded it, byte for byte; a node that this
    run did not change is not touched. Without `cordon`, spec.unschedulable is not changed: another client has decided
    it."""

    node: str
    uid: str
    cordon: bool = True


class Protect(NamedTuple):
    """Keep autoscalers from removing exactly this node, and record the run on the node; settings of its user are not
    changed."""

    node: str
    uid: str


class Release(NamedTuple):
    """Undo only the protection of exactly this node by this run, byte for byte."""

    node: str
    uid: str


class Evict(NamedTuple):
    """Request the eviction of exactly this pod, by its UID; `grace_s` None: the pod's own grace period."""

    pod: Pod
    grace_s: int | None = None


class Restart(NamedTuple):
    """Start a new rollout of exactly this workload: a new pod replaces `pod`. However often one run requests it, it is
    done once."""

    namespace: str
    name: str
    uid: str
    kind: str
    pod: Pod


class Delete(NamedTuple):
    """Delete exactly this pod, by its UID, regardless of its budget; it has its own grace period."""

    pod: Pod


class ReadPod(NamedTuple):
    """Read the current pod of that name."""

    pod: Pod


class ListPods(NamedTuple):
    """Read all pods on this node now."""

    node: str


class ListAttachments(NamedTuple):
    """Read which volumes are attached to this node now."""

    node: str


NodeChange = Cordon | Exclude | Restore | Protect | Release
"""A change of a node. Python treats two of them that differ only in their class as equal."""

PodChange = Evict | Restart | Delete
"""An action that removes a pod."""

ClusterChange = NodeChange | PodChange
"""An action that changes the cluster: it is recorded before it is done."""

ClusterAction = ClusterChange | ReadPod | ListPods | ListAttachments
"""A request to the cluster."""

RESTARTED_AT_ANNOTATION = "kubectl.kubernetes.io/restartedAt"
"""Annotation of a pod template with which ``kubectl rollout restart`` changes it."""

BEFORE_WAVE = "before-wave"
AFTER_WAVE = "after-wave"


class Hook(NamedTuple):
    """Run the user's command for this event (`BEFORE_WAVE`, `AFTER_WAVE`): its result decides whether the drain
    continues.

    `nodes`: the nodes of the wave that starts next, or that has ended.
    """

    when: str
    wave: int
    nodes: tuple[str, ...]


RunCommand = ClusterAction | Hook
"""A request of a run, to the cluster or to this machine."""
