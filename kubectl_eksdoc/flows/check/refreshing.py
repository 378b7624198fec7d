"""A refresh of EKS's insights, on request: asked for, and waited for, with an end. Nothing in the cluster changes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws.insights import Refresh

WAIT_S = 600.0
"""EKS takes some minutes; nobody waits for ever."""
PAUSE_S = 5.0

_COMPLETED, _FAILED = "COMPLETED", "FAILED"


class Refreshes(Protocol):
    """Those of one cluster."""

    def begin(self) -> Refresh:
        """
        Raises:
            AwsError: it is not allowed, or EKS does not take it.
        """
        ...

    def state(self) -> Refresh | Unknown:
        """Of the latest one.

        Raises:
            AwsError: nothing can be asked any more.
        """
        ...


def refreshed(
    of: Refreshes, now: Callable[[], datetime], sleep: Callable[[float], object], wait_s: float = WAIT_S
) -> str:
    """How it ended, a sentence: whatever comes of it, what EKS knows is judged.

    Raises:
        AwsError: as `Refreshes`.
    """
    begun = now()
    state: Refresh | Unknown = of.begin()
    while isinstance(state, Refresh) and state.status not in (_COMPLETED, _FAILED):
        if (now() - begun).total_seconds() >= wait_s:
            return f"EKS has not refreshed its insights within {wait_s / 60:g} minutes: what follows may be older."
        sleep(PAUSE_S)
        state = of.state()
    if isinstance(state, Unknown):
        return f"Whether EKS has refreshed its insights is unknown: {state.why}. What follows may be older."
    if state.status == _FAILED:
        said = f": {state.said}" if state.said else ""
        return f"EKS could not refresh its insights{said}. What follows is older."
    return "EKS has refreshed its insights."
