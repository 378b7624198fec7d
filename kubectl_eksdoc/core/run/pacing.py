"""How fast evictions are asked for: never faster than the user allows, and slower while the server has too much to do.

Additive increase, multiplicative decrease, as TCP has it: an answer that says throttled, or an error of the server,
halves the rate; answers as they should be raise it again by a tenth of what it was, a second. Where the user sets no
limit there is none until the server complains; then twice what it was is tried, and twice that. The rate is kept by the
generic cell rate algorithm (ITU-T I.371): a token bucket of which only the time is known at which the next one is due.
"""

from __future__ import annotations

from collections import deque
from math import inf

from kubectl_eksdoc.core.plan.drain.policy import burst
from kubectl_eksdoc.core.run.answers import SOON_S, Next, Reading, Trouble

LOWEST = 0.1
"""Evictions a second: slower than this it does not become by answers."""

HIGHEST = 20
"""Evictions a second: who has no limit counts as no faster than this when the server complains. It is client-go's own
limit for the controllers that make the replacements (kube-controller-manager's 20 QPS)."""

ENOUGH = 100.0
"""Evictions a second: once it could be so fast again, there is no limit any more where the user sets none."""

ONCE_S = 1.0
"""What was asked for at once is refused at once: it halves the rate only once in so long."""

RISES = 0.1
"""Of what the rate was before the server complained, a second."""


class Pace:
    """Mutable. `limit`: evictions a second, 0 for none. Never more than `limit` × time + `burst(limit)` in any time."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._ceiling = limit or inf  # what it comes back to; without a limit, what it was when the server complained
        self._rate = self._ceiling
        self._due_s = 0.0  # when the next one is due, were there no bursts
        self._quiet_s = 0.0  # until when the server wants none
        self._slowed_s = -inf
        self._raised_s = 0.0
        self._latest: deque[float] = deque(maxlen=HIGHEST)  # when they were asked for

    @property
    def rate(self) -> float | None:
        """Evictions a second as of now; None: as many as there are."""
        return None if self._rate == inf else self._rate

    @property
    def next_s(self) -> float:
        """From when on another one may be asked for."""
        if self._rate == inf:
            return self._quiet_s
        return max(self._due_s - (burst(self._rate) - 1) / self._rate, self._quiet_s)

    def asked(self, now_s: float) -> None:
        """One is asked for now."""
        self._latest.append(now_s)
        if self._rate != inf:
            self._due_s = max(now_s, self._due_s) + 1 / self._rate

    def answered(self, reading: Reading, now_s: float) -> None:
        if reading.trouble is Trouble.THROTTLED or (reading.trouble is Trouble.SERVER and reading.after_s > SOON_S):
            self._quiet_s = max(self._quiet_s, now_s + reading.after_s)
        if reading.trouble in (Trouble.THROTTLED, Trouble.SERVER):
            self._slow_down(now_s)
        elif reading.next in (Next.LEAVES, Next.GONE) and self._rate < self._ceiling:
            self._speed_up(now_s)

    def _slow_down(self, now_s: float) -> None:
        self._raised_s = now_s
        if now_s - self._slowed_s < ONCE_S:
            return
        self._slowed_s = now_s
        if self._ceiling == inf:
            lately = sum(now_s - asked_s <= ONCE_S for asked_s in self._latest)
            self._ceiling = self._rate = float(max(1, lately))
            self._due_s = now_s
        self._rate = max(self._rate / 2, min(LOWEST, self._ceiling))

    def _speed_up(self, now_s: float) -> None:
        """By the time since it was raised last, at most a second: who asks for little knows little."""
        self._rate += RISES * self._ceiling * min(now_s - self._raised_s, 1.0)
        self._raised_s = now_s
        if self._rate < self._ceiling:
            return
        self._rate = self._ceiling
        if not self._limit:
            self._ceiling *= 2
            if self._ceiling > ENOUGH:
                self._ceiling = self._rate = inf
