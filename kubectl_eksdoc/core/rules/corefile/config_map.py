"""The ConfigMap that has the Corefile: its text, and which clients own it."""

from __future__ import annotations

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.model.coredns import COREFILE, NAME, SYSTEM
from kubectl_eksdoc.core.model.named import Named
from kubectl_eksdoc.core.rules.api.ownership.entries import MalformedEntries, read

CONFIG = Named("v1", "ConfigMap", SYSTEM, NAME)
TEXT = ("f:data", f"f:{COREFILE}")
"""The path of the text in managedFields."""
EKS = "eks"
"""The field manager of EKS's add-ons."""


def text_of(config: Doc) -> str | None:
    """None where it has none."""
    text = at(config, "data", COREFILE)
    return text if isinstance(text, str) else None


def owners_of(doc: Doc, path: tuple[str, ...] = TEXT) -> tuple[str, ...]:
    """Managers of that field, sorted; none where the managedFields do not tell."""
    try:
        return tuple(sorted({owner.manager for owner, entry in read(doc).items() if path in entry.fields}))
    except MalformedEntries:
        return ()
