"""The API server's clock, as far as its Date headers tell it: between which two times it stands now.

A Date header is cut to the second, and was written at some time between our question and its answer. So the earliest
and the latest time that fit are known, and both go on with our own monotonic clock.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from kubectl_eksdoc.kube.sent import Clock


class ServerTime:
    """Mutable: told of every answer. Several API servers may answer in turn; the last one counts."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told: tuple[datetime, float] | None = None  # both at once: several threads ask

    def told(self, date: datetime | None, asked_s: float) -> None:
        """`asked_s`: when it was asked, by the monotonic clock."""
        if date is not None:
            self._told = date, asked_s

    @property
    def date(self) -> datetime | None:
        """The last one that was told: the earliest that fits the moment of that answer."""
        return self._told[0] if self._told is not None else None

    def latest(self) -> datetime | None:
        """The latest that fits now; None where no server told its time."""
        if self._told is None:
            return None
        date, asked_s = self._told
        return date + timedelta(seconds=1 + self._clock.monotonic() - asked_s)
