"""What of a dump tells its past, besides its lists: kept while a reader goes through it."""

from __future__ import annotations

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.changes import ChangesTold, EventTold, Revision
from kubectl_eksdoc.core.model.kinds import CONTROLLER_REVISIONS, EVENTS, HISTORY_OF, REPLICA_SETS, Resource
from kubectl_eksdoc.objects.changes import event, revision
from kubectl_eksdoc.objects.raw_objects import RawObjects, each_of
from kubectl_eksdoc.objects.single import document

_REVISIONS = (REPLICA_SETS.kind, CONTROLLER_REVISIONS.kind)


class HeldChanges(RawObjects):
    """Mutable: a reader fills it. `where`: ``the snapshot x``."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self._where = where
        self._seen: set[str] = set()
        self._revisions: list[Revision] = []
        self._events: list[EventTold] = []

    def add_page(self, resource: Resource, body: bytes) -> None:
        if resource.kind in (*_REVISIONS, EVENTS.kind):
            self._seen.add(resource.kind)
            for raw in each_of(body):
                self._keep(resource.kind, raw)

    def add_item(self, resource: Resource, raw: bytes | memoryview) -> None:
        self._keep(resource.kind, raw)

    def add_other(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        self._keep(kind, raw)

    def _keep(self, kind: str, raw: bytes | memoryview) -> None:
        if kind not in (*_REVISIONS, EVENTS.kind):
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

    def forget(self, resource: Resource) -> None:
        """The list is read anew: what was kept of it is the same, and `told` has each once."""

    def told(self) -> ChangesTold:
        """A kind without any object is not held: whether there was one nobody knows."""
        made = tuple(dict.fromkeys(self._revisions))
        revisions = {
            kind: tuple(each for each in made if each.of.kind == kind)
            if kept.kind in self._seen
            else Unknown(f"{self._where} holds no {kept.plural}")
            for kind, kept in HISTORY_OF.items()
        }
        events = tuple(dict.fromkeys(self._events))
        held = EVENTS.kind in self._seen
        return ChangesTold(revisions, events if held else Unknown(f"{self._where} holds no events"))
