"""How reading the cluster goes: when it was read, whether it is watched, what went wrong, and when it is read next.

Frozen, with transitions that return the next state. All times are moments of one clock; one that goes backwards makes
nothing wait for longer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

from kubectl_eksdoc.render.text import age, counted

SOONEST_S, COSTS = 10.0, 50
"""After a change it is read anew at most so often: every `SOONEST_S`, and reading takes 1/`COSTS` of the time."""

WATCHED_S, WATCHED_COSTS = 120.0, 400
"""While it is watched and nothing has changed, for the sake of what is not watched."""

UNWATCHED_S, UNWATCHED_COSTS = 30.0, 100
"""Where it cannot be watched."""

_ADDRESS = re.compile(r"(?P<of>of )?https?://\S+( through the proxy \S+)? ")

_SLOW = timedelta(seconds=10)

FIRST_RETRY_S, LONGEST_RETRY_S = 4.0, 60.0


class WatchState(str, Enum):
    NONE = "none"  # it is not watched: not yet, or it may not be
    ON = "on"
    AWAY = "away"  # nobody answers


@dataclass(frozen=True, slots=True)
class ScreenReads:
    """`live`: what is read may change; a dump and the demo do not. `begun`: a read is under way since then, and
    `count` objects of `kind` are there. `done`: the last one that worked began then, and took `cost_s`. `changed`:
    since then something has changed that matters. `failures` in a row, the last one at `failed`; `why`, and what to do
    (`remedy`). `lost`: since then nobody answers whoever watches; `said`: why."""

    live: bool = False
    begun: datetime | None = None
    kind: str = ""
    count: int = 0
    done: datetime | None = None
    cost_s: float = 0.0
    changed: datetime | None = None
    failures: int = 0
    failed: datetime | None = None
    why: str = ""
    remedy: str = ""
    watch: WatchState = WatchState.NONE
    lost: datetime | None = None
    said: str = ""

    # What happens

    def begins(self, now: datetime) -> ScreenReads:
        return replace(self, begun=now, kind="", count=0)

    def progressed(self, kind: str, count: int) -> ScreenReads:
        return replace(self, kind=kind, count=count)

    def succeeded(self, now: datetime) -> ScreenReads:
        """What changed after it had begun may be missing from it. What the first one costs is mostly loading code."""
        begun = self.begun or now
        changed = self.changed if self.changed is not None and self.changed >= begun else None
        cost_s = 0.0 if self.done is None else max((now - begun).total_seconds(), 0.0)
        lost = self.lost if self.lost is not None and self.lost > begun else None
        mended = replace(self, failures=0, failed=None, why="", remedy="", lost=lost)
        return replace(mended, begun=None, done=begun, cost_s=cost_s, changed=changed)

    def went_wrong(self, now: datetime, why: str, remedy: str) -> ScreenReads:
        return replace(self, begun=None, failures=self.failures + 1, failed=now, why=why, remedy=remedy)

    def was_told(self, now: datetime) -> ScreenReads:
        """Whoever watches saw a change that matters."""
        return replace(self, changed=now)

    def watched(self) -> ScreenReads:
        return replace(self, watch=WatchState.ON, lost=None, said="")

    def unwatched(self, said: str = "") -> ScreenReads:
        """For good, or until it is tried anew."""
        return replace(self, watch=WatchState.NONE, lost=None, said=said)

    def lost_sight(self, now: datetime, said: str) -> ScreenReads:
        return replace(self, watch=WatchState.AWAY, lost=self.lost or now, said=said)

    # What follows from it

    @property
    def failing(self) -> bool:
        return self.failures > 0

    @property
    def next_due(self) -> datetime | None:
        """When it is read without being asked; None: never, or not while it is as it is."""
        if not self.live or self.begun is not None:
            return None
        if self.failed is not None:
            return self.failed + timedelta(seconds=min(FIRST_RETRY_S * 2 ** (self.failures - 1), LONGEST_RETRY_S))
        if self.done is None:
            return None
        if self.changed is not None:
            pause_s = max(SOONEST_S, COSTS * self.cost_s)
        elif self.watch is WatchState.ON:
            pause_s = max(WATCHED_S, WATCHED_COSTS * self.cost_s)
        else:
            pause_s = max(UNWATCHED_S, UNWATCHED_COSTS * self.cost_s)
        return self.done + timedelta(seconds=pause_s)

    def due(self, now: datetime) -> bool:
        at = self.next_due
        last = self.failed or self.done
        return at is not None and last is not None and not last <= now < at

    def stale_since(self) -> datetime | None:
        """Since when what is shown is known to be perhaps old; None while it is not."""
        since = [each for each in (self.lost, self.failed and self.done) if each is not None]
        return min(since) if since else None

    def retry_in(self, now: datetime) -> str:
        """``retry in 6s``, ``trying now``, "" where nobody tries by itself."""
        if self.begun is not None:
            return "trying now"
        at = self.next_due
        return "" if at is None else f"retry in {max(int((at - now).total_seconds()), 0)}s"

    def said_of(self, now: datetime) -> str:
        """``live, read 40s ago``, or ``! stale 48s, retry in 6s: cannot be reached: the connection is refused``."""
        since = self.stale_since()
        if since is None:
            slow = self.begun is not None and now - self.begun >= _SLOW
            reading = f", being read for {age(now - self.begun)}" if self.begun is not None and slow else ""
            return f"live, read {age(now - self.done) if self.done else '?'} ago{reading}"
        retry = self.retry_in(now) if self.failing else ""
        return f"! stale {', '.join(filter(None, (age(now - since), retry)))}: {brief(self.why or self.said)}"

    def tried(self, now: datetime) -> str:
        """``3 tries, retry in 8s``."""
        return ", ".join(filter(None, (counted(self.failures, "try", "tries"), self.retry_in(now))))


def brief(why: str, who: str = "") -> str:
    """`why` with `who` in the place of the server's address: the head of the screen says whose cluster it is."""
    return _ADDRESS.sub(lambda found: f"{found['of'] or ''}{who}" if who else "", why)
