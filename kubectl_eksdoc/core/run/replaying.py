"""A recorded run shown again: a place in its time that moves on, stands still, and is moved by whoever looks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from kubectl_eksdoc.core.run.moments import WENT_WRONG, Moment
from kubectl_eksdoc.core.run.recording import Recording

SPEEDS = (0.5, 1.0, 2.0, 5.0, 20.0, 100.0, 500.0)
"""So many seconds of the run pass in one of ours."""

LONGEST_S = 120.0
"""At the speed with which it begins it is over after that, if any speed is fast enough."""


class News(NamedTuple):
    """What is new since it was asked for last. `anew`: it went back, so that `moments` are all from the begin on, and
    what was told before does not count any more."""

    moments: Sequence[Moment]
    anew: bool


class Replay:
    """Mutable: `at_s` is the place, from 0 to the recording's length; `speed` is one of `SPEEDS`."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.at_s = 0.0
        self.paused = False
        self.speed = next(
            (speed for speed in SPEEDS if speed >= 1 and recording.length_s / speed <= LONGEST_S), SPEEDS[-1]
        )
        self._times = [moment.at_s for moment in recording.moments]
        self._wrong = [moment.at_s for moment in recording.moments if moment.what in WENT_WRONG]
        self._told = 0  # so many moments

    @property
    def at_end(self) -> bool:
        return self.at_s >= self.recording.length_s

    @property
    def moves(self) -> bool:
        return not (self.paused or self.at_end)

    def pass_by(self, seconds: float) -> None:
        """So many of ours went by."""
        if not self.paused:
            self.go_to(self.at_s + seconds * self.speed)

    def go_to(self, at_s: float) -> None:
        """No further than its begin and its end."""
        self.at_s = min(max(at_s, 0.0), self.recording.length_s)

    def play_or_pause(self) -> None:
        """From its end it is played from the begin."""
        if self.at_end:
            self.at_s, self.paused = 0.0, False
        else:
            self.paused = not self.paused

    def faster(self, steps: int) -> bool:
        """Whether there is such a speed; slower by steps below 0."""
        place = SPEEDS.index(self.speed) + steps
        if not 0 <= place < len(SPEEDS):
            return False
        self.speed = SPEEDS[place]
        return True

    def step(self, direction: int) -> bool:
        """To the next moment (1) or to the one before (-1), and stand still there; whether there is one."""
        return self._stand_at(self._times, direction)

    def to_wrong(self, direction: int) -> bool:
        """The same, of moments that went wrong."""
        return self._stand_at(self._wrong, direction)

    def take(self) -> News:
        until = bisect_right(self._times, self.at_s)
        since, self._told = self._told, until
        anew = until < since
        return News(self.recording.moments[0 if anew else since : until], anew)

    def _stand_at(self, times: Sequence[float], direction: int) -> bool:
        later = direction > 0
        found = [at_s for at_s in times if (at_s > self.at_s if later else at_s < self.at_s)]
        if not found:
            return False
        self.at_s, self.paused = (min(found) if later else max(found)), True
        return True
