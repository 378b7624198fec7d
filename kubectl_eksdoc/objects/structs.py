"""Common msgspec structs of all API objects; fields that are not needed are not declared and are skipped.

Go reads null as "absent" everywhere, and some lists print null, so every field may be None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import MISSING, field, fields, make_dataclass
from datetime import datetime
from typing import Annotated, Any, Generic, ParamSpec, TypeVar

import msgspec

from kubectl_eksdoc.model.budgets import IntOrPercent
from kubectl_eksdoc.model.selectors import NOTHING, Requirement, Selector, from_parts

Time = Annotated[datetime, msgspec.Meta(tz=True)]
"""RFC 3339 with an offset: times without an offset cannot be compared with others."""

NO_RAW = msgspec.Raw()


class LeanStruct(msgspec.Struct, gc=False, rename="camel"):
    """Base of all structs. They live only for one page, so the cyclic garbage collector need not track them."""


class ObjectMeta(LeanStruct):
    """ObjectMeta. `labels` and `owner_references` stay raw: they are byte for byte equal in replicas."""

    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    labels: msgspec.Raw = NO_RAW
    owner_references: msgspec.Raw = NO_RAW


class ObjectStruct(LeanStruct):
    """Base of all kinds; items of a list as the API prints it have no kind."""

    kind: str | None = None
    metadata: ObjectMeta | None = None

    def newest_time(self) -> datetime | None:
        """The newest time in it, except its deletion."""
        newest = self.metadata.creation_timestamp if self.metadata else None
        for each in getattr(getattr(self, "status", None), "conditions", None) or ():
            for time in (each.last_transition_time, each.last_heartbeat_time):
                if time is not None and (newest is None or time > newest):
                    newest = time
        return newest


class OwnerRef(LeanStruct):
    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None


class Condition(LeanStruct):
    type: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    last_transition_time: Time | None = None
    last_heartbeat_time: Time | None = None


class MatchExpression(LeanStruct):
    """One entry of matchExpressions, of label selectors and of node selector terms."""

    key: str | None = None
    operator: str | None = None
    values: list[str] | None = None


class LabelSelector(LeanStruct):
    match_labels: dict[str, str] | None = None
    match_expressions: list[MatchExpression] | None = None


_LIST_META = {"continue_token": "continue", "remaining": "remainingItemCount", "resource_version": "resourceVersion"}


class ListMeta(LeanStruct, rename=_LIST_META):
    resource_version: str | None = None
    continue_token: str | None = None
    remaining: int | None = None


T = TypeVar("T")


class ListStruct(LeanStruct, Generic[T]):
    """A List. Without `items` it is another object: a Status, a single object."""

    kind: str | None = None
    metadata: ListMeta | None = None
    items: list[T] | msgspec.UnsetType | None = msgspec.UNSET


# Fast creation of many frozen facts.
#
# A frozen dataclass sets each field through ``object.__setattr__``: one of twenty fields takes five times as long to
# create as one that is not frozen. So a twin with the same slots, not frozen, is filled and then becomes the fact:
# Python lets an object change its class to one with the same layout.


P = ParamSpec("P")


def fast_constructor(fact: Callable[P, T]) -> Callable[P, T]:
    """A faster constructor of `fact`, a frozen dataclass with slots and without ``__post_init__``."""
    fact_type: Any = fact
    twin = make_dataclass(
        f"Unfrozen{fact_type.__name__}",
        [(f.name, object, _same_default(f)) for f in fields(fact_type)],
        slots=True,
    )

    def make(*args: P.args, **kwargs: P.kwargs) -> T:
        instance = twin(*args, **kwargs)
        instance.__class__ = fact_type
        return instance  # type: ignore[no-any-return]

    return make


def _same_default(fact_field: Any) -> Any:
    """A field with the same default."""
    if fact_field.default_factory is not MISSING:
        return field(default_factory=fact_field.default_factory)
    return field() if fact_field.default is MISSING else field(default=fact_field.default)


# Caches: equal bytes are decoded once, equal texts are stored once. So ten thousand pods of a few hundred ReplicaSets
# need little memory, and less time.


D = TypeVar("D")

MAX_CACHE_ENTRIES = 50_000
"""Entries after which a cache is cleared: in a cluster without shared values it must not grow without limit."""


class RawError(ValueError):
    """msgspec's message about a part that was decoded by itself, with the part's own path in front."""


class RawCache(Generic[D, T]):
    """Decodes a raw part of an object at most once for equal bytes."""

    __slots__ = ("_build", "_decode", "_empty", "_path", "_values")

    def __init__(self, path: str, form: object, build: Callable[[D], T], empty: T) -> None:
        self._decode: Callable[[bytes], D | None] = msgspec.json.Decoder(form).decode
        self._build = build
        self._empty = empty
        self._path = path
        self._values: dict[bytes, T] = {}

    def __call__(self, raw: msgspec.Raw) -> T:
        """The value of `raw`; the empty value if it is absent, null or empty."""
        key = bytes(raw)
        if not key:
            return self._empty
        try:
            return self._values[key]
        except KeyError:
            try:
                decoded = self._decode(key)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise RawError(with_path(error, self._path)) from error
            value = self._build(decoded) if decoded else self._empty
            if len(self._values) >= MAX_CACHE_ENTRIES:
                self._values.clear()
            self._values[key] = value
            return value


class InternedTexts:
    """One string object for all equal strings."""

    __slots__ = ("_texts",)

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def text(self, value: str | None) -> str:
        """The shared string equal to `value`; "" for None."""
        return self._texts.setdefault(value, value) if value else ""

    def texts(self, values: list[str] | None) -> tuple[str, ...]:
        return tuple(self.text(v) for v in values) if values else ()


def with_path(error: Exception, path: str) -> str:
    """The message of `error`, with its JSON path appended to `path`."""
    text, mark, inner = str(error).partition(" - at `$")
    return f"{text} - at `{path}{inner}" if mark else f"{text} - at `{path}`"


# Builders that several kinds share: selectors, conditions, amounts.


_AMOUNT = re.compile(r"(-?\d{1,18})(%?)\Z")


def build_selector(struct: LabelSelector | None, absent: Selector = NOTHING) -> Selector:
    """The selector; `absent` is the meaning of a missing selector for the owner of the field."""
    if struct is None:
        return absent
    expressions = tuple(
        Requirement(e.key or "", e.operator or "", tuple(e.values or ())) for e in struct.match_expressions or ()
    )
    return from_parts(struct.match_labels or {}, expressions)


def build_amount(value: int | str | None, path: str) -> IntOrPercent | None:
    """An IntOrString of a budget.

    Raises:
        RawError: it is text that is neither a whole number nor a percentage.
    """
    if value is None or isinstance(value, int):
        return None if value is None else IntOrPercent(value)
    match = _AMOUNT.match(value)
    if not match:
        raise RawError(f"Expected a whole number or a percentage, got {value!r} - at `{path}`")
    return IntOrPercent(int(match.group(1)), percent=bool(match.group(2)))


def find_condition(conditions: Iterable[Condition] | None, kind: str) -> Condition | None:
    """The last condition of type `kind`."""
    result = None
    for each in conditions or ():
        if each.type == kind:
            result = each
    return result


def any_condition_true(conditions: Iterable[Condition] | None, *kinds: str) -> bool:
    return any(c.type in kinds and c.status == "True" for c in conditions or ())
