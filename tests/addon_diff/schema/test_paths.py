"""The paths of a configuration schema: all of them, and what is not understood is said."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given

from kubectl_eksdoc.addon_diff.schema.paths import GOES_ON, Allowed, paths
from tests.addon_diff.schema.any_schemas import PUBLISHED, nonsense, schemas


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
