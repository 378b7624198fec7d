"""Whether a run may ask for more: held by a guard or by the user for now, or stopped by one of them for good."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.outcome import Eviction
from kubectl_eksdoc.core.rules.news import News
from kubectl_eksdoc.core.run.guards import Guards
from kubectl_eksdoc.core.run.moments import Happened
from kubectl_eksdoc.core.run.replacements import Arrival

Tell = Callable[[float, Happened, str], object]
"""Called with the time, what happened and why."""


class Brakes:
    """Mutable. `tell` hears when it begins and ceases to hold, and when it stops."""

    def __init__(self, guards: Guards, tell: Tell) -> None:
        self._guards = guards
        self._tell = tell
        self.held = self._paused = ""
        self.stopped = ""
        self.stopped_s = 0.0
        self.held_for_s = 0.0  # how long it held, the last time
        self._held_s = 0.0  # since when
        self._pauses_s = 0.0  # those that are over, in all
        self._paused_s: float | None = None  # since when it is, as far as it was looked

    @property
    def on(self) -> bool:
        return bool(self.held or self.stopped)

    def take(self, news: News, now_s: float) -> None:
        self._guards.take(news, now_s)

    def expect(self, evictions: Iterable[Eviction]) -> None:
        """These are evicted as well."""
        self._guards.expect(evictions)

    def awaits(self, pods: Iterable[Pod], now_s: float) -> None:
        """These replace pods that were evicted before."""
        self._guards.awaits(pods, now_s)

    def pause(self, why: str) -> None:
        """By the user, from the next look on; "" lets it go on."""
        self._paused = why

    @property
    def is_paused(self) -> bool:
        """Whether the user wants nothing to be asked for now, not even what may be while a guard holds it."""
        return bool(self._paused)

    def paused_s(self, now_s: float) -> float:
        """So long it was paused in all."""
        return self._pauses_s + (0.0 if self._paused_s is None else now_s - self._paused_s)

    def hold(self, why: str, now_s: float, since_s: float) -> None:
        """Until the next look, and told, whatever holds it already; `since_s`: it was so before anybody knew."""
        if not self.held:
            self._held_s = max(0.0, since_s)
        self.held = why
        self._tell(now_s, Happened.HELD, why)

    def stop(self, why: str, now_s: float) -> None:
        """For good; the first reason stands."""
        if not self.stopped:
            self.stopped, self.stopped_s = why, now_s
            self._tell(now_s, Happened.STOPPED, why)

    def look(self, now_s: float, drained: bool = False) -> bool:
        """Ask the guards; whether what was held may go on now. `drained`: there is nothing left to stop."""
        if why := "" if drained else self._guards.stop(now_s):
            self.stop(why, now_s)
        if self.is_paused is not (self._paused_s is not None):
            self._pauses_s = self.paused_s(now_s)
            self._paused_s = now_s if self.is_paused else None
        before, self.held = self.held, self._paused or self._guards.hold(now_s)
        if self.held and not before:
            self._held_s = now_s
            self._tell(now_s, Happened.HELD, self.held)
        if before and not self.held:
            self.held_for_s = now_s - self._held_s
            self._tell(now_s, Happened.RELEASED, "")
        return bool(before) and not self.held

    @property
    def pending(self) -> tuple[Pod, ...]:
        """The replacements that have no node now."""
        return self._guards.pending

    @property
    def unready(self) -> tuple[Pod, ...]:
        """Those that are not Ready now."""
        return self._guards.unready

    @property
    def arrivals(self) -> Collection[Arrival]:
        """When each replacement came, one by one."""
        return self._guards.replacements.arrivals.values()

    @property
    def replaced_on(self) -> Collection[str]:
        """The node of each replacement that had one, one by one."""
        return self._guards.replacements.nodes.values()

    def next_s(self, now_s: float) -> float:
        """When its word may change though nothing is told."""
        return min(self._guards.next_s(now_s), default=float("inf"))
