"""Readers over a dump or a snapshot: single objects, lists of a few kinds, pods, Events and revisions, kept unchanged
while the dump is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from kubectl_eksdoc.errors import SnapshotError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.redaction import redact_message
from kubectl_eksdoc.kubernetes.schedules import parse_time
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, nested_field, nested_string, object_name
from kubectl_eksdoc.model.findings import Subject
from kubectl_eksdoc.model.interruption import InterruptionEvent, KubernetesEvent, ReportedChanges, Revision
from kubectl_eksdoc.model.kinds import (
    CONTROLLER_REVISIONS,
    EVENTS,
    HISTORY_KINDS,
    REPLICA_SETS,
    Absent,
    NotInSnapshot,
    Resource,
    Unknown,
)
from kubectl_eksdoc.model.nodes import Container, LogKey

from .collector import DECODE_ERRORS, InvalidAnswer, describe_kind, list_error, object_label
from .containers import decode_containers
from .karpenter import BY_RESOURCE, interruption_event
from .pods import SharedValues
from .single import InvalidObjectKind, RawObjects, SelectiveCollector, decode_object
from .structs import LeanStruct, ListMeta, ListStruct, ObjectMeta, ObjectStruct, RawError

# Objects of one resource while they change: pages of a list and lines of a watch, as facts with their versions.
#
# Source: apimachinery pkg/apis/meta/v1/watch.go (WatchEvent), types.go (ListMeta). Versions increase over all objects
# of a server: decimal integers that clients may compare (KEP-5504; comparing was not allowed before, but worked).


class FactEventKind(Enum):
    CHANGED = "is"  # added or modified
    REMOVED = "gone"
    BOOKMARK = "bookmark"  # only the version from which to continue
    ERROR = "error"  # the watch has ended


class FactEvent(NamedTuple):
    """`fact` of an existing or a deleted object; `code` and `message` of the Status of an error."""

    kind: FactEventKind
    version: int = 0
    fact: Any = None
    code: int = 0
    message: str = ""


@frozen
class ListPage:
    """`items` are facts with their versions; `version` is the version of the list."""

    items: list[tuple[Any, int]]
    version: int
    continue_token: str


class _WatchLine(LeanStruct):
    type: str
    object: msgspec.Raw


class _Bookmark(LeanStruct):
    metadata: ListMeta


class _Status(LeanStruct):
    code: int | None = None
    message: str | None = None


_decode_line = msgspec.json.Decoder(_WatchLine).decode
_decode_bookmark = msgspec.json.Decoder(_Bookmark).decode
_decode_status = msgspec.json.Decoder(_Status).decode
_CHANGE_TYPES = frozenset(("ADDED", "MODIFIED"))


class WatchDecoder:
    """Decodes the facts of one resource's objects, sharing equal values. For one thread."""

    def __init__(self, resource: Resource) -> None:
        kind = BY_RESOURCE[resource]
        self.resource = resource
        self._project = kind.project
        self._share = SharedValues()
        self._decode = msgspec.json.Decoder(kind.struct).decode
        self._decode_page = msgspec.json.Decoder(ListStruct[kind.struct]).decode  # type: ignore[name-defined]

    def page(self, body: bytes, origin: str) -> ListPage:
        """A List as the API prints it; `origin` is used in messages.

        Raises:
            InvalidAnswer: it is not a list of the resource, or one of its objects is invalid.
        """
        try:
            page = self._decode_page(body)
        except DECODE_ERRORS as error:
            raise InvalidAnswer(list_error(error, body, self.resource, origin)) from error
        if page.items is msgspec.UNSET:
            raise InvalidAnswer(f"{origin}: expected a list of {self.resource.plural}, got {describe_kind(page.kind)}")
        meta = page.metadata or ListMeta()
        items = [self._fact_and_version(item, origin) for item in page.items or ()]
        version = _version_number(meta.resource_version, origin, f"the list of {self.resource.plural}")
        return ListPage(items, version, meta.continue_token or "")

    def object(self, raw: bytes | msgspec.Raw, origin: str) -> tuple[Any, int]:
        """One object.

        Raises:
            InvalidAnswer: it is not an object of the resource, or is invalid.
        """
        try:
            item = self._decode(raw)
        except DECODE_ERRORS as error:
            raise InvalidAnswer(f"{origin}: {object_label(bytes(raw), self.resource)}: {error}") from error
        return self._fact_and_version(item, origin)

    def event(self, line: bytes, origin: str) -> FactEvent:
        """One line of a watch.

        Raises:
            InvalidAnswer: it is not an event, or its object is invalid.
        """
        try:
            watch_line = _decode_line(line)
            if watch_line.type in _CHANGE_TYPES:
                fact, version = self.object(watch_line.object, origin)
                return FactEvent(FactEventKind.CHANGED, version, fact)
            if watch_line.type == "DELETED":
                fact, version = self.object(watch_line.object, origin)
                return FactEvent(FactEventKind.REMOVED, version, fact)
            if watch_line.type == "BOOKMARK":
                text = _decode_bookmark(watch_line.object).metadata.resource_version
                return FactEvent(FactEventKind.BOOKMARK, _version_number(text, origin, "a bookmark"))
            status = _decode_status(watch_line.object)
        except DECODE_ERRORS as error:
            raise InvalidAnswer(f"{origin}: a line of a watch of {self.resource.plural}: {error}") from error
        if watch_line.type != "ERROR":
            raise InvalidAnswer(f"{origin}: an event of the type {watch_line.type[:40]!r}")
        return FactEvent(FactEventKind.ERROR, code=status.code or 0, message=status.message or "")

    def _fact_and_version(self, item: ObjectStruct, origin: str) -> tuple[Any, int]:
        meta, kind = item.metadata, self.resource.kind
        if meta is None or not meta.name or not meta.uid or (self.resource.namespaced and not meta.namespace):
            raise InvalidAnswer(f"{origin}: a {kind} lacks its name, namespace or uid at `$.metadata`")
        if item.kind and item.kind != kind:
            raise InvalidAnswer(f"{origin}: {item.kind} {meta.name} among {self.resource.plural}")
        try:
            fact = self._project(item, self._share)
        except RawError as error:
            raise InvalidAnswer(f"{origin}: {_object_label(kind, meta)}: {error}") from error
        return fact, _version_number(meta.resource_version, origin, kind, meta)


