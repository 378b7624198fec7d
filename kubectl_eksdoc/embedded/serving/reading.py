"""Reads of objects and lists: single objects, pages, lists as of a version; plain, as tables, or metadata only.

Source: apiserver pkg/endpoints/handlers/get.go, pkg/storage/etcd3/store.go (GetList), pkg/storage/continue.go.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.resources import (
    ApiRefusal,
    ApiStatus,
    StatusCause,
    StatusDetails,
    bad_request,
    expired,
)
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.model.selectors import InvalidSelector, Selector, parse
from kubectl_eksdoc.simulator.store import ResourceVersionExpired, Store, StoredItem, key_path

from .requests import ServedRequest, ServedTarget

# Continue tokens: the position and version of a paged list.
#
# Source: apiserver pkg/storage/continue.go (EncodeContinue, DecodeContinue).


_FORMAT = "meta.k8s.io/v1"

ANY_VERSION = -1
"""A token of this version continues with the current objects."""


@frozen
class _Token:
    """`start` is the path (see `store.key_path`) of the last object of the page before, relative to the list: in a list
    of one namespace it is a name."""

    version: int
    start: str


def encode(token: _Token, rooted: bool = True) -> str:
    """`rooted`: as a watch cache writes it, with a leading slash; etcd's own has none."""
    start = f"{'/' if rooted else ''}{token.start}\0"
    text = json.dumps({"v": _FORMAT, "rv": token.version, "start": start}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(text: str) -> _Token:
    """Decode a continue token.

    Raises:
        ApiRefusal: 400, it is invalid.
    """
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
        fields = json.loads(raw)
        version, start, form = fields.get("rv"), fields.get("start"), fields.get("v")
    except (ValueError, AttributeError, binascii.Error) as error:
        raise bad_request(f"invalid continue token: continue key is not valid: {error}") from error
    if form != _FORMAT or not isinstance(version, int) or not isinstance(start, str) or version == 0:
        raise bad_request("invalid continue token: continue key is not valid: server does not recognize it")
    return _Token(version, start.rstrip("\0").removeprefix("/"))


# Selection of objects: label selectors for every kind, field selectors for kinds that have some.
#
# Source: pkg/apis/core/v1/conversion.go and pkg/registry/*/strategy.go (the fields each kind can be selected by).


_NAMES = {"metadata.name": ("metadata", "name"), "metadata.namespace": ("metadata", "namespace")}

_FIELDS = {
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "jobs.batch": ("status.successful",),
    "replicasets.apps": ("status.replicas",),
    "replicationcontrollers": ("status.replicas",),
    "events": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
}
_TERM = re.compile(r"([^=!]+)(==|!=|=)(.*)", re.DOTALL)


@frozen
class FieldSelection:
    """`equal` and `other`: fields by path with the value they must have, and must not have."""

    labels: Selector | None = None
    equal: tuple[tuple[tuple[str, ...], str], ...] = ()
    other: tuple[tuple[tuple[str, ...], str], ...] = ()

    @property
    def is_unrestricted(self) -> bool:
        return self.labels is None and not self.equal and not self.other

    def with_name(self, name: str) -> FieldSelection:
        """Restrict the selection to one name."""
        return replace(self, equal=(*self.equal, (_NAMES["metadata.name"], name)))

    def matches(self, doc: Doc) -> bool:
        if self.labels is not None and not self.labels.matches(nested_field(doc, "metadata", "labels") or {}):
            return False
        return all(_text(nested_field(doc, *path)) == value for path, value in self.equal) and all(
            _text(nested_field(doc, *path)) != value for path, value in self.other
        )


def parse_selection(
    resource: str, labels: str, fields: str, is_known_field: Callable[[str], bool] | None = None
) -> FieldSelection:
    """Parse the two query parameters for a resource; `is_known_field` says which other fields are selectable.

    Raises:
        ApiRefusal: 400, they cannot be parsed, or the kind has no such selectable field.
    """
    try:
        selector = parse(labels) if labels.strip() else None
    except InvalidSelector as error:
        raise bad_request(error.server_message) from error
    equal: list[tuple[tuple[str, ...], str]] = []
    other: list[tuple[tuple[str, ...], str]] = []
    for term in filter(None, fields.split(",")):
        match = _TERM.fullmatch(term)
        if match is None:
            raise bad_request(f"invalid selector: '{fields}'; can't understand '{term}'")
        field, operator, value = match.groups()
        if (
            field not in _NAMES
            and field not in _FIELDS.get(resource, ())
            and not (is_known_field and is_known_field(field))
        ):
            raise bad_request(f"field label not supported: {field}")
        (other if operator == "!=" else equal).append((tuple(field.split(".")), value))
    return FieldSelection(selector, tuple(equal), tuple(other))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


TOO_OLD_TO_CONTINUE = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


_NUMBER = re.compile(r"[0-9]{1,19}")
_MAX_INT64 = (1 << 63) - 1


class TooOldToContinue(Exception):
    """410 with a token that allows to continue all the same."""

    def __init__(self, token: str) -> None:
        super().__init__(token)
        self.token = token


@frozen
class _Page:
    """A list or a part of one. `token` is "" at the end; `remaining` None if it is not reported (with selectors)."""

    items: tuple[StoredItem, ...]
    version: int
    token: str = ""
    remaining: int | None = None

    @property
    def metadata(self) -> Doc:
        list_metadata: Doc = {"resourceVersion": str(self.version)}
        if self.token:
            list_metadata["continue"] = self.token
            if self.remaining is not None:
                list_metadata["remainingItemCount"] = self.remaining
        return list_metadata


def requested_selection(request: ServedRequest, target: ServedTarget) -> FieldSelection:
    """Return the selection of a request.

    Raises:
        ApiRefusal: 400, a selector cannot be parsed.
    """
    selection = parse_selection(target.resource, request.parameter("labelSelector"), request.parameter("fieldSelector"))
    return selection.with_name(target.name) if target.name else selection


def requested_page(store: Store, request: ServedRequest, target: ServedTarget) -> _Page:
    """Return the requested page.

    Raises:
        ApiRefusal: 400, 410 and 504.
        TooOldToContinue: 410.
    """
    choice, limit = requested_selection(request, target), number_parameter(request, "limit")
    requested_version = number_parameter(request, "resourceVersion")
    token = decode(request.parameter("continue")) if request.parameter("continue") else None
    version = store.version
    if token is not None and token.version != ANY_VERSION:
        version = token.version
    elif request.parameter("resourceVersionMatch") == "Exact":
        version = requested_version
    elif requested_version > store.version:
        raise _too_large(requested_version, store.version)
    items = _items_at_version(store, target, version, token)
    selected, remaining = _select_page(items, choice, limit)
    if not remaining:
        return _Page(tuple(selected), version)
    next_token = _Token(version, key_path(selected[-1].key).removeprefix(_list_prefix(target)))
    return _Page(tuple(selected), version, encode(next_token), remaining if choice.is_unrestricted else None)


def _select_page(items: Iterable[StoredItem], choice: FieldSelection, limit: int) -> tuple[list[StoredItem], int]:
    """Return the first `limit` selected items (0: all), and the number of remaining items."""
    items = list(items)
    if not limit:
        return [item for item in items if choice.matches(item.doc)], 0
    selected: list[StoredItem] = []
    for index, item in enumerate(items):
        if len(selected) == limit:
            remaining = items[index:]
            return selected, len(remaining) if choice.is_unrestricted or any(
                choice.matches(each.doc) for each in remaining
            ) else 0
        if choice.matches(item.doc):
            selected.append(item)
    return selected, 0


def _items_at_version(store: Store, target: ServedTarget, version: int, token: _Token | None) -> list[StoredItem]:
    namespace = _list_namespace(target)
    if version > store.version:
        raise _too_large(version, store.version)
    after_path = _list_prefix(target) + token.start if token is not None else ""
    if version == store.version:
        return list(store.list(target.resource, namespace, after_path))
    try:
        items = store.items_as_of(target.resource, version).values()
    except ResourceVersionExpired as error:
        if token is None:
            raise expired("The resourceVersion for the provided list is too old.") from error
        raise TooOldToContinue(encode(_Token(ANY_VERSION, token.start), rooted=False)) from error
    items_by_path = {key_path(item.key): item for item in items if not namespace or item.key[0] == namespace}
    return [items_by_path[path] for path in sorted(items_by_path) if path > after_path]


def _list_namespace(target: ServedTarget) -> str:
    """Return the namespace of a list, "" for all."""
    return target.namespace if target.served.namespaced else ""


def _list_prefix(target: ServedTarget) -> str:
    """Return the common prefix of all paths in a list."""
    if target.served.namespaced and not target.namespace:
        return ""
    return f"{_list_namespace(target)}/"


def _too_large(version: int, current: int) -> ApiRefusal:
    """Refuse a version that does not exist yet (apiserver pkg/storage/errors.go, NewTooLargeResourceVersionError)."""
    text = f"Timeout: Too large resource version: {version}, current: {current}"
    cause = StatusCause("ResourceVersionTooLarge", "Too large resource version")
    return ApiRefusal(ApiStatus(504, "Timeout", text, StatusDetails(causes=(cause,), retry_after_s=1)))


def number_parameter(request: ServedRequest, name: str) -> int:
    """Return a numeric query parameter; 0 without one.

    Raises:
        ApiRefusal: 400, it is not a number, or does not fit Go's int64.
    """
    word = request.parameter(name)
    if not word:
        return 0
    value = int(word) if _NUMBER.fullmatch(word) else _MAX_INT64 + 1
    if not 0 <= value <= _MAX_INT64:
        raise bad_request(f'{name}: Invalid value: "{word}": it must be a number from 0 to {_MAX_INT64}')
    return value
