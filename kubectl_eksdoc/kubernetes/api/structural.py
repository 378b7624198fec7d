"""A custom resource's structural schema (openAPIV3Schema of its CRD) as places.

Source: k8s.io/apiextensions-apiserver, x-kubernetes-list-type (atomic when absent), -list-map-keys, -map-type (granular
when absent), -preserve-unknown-fields, -embedded-resource. Unknown fields that are preserved have names that somebody
chose, so server-side apply counts them as keys of a map.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from kubectl_eksdoc.kubernetes.api.places import PLAIN, UNTYPED, ListType, SchemaPlace
from kubectl_eksdoc.kubernetes.api.types.blank import blank_of
from kubectl_eksdoc.kubernetes.api.types.kinds import KINDS, METADATA
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


# How documents of a kind are merged and owned: built-in kinds from the table, custom resources from their own schema.
#
# A custom resource without a schema has granular maps and atomic lists throughout, but for its metadata.


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """`root` is the place of the whole document; `blank` is what an object of the kind has before anyone writes."""

    root: SchemaPlace
    blank: Doc

    def filled(self, doc: Doc) -> Doc:
        """`doc` with what its kind always has, however little of that it spells out: as a server compares it."""
        return _filled(doc, self.blank)


def _filled(doc: Doc, blank: Doc) -> Doc:
    found = dict(doc)
    for name, always in blank.items():
        given = found.get(name, always)
        found[name] = _filled(given, always) if isinstance(given, dict) and isinstance(always, dict) else given
    return found


_UNKNOWN = SchemaPlace(named={"metadata": METADATA})


@cache
def schema_of(api_version: str, kind: str) -> Schema:
    return Schema(KINDS.get((api_version, kind), _UNKNOWN), blank_of(api_version, kind))


def schema_of_custom(open_api: Doc) -> Schema:
    """From a CRD's ``versions[].schema.openAPIV3Schema``; its metadata is what every object's is, whatever it says."""
    declared = place_of(open_api)
    root = replace(declared, named={**declared.named, "metadata": METADATA})
    return Schema(root, blank_of("", ""))
