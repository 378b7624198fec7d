"""Redacted lists and single objects for a snapshot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from kubectl_eksdoc.amazon.written_kinds import LAST_APPLIED
from kubectl_eksdoc.kubernetes.redaction import KeptAnnotations, suspicious
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, at, with_value
from kubectl_eksdoc.model.kinds import ENDPOINT_SLICES, LEASES, NODES, PODS, REPLICA_SETS, Resource, Unknown

from .collector import MALFORMED, BadObject
from .redaction import OWNED, SHAPES, KeptShape, cleaners, told
from .single import Keeper, document
from .structs import ListOf

_BY_KIND = {(resource.group, resource.kind): resource for resource in SHAPES}

_MANY = frozenset((PODS, REPLICA_SETS, ENDPOINT_SLICES, LEASES, NODES))
"""Almost all objects of a large cluster are of these kinds: their encoded pages are searched only for markers that are
cheap to find."""


class SnapshotCleaner:
    """Redacts the content of one snapshot. Mutable: it caches cleaned values."""

    def __init__(self, keep: KeptAnnotations) -> None:
        self._keep = keep
        self._cleaners = cleaners(keep)
        self._of_json = {"told": told(keep)}
        self._decoders: dict[tuple[Resource, bool], tuple[KeptShape, Callable[[bytes], Any]]] = {}

    def page(self, resource: Resource, body: bytes) -> bytes:
        """A List of `resource` with cleaned items, and without a continue token.

        Raises:
            InvalidAnswer: it is not a list of the resource.
        """
        form, decode = self._decoder(resource)
        try:
            items = decode(body).items or ()
        except MALFORMED as error:
            raise BadObject(f"a list of {resource.plural} cannot be written down: {error}") from error
        kept = [form.cleaned(each) for each in items] if items is not msgspec.UNSET else []
        head = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "items": kept}
        made = msgspec.json.encode(head)
        return made if resource in _MANY and not suspicious(made) else self._scrubbed(made)

    def one(self, resource: Resource, doc: Doc) -> Doc:
        """A single object, with its managedFields.

        Raises:
            InvalidAnswer: it is not an object of the resource.
        """
        form, decode = self._decoder(resource, single=True)
        try:
            kept: Doc = msgspec.json.decode(
                self._scrubbed(msgspec.json.encode(form.cleaned(decode(msgspec.json.encode(doc)))))
            )
        except MALFORMED as error:
            raise BadObject(f"a {resource.kind} cannot be written down: {error}") from error
        return kept

    def document(self, of: ObjectName, doc: Doc) -> Doc | Unknown:
        """As `history`, for any kind: of a kind that is not kept, only the name is."""
        resource = _BY_KIND.get((of.api_version.rpartition("/")[0], of.kind))
        if resource is None:
            return {"metadata": {"name": of.name, "namespace": of.namespace}}
        return self.history(resource, doc)

    def history(self, resource: Resource, doc: Doc) -> Doc | Unknown:
        """As `one`, with kubectl's last-applied configuration, cleaned in the same way. Unknown if it is not an object
        of the resource."""
        try:
            kept = self.one(resource, doc)
        except BadObject as error:
            return Unknown(str(error))
        applied = document(str(at(doc, "metadata", "annotations", LAST_APPLIED) or "").encode("utf-8", "surrogatepass"))
        if applied is None:
            return kept
        try:
            text = msgspec.json.encode(self.one(resource, applied)).decode()
        except BadObject:  # a user may write anything there
            return kept
        return with_value(kept, ("metadata", "annotations", LAST_APPLIED), text)

    def text(self, text: str) -> str:
        """A log or a message."""
        return self._keep.text(text)

    def _decoder(self, resource: Resource, single: bool = False) -> tuple[KeptShape, Callable[[bytes], Any]]:
        """The decoder of its lists, or of a `single` object with its managedFields."""
        if (resource, single) not in self._decoders:
            shape = SHAPES[resource].but(metadata=OWNED) if single else SHAPES[resource]
            form = KeptShape(resource.kind, shape, self._cleaners, self._of_json)
            of = form.type if single else ListOf[form.type]  # type: ignore[name-defined]
            self._decoders[resource, single] = form, msgspec.json.Decoder(of).decode
        return self._decoders[resource, single]

    def _scrubbed(self, body: bytes) -> bytes:
        """Kept fields may still contain a known form of a secret, for example in an address or a name; it is rare."""
        return self._keep.form(body.decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")


# Lists, redacted and passed on page by page while they are read.


class CleanedLists(Keeper):
    """A reader fills it; it stores nothing. `page` receives each page, `forget` each resource whose list restarts."""

    def __init__(
        self, keeping: SnapshotCleaner, page: Callable[[Resource, bytes], None], forget: Callable[[Resource], None]
    ) -> None:
        super().__init__()
        self._keeping = keeping
        self._page = page
        self._forget = forget

    def add_page(self, resource: Resource, body: bytes) -> None:
        """Raises:
        InvalidAnswer: it cannot be written down.
        """
        self._page(resource, self._keeping.page(resource, body))

    def add_item(self, resource: Resource, raw: bytes | memoryview) -> None:
        self.add_page(resource, b'{"items":[' + bytes(raw) + b"]}")

    def forget(self, resource: Resource) -> None:
        self._forget(resource)
