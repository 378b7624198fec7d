"""What a run asks for, as data: each is done by an edge, or written down only."""

from __future__ import annotations

from typing import NamedTuple

from kubectl_eksdoc.core.model.pods import Pod


class Cordon(NamedTuple):
    """Make exactly this node unschedulable, and note on it which run did, and how it was before."""

    node: str
    uid: str


class Restore(NamedTuple):
    """Make exactly this node what it was before this run cordoned it, byte for byte; a node that this run did not
    cordon is left as it is."""

    node: str
    uid: str


class Evict(NamedTuple):
    """Ask for the eviction of exactly this pod, by its UID; `grace_s` None: it has its own time to stop."""

    pod: Pod
    grace_s: int | None = None


class Look(NamedTuple):
    """Read this pod now: what is there under its name."""

    pod: Pod


class ListPods(NamedTuple):
    """Read all pods on this node now."""

    node: str


Act = Cordon | Restore | Evict | Look | ListPods
"""What is asked of the cluster."""

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
