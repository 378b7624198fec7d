"""One value for what many objects repeat: names, label sets, owners, tolerations.

Ten thousand pods of a few hundred replica sets hold a few hundred label sets. Equal bytes are decoded
once, so this saves time as well as memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from kubectl_eksdoc.core.model.pods import Owner, Toleration
from kubectl_eksdoc.core.model.selectors import Labels
from kubectl_eksdoc.objects.structs import Lean, OwnerRef

T = TypeVar("T")
D = TypeVar("D")

_MOST = 50_000
"""Entries after which a cache starts anew: in a cluster where nothing is shared it must not grow for ever."""


class RawError(ValueError):
    """What msgspec says of a part that was decoded by itself, with the part's own path in front."""


class TolerationEntry(Lean):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


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
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[key] = value
        return value


class Sharing:
    """The caches of one observation."""

    __slots__ = ("_texts", "labels", "owner", "template_labels", "template_tolerations", "tolerations")

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        form: object = dict[str, str] | None
        self.labels: RawCache[dict[str, str], Labels] = RawCache("$.metadata.labels", form, self._labels, {})
        self.owner: RawCache[list[OwnerRef], Owner | None] = RawCache(
            "$.metadata.ownerReferences", list[OwnerRef] | None, self._owner, None
        )
        entries: object = list[TolerationEntry] | None
        self.tolerations: RawCache[list[TolerationEntry], tuple[Toleration, ...]] = RawCache(
            "$.spec.tolerations", entries, self._tolerations, ()
        )
        template = "$.spec.template"
        self.template_labels: RawCache[dict[str, str], Labels] = RawCache(
            f"{template}.metadata.labels", form, self._labels, {}
        )
        self.template_tolerations: RawCache[list[TolerationEntry], tuple[Toleration, ...]] = RawCache(
            f"{template}.spec.tolerations", entries, self._tolerations, ()
        )

    def text(self, value: str | None) -> str:
        """The one string equal to `value`; "" for None."""
        return self._texts.setdefault(value, value) if value else ""

    def texts(self, values: list[str] | None) -> tuple[str, ...]:
        return tuple(self.text(v) for v in values) if values else ()

    def _labels(self, given: dict[str, str]) -> Labels:
        text = self.text
        return {text(k): text(v) for k, v in given.items()}

    def _owner(self, references: list[OwnerRef]) -> Owner | None:
        """The controller, of which there is at most one (metav1.GetControllerOf)."""
        text = self.text
        for ref in references:
            if ref.controller:
                group = (ref.api_version or "").rpartition("/")[0]
                return Owner(text(ref.kind), text(ref.name), text(ref.uid), text(group))
        return None

    def _tolerations(self, entries: list[TolerationEntry]) -> tuple[Toleration, ...]:
        text = self.text
        return tuple(
            Toleration(text(e.key), text(e.operator) or "Equal", text(e.value), text(e.effect)) for e in entries
        )


def placed(error: Exception, path: str) -> str:
    """The message of `error`, with the JSON path it names put below `path`."""
    text, mark, inner = str(error).partition(" - at `$")
    return f"{text} - at `{path}{inner}" if mark else f"{text} - at `{path}`"
