"""Any node that is cordoned and restored by a run is what it was, through any number of runs, one inside the other."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.core.rules.api.patches import merge
from kubectl_eksdoc.kube.field import prior

VALUES = st.text(max_size=20)
KEYS = st.sampled_from([prior.RUN, prior.PRIOR, "other", "eksdoc.io/else"])
NODES = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {"uid": st.just("u"), "resourceVersion": st.just("7")},
            optional={"annotations": st.dictionaries(KEYS, VALUES, min_size=1)},
        ),
        "spec": st.fixed_dictionaries({"providerID": st.just("aws:///x")}, optional={"unschedulable": st.just(True)}),
    }
)


def patched(node: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """As a server keeps it: a map without anything in it is not kept."""
    made = merge.apply_merge(node, patch)
    if not made["metadata"].get("annotations", True):
        del made["metadata"]["annotations"]
    return made


@given(NODES, st.lists(st.uuids().map(str), min_size=1, max_size=4, unique=True))
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


@given(NODES)
def test_what_another_run_has_cordoned_is_not_restored(node: dict[str, Any]) -> None:
    cordoned = patched(node, prior.cordoned(node, "run-a"))
    assert prior.restored(cordoned, "run-b") == {}


def test_a_patch_is_of_exactly_what_was_read() -> None:
    node = {"metadata": {"uid": "u", "resourceVersion": "7", "labels": {"a": "b"}}, "spec": {}}
    patch = prior.exactly(node, {"spec": {"unschedulable": None}})
    assert patch == {"metadata": {"uid": "u", "resourceVersion": "7"}, "spec": {"unschedulable": None}}
