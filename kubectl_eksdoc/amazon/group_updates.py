"""What EKS' own update of a managed node group does to nodes: how many it adds, and how long it waits for each.

From the EKS user guide ("Understand each phase of node updates"): the surge, random nodes, 15 minutes for the pods
of a node, then PodEvictionFailure, which names no pod, and 60 seconds before an empty node is ended.
"""

from __future__ import annotations

import math
from datetime import timedelta
from enum import Enum

from kubectl_eksdoc.model.addons import Addon, EksAddonUpdate
from kubectl_eksdoc.model.kinds import Absent, Unknown

PATIENCE = timedelta(minutes=15)
"""How long the update waits for the pods of one node to go."""

PAUSE = timedelta(seconds=60)
"""How long it waits after the drain of a node before the node ends."""

SURGE_PER_ZONE = 2

MOST_AT_ONCE = 100
"""Nodes that an update drains at the same time, whatever its configuration says."""


def unavailable(at_once: str, size: int) -> int | None:
    """How many of `size` nodes ``1`` or ``33 %`` are, rounded up; None where that is not told."""
    number, percent, _ = at_once.partition(" %")
    if not number.isdecimal():
        return None
    asked = math.ceil(size * int(number) / 100) if percent else int(number)
    return min(MOST_AT_ONCE, max(1, asked))


def surge(zones: int, at_once: int | None) -> int:
    """The most nodes that an update adds before it drains one: it says "up to twice the number of zones, or
    maxUnavailable if that is more"."""
    return max(SURGE_PER_ZONE * zones, at_once or 1)


class Stage(str, Enum):
    ASKED = "asked"  # EKS has taken the call
    IN_PROGRESS = "in progress"
    SUCCESSFUL = "successful"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"  # nothing tells: it goes on, or has ended

    @property
    def ended(self) -> bool:
        """EKS does nothing more."""
        return self in (Stage.SUCCESSFUL, Stage.FAILED, Stage.CANCELLED)


_WORDS = {
    "InProgress": Stage.IN_PROGRESS,
    "Successful": Stage.SUCCESSFUL,
    "Failed": Stage.FAILED,
    "Cancelled": Stage.CANCELLED,
}
"""UpdateStatus of EKS's API; a word that is not among them is unknown."""


_STATUSES = {
    "UPDATING": Stage.IN_PROGRESS,
    "UPDATE_FAILED": Stage.FAILED,
}
"""AddonStatus, for those who may not describe updates."""


def stage_of(told: EksAddonUpdate | Unknown | Absent) -> Stage:
    return _WORDS.get(told.status, Stage.UNKNOWN) if isinstance(told, EksAddonUpdate) else Stage.UNKNOWN


def stage_by_addon(told: Addon | Unknown | Absent, target: str, was: str, seen: Stage) -> Stage:
    """What the add-on itself tells: it is ACTIVE at the target's version only after an update to it that succeeded, or
    where it `was` at that version before; then it must have been `seen` in progress, else EKS may not have begun."""
    if not isinstance(told, Addon):
        return Stage.UNKNOWN
    if told.status == "ACTIVE":
        begun = (was and was != target) or seen in (Stage.IN_PROGRESS, Stage.SUCCESSFUL)
        return Stage.SUCCESSFUL if told.version == target and begun else Stage.UNKNOWN
    return _STATUSES.get(told.status, Stage.UNKNOWN)


FIRST_PAUSE_S, LONGEST_PAUSE_S = 2.0, 15.0


def pause_s(elapsed_s: float) -> float:
    """Until it is asked again: often at first, and then more and more seldom, as EKS throttles who asks too often."""
    return min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, elapsed_s / 10))
