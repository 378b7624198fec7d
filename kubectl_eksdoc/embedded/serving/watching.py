"""Watches: every change of a resource from a version on, as seen through the client's selectors. Also objects as bytes.

Source: apiserver pkg/storage/cacher/cacher.go, pkg/storage/etcd3/watcher.go (transform), pkg/endpoints/handlers/get.go.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.resources import ServedResource, expired
from kubectl_eksdoc.kubernetes.api.types import blank_object
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.objects.single import encode
from kubectl_eksdoc.simulator.controllers import VirtualTime
from kubectl_eksdoc.simulator.store import ObjectKey, ResourceVersionExpired, Store, StoreChange, StoredItem

from ..catalogue import (
    PARTIAL,
    PARTIAL_LIST,
    PLAIN,
    TABLE,
    ResponseForm,
    choose_form,
)
from ..tables import IncludeObject, partial, partial_list, table
from .handler import TimeDriver
from .reading import FieldSelection, number_parameter, requested_selection
from .requests import ServedRequest, ServedTarget

BOOKMARK_S = 60.0
"""Seconds between bookmarks, which tell an idle client the version from which to continue."""

LAST_BOOKMARK_S = 2.0
"""The last bookmark comes this long before a watch ends."""

DEFAULT_TIMEOUT_S = 1800.0
"""Duration of a watch without timeoutSeconds (--min-request-timeout)."""

MAX_TIMEOUT_S = 7 * 86400.0

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class WatchEvent(NamedTuple):
    """`item` None: a bookmark or an error, whose object is `doc`."""

    type: str
    item: StoredItem | None
    doc: Doc | None = None


@frozen
class _WatchOptions:
    """`version` None: from now on, after the existing objects. `initial`: the existing objects come first, then a
    bookmark."""

    target: ServedTarget
    selection: FieldSelection
    version: int | None
    initial: bool
    bookmarks: bool
    timeout_s: float


def watch_options(request: ServedRequest, target: ServedTarget) -> _WatchOptions:
    """Return the options of a watch.

    Raises:
        ApiRefusal: 400.
    """
    version = number_parameter(request, "resourceVersion")
    initial = request.flag("sendInitialEvents")
    return _WatchOptions(
        target=target,
        selection=requested_selection(request, target),
        version=None if initial else version or None,
        initial=initial,
        bookmarks=request.flag("allowWatchBookmarks"),
        timeout_s=min(float(number_parameter(request, "timeoutSeconds") or DEFAULT_TIMEOUT_S), MAX_TIMEOUT_S),
    )


class BookmarkSchedule:
    """Schedule of bookmarks for a client that wants them: each minute, and shortly before the watch's end.

    Source: apiserver pkg/storage/cacher/cache_watcher.go (nextBookmarkTime).
    """

    def __init__(self, now_s: float, options: _WatchOptions) -> None:
        self._is_requested = options.bookmarks
        self._last_s = now_s + options.timeout_s - LAST_BOOKMARK_S
        self._next_s = self._next_after(now_s)

    def is_due(self, now_s: float) -> bool:
        """Whether one is due, which counts as sent then."""
        if not self._is_requested or now_s < self._next_s:
            return False
        self._next_s = self._next_after(now_s)
        return True

    def _next_after(self, now_s: float) -> float:
        return min(now_s + BOOKMARK_S, self._last_s) if now_s < self._last_s else now_s + BOOKMARK_S


class ServedWatch:
    """One client's watch of the store. Mutable: `events` yields the events since the last call."""

    def __init__(self, store: Store, options: _WatchOptions) -> None:
        self._store = store
        self._options = options
        self._namespace = options.target.namespace if options.target.served.namespaced else ""
        self._has_started = False
        self._version = store.version if options.version is None else options.version
        self.ended = False

    def events(self) -> Iterator[WatchEvent]:
        """Yield events; an error ends the watch."""
        if not self._has_started:
            self._has_started = True
            yield from self._initial_events()
        yield from self._changes()

    def bookmark(self) -> WatchEvent:
        """Return a bookmark with the version from which to continue."""
        return self._bookmark({})

    def _initial_events(self) -> Iterator[WatchEvent]:
        if self._options.version is not None:
            return
        for item in self._store.list(self._options.target.resource, self._namespace):
            if self._options.selection.matches(item.doc):
                yield WatchEvent("ADDED", item)
        if self._options.initial and self._options.bookmarks:
            yield self._bookmark({"annotations": {INITIAL_EVENTS_END: "true"}})

    def _changes(self) -> Iterator[WatchEvent]:
        try:
            changes = list(self._store.changes_since(self._options.target.resource, self._version))
        except ResourceVersionExpired:
            oldest = self._store.oldest_version(self._options.target.resource)
            yield self._too_old_event(f"too old resource version: {self._version} ({oldest})")
            return
        for change in changes:
            self._version = change.version
            event = self._client_event(change)
            if event is not None:
                yield event
        self._version = max(self._version, self._store.version)

    def _client_event(self, change: StoreChange) -> WatchEvent | None:
        """Return the client's event: an object that starts to match is added, one that ceases to match is deleted,
        whatever the change is."""
        if self._namespace and change.key[0] != self._namespace:
            return None
        matches = self._options.selection.matches
        matched_before = change.before is not None and matches(change.before.doc)
        matches_now = not change.is_deletion and matches(change.item.doc)
        if matches_now:
            return WatchEvent("MODIFIED" if matched_before else "ADDED", change.item)
        if not matched_before:
            return None
        return WatchEvent("DELETED", _last_seen(change))

    def _too_old_event(self, text: str) -> WatchEvent:
        self.ended = True
        return WatchEvent("ERROR", None, expired(text).status.to_document())

    def _bookmark(self, extra_metadata: Doc) -> WatchEvent:
        """Return an object of the kind with only a version."""
        served = self._options.target.served
        blank = blank_object(served.api_version, served.kind)
        meta = {"resourceVersion": str(self._version), **extra_metadata}
        return WatchEvent(
            "BOOKMARK", None, {"kind": served.kind, "apiVersion": served.api_version, **blank, "metadata": meta}
        )


