"""Collector of one observation: gathers decoded objects, and returns them as facts, sorted and without duplicates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import NO_TIME, Cluster, Identity, LeftOut, Source
from kubectl_eksdoc.model.kinds import NAMESPACES, PODS, KindRead, ReadState, Resource
from kubectl_eksdoc.model.network import Endpoint, EndpointSlice
from kubectl_eksdoc.model.nodes import ControllerOwner, Pod
from kubectl_eksdoc.model.workloads import Job, Workload

from .karpenter import BY_RESOURCE, FIELDS
from .nodes import identity_from
from .pods import SharedTexts
from .single import RawObjects, document
from .structs import Lean, ListMeta, ListOf, Meta, Object, RawError

# Placeholder UIDs for objects of a dump without UIDs: made of names, and inserted into references.
#
# Facts are looked up by UID, and an empty one would merge many objects into one.


Owned = TypeVar("Owned", Pod, Workload, Job)
Uids = Mapping[tuple[str, str], str]
"""UIDs of one kind by (namespace, name), "" if the dump has none; cluster-scoped kinds have namespace ""."""


def identity_of(kind: str, namespace: str, name: str) -> str:
    """``Pod/shop/web-0`` or ``Node/old-1``: no real UID has this form, and no two objects share it."""
    return f"{kind}/{namespace}/{name}" if namespace else f"{kind}/{name}"


def note(counts: Mapping[str, int]) -> str:
    """A message about objects without a UID, by kind; "" if there are none."""
    told = [f"{count:,} {kind}{'s' if count != 1 else ''}" for kind, count in sorted(counts.items()) if count]
    return f"without a uid, so known by kind, namespace and name: {', '.join(told)}" if told else ""


@frozen
class References:
    """Resolves references to objects. `uids` by (kind, group); `complete`: no UID is missing."""

    uids: Mapping[tuple[str, str], Uids]
    whole: bool

    def of_owned(self, facts: Iterable[Owned]) -> tuple[Owned, ...]:
        """`facts` with owners that can be found by UID."""
        shared: dict[ControllerOwner, ControllerOwner] = {}
        return tuple(self._owned(fact, shared) for fact in facts)

    def of_slices(self, slices: Iterable[EndpointSlice]) -> tuple[EndpointSlice, ...]:
        """`slices` with endpoints whose pods can be found by UID."""
        return tuple(self._slice(piece) for piece in slices)

    def _owned(self, fact: Owned, shared: dict[ControllerOwner, ControllerOwner]) -> Owned:
        owner = fact.owner
        if owner is None or (owner.uid and self.whole):
            return fact
        uid = self._uid((owner.kind, owner.group), fact.namespace, owner.name, owner.uid)
        if uid == owner.uid:
            return fact
        found = replace(owner, uid=uid)
        return replace(fact, owner=shared.setdefault(found, found))

    def _slice(self, piece: EndpointSlice) -> EndpointSlice:
        if self.whole and all(e.pod_uid or not e.pod_name for e in piece.endpoints):
            return piece
        return replace(piece, endpoints=tuple(self._endpoint(e, piece.namespace) for e in piece.endpoints))

    def _endpoint(self, endpoint: Endpoint, namespace: str) -> Endpoint:
        if not endpoint.pod_name:
            return endpoint
        return replace(endpoint, pod_uid=self._uid(("Pod", ""), namespace, endpoint.pod_name, endpoint.pod_uid))

    def _uid(self, kind: tuple[str, str], namespace: str, name: str, told: str) -> str:
        """The UID in a reference, unless it is missing or the object itself has none."""
        known = self.uids.get(kind, {})
        for place in (namespace, ""):
            uid = known.get((place, name))
            if uid is not None:
                return (told or uid) if uid else identity_of(kind[0], place, name)
        return told or identity_of(kind[0], namespace, name)


MALFORMED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Exceptions of msgspec for invalid bytes."""

