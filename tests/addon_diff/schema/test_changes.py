"""The differences between configuration schemas: published, hand-written and generated ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings

from kubectl_eksdoc.addon_diff.schema import TRUNCATED, SchemaChanges, read_schema, schema_changes
from tests.addon_diff.schema.any_schemas import PAIRS, PUBLISHED, nonsense, schemas
from tests.examples import examples

V1_12, V1_15 = (read_schema(PUBLISHED[f"vpc-cni_v1.{version}-eksbuild.1"]) for version in ("12.0", "15.1"))
COREDNS = read_schema(PUBLISHED["coredns_v1.10.1-eksbuild.11"])


def between(old: dict[str, Any], new: dict[str, Any]) -> SchemaChanges:
    return schema_changes(read_schema(old), read_schema(new))


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def mirrored(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether one difference is the reverse of the other; a schema does not differ from itself."""
    these, those = between(old, new), between(new, old)
    return (
        (these.added, these.removed) == (those.removed, those.added)
        and not [line for line in {*these.unclear} ^ {*those.unclear} if "no alternatives" not in line]
        and {(each.old, each.new) for each in these.renamed} == {(each.new, each.old) for each in those.renamed}
        and len(these.defaults) == len(those.defaults)
        and not between(old, old).lines
        and not [line for line in these.lines if "\n" in line]
    )


@pytest.mark.parametrize(("old", "new"), PAIRS, ids=[f"{a}-{b}" for a, b in PAIRS])
def test_every_published_schema_against_every_other_of_its_addon(old: str, new: str) -> None:
    assert mirrored(PUBLISHED[old], PUBLISHED[new]) and read_schema(PUBLISHED[old]).unclear == ()


def test_the_incident_is_a_path_of_the_later_schemas_only() -> None:
    path = ("init", "env", "DISABLE_TCP_EARLY_DEMUX")
    assert path not in V1_12 and V1_12.is_refused(path)
    assert V1_15.is_refused(("env", path[-1])) and not V1_15.is_refused(path)
    found = schema_changes(V1_12, V1_15)
    assert "added init.env.DISABLE_TCP_EARLY_DEMUX: string, format boolean" in found.lines
    assert {("cri",), ("env", "AWS_VPC_K8S_CNI_CONFIGURE_RPFILTER")} <= {each.path for each in found.removed}
    assert found.renamed == () == found.unclear


def test_coredns_lost_autoscaling() -> None:
    found = schema_changes(COREDNS, read_schema(PUBLISHED["coredns_v1.11.1-eksbuild.8"]))
    assert ("autoScaling",) in {each.path for each in found.removed}


def test_lists_maps_alternatives_and_bounds() -> None:
    groups = ("eniConfig", "subnets", "*", "securityGroups", "[]")
    assert V1_15.allowed_at(("eniConfig", "subnets", "us-west-2a", "securityGroups", "[1]")) == V1_15.by_path[groups]
    assert [str(V1_15.by_path[path]) for path in (groups, ("eniConfig", "region"))] == [
        "eniConfig.subnets.*.securityGroups[]: string",
        "eniConfig.region: string, required",
    ]
    assert str(COREDNS.by_path["podDisruptionBudget", "maxUnavailable"]) == (
        "podDisruptionBudget.maxUnavailable: integer or string, anyOf integer or string, pattern .*%$"
    )
    replicas = COREDNS.by_path["autoScaling", "minReplicas"]
    assert (replicas.default, replicas.description) == (2, "integer, minimum 2, maximum 1000")


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        (of(a={}), of(a={"type": "string"}), "tightened a: type string, and was any"),
        (of(a={"type": "number"}), of(a={"type": "integer"}), "tightened a: type integer, and was number"),
        (of(a={"type": "integer"}), of(a={"type": "number"}), ""),
        (of(a={"enum": ["x", "y"]}), of(a={"enum": ["x"]}), 'tightened a: enum "x", and was "x" or "y"'),
        (of(a={"enum": ["x"]}), of(a={"const": "x"}), ""),
        (of(a={"minimum": 1}), of(a={"minimum": 2}), "tightened a: minimum 2, and was 1"),
        (of(a={"minimum": 2}), of(a={"minimum": 1}), ""),
        (of(a={"maximum": 2}), of(a={"maximum": 1}), "tightened a: maximum 1, and was 2"),
        (of(a={"maximum": 1}), of(a={"maximum": 2}), ""),
        (of(a={"multipleOf": 1}), of(a={"multipleOf": 2}), "tightened a: multipleOf 2, and was 1"),
        (of(a={}), of(a={"pattern": "x"}), "tightened a: pattern x, and was any"),
        (of(a={"format": "boolean"}), of(a={}), ""),
        (of(a={"format": "a"}), of(a={"allOf": [{"format": "a"}, {"format": "b"}]}),
         "tightened a: format a and b, and was a"),
        (of(a={"default": 1}), of(a={"default": [1]}), "default of a: was 1, is [1]"),
        (of(a={}), of(a={"default": None}), "default of a: was none, is null"),
        (of(a={}), of(), "removed a: anything"),
        (of(), of(a={"type": "null"}), "added a: null"),
        (of(a={"type": "object"}), of(a=of()), "tightened a: closed, and was not"),
        (of(a={}), {**of(a={}), "required": ["a"]}, "tightened a: required, and was not"),
        (of(a={}), of(a={"not": {}}), "unclear a: not: {}"),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
         {"anyOf": [{"required": ["a"]}], "properties": {"b": {}}},
         "tightened (the whole configuration): anyOf anything, with a, and was anything, with a or anything, with b"),
        (of(a={"anyOf": [{"minimum": 1}, {"maximum": 9}]}), of(a={}),
         "unclear a: no alternatives, and was anyOf anything, maximum 9 or anything, minimum 1"),
        (of(a=of(x={}), b=of()), {**of(a=of(), b={**of(x={}), "required": ["x"]})},
         "renamed a.x is b.x: the same key, of the same shape, under another parent"),
        (of(podLabel=of(x={})), of(pod_labels=of(x={})),
         "renamed podLabel is pod_labels: the same name, spelled in another way"),
    ],
)  # fmt: skip
def test_one_difference_is_one_line(old: dict[str, Any], new: dict[str, Any], lines: str) -> None:
    assert "\n".join(between(old, new).lines) == lines


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


