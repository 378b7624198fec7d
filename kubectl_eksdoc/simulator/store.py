"""Object store: objects of any kind by resource, namespace and name, with one sequence of resourceVersions, as in etcd.

Every change gets the next resourceVersion. Changes are kept, so that a watch can resume at its version and a list can
be read as it was for its first page; changes that are too old are expired (410).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Collection, Iterator
from datetime import datetime, timedelta, timezone
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.schedules import parse_time
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc

from .chance import MASK_64, SPLITMIX_STEP, mix_bits

PODS, NODES, NAMESPACES, BUDGETS, CLAIMS = (
    each.full_name for each in (kinds.PODS, kinds.NODES, kinds.NAMESPACES, kinds.BUDGETS, kinds.CLAIMS)
)

ObjectKey = tuple[str, str]
"""Namespace ("" for cluster-scoped objects) and name."""

MAX_KEPT_CHANGES = 10_000
"""Kept changes of one resource; etcd keeps those of the last five minutes."""


def key_path(key: ObjectKey) -> str:
    """The key as in etcd, by which lists are sorted: ``a-b/x`` is before ``a/x``."""
    return f"{key[0]}/{key[1]}"


def _key_of_path(path: str) -> ObjectKey:
    namespace, _, name = path.partition("/")
    return namespace, name


class ResourceVersionExpired(Exception):
    """The requested version is older than the changes that are kept."""


class StaleItem(Exception):
    """The object was changed or removed since the version that was to be overwritten."""


class StoreChangeKind(str, Enum):
    """A change, in the words of a watch."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@frozen(eq=False)
