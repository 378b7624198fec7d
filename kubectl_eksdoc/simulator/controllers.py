"""Controller loops: each gets the changes, keeps a queue of keys, and reconciles one key after the other.

A key that is in the queue already is not added again, and a controller that is late sees only the latest state: that is
why real controllers skip intermediate states, and so do these.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta
from typing import Protocol

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.resources import ApiRefusal
from kubectl_eksdoc.model.api_objects import Doc

from .store import Key, Store, StoreChange, StoreChangeKind, StoredItem

# Virtual time: a queue of actions by virtual time, in a fixed order for actions at the same time.


Deed = Callable[[], object]


class VirtualTime:
    """Mutable. `now` is the virtual time; it only advances by `run_until` and `run_next`. `before_each` is called
    before each action, which stays in the queue if it raises."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self._seconds = 0.0
        self._queue: list[tuple[float, int, Deed]] = []
        self._number = 0
        self.before_each: Deed | None = None

    @property
    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._seconds)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return self._seconds

    @property
    def due_s(self) -> float | None:
        """When the next action is due, in seconds since the start; None if there is none."""
        return self._queue[0][0] if self._queue else None

    def after(self, seconds: float, deed: Deed) -> None:
        """Run `action` after these seconds, and after all actions that are scheduled for the same time already."""
        self._number += 1
        heapq.heappush(self._queue, (self._seconds + max(0.0, seconds), self._number, deed))

    def next(self) -> bool:
        """Run the next action, at its time; False if there is none."""
        if not self._queue:
            return False
        if self.before_each is not None:
            self.before_each()
        self._seconds, _, deed = heapq.heappop(self._queue)
        deed()
        return True

    def run_until(self, seconds: float) -> None:
        """Run all actions that are due up to then, and set the time to it."""
        while self._queue and self._queue[0][0] <= seconds:
            self.next()
        self._seconds = max(self._seconds, seconds)


RETRY_S = 0.5
"""A key whose writes were refused (another writer was faster, a webhook refused) is reconciled again after this."""


class Controller(Protocol):
    """One loop of the control plane. It changes objects only in `reconcile`, through the registry."""

    @property
    def resources(self) -> Collection[str]:
        """The resources whose changes it gets; more may be added."""

    def touched(self, change: StoreChange) -> Iterable[Key]:
        """The keys to reconcile after `change`. Must not write anything."""

    def reconcile(self, key: Key) -> float | None:
        """Take one step towards the desired state of the object with that key.

        Returns the seconds after which it must be reconciled again without a change; None: not.

        Raises:
            ApiRefusal: it is reconciled again soon.
        """


def in_time() -> float:
    """Always 0."""
    return 0.0


class Loop:
    """Runs one controller in virtual time. `lag_s`: from a change until it is handled; `sync_s`: duration of each
    reconcile, as a controller has one worker. `extra_delay_s` is called whenever it is woken: an additional delay.
    `initial_keys`: the keys to reconcile for an existing object; by default its `affected_keys`."""

    def __init__(
        self,
        controller: Controller,
        store: Store,
        agenda: VirtualTime,
        lag_s: float = 0.0,
        pace_s: float = 0.0,
        first: Callable[[StoredItem], Iterable[Key]] | None = None,
        late_s: Callable[[], float] = in_time,
    ) -> None:
        self._controller = controller
        self._agenda = agenda
        self._lag_s = lag_s
        self._pace_s = pace_s
        self._late_s = late_s
        self._queued: dict[Key, None] = {}
        self._free_s = 0.0  # when the worker is free
        self._woken = False
        self._stopped = False
        store.listen(self._notice)
        for resource in sorted(controller.resources):
            for item in store.list(resource):
                change = StoreChange(item.version, StoreChangeKind.ADDED, item, None)
                self._queue(first(item) if first is not None else controller.touched(change))

    def stop(self) -> None:
        """It crashes: its queue is lost, and it reconciles nothing more."""
        self._stopped = True
        self._queued.clear()

    def _notice(self, change: StoreChange) -> None:
        if not self._stopped and change.resource in self._controller.resources:
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
        for _ in range(len(self._queued)):  # keys from its own writes wait until other controllers have seen them, too
            key = next(iter(self._queued))
            del self._queued[key]
            self._free_s = self._agenda.seconds + self._pace_s
            try:
                again_s = self._controller.reconcile(key)
            except ApiRefusal:
                again_s = RETRY_S
            if again_s is not None:
                self._agenda.after(again_s, lambda key=key: self._queue((key,)))  # type: ignore[misc]
            if self._pace_s:
                break
        self._queue(())


# A limit for controllers that never come to rest: the number of creations and changes in an hour of virtual time.
#
# Validation rejects the objects that are known to cause this, for example a template that its own selector does not
# match; this limit is for unknown causes.


HOUR_S = 3600.0


@frozen
class ControllerLimits:
    """Limits for an hour: a constant, and (`_per_object`) an amount for each object that the cluster has at first."""

    created: int = 1_000
    created_each: int = 20
    changed: int = 50_000
    changed_each: int = 1_000


class WorkBudget:
    """Counts the changes of `store` in virtual time. Mutable."""

    def __init__(self, store: Store, agenda: VirtualTime, limits: ControllerLimits = ControllerLimits()) -> None:
        objects = sum(map(store.count, store.resources()))
        self._agenda = agenda
        self._until_s = 0.0
        self._tallies = (
            _Tally("created", limits.created + limits.created_each * objects),
            _Tally("changed", limits.changed + limits.changed_each * objects),
        )
        store.listen(self._notice)
        agenda.before_each = self._check

    def _notice(self, change: StoreChange) -> None:
        if self._agenda.seconds >= self._until_s:
            self._until_s = self._agenda.seconds + HOUR_S
            for tally in self._tallies:
                tally.begin()
        self._tallies[change.what is not StoreChangeKind.ADDED].add(change.item)

    def _check(self) -> None:
        """
        Raises:
            UsageError: a limit is exceeded.
        """
        for tally in self._tallies:
            if tally.left < 0:
                (cause, count), *_ = tally.causes.most_common(1)
                raise UsageError(
                    f"the simulated cluster does not come to rest: objects of {cause} were {tally.done} {count:,} "
                    "times in an hour of virtual time",
                    f"Rehearse without {cause}: leave it out of the dump, or correct its spec.",
                )


class _Tally:
    """How often objects of each cause were created or changed (`verb`) in this hour, and how many more may be.
    Mutable."""

    def __init__(self, done: str, most: int) -> None:
        self.done = done
        self._most = most
        self.begin()

    def begin(self) -> None:
        self.left = self._most
        self.causes: Counter[str] = Counter()

    def add(self, item: StoredItem) -> None:
        self.left -= 1
        self.causes[_cause(item)] += 1


def _cause(item: StoredItem) -> str:
    """The controller of an object, or the object itself."""
    namespace, name = item.key
    owners = item.owners
    owner: Doc = next((each for each in owners if each.get("controller")), {})
    kind = owner.get("kind") or item.doc.get("kind") or item.resource
    return f"{kind} {f'{namespace}/' if namespace else ''}{owner.get('name') or name}"
