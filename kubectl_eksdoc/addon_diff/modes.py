"""How conflicts are resolved, and what may become of a field."""

from __future__ import annotations

from enum import Enum


class Mode(str, Enum):
    """UpdateAddon's ``resolveConflicts``; NONE where it is not given. Sources: UpdateAddonRequest, eksctl #5830.

    EKS applies the chart as field manager ``eks``: NONE without force, so that a conflict ends the update; OVERWRITE
    with force. PRESERVE leaves a conflicting field to whoever has it: how exactly, no document says (confidence low).
    """

    NONE = "NONE"
    OVERWRITE = "OVERWRITE"
    PRESERVE = "PRESERVE"


class Fate(str, Enum):
    """Of a field in one mode."""

    KEPT = "kept"  # it stays as it is live
    RESET = "reset"  # EKS writes its own value over somebody's
    REMOVED = "removed"  # EKS takes away what it has named so far
    FOLLOWS = "follows the version"  # nobody but EKS has it, and the version changes it
    CONFLICT = "conflict"  # the update fails, and names it
    UNKNOWN = "unknown"
