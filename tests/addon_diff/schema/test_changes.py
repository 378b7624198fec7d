"""How configuration schemas differ: published ones, by hand, and whatever could be one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings

from kubectl_eksdoc.addon_diff.schema.changes import SchemaChanges, changes
from kubectl_eksdoc.addon_diff.schema.paths import GOES_ON, Allowed, paths
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


def test_a_key_that_an_open_object_takes_anyway_is_not_refused() -> None:
    opened = {"type": "object", "properties": {}}
    (removed,) = between(of(a={}), opened).removed
    assert not removed.refused


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


def listed(schema: dict[str, Any]) -> list[str]:
    return [str(each) for each in paths(schema)]


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_schema_is_understood_but_for_what_it_does_not_say(name: str) -> None:
    found = paths(PUBLISHED[name])
    assert found.unclear == ()
    root = found.get(())
    assert root is not None and root.types == ("object",) and root.closed
    assert list(found.at) == sorted(found.at)


def test_the_incident_is_a_path_of_the_later_schemas_only() -> None:
    path = ("init", "env", "DISABLE_TCP_EARLY_DEMUX")
    before, after = paths(PUBLISHED["vpc-cni_v1.12.0-eksbuild.1"]), paths(PUBLISHED["vpc-cni_v1.15.1-eksbuild.1"])
    assert path not in before and before.refuses(path)
    assert after.get(path) == Allowed(path, types=("string",), formats=("boolean",))
    assert after.refuses(("env", path[-1])) and not after.refuses(path)


def test_lists_maps_alternatives_and_bounds() -> None:
    found = paths(PUBLISHED["vpc-cni_v1.15.1-eksbuild.1"])
    groups = ("eniConfig", "subnets", "*", "securityGroups", "[]")
    assert found.get(groups) == Allowed(groups, types=("string",))
    assert found.of(("eniConfig", "subnets", "us-west-2a", "securityGroups", "[1]")) == found.get(groups)
    region = found.get(("eniConfig", "region"))
    assert region is not None and region.required
    coredns = paths(PUBLISHED["coredns_v1.10.1-eksbuild.11"])
    assert str(coredns.get(("podDisruptionBudget", "maxUnavailable"))) == (
        "podDisruptionBudget.maxUnavailable: integer or string, either integer or string, matching .*%$"
    )
    replicas = coredns.get(("autoScaling", "minReplicas"))
    assert replicas is not None and (replicas.default, replicas.has_default) == (2, True)
    assert replicas.limits == (("maximum", 1000), ("minimum", 2))


def test_keys_beside_properties_are_no_paths_but_are_told() -> None:
    found = paths(PUBLISHED["coredns_v1.11.1-eksbuild.8"])
    budget = found.get(("podDisruptionBudget",))
    assert budget is not None and budget.unchecked == ("enabled", "maxUnavailable", "minAvailable")
    assert ("podDisruptionBudget", "enabled") not in found
    assert not found.refuses(("podDisruptionBudget", "enabled"))


def test_references_end_where_they_lead_back() -> None:
    tree = {"properties": {"child": {"$ref": "#/definitions/Tree"}, "name": {"type": "string"}}}
    schema = {"$ref": "#/definitions/Tree", "definitions": {"Tree": tree}}
    assert listed(schema) == ["(the whole configuration): anything", "child: anything", "name: string"]
    child = paths(schema).get(("child",))
    assert child is not None and child.again == "#/definitions/Tree"


def test_all_of_narrows_and_any_of_widens() -> None:
    both = {"allOf": [{"type": ["string", "null"], "minLength": 1}, {"type": "string", "format": "boolean"}]}
    either = {
        "anyOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {"type": "null"}]
    }
    assert listed({"properties": {"x": both, "y": either}}) == [
        "(the whole configuration): anything",
        "x: string, of format boolean, minLength 1",
        "y: null or object, either null or object, with a",
        "y.a: string",
    ]


@pytest.mark.parametrize(
    ("parts", "default"),
    [([{}, {"default": 2}], 2), ([{"default": 2}, {}], 2), ([{"default": 2}, {"default": 3}], 3)],
)
def test_the_last_default_counts(parts: list[dict[str, Any]], default: int) -> None:
    found = paths({"allOf": parts}).get(())
    assert found is not None and (found.has_default, found.default) == (True, default)


@pytest.mark.parametrize(
    ("schema", "path", "text"),
    [
        ({"not": {"type": "string"}}, (), 'not: {"type": "string"}'),
        ({"patternProperties": {"^x": {}}}, (), 'patternProperties: {"^x": {}}'),
        ({"properties": {"a": {"type": "text"}}}, ("a",), 'type: "text"'),
        ({"properties": {"a": 5}}, ("a",), "a schema that is 5"),
        ({"properties": []}, (), "properties: []"),
        ({"items": [{}]}, (), "items: [{}]"),
        ({"required": "a"}, (), 'required: "a"'),
        ({"minimum": True}, (), "minimum: true"),
        ({"$ref": "http://x/y"}, (), 'the reference "http://x/y" leads nowhere that is read here'),
        ({"$ref": "#/definitions/none"}, (), 'the reference "#/definitions/none" leads nowhere that is read here'),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, (), "no type fits all that is asked"),
        ({"a": "b"}, (), 'a: "b"'),
    ],
)
def test_what_is_not_understood_is_said(schema: dict[str, Any], path: tuple[str, ...], text: str) -> None:
    assert paths(schema).unclear == ((path, text),)


def test_a_schema_that_would_make_millions_of_paths_is_cut_and_says_so() -> None:
    level = {f"L{n}": {"properties": {k: {"$ref": f"#/definitions/L{n + 1}"} for k in "ab"}} for n in range(30)}
    assert ((), GOES_ON) in paths({"$ref": "#/definitions/L0", "definitions": level}).unclear
    doubled = {f"L{n}": {"anyOf": [{"$ref": f"#/definitions/L{n + 1}"}] * 2} for n in range(60)}
    assert ((), GOES_ON) in paths({"$ref": "#/definitions/L0", "definitions": doubled}).unclear


@given(schemas())
def test_schemas_of_this_kind_are_understood(schema: dict[str, Any]) -> None:
    found = paths(schema)
    assert [text for _, text in found.unclear if "no type fits" not in text and "anyOf" not in text] == []
    assert all(path[:-1] in found for path in found.at if path)


@given(nonsense)
@example({"enum": [{"\n": None}]})
def test_any_json_is_read_without_an_error(schema: dict[str, Any]) -> None:
    assert [each for each in paths(schema) if "\n" in str(each)] == []
