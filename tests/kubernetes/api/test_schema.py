"""The table of types, the schemas of custom resources, and the use of both by strategic merge patches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kubectl_eksdoc.kubernetes.api.types import Schema, SchemaPlace, schema_from_openapi, schema_of

CONTAINER = ("spec", "containers", 0)


def place_at(schema: Schema, path: Sequence[str | int]) -> SchemaPlace:
    """The field at a path of names and list positions, as ``("spec", "containers", 0, "env")``."""
    place = schema.root
    for step in path:
        place = place.item_place() if isinstance(step, int) else place.under(step)
    return place


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "said"),
    [
        ("v1", "Pod", (*CONTAINER, "ports"), ("map", ("containerPort", "protocol"), ("merge",), "containerPort")),
        ("v1", "Pod", ("spec", "volumes"), ("map", ("name",), ("merge", "retainKeys"), "name")),
        ("example.org/v1", "Widget", ("metadata", "finalizers"), ("set", (), ("merge",), "")),
        ("v1", "Pod", ("status", "hostIPs"), ("atomic", (), ("merge",), "ip")),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            ("status", "conditions"),
            ("map", ("type",), (), ""),
        ),
    ],
)
def test_lists(api_version: str, kind: str, path: tuple[str | int, ...], said: tuple[Any, ...]) -> None:
    place = place_at(schema_of(api_version, kind), path)
    assert (place.list_type, place.keys, place.strategy, place.merge_key) == said


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "atomic", "strategy"),
    [
        ("policy/v1", "PodDisruptionBudget", ("spec", "selector"), True, ("replace",)),
        ("apps/v1", "Deployment", ("spec", "strategy"), False, ("retainKeys",)),
        ("v1", "Pod", (*CONTAINER, "resources", "limits"), False, ()),
        ("example.org/v1", "Widget", ("spec", "template"), False, ()),
    ],
)
def test_maps(
    api_version: str, kind: str, path: tuple[str | int, ...], atomic: bool, strategy: tuple[str, ...]
) -> None:
    place = place_at(schema_of(api_version, kind), path)
    assert (place.atomic, place.strategy) == (atomic, strategy)


CUSTOM = {
    "type": "object",
    "properties": {
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "properties": {
                "ports": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["number", "protocol"],
                    "items": {"type": "object", "properties": {"protocol": {"type": "string", "default": "TCP"}}},
                },
                "zones": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "parts": {"type": "array", "items": {"type": "string"}},
                "selector": {"type": "object", "x-kubernetes-map-type": "atomic"},
                "limits": {"type": "object", "additionalProperties": {"type": "object"}},
                "values": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "pod": {"type": "object", "x-kubernetes-embedded-resource": True},
            },
        },
    },
}


def test_a_custom_resource_with_a_schema() -> None:
    schema = schema_from_openapi(CUSTOM)
    ports = place_at(schema, ("spec", "ports"))
    assert (ports.list_type, ports.keys, ports.defaults) == ("map", ("number", "protocol"), {"protocol": "TCP"})
    assert place_at(schema, ("spec", "zones")).list_type == "set"
    assert place_at(schema, ("spec", "parts")).list_type == "atomic"
    assert place_at(schema, ("spec", "selector")).atomic
    assert place_at(schema, ("metadata", "finalizers")).list_type == "set"
    assert place_at(schema, ("spec", "pod", "metadata", "ownerReferences")).keys == ("uid",)


def test_names_that_somebody_chose_are_told_from_fields() -> None:
    schema = schema_from_openapi(CUSTOM)
    assert place_at(schema, ("spec",)).is_field("zones")
    assert not place_at(schema, ("spec", "limits")).is_field("cpu")
    assert place_at(schema, ("spec", "limits", "cpu")).is_field("request")
    assert not place_at(schema, ("spec", "values")).is_field("any")
    assert not place_at(schema, ("spec", "values", "any", "deeper")).is_field("name")