T = TypeVar("T")
_decode_page = msgspec.json.Decoder(ListOf[msgspec.Raw]).decode
_SPECIFIED = (
    *(kinds.PODS, kinds.BUDGETS, kinds.DEPLOYMENTS, kinds.REPLICA_SETS, kinds.STATEFUL_SETS, kinds.DAEMON_SETS),
    *(kinds.REPLICATION_CONTROLLERS, kinds.JOBS),
)
"""Kinds that always have a spec: an API server prints it even if it is empty."""
_EXTREME = (b'"9999-', b'"0001-', b'"0000-')
_NO_TIME_THEN = re.compile(rb'"[\w-]+":\s*"(?:9999|000[01](?!-01-01T00:00:00Z))-\d\d-\d\dT[^"]*"')
"""A time at the limits of the calendar, so that arithmetic with it fails. Go's zero time, which was never set, is
allowed."""
_ITEM = re.compile(r"`\$\.items\[(\d+)\]")


class BadObject(ValueError):
    """An invalid object or list: the message names its origin, its kind and the JSON path."""


class InvalidObject(BadObject):
    """An object that no API server would have stored; the others of its list can still be read."""


@frozen
class CollectedPage:
    """The fields of a list besides its items; `remaining` is None if the server does not report it."""

    count: int
    continue_token: str
    remaining: int | None


class _Named(Lean):
    metadata: Meta | None = None


class _Table:
    """The facts of one resource by (namespace, name), with the values that distinguish a copy from another object."""

    __slots__ = ("decode_item", "decode_page", "kind", "newest", "rows")

    def __init__(self, resource: Resource) -> None:
        self.kind = BY_RESOURCE[resource]
        self.rows: dict[tuple[str, str], tuple[Any, str, str, str]] = {}
        self.newest: datetime | None = None
        self.decode_item = msgspec.json.Decoder(self.kind.form).decode
        self.decode_page = msgspec.json.Decoder(ListOf[self.kind.form]).decode  # type: ignore[name-defined]

    def uids(self) -> dict[tuple[str, str], str]:
        """UIDs as read: "" for an object without one."""
        return {key: row[1] for key, row in self.rows.items()}


