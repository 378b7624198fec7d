"""Objects as bytes, each encoded once for each version: what lists, watches and single answers are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from kubectl_eksdoc.embedded.api.catalogue import PARTIAL, PARTIAL_LIST, PLAIN, TABLE, AnswerForm, choose
from kubectl_eksdoc.embedded.api.resources import Served
from kubectl_eksdoc.embedded.api.tables.table import IncludeObject, partial, partial_list, table
from kubectl_eksdoc.embedded.serving.targets import ServedRequest
from kubectl_eksdoc.embedded.serving.watching import WatchEvent
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.objects.single import encode
from kubectl_eksdoc.simulator.controllers import VirtualTime
from kubectl_eksdoc.simulator.store import Key, StoredItem

_TYPE = ("kind", "apiVersion")


def form_of(request: ServedRequest) -> AnswerForm:
    """How the client wants objects and lists; plain where it wants what is not spoken here, as protobuf."""
    offered = (TABLE, PARTIAL, PARTIAL_LIST)
    return choose(request.headers.get("accept", ""), offered) or PLAIN


class ShownVersions:
    """The bytes of the latest version of every object that was shown, without its kind."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Key], tuple[StoredItem, bytes]] = {}

    def inner(self, item: StoredItem) -> bytes:
        """The members of the object's JSON, without braces, kind and apiVersion."""
        name = item.resource, item.key
        held = self._known.get(name)
        if held is not None and held[0] is item:
            return held[1]
        made = encode({key: value for key, value in item.doc.items() if key not in _TYPE})[1:-1]
        if held is None or held[0].version <= item.version:
            self._known[name] = item, made
        return made

    def whole(self, item: StoredItem, served: Served) -> bytes:
        """The object; of a resource in several versions, in the one that was asked for."""
        head = encode({"kind": served.kind, "apiVersion": served.api_version})[:-1]
        return b"%b,%b}" % (head, self.inner(item))

    def listed(self, items: Iterable[StoredItem], served: Served, metadata: Doc) -> bytes:
        """A list. Objects of built-in kinds are listed without their kind, custom ones with it."""
        body = b",".join(
            [self.whole(item, served) for item in items]
            if served.custom
            else [b"{%b}" % self.inner(item) for item in items]
        )
        head = encode({"kind": f"{served.kind}List", "apiVersion": served.api_version, "metadata": metadata})
        return b'%b,"items":[%b]}' % (head[:-1], body)


class ShownEvents:
    """The bytes of what one watch tells of, event by event: only the first table names its columns.

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
    """Objects as a Table, or their metadata alone; `metadata` is the list's, None for a single object."""
    if form == TABLE:
        wanted: IncludeObject = include if include in ("Metadata", "Object", "None") else "Metadata"  # type: ignore[assignment]
        return table(served, docs, now, wanted, metadata, headers)
    return partial(docs[0]) if metadata is None else partial_list(docs, metadata)
