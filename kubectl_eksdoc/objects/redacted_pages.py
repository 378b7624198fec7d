"""Redacted lists and single objects for a snapshot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from kubectl_eksdoc.amazon.written_kinds import LAST_APPLIED
from kubectl_eksdoc.kubernetes.redaction import Redactor, may_contain_secret
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, nested_field, with_value
from kubectl_eksdoc.model.kinds import ENDPOINT_SLICES, LEASES, NODES, PODS, REPLICA_SETS, Resource, Unknown

from .collector import DECODE_ERRORS, InvalidAnswer
from .redaction import FIELDS_BY_RESOURCE, META_WITH_MANAGED_FIELDS, RedactingDecoder, cleaners, messages_cleaner
from .single import SelectiveCollector, decode_object
from .structs import ListStruct

_BY_KIND = {(resource.group, resource.kind): resource for resource in FIELDS_BY_RESOURCE}

_NUMEROUS = frozenset((PODS, REPLICA_SETS, ENDPOINT_SLICES, LEASES, NODES))
"""Almost all objects of a large cluster are of these kinds: their encoded pages are searched only for markers that are
cheap to find."""


class SnapshotRedactor:
    """Redacts the content of one snapshot. Mutable: it caches cleaned values."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._cleaners = cleaners(redactor)
        self._of_json = {"told": messages_cleaner(redactor)}
        self._decoders: dict[tuple[Resource, bool], tuple[RedactingDecoder, Callable[[bytes], Any]]] = {}

    def page(self, resource: Resource, body: bytes) -> bytes:
        """A List of `resource` with cleaned items, and without a continue token.

        Raises:
            InvalidAnswer: it is not a list of the resource.
        """
        form, decode = self._decoder(resource)
        try:
            items = decode(body).items or ()
        except DECODE_ERRORS as error:
            raise InvalidAnswer(f"a list of {resource.plural} cannot be written down: {error}") from error
        cleaned_items = [form.cleaned(each) for each in items] if items is not msgspec.UNSET else []
        head = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "items": cleaned_items}
        encoded = msgspec.json.encode(head)
        return (
            encoded
            if resource in _NUMEROUS and not may_contain_secret(encoded)
            else self._without_known_secrets(encoded)
        )

    def one(self, resource: Resource, doc: Doc) -> Doc:
        """A single object, with its managedFields.

        Raises:
            InvalidAnswer: it is not an object of the resource.
        """
        form, decode = self._decoder(resource, single=True)
        try:
            cleaned: Doc = msgspec.json.decode(
                self._without_known_secrets(msgspec.json.encode(form.cleaned(decode(msgspec.json.encode(doc)))))
            )
        except DECODE_ERRORS as error:
            raise InvalidAnswer(f"a {resource.kind} cannot be written down: {error}") from error
        return cleaned

    def document(self, name: ObjectName, doc: Doc) -> Doc | Unknown:
        """As `history`, for any kind: of a kind that is not kept, only the name is."""
        resource = _BY_KIND.get((name.api_version.rpartition("/")[0], name.kind))
        if resource is None:
            return {"metadata": {"name": name.name, "namespace": name.namespace}}
        return self.history(resource, doc)

    def history(self, resource: Resource, doc: Doc) -> Doc | Unknown:
        """As `one`, with kubectl's last-applied configuration, cleaned in the same way. Unknown if it is not an object
        of the resource."""
        try:
            cleaned = self.one(resource, doc)
        except InvalidAnswer as error:
            return Unknown(str(error))
        applied = decode_object(
            str(nested_field(doc, "metadata", "annotations", LAST_APPLIED) or "").encode("utf-8", "surrogatepass")
        )
        if applied is None:
            return cleaned
        try:
            text = msgspec.json.encode(self.one(resource, applied)).decode()
        except InvalidAnswer:  # a user may write anything there
            return cleaned
        return with_value(cleaned, ("metadata", "annotations", LAST_APPLIED), text)

    def text(self, text: str) -> str:
        """A log or a message."""
        return self._redactor.text(text)

    def _decoder(self, resource: Resource, single: bool = False) -> tuple[RedactingDecoder, Callable[[bytes], Any]]:
        """The decoder of its lists, or of a `single` object with its managedFields."""
        if (resource, single) not in self._decoders:
            shape = (
                FIELDS_BY_RESOURCE[resource].with_nested(metadata=META_WITH_MANAGED_FIELDS)
                if single
                else FIELDS_BY_RESOURCE[resource]
            )
            form = RedactingDecoder(resource.kind, shape, self._cleaners, self._of_json)
            decoded_type = form.type if single else ListStruct[form.type]  # type: ignore[name-defined]
            self._decoders[resource, single] = form, msgspec.json.Decoder(decoded_type).decode
        return self._decoders[resource, single]

    def _without_known_secrets(self, body: bytes) -> bytes:
        """Kept fields may still contain a known form of a secret, for example in an address or a name; it is rare."""
        return self._redactor.redact_forms(body.decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")


# Lists, redacted and passed on page by page while they are read.


class RedactedLists(SelectiveCollector):
    """A reader fills it; it stores nothing. `page` receives each page, `forget` each resource whose list restarts."""

    def __init__(
        self, redactor: SnapshotRedactor, page: Callable[[Resource, bytes], None], forget: Callable[[Resource], None]
    ) -> None:
        super().__init__()
        self._redactor = redactor
        self._page = page
        self._forget = forget

    def add_page(self, resource: Resource, body: bytes) -> None:
        """Raises:
        InvalidAnswer: it cannot be written down.
        """
        self._page(resource, self._redactor.page(resource, body))

    def add_item(self, resource: Resource, raw: bytes | memoryview) -> None:
        self.add_page(resource, b'{"items":[' + bytes(raw) + b"]}")

    def forget(self, resource: Resource) -> None:
        self._forget(resource)
