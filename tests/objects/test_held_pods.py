"""Single pods of a dump that is gone through once more."""

from __future__ import annotations

import json

from kubectl_eksdoc.errors import SnapshotError
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Absent, NotHeld, Unknown
from kubectl_eksdoc.model.nodes import Container, LogOf
from kubectl_eksdoc.objects.held import HeldPods
from kubectl_eksdoc.objects.single import RawObjects

LOG = LogOf("shop", "b", "app")


def item(name: str, **spec: object) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "shop"}, "spec": spec}


def read(raw: RawObjects) -> None:
    raw.add_item(kinds.NODES, json.dumps(item("a")).encode())
    raw.add_other("Widget", "x/v1", json.dumps(item("b")).encode())
    raw.add_item(kinds.PODS, json.dumps(item("a")).encode())
    several = [item("b", containers=[{"name": "app"}]), item("c", containers=3)]
    raw.add_page(kinds.PODS, json.dumps({"items": several}).encode())


def test_those_that_are_asked_for() -> None:
    pods = HeldPods(read, "the snapshot")
    found = pods.containers(["shop/b", "shop/c", "shop/d"])
    assert found["shop/b"] == (Container("app"),) and found["shop/d"] == Absent("the snapshot has no pod shop/d")
    told = found["shop/c"]
    assert isinstance(told, Unknown) and "containers" in told.why
    assert pods.logs([LOG]) == {LOG: NotHeld("the snapshot holds no logs")}


def test_what_cannot_be_read_twice_is_unknown() -> None:
    def refuse(raw: RawObjects) -> None:
        raise SnapshotError("it is standard input")

    pods = HeldPods(refuse, "the snapshot")
    told = pods.containers(["shop/b"])["shop/b"]
    assert isinstance(told, Unknown) and told.why.endswith("it is standard input") and pods.containers([]) == {}
