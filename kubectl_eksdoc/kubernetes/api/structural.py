"""A custom resource's structural schema (openAPIV3Schema of its CRD) as places.

Source: k8s.io/apiextensions-apiserver, x-kubernetes-list-type (atomic when absent), -list-map-keys, -map-type (granular
when absent), -preserve-unknown-fields, -embedded-resource. Unknown fields that are preserved have names that somebody
chose, so server-side apply counts them as keys of a map.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubectl_eksdoc.kubernetes.api.places import PLAIN, UNTYPED, ListType, SchemaPlace
from kubectl_eksdoc.kubernetes.api.types.kinds import METADATA
from kubectl_eksdoc.model.api_objects import Doc

_LIST_TYPES: Mapping[str, ListType] = {"set": "set", "map": "map"}


def place_of(schema: Any) -> SchemaPlace:
    """The place that `schema` describes, with all below it; what is no schema describes a plain one."""
    if not isinstance(schema, dict):
        return PLAIN
    items = schema.get("items")
    return SchemaPlace(
        atomic=schema.get("x-kubernetes-map-type") == "atomic",
        list_type=_LIST_TYPES.get(str(schema.get("x-kubernetes-list-type")), "atomic"),
        keys=tuple(map(str, _listed(schema.get("x-kubernetes-list-map-keys")))),
        defaults=_key_defaults(items) if isinstance(items, dict) else {},
        named=_named(schema),
        entries=_entries(schema),
        items=place_of(items) if isinstance(items, dict) else None,
    )


def _named(schema: Doc) -> dict[str, SchemaPlace]:
    named = {name: place_of(inner) for name, inner in _properties(schema).items()}
    if schema.get("x-kubernetes-embedded-resource"):
        named |= {"apiVersion": PLAIN, "kind": PLAIN, "metadata": METADATA}
    return named


def _entries(schema: Doc) -> SchemaPlace | None:
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        return place_of(values)
    return UNTYPED if values is True or schema.get("x-kubernetes-preserve-unknown-fields") else None


def _key_defaults(items: Doc) -> dict[str, Any]:
    properties = _properties(items)
    return {
        name: inner["default"] for name, inner in properties.items() if isinstance(inner, dict) and "default" in inner
    }


def _properties(schema: Doc) -> Doc:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