class StoredItem:
    """One object at one version; `doc` contains that version, too."""

    resource: str
    key: ObjectKey
    version: int
    doc: Doc

    @property
    def meta(self) -> Doc:
        metadata: Doc = self.doc["metadata"]
        return metadata

    @property
    def spec(self) -> Doc:
        return self.doc.get("spec") or {}

    @property
    def status(self) -> Doc:
        return self.doc.get("status") or {}

    @property
    def uid(self) -> str:
        return str(self.meta.get("uid", ""))

    @property
    def deleting(self) -> bool:
        """Whether it is being deleted."""
        return "deletionTimestamp" in self.meta

    @property
    def owners(self) -> list[Doc]:
        """Its owner references."""
        return self.meta.get("ownerReferences") or []

    @property
    def controller(self) -> Doc | None:
        """The reference to its controller."""
        return next((each for each in self.owners if each.get("controller")), None)

    @property
    def finalizers(self) -> list[str]:
        return self.meta.get("finalizers") or []

    @property
    def labels(self) -> dict[str, str]:
        return self.meta.get("labels") or {}

    @property
    def annotations(self) -> dict[str, str]:
        return self.meta.get("annotations") or {}

    @property
    def creation_timestamp(self) -> str:
        """As written in the object; "" where it has none."""
        return str(self.meta.get("creationTimestamp") or "")

    @property
    def generation(self) -> int:
        return int(self.meta.get("generation") or 0)

    @property
    def conditions(self) -> list[Doc]:
        return self.status.get("conditions") or []

    def condition(self, kind: str) -> Doc | None:
        return next((each for each in self.conditions if each.get("type") == kind), None)

    def condition_status(self, kind: str) -> str:
        """The status of a condition, "" without one."""
        return str((self.condition(kind) or {}).get("status") or "")

    # Workloads.

    @property
    def template(self) -> Doc:
        """The pod template."""
        return self.spec.get("template") or {}

    @property
    def replicas(self) -> int:
        """The desired replicas."""
        desired = self.spec.get("replicas")
        return 1 if desired is None else int(desired)

    @property
    def min_ready_s(self) -> int:
        return int(self.spec.get("minReadySeconds") or 0)

    # Pods as controllers see them: whether a pod runs, is ready, since when, and whether it is available.
    #
    # Source: pkg/controller/controller_utils.go (IsPodActive, IsPodTerminating), pkg/api/v1/pod/util.go (IsPodReady,
    # IsPodAvailable), Kubernetes v1.36.

    @property
    def node(self) -> str:
        return str(self.spec.get("nodeName") or "")

    @property
    def phase(self) -> str:
        """Pending where it has none, as the API server sets it."""
        return str(self.status.get("phase") or "Pending")

    @property
    def finished(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    @property
    def active(self) -> bool:
        return not self.deleting and not self.finished

    @property
    def terminating(self) -> bool:
        """Being deleted while it has not finished."""
        return self.deleting and not self.finished

    @property
    def ready(self) -> bool:
        return self.condition_status("Ready") == "True"

    @property
    def ready_since(self) -> str:
        """The time as written, "" while the pod is not ready or has no such time."""
        ready_condition = self.condition("Ready")
        return str(ready_condition.get("lastTransitionTime") or "") if ready_condition and self.ready else ""

    def available_in_s(self, min_ready_s: int, now: datetime) -> float | None:
        """Seconds until it counts as available, 0.0 if it does already; None while it is not ready."""
        if not self.ready:
            return None
        if not min_ready_s:
            return 0.0
        since = self.ready_since
        if not since:
            return None
        return max(0.0, (parse_api_time(since) + timedelta(seconds=min_ready_s) - now).total_seconds())

    def is_available(self, min_ready_s: int, now: datetime) -> bool:
        return self.available_in_s(min_ready_s, now) == 0.0


class StoreChange(NamedTuple):
    """`before` is None for an added object. The `item` of a deletion is the last state, with a version of its own."""

    version: int
    change_kind: StoreChangeKind
    item: StoredItem
    before: StoredItem | None

    @property
    def resource(self) -> str:
        return self.item.resource

    @property
    def key(self) -> ObjectKey:
        return self.item.key

    @property
    def is_deletion(self) -> bool:
        return self.change_kind is StoreChangeKind.DELETED


class _Table:
    """The objects of one resource, and its latest changes, oldest first."""

    __slots__ = ("changes", "items", "oldest", "paths")

    def __init__(self, oldest: int) -> None:
        self.items: dict[ObjectKey, StoredItem] = {}
        self.paths: list[str] = []  # sorted, like lists
        self.changes: deque[StoreChange] = deque()
        self.oldest = oldest  # all changes after this version are kept


ChangeListener = Callable[[StoreChange], None]


class Store:
    """Mutable. Resources have their RBAC names: ``poddisruptionbudgets.policy``."""

    def __init__(self, version: int = 0, max_changes: int = MAX_KEPT_CHANGES) -> None:
        """`version`: that of the last change; `max_changes`: how many changes of each resource are kept."""
        self._version = version
        self._max_changes = max_changes
        self._dropped_version = version  # changes up to this version are dropped
        self._tables: dict[str, _Table] = {}
        self._listeners: list[ChangeListener] = []

    @property
    def version(self) -> int:
        """The version of the last change."""
        return self._version

    def listen(self, listener: ChangeListener) -> None:
        """Call `listener` with every change from now on; it must not change anything itself."""
        self._listeners.append(listener)

    @property
    def listeners(self) -> tuple[ChangeListener, ...]:
        return tuple(self._listeners)

    def remove_listeners(self, listeners: Collection[ChangeListener]) -> None:
        """Stop calling these listeners."""
        self._listeners = [each for each in self._listeners if each not in listeners]

    def get(self, resource: str, key: ObjectKey) -> StoredItem | None:
        return self._table(resource).items.get(key)

    def list(self, resource: str, namespace: str = "", after_path: str = "") -> Iterator[StoredItem]:
        """All objects, or those of one namespace, in the order of `key_path`, after the path `after_path`.

        A change during the iteration may be seen or not.
        """
        table = self._table(resource)
        paths = table.paths
        first = bisect_left(paths, f"{namespace}/") if namespace else 0
        last = bisect_left(paths, f"{namespace}0") if namespace else len(paths)
        if after_path:
            first = max(first, bisect_right(paths, after_path))
        return (table.items[_key_of_path(path)] for path in paths[first:last])

    def count(self, resource: str) -> int:
        return len(self._table(resource).items)

    def resources(self) -> Iterator[str]:
        """The resources that have, or had, an object."""
        return iter(sorted(self._tables))

    def add(self, resource: str, key: ObjectKey, doc: Doc) -> StoredItem:
        """Add a new object.

        Raises:
            StaleItem: an object of that name exists.
        """
        table = self._table(resource)
        if key in table.items:
            raise StaleItem
        item = self._new_item(resource, key, doc)
        insort(table.paths, key_path(key))
        self._record(table, StoreChange(item.version, StoreChangeKind.ADDED, item, None))
        return item

    def replace(self, item: StoredItem, doc: Doc) -> StoredItem:
        """Replace `item` by `doc`. An equal document is not written: the object keeps its version.

        Raises:
            StaleItem: `item` is not the current version.
        """
        table = self._current_table(item)
        if doc is item.doc or doc == item.doc:
            return item
        new_item = self._new_item(item.resource, item.key, doc)
        self._record(table, StoreChange(new_item.version, StoreChangeKind.MODIFIED, new_item, item))
        return new_item

    def remove(self, item: StoredItem) -> StoredItem:
        """Remove the object; returns its last state, with the version of the deletion.

        Raises:
            StaleItem: `item` is not the current version.
        """
        table = self._current_table(item)
        deleted_item = self._new_item(item.resource, item.key, item.doc)
        del table.paths[bisect_left(table.paths, key_path(item.key))]
        del table.items[item.key]
        self._record(table, StoreChange(deleted_item.version, StoreChangeKind.DELETED, deleted_item, item))
        return deleted_item

    def changes_since(self, resource: str, version: int) -> Iterator[StoreChange]:
        """The changes after `version`, oldest first.

        Raises:
            ResourceVersionExpired: some of them are not kept any more.
        """
        table = self._table(resource)
        if version < table.oldest:
            raise ResourceVersionExpired
        changes = table.changes
        first = bisect_right(changes, version, key=lambda change: change.version)
        return (changes[i] for i in range(first, len(changes)))

    def items_as_of(self, resource: str, version: int) -> dict[ObjectKey, StoredItem]:
        """The objects as they were at `version`, unordered.

        Raises:
            ResourceVersionExpired: the changes since then are not kept any more.
        """
        items = dict(self._table(resource).items)
        for change in reversed(tuple(self.changes_since(resource, version))):
            if change.before is None:
                del items[change.key]
            else:
                items[change.key] = change.before
        return items

    def oldest_version(self, resource: str) -> int:
        """The first version after which all changes of the resource are kept."""
        return self._table(resource).oldest

    def drop_changes(self) -> None:
        """Drop all kept changes, like an API server that restarts."""
        self._dropped_version = self._version
        for table in self._tables.values():
            table.changes.clear()
            table.oldest = self._version

    def _table(self, resource: str) -> _Table:
        table = self._tables.get(resource)
        if table is None:
            table = self._tables[resource] = _Table(self._dropped_version)
        return table

    def _current_table(self, item: StoredItem) -> _Table:
        table = self._table(item.resource)
        stored = table.items.get(item.key)
        if stored is None or stored.version != item.version:
            raise StaleItem
        return table

    def _new_item(self, resource: str, key: ObjectKey, doc: Doc) -> StoredItem:
        self._version += 1
        meta = {**doc["metadata"], "resourceVersion": str(self._version)}
        return StoredItem(resource, key, self._version, {**doc, "metadata": meta})

    def _record(self, table: _Table, change: StoreChange) -> None:
        if not change.is_deletion:
            table.items[change.key] = change.item
        table.changes.append(change)
        if len(table.changes) > self._max_changes:
            table.oldest = table.changes.popleft().version
        for listener in self._listeners:
            listener(change)


# Times as the API writes them: ``2026-11-20T08:00:00Z``, with a fraction in leases, for example.


_MIN_TIME, _MAX_TIME = (datetime(year, 1, 1, tzinfo=timezone.utc) for year in (1, 9999))


@lru_cache(maxsize=4096)
def parse_api_time(text: str) -> datetime:
    """
    Raises:
        ValueError: `text` is no time.
    """
    time = parse_time(text)
    if time is None:
        raise ValueError(f"{text!r} is no time")
    return time


def add_seconds(start: datetime, seconds: float) -> datetime:
    """`start` plus these seconds, which may be negative; limited to the first and the last year of a calendar.

    The API takes any int64 for a number of seconds.
    """
    try:
        return start + timedelta(seconds=seconds)
    except OverflowError:
        return _MAX_TIME if seconds > 0 else _MIN_TIME


def rfc3339(time: datetime) -> str:
    """``2026-11-20T08:00:00Z``: whole seconds, as in metadata."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


# Names and UIDs like those of the API server, the same every time for the same seed.


NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""Alphabet of generated names: without vowels and characters that are easily confused (apimachinery pkg/util/rand)."""

SUFFIX_LENGTH = 5
MAX_BASE_LENGTH = 63 - SUFFIX_LENGTH
"""Maximum length of the base of a generated name."""


class NameGenerator:
    """Mutable: each name is the next of a sequence."""

    def __init__(self, seed: int = 0) -> None:
        self._state = seed & MASK_64

    def generate_name(self, base: str) -> str:
        """`base` and five random characters, as for generateName."""
        number = self._next_bits()
        suffix = ""
        for _ in range(SUFFIX_LENGTH):
            number, index = divmod(number, len(NAME_ALPHABET))
            suffix += NAME_ALPHABET[index]
        return base[:MAX_BASE_LENGTH] + suffix

    def uid(self) -> str:
        """A version 4 UUID."""
        number = (self._next_bits() << 64 | self._next_bits()) & ~(0xF << 76) & ~(0x3 << 62) | 4 << 76 | 2 << 62
        text = f"{number:032x}"
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))

    def _next_bits(self) -> int:
        """The next of 64 random bits."""
        self._state = self._state + SPLITMIX_STEP & MASK_64
        return mix_bits(self._state)
