"""How configuration schemas differ: published ones, by hand, and whatever could be one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from kubectl_eksdoc.addon_diff.schema.changes import SchemaChanges, changes
from kubectl_eksdoc.addon_diff.schema.paths import paths
from tests.addon_diff.schema.any_schemas import PAIRS, PUBLISHED, nonsense, schemas
from tests.examples import examples


def between(old: dict[str, Any], new: dict[str, Any]) -> SchemaChanges:
    return changes(paths(old), paths(new))


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def mirrored(these: SchemaChanges, those: SchemaChanges) -> bool:
    """Whether one is the other, read backwards."""
    return (
        (these.added, these.removed) == (those.removed, those.added)
        and {(each.old, each.new) for each in these.renamed} == {(each.new, each.old) for each in those.renamed}
        and [each.path for each in these.tightened] == [each.path for each in those.loosened]
        and [each.path for each in these.loosened] == [each.path for each in those.tightened]
        and [each.path for each in these.defaults] == [each.path for each in those.defaults]
        and sorted(each.path for each in these.unclear) == sorted(each.path for each in those.unclear)
    )


@pytest.mark.parametrize(("old", "new"), PAIRS, ids=[f"{a}-{b}" for a, b in PAIRS])
def test_every_published_schema_against_every_other_of_its_addon(old: str, new: str) -> None:
    found = between(PUBLISHED[old], PUBLISHED[new])
    assert mirrored(found, between(PUBLISHED[new], PUBLISHED[old]))
    assert bool(found) == (paths(PUBLISHED[old]).at != paths(PUBLISHED[new]).at)
    assert [line for line in found.lines if "\n" in line] == []


def test_vpc_cni_gained_init_env_and_lost_cri_between_1_12_and_1_15() -> None:
    found = between(PUBLISHED["vpc-cni_v1.12.0-eksbuild.1"], PUBLISHED["vpc-cni_v1.15.1-eksbuild.1"])
    added = {each.path: each.refused for each in found.added}
    assert added[("init", "env", "DISABLE_TCP_EARLY_DEMUX")] and added[("env", "WARM_IP_TARGET")]
    assert {each.path for each in found.removed} >= {("cri",), ("env", "AWS_VPC_K8S_CNI_CONFIGURE_RPFILTER")}
    assert all(each.refused for each in found.removed)
    assert found.renamed == () and found.unclear == ()


def test_coredns_lost_autoscaling_and_the_check_of_its_budget() -> None:
    found = between(PUBLISHED["coredns_v1.10.1-eksbuild.11"], PUBLISHED["coredns_v1.11.1-eksbuild.8"])
    refused = {each.path: each.refused for each in found.removed}
    assert refused[("autoScaling",)] and not refused[("podDisruptionBudget", "enabled")]
    assert "podDisruptionBudget: what is not checked there was nothing, is enabled, maxUnavailable, minAvailable" in [
        str(each) for each in found.unclear
    ]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (of(a={}), of(a={"type": "string"}), "tightened a: types were any, are string"),
        (of(a={"type": "number"}), of(a={"type": "integer"}), "tightened a: types were number, are integer"),
        (of(a={"type": "integer"}), of(a={"type": "number"}), "loosened a: types were integer, are number"),
        (of(a={"enum": ["x", "y"]}), of(a={"enum": ["x"]}), 'tightened a: values were "x" or "y", are "x"'),
        (of(a={"minimum": 1}), of(a={"minimum": 2}), "tightened a: minimum was 1, is 2"),
        (of(a={"maximum": 1}), of(a={"maximum": 2}), "loosened a: maximum was 1, is 2"),
        (of(a={}), of(a={"pattern": "x"}), "tightened a: pattern was any, is x"),
        (of(a={"format": "boolean"}), of(a={}), "loosened a: format was boolean, is any"),
        (of(a={"default": 1}), of(a={"default": [1]}), "default of a: was 1, is [1]"),
        (of(a={}), of(a={"default": None}), "default of a: was none, is null"),
        (of(a={}), of(), "removed a: anything"),
        (of(), of(a={"type": "null"}), "added a: null"),
        (of(a=of()), of(a={"type": "object"}), "loosened a: takes any key"),
        (of(a={}), {**of(a={}), "required": ["a"]}, "tightened a: is required"),
        (of(a={}), of(a={"not": {}}), "unclear a: not: {} (now)"),
        (of(a=of(x={}), b=of()), of(a=of(), b=of(x={})),
         "renamed a.x is b.x: the same key, of the same shape, under another parent"),
        (of(podLabel=of(x={})), of(pod_labels=of(x={})),
         "renamed podLabel is pod_labels: the same name, spelled in another way"),
    ],
)  # fmt: skip
def test_one_difference_is_one_line(old: dict[str, Any], new: dict[str, Any], line: str) -> None:
    assert between(old, new).lines == (line,)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (of(a=of(x={}), b=of()), of(a=of(), b=of(x={"type": "string"}))),  # of another shape
        (of(a=of(x={}), b=of(), c=of()), of(a=of(), b=of(x={}), c=of(x={}))),  # two come into question
        (of(a=of(x={}), b=of(), c=of(x={})), of(a=of(), b=of(x={}), c=of(x={}))),  # a key that is used elsewhere, too
        (of(a=of(x={})), of(b=of(x={}))),  # the parents came and went as well
        (of(minAvailable={}), of(maxUnavailable={})),  # other words
        (of(**{"-": {}}), of(_={})),  # no words at all
    ],
)
def test_what_is_not_evident_is_not_called_renamed(old: dict[str, Any], new: dict[str, Any]) -> None:
    found = between(old, new)
    assert found.renamed == () and found.added and found.removed


def test_a_changed_pattern_is_tighter_and_looser() -> None:
    found = between(of(a={"pattern": "x"}), of(a={"pattern": "y"}))
    assert found.tightened == found.loosened != ()


def test_a_key_that_an_open_object_takes_anyway_is_not_refused() -> None:
    opened = {"type": "object", "properties": {}}
    (removed,) = between(of(a={}), opened).removed
    assert not removed.refused


@given(schemas())
def test_nothing_differs_from_itself(schema: dict[str, Any]) -> None:
    assert between(schema, schema) == SchemaChanges()


@given(schemas(), schemas())
def test_backwards_is_the_mirror(old: dict[str, Any], new: dict[str, Any]) -> None:
    found = between(old, new)
    assert mirrored(found, between(new, old))
    for each in (found.added, found.removed, found.renamed, found.tightened, found.loosened):
        assert [str(one) for one in each if not str(one)] == []


@settings(max_examples=examples(50))
@given(nonsense, nonsense)
def test_any_json_is_compared_without_an_error(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert mirrored(between(old, new), between(new, old))
    assert not between(old, old)
