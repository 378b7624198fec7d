"""The store compared with the simplest possible one: a full copy of everything at each version."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.simulator.store import (
    ObjectKey,
    ResourceVersionExpired,
    StaleItem,
    Store,
    StoreChange,
    StoreChangeKind,
)

RESOURCES = ("pods", "leases.coordination.k8s.io")
KEYS: list[ObjectKey] = [(namespace, name) for namespace in ("a", "a-b", "a0", "") for name in ("x", "x-y", "x.y", "z")]
"""Names that etcd sorts as text with the slash in it: ``a-b/x`` is before ``a/x``."""

DEEDS = st.lists(
    st.tuples(st.sampled_from(["put", "put", "put", "remove", "forget"]), st.sampled_from(RESOURCES),
              st.sampled_from(KEYS), st.integers(0, 2)),
    max_size=40,
)  # fmt: skip
Objects = dict[ObjectKey, dict[str, Any]]


class Plain:
    """The contents after each version, and every change, beside a store that gets the same calls."""

    def __init__(self, kept: int) -> None:
        self.store = Store(max_changes=kept)
        self.kept = kept
        self.after: list[dict[str, Objects]] = [{resource: {} for resource in RESOURCES}]
        self.changes: list[tuple[int, str, StoreChangeKind, ObjectKey]] = []
        self.oldest = dict.fromkeys(RESOURCES, 0)

    def do(self, what: str, resource: str, key: ObjectKey, value: int) -> None:
        if what == "forget":
            self.store.drop_changes()
            self.oldest = dict.fromkeys(RESOURCES, self.store.version)
        else:
            self._write(what, resource, key, value)

    def _write(self, what: str, resource: str, key: ObjectKey, value: int) -> None:
        there = self.store.get(resource, key)
        doc = {"metadata": {"name": key[1]}, "value": value}
        if what == "remove":
            if there is not None:
                self.store.remove(there)
                self._note(resource, StoreChangeKind.DELETED, key, None)
        elif there is None:
            made = self.store.add(resource, key, doc)
            self._note(resource, StoreChangeKind.ADDED, key, made.doc)
        elif there.doc["value"] != value:
            made = self.store.replace(there, doc)
            self._note(resource, StoreChangeKind.MODIFIED, key, made.doc)
        else:
            assert self.store.replace(there, there.doc) is there, "the same is not written again"

    def _note(self, resource: str, what: StoreChangeKind, key: ObjectKey, doc: dict[str, Any] | None) -> None:
        state = copy.deepcopy(self.after[-1])
        if doc is None:
            del state[resource][key]
        else:
            state[resource][key] = copy.deepcopy(doc)
        self.after.append(state)
        self.changes.append((len(self.after) - 1, resource, what, key))
        mine = [number for number, of, _, _ in self.changes if of == resource and number > self.oldest[resource]]
        if len(mine) > self.kept:
            self.oldest[resource] = mine[0]


@given(DEEDS, st.integers(1, 1000))
def test_lists_versions_and_changes_are_those_of_the_plainest_store(deeds: list[Any], kept: int) -> None:
    plain, heard = Plain(kept), list[StoreChange]()
    plain.store.listen(heard.append)
    for deed in deeds:
        plain.do(*deed)
    assert plain.store.version == len(plain.after) - 1 == len(heard), "each change has the next version"
    for change in heard:
        was, now = (plain.after[at][change.resource].get(change.key) for at in (change.version - 1, change.version))
        assert (change.before.doc if change.before else None) == was and now in (change.item.doc, None)
        assert change.item.doc["metadata"]["resourceVersion"] == str(change.version)
    for resource in RESOURCES:
        listed = {item.key: item.doc for item in plain.store.list(resource)}
        assert list(listed.items()) == sorted(plain.after[-1][resource].items(), key=lambda entry: "/".join(entry[0]))
        for namespace in ("a", "a-b", "a0"):
            keys = [item.key for item in plain.store.list(resource, namespace)]
            assert keys == [key for key in listed if key[0] == namespace]
        for version, state in enumerate(plain.after):
            if version < plain.oldest[resource]:
                for ask in (plain.store.items_as_of, plain.store.changes_since):
                    with pytest.raises(ResourceVersionExpired):
                        ask(resource, version)
                continue
            assert {key: each.doc for key, each in plain.store.items_as_of(resource, version).items()} == state[
                resource
            ]
            told = [
                (c.version, c.item.resource, c.change_kind, c.item.key)
                for c in plain.store.changes_since(resource, version)
            ]
            assert told == [change for change in plain.changes if change[0] > version and change[1] == resource]


@given(st.sampled_from(RESOURCES), st.sampled_from(KEYS))
def test_what_is_not_there_any_more_is_not_written_over(resource: str, key: ObjectKey) -> None:
    plain = Plain(1000)
    old = plain.store.add(resource, key, {"metadata": {"name": key[1]}, "value": 9})
    new = plain.store.replace(old, {"metadata": {"name": key[1]}, "value": 8})
    with pytest.raises(StaleItem):
        plain.store.replace(old, new.doc)
    with pytest.raises(StaleItem):
        plain.store.remove(old)
    with pytest.raises(StaleItem):
        plain.store.add(resource, key, old.doc)
    assert plain.store.get(resource, key) is new
