"""What a run asks for, as data: each is done by an edge, or written down only."""

from __future__ import annotations

from typing import NamedTuple

from .nodes import Pod


class Cordon(NamedTuple):
    """Make exactly this node unschedulable, and note on it which run did, and how it was before; a node that another
    run has changed is left as it is, unless that is the run `over`, which is over. `skipped`: its pods stay."""

    node: str
    uid: str
    over: str = ""
    skipped: bool = False


class Exclude(NamedTuple):
    """Have load balancers that send to nodes leave exactly this one out, and note on it that this run did."""

    node: str
    uid: str


class Restore(NamedTuple):
    """Make exactly this node what it was before this run cordoned or excluded it, byte for byte; a node that this run
    did not change is left as it is. Without `cordon` whether it is cordoned is left as it is: somebody else decided."""

    node: str
    uid: str
    cordon: bool = True


class Protect(NamedTuple):
    """Keep autoscalers from removing exactly this node, and note on it that this run did; what its user said of that
    stays as it is."""

    node: str
    uid: str


class Release(NamedTuple):
    """Take back what this run did to protect exactly this node, byte for byte; nothing else."""

    node: str
    uid: str


class Evict(NamedTuple):
    """Ask for the eviction of exactly this pod, by its UID; `grace_s` None: it has its own time to stop."""

    pod: Pod
    grace_s: int | None = None


class Restart(NamedTuple):
    """Have the rollout of exactly this workload begin anew: a new pod takes the place of `pod`. However often one run
    asks for it, it is done once."""

    namespace: str
    name: str
    uid: str
    kind: str
    pod: Pod


class Delete(NamedTuple):
    """Delete exactly this pod, by its UID, whatever its budget says; it has its own time to stop."""

    pod: Pod


class Look(NamedTuple):
    """Read this pod now: what is there under its name."""

    pod: Pod


class ListPods(NamedTuple):
    """Read all pods on this node now."""

    node: str


class ListAttachments(NamedTuple):
    """Read which volumes are attached to this node now."""

    node: str


OfNode = Cordon | Exclude | Restore | Protect | Release
"""What changes a node. Of two that differ in nothing but their kind Python says that they are equal."""

OfPod = Evict | Restart | Delete
"""What makes a pod go."""

Change = OfNode | OfPod
"""What changes something: it is written down before it is done."""

Act = Change | Look | ListPods | ListAttachments
"""What is asked of the cluster."""

RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"
"""The annotation of a pod template by which ``kubectl rollout restart`` makes it another one."""

BEFORE_WAVE = "before-wave"
AFTER_WAVE = "after-wave"


class Hook(NamedTuple):
    """Run the user's command for this moment (`BEFORE_WAVE`, `AFTER_WAVE`): whether the drain goes on hangs on it.

    `nodes`: those of the wave that are begun next, or that are over.
    """

    when: str
    wave: int
    nodes: tuple[str, ...]


Errand = Act | Hook
"""Whatever a run asks for, of the cluster or of this machine."""
