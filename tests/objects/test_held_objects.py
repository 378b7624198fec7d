"""Lists that are kept as they are, beside single objects: out of pages, items and what no fact is made of."""

from __future__ import annotations

import json

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import ObjectName
from kubectl_eksdoc.model.kinds import NotHeld, Unknown
from kubectl_eksdoc.objects.held import HeldObjects

WANTED = (ObjectName("apps/v1", "DaemonSet", "kube-system", "aws-node"),)


def item(name: str, namespace: str = "kube-system") -> bytes:
    return json.dumps({"metadata": {"name": name, "namespace": namespace}}).encode()


def test_lists_of_the_namespaces_that_are_asked_about_are_kept() -> None:
    held = HeldObjects(WANTED, "the snapshot", (kinds.CONTROLLER_REVISIONS, kinds.REPLICA_SETS))
    assert kinds.REPLICA_SETS in held.resources
    held.add_other("ControllerRevision", "apps/v1", item("a"))
    held.add_other("ControllerRevision", "apps/v1", item("b", "shop"))
    held.add_page(kinds.REPLICA_SETS, b'{"items": [' + item("c") + b"," + item("d") + b"]}")
    found = held.listed(kinds.CONTROLLER_REVISIONS, "kube-system")
    assert not isinstance(found, Unknown) and [doc["metadata"]["name"] for doc in found] == ["a"]
    sets = held.listed(kinds.REPLICA_SETS, "kube-system")
    assert not isinstance(sets, Unknown) and [doc["kind"] for doc in sets] == ["ReplicaSet", "ReplicaSet"]


def test_a_list_that_is_not_held_is_unknown() -> None:
    held = HeldObjects(WANTED, "the snapshot", (kinds.CONTROLLER_REVISIONS,))
    found = held.listed(kinds.CONTROLLER_REVISIONS, "kube-system")
    assert found == NotHeld("the snapshot holds no ControllerRevision of namespace kube-system")
