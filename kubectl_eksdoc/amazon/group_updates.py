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

DRAIN_TIMEOUT = timedelta(minutes=15)
"""How long the update waits for the pods of one node to be evicted."""

TERMINATION_DELAY = timedelta(seconds=60)
"""How long it waits between the drain of a node and its termination."""

SURGE_PER_ZONE = 2

MAX_UNAVAILABLE_LIMIT = 100
"""Nodes that an update drains at the same time, at most, with any configuration."""


def max_unavailable(at_once: str, size: int) -> int | None:
    """How many of `size` nodes ``1`` or ``33 %`` are, rounded up; None where that is not known."""
    number, percent, _ = at_once.partition(" %")
    if not number.isdecimal():
        return None
    configured = math.ceil(size * int(number) / 100) if percent else int(number)
    return min(MAX_UNAVAILABLE_LIMIT, max(1, configured))


def max_surge(zones: int, at_once: int | None) -> int:
    """The most nodes that an update adds before it drains one: "up to twice the number of zones, or maxUnavailable if
    that is more"."""
    return max(SURGE_PER_ZONE * zones, at_once or 1)


class UpdateStage(str, Enum):
    ASKED = "asked"  # EKS has accepted the request
    IN_PROGRESS = "in progress"
    SUCCESSFUL = "successful"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"  # it may be in progress, or have ended

    @property
    def has_ended(self) -> bool:
        """Whether EKS does nothing more."""
        return self in (UpdateStage.SUCCESSFUL, UpdateStage.FAILED, UpdateStage.CANCELLED)


_STAGE_BY_UPDATE_STATUS = {
    "InProgress": UpdateStage.IN_PROGRESS,
    "Successful": UpdateStage.SUCCESSFUL,
    "Failed": UpdateStage.FAILED,
    "Cancelled": UpdateStage.CANCELLED,
}
"""UpdateStatus of EKS's API; any other word is unknown."""


_STAGE_BY_ADDON_STATUS = {
    "UPDATING": UpdateStage.IN_PROGRESS,
    "UPDATE_FAILED": UpdateStage.FAILED,
}
"""AddonStatus, for callers that may not describe updates."""


def stage_of_update(update: EksAddonUpdate | Unknown | Absent) -> UpdateStage:
    return (
        _STAGE_BY_UPDATE_STATUS.get(update.status, UpdateStage.UNKNOWN)
        if isinstance(update, EksAddonUpdate)
        else UpdateStage.UNKNOWN
    )


def stage_of_addon(addon: Addon | Unknown | Absent, target: str, previous: str, seen_stage: UpdateStage) -> UpdateStage:
    """The stage by the add-on itself: it is ACTIVE in the target version only after a successful update, or because it
    had the version before. If it had (`previous`), or that is not known, the update must have been seen in progress or
    successful (`seen_stage`), because EKS may not have started it."""
    if not isinstance(addon, Addon):
        return UpdateStage.UNKNOWN
    if addon.status == "ACTIVE":
        has_started = (previous and previous != target) or seen_stage in (
            UpdateStage.IN_PROGRESS,
            UpdateStage.SUCCESSFUL,
        )
        return UpdateStage.SUCCESSFUL if addon.version == target and has_started else UpdateStage.UNKNOWN
    return _STAGE_BY_ADDON_STATUS.get(addon.status, UpdateStage.UNKNOWN)


MIN_POLL_INTERVAL_S, MAX_POLL_INTERVAL_S = 2.0, 15.0


def poll_interval_s(elapsed_s: float) -> float:
    """Seconds until the next request: short at first, then longer, because EKS throttles frequent requests."""
    return min(MAX_POLL_INTERVAL_S, max(MIN_POLL_INTERVAL_S, elapsed_s / 10))
