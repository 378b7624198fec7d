"""Watches: every change of a resource from a version on, as seen through the client's selectors. Also objects as bytes.

Source: apiserver pkg/storage/cacher/cacher.go, pkg/storage/etcd3/watcher.go (transform), pkg/endpoints/handlers/get.go.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.resources import Served, expired
from kubectl_eksdoc.kubernetes.api.types import blank_of
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.objects.single import encode
from kubectl_eksdoc.simulator.controllers import VirtualTime
from kubectl_eksdoc.simulator.store import Key, ResourceVersionExpired, Store, StoreChange, StoredItem

from ..catalogue import (
    PARTIAL,
    PARTIAL_LIST,
    PLAIN,
    TABLE,
    AnswerForm,
    choose,
)
from ..tables import IncludeObject, partial, partial_list, table
from .handler import TimeDriver
from .reading import FieldSelection, choice_of, number
from .requests import ServedRequest, ServedTarget

BOOKMARK_S = 60.0
"""Seconds between bookmarks, which tell an idle client the version from which to continue."""

BEFORE_END_S = 2.0
"""The last bookmark comes this long before a watch ends."""

DEFAULT_S = 1800.0
"""Duration of a watch without timeoutSeconds (--min-request-timeout)."""

LONGEST_S = 7 * 86400.0

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class WatchEvent(NamedTuple):
    """`item` None: a bookmark or an error, whose object is `doc`."""

    type: str
    item: StoredItem | None
    doc: Doc | None = None


@frozen
class _Asked:
    """`version` None: from now on, after the existing objects. `initial`: the existing objects come first, then a
    bookmark."""

    target: ServedTarget
    choice: FieldSelection
    version: int | None
    initial: bool
    bookmarks: bool
    seconds: float


def asked(request: ServedRequest, target: ServedTarget) -> _Asked:
    """Return the options of a watch.

    Raises:
        ApiRefusal: 400.
    """
    version = number(request, "resourceVersion")
    initial = request.flag("sendInitialEvents")
    return _Asked(
        target=target,
        choice=choice_of(request, target),
        version=None if initial else version or None,
        initial=initial,
        bookmarks=request.flag("allowWatchBookmarks"),
        seconds=min(float(number(request, "timeoutSeconds") or DEFAULT_S), LONGEST_S),
    )


class Bookmarks:
    """Schedule of bookmarks for a client that wants them: each minute, and shortly before the watch's end.

    Source: apiserver pkg/storage/cacher/cache_watcher.go (nextBookmarkTime).
    """

    def __init__(self, now_s: float, what: _Asked) -> None:
        self._wanted = what.bookmarks
        self._last_s = now_s + what.seconds - BEFORE_END_S
        self._next_s = self._following(now_s)

    def due(self, now_s: float) -> bool:
        """Whether one is due, which counts as sent then."""
        if not self._wanted or now_s < self._next_s:
            return False
        self._next_s = self._following(now_s)
        return True

    def _following(self, now_s: float) -> float:
        return min(now_s + BOOKMARK_S, self._last_s) if now_s < self._last_s else now_s + BOOKMARK_S


class ServedWatch:
    """One client's watch of the store. Mutable: `events` yields the events since the last call."""

    def __init__(self, store: Store, what: _Asked) -> None:
        self._store = store
        self._asked = what
        self._namespace = what.target.namespace if what.target.served.namespaced else ""
        self._begun = False
        self._version = store.version if what.version is None else what.version
        self.ended = False

    def news(self) -> Iterator[WatchEvent]:
        """Yield events; an error ends the watch."""
        if not self._begun:
            self._begun = True
            yield from self._first()
        yield from self._changes()

    def bookmark(self) -> WatchEvent:
        """Return a bookmark with the version from which to continue."""
        return self._bookmark({})

    def _first(self) -> Iterator[WatchEvent]:
        if self._asked.version is not None:
            return
        for item in self._store.list(self._asked.target.resource, self._namespace):
            if self._asked.choice.takes(item.doc):
                yield WatchEvent("ADDED", item)
        if self._asked.initial and self._asked.bookmarks:
            yield self._bookmark({"annotations": {INITIAL_EVENTS_END: "true"}})

    def _changes(self) -> Iterator[WatchEvent]:
        try:
            changes = list(self._store.since(self._asked.target.resource, self._version))
        except ResourceVersionExpired:
            oldest = self._store.oldest(self._asked.target.resource)
            yield self._too_old(f"too old resource version: {self._version} ({oldest})")
            return
        for change in changes:
            self._version = change.version
            event = self._seen(change)
            if event is not None:
                yield event
        self._version = max(self._version, self._store.version)

    def _seen(self, change: StoreChange) -> WatchEvent | None:
        """Return the client's event: an object that starts to match is added, one that ceases to match is deleted,
        whatever the change is."""
        if self._namespace and change.key[0] != self._namespace:
            return None
        takes = self._asked.choice.takes
        was = change.before is not None and takes(change.before.doc)
        now = not change.gone and takes(change.item.doc)
        if now:
            return WatchEvent("MODIFIED" if was else "ADDED", change.item)
        if not was:
            return None
        return WatchEvent("DELETED", _last_seen(change))

    def _too_old(self, text: str) -> WatchEvent:
        self.ended = True
        return WatchEvent("ERROR", None, expired(text).status.doc())

    def _bookmark(self, more: Doc) -> WatchEvent:
        """Return an object of the kind with only a version."""
        served = self._asked.target.served
        blank = blank_of(served.api_version, served.kind)
        meta = {"resourceVersion": str(self._version), **more}
        return WatchEvent(
            "BOOKMARK", None, {"kind": served.kind, "apiVersion": served.api_version, **blank, "metadata": meta}
        )


