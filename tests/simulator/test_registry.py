"""Deletion rules for any object: graceful, held by finalizers, immediate; and dry runs that write nothing."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.kubernetes.api.resources import ApiRefusal
from kubectl_eksdoc.model.api_objects import Doc, with_value, without_path
from kubectl_eksdoc.simulator.controllers import VirtualTime
from kubectl_eksdoc.simulator.registry import DeleteOptions, Registry
from kubectl_eksdoc.simulator.store import NameGenerator, Store, StoredItem, rfc3339

START = datetime(2026, 11, 20, 8, 0, 0, 500_000, tzinfo=timezone.utc)
FINALIZERS = st.lists(st.sampled_from(["a/x", "b/y"]), unique=True)
GRACES = st.none() | st.integers(-2, 90)
PODS = st.fixed_dictionaries(
    {"node": st.sampled_from(["", "n1"]), "phase": st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
     "grace": st.sampled_from([None, 0, 1, 60]), "finalizers": FINALIZERS}
)  # fmt: skip


def registry() -> Registry:
    made = Registry(Store(), VirtualTime(START), NameGenerator(1))
    meta = {"name": "shop", "uid": "shop"}
    made.store.add("namespaces", ("", "shop"), {"kind": "Namespace", "apiVersion": "v1", "metadata": meta})
    return made


def a_pod(into: Registry, of: Doc) -> StoredItem:
    spec: Doc = {} if of["grace"] is None else {"terminationGracePeriodSeconds": of["grace"]}
    spec |= {"nodeName": of["node"]} if of["node"] else {}
    meta = {"name": "p", "finalizers": of["finalizers"]}
    doc = {"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": spec, "status": {"phase": of["phase"]}}
    return into.create("pods", doc, "shop")


def seconds_to_stop(of: Doc, asked: int | None) -> int:
    """The seconds by the API reference, not by the code."""
    if not of["node"] or of["phase"] in ("Succeeded", "Failed"):
        return 0
    own = 30 if of["grace"] is None else of["grace"]
    wanted = own if asked is None else asked
    return wanted if wanted >= 0 else 1


@given(PODS, GRACES)
def test_a_pod_goes_when_nobody_has_to_stop_or_release_it(of: Doc, asked: int | None) -> None:
    into = registry()
    made = a_pod(into, of)
    dry = into.delete(made, DeleteOptions(asked, dry_run=True))
    assert into.get("pods", made.key) is made
    deleted = into.delete(made, DeleteOptions(asked))
    number = ("metadata", "resourceVersion")
    assert (dry.is_gone, without_path(dry.item.doc, number)) == (
        deleted.is_gone,
        without_path(deleted.item.doc, number),
    )
    grace_s = seconds_to_stop(of, asked)
    assert deleted.is_gone is (grace_s == 0 and not of["finalizers"])
    assert (into.store.get("pods", made.key) is None) is deleted.is_gone
    meta = deleted.item.doc["metadata"]
    assert (meta["uid"], meta["deletionGracePeriodSeconds"], meta["generation"]) == (made.uid, grace_s, 2)
    assert meta["deletionTimestamp"] == rfc3339(START.replace(microsecond=0) + timedelta(seconds=grace_s))


@given(PODS, st.lists(GRACES, min_size=1, max_size=4))
def test_a_grace_period_only_gets_shorter(of: Doc, asked: list[int | None]) -> None:
    into = registry()
    made = a_pod(into, {**of, "node": "n1", "phase": "Running", "finalizers": ["a/x"]})
    shortest = None
    for each in asked:
        into.delete(into.get("pods", made.key), DeleteOptions(each))
        wanted = seconds_to_stop({**of, "node": "n1", "phase": "Running"}, each)
        shortest = wanted if shortest is None else min(shortest, wanted)
        meta = into.get("pods", made.key).doc["metadata"]
        assert (meta["deletionGracePeriodSeconds"], meta["generation"]) == (shortest, 2)


@given(PODS, st.permutations(["a/x", "b/y"]))
def test_what_is_being_deleted_goes_with_its_last_finalizer(of: Doc, order: list[str]) -> None:
    into = registry()
    made = a_pod(into, {**of, "finalizers": ["a/x", "b/y"]})
    into.delete(made, DeleteOptions(0))
    for released in order:
        there = into.get("pods", made.key)
        left = [each for each in there.doc["metadata"]["finalizers"] if each != released]
        into.update(there, with_value(there.doc, ("metadata", "finalizers"), left))
    assert into.store.get("pods", made.key) is None


@given(PODS, st.sampled_from([{"uid": "x"}, {"resource_version": "1"}]))
def test_a_precondition_that_does_not_hold_changes_nothing(of: Doc, condition: dict[str, Any]) -> None:
    into = registry()
    made = a_pod(into, of)
    with pytest.raises(ApiRefusal) as refused:
        into.delete(made, DeleteOptions(**condition))
    assert refused.value.status.code == 409
    assert into.get("pods", made.key) is made


@given(st.text(max_size=5), st.integers(0, 3))
def test_what_the_server_sets_nobody_else_does(said: str, replicas: int) -> None:
    into = registry()
    meta = {"name": "r", "uid": said, "resourceVersion": said, "generation": 7, "deletionTimestamp": said}
    doc = {"kind": "ReplicaSet", "apiVersion": "apps/v1", "metadata": meta, "spec": {"replicas": 1}}
    made = into.create("replicasets.apps", doc, "shop")
    assert made.doc["metadata"]["generation"] == 1
    assert made.doc["metadata"]["resourceVersion"] == str(into.store.version)
    assert made.uid not in ("", said)
    assert not made.deleting
    changed = into.update(made, with_value(made.doc, ("spec", "replicas"), replicas))
    assert changed.doc["metadata"]["generation"] == (1 if replicas == 1 else 2)
    assert (changed is made) is (replicas == 1)
