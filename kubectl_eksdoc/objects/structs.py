"""What all objects have in common, as msgspec reads it; fields we do not need are not declared and are skipped.

Go reads null as "absent" everywhere, and some lists print null, so every field may be None.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Generic, TypeVar

import msgspec

Time = Annotated[datetime, msgspec.Meta(tz=True)]
"""RFC 3339 with an offset: times without one cannot be compared with the others."""

NO_RAW = msgspec.Raw()


class Lean(msgspec.Struct, gc=False, rename="camel"):
    """Base of all structs. They live for one page only, so the cyclic collector need not know them."""


class Meta(Lean):
    """ObjectMeta. `labels` and `owner_references` stay raw: replicas share them byte for byte."""

    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    labels: msgspec.Raw = NO_RAW
    owner_references: msgspec.Raw = NO_RAW


class Object(Lean):
    """Base of all kinds; items of a list as the API prints it carry no kind."""

    kind: str | None = None
    metadata: Meta | None = None


class OwnerRef(Lean):
    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None


class Condition(Lean):
    type: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    last_transition_time: Time | None = None
    last_heartbeat_time: Time | None = None


class Expression(Lean):
    """One entry of matchExpressions, of label selectors and of node selector terms alike."""

    key: str | None = None
    operator: str | None = None
    values: list[str] | None = None


class LabelSelector(Lean):
    match_labels: dict[str, str] | None = None
    match_expressions: list[Expression] | None = None


_LIST_META = {"continue_token": "continue", "remaining": "remainingItemCount", "resource_version": "resourceVersion"}


class ListMeta(Lean, rename=_LIST_META):
    resource_version: str | None = None
    continue_token: str | None = None
    remaining: int | None = None


T = TypeVar("T")


class ListOf(Lean, Generic[T]):
    """A List. Without `items` it is something else: a Status, a single object."""

    kind: str | None = None
    metadata: ListMeta | None = None
    items: list[T] | msgspec.UnsetType | None = msgspec.UNSET