class Collector:
    """Collects the facts of one observation, page by page."""

    def __init__(self, source: Source, raw: RawObjects | None = None) -> None:
        """`raw`, if given, receives every object unchanged. Invalid objects of a snapshot are left out and reported; an
        invalid answer of a live server is refused as a whole, because it can be requested again."""
        self._source = source
        self._left_out: dict[Resource, list[LeftOut]] = {}
        self._raw = raw
        self._share = SharedTexts()
        self._tables: dict[Resource, _Table] = {}
        self._marks: dict[Resource, tuple[ReadState, str]] = {}
        self._copies: Counter[tuple[str, str, str, str]] = Counter()

    def add_page(self, resource: Resource, body: bytes, origin: str) -> CollectedPage:
        """Add a List as the API prints it; its items may lack their kind.

        Raises:
            InvalidAnswer: `body` is not a List of `resource`, or one of its objects is invalid.
        """
        if self._source is Source.SNAPSHOT:
            return self._add_each(resource, body, origin)
        table = self._table(resource)
        try:
            if any(each in body for each in _EXTREME):
                _check_times(body)
            page = table.decode_page(body)
        except (*MALFORMED, RawError) as error:
            raise BadObject(in_list(error, body, resource, origin)) from error
        items = _items_of(page, resource, origin)
        self._add(table, items, origin)
        if self._raw is not None:
            self._raw.add_page(resource, body)
        return _page_of(page, len(items))

    def add_item(self, resource: Resource, raw: bytes | memoryview, origin: str) -> None:
        """Add one object.

        Raises:
            InvalidAnswer: it is not an object of `resource`, or is invalid.
        """
        table = self._table(resource)
        try:
            try:
                given = bytes(raw)
                if any(each in given for each in _EXTREME):
                    _check_times(given)
                item = table.decode_item(raw)
            except (*MALFORMED, RawError) as error:
                raise InvalidObject(f"{origin}: {who(bytes(raw), resource)}: {error}") from error
            self._add(table, (item,), origin)
        except InvalidObject as error:
            if self._source is not Source.SNAPSHOT:
                raise
            self.leave_out(resource, str(error), _node_of(raw) if resource is PODS else None)
            return
        if self._raw is not None:
            self._raw.add_item(resource, raw)

    def leave_out(self, resource: Resource, said: str, node: str | None = None) -> None:
        """Record an invalid object of `resource`; `node` as in `InvalidEntry`."""
        self._table(resource)
        self._left_out.setdefault(resource, []).append(LeftOut(resource, said, node))

    def _add_each(self, resource: Resource, body: bytes, origin: str) -> CollectedPage:
        try:
            page = _decode_page(body)
        except MALFORMED as error:
            raise BadObject(f"{origin}: {resource.kind} list: {error}") from error
        items = _items_of(page, resource, origin)
        for raw in items:
            self.add_item(resource, bytes(raw), origin)
        return _page_of(page, len(items))

    def forget(self, resource: Resource) -> None:
        """Discard the facts of the resource: an expired continue token restarts the list."""
        self._tables.pop(resource, None)
        self._left_out.pop(resource, None)
        if self._raw is not None:
            self._raw.forget(resource)

    def mark(self, resource: Resource, state: ReadState, detail: str = "") -> None:
        """Record the result of reading `resource`; without it the resource counts as not read to its end."""
        self._marks[resource] = (state, detail)

    def cluster(self, identity: Identity, observed_at: datetime | None) -> Cluster:
        """All facts. Without `observed_at`, the newest time in any object is used, except deletions.

        The identity's UID is that of Namespace kube-system, which exists as long as its cluster: if `identity` has
        none, it is taken from the facts.
        """
        notes = [_copies_note(key, count) for key, count in sorted(self._copies.items())]
        uids = {resource: table.uids() for resource, table in self._tables.items()}
        if told := note({resource.kind: sum(not uid for uid in uids[resource].values()) for resource in uids}):
            notes.append(told)
        if observed_at is None:
            moments = [t.newest for t in self._tables.values() if t.newest is not None]
            observed_at = max(moments, default=NO_TIME)
            if not moments:
                notes.append("no object says when it was observed; the time shown is not meaningful")
        return Cluster(
            identity=replace(identity, uid=identity.uid or uids.get(NAMESPACES, {}).get(("", "kube-system"), "")),
            source=self._source,
            observed_at=observed_at,
            reads=self._reads(),
            notes=tuple(notes),
            **self._linked(uids),
        ).leaving_out(each for left_out in self._left_out.values() for each in left_out)

    def _linked(self, uids: Mapping[Resource, Uids]) -> dict[str, Any]:
        """The facts by field of `Cluster`, with references that can be resolved."""
        whole = all(all(known.values()) for known in uids.values())
        references = References({(resource.kind, resource.group): uids[resource] for resource in uids}, whole)
        facts: dict[str, tuple[Any, ...]] = {field: self._facts(field) for field in FIELDS}
        for field in ("pods", "workloads", "jobs"):
            facts[field] = references.of_owned(facts[field])
        facts["endpoint_slices"] = references.of_slices(facts["endpoint_slices"])
        return facts

    def nodes_identity(self) -> Identity:
        """The cluster's identity according to the nodes collected so far."""
        return identity_from(self._facts("nodes"))

    def _table(self, resource: Resource) -> _Table:
        table = self._tables.get(resource)
        if table is None:
            table = self._tables[resource] = _Table(resource)
        return table

    def _add(self, table: _Table, items: Iterable[Object], origin: str) -> None:
        project, share, rows, newest = table.kind.project, self._share, table.rows, table.newest
        resource = table.kind.resource
        text, namespaced, kind = share.text, resource.namespaced, resource.kind
        without_spec = self._source is Source.SNAPSHOT and resource in _SPECIFIED
        for item in items:
            meta = item.metadata
            if meta is None or not meta.name:
                raise InvalidObject(f"{origin}: a {kind} has no name at `$.metadata.name`")
            if namespaced and not meta.namespace:
                raise InvalidObject(f"{origin}: {kind} {meta.name} has no namespace at `$.metadata.namespace`")
            if without_spec and item.spec is None:  # type: ignore[attr-defined]
                raise InvalidObject(f"{origin}: {kind} {_full_name(meta.namespace or '', meta.name)} has no spec")
            if item.kind and item.kind != kind:
                raise InvalidObject(f"{origin}: {item.kind} {meta.name} is in a list of {resource.plural}")
            key = (text(meta.namespace), meta.name)
            uid = meta.uid or ""
            if not uid:
                meta.uid = identity_of(kind, *key)
            try:
                fact, moment = project(item, share), item.newest()
            except RawError as error:
                raise InvalidObject(f"{origin}: {kind} {_full_name(*key)}: {error}") from error
            row = (fact, uid, meta.resource_version or "", origin)
            if rows.setdefault(key, row) is not row:
                self._copy(kind, key, rows[key], row)
            if moment is not None and (newest is None or moment > newest):
                newest = moment
        table.newest = newest

    def _copy(
        self, kind: str, key: tuple[str, str], first: tuple[Any, str, str, str], second: tuple[Any, str, str, str]
    ) -> None:
        """Keep a copy of the same object once; two different objects with the same name are an error."""
        same = first[1:3] == second[1:3] and (first[1] != "" or first[0] == second[0])
        if not same:
            raise BadObject(
                f"two different {kind}s are called {_full_name(*key)} (origin {first[3]} and origin {second[3]}); "
                "they were observed at different times or in different clusters"
            )
        self._copies[(kind, first[3], second[3], "")] += 1

    def _reads(self) -> tuple[KindRead, ...]:
        reads = []
        for resource in {**self._marks, **self._tables}:
            unfinished = (ReadState.FAILED, "its list was not read to its end")
            state, detail = self._marks.get(resource, unfinished)
            table = self._tables.get(resource)
            reads.append(KindRead(resource, state, len(table.rows) if table else 0, detail))
        return tuple(sorted(reads, key=lambda read: (read.resource.plural, read.resource.group)))

    def _facts(self, field: str) -> tuple[Any, ...]:
        tables = [t for t in self._tables.values() if t.kind.field == field]
        rows = [(key, t.kind.resource.kind, row[0]) for t in tables for key, row in t.rows.items()]
        rows.sort(key=lambda row: row[:2])
        if tables and tables[0].kind.several:
            return tuple(fact for _, _, facts in rows for fact in facts)
        return tuple(row[2] for row in rows)


