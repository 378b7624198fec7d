"""How a controller's loop works: what it queues, when it looks, and how long a look keeps its worker."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone

from kubectl_eksdoc.kubernetes.api.statuses import ApiRefusal, ApiStatus
from kubectl_eksdoc.simulator.controllers import RETRY_S, Loop, VirtualTime
from kubectl_eksdoc.simulator.store import Key, Store, StoreChange

THINGS = "things"


class Looks:
    """A `Controller` that notes when it looked at what. `writes`: it changes what it looks at; `refused`: so many of
    its looks are."""

    resources = (THINGS,)

    def __init__(self, store: Store, agenda: VirtualTime, *, writes: int = 0, refused: int = 0) -> None:
        self._store = store
        self._agenda = agenda
        self._writes = writes
        self._refused = refused
        self.seen: list[tuple[float, str]] = []

    def touched(self, change: StoreChange) -> Iterable[Key]:
        return (change.item.key,)

    def reconcile(self, key: Key) -> float | None:
        self.seen.append((self._agenda.seconds, key[1]))
        if self._refused:
            self._refused -= 1
            raise ApiRefusal(ApiStatus(409, "Conflict", "another was faster"))
        if self._writes:
            self._writes -= 1
            item = self._store.get(THINGS, key)
            assert item is not None
            self._store.replace(item, {**item.doc, "left": self._writes})
        return None


def world() -> tuple[Store, VirtualTime]:
    return Store(), VirtualTime(datetime(2026, 11, 20, tzinfo=timezone.utc))


def add(store: Store, *names: str) -> None:
    for name in names:
        store.add(THINGS, ("", name), {"metadata": {"name": name}})


def test_one_look_after_many_changes() -> None:
    store, agenda = world()
    looks = Looks(store, agenda)
    Loop(looks, store, agenda, lag_s=2.0)
    add(store, "a")
    for number in range(3):
        item = store.get(THINGS, ("", "a"))
        assert item is not None
        store.replace(item, {**item.doc, "number": number})
    agenda.run_until(10)
    assert looks.seen == [(2.0, "a")]


def test_what_is_there_already_is_looked_at() -> None:
    store, agenda = world()
    add(store, "a", "b")
    looks = Looks(store, agenda)
    Loop(looks, store, agenda)
    agenda.run_until(0)
    assert looks.seen == [(0.0, "a"), (0.0, "b")]


def test_a_look_keeps_the_worker() -> None:
    store, agenda = world()
    looks = Looks(store, agenda)
    Loop(looks, store, agenda, pace_s=3.0)
    add(store, "a", "b", "c")
    agenda.run_until(10)
    assert looks.seen == [(0.0, "a"), (3.0, "b"), (6.0, "c")]


def test_the_worker_is_kept_by_a_look_that_writes_too() -> None:
    store, agenda = world()
    looks = Looks(store, agenda, writes=2)
    Loop(looks, store, agenda, pace_s=3.0)
    add(store, "a")
    agenda.run_until(10)
    assert looks.seen == [(0.0, "a"), (3.0, "a"), (6.0, "a")]


def test_what_was_refused_is_looked_at_again() -> None:
    store, agenda = world()
    looks = Looks(store, agenda, refused=2)
    Loop(looks, store, agenda)
    add(store, "a")
    agenda.run_until(10)
    assert looks.seen == [(0.0, "a"), (RETRY_S, "a"), (2 * RETRY_S, "a")]
