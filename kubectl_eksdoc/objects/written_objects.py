"""In which versions an object was written: made of its metadata, of which nothing else is kept.

Source: core.rules.upgrades.written_versions.
"""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc, at, text_at
from kubectl_eksdoc.core.model.api_usage import WrittenObject
from kubectl_eksdoc.core.model.named import Named
from kubectl_eksdoc.core.rules.upgrades.written_versions import KEPT_BY_SERVER, LAST_APPLIED, row_of, written
from kubectl_eksdoc.objects.single import NoJson, decode


def written_object(doc: Doc, kind: str, api_version: str) -> WrittenObject | None:
    """`kind` and `api_version` as the server hands it out. None where no sign is of a version that is ever removed."""
    signs = written({**doc, "kind": kind}, _applied(at(doc, "metadata", "annotations", LAST_APPLIED)))
    if not any(row_of(sign) is not None for sign in signs):
        return None
    namespace, name = (text_at(doc, "metadata", key) for key in ("namespace", "name"))
    kept = at(doc, "metadata", "annotations", KEPT_BY_SERVER) == "true"
    return WrittenObject(Named(api_version, kind, namespace, name), signs, kept)


def has_managed_fields(doc: Doc) -> bool:
    """Every object of an API server has them; kubectl leaves them out, unless it is told to show them."""
    return bool(at(doc, "metadata", "managedFields"))


def _applied(text: Any) -> Any:
    """Of the manifest, its version and kind alone; None where there is none."""
    if not isinstance(text, str):
        return None
    try:
        said = decode(text.encode("utf-8", "replace"))
    except NoJson:
        return None
    return {key: said.get(key) for key in ("apiVersion", "kind")} if isinstance(said, dict) else None
