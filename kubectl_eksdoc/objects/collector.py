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
from kubectl_eksdoc.model.cluster import UNKNOWN_TIME, Cluster, Identity, InvalidEntry, Source
from kubectl_eksdoc.model.kinds import NAMESPACES, PODS, KindRead, ReadState, Resource
from kubectl_eksdoc.model.network import Endpoint, EndpointSlice
from kubectl_eksdoc.model.nodes import ControllerOwner, Pod
from kubectl_eksdoc.model.workloads import Job, Workload

from .karpenter import BY_RESOURCE, FIELDS
from .nodes import identity_from
from .pods import SharedValues
from .single import RawObjects, decode_object
from .structs import LeanStruct, ListMeta, ListStruct, ObjectMeta, ObjectStruct, RawError

# Placeholder UIDs for objects of a dump without UIDs: made of names, and inserted into references.
#
# Facts are looked up by UID, and an empty one would merge many objects into one.


Owned = TypeVar("Owned", Pod, Workload, Job)
Uids = Mapping[tuple[str, str], str]
"""UIDs of one kind by (namespace, name), "" if the dump has none; cluster-scoped kinds have namespace ""."""


def placeholder_uid(kind: str, namespace: str, name: str) -> str:
    """``Pod/shop/web-0`` or ``Node/old-1``: no real UID has this form, and no two objects share it."""
    return f"{kind}/{namespace}/{name}" if namespace else f"{kind}/{name}"


def missing_uids_note(counts: Mapping[str, int]) -> str:
    """A message about objects without a UID, by kind; "" if there are none."""
    counted_kinds = [f"{count:,} {kind}{'s' if count != 1 else ''}" for kind, count in sorted(counts.items()) if count]
    return f"without a uid, so known by kind, namespace and name: {', '.join(counted_kinds)}" if counted_kinds else ""


@frozen
class UidReferences:
    """Resolves references to objects. `uids` by (kind, group); `complete`: no UID is missing."""

    uids: Mapping[tuple[str, str], Uids]
    complete: bool

    def with_owner_uids(self, facts: Iterable[Owned]) -> tuple[Owned, ...]:
        """`facts` with owners that can be found by UID."""
        shared: dict[ControllerOwner, ControllerOwner] = {}
        return tuple(self._with_owner_uid(fact, shared) for fact in facts)

    def with_pod_uids(self, slices: Iterable[EndpointSlice]) -> tuple[EndpointSlice, ...]:
        """`slices` with endpoints whose pods can be found by UID."""
        return tuple(self._slice_with_uids(piece) for piece in slices)

    def _with_owner_uid(self, fact: Owned, shared: dict[ControllerOwner, ControllerOwner]) -> Owned:
        owner = fact.owner
        if owner is None or (owner.uid and self.complete):
            return fact
        uid = self._uid((owner.kind, owner.group), fact.namespace, owner.name, owner.uid)
        if uid == owner.uid:
            return fact
        resolved_owner = replace(owner, uid=uid)
        return replace(fact, owner=shared.setdefault(resolved_owner, resolved_owner))

    def _slice_with_uids(self, endpoint_slice: EndpointSlice) -> EndpointSlice:
        if self.complete and all(e.pod_uid or not e.pod_name for e in endpoint_slice.endpoints):
            return endpoint_slice
        return replace(
            endpoint_slice,
            endpoints=tuple(self._endpoint_with_uid(e, endpoint_slice.namespace) for e in endpoint_slice.endpoints),
        )

    def _endpoint_with_uid(self, endpoint: Endpoint, namespace: str) -> Endpoint:
        if not endpoint.pod_name:
            return endpoint
        return replace(endpoint, pod_uid=self._uid(("Pod", ""), namespace, endpoint.pod_name, endpoint.pod_uid))

    def _uid(self, kind: tuple[str, str], namespace: str, name: str, reported: str) -> str:
        """The UID in a reference, unless it is missing or the object itself has none."""
        kind_uids = self.uids.get(kind, {})
        for scope in (namespace, ""):
            uid = kind_uids.get((scope, name))
            if uid is not None:
                return (reported or uid) if uid else placeholder_uid(kind[0], scope, name)
        return reported or placeholder_uid(kind[0], namespace, name)


