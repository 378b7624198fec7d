"""Readers over a dump or a snapshot: single objects, lists of a few kinds, pods, Events and revisions, kept unchanged
while the dump is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from kubectl_eksdoc.errors import SnapshotError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.redaction import hidden
from kubectl_eksdoc.kubernetes.schedules import parsed
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, at, named, text_at
from kubectl_eksdoc.model.findings import Subject
from kubectl_eksdoc.model.interruption import ReportedChanges, ReportedEvent, Revision, SpotEvent
from kubectl_eksdoc.model.kinds import (
    CONTROLLER_REVISIONS,
    EVENTS,
    HISTORY_OF,
    REPLICA_SETS,
    Absent,
    NotHeld,
    Resource,
    Unknown,
)
from kubectl_eksdoc.model.nodes import Container, LogOf

from .collector import MALFORMED, BadObject, in_list, named_kind, who
from .containers import containers_of
from .karpenter import BY_RESOURCE, spot_event
from .pods import SharedTexts
from .single import Keeper, NoSuchObject, RawObjects, document
from .structs import Lean, ListMeta, ListOf, Meta, Object, RawError

# Objects of one resource while they change: pages of a list and lines of a watch, as facts with their versions.
#
# Source: apimachinery pkg/apis/meta/v1/watch.go (WatchEvent), types.go (ListMeta). Versions increase over all objects
# of a server: decimal integers that clients may compare (KEP-5504; comparing was not allowed before, but worked).


class FactEventKind(Enum):
    IS = "is"  # added or modified
    GONE = "gone"
    BOOKMARK = "bookmark"  # only the version from which to continue
    ERROR = "error"  # the watch has ended


class FactEvent(NamedTuple):
    """`fact` of an existing or a deleted object; `code` and `message` of the Status of an error."""

    what: FactEventKind
    version: int = 0
    fact: Any = None
    code: int = 0
    said: str = ""


@frozen
class ListPage:
    """`items` are facts with their versions; `version` is the version of the list."""

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
    """Decodes the facts of one resource's objects, sharing equal values. For one thread."""

    def __init__(self, resource: Resource) -> None:
        kind = BY_RESOURCE[resource]
        self.resource = resource
        self._project = kind.project
        self._share = SharedTexts()
        self._decode = msgspec.json.Decoder(kind.form).decode
        self._decode_page = msgspec.json.Decoder(ListOf[kind.form]).decode  # type: ignore[name-defined]

    def page(self, body: bytes, origin: str) -> ListPage:
        """A List as the API prints it; `origin` is used in messages.

        Raises:
            InvalidAnswer: it is not a list of the resource, or one of its objects is invalid.
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
            InvalidAnswer: it is not an object of the resource, or is invalid.
        """
        try:
            item = self._decode(raw)
        except MALFORMED as error:
            raise BadObject(f"{origin}: {who(bytes(raw), self.resource)}: {error}") from error
        return self._made(item, origin)

    def event(self, line: bytes, origin: str) -> FactEvent:
        """One line of a watch.

        Raises:
            InvalidAnswer: it is not an event, or its object is invalid.
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
            fact = self._project(item, self._share)
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


# Revisions of pod templates and Events, from API objects in which any field may be missing.
#
# Source of the shapes: apps/v1 ReplicaSet and ControllerRevision, core/v1 Event (with ``series`` and ``eventTime`` if
# it was written by events.k8s.io).


_REVISION = "deployment.kubernetes.io/revision"
_LONGEST = 300
"""Characters of a message: it may contain whole objects."""


def revision(doc: Doc) -> Revision | None:
    """None if it has no controller, or no creation time."""
    made = parsed(at(doc, "metadata", "creationTimestamp"))
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
    """None if it has no time, no reason, or no object."""
    reason, kind = text_at(doc, "reason"), text_at(doc, "involvedObject", "kind")
    times = (
        at(doc, "series", "lastObservedTime"),
        doc.get("lastTimestamp"),
        doc.get("eventTime"),
        doc.get("firstTimestamp"),
        at(doc, "metadata", "creationTimestamp"),
    )
    when = next((found for text in times if (found := parsed(text)) is not None), None)
    if when is None or not reason or not kind:
        return None
    subject = Subject(kind, text_at(doc, "involvedObject", "name"), text_at(doc, "involvedObject", "namespace"))
    counts = (at(doc, "series", "count"), doc.get("count"))
    count = next((each for each in counts if isinstance(each, int) and not isinstance(each, bool) and each > 0), 1)
    message = hidden(text_at(doc, "message"))[:_LONGEST]  # may contain a probe's answer, or an image's address
    return ReportedEvent(when, reason, subject, message, doc.get("type") == "Warning", count)


_OF_KARPENTER = ("ConfigMap", "Deployment", "ServiceAccount")


class HeldObjects(Keeper):
    """A `ports.ObjectReader` and a `ports.Histories` over the objects that a reader has read into it. Mutable.

    `source`: ``the snapshot x``; `lists` are kept completely, in the namespaces of the `requested` objects.
    `karpenter`: also keep objects that may belong to Karpenter's installation, whose name is known only after the first
    pass."""

    def __init__(
        self, wanted: Collection[ObjectName], where: str, lists: Collection[Resource] = (), karpenter: bool = False
    ) -> None:
        super().__init__()
        self._installed = frozenset(_OF_KARPENTER if karpenter else ())
        self._wanted = frozenset(wanted)
        self._namespaces = {of.namespace for of in wanted}
        self._whole = {resource.kind for resource in lists}
        self.kinds = {of.kind for of in wanted} | self._whole | self._installed
        self._lists: dict[tuple[str, str], list[Doc]] = {}
        self._where = where
        self._kept: dict[ObjectName, Doc] = {}
        self._seen: set[tuple[str, str]] = set()

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The resources that a reader must be asked for, so that their objects are passed on; objects of other kinds
        are always passed on."""
        return tuple(resource for resource in kinds.ALL if resource.kind in self.kinds)

    def add_other(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        if kind not in self.kinds:
            return
        doc = document(raw)
        if doc is not None:
            whole = {**doc, "kind": kind, "apiVersion": api_version}
            of = named(whole)
            where = kind, of.namespace
            self._seen.add(where)
            if kind in self._whole and where[1] in self._namespaces:
                self._lists.setdefault(where, []).append(whole)
            installed = kind in self._installed and (kind != "ConfigMap" or "karpenter" in of.name)
            if installed or of in self._wanted:
                self._kept[of] = whole

    def one(self, of: ObjectName) -> Doc | Absent | Unknown:
        """As `ports.ObjectReader.one`; unknown if the dump has no object of the kind in the namespace."""
        found = self._kept.get(of)
        if found is not None:
            return found
        if (of.kind, of.namespace) in self._seen:
            return Absent(f"{self._where} has no {of}")
        return NotHeld(f"{self._where} holds no {of.kind}" + (f" of namespace {of.namespace}" if of.namespace else ""))

    def applied_by(self, manager: str, others: bool = False) -> Unknown:
        """As `ports.AppliedReader.applied_by`: a dump contains only some kinds, and does not say which."""
        return Unknown(f"{self._where} does not hold all kinds of objects")

    def listed(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        """As `ports.Histories.listed`; unknown if the dump has no object of the kind in the namespace."""
        found = self._lists.get((resource.kind, namespace))
        if found is None:
            return NotHeld(f"{self._where} holds no {resource.kind} of namespace {namespace}")
        return tuple(found)


# Single pods of a dump, found in a second pass: which pods are needed is known only after the first.


class HeldPods:
    """A `ports.PodReader`. `read` reads the pods into the given collector; `source`: ``the snapshot x``."""

    has_logs = False

    def __init__(self, read: Callable[[RawObjects], object], where: str) -> None:
        self._read = read
        self._where = where

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        """As `ports.PodReader.containers`."""
        wanted = _Wanted(pods)
        try:
            if pods:
                self._read(wanted)
        except SnapshotError as error:  # for example standard input, which has been read to its end
            return dict.fromkeys(pods, Unknown(f"{self._where} cannot be read once more: {error.message}"))
        return {pod: self._containers(pod, wanted.kept.get(pod)) for pod in pods}

    def logs(self, asked: Collection[LogOf]) -> Mapping[LogOf, Unknown]:
        """As `ports.PodReader.logs`."""
        return dict.fromkeys(asked, NotHeld(f"{self._where} holds no logs"))

    def _containers(self, pod: str, raw: bytes | None) -> tuple[Container, ...] | Absent | Unknown:
        if raw is None:
            return Absent(f"{self._where} has no pod {pod}")
        try:
            return containers_of(raw)
        except NoSuchObject as error:
            return Unknown(f"pod {pod} of {self._where} is none: {error}")


class _Wanted(Keeper):
    """Keeps some pods, unchanged. Mutable."""

    kinds = (kinds.PODS.kind,)

    def __init__(self, pods: Collection[str]) -> None:
        super().__init__()
        self._pods = frozenset(pods)
        self.kept: dict[str, bytes] = {}

    def add_item(self, resource: Resource, raw: bytes | memoryview) -> None:
        if resource is not kinds.PODS:
            return
        meta = _decode(raw).metadata
        key = f"{meta.namespace}/{meta.name}" if meta is not None else ""
        if key in self._pods:
            self.kept[key] = bytes(raw)


_decode = msgspec.json.Decoder(Object).decode


# Several collectors over one dump, filled while a reader reads it once.


class HeldTogether(RawObjects):
    """Mutable."""

    def __init__(self, keepers: Sequence[RawObjects]) -> None:
        super().__init__()
        self._keepers = keepers

    def add_page(self, resource: Resource, body: bytes) -> None:
        for each in self._keepers:
            each.add_page(resource, body)

    def add_item(self, resource: Resource, raw: bytes | memoryview) -> None:
        for each in self._keepers:
            each.add_item(resource, raw)

    def add_other(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        for each in self._keepers:
            each.add_other(kind, api_version, raw)

    def forget(self, resource: Resource) -> None:
        for each in self._keepers:
            each.forget(resource)


# Signs of interruptions in a dump besides its objects, kept while a reader reads it.


class HeldSigns(Keeper):
    """A `ports.Signs` over the Events that a reader has read into it. Mutable. `source`: ``the snapshot x``."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self._where = where
        self._events: list[SpotEvent] = []
        self._has_events = False

    def add_other(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        doc = document(raw) if kind == EVENTS.kind else None
        if doc is not None:
            self._has_events = True
            event = spot_event(doc)
            self._events += [event] if event is not None else []

    def events(self) -> tuple[SpotEvent, ...] | Unknown:
        """As `ports.Signs.events`."""
        return tuple(self._events) if self._has_events else NotHeld(f"{self._where} holds no Events")

    def metrics(self, pod: str, port: int) -> Unknown:
        """As `ports.Signs.metrics`."""
        return NotHeld(f"{self._where} holds nothing of what {pod} counts (port {port})")


# Past changes in a dump besides its lists, kept while a reader reads it.


_REVISIONS = (REPLICA_SETS.kind, CONTROLLER_REVISIONS.kind)


class HeldChanges(Keeper):
    """Mutable: a reader fills it. `source`: ``the snapshot x``."""

    kinds = (*_REVISIONS, EVENTS.kind)

    def __init__(self, where: str) -> None:
        super().__init__()
        self._where = where
        self._seen: set[str] = set()
        self._revisions: list[Revision] = []
        self._events: list[ReportedEvent] = []

    def add_page(self, resource: Resource, body: bytes) -> None:
        if resource.kind in self.kinds:
            self._seen.add(resource.kind)
            super().add_page(resource, body)

    def add_other(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        if kind not in self.kinds:
            return
        doc = document(raw)
        if doc is None:
            return
        self._seen.add(kind)
        if kind == EVENTS.kind:
            told = event(doc)
            self._events += [told] if told is not None else []
        else:
            made = revision({**doc, "kind": kind})
            self._revisions += [made] if made is not None else []

    def told(self) -> ReportedChanges:
        """A kind without any object counts as not held: it is not known whether there was one."""
        made = tuple(dict.fromkeys(self._revisions))
        revisions = {
            kind: tuple(each for each in made if each.of.kind == kind)
            if kept.kind in self._seen
            else NotHeld(f"{self._where} holds no {kept.plural}")
            for kind, kept in HISTORY_OF.items()
        }
        events = tuple(dict.fromkeys(self._events))
        held = EVENTS.kind in self._seen
        return ReportedChanges(revisions, events if held else NotHeld(f"{self._where} holds no events"))
