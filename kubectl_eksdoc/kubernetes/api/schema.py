"""How documents of a kind are merged and owned: built-in kinds from the table, custom resources from their own schema.

A custom resource without a schema has granular maps and atomic lists throughout, but for its metadata.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kubectl_eksdoc.kubernetes.api.places import SchemaPlace
from kubectl_eksdoc.kubernetes.api.structural import place_of
from kubectl_eksdoc.kubernetes.api.types.blank import blank_of
from kubectl_eksdoc.kubernetes.api.types.kinds import KINDS, METADATA
from kubectl_eksdoc.model.api_objects import Doc


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


def schema_of(api_version: str, kind: str) -> Schema:
    return Schema(KINDS.get((api_version, kind), _UNKNOWN), blank_of(api_version, kind))


def schema_of_custom(open_api: Doc) -> Schema:
    """From a CRD's ``versions[].schema.openAPIV3Schema``; its metadata is what every object's is, whatever it says."""
    declared = place_of(open_api)
    root = replace(declared, named={**declared.named, "metadata": METADATA})
    return Schema(root, blank_of("", ""))