DECODE_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Exceptions of msgspec for invalid bytes."""

T = TypeVar("T")
_decode_page = msgspec.json.Decoder(ListStruct[msgspec.Raw]).decode
_KINDS_WITH_SPEC = (
    *(kinds.PODS, kinds.BUDGETS, kinds.DEPLOYMENTS, kinds.REPLICA_SETS, kinds.STATEFUL_SETS, kinds.DAEMON_SETS),
    *(kinds.REPLICATION_CONTROLLERS, kinds.JOBS),
)
"""Kinds that always have a spec: an API server prints it even if it is empty."""
_EXTREME_YEARS = (b'"9999-', b'"0001-', b'"0000-')
_OUT_OF_RANGE_TIME = re.compile(rb'"[\w-]+":\s*"(?:9999|000[01](?!-01-01T00:00:00Z))-\d\d-\d\dT[^"]*"')
"""A time at the limits of the calendar, so that arithmetic with it fails. Go's zero time, which was never set, is
allowed."""
_ITEM_PATH = re.compile(r"`\$\.items\[(\d+)\]")


class InvalidAnswer(ValueError):
    """An invalid object or list: the message names its origin, its kind and the JSON path."""


class InvalidObject(InvalidAnswer):
    """An object that no API server would have stored; the others of its list can still be read."""


@frozen
class CollectedPage:
    """The fields of a list besides its items; `remaining` is None if the server does not report it."""

    count: int
    continue_token: str
    remaining: int | None


class _MetadataOnly(LeanStruct):
    metadata: ObjectMeta | None = None


class _FactTable:
    """The facts of one resource by (namespace, name), with the values that distinguish a copy from another object."""

    __slots__ = ("decode_item", "decode_page", "kind", "newest", "rows")

    def __init__(self, resource: Resource) -> None:
        self.kind = BY_RESOURCE[resource]
        self.rows: dict[tuple[str, str], tuple[Any, str, str, str]] = {}
        self.newest: datetime | None = None
        self.decode_item = msgspec.json.Decoder(self.kind.struct).decode
        self.decode_page = msgspec.json.Decoder(ListStruct[self.kind.struct]).decode  # type: ignore[name-defined]

    def uids(self) -> dict[tuple[str, str], str]:
        """UIDs as read: "" for an object without one."""
        return {key: row[1] for key, row in self.rows.items()}


class FactCollector:
    """Collects the facts of one observation, page by page."""

    def __init__(self, source: Source, raw: RawObjects | None = None) -> None:
        """`raw`, if given, receives every object unchanged. Invalid objects of a snapshot are left out and reported; an
        invalid answer of a live server is refused as a whole, because it can be requested again."""
        self._source = source
        self._invalid_entries: dict[Resource, list[InvalidEntry]] = {}
        self._raw = raw
        self._share = SharedValues()
        self._tables: dict[Resource, _FactTable] = {}
        self._read_states: dict[Resource, tuple[ReadState, str]] = {}
        self._copies: Counter[tuple[str, str, str, str]] = Counter()

    def add_page(self, resource: Resource, body: bytes, origin: str) -> CollectedPage:
        """Add a List as the API prints it; its items may lack their kind.

        Raises:
            InvalidAnswer: `body` is not a List of `resource`, or one of its objects is invalid.
        """
        if self._source is Source.SNAPSHOT:
            return self._add_items_separately(resource, body, origin)
        table = self._table(resource)
        try:
            if any(each in body for each in _EXTREME_YEARS):
                _check_times(body)
            page = table.decode_page(body)
        except (*DECODE_ERRORS, RawError) as error:
            raise InvalidAnswer(list_error(error, body, resource, origin)) from error
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
                body = bytes(raw)
                if any(each in body for each in _EXTREME_YEARS):
                    _check_times(body)
                item = table.decode_item(raw)
            except (*DECODE_ERRORS, RawError) as error:
                raise InvalidObject(f"{origin}: {object_label(bytes(raw), resource)}: {error}") from error
            self._add(table, (item,), origin)
        except InvalidObject as error:
            if self._source is not Source.SNAPSHOT:
                raise
            self.add_invalid(resource, str(error), _node_of_invalid_pod(raw) if resource is PODS else None)
            return
        if self._raw is not None:
            self._raw.add_item(resource, raw)

    def add_invalid(self, resource: Resource, message: str, node: str | None = None) -> None:
        """Record an invalid object of `resource`; `node` as in `InvalidEntry`."""
        self._table(resource)
        self._invalid_entries.setdefault(resource, []).append(InvalidEntry(resource, message, node))

    def _add_items_separately(self, resource: Resource, body: bytes, origin: str) -> CollectedPage:
        try:
            page = _decode_page(body)
        except DECODE_ERRORS as error:
            raise InvalidAnswer(f"{origin}: {resource.kind} list: {error}") from error
        items = _items_of(page, resource, origin)
        for raw in items:
            self.add_item(resource, bytes(raw), origin)
        return _page_of(page, len(items))

    def forget(self, resource: Resource) -> None:
        """Discard the facts of the resource: an expired continue token restarts the list."""
        self._tables.pop(resource, None)
        self._invalid_entries.pop(resource, None)
        if self._raw is not None:
            self._raw.forget(resource)

    def set_state(self, resource: Resource, state: ReadState, detail: str = "") -> None:
        """Record the result of reading `resource`; without it the resource counts as not read to its end."""
        self._read_states[resource] = (state, detail)

    def cluster(self, identity: Identity, observed_at: datetime | None) -> Cluster:
        """All facts. Without `observed_at`, the newest time in any object is used, except deletions.

        The identity's UID is that of Namespace kube-system, which exists as long as its cluster: if `identity` has
        none, it is taken from the facts.
        """
        notes = [_copies_note(key, count) for key, count in sorted(self._copies.items())]
        uids = {resource: table.uids() for resource, table in self._tables.items()}
        if uid_note := missing_uids_note(
            {resource.kind: sum(not uid for uid in uids[resource].values()) for resource in uids}
        ):
            notes.append(uid_note)
        if observed_at is None:
            newest_times = [t.newest for t in self._tables.values() if t.newest is not None]
            observed_at = max(newest_times, default=UNKNOWN_TIME)
            if not newest_times:
                notes.append("no object says when it was observed; the time shown is not meaningful")
        return Cluster(
            identity=replace(identity, uid=identity.uid or uids.get(NAMESPACES, {}).get(("", "kube-system"), "")),
            source=self._source,
            observed_at=observed_at,
            reads=self._reads(),
            notes=tuple(notes),
            **self._linked_facts(uids),
        ).with_invalid(each for left_out in self._invalid_entries.values() for each in left_out)

    def _linked_facts(self, uids: Mapping[Resource, Uids]) -> dict[str, Any]:
        """The facts by field of `Cluster`, with references that can be resolved."""
        complete = all(all(known.values()) for known in uids.values())
        references = UidReferences({(resource.kind, resource.group): uids[resource] for resource in uids}, complete)
        facts: dict[str, tuple[Any, ...]] = {field: self._facts(field) for field in FIELDS}
        for field in ("pods", "workloads", "jobs"):
            facts[field] = references.with_owner_uids(facts[field])
        facts["endpoint_slices"] = references.with_pod_uids(facts["endpoint_slices"])
        return facts

    def nodes_identity(self) -> Identity:
        """The cluster's identity according to the nodes collected so far."""
        return identity_from(self._facts("nodes"))

    def _table(self, resource: Resource) -> _FactTable:
        table = self._tables.get(resource)
        if table is None:
            table = self._tables[resource] = _FactTable(resource)
        return table

    def _add(self, table: _FactTable, items: Iterable[ObjectStruct], origin: str) -> None:
        project, share, rows, newest = table.kind.project, self._share, table.rows, table.newest
        resource = table.kind.resource
        text, namespaced, kind = share.text, resource.namespaced, resource.kind
        without_spec = self._source is Source.SNAPSHOT and resource in _KINDS_WITH_SPEC
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
                meta.uid = placeholder_uid(kind, *key)
            try:
                fact, newest_in_item = project(item, share), item.newest_time()
            except RawError as error:
                raise InvalidObject(f"{origin}: {kind} {_full_name(*key)}: {error}") from error
            row = (fact, uid, meta.resource_version or "", origin)
            if rows.setdefault(key, row) is not row:
                self._check_copy(kind, key, rows[key], row)
            if newest_in_item is not None and (newest is None or newest_in_item > newest):
                newest = newest_in_item
        table.newest = newest

    def _check_copy(
        self, kind: str, key: tuple[str, str], first: tuple[Any, str, str, str], second: tuple[Any, str, str, str]
    ) -> None:
        """Keep a copy of the same object once; two different objects with the same name are an error."""
        is_same = first[1:3] == second[1:3] and (first[1] != "" or first[0] == second[0])
        if not is_same:
            raise InvalidAnswer(
                f"two different {kind}s are called {_full_name(*key)} (origin {first[3]} and origin {second[3]}); "
                "they were observed at different times or in different clusters"
            )
        self._copies[(kind, first[3], second[3], "")] += 1

    def _reads(self) -> tuple[KindRead, ...]:
        reads = []
        for resource in {**self._read_states, **self._tables}:
            unfinished = (ReadState.FAILED, "its list was not read to its end")
            state, detail = self._read_states.get(resource, unfinished)
            table = self._tables.get(resource)
            reads.append(KindRead(resource, state, len(table.rows) if table else 0, detail))
        return tuple(sorted(reads, key=lambda read: (read.resource.plural, read.resource.group)))

    def _facts(self, field: str) -> tuple[Any, ...]:
        tables = [t for t in self._tables.values() if t.kind.field == field]
        rows = [(key, t.kind.resource.kind, row[0]) for t in tables for key, row in t.rows.items()]
        rows.sort(key=lambda row: row[:2])
        if tables and tables[0].kind.makes_tuple:
            return tuple(fact for _, _, facts in rows for fact in facts)
        return tuple(row[2] for row in rows)


