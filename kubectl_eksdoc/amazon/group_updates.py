"""EKS managed node group update: surge nodes, nodes at a time, and drain timeout; and the stages of EKS updates.

From the EKS user guide ("Understand each phase of node updates"): the surge, random nodes, 15 minutes for the pods
of a node, then PodEvictionFailure, which names no pod, and 60 seconds before an empty node is terminated.
"""

from __future__ import annotations

import math
from datetime import timedelta
from enum import Enum

from kubectl_eksdoc.model.addons import Addon, EksAddonUpdate
from kubectl_eksdoc.model.kinds import Absent, Unknown

PATIENCE = timedelta(minutes=15)
"""How long the update waits for the pods of one node to be evicted."""

PAUSE = timedelta(seconds=60)
"""How long it waits between the drain of a node and its termination."""

SURGE_PER_ZONE = 2

MOST_AT_ONCE = 100
"""Nodes that an update drains at the same time, at most, with any configuration."""


def unavailable(at_once: str, size: int) -> int | None:
    """How many of `size` nodes ``1`` or ``33 %`` are, rounded up; None where that is not known."""
    number, percent, _ = at_once.partition(" %")
    if not number.isdecimal():
        return None
    asked = math.ceil(size * int(number) / 100) if percent else int(number)
    return min(MOST_AT_ONCE, max(1, asked))


def surge(zones: int, at_once: int | None) -> int:
    """The most nodes that an update adds before it drains one: "up to twice the number of zones, or maxUnavailable if
    that is more"."""
    return max(SURGE_PER_ZONE * zones, at_once or 1)


class Stage(str, Enum):
    ASKED = "asked"  # EKS has accepted the request
    IN_PROGRESS = "in progress"
    SUCCESSFUL = "successful"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"  # it may be in progress, or have ended

    @property
    def ended(self) -> bool:
        """Whether EKS does nothing more."""
        return self in (Stage.SUCCESSFUL, Stage.FAILED, Stage.CANCELLED)


_WORDS = {
    "InProgress": Stage.IN_PROGRESS,
    "Successful": Stage.SUCCESSFUL,
    "Failed": Stage.FAILED,
    "Cancelled": Stage.CANCELLED,
}
"""UpdateStatus of EKS's API; any other word is unknown."""


_STATUSES = {
    "UPDATING": Stage.IN_PROGRESS,
    "UPDATE_FAILED": Stage.FAILED,
}
"""AddonStatus, for callers that may not describe updates."""


def stage_of(told: EksAddonUpdate | Unknown | Absent) -> Stage:
    return _WORDS.get(told.status, Stage.UNKNOWN) if isinstance(told, EksAddonUpdate) else Stage.UNKNOWN


def stage_by_addon(told: Addon | Unknown | Absent, target: str, was: str, seen: Stage) -> Stage:
    """The stage by the add-on itself: it is ACTIVE in the target version only after a successful update, or because it
    had the version before (`previous`); then `seen_stage` has to be in progress, or EKS may not have started."""
    if not isinstance(told, Addon):
        return Stage.UNKNOWN
    if told.status == "ACTIVE":
        begun = (was and was != target) or seen in (Stage.IN_PROGRESS, Stage.SUCCESSFUL)
        return Stage.SUCCESSFUL if told.version == target and begun else Stage.UNKNOWN
    return _STATUSES.get(told.status, Stage.UNKNOWN)


FIRST_PAUSE_S, LONGEST_PAUSE_S = 2.0, 15.0


def pause_s(elapsed_s: float) -> float:
    """Seconds until the next request: short at first, then longer, because EKS throttles frequent requests."""
    return min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, elapsed_s / 10))
