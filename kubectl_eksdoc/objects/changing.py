"""Objects of one resource while they change: pages of a list and lines of a watch, as facts with their versions.

Source: apimachinery pkg/apis/meta/v1/watch.go (WatchEvent), types.go (ListMeta). Versions count up, for all objects of
a server: decimal integers that clients may compare (KEP-5504; before it they might not, and could).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from kubectl_eksdoc.kubernetes.keeping import hidden
from kubectl_eksdoc.model.api_objects import Doc, at, text_at
from kubectl_eksdoc.model.changes import ReportedEvent, Revision
from kubectl_eksdoc.model.findings import Subject
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.objects.catalogue import BY_RESOURCE
from kubectl_eksdoc.objects.collector import MALFORMED, BadObject, in_list, named_kind, who
from kubectl_eksdoc.objects.sharing import SharedTexts
from kubectl_eksdoc.objects.structs import Lean, ListMeta, ListOf, Meta, Object, RawError, moment


class FactEventKind(Enum):
    IS = "is"  # added or changed
    GONE = "gone"
    BOOKMARK = "bookmark"  # nothing but from which version to go on
    ERROR = "error"  # the watch is over


class FactEvent(NamedTuple):
    """`fact` of what is, or was as it went; `code` and `said` of an error: its Status."""

    what: FactEventKind
    version: int = 0
    fact: Any = None
    code: int = 0
    said: str = ""


@dataclass(frozen=True, slots=True)
class ListPage:
    """`items` are facts with their versions; `version` is the list's."""

    items: list[tuple[Any, int]]
    version: int
    continue_token: str


class _Line(Lean):
    type: str
    object: msgspec.Raw


class _Bookmark(Lean):
    metadata: ListMeta


class _Status(Lean):
    code: int | None = None
    message: str | None = None


_decode_line = msgspec.json.Decoder(_Line).decode
_decode_bookmark = msgspec.json.Decoder(_Bookmark).decode
_decode_status = msgspec.json.Decoder(_Status).decode
_IS = frozenset(("ADDED", "MODIFIED"))


class Changing:
    """The facts of one resource's objects, sharing what they have in common. For one thread."""

    def __init__(self, resource: Resource) -> None:
        kind = BY_RESOURCE[resource]
        self.resource = resource
        self._project = kind.project
        self._share = SharedTexts()
        self._decode = msgspec.json.Decoder(kind.form).decode
        self._decode_page = msgspec.json.Decoder(ListOf[kind.form]).decode  # type: ignore[name-defined]

    def page(self, body: bytes, origin: str) -> ListPage:
        """A List as the API prints it; `origin` is for messages.

        Raises:
            BadObject: it is none, or one of its objects cannot be.
        """
        try:
            page = self._decode_page(body)
        except MALFORMED as error:
            raise BadObject(in_list(error, body, self.resource, origin)) from error
        if page.items is msgspec.UNSET:
            raise BadObject(f"{origin}: expected a list of {self.resource.plural}, got {named_kind(page.kind)}")
        meta = page.metadata or ListMeta()
        items = [self._made(item, origin) for item in page.items or ()]
        version = _number(meta.resource_version, origin, f"the list of {self.resource.plural}")
        return ListPage(items, version, meta.continue_token or "")

    def object(self, raw: bytes | msgspec.Raw, origin: str) -> tuple[Any, int]:
        """One object.

        Raises:
            BadObject: it is none of the resource, or cannot be.
        """
        try:
            item = self._decode(raw)
        except MALFORMED as error:
            raise BadObject(f"{origin}: {who(bytes(raw), self.resource)}: {error}") from error
        return self._made(item, origin)

    def event(self, line: bytes, origin: str) -> FactEvent:
        """One line of a watch.

        Raises:
            BadObject: it is no event, or its object cannot be.
        """
        try:
            told = _decode_line(line)
            if told.type in _IS:
                fact, version = self.object(told.object, origin)
                return FactEvent(FactEventKind.IS, version, fact)
            if told.type == "DELETED":
                fact, version = self.object(told.object, origin)
                return FactEvent(FactEventKind.GONE, version, fact)
            if told.type == "BOOKMARK":
                text = _decode_bookmark(told.object).metadata.resource_version
                return FactEvent(FactEventKind.BOOKMARK, _number(text, origin, "a bookmark"))
            status = _decode_status(told.object)
        except MALFORMED as error:
            raise BadObject(f"{origin}: a line of a watch of {self.resource.plural}: {error}") from error
        if told.type != "ERROR":
            raise BadObject(f"{origin}: an event of the type {told.type[:40]!r}")
        return FactEvent(FactEventKind.ERROR, code=status.code or 0, said=status.message or "")

    def _made(self, item: Object, origin: str) -> tuple[Any, int]:
        meta, kind = item.metadata, self.resource.kind
        if meta is None or not meta.name or not meta.uid or (self.resource.namespaced and not meta.namespace):
            raise BadObject(f"{origin}: a {kind} lacks its name, namespace or uid at `$.metadata`")
        if item.kind and item.kind != kind:
            raise BadObject(f"{origin}: {item.kind} {meta.name} among {self.resource.plural}")
        try:
            fact, _ = self._project(item, self._share)
        except RawError as error:
            raise BadObject(f"{origin}: {_named(kind, meta)}: {error}") from error
        return fact, _number(meta.resource_version, origin, kind, meta)


