"""How a pod leaves its node: evicted, replaced by a rollout, deleted, or only waited for."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from kubectl_eksdoc.core.model.workloads import Workload


class Means(str, Enum):
    EVICTION = "eviction"
    RESTART = "restart"  # its Deployment is restarted: the new pod is Ready before this one stops
    DELETION = "deletion"  # past its budget, because the user named it
    PATIENCE = "patience"  # it is waited for, and never asked to go


class Manner(NamedTuple):
    """`waits_s`: so long from the begin of its node on it may end by itself before it is asked to go. `restarts`: that
    is restarted; None otherwise."""

    means: Means = Means.EVICTION
    waits_s: float = 0.0
    restarts: Workload | None = None


EVICTED = Manner()
"""As most pods go."""