def _last_seen(change: StoreChange) -> StoredItem:
    """Return the object that a client loses: its former state, at the version of the change."""
    if change.is_deletion or change.before is None:
        return change.item
    previous = change.before
    meta = {**previous.meta, "resourceVersion": str(change.version)}
    return StoredItem(previous.resource, previous.key, change.version, {**previous.doc, "metadata": meta})


# Responses to watches: lines of events as they happen, until the watch's timeout.
#
# Source: apiserver pkg/endpoints/handlers/watch.go. The timeout is in real time, whatever the speed of the cluster's
# clock: it is how long a client waits.


MAX_POLL_S = 0.05
"""Maximum interval at which a watch looks for events while virtual time passes."""

EncodeEvent = Callable[[WatchEvent], bytes]
"""Returns the JSON of an event's object in the form that the client requested."""


@frozen
class Streaming:
    """`changed` guards the cluster and is notified of its changes; `advance` lets time pass there."""

    agenda: VirtualTime
    time_driver: TimeDriver
    changed: threading.Condition
    advance: Callable[[], None]
    monotonic: Callable[[], float]

    def lines(self, watch: ServedWatch, options: _WatchOptions, encode_event: EncodeEvent) -> Iterator[bytes]:
        """Call with the lock held: existing events are read at once. Later events are read when the stream is consumed,
        and the lock is held only meanwhile."""
        return self._following(watch, options, encode_event, _lines(watch, encode_event))

    def _following(
        self, watch: ServedWatch, options: _WatchOptions, encode_event: EncodeEvent, first: bytes
    ) -> Iterator[bytes]:
        yield first
        now_s = self.monotonic()
        bookmarks, end_s = BookmarkSchedule(now_s, options), now_s + options.timeout_s
        while not watch.ended and now_s < end_s:
            with self.changed:
                self.changed.wait(self._pause_s(end_s - now_s))
                self.advance()
                new_lines = _lines(watch, encode_event)
            now_s = self.monotonic()
            if bookmarks.is_due(now_s) and not watch.ended:
                new_lines += _line(watch.bookmark(), encode_event)
            yield new_lines

    def _pause_s(self, remaining_s: float) -> float:
        due_s = self.agenda.due_s
        until_s = remaining_s if due_s is None else self.time_driver.real_s(due_s - self.agenda.seconds)
        return max(0.001, min(MAX_POLL_S, remaining_s, until_s))


