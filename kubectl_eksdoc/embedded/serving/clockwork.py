"""How the cluster's virtual time passes while somebody uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kubectl_eksdoc.core.sim.cluster.agenda import Agenda


class Clockwork(Protocol):
    """Brings the agenda up to date before every look at the cluster."""

    def advance(self, agenda: Agenda) -> None: ...

    def real_s(self, virtual_s: float) -> float:
        """How long a piece of virtual time takes on the wall."""


class Scaled:
    """The wall's clock, so many times as fast. `monotonic` gives seconds that never go back."""

    def __init__(self, monotonic: Callable[[], float], speed: float = 1.0) -> None:
        self._monotonic = monotonic
        self._speed = speed
        self._begun: tuple[float, float] | None = None

    def advance(self, agenda: Agenda) -> None:
        now = self._monotonic()
        if self._begun is None:
            self._begun = now, agenda.seconds
        since, seconds = self._begun
        agenda.run_until(seconds + (now - since) * self._speed)

    def real_s(self, virtual_s: float) -> float:
        return virtual_s / self._speed


class ByHand:
    """Only what somebody else lets happen: for tests, and for runs that take no time."""

    def advance(self, agenda: Agenda) -> None:
        """Nothing is due but what is due now."""
        agenda.run_until(agenda.seconds)

    def real_s(self, virtual_s: float) -> float:
        return virtual_s
