"""How far EKS is with an update, by what it says of it; and how often it is asked."""

from __future__ import annotations

from enum import Enum

from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.aws.addons import Addon, EksAddonUpdate


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
