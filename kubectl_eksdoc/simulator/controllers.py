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

from .store import ObjectKey, Store, StoreChange, StoreChangeKind, StoredItem

# Virtual time: a queue of actions by virtual time, in a fixed order for actions at the same time.


Action = Callable[[], object]


class VirtualTime:
    """Mutable. `now` is the virtual time; it only advances by `run_until` and `run_next`. `before_each` is called
    before each action, which stays in the queue if it raises."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self._seconds = 0.0
        self._queue: list[tuple[float, int, Action]] = []
        self._sequence = 0
        self.before_each: Action | None = None

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

    def schedule(self, seconds: float, action: Action) -> None:
        """Run `action` after these seconds, and after all actions that are scheduled for the same time already."""
        self._sequence += 1
        heapq.heappush(self._queue, (self._seconds + max(0.0, seconds), self._sequence, action))

    def run_next(self) -> bool:
        """Run the next action, at its time; False if there is none."""
        if not self._queue:
            return False
        if self.before_each is not None:
            self.before_each()
        self._seconds, _, action = heapq.heappop(self._queue)
        action()
        return True

    def run_until(self, seconds: float) -> None:
        """Run all actions that are due up to then, and set the time to it."""
        while self._queue and self._queue[0][0] <= seconds:
            self.run_next()
        self._seconds = max(self._seconds, seconds)


RETRY_S = 0.5
"""A key whose writes were refused (another writer was faster, a webhook refused) is reconciled again after this."""


class Controller(Protocol):
    """One loop of the control plane. It changes objects only in `reconcile`, through the registry."""

    @property
    def resources(self) -> Collection[str]:
        """The resources whose changes it gets; more may be added."""

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        """The keys to reconcile after `change`. Must not write anything."""

    def reconcile(self, key: ObjectKey) -> float | None:
        """Take one step towards the desired state of the object with that key.

        Returns the seconds after which it must be reconciled again without a change; None: not.

        Raises:
            ApiRefusal: it is reconciled again soon.
        """


def no_delay() -> float:
    """Always 0."""
    return 0.0


class ControllerLoop:
    """Runs one controller in virtual time. `lag_s`: from a change until it is handled; `sync_s`: duration of each
    reconcile, as a controller has one worker. `extra_delay_s` is called whenever it is woken: an additional delay.
    `initial_keys`: the keys to reconcile for an existing object; by default its `affected_keys`."""

    def __init__(
        self,
        controller: Controller,
        store: Store,
        virtual_time: VirtualTime,
        lag_s: float = 0.0,
        sync_s: float = 0.0,
        initial_keys: Callable[[StoredItem], Iterable[ObjectKey]] | None = None,
        extra_delay_s: Callable[[], float] = no_delay,
    ) -> None:
        self._controller = controller
        self._virtual_time = virtual_time
        self._lag_s = lag_s
        self._sync_s = sync_s
        self._extra_delay_s = extra_delay_s
        self._queued: dict[ObjectKey, None] = {}
        self._free_s = 0.0  # when the worker is free
        self._is_scheduled = False
        self._is_stopped = False
        store.listen(self._on_change)
        for resource in sorted(controller.resources):
            for item in store.list(resource):
                change = StoreChange(item.version, StoreChangeKind.ADDED, item, None)
                self._enqueue(initial_keys(item) if initial_keys is not None else controller.affected_keys(change))

    def stop(self) -> None:
        """It crashes: its queue is lost, and it reconciles nothing more."""
        self._is_stopped = True
        self._queued.clear()

    def _on_change(self, change: StoreChange) -> None:
        if not self._is_stopped and change.resource in self._controller.resources:
            self._enqueue(self._controller.affected_keys(change))

    def _enqueue(self, keys: Iterable[ObjectKey]) -> None:
        if self._is_stopped:
            return
        for key in keys:
            self._queued.setdefault(key)
        if self._queued and not self._is_scheduled:
            self._is_scheduled = True
            lag_s = self._lag_s + self._extra_delay_s()
            self._virtual_time.schedule(max(lag_s, self._free_s - self._virtual_time.seconds), self._run_worker)

    def _run_worker(self) -> None:
        self._is_scheduled = False
        for _ in range(len(self._queued)):  # keys from its own writes wait until other controllers have seen them, too
            key = next(iter(self._queued))
            del self._queued[key]
            self._free_s = self._virtual_time.seconds + self._sync_s
            try:
                requeue_s = self._controller.reconcile(key)
            except ApiRefusal:
                requeue_s = RETRY_S
            if requeue_s is not None:
                self._virtual_time.schedule(requeue_s, lambda key=key: self._enqueue((key,)))  # type: ignore[misc]
            if self._sync_s:
                break
        self._enqueue(())


# A limit for controllers that never come to rest: the number of creations and changes in an hour of virtual time.
#
# Validation rejects the objects that are known to cause this, for example a template that its own selector does not
# match; this limit is for unknown causes.


HOUR_S = 3600.0


@frozen
class ControllerLimits:
    """Limits for an hour: a constant, and (`_per_object`) an amount for each object that the cluster has at first."""

    created: int = 1_000
    created_per_object: int = 20
    changed: int = 50_000
    changed_per_object: int = 1_000


class WorkBudget:
    """Counts the changes of `store` in virtual time. Mutable."""

    def __init__(self, store: Store, virtual_time: VirtualTime, limits: ControllerLimits = ControllerLimits()) -> None:
        objects = sum(map(store.count, store.resources()))
        self._virtual_time = virtual_time
        self._hour_end_s = 0.0
        self._tallies = (
            _Tally("created", limits.created + limits.created_per_object * objects),
            _Tally("changed", limits.changed + limits.changed_per_object * objects),
        )
        store.listen(self._on_change)
        virtual_time.before_each = self._check

    def _on_change(self, change: StoreChange) -> None:
        if self._virtual_time.seconds >= self._hour_end_s:
            self._hour_end_s = self._virtual_time.seconds + HOUR_S
            for tally in self._tallies:
                tally.reset()
        self._tallies[change.change_kind is not StoreChangeKind.ADDED].add(change.item)

    def _check(self) -> None:
        """
        Raises:
            UsageError: a limit is exceeded.
        """
        for tally in self._tallies:
            if tally.remaining < 0:
                (cause, count), *_ = tally.causes.most_common(1)
                raise UsageError(
                    f"the simulated cluster does not come to rest: objects of {cause} were {tally.verb} {count:,} "
                    "times in an hour of virtual time",
                    f"Rehearse without {cause}: leave it out of the dump, or correct its spec.",
                )


class _Tally:
    """How often objects of each cause were created or changed (`verb`) in this hour, and how many more may be.
    Mutable."""

    def __init__(self, verb: str, max_count: int) -> None:
        self.verb = verb
        self._max_count = max_count
        self.reset()

    def reset(self) -> None:
        self.remaining = self._max_count
        self.causes: Counter[str] = Counter()

    def add(self, item: StoredItem) -> None:
        self.remaining -= 1
        self.causes[_cause_text(item)] += 1


def _cause_text(item: StoredItem) -> str:
    """The controller of an object, or the object itself."""
    namespace, name = item.key
    owners = item.owners
    owner: Doc = next((each for each in owners if each.get("controller")), {})
    kind = owner.get("kind") or item.doc.get("kind") or item.resource
    return f"{kind} {f'{namespace}/' if namespace else ''}{owner.get('name') or name}"
