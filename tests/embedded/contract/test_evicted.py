"""The effects of an eviction: each version of pods and budgets that it wrote, as the real server wrote them."""

from __future__ import annotations

import pytest

from tests.embedded.contract.recorded import Doc, before, exchanges, history
from tests.embedded.contract.worlds import World, request_of

WRITES = {55: 2, 56: 2, 60: 2, 61: 0, 66: 3}
"""How many versions each eviction wrote: of the pod when it was marked and when it was deleted, before that of a budget
if it took a unit; of a pod that is being deleted already none."""


@pytest.mark.parametrize("index", WRITES, ids=lambda index: str(exchanges()[index]["name"]))
def test_every_version_is_the_recorded_one(index: int) -> None:
    world, version = World(index), before(index)
    world.api.handle(request_of(exchanges()[index]["request"]))
    store = world.plane.store
    changes = [*store.changes_since("pods", version), *store.changes_since("poddisruptionbudgets.policy", version)]
    ours = {change.version: _comparable(change.item.doc) for change in changes}
    theirs = {each.number: _comparable(each.doc) for each in history("small") if each.number in ours}
    assert len(ours) == WRITES[index]
    assert ours == theirs


def _comparable(doc: Doc) -> Doc:
    """The object; a budget without managedFields, because the embedded control plane does not record its own writes."""
    if doc["kind"] != "PodDisruptionBudget":
        return doc
    meta = {name: value for name, value in doc["metadata"].items() if name != "managedFields"}
    return {**doc, "metadata": meta}
