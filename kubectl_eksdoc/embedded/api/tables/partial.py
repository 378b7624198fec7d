"""Objects without spec and status: PartialObjectMetadata, which tables hold and metadata informers ask for."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.embedded.api.negotiation import PARTIAL, PARTIAL_LIST


def partial(doc: Doc) -> Doc:
    """An object's metadata, all of it, `managedFields` too; the object's own kind is not said."""
    return {"kind": PARTIAL.kind, "apiVersion": PARTIAL.api_version, "metadata": doc.get("metadata") or {}}


def partial_list(docs: Iterable[Doc], list_meta: Doc) -> Doc:
    """The list of `docs` in that form, with the list's own metadata."""
    items = [partial(doc) for doc in docs]
    return {"kind": PARTIAL_LIST.kind, "apiVersion": PARTIAL_LIST.api_version, "metadata": list_meta, "items": items}
