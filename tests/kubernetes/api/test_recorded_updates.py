"""Creates, updates and patches against a real API server's entries, their times included."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.kubernetes.api.types import schema_of
from kubectl_eksdoc.kubernetes.ownership.entries import settled, updated, without_entries
from kubectl_eksdoc.model.api_objects import Doc, at, with_value, without
from tests.kubernetes.api.replays import MAIN, answer, as_stored, config, exchanges, latest, owners, query

# Index of the patch, of the answer that shows what was live, and who patched (nobody said so: "unknown").
PATCHES = [
    (32, 10, ""),
    (35, 34, ""),
    (38, 35, ""),
    (54, 22, ""),
    (81, 80, "kubectl-set"),
    (83, 82, "kubectl-patch"),
    (85, 84, "kubectl-set"),
    (92, 91, "kubectl-set"),
    (93, 92, "kubectl-set"),
    (97, 96, "kubectl-set"),
]
CREATES = [30, 31, 44, 119, 120, 126, 127, 129, 130]


def _updated(live: Doc | None, new: Doc, manager: str, now: str) -> Doc:
    return updated(live, new, manager, now, schema_of(new["apiVersion"], new["kind"]), reset=MAIN)


def test_the_tables_above_hold_every_write_whose_answer_has_entries() -> None:
    """Written elsewhere: 33 and 34 below, 47 below, applies, and deletes, which touch no entries."""
    writes = {
        index
        for index, exchange in enumerate(exchanges())
        if exchange["request"]["method"] in ("POST", "PUT", "PATCH")
        and at(exchange["response"].get("body") or {}, "metadata", "managedFields")
        and "force" not in query(index)
    }
    assert writes == {*CREATES, *(index for index, _, _ in PATCHES), 33, 34, 47}


@pytest.mark.parametrize(("index", "live", "manager"), PATCHES)
def test_a_patch_moves_ownership_as_recorded(index: int, live: int, manager: str) -> None:
    expected = answer(index)
    assert query(index).get("fieldManager", "") == manager
    written = as_stored(without_entries(expected), answer(live))
    result = _updated(answer(live), written, manager, latest(expected))
    assert owners(result) == owners(expected)
    assert without_entries(result) == written


@pytest.mark.parametrize("index", CREATES)
def test_a_create_owns_what_it_says(index: int) -> None:
    expected = answer(index)
    assert _updated(None, without_entries(expected), "", latest(expected)) == expected


def test_an_update_may_send_the_entries_it_read() -> None:
    """47: a lease is read and put with another holder."""
    expected, sent = answer(47), config(47)
    assert at(sent, "metadata", "managedFields")
    assert owners(_updated(answer(46), sent, "", latest(expected))) == owners(expected)


def test_a_field_that_vanishes_leaves_every_set() -> None:
    """34: the node is uncordoned; in between the node controller had added its taint."""
    expected, cordoned = answer(34), answer(32)
    tainted = with_value(cordoned, ("spec", "taints"), at(expected, "spec", "taints"))
    live = _updated(cordoned, tainted, "x-kcm", latest(expected))
    assert owners(_updated(live, without_entries(expected), "", latest(expected))) == owners(expected)


def test_the_same_cordon_as_a_strategic_patch() -> None:
    """33: what was live is not recorded, but for the cordon it is the answer."""
    expected = answer(33)
    others = [entry for entry in owners(expected) if entry["manager"] != "unknown"]
    live = with_value(without(expected, ("spec", "unschedulable")), ("metadata", "managedFields"), others)
    assert _updated(live, without_entries(expected), "", latest(expected)) == expected


def test_an_update_that_changes_nothing_keeps_the_time() -> None:
    live = answer(97)
    assert _updated(live, live, "kubectl-set", "2026-11-20T12:00:00Z") == live


def test_an_update_back_and_forth_at_once_is_none() -> None:
    """What the server does last: it stores nothing where only a time differs."""
    live = answer(97)
    entries = [{**entry, "time": "2026-11-20T12:00:00Z"} for entry in owners(live)]
    touched = with_value(live, ("metadata", "managedFields"), entries)
    assert settled(live, touched) == live
    changed = with_value(touched, ("spec", "minReadySeconds"), 5)
    assert settled(live, changed) == changed