def _items_of(page: ListOf[T], resource: Resource, origin: str) -> list[T]:
    if page.items is msgspec.UNSET or (page.kind and not page.kind.endswith("List")):
        raise BadObject(f"{origin}: expected a list of {resource.plural}, got {named_kind(page.kind)}")
    return page.items or []


def _page_of(page: ListOf[T], count: int) -> CollectedPage:
    meta = page.metadata or ListMeta()
    return CollectedPage(count, meta.continue_token or "", meta.remaining)


def _check_times(raw: bytes) -> None:
    """Raises:
    RawError: a time is at the limits of the calendar.
    """
    if found := _NO_TIME_THEN.search(raw):
        raise RawError(f"{found[0].decode('utf-8', 'replace')} is no time of a real object")


def _node_of(raw: bytes | memoryview) -> str | None:
    """The node of an invalid pod; "" if it is not bound."""
    doc = document(raw) or {"spec": None}
    spec = doc.get("spec", {})
    node = (spec.get("nodeName") or "") if isinstance(spec, dict) else None
    return node if isinstance(node, str) else None


def in_list(error: Exception, body: bytes, resource: Resource, origin: str) -> str:
    """The message about an invalid item of a list, with the item's name if it can be found."""
    match = _ITEM.search(str(error))
    if match:
        try:
            raw = (msgspec.json.decode(body, type=ListOf[msgspec.Raw]).items or [])[int(match.group(1))]
            return f"{origin}: {who(bytes(raw), resource)}: {error}"
        except (*MALFORMED, IndexError, TypeError):
            pass
    return f"{origin}: {resource.kind} list: {error}"


def who(raw: bytes, resource: Resource) -> str:
    """``Pod default/web-0``, or as much of it as can be read."""
    try:
        meta = msgspec.json.decode(raw, type=_Named).metadata or Meta()
    except MALFORMED:
        return resource.kind
    return f"{resource.kind} {_full_name(meta.namespace or '', meta.name or '')}".rstrip()


def _full_name(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def named_kind(kind: str | None) -> str:
    return f"an object of kind {kind}" if kind else "an object without items"


def _copies_note(key: tuple[str, str, str, str], count: int) -> str:
    kind, first, second, _ = key
    where = f"twice in {first}" if first == second else f"in {first} and again in {second}"
    return f"{count} {kind}{'s' if count != 1 else ''} {where}: kept once"