def _object_label(kind: str, meta: ObjectMeta) -> str:
    return f"{kind} {meta.namespace}/{meta.name}" if meta.namespace else f"{kind} {meta.name}"


def _version_number(text: str | None, origin: str, kind: str, meta: ObjectMeta | None = None) -> int:
    if text is None or not (text.isascii() and text.isdigit()):
        label = kind if meta is None else _object_label(kind, meta)
        raise InvalidAnswer(f"{origin}: {label} has no resourceVersion that is a number: {text!r}")
    return int(text)


# Revisions of pod templates and Events, from API objects in which any field may be missing.
#
# Source of the shapes: apps/v1 ReplicaSet and ControllerRevision, core/v1 Event (with ``series`` and ``eventTime`` if
# it was written by events.k8s.io).


_REVISION_ANNOTATION = "deployment.kubernetes.io/revision"
_MAX_MESSAGE = 300
"""Characters of a message: it may contain whole objects."""


def revision_from_document(doc: Doc) -> Revision | None:
    """None if it has no controller, or no creation time."""
    created_at = parse_time(nested_field(doc, "metadata", "creationTimestamp"))
    owners = nested_field(doc, "metadata", "ownerReferences")
    owner = next((each for each in owners if _is_controller(each)), None) if isinstance(owners, list) else None
    if created_at is None or owner is None:
        return None
    number = (
        nested_field(doc, "metadata", "annotations", _REVISION_ANNOTATION)
        if doc.get("kind") == "ReplicaSet"
        else doc.get("revision")
    )
    subject = Subject(owner["kind"], owner["name"], nested_string(doc, "metadata", "namespace"))
    return Revision(subject, created_at, str(number) if isinstance(number, (str, int)) else "")


def _is_controller(owner: Any) -> bool:
    return (
        isinstance(owner, dict)
        and owner.get("controller") is True
        and isinstance(owner.get("kind"), str)
        and isinstance(owner.get("name"), str)
    )


