"""Configuration values are validated against their schema: the faults and their paths are those of the reference
validator."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.addon_diff.exposure import values_remedy
from kubectl_eksdoc.aws.validating import find_violations
from kubectl_eksdoc.model.addons import ConfigPath, SchemaViolation, item_step
from kubectl_eksdoc.model.kinds import Unknown
from tests.addon_diff.schema.any_schemas import PUBLISHED, nonsense, schemas
from tests.aws.near_documents import near
from tests.examples import examples

CNI = PUBLISHED["vpc-cni_v1.15.1-eksbuild.1"]
OLD_CNI = PUBLISHED["vpc-cni_v1.12.0-eksbuild.1"]
COREDNS = PUBLISHED["coredns_v1.10.1-eksbuild.11"]

_AT_THE_OBJECT = {"required", "additionalProperties"}
"""What the reference reports once for an object, and we for each key."""


def ours(schema: dict[str, Any], values: dict[str, Any]) -> set[tuple[ConfigPath, str]]:
    found = find_violations(schema, values)
    assert isinstance(found, tuple), found
    return {
        (each.path[:-1] if each.rule in _AT_THE_OBJECT else each.path, each.rule) for each in found if not each.doubtful
    }


def theirs(schema: dict[str, Any], values: dict[str, Any]) -> set[tuple[ConfigPath, str]]:
    """The faults that jsonschema reports, which checks no format."""
    return {
        (
            tuple(step if isinstance(step, str) else item_step(step) for step in error.absolute_path),
            error.validator or "false",
        )
        for error in jsonschema.Draft6Validator(schema).iter_errors(values)
    }


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_schema_is_judged_as_the_reference_does(name: str) -> None:
    schema = PUBLISHED[name]

    @settings(max_examples=examples(120), suppress_health_check=list(HealthCheck))
    @given(near(schema))
    def agreed(values: Any) -> None:
        assert ours(schema, values) == theirs(schema, values)

    agreed()


@settings(suppress_health_check=list(HealthCheck))
@given(schemas(), st.data())
def test_any_schema_of_this_kind_is_judged_as_the_reference_does(schema: dict[str, Any], data: st.DataObject) -> None:
    values = data.draw(near(schema))
    assert ours(schema, values) == theirs(schema, values)


@given(nonsense, nonsense)
def test_nonsense_is_judged_or_unknown(schema: dict[str, Any], values: dict[str, Any]) -> None:
    found = find_violations(schema, values)
    if isinstance(found, tuple):
        assert bool([each for each in found if not each.doubtful]) == bool(theirs(schema, values))


def values(**given: Any) -> dict[str, Any]:
    return given


CASES = (
    (
        CNI,
        values(env={"ENABLE_POD_ENI": True, "DISABLE_TCP_EARLY_DEMUX": "true"}),
        [
            ("env.DISABLE_TCP_EARLY_DEMUX: the schema knows no such key here",
             "Remove env.DISABLE_TCP_EARLY_DEMUX: X knows no such key there."),
            ("env.ENABLE_POD_ENI: is true or false, must be a text",
             'Quote env.ENABLE_POD_ENI: X wants it as text, such as "true" or "1".'),
        ],
    ),
    (
        OLD_CNI,
        values(init={"env": {"DISABLE_TCP_EARLY_DEMUX": "true"}}),
        [("init: the schema knows no such key here", "Remove init: X knows no such key there.")],
    ),
    (
        CNI,
        values(init={"env": {"DISABLE_TCP_EARLY_DEMUX": "yes"}}, eniConfig={"create": "true", "region": None}),
        [
            ("eniConfig.create: is a text, must be true or false",
             "Write eniConfig.create without quotes: X wants true or false."),
            ("eniConfig.region: is null, must be a text",
             "Give eniConfig.region a value or leave it out: X wants a text."),
            ("eniConfig.subnets: has to be given",
             "Give eniConfig.subnets, or leave out what it belongs to: X wants it there."),
            ('init.env.DISABLE_TCP_EARLY_DEMUX: is "yes", must be of the format boolean',
             'Set init.env.DISABLE_TCP_EARLY_DEMUX to "true" or "false": X means that by it.'),
        ],
    ),
    (
        PUBLISHED["kube-proxy_v1.28.8-eksbuild.5"],
        values(mode="userspace", podLabels=[]),
        [
            ('mode: is "userspace", must be one of iptables, ipvs',
             "Set mode to iptables or ipvs: X takes nothing else."),
            ("podLabels: is a list, must be an object", "Make podLabels an object, as X wants."),
        ],
    ),
    (
        COREDNS,
        values(autoScaling={"enabled": True, "minReplicas": 1}, podDisruptionBudget={"maxUnavailable": "1"}),
        [
            ("autoScaling.minReplicas: is 1, which breaks minimum 2",
             "Change autoScaling.minReplicas to what X allows: it is 1, which breaks minimum 2."),
            ('podDisruptionBudget.maxUnavailable: fits no alternative: podDisruptionBudget.maxUnavailable is "1", must '
             "match .*%$; podDisruptionBudget.maxUnavailable is a text, must be a whole number",
             'Change podDisruptionBudget.maxUnavailable to what X allows: it fits no alternative: '
             'podDisruptionBudget.maxUnavailable is "1", must match .*%$; podDisruptionBudget.maxUnavailable is a '
             "text, must be a whole number."),
        ],
    ),
    (PUBLISHED["coredns_v1.11.1-eksbuild.8"], values(podDisruptionBudget={"maxUnavailable": {"never": "read"}}), []),
    (CNI, values(env={"ENABLE_POD_ENI": "true"}, init={"env": {"DISABLE_TCP_EARLY_DEMUX": "true"}}), []),
)  # fmt: skip


@pytest.mark.parametrize(("schema", "given", "said"), CASES)
def test_what_is_broken_is_said_with_its_remedy(
    schema: dict[str, Any], given: dict[str, Any], said: list[tuple[str, str]]
) -> None:
    found = find_violations(schema, given)
    assert isinstance(found, tuple)
    assert [(str(each), values_remedy(each, "X")) for each in found] == said


def test_only_formats_are_doubtful() -> None:
    found = find_violations(CNI, values(env={"ENABLE_POD_ENI": "yes", "WARM_ENI_TARGET": 1}))
    assert isinstance(found, tuple)
    assert [(each.rule, each.doubtful) for each in found] == [("format", True), ("type", False)]
    either = {"properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "string", "format": "boolean"}]}}}
    assert find_violations(either, {"a": "false"}) == ()
    (doubtful,) = _found(either, {"a": "yes"})
    assert doubtful.doubtful and doubtful.rule == "anyOf"
    one = {"oneOf": [{"type": "object"}, {"minProperties": 1}]}
    assert [each.what for each in _found(one, {"a": 1})] == ["fits several of the alternatives"]


def _found(schema: dict[str, Any], given: dict[str, Any]) -> tuple[SchemaViolation, ...]:
    found = find_violations(schema, given)
    assert isinstance(found, tuple)
    return found


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"$schema": "https://json-schema.org/draft/2020-12/schema"}, "of the draft"),
        ({"not": {}}, "keyword not"),
        ({"properties": {"a": {"dependencies": {}}}}, "keyword dependencies"),
        ({"properties": {"a": {"$ref": "http://169.254.169.254/"}}}, "leads nowhere"),
        ({"type": "text"}, "type is"),
        ({"properties": {"a": []}}, "a schema is"),
        ({"items": [{}]}, "items is"),
        ({"enum": [{"a": 1}]}, "enum is"),
        ({"multipleOf": 0}, "multipleOf is"),
        ({"pattern": "(a+)+$"}, "pattern is"),
        ({"pattern": "^a*b*c*$"}, "pattern is"),
        ({"pattern": "^a|b*c{1,999}"}, "pattern is"),
        ({"anyOf": []}, "anyOf is"),
        ({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}, "on and on"),
    ],
)  # fmt: skip
def test_what_is_not_known_to_be_harmless_is_unknown(schema: dict[str, Any], why: str) -> None:
    found = find_violations(schema, {"a": "a" * 100})
    assert isinstance(found, Unknown) and why in found.why


def test_a_long_text_is_not_matched_for_ever() -> None:
    schema = {"properties": {"a": {"type": "string", "pattern": ".*%$"}}}
    assert isinstance(find_violations(schema, {"a": "x" * 1_000_000}), Unknown)


@pytest.mark.parametrize("name", ["\\", "\n", '"+str(1)+"', "{0.__class__}"])
def test_names_and_texts_that_look_like_code_are_only_names_and_texts(name: str) -> None:
    schema = {"properties": {name: {"enum": [name]}}, "required": [name], "additionalProperties": False}
    assert find_violations(schema, {name: name}) == ()
    assert {each.rule for each in _found(schema, {name + "x": 1})} == {"required", "additionalProperties"}
    assert {each.rule for each in _found(schema, {name: name + "x"})} == {"enum"}
    assert find_violations({"properties": {"a": {"format": name}}}, {"a": name}) == ()
