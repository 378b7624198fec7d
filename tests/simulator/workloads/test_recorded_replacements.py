"""Two recorded drains played again: what happened to the pods is told to our controllers, and they replace as many."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.simulator.registry import DeleteOptions
from kubectl_eksdoc.simulator.store import StoredItem
from kubectl_eksdoc.simulator.workloads.everything import every_controller
from tests.embedded.contract.test_drains import an_owner
from tests.recorded_drains import DRAINS, events
from tests.simulator.workloads.world import World, a_namespace, a_node


def owner_of(doc: Doc) -> Doc | None:
    return next(iter(doc["metadata"].get("ownerReferences", ())), None)


class Replay:
    """Pods of the recording by UID, and those of ours that stand for them."""

    def __init__(self, before: list[Doc]) -> None:
        managed = [pod for pod in before if (owner := owner_of(pod)) and owner["kind"] in ("ReplicaSet", "StatefulSet")]
        by_owner: dict[str, list[Doc]] = {}
        for pod in managed:
            by_owner.setdefault(pod["metadata"]["ownerReferences"][0]["uid"], []).append(pod)
        owners = [an_owner(own[0], len(own)) for own in by_owner.values()]
        nodes = [a_node(name) for name in sorted({pod["spec"]["nodeName"] for pod in managed})]
        nodes += [a_node(f"new-{i}") for i in range(9) if f"new-{i}" not in {n["metadata"]["name"] for n in nodes}]
        self.world = World(every_controller, [a_namespace("default"), *nodes, *owners, *managed])
        self.world.run(1)
        self.ours = {pod["metadata"]["uid"]: pod["metadata"]["uid"] for pod in managed}

    def tell(self, kind: str, pod: Doc) -> None:
        meta = pod["metadata"]
        if kind == "ADDED":
            self.ours[meta["uid"]] = self._new(meta)
        item = self.world.index.of_uid(self.ours.get(meta["uid"], ""))
        if item is None:
            return
        if kind == "DELETED":
            self.world.registry.delete(item, DeleteOptions(grace_s=0))
        elif "deletionTimestamp" in meta and not item.leaving:
            self.world.registry.delete(item)
        elif kind == "MODIFIED":
            self._write(item, pod)
        self.world.run()

    def _new(self, meta: Doc) -> str:
        """That of ours which the same owner made, and which stands for no other yet."""
        (owner,) = meta["ownerReferences"]
        new = [each for each in self.waiting() if each.doc["metadata"]["ownerReferences"][0]["uid"] == owner["uid"]]
        assert new, f"{owner['name']} has not replaced its pod as the real one has"
        if owner["kind"] == "StatefulSet":
            new = [each for each in new if each.key[1] == meta["name"]]
        return new[0].uid

    def _write(self, item: StoredItem, pod: Doc) -> None:
        if pod["spec"].get("nodeName") and not item.doc["spec"].get("nodeName"):
            item = self.world.place(item, pod["spec"]["nodeName"])
        item = self.world.registry.get("pods", item.key)
        self.world.registry.update(item, {**item.doc, "status": pod["status"]}, status=True)

    def waiting(self) -> list[StoredItem]:
        """Pods of ours that stand for none of the recording yet."""
        known = set(self.ours.values())
        return [pod for pod in self.world.pods() if pod.uid not in known]


@pytest.mark.parametrize("watch", sorted(DRAINS))
def test_pods_are_replaced_when_and_as_often_as_real_controllers_replaced_them(watch: str) -> None:
    told: list[Any] = [event for event in events(watch) if event["kind"] == "Pod"]
    before = [event["object"] for event in told if event["type"] == "ADDED" and event["t"] < 1]
    names = {pod["metadata"]["uid"] for pod in before}
    replay = Replay(before)
    assert replay.waiting() == [], "it begins at rest"
    later = [event for event in told if event["object"]["metadata"]["uid"] not in names or event["t"] >= 1]
    for event in later:
        owner = owner_of(event["object"])
        if owner is not None and owner["kind"] in ("ReplicaSet", "StatefulSet"):
            replay.tell(event["type"], event["object"])
    assert replay.waiting() == [], "and makes no more than they did"
    assert sum(event["type"] == "ADDED" for event in later) > 5
    for resource in ("replicasets.apps", "statefulsets.apps"):
        for item in replay.world.all(resource):
            assert item.doc["status"]["replicas"] == item.doc["spec"]["replicas"]
            assert item.doc["status"]["availableReplicas"] == item.doc["spec"]["replicas"]
