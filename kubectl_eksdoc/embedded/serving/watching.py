"""Watches: every change of a resource from a version on, as somebody with these selectors sees it.

Source: apiserver pkg/storage/cacher/cacher.go, pkg/storage/etcd3/watcher.go (transform), pkg/endpoints/handlers/get.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.rules.api.statuses import expired
from kubectl_eksdoc.core.sim.cluster.store import Change, Expired, Item, Store, What
from kubectl_eksdoc.embedded.serving.messages import Request
from kubectl_eksdoc.embedded.serving.reading import choice_of, number
from kubectl_eksdoc.embedded.serving.selecting import Choice
from kubectl_eksdoc.embedded.serving.targets import Target

BOOKMARK_S = 60.0
"""Seconds between bookmarks, which tell a client without news from where it may go on."""

DEFAULT_S = 1800.0
"""A watch without timeoutSeconds ends after that (--min-request-timeout)."""

LONGEST_S = 7 * 86400.0

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class Event(NamedTuple):
    """`item` None: a bookmark or an error, whose object is `doc`."""

    type: str
    item: Item | None
    doc: Doc | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """`version` None: from now on, after what is there. `initial`: what is there comes first, and a bookmark then."""

    target: Target
    choice: Choice
    version: int | None
    initial: bool
    bookmarks: bool
    seconds: float


def asked(request: Request, target: Target) -> Asked:
    """
    Raises:
        Refusal: 400.
    """
    version = number(request, "resourceVersion")
    initial = request.flag("sendInitialEvents")
    return Asked(
        target=target,
        choice=choice_of(request, target),
        version=None if initial else version or None,
        initial=initial,
        bookmarks=request.flag("allowWatchBookmarks"),
        seconds=min(float(number(request, "timeoutSeconds") or DEFAULT_S), LONGEST_S),
    )


class Watch:
    """One client's watch. Mutable: `news` gives what has happened since it was asked last."""

    def __init__(self, store: Store, what: Asked) -> None:
        self._store = store
        self._asked = what
        self._namespace = what.target.namespace if what.target.served.namespaced else ""
        self._begun = False
        self._version = store.version if what.version is None else what.version
        self.ended = False

    def news(self) -> Iterator[Event]:
        """What happened; an error ends it."""
        if not self._begun:
            self._begun = True
            yield from self._first()
        yield from self._changes()

    def bookmark(self) -> Event:
        """From where to go on."""
        return self._bookmark({})

    def _first(self) -> Iterator[Event]:
        if self._asked.version is not None:
            return
        for item in self._store.list(self._asked.target.resource, self._namespace):
            if self._asked.choice.takes(item.doc):
                yield Event("ADDED", item)
        if self._asked.initial and self._asked.bookmarks:
            yield self._bookmark({"annotations": {INITIAL_EVENTS_END: "true"}})

    def _changes(self) -> Iterator[Event]:
        try:
            changes = list(self._store.since(self._asked.target.resource, self._version))
        except Expired:
            self.ended = True
            yield Event("ERROR", None, expired(f"too old resource version: {self._version}").status.doc())
            return
        for change in changes:
            self._version = change.version
            event = self._seen(change)
            if event is not None:
                yield event
        self._version = max(self._version, self._store.version)

    def _seen(self, change: Change) -> Event | None:
        """An object that comes into view is added, and one that goes out of it is deleted, whatever else it is."""
        if self._namespace and change.item.key[0] != self._namespace:
            return None
        takes = self._asked.choice.takes
        was = change.before is not None and takes(change.before.doc)
        now = change.what is not What.DELETED and takes(change.item.doc)
        if now:
            return Event("MODIFIED" if was else "ADDED", change.item)
        if not was:
            return None
        return Event("DELETED", _last_seen(change))

    def _bookmark(self, more: Doc) -> Event:
        served = self._asked.target.served
        meta = {"resourceVersion": str(self._version), "creationTimestamp": None, **more}
        return Event("BOOKMARK", None, {"kind": served.kind, "apiVersion": served.api_version, "metadata": meta})


def _last_seen(change: Change) -> Item:
    """What a client that loses sight of the object is told: as it was, at the version of the change."""
    if change.what is What.DELETED or change.before is None:
        return change.item
    before = change.before
    meta = {**before.doc["metadata"], "resourceVersion": str(change.version)}
    return Item(before.resource, before.key, change.version, {**before.doc, "metadata": meta})
