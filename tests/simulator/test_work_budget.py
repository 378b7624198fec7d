"""Controllers that never come to an end are stopped, and the one to blame is named."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.simulator.controllers import ControllerLimits, WorkBudget
from kubectl_eksdoc.simulator.plane import ControlPlane
from kubectl_eksdoc.simulator.store import Key, StoreChange
from tests.simulator.planes import a_plane, a_pod_doc, doc_of

OWNER = {"kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}


class Restless:
    """A `Controller` that makes a pod each time it looks, or (`changes`) changes the one that there is."""

    resources = ("pods",)

    def __init__(self, every_s: float, changes: bool = False) -> None:
        self.plane: ControlPlane | None = None
        self._every_s, self._changes = every_s, changes
        self._made = 0

    def touched(self, change: StoreChange) -> Iterable[Key]:
        return () if self._made else (change.item.key,)

    def reconcile(self, key: Key) -> float | None:
        assert self.plane is not None
        self._made += 1
        store, item = self.plane.store, self.plane.store.get("pods", key)
        assert item is not None
        if self._changes:
            store.replace(item, {**item.doc, "status": {"message": str(self._made)}})
        else:
            doc = a_pod_doc(f"web-{self._made}")
            doc["metadata"]["ownerReferences"] = [OWNER]
            store.add("pods", ("default", f"web-{self._made}"), doc)
        return self._every_s


def restless(every_s: float, changes: bool = False) -> ControlPlane:
    controller = Restless(every_s, changes)
    plane = a_plane([a_pod_doc("first")], workloads=[controller])
    controller.plane = plane
    WorkBudget(plane.store, plane.agenda, ControllerLimits(created=20, created_each=5, changed=50, changed_each=10))
    return plane


def test_one_that_makes_objects_without_an_end_is_stopped() -> None:
    plane = restless(0.1)
    with pytest.raises(UsageError) as caught:
        plane.rest(3600)
    said = "the simulated cluster does not come to rest: objects of ReplicaSet default/web were created"
    assert caught.value.message.startswith(said) and "Rehearse without ReplicaSet default/web" in caught.value.hint
    assert plane.store.count("pods") < 100


def test_so_is_one_that_changes_them() -> None:
    with pytest.raises(UsageError, match="objects of Pod default/first were changed"):
        restless(0.1, changes=True).rest(3600)


def test_what_takes_its_time_may_go_on_for_ever() -> None:
    """The budget is one of an hour."""
    plane = restless(200.0)
    plane.rest(10_000)
    assert doc_of(plane, "pods", "web-45")