def test_references_all_of_and_any_of() -> None:
    tree = {"properties": {"child": {"$ref": "#/definitions/Tree"}, "name": {"type": "string"}}}
    both = {"allOf": [{"type": ["string", "null"], "minLength": 2}, {"type": "string", "minLength": 1, "default": 2}]}
    either = {
        "anyOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {"type": "null"}]
    }
    schema = {
        "properties": {"t": {"$ref": "#/definitions/Tree"}, "x": both, "y": either},
        "definitions": {"Tree": tree},
    }
    found = read_schema(schema)
    assert [str(each) for each in found] == [
        "(the whole configuration): anything",
        "t: anything",
        "t.child: anything",
        "t.name: string",
        "x: string, minLength 2",
        "y: null or object, anyOf null or object, with a",
        "y.a: string",
    ]
    assert (found.by_path["x",].has_default, found.by_path["x",].default) == (True, 2)


@pytest.mark.parametrize(
    ("schema", "path", "text"),
    [
        ({"patternProperties": {"^x": {}}, "additionalProperties": False}, (), 'patternProperties: {"^x": {}}'),
        ({"properties": {"a": {"type": "text"}}}, ("a",), 'type: "text"'),
        ({"properties": {"a": 5}}, ("a",), "a schema that is 5"),
        ({"properties": []}, (), "properties: []"),
        ({"items": [{}]}, (), "items: [{}]"),
        ({"required": "a"}, (), 'required: "a"'),
        ({"minimum": True}, (), "minimum: true"),
        ({"$ref": "http://x/y"}, (), 'the reference "http://x/y" leads nowhere that is read here'),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, (), "no type fits all that is asked"),
    ],
)
def test_what_is_not_understood_is_said_and_refuses_nothing(
    schema: dict[str, Any], path: tuple[str, ...], text: str
) -> None:
    found = read_schema(schema)
    assert found.unclear == ((path, text),) and not found.is_refused((*path, "x"))


def test_a_schema_that_would_make_millions_of_paths_is_cut_and_says_so() -> None:
    level = {f"L{n}": {"properties": {k: {"$ref": f"#/definitions/L{n + 1}"} for k in "ab"}} for n in range(30)}
    assert ((), TRUNCATED) in read_schema({"$ref": "#/definitions/L0", "definitions": level}).unclear
    doubled = {f"L{n}": {"anyOf": [{"$ref": f"#/definitions/L{n + 1}"}] * 2} for n in range(60)}
    assert ((), TRUNCATED) in read_schema({"$ref": "#/definitions/L0", "definitions": doubled}).unclear


def test_two_schemas_that_are_deeper_than_is_read_are_not_the_same() -> None:
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(50):
        deep = of(a=deep)
    assert between(deep, deep).lines == (f"unclear (the whole configuration): {TRUNCATED}",)


@given(schemas(), schemas())
def test_schemas_of_this_kind_are_understood(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert mirrored(old, new)
    found = read_schema(old)
    assert [text for _, text in found.unclear if "no type fits" not in text and "anyOf" not in text] == []
    assert all(path[:-1] in found for path in found.by_path if path)


@settings(max_examples=examples(50))
@given(nonsense, nonsense)
@example({"enum": [{"\n": None}]}, {})
def test_any_json_is_compared_without_an_error(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert mirrored(old, new)