def event_from_document(doc: Doc) -> KubernetesEvent | None:
    """None if it has no time, no reason, or no object."""
    reason, kind = nested_string(doc, "reason"), nested_string(doc, "involvedObject", "kind")
    times = (
        nested_field(doc, "series", "lastObservedTime"),
        doc.get("lastTimestamp"),
        doc.get("eventTime"),
        doc.get("firstTimestamp"),
        nested_field(doc, "metadata", "creationTimestamp"),
    )
    last_seen = next((time for text in times if (time := parse_time(text)) is not None), None)
    if last_seen is None or not reason or not kind:
        return None
    subject = Subject(
        kind, nested_string(doc, "involvedObject", "name"), nested_string(doc, "involvedObject", "namespace")
    )
    counts = (nested_field(doc, "series", "count"), doc.get("count"))
    count = next((each for each in counts if isinstance(each, int) and not isinstance(each, bool) and each > 0), 1)
    message = redact_message(nested_string(doc, "message"))[
        :_MAX_MESSAGE
    ]  # may contain a probe's answer, or an image's address
    return KubernetesEvent(last_seen, reason, subject, message, doc.get("type") == "Warning", count)


_KARPENTER_KINDS = ("ConfigMap", "Deployment", "ServiceAccount")


class DumpObjectReader(SelectiveCollector):
    """A `ports.ObjectReader` and a `ports.HistoryReader` over the objects that a reader has read into it. Mutable.

    `source`: ``the snapshot x``; `lists` are kept completely, in the namespaces of the `requested` objects.
    `karpenter`: also keep objects that may belong to Karpenter's installation, whose name is known only after the first
    pass."""

    def __init__(
        self, requested: Collection[ObjectName], source: str, lists: Collection[Resource] = (), karpenter: bool = False
    ) -> None:
        super().__init__()
        self._karpenter_kinds = frozenset(_KARPENTER_KINDS if karpenter else ())
        self._requested = frozenset(requested)
        self._namespaces = {name.namespace for name in requested}
        self._listed_kinds = {resource.kind for resource in lists}
        self.kinds = {name.kind for name in requested} | self._listed_kinds | self._karpenter_kinds
        self._lists: dict[tuple[str, str], list[Doc]] = {}
        self._source = source
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
        doc = decode_object(raw)
        if doc is not None:
            complete = {**doc, "kind": kind, "apiVersion": api_version}
            name = object_name(complete)
            kind_and_namespace = kind, name.namespace
            self._seen.add(kind_and_namespace)
            if kind in self._listed_kinds and kind_and_namespace[1] in self._namespaces:
                self._lists.setdefault(kind_and_namespace, []).append(complete)
            of_karpenter = kind in self._karpenter_kinds and (kind != "ConfigMap" or "karpenter" in name.name)
            if of_karpenter or name in self._requested:
                self._kept[name] = complete

    def read_object(self, of: ObjectName) -> Doc | Absent | Unknown:
        """As `ports.ObjectReader.read_object`; unknown if the dump has no object of the kind in the namespace."""
        kept_document = self._kept.get(of)
        if kept_document is not None:
            return kept_document
        if (of.kind, of.namespace) in self._seen:
            return Absent(f"{self._source} has no {of}")
        return NotInSnapshot(
            f"{self._source} holds no {of.kind}" + (f" of namespace {of.namespace}" if of.namespace else "")
        )

    def applied_by(self, manager: str, others: bool = False) -> Unknown:
        """As `ports.AppliedReader.applied_by`: a dump contains only some kinds, and does not say which."""
        return Unknown(f"{self._source} does not hold all kinds of objects")

    def list_history(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        """As `ports.HistoryReader.list_history`; unknown if the dump has no object of the kind in the namespace."""
        documents = self._lists.get((resource.kind, namespace))
        if documents is None:
            return NotInSnapshot(f"{self._source} holds no {resource.kind} of namespace {namespace}")
        return tuple(documents)


# Single pods of a dump, found in a second pass: which pods are needed is known only after the first.


class DumpPodReader:
    """A `ports.PodReader`. `read` reads the pods into the given collector; `source`: ``the snapshot x``."""

    has_logs = False

    def __init__(self, read: Callable[[RawObjects], object], source: str) -> None:
        self._read = read
        self._source = source

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        """As `ports.PodReader.containers`."""
        collector = _PodCollector(pods)
        try:
            if pods:
                self._read(collector)
        except SnapshotError as error:  # for example standard input, which has been read to its end
            return dict.fromkeys(pods, Unknown(f"{self._source} cannot be read once more: {error.message}"))
        return {pod: self._containers(pod, collector.kept.get(pod)) for pod in pods}

    def logs(self, asked: Collection[LogKey]) -> Mapping[LogKey, Unknown]:
        """As `ports.PodReader.logs`."""
        return dict.fromkeys(asked, NotInSnapshot(f"{self._source} holds no logs"))

    def _containers(self, pod: str, raw: bytes | None) -> tuple[Container, ...] | Absent | Unknown:
        if raw is None:
            return Absent(f"{self._source} has no pod {pod}")
        try:
            return decode_containers(raw)
        except InvalidObjectKind as error:
            return Unknown(f"pod {pod} of {self._source} is none: {error}")


class _PodCollector(SelectiveCollector):
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


_decode = msgspec.json.Decoder(ObjectStruct).decode


# Several collectors over one dump, filled while a reader reads it once.


class CombinedCollector(RawObjects):
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


class DumpSignReader(SelectiveCollector):
    """A `ports.InterruptionReader` over the Events that a reader has read into it. `source`: ``the snapshot x``."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self._source = source
        self._events: list[InterruptionEvent] = []
        self._has_events = False

    def add_other(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        doc = decode_object(raw) if kind == EVENTS.kind else None
        if doc is not None:
            self._has_events = True
            event = interruption_event(doc)
            self._events += [event] if event is not None else []

    def events(self) -> tuple[InterruptionEvent, ...] | Unknown:
        """As `ports.InterruptionReader.events`."""
        return tuple(self._events) if self._has_events else NotInSnapshot(f"{self._source} holds no Events")

    def metrics(self, pod: str, port: int) -> Unknown:
        """As `ports.InterruptionReader.metrics`."""
        return NotInSnapshot(f"{self._source} holds nothing of what {pod} counts (port {port})")


# Past changes in a dump besides its lists, kept while a reader reads it.


_REVISIONS = (REPLICA_SETS.kind, CONTROLLER_REVISIONS.kind)


class DumpChangeReader(SelectiveCollector):
    """Mutable: a reader fills it. `source`: ``the snapshot x``."""

    kinds = (*_REVISIONS, EVENTS.kind)

    def __init__(self, source: str) -> None:
        super().__init__()
        self._source = source
        self._kinds_seen: set[str] = set()
        self._revisions: list[Revision] = []
        self._events: list[KubernetesEvent] = []

    def add_page(self, resource: Resource, body: bytes) -> None:
        if resource.kind in self.kinds:
            self._kinds_seen.add(resource.kind)
            super().add_page(resource, body)

    def add_other(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        if kind not in self.kinds:
            return
        doc = decode_object(raw)
        if doc is None:
            return
        self._kinds_seen.add(kind)
        if kind == EVENTS.kind:
            reported_event = event_from_document(doc)
            self._events += [reported_event] if reported_event is not None else []
        else:
            new_revision = revision_from_document({**doc, "kind": kind})
            self._revisions += [new_revision] if new_revision is not None else []

    def reported_changes(self) -> ReportedChanges:
        """A kind without any object counts as not held: it is not known whether there was one."""
        all_revisions = tuple(dict.fromkeys(self._revisions))
        revisions = {
            kind: tuple(each for each in all_revisions if each.of.kind == kind)
            if resource.kind in self._kinds_seen
            else NotInSnapshot(f"{self._source} holds no {resource.plural}")
            for kind, resource in HISTORY_KINDS.items()
        }
        events = tuple(dict.fromkeys(self._events))
        has_events = EVENTS.kind in self._kinds_seen
        return ReportedChanges(revisions, events if has_events else NotInSnapshot(f"{self._source} holds no events"))
