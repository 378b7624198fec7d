"""A node that a run changed and rolled back is as before, after any number of runs, nested in each other."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.kube import writes
from kubectl_eksdoc.kubernetes.api import patches
from kubectl_eksdoc.model.nodes import EXCLUDE_FROM_LOAD_BALANCERS, SCALE_DOWN_PROTECTIONS

Patch = Callable[[writes.Node, str], dict[str, Any]]

VALUES = st.one_of(st.text(max_size=20), st.just("true"))
KEYS = st.sampled_from(
    [writes.RUN_ANNOTATION, writes.PRIOR_ANNOTATION, "other", "eksdoc.io/else", *SCALE_DOWN_PROTECTIONS]
)
LABELS = st.sampled_from(["other", EXCLUDE_FROM_LOAD_BALANCERS])
NODES = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {"uid": st.just("u"), "resourceVersion": st.just("7")},
            optional={
                "annotations": st.dictionaries(KEYS, VALUES, min_size=1),
                "labels": st.dictionaries(LABELS, VALUES, min_size=1),
            },
        ),
        "spec": st.fixed_dictionaries({"providerID": st.just("aws:///x")}, optional={"unschedulable": st.just(True)}),
    }
)


def skipped(node: dict[str, Any], run: str) -> dict[str, Any]:
    return writes.cordon_patch(node, run, skipped=True)


DONE: list[Patch] = [writes.cordon_patch, skipped, writes.exclude_patch, writes.protect_patch]
DEEDS = st.lists(st.sampled_from(DONE), min_size=1, max_size=5)
UNDONE: list[list[Patch]] = [[writes.restore_patch, writes.release_patch], [writes.release_patch, writes.restore_patch]]


def patched(node: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """The document after a patch, as a server stores it: an empty map is dropped."""
    made = patches.apply_merge(node, patch)
    for kind in ("annotations", "labels"):
        if not made["metadata"].get(kind, True):
            del made["metadata"][kind]
    return made


@given(NODES, st.lists(st.tuples(DEEDS, st.sampled_from(UNDONE)), min_size=1, max_size=3))
def test_whatever_runs_do_to_it_is_taken_back(
    node: dict[str, Any], runs: list[tuple[list[Patch], list[Patch]]]
) -> None:
    states = [node]
    for number, (deeds, _) in enumerate(runs):
        now = states[-1]
        for deed in deeds:
            now = patched(now, deed(now, f"run-{number}"))
            assert deed(now, f"run-{number}") == {}, "once is enough"
            assert now == states[-1] or writes.run_on_node(now) == f"run-{number}"
        states.append(now)
    for number, (_, undone) in reversed(list(enumerate(runs))):
        now = states.pop()
        for deed in undone:
            now = patched(now, deed(now, f"run-{number}"))
            assert deed(now, f"run-{number}") == {}, "once is enough"
        assert now == states[-1]
    assert states == [node]


@given(NODES, st.permutations(DONE))
def test_to_restore_is_not_to_release_nor_the_other_way_round(node: dict[str, Any], deeds: list[Patch]) -> None:
    now = node
    for deed in deeds:
        now = patched(now, deed(now, "run"))
    restored, released = patched(now, writes.restore_patch(now, "run")), patched(now, writes.release_patch(now, "run"))
    assert all(key in restored["metadata"]["annotations"] for key in SCALE_DOWN_PROTECTIONS)
    assert writes.is_unschedulable(restored) is writes.is_unschedulable(node)
    assert writes.is_unschedulable(released) and EXCLUDE_FROM_LOAD_BALANCERS in released["metadata"]["labels"]
    before = node["metadata"].get("annotations", {})
    after = released["metadata"].get("annotations", {})
    assert {key: after.get(key) for key in SCALE_DOWN_PROTECTIONS} == {
        key: before.get(key) for key in SCALE_DOWN_PROTECTIONS
    }


@given(NODES, st.sampled_from(DONE), st.sampled_from([writes.restore_patch, writes.release_patch]))
def test_what_another_run_has_changed_is_not_taken_back(node: dict[str, Any], deed: Patch, undone: Patch) -> None:
    changed = patched(node, deed(node, "run-a"))
    assert undone(changed, "run-b") == {}


@pytest.mark.parametrize("deed", [writes.exclude_patch, writes.protect_patch])
def test_what_somebody_has_changed_since_is_theirs(deed: Patch) -> None:
    """So are fields that another client removed."""
    node: dict[str, Any] = {"metadata": {"uid": "u", "resourceVersion": "7", "labels": {"a": "b"}}, "spec": {}}
    changed = patched(node, deed(node, "run"))
    kind, keys = (
        ("labels", [EXCLUDE_FROM_LOAD_BALANCERS])
        if deed is writes.exclude_patch
        else ("annotations", SCALE_DOWN_PROTECTIONS)
    )
    theirs = patched(changed, {"metadata": {kind: {keys[0]: "false"}}})
    back = patched(patched(theirs, writes.restore_patch(theirs, "run")), writes.release_patch(theirs, "run"))
    assert back == patched(node, {"metadata": {kind: {keys[0]: "false"}}})
    gone = patched(changed, {"metadata": {kind: dict.fromkeys(keys)}})
    assert patched(patched(gone, writes.restore_patch(gone, "run")), writes.release_patch(gone, "run")) == node


def test_a_node_that_is_cordoned_and_not_drained_says_so() -> None:
    node: dict[str, Any] = {"metadata": {"uid": "u"}, "spec": {}}
    changed = patched(node, writes.cordon_patch(node, "run", "ops", skipped=True))
    noted = json.loads(changed["metadata"]["annotations"][writes.PRIOR_ANNOTATION])
    assert noted == {"journal": "ops", "skipped": True, "unschedulable": False}
    both = patched(changed, writes.protect_patch(changed, "run"))
    restored = patched(both, writes.restore_patch(both, "run"))
    assert writes.SKIPPED_KEY not in json.loads(restored["metadata"]["annotations"][writes.PRIOR_ANNOTATION])


@pytest.mark.parametrize("note", ['{"unschedulable":false,"labels":"x"}', '{"protected":[1]}', "{}", '{"labels":{}}'])
@pytest.mark.parametrize(
    "deed",
    [writes.cordon_patch, writes.exclude_patch, writes.protect_patch, writes.restore_patch, writes.release_patch],
)
def test_a_note_that_cannot_be_read_is_not_guessed_at(note: str, deed: Patch) -> None:
    node = {
        "metadata": {"uid": "u", "annotations": {writes.RUN_ANNOTATION: "run", writes.PRIOR_ANNOTATION: note}},
        "spec": {},
    }
    with pytest.raises(writes.UnreadablePriorState, match="does not say what was before"):
        deed(node, "run")