def _named(kind: str, meta: Meta) -> str:
    return f"{kind} {meta.namespace}/{meta.name}" if meta.namespace else f"{kind} {meta.name}"


def _number(text: str | None, origin: str, kind: str, meta: Meta | None = None) -> int:
    if text is None or not (text.isascii() and text.isdigit()):
        whose = kind if meta is None else _named(kind, meta)
        raise BadObject(f"{origin}: {whose} has no resourceVersion that is a number: {text!r}")
    return int(text)


# Revisions of pod templates and Events, of API objects that may lack anything.
#
# Source of the shapes: apps/v1 ReplicaSet and ControllerRevision, core/v1 Event (with ``series`` and ``eventTime``
# where it was written by events.k8s.io).


_REVISION = "deployment.kubernetes.io/revision"
_LONGEST = 300
"""Characters of a message: it may hold whole objects."""


def revision(doc: Doc) -> Revision | None:
    """None where it has no controller, or does not say when it was made."""
    made = moment(at(doc, "metadata", "creationTimestamp"))
    owners = at(doc, "metadata", "ownerReferences")
    owner = next((each for each in owners if _controls(each)), None) if isinstance(owners, list) else None
    if made is None or owner is None:
        return None
    number = at(doc, "metadata", "annotations", _REVISION) if doc.get("kind") == "ReplicaSet" else doc.get("revision")
    subject = Subject(owner["kind"], owner["name"], text_at(doc, "metadata", "namespace"))
    return Revision(subject, made, str(number) if isinstance(number, (str, int)) else "")


def _controls(owner: Any) -> bool:
    return (
        isinstance(owner, dict)
        and owner.get("controller") is True
        and isinstance(owner.get("kind"), str)
        and isinstance(owner.get("name"), str)
    )


def event(doc: Doc) -> ReportedEvent | None:
    """None where it says neither when nor of what."""
    reason, kind = text_at(doc, "reason"), text_at(doc, "involvedObject", "kind")
    times = (
        at(doc, "series", "lastObservedTime"),
        doc.get("lastTimestamp"),
        doc.get("eventTime"),
        doc.get("firstTimestamp"),
        at(doc, "metadata", "creationTimestamp"),
    )
    when = next((found for text in times if (found := moment(text)) is not None), None)
    if when is None or not reason or not kind:
        return None
    subject = Subject(kind, text_at(doc, "involvedObject", "name"), text_at(doc, "involvedObject", "namespace"))
    counts = (at(doc, "series", "count"), doc.get("count"))
    count = next((each for each in counts if isinstance(each, int) and not isinstance(each, bool) and each > 0), 1)
    message = hidden(text_at(doc, "message"))[:_LONGEST]  # a probe's answer, an image's address
    return ReportedEvent(when, reason, subject, message, doc.get("type") == "Warning", count)
