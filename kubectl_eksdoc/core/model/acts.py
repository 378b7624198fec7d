"""What a run asks for, as data: each is done by an edge, or written down only."""

from __future__ import annotations

from typing import NamedTuple

from kubectl_eksdoc.core.model.pods import Pod


class Cordon(NamedTuple):
    """Make exactly this node unschedulable, and note on it how it was."""

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


Act = Cordon | Evict | Look | ListPods
