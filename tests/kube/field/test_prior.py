"""Any node that a run changes and takes back is what it was, through any number of runs, one inside the other."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.kube.field import prior
from kubectl_eksdoc.kube.field.writes import exactly
from kubectl_eksdoc.kubernetes.api.patches import json_patch
from kubectl_eksdoc.model.nodes import EXCLUDED_FROM_BALANCERS, PROTECTIONS

Patch = Callable[[prior.Node, str], dict[str, Any]]

VALUES = st.one_of(st.text(max_size=20), st.just("true"))
KEYS = st.sampled_from([prior.RUN, prior.PRIOR, "other", "eksdoc.io/else", *PROTECTIONS])
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
RUNS = st.lists(st.uuids().map(str), min_size=1, max_size=4, unique=True)


def skipped(node: dict[str, Any], run: str) -> dict[str, Any]:
    return prior.cordoned(node, run, skipped=True)


DONE: list[Patch] = [prior.cordoned, skipped, prior.excluded, prior.protected]
DEEDS = st.lists(st.sampled_from(DONE), min_size=1, max_size=5)
UNDONE: list[list[Patch]] = [[prior.restored, prior.released], [prior.released, prior.restored]]


def patched(node: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """As a server keeps it: a map without anything in it is not kept."""
    made = json_patch.apply_merge(node, patch)
    for kind in ("annotations", "labels"):
        if not made["metadata"].get(kind, True):
            del made["metadata"][kind]
    return made


@given(NODES, RUNS)
def test_runs_one_inside_the_other(node: dict[str, Any], runs: list[str]) -> None:
    states = [node]
    for run in runs:
        states.append(patched(states[-1], prior.cordoned(states[-1], run)))
        assert prior.run_of(states[-1]) == run and prior.unschedulable(states[-1])
        assert prior.cordoned(states[-1], run) == {}, "once is enough"
    for run in reversed(runs):
        now = states.pop()
        assert patched(now, prior.restored(now, run)) == states[-1]
    assert states == [node]


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
    restored, released = patched(now, prior.restored(now, "run")), patched(now, prior.released(now, "run"))
    assert all(key in restored["metadata"]["annotations"] for key in PROTECTIONS)
    assert prior.unschedulable(restored) is prior.unschedulable(node)
    assert prior.unschedulable(released) and EXCLUDED_FROM_BALANCERS in released["metadata"]["labels"]
    before = node["metadata"].get("annotations", {})
    after = released["metadata"].get("annotations", {})
    assert {key: after.get(key) for key in PROTECTIONS} == {key: before.get(key) for key in PROTECTIONS}


@given(NODES, st.sampled_from(DONE), st.sampled_from([prior.restored, prior.released]))
def test_what_another_run_has_changed_is_not_taken_back(node: dict[str, Any], deed: Patch, undone: Patch) -> None:
    changed = patched(node, deed(node, "run-a"))
    assert undone(changed, "run-b") == {}


@pytest.mark.parametrize("deed", [prior.excluded, prior.protected])
def test_what_somebody_has_changed_since_is_theirs(deed: Patch) -> None:
    """And so is what somebody has taken away."""
    node: dict[str, Any] = {"metadata": {"uid": "u", "resourceVersion": "7", "labels": {"a": "b"}}, "spec": {}}
    changed = patched(node, deed(node, "run"))
    kind, keys = ("labels", [EXCLUDED_FROM_BALANCERS]) if deed is prior.excluded else ("annotations", PROTECTIONS)
    theirs = patched(changed, {"metadata": {kind: {keys[0]: "false"}}})
    back = patched(patched(theirs, prior.restored(theirs, "run")), prior.released(theirs, "run"))
    assert back == patched(node, {"metadata": {kind: {keys[0]: "false"}}})
    gone = patched(changed, {"metadata": {kind: dict.fromkeys(keys)}})
    assert patched(patched(gone, prior.restored(gone, "run")), prior.released(gone, "run")) == node


def test_a_node_that_is_cordoned_and_not_drained_says_so() -> None:
    node: dict[str, Any] = {"metadata": {"uid": "u"}, "spec": {}}
    changed = patched(node, prior.cordoned(node, "run", "ops", skipped=True))
    noted = json.loads(changed["metadata"]["annotations"][prior.PRIOR])
    assert noted == {"journal": "ops", "skipped": True, "unschedulable": False}
    both = patched(changed, prior.protected(changed, "run"))
    restored = patched(both, prior.restored(both, "run"))
    assert prior.SKIPPED not in json.loads(restored["metadata"]["annotations"][prior.PRIOR])


def test_notes_of_older_versions_are_understood() -> None:
    """They know of cordons only."""
    noted = {prior.RUN: "run", prior.PRIOR: '{"unschedulable":false}'}
    node = {"metadata": {"uid": "u", "annotations": noted}, "spec": {"unschedulable": True}}
    excluded = patched(node, prior.excluded(node, "run"))
    assert json.loads(excluded["metadata"]["annotations"][prior.PRIOR]) == {
        "labels": [EXCLUDED_FROM_BALANCERS],
        "unschedulable": False,
    }
    assert patched(excluded, prior.restored(excluded, "run")) == {"metadata": {"uid": "u"}, "spec": {}}


@pytest.mark.parametrize("note", ['{"unschedulable":false,"labels":"x"}', '{"protected":[1]}', "{}", '{"labels":{}}'])
@pytest.mark.parametrize("deed", [prior.cordoned, prior.excluded, prior.protected, prior.restored, prior.released])
def test_a_note_that_cannot_be_read_is_not_guessed_at(note: str, deed: Patch) -> None:
    node = {"metadata": {"uid": "u", "annotations": {prior.RUN: "run", prior.PRIOR: note}}, "spec": {}}
    with pytest.raises(prior.NoPrior, match="does not say what was before"):
        deed(node, "run")


def test_a_patch_is_of_exactly_what_was_read() -> None:
    node = {"metadata": {"uid": "u", "resourceVersion": "7", "labels": {"a": "b"}}, "spec": {}}
    patch = exactly(node, {"spec": {"unschedulable": None}})
    assert patch == {"metadata": {"uid": "u", "resourceVersion": "7"}, "spec": {"unschedulable": None}}
