"""When a pod that was asked to go counts as gone, as kubectl drain waits for it.

Source: staging/src/k8s.io/kubectl/pkg/drain/drain.go (waitForDelete), Kubernetes v1.36.
"""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.drain_filters import Asked, FilterOptions, deleted_too_long


class Left(str, Enum):
    """GONE: no pod of that name, or another one. GIVEN_UP: past its deadline for too long to wait."""

    GONE = "gone"
    GIVEN_UP = "given-up"
    STILL_THERE = "still-there"


def has_left(evicted: Pod, seen: Pod | None, now: datetime, skip_deleting_after: int = 0) -> Left:
    """Judge by what is `seen` under the name of the pod that was `evicted`, None being nothing.

    `skip_deleting_after` is --skip-wait-for-delete-timeout in seconds; 0 waits for ever.
    """
    if seen is None or seen.uid != evicted.uid:
        return Left.GONE
    if deleted_too_long(seen, Asked(FilterOptions(skip_deleting_after=skip_deleting_after), now)):
        return Left.GIVEN_UP
    return Left.STILL_THERE
