"""Server-side applies against a real API server's answers: documents, entries, conflicts, word for word."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.kubernetes.ownership.applying import AppliedDocument, Conflicts
from kubectl_eksdoc.model.api_objects import at
from tests.kubernetes.api.replays import (
    answer,
    applied,
    as_stored,
    exchanges,
    latest,
    owners,
    steps_in_order,
)

# Index of the apply, and of the answer that shows what was live.
APPLIES = [(42, 40), (43, 42), (90, 88), (95, 94), (98, 97), (101, 99)]
CONFLICTS = [(41, 40), (87, 86), (89, 88), (100, 99), (103, 102)]
CREATES = [40, 79]


def test_the_table_above_holds_every_apply_that_was_recorded() -> None:
    """Index 104 is refused for its missing manager, before anything is merged."""
    recorded = {
        i for i, e in enumerate(exchanges()) if e["request"]["method"] == "PATCH" and "force=" in e["request"]["path"]
    }
    assert recorded == {i for i, _ in APPLIES + CONFLICTS} | set(CREATES) | {104}


@pytest.mark.parametrize(("index", "live"), APPLIES)
def test_an_apply_gives_the_recorded_document(index: int, live: int) -> None:
    expected = answer(index)
    # Between 99 and 101 the DaemonSet controller counted its pods once more.
    before = {**answer(live), "status": answer(101)["status"]} if index == 101 else answer(live)
    result = applied(before, index, latest(expected))
    assert isinstance(result, AppliedDocument)
    assert as_stored(result.doc, expected) == expected
    for ours, theirs in zip(owners(result.doc), owners(expected), strict=True):
        assert steps_in_order(ours["fieldsV1"]) == steps_in_order(theirs["fieldsV1"])


@pytest.mark.parametrize("index", CREATES)
def test_an_apply_that_creates(index: int) -> None:
    expected = answer(index)
    result = applied(None, index, latest(expected))
    assert isinstance(result, AppliedDocument)
    assert owners(result.doc) == owners(expected)
    assert _is_part_of(result.doc, expected), "the server adds defaults, and changes nothing"


@pytest.mark.parametrize(("index", "live"), CONFLICTS)
def test_a_conflict_is_worded_as_recorded(index: int, live: int) -> None:
    expected = answer(index)
    result = applied(answer(live), index, "2026-11-20T12:00:00Z")
    assert isinstance(result, Conflicts)
    ours = result.status()
    # The server lists the causes of several owners in any order: 87 and 89 are the same request.
    causes = sorted(at(expected, "details", "causes"), key=lambda cause: cause["message"])
    assert ours == {**expected, "details": {**expected["details"], "causes": causes}}


def test_applying_what_is_there_changes_nothing_not_even_a_time() -> None:
    live = answer(96)
    result = applied(live, 95, "2026-11-20T12:00:00Z")
    assert result == AppliedDocument(live)


def _is_part_of(part: object, whole: object) -> bool:
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and _is_part_of(value, whole[name]) for name, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) == len(whole) and all(map(_is_part_of, part, whole))
    return part == whole