def _lines(watch: ServedWatch, encode_event: EncodeEvent) -> bytes:
    return b"".join([_line(event, encode_event) for event in watch.events()])


def _line(event: WatchEvent, encode_event: EncodeEvent) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (event.type.encode(), encode_event(event))


# Objects as bytes, each version encoded once: for lists, watches and single objects.


_TYPE = ("kind", "apiVersion")


def requested_form(request: ServedRequest) -> ResponseForm:
    """Return the requested form of objects and lists; plain if it is unsupported, as protobuf."""
    offered = (TABLE, PARTIAL, PARTIAL_LIST)
    return choose_form(request.headers.get("accept", ""), offered) or PLAIN


class EncodedObjects:
    """Cached bytes of the latest version of every object that was sent, without its kind."""

    def __init__(self) -> None:
        self._cached: dict[tuple[str, ObjectKey], tuple[StoredItem, bytes]] = {}

    def members(self, item: StoredItem) -> bytes:
        """Return the members of the object's JSON, without braces, kind and apiVersion."""
        name = item.resource, item.key
        cached = self._cached.get(name)
        if cached is not None and cached[0] is item:
            return cached[1]
        members_bytes = encode({key: value for key, value in item.doc.items() if key not in _TYPE})[1:-1]
        if cached is None or cached[0].version <= item.version:
            self._cached[name] = item, members_bytes
        return members_bytes

    def object_bytes(self, item: StoredItem, served: ServedResource) -> bytes:
        """Return the object; of a resource with several versions, in the requested one."""
        head = encode({"kind": served.kind, "apiVersion": served.api_version})[:-1]
        return b"%b,%b}" % (head, self.members(item))

    def list_bytes(self, items: Iterable[StoredItem], served: ServedResource, metadata: Doc) -> bytes:
        """Return a list. Items of built-in kinds have no kind, items of custom kinds have one."""
        body = b",".join(
            [self.object_bytes(item, served) for item in items]
            if served.custom
            else [b"{%b}" % self.members(item) for item in items]
        )
        head = encode({"kind": f"{served.kind}List", "apiVersion": served.api_version, "metadata": metadata})
        return b'%b,"items":[%b]}' % (head[:-1], body)


class WatchEventEncoder:
    """The bytes of one watch's events: only the first table has column definitions.

    Source: apiserver pkg/endpoints/handlers/response.go (watchEmbeddedEncoder, doTransformObject).
    """

    def __init__(
        self, request: ServedRequest, served: ServedResource, encoded: EncodedObjects, agenda: VirtualTime
    ) -> None:
        self._form = requested_form(request)
        self._include = request.parameter("includeObject")
        self._served = served
        self._encoded = encoded
        self._agenda = agenda
        self._headers = True

    def __call__(self, event: WatchEvent) -> bytes:
        if self._form != PLAIN and event.type != "ERROR":
            return encode(self._convert(event.item.doc if event.item is not None else event.doc or {}))
        return encode(event.doc) if event.item is None else self._encoded.object_bytes(event.item, self._served)

    def _convert(self, doc: Doc) -> Doc:
        headers, self._headers = self._headers, False
        return convert(self._form, self._served, [doc], None, self._agenda.now, self._include, headers)


def convert(
    form: ResponseForm,
    served: ServedResource,
    docs: Sequence[Doc],
    metadata: Doc | None,
    now: datetime,
    include: str,
    headers: bool = True,
) -> Doc:
    """Return objects as a Table, or only their metadata; `metadata` is the list's, None for a single object."""
    if form == TABLE:
        included: IncludeObject = include if include in ("Metadata", "Object", "None") else "Metadata"  # type: ignore[assignment]
        return table(served, docs, now, included, metadata, headers)
    return partial(docs[0]) if metadata is None else partial_list(docs, metadata)
