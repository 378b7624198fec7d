"""How controllers run: each is told of changes, keeps a queue of keys to look at, and looks at one after the other.

A key that is in the queue already is not added again, and a controller that is late sees only the latest state: that
is why real controllers leave out what lies between, and so do these.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Protocol

from kubectl_eksdoc.core.rules.api.statuses import Refusal
from kubectl_eksdoc.core.sim.cluster.agenda import Agenda
from kubectl_eksdoc.core.sim.cluster.store import Change, Item, Key, Store, What

RETRY_S = 0.5
"""A key whose writes were refused (another writer was faster, a webhook said no) is looked at again after this."""


class Controller(Protocol):
    """One loop of the control plane. It changes objects in `reconcile` alone, through the registry."""

    @property
    def resources(self) -> Collection[str]:
        """Those whose changes it is told of; they may become more."""

    def touched(self, change: Change) -> Iterable[Key]:
        """The keys (of whatever it looks after) that must be looked at after `change`. Nothing is written here."""

    def reconcile(self, key: Key) -> float | None:
        """Bring the world one step nearer to what the object of that key wants.

        Returns seconds after which it must be looked at again though nothing changed; None: not.

        Raises:
            Refusal: it is looked at again soon.
        """


def in_time() -> float:
    """Never later."""
    return 0.0


class Loop:
    """Runs one controller on the agenda. `lag_s`: from a change until it is looked at; `pace_s`: each look takes that
    long, for a controller has one worker. `late_s` is asked whenever it is woken: so much later still it looks. `first`
    gives the keys to look at for an object that is there already: those that it touches, if nothing else is said."""

    def __init__(
        self,
        controller: Controller,
        store: Store,
        agenda: Agenda,
        lag_s: float = 0.0,
        pace_s: float = 0.0,
        first: Callable[[Item], Iterable[Key]] | None = None,
        late_s: Callable[[], float] = in_time,
    ) -> None:
        self._controller = controller
        self._agenda = agenda
        self._lag_s = lag_s
        self._pace_s = pace_s
        self._late_s = late_s
        self._queued: dict[Key, None] = {}
        self._free_s = 0.0  # when the worker is free again
        self._woken = False
        self._stopped = False
        store.listen(self._notice)
        for resource in sorted(controller.resources):
            for item in store.list(resource):
                change = Change(item.version, What.ADDED, item, None)
                self._queue(first(item) if first is not None else controller.touched(change))

    def stop(self) -> None:
        """It crashes: what it has queued is lost, and it looks at nothing more."""
        self._stopped = True
        self._queued.clear()

    def _notice(self, change: Change) -> None:
        if not self._stopped and change.item.resource in self._controller.resources:
            self._queue(self._controller.touched(change))

    def _queue(self, keys: Iterable[Key]) -> None:
        if self._stopped:
            return
        for key in keys:
            self._queued.setdefault(key)
        if self._queued and not self._woken:
            self._woken = True
            lag_s = self._lag_s + self._late_s()
            self._agenda.after(max(lag_s, self._free_s - self._agenda.seconds), self._work)

    def _work(self) -> None:
        self._woken = False
        for _ in range(len(self._queued)):  # what its own writes queue waits until others have seen them, too
            key = next(iter(self._queued))
            del self._queued[key]
            self._free_s = self._agenda.seconds + self._pace_s
            try:
                again_s = self._controller.reconcile(key)
            except Refusal:
                again_s = RETRY_S
            if again_s is not None:
                self._agenda.after(again_s, lambda key=key: self._queue((key,)))  # type: ignore[misc]
            if self._pace_s:
                break
        self._queue(())