def _items_of(page: ListStruct[T], resource: Resource, origin: str) -> list[T]:
    if page.items is msgspec.UNSET or (page.kind and not page.kind.endswith("List")):
        raise InvalidAnswer(f"{origin}: expected a list of {resource.plural}, got {describe_kind(page.kind)}")
    return page.items or []


def _page_of(page: ListStruct[T], count: int) -> CollectedPage:
    meta = page.metadata or ListMeta()
    return CollectedPage(count, meta.continue_token or "", meta.remaining)


def _check_times(raw: bytes) -> None:
    """Raises:
    RawError: a time is at the limits of the calendar.
    """
    if match := _OUT_OF_RANGE_TIME.search(raw):
        raise RawError(f"{match[0].decode('utf-8', 'replace')} is no time of a real object")


def _node_of_invalid_pod(raw: bytes | memoryview) -> str | None:
    """The node of an invalid pod; "" if it is not bound."""
    doc = decode_object(raw) or {"spec": None}
    spec = doc.get("spec", {})
    node = (spec.get("nodeName") or "") if isinstance(spec, dict) else None
    return node if isinstance(node, str) else None


def list_error(error: Exception, body: bytes, resource: Resource, origin: str) -> str:
    """The message about an invalid item of a list, with the item's name if it can be found."""
    match = _ITEM_PATH.search(str(error))
    if match:
        try:
            raw = (msgspec.json.decode(body, type=ListStruct[msgspec.Raw]).items or [])[int(match.group(1))]
            return f"{origin}: {object_label(bytes(raw), resource)}: {error}"
        except (*DECODE_ERRORS, IndexError, TypeError):
            pass
    return f"{origin}: {resource.kind} list: {error}"


def object_label(raw: bytes, resource: Resource) -> str:
    """``Pod default/web-0``, or as much of it as can be read."""
    try:
        meta = msgspec.json.decode(raw, type=_MetadataOnly).metadata or ObjectMeta()
    except DECODE_ERRORS:
        return resource.kind
    return f"{resource.kind} {_full_name(meta.namespace or '', meta.name or '')}".rstrip()


def _full_name(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def describe_kind(kind: str | None) -> str:
    return f"an object of kind {kind}" if kind else "an object without items"


def _copies_note(key: tuple[str, str, str, str], count: int) -> str:
    kind, first, second, _ = key
    origins = f"twice in {first}" if first == second else f"in {first} and again in {second}"
    return f"{count} {kind}{'s' if count != 1 else ''} {origins}: kept once"
