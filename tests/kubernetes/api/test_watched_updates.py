"""Updates from a watch of a real API server: nodes, pods and budgets while kubectl drained.

An event does not name the writer. It must be one of the owners after the write, and our rule must give that writer
exactly the entries of the event. Writes that left the entries unchanged are the server's own (evictions and deletions
set fields in storage) and are not tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from kubectl_eksdoc.kubernetes.api.types import schema_of
from kubectl_eksdoc.kubernetes.managed_fields import with_update, without_entries
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from tests import raw_facts
from tests.kubernetes.api.replays import MAIN, STATUS, owners


def changes(recording: str) -> Iterator[tuple[Doc, Doc]]:
    """Each object before and after a write that changed its entries."""
    last: dict[tuple[str, str], Doc] = {}
    for event in raw_facts.lines(f"recordings/{recording}.jsonl.gz"):
        after = event["object"]
        if not nested_field(after, "metadata", "managedFields"):
            continue
        key = (after["kind"], after["metadata"]["uid"])
        before, last[key] = last.get(key), after
        if before is not None and owners(before) != owners(after):
            yield before, after


def explained(before: Doc, after: Doc) -> str:
    """The operation and the writer for which our rule gives these entries; "" where there is none."""
    schema = schema_of(after["apiVersion"], after["kind"])
    for entry in owners(after):
        part = entry.get("subresource", "")
        reset = STATUS if part else MAIN
        ours = with_update(before, without_entries(after), entry["manager"], entry["time"], schema, part, reset)
        if owners(ours) == owners(after):
            return f"{after['kind']} {part or 'itself'} by {entry['manager']}"
    return ""


NODES = {"Node itself by Python-urllib": 2, "Node itself by kubectl": 1, "Node itself by x-kcm": 1}


@pytest.mark.parametrize(
    ("recording", "writers"),
    [
        (
            "drain-watch",
            {
                **NODES,
                "Pod status by Python": 7,
                "PodDisruptionBudget status by x-apiserver": 10,
                "PodDisruptionBudget status by x-kcm": 14,
            },
        ),
        (
            "drain-refused-watch",
            {
                **NODES,
                "Pod status by Python": 11,
                "PodDisruptionBudget status by x-apiserver": 21,
                "PodDisruptionBudget status by x-kcm": 21,
            },
        ),
    ],
)
def test_every_change_of_ownership_is_explained(recording: str, writers: dict[str, int]) -> None:
    assert Counter(explained(before, after) for before, after in changes(recording)) == writers
