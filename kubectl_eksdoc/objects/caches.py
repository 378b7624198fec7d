"""Equal bytes decoded once, equal texts kept once: what makes ten thousand pods of a few hundred replica sets small.

It saves time as well as memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")
D = TypeVar("D")

MOST = 50_000
"""Entries after which a cache starts anew: in a cluster where nothing is shared it must not grow for ever."""


class RawError(ValueError):
    """What msgspec says of a part that was decoded by itself, with the part's own path in front."""


class RawCache(Generic[D, T]):
    """Decodes a raw part of an object at most once per different bytes."""

    __slots__ = ("_build", "_decode", "_empty", "_known", "_path")

    def __init__(self, path: str, form: object, build: Callable[[D], T], empty: T) -> None:
        self._decode: Callable[[bytes], D | None] = msgspec.json.Decoder(form).decode
        self._build = build
        self._empty = empty
        self._path = path
        self._known: dict[bytes, T] = {}

    def __call__(self, raw: msgspec.Raw) -> T:
        """The value of `raw`; the one for "nothing" where it is absent, null or empty."""
        key = bytes(raw)
        if not key:
            return self._empty
        try:
            return self._known[key]
        except KeyError:
            return self._learn(key)

    def _learn(self, key: bytes) -> T:
        try:
            decoded = self._decode(key)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise RawError(placed(error, self._path)) from error
        value = self._build(decoded) if decoded else self._empty
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[key] = value
        return value


class Texts:
    """One string for all that are equal."""

    __slots__ = ("_texts",)

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def text(self, value: str | None) -> str:
        """The one string equal to `value`; "" for None."""
        return self._texts.setdefault(value, value) if value else ""

    def texts(self, values: list[str] | None) -> tuple[str, ...]:
        return tuple(self.text(v) for v in values) if values else ()


def placed(error: Exception, path: str) -> str:
    """The message of `error`, with the JSON path it names put below `path`."""
    text, mark, inner = str(error).partition(" - at `$")
    return f"{text} - at `{path}{inner}" if mark else f"{text} - at `{path}`"
