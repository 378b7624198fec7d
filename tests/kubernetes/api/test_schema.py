"""The table of types, custom resources' own schemas, and what a strategic merge patch reads from either."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kubectl_eksdoc.kubernetes.api.types import Schema, SchemaPlace, schema_of, schema_of_custom

CONTAINER = ("spec", "containers", 0)
TEMPLATE = ("spec", "template", "spec")


def place_at(schema: Schema, path: Sequence[str | int]) -> SchemaPlace:
    """The place at a path of names and list positions, as ``("spec", "containers", 0, "env")``."""
    place = schema.root
    for step in path:
        place = place.of_items() if isinstance(step, int) else place.under(step)
    return place


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "keys"),
    [
        ("v1", "Pod", (*CONTAINER, "ports"), ("containerPort", "protocol")),
        ("v1", "Pod", ("spec", "topologySpreadConstraints"), ("topologyKey", "whenUnsatisfiable")),
        ("v1", "Pod", ("metadata", "ownerReferences"), ("uid",)),
        ("apps/v1", "DaemonSet", (*TEMPLATE, "initContainers", 0, "env"), ("name",)),
        ("batch/v1", "CronJob", ("spec", "jobTemplate", *TEMPLATE, "volumes"), ("name",)),
    ],
)
def test_lists_by_keys(api_version: str, kind: str, path: tuple[str | int, ...], keys: tuple[str, ...]) -> None:
    place = place_at(schema_of(api_version, kind), path)
    assert (place.list_type, place.keys) == ("map", keys)


@pytest.mark.parametrize(
    ("api_version", "kind", "path"),
    [
        ("v1", "Pod", ("spec", "tolerations")),
        ("v1", "Pod", ("status", "containerStatuses")),
        ("batch/v1", "Job", ("status", "conditions")),
        ("example.org/v1", "Widget", ("spec", "parts")),
    ],
)
def test_lists_that_are_one_value(api_version: str, kind: str, path: tuple[str | int, ...]) -> None:
    assert place_at(schema_of(api_version, kind), path).list_type == "atomic"


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "atomic"),
    [
        ("v1", "Pod", ("spec", "nodeSelector"), True),
        ("policy/v1", "PodDisruptionBudget", ("spec", "selector"), True),
        ("v1", "Pod", (*CONTAINER, "env", 0, "valueFrom", "secretKeyRef"), True),
        ("v1", "Pod", (*CONTAINER, "resources", "limits"), False),
        ("autoscaling/v2", "HorizontalPodAutoscaler", ("spec", "scaleTargetRef"), False),
        ("autoscaling/v1", "HorizontalPodAutoscaler", ("spec", "scaleTargetRef"), True),
        ("example.org/v1", "Widget", ("spec", "template"), False),
    ],
)
def test_maps(api_version: str, kind: str, path: tuple[str | int, ...], atomic: bool) -> None:
    assert place_at(schema_of(api_version, kind), path).atomic is atomic


def test_metadata_is_known_of_any_kind() -> None:
    place = place_at(schema_of("example.org/v1", "Widget"), ("metadata", "finalizers"))
    assert place.list_type == "set"


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "strategy", "key"),
    [
        # By one key where server-side apply goes by two.
        ("v1", "Pod", (*CONTAINER, "ports"), ("merge",), "containerPort"),
        ("v1", "Pod", ("spec", "volumes"), ("merge", "retainKeys"), "name"),
        ("v1", "Pod", ("metadata", "finalizers"), ("merge",), ""),
        ("v1", "Pod", ("status", "hostIPs"), ("merge",), "ip"),
        ("batch/v1", "Job", ("status", "conditions"), ("merge",), "type"),
        ("v1", "Pod", ("spec", "tolerations"), ("replace",), ""),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", ("status", "conditions"), ("replace",), ""),
    ],
)
def test_strategic_merging_of_lists(
    api_version: str, kind: str, path: tuple[str | int, ...], strategy: tuple[Any, ...], key: str
) -> None:
    place = place_at(schema_of(api_version, kind), path)
    assert (place.strategy or ("replace",), place.merge_key) == (strategy, key)


def test_strategic_merging_of_maps() -> None:
    deployment = schema_of("apps/v1", "Deployment")
    budget = schema_of("policy/v1", "PodDisruptionBudget")
    # Atomic for server-side apply, merged by a patch; only a budget's selector is replaced.
    assert place_at(deployment, ("spec", "selector")).strategy == ()
    assert place_at(deployment, ("spec", "strategy")).strategy == ("retainKeys",)
    assert place_at(budget, ("spec", "selector")).strategy == ("replace",)


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
    schema = schema_of_custom(CUSTOM)
    ports = place_at(schema, ("spec", "ports"))
    assert (ports.list_type, ports.keys, ports.defaults) == ("map", ("number", "protocol"), {"protocol": "TCP"})
    assert place_at(schema, ("spec", "zones")).list_type == "set"
    assert place_at(schema, ("spec", "parts")).list_type == "atomic"
    assert place_at(schema, ("spec", "selector")).atomic
    assert place_at(schema, ("metadata", "finalizers")).list_type == "set"
    assert place_at(schema, ("spec", "pod", "metadata", "ownerReferences")).keys == ("uid",)


def test_names_that_somebody_chose_are_told_from_fields() -> None:
    schema = schema_of_custom(CUSTOM)
    assert place_at(schema, ("spec",)).is_field("zones")
    assert not place_at(schema, ("spec", "limits")).is_field("cpu")
    assert place_at(schema, ("spec", "limits", "cpu")).is_field("request")
    assert not place_at(schema, ("spec", "values")).is_field("any")
    assert not place_at(schema, ("spec", "values", "any", "deeper")).is_field("name")