def _last_seen(change: StoreChange) -> StoredItem:
    """Return the object that a client loses: its former state, at the version of the change."""
    if change.gone or change.before is None:
        return change.item
    before = change.before
    meta = {**before.meta, "resourceVersion": str(change.version)}
    return StoredItem(before.resource, before.key, change.version, {**before.doc, "metadata": meta})


# Responses to watches: lines of events as they happen, until the watch's timeout.
#
# Source: apiserver pkg/endpoints/handlers/watch.go. The timeout is in real time, whatever the speed of the cluster's
# clock: it is how long a client waits.


LOOK_S = 0.05
"""Maximum interval at which a watch looks for events while virtual time passes."""

Shown = Callable[[WatchEvent], bytes]
"""Returns the JSON of an event's object in the form that the client requested."""


@frozen
class Streaming:
    """`changed` guards the cluster and is notified of its changes; `advance` lets time pass there."""

    agenda: VirtualTime
    clockwork: TimeDriver
    changed: threading.Condition
    advance: Callable[[], None]
    monotonic: Callable[[], float]

    def lines(self, watch: ServedWatch, what: _Asked, shown: Shown) -> Iterator[bytes]:
        """Call with the lock held: existing events are read at once. Later events are read when the stream is consumed,
        and the lock is held only meanwhile."""
        return self._following(watch, what, shown, _lines(watch, shown))

    def _following(self, watch: ServedWatch, what: _Asked, shown: Shown, first: bytes) -> Iterator[bytes]:
        yield first
        now_s = self.monotonic()
        bookmarks, end_s = Bookmarks(now_s, what), now_s + what.seconds
        while not watch.ended and now_s < end_s:
            with self.changed:
                self.changed.wait(self._pause_s(end_s - now_s))
                self.advance()
                news = _lines(watch, shown)
            now_s = self.monotonic()
            if bookmarks.due(now_s) and not watch.ended:
                news += _line(watch.bookmark(), shown)
            yield news

    def _pause_s(self, left_s: float) -> float:
        due_s = self.agenda.due_s
        until_s = left_s if due_s is None else self.clockwork.real_s(due_s - self.agenda.seconds)
        return max(0.001, min(LOOK_S, left_s, until_s))


def _lines(watch: ServedWatch, shown: Shown) -> bytes:
    return b"".join([_line(event, shown) for event in watch.news()])


def _line(event: WatchEvent, shown: Shown) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (event.type.encode(), shown(event))


# Objects as bytes, each version encoded once: for lists, watches and single objects.


_TYPE = ("kind", "apiVersion")


def form_of(request: ServedRequest) -> AnswerForm:
    """Return the requested form of objects and lists; plain if it is unsupported, as protobuf."""
    offered = (TABLE, PARTIAL, PARTIAL_LIST)
    return choose(request.headers.get("accept", ""), offered) or PLAIN


class ShownVersions:
    """Cached bytes of the latest version of every object that was sent, without its kind."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Key], tuple[StoredItem, bytes]] = {}

    def inner(self, item: StoredItem) -> bytes:
        """Return the members of the object's JSON, without braces, kind and apiVersion."""
        name = item.resource, item.key
        held = self._known.get(name)
        if held is not None and held[0] is item:
            return held[1]
        made = encode({key: value for key, value in item.doc.items() if key not in _TYPE})[1:-1]
        if held is None or held[0].version <= item.version:
            self._known[name] = item, made
        return made

    def whole(self, item: StoredItem, served: Served) -> bytes:
        """Return the object; of a resource with several versions, in the requested one."""
        head = encode({"kind": served.kind, "apiVersion": served.api_version})[:-1]
        return b"%b,%b}" % (head, self.inner(item))

    def listed(self, items: Iterable[StoredItem], served: Served, metadata: Doc) -> bytes:
        """Return a list. Items of built-in kinds have no kind, items of custom kinds have one."""
        body = b",".join(
            [self.whole(item, served) for item in items]
            if served.custom
            else [b"{%b}" % self.inner(item) for item in items]
        )
        head = encode({"kind": f"{served.kind}List", "apiVersion": served.api_version, "metadata": metadata})
        return b'%b,"items":[%b]}' % (head[:-1], body)


class ShownEvents:
    """The bytes of one watch's events: only the first table has column definitions.

    Source: apiserver pkg/endpoints/handlers/response.go (watchEmbeddedEncoder, doTransformObject).
    """

    def __init__(self, request: ServedRequest, served: Served, shown: ShownVersions, agenda: VirtualTime) -> None:
        self._form = form_of(request)
        self._include = request.word("includeObject")
        self._served = served
        self._shown = shown
        self._agenda = agenda
        self._headers = True

    def __call__(self, event: WatchEvent) -> bytes:
        if self._form != PLAIN and event.type != "ERROR":
            return encode(self._in_form(event.item.doc if event.item is not None else event.doc or {}))
        return encode(event.doc) if event.item is None else self._shown.whole(event.item, self._served)

    def _in_form(self, doc: Doc) -> Doc:
        headers, self._headers = self._headers, False
        return in_form(self._form, self._served, [doc], None, self._agenda.now, self._include, headers)


def in_form(
    form: AnswerForm,
    served: Served,
    docs: Sequence[Doc],
    metadata: Doc | None,
    now: datetime,
    include: str,
    headers: bool = True,
) -> Doc:
    """Return objects as a Table, or only their metadata; `metadata` is the list's, None for a single object."""
    if form == TABLE:
        wanted: IncludeObject = include if include in ("Metadata", "Object", "None") else "Metadata"  # type: ignore[assignment]
        return table(served, docs, now, wanted, metadata, headers)
    return partial(docs[0]) if metadata is None else partial_list(docs, metadata)
