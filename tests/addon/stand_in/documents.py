"""Objects that are written by the API server's rules: in memory here, over HTTP in served.py.

The parts of a write (defaults, then ownership, then the fields that the resource's strategy sets) are those of
kubectl_eksdoc/embedded/serving/objects.py, without a control plane around it, so that hundreds of histories take no
time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from kubectl_eksdoc.kubernetes.api.defaults import prepare_for_create, prepare_for_update, with_defaults
from kubectl_eksdoc.kubernetes.api.patches import apply_strategic
from kubectl_eksdoc.kubernetes.api.types import schema_of
from kubectl_eksdoc.kubernetes.document_diff import NO_FIELDS, FieldSet
from kubectl_eksdoc.kubernetes.managed_fields import keep_times_if_unchanged, with_update
from kubectl_eksdoc.kubernetes.server_side_apply import ApplyConflictSet, ApplyRefused, apply
from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value

Key = tuple[str, str]
"""Kind and name: all of the add-on is in one namespace."""

_MAPS = ("labels", "annotations", "matchLabels", "nodeSelector")
"""Maps of texts, which keep an empty one."""
_STATUS = FieldSet.of_paths(("status",))


class Objects(Protocol):
    """The objects in the namespace kube-system of a cluster."""

    def get(self, kind: str, name: str) -> Doc | None:
        """The live object, None if it does not exist."""
        ...

    def apply(self, config: Doc, manager: str, *, force: bool = False, dry_run: bool = False) -> tuple[str, ...]:
        """Server-side apply. Returns the fields in conflict, sorted, one for each owner, as ``.data.key``; with a
        conflict nothing is changed."""
        ...

    def patch(self, kind: str, name: str, patch: Doc, manager: str) -> None:
        """Apply a strategic merge patch."""
        ...

    def update(self, kind: str, name: str, change: Callable[[Doc], Doc], manager: str) -> None:
        """Replace the whole live object by the result of `change`."""
        ...


class Documents:
    """`Objects` as plain documents. Mutable. Writes are one second apart, from noon of the day of the recordings."""

    def __init__(self, *docs: Doc) -> None:
        self._held: dict[Key, Doc] = {(doc["kind"], doc["metadata"]["name"]): doc for doc in docs}
        self._writes = 0

    def copy(self) -> Documents:
        """Another cluster with the same objects and the same history of writes."""
        made = Documents(*self._held.values())
        made._writes = self._writes
        return made

    def get(self, kind: str, name: str) -> Doc | None:
        return self._held.get((kind, name))

    def apply(self, config: Doc, manager: str, *, force: bool = False, dry_run: bool = False) -> tuple[str, ...]:
        key, schema = _key(config), schema_of(config["apiVersion"], config["kind"])
        live = self._held.get(key)
        result = apply(live, config, manager, force, self._now(), schema, reset=_reset(config["kind"]))
        if isinstance(result, ApplyConflictSet):
            return tuple(sorted(conflict.field for conflict in result.conflicts))
        if isinstance(result, ApplyRefused):
            raise AssertionError(result.message)
        if not dry_run:
            self._store(key, live, with_defaults(_printed(result.doc)))
        return ()

    def patch(self, kind: str, name: str, patch: Doc, manager: str) -> None:
        live = self._held[kind, name]
        schema = schema_of(live["apiVersion"], kind)
        self._write(live, apply_strategic(live, patch, schema.root), manager)

    def update(self, kind: str, name: str, change: Callable[[Doc], Doc], manager: str) -> None:
        live = self._held[kind, name]
        self._write(live, change(live), manager)

    def _write(self, live: Doc, new: Doc, manager: str) -> None:
        schema = schema_of(live["apiVersion"], live["kind"])
        made = with_update(live, with_defaults(_printed(new)), manager, self._now(), schema, reset=_reset(live["kind"]))
        self._store(_key(live), live, made)

    def _store(self, key: Key, live: Doc | None, doc: Doc) -> None:
        self._held[key] = (
            prepare_for_create(doc) if live is None else keep_times_if_unchanged(live, prepare_for_update(live, doc))
        )

    def _now(self) -> str:
        self._writes += 1
        return f"2026-11-20T{12 + self._writes // 3600:02}:{self._writes // 60 % 60:02}:{self._writes % 60:02}Z"


def _key(doc: Doc) -> Key:
    return doc["kind"], str(nested_field(doc, "metadata", "name"))


def _printed(doc: Doc) -> Doc:
    """As Go prints it: a field that is "" in a typed spec is left out (``omitempty``); the client that applied it still
    owns it."""
    return with_value(doc, ("spec",), _without_empty(doc["spec"])) if "spec" in doc else doc


def _without_empty(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_empty(each) for each in value]
    if isinstance(value, dict):
        return {key: each if key in _MAPS else _without_empty(each) for key, each in value.items() if each != ""}
    return value


def _reset(kind: str) -> FieldSet:
    """Reset fields that the strategy of a kind with a status ignores in a write to the object itself."""
    return _STATUS if kind == "DaemonSet" else NO_FIELDS
