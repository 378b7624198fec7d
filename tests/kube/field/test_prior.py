"""Any node that a run changes and takes back is what it was, through any number of runs, one inside the other."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.kube import writes
from kubectl_eksdoc.kubernetes.api import patches
from kubectl_eksdoc.model.nodes import EXCLUDED_FROM_BALANCERS, PROTECTIONS

Patch = Callable[[writes.Node, str], dict[str, Any]]

VALUES = st.one_of(st.text(max_size=20), st.just("true"))
KEYS = st.sampled_from([writes.RUN, writes.PRIOR, "other", "eksdoc.io/else", *PROTECTIONS])
LABELS = st.sampled_from(["other", EXCLUDED_FROM_BALANCERS])
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
    return writes.cordoned(node, run, skipped=True)


DONE: list[Patch] = [writes.cordoned, skipped, writes.excluded, writes.protected]
DEEDS = st.lists(st.sampled_from(DONE), min_size=1, max_size=5)
UNDONE: list[list[Patch]] = [[writes.restored, writes.released], [writes.released, writes.restored]]


def patched(node: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """As a server keeps it: a map without anything in it is not kept."""
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
            assert now == states[-1] or writes.run_of(now) == f"run-{number}"
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
    restored, released = patched(now, writes.restored(now, "run")), patched(now, writes.released(now, "run"))
    assert all(key in restored["metadata"]["annotations"] for key in PROTECTIONS)
    assert writes.unschedulable(restored) is writes.unschedulable(node)
    assert writes.unschedulable(released) and EXCLUDED_FROM_BALANCERS in released["metadata"]["labels"]
    before = node["metadata"].get("annotations", {})
    after = released["metadata"].get("annotations", {})
    assert {key: after.get(key) for key in PROTECTIONS} == {key: before.get(key) for key in PROTECTIONS}


@given(NODES, st.sampled_from(DONE), st.sampled_from([writes.restored, writes.released]))
def test_what_another_run_has_changed_is_not_taken_back(node: dict[str, Any], deed: Patch, undone: Patch) -> None:
    changed = patched(node, deed(node, "run-a"))
    assert undone(changed, "run-b") == {}


@pytest.mark.parametrize("deed", [writes.excluded, writes.protected])
def test_what_somebody_has_changed_since_is_theirs(deed: Patch) -> None:
    """And so is what somebody has taken away."""
    node: dict[str, Any] = {"metadata": {"uid": "u", "resourceVersion": "7", "labels": {"a": "b"}}, "spec": {}}
    changed = patched(node, deed(node, "run"))
    kind, keys = ("labels", [EXCLUDED_FROM_BALANCERS]) if deed is writes.excluded else ("annotations", PROTECTIONS)
    theirs = patched(changed, {"metadata": {kind: {keys[0]: "false"}}})
    back = patched(patched(theirs, writes.restored(theirs, "run")), writes.released(theirs, "run"))
    assert back == patched(node, {"metadata": {kind: {keys[0]: "false"}}})
    gone = patched(changed, {"metadata": {kind: dict.fromkeys(keys)}})
    assert patched(patched(gone, writes.restored(gone, "run")), writes.released(gone, "run")) == node


def test_a_node_that_is_cordoned_and_not_drained_says_so() -> None:
    node: dict[str, Any] = {"metadata": {"uid": "u"}, "spec": {}}
    changed = patched(node, writes.cordoned(node, "run", "ops", skipped=True))
    noted = json.loads(changed["metadata"]["annotations"][writes.PRIOR])
    assert noted == {"journal": "ops", "skipped": True, "unschedulable": False}
    both = patched(changed, writes.protected(changed, "run"))
    restored = patched(both, writes.restored(both, "run"))
    assert writes.SKIPPED not in json.loads(restored["metadata"]["annotations"][writes.PRIOR])


@pytest.mark.parametrize("note", ['{"unschedulable":false,"labels":"x"}', '{"protected":[1]}', "{}", '{"labels":{}}'])
@pytest.mark.parametrize("deed", [writes.cordoned, writes.excluded, writes.protected, writes.restored, writes.released])
def test_a_note_that_cannot_be_read_is_not_guessed_at(note: str, deed: Patch) -> None:
    node = {"metadata": {"uid": "u", "annotations": {writes.RUN: "run", writes.PRIOR: note}}, "spec": {}}
    with pytest.raises(writes.NoPrior, match="does not say what was before"):
        deed(node, "run")
