"""Releases of Helm as its Secrets hold them: which objects are in their manifests, and nothing else of what they hold.

Sources: helm pkg/storage/driver/util.go (``release``: base64 of gzip of JSON; text without gzip is read, too) and
secrets.go (type ``helm.sh/release.v1``; labels ``owner=helm``, ``name``, ``status``, ``version``, the revision). The
API writes the data of a Secret as base64 once more. Values, chart and notes are not even decoded.
"""

from __future__ import annotations

import binascii
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from kubectl_eksdoc.core.model.api_objects import Doc, text_at
from kubectl_eksdoc.core.model.api_usage import Manifest, Release
from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.objects.manifests import manifest_of
from kubectl_eksdoc.objects.structs import Lean

TYPE = "helm.sh/release.v1"
SELECTOR = "owner=helm"
LARGEST = 4 << 20
"""Bytes of a release in its Secret. An API server takes 1 MiB (MaxSecretSize)."""
LARGEST_INFLATED = 64 << 20
STEEPEST = 300
"""A release is text that somebody wrote, and its chart once more: gzip makes a tenth to a hundredth of it."""

_GZIP = b"\x1f\x8b\x08"
_LABELS = ("owner", "name", "status", "version")
_DEPLOYED, _UNINSTALLED = "deployed", "uninstalled"


@dataclass(frozen=True, slots=True)
class Kept:
    """One revision, by the labels of its Secret, which is called `secret`."""

    namespace: str
    name: str
    revision: int
    status: str
    secret: str


def kept(secret: Doc) -> Kept | None:
    """None where it is no revision of a release; no more than its metadata is looked at."""
    namespace, own = (text_at(secret, "metadata", key) for key in ("namespace", "name"))
    owner, name, status, version = (text_at(secret, "metadata", "labels", label) for label in _LABELS)
    if owner != "helm" or not name or not own or not _number(version):
        return None
    return Kept(namespace, name, int(version), status, own)


def _number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def latest(found: Iterable[Kept]) -> tuple[Kept, ...]:
    """Of each release the revision that the next ``helm upgrade`` starts from: the one that is deployed, else the last,
    whether it failed or was superseded (helm pkg/action/upgrade.go, prepareUpgrade). What is uninstalled, with its
    history kept, is in no cluster."""
    best: dict[tuple[str, str], Kept] = {}
    for each in found:
        key = each.namespace, each.name
        if key not in best or _rank(best[key]) < _rank(each):
            best[key] = each
    return tuple(each for _, each in sorted(best.items()) if each.status != _UNINSTALLED)


def _rank(each: Kept) -> tuple[bool, int]:
    return each.status == _DEPLOYED, each.revision


def release(of: Kept, secret: Doc) -> Release:
    """What the whole Secret holds of it."""
    made = Release(of.namespace, of.name, of.revision, of.status, Manifest(""))
    try:
        held = _held(secret)
    except _NotReadable as error:
        return replace(made, manifest=Unknown(f"the Secret {of.secret} of namespace {of.namespace} {error}"))
    hooks = (hook.manifest or "" for hook in held.hooks or ())
    return replace(made, manifest=manifest_of(held.manifest or ""), hooks=manifest_of("\n---\n".join(hooks)))


class _NotReadable(ValueError):
    """Why, in words that follow the Secret's name; nothing of what it holds."""


class _Hook(Lean):
    manifest: str | None = None


class _Release(Lean):
    manifest: str | None = None
    hooks: list[_Hook] | None = None


_decode = msgspec.json.Decoder(_Release).decode


def _held(secret: Doc) -> _Release:
    try:
        return _decode(_json(secret))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _NotReadable("holds no release: what is in it is no JSON of one") from error


def _json(secret: Doc) -> bytes:
    held = text_at(secret, "data", "release")
    if not held:
        raise _NotReadable("has no release in it")
    if len(held) > 2 * LARGEST:
        raise _NotReadable(f"is larger than {LARGEST >> 20} MiB")
    packed = _base64(_base64(held.encode("utf-8", "replace")))
    return _inflated(packed) if packed.startswith(_GZIP) else packed


def _base64(text: bytes) -> bytes:
    try:
        return binascii.a2b_base64(text)
    except (binascii.Error, ValueError) as error:
        raise _NotReadable("holds no release: it is no base64") from error


def _inflated(packed: bytes) -> bytes:
    """No more of it is made than is allowed, whatever it says of itself."""
    most = min(LARGEST_INFLATED, max(1 << 20, STEEPEST * len(packed)))
    inflating: Any = zlib.decompressobj(wbits=31)
    try:
        made: bytes = inflating.decompress(packed, most + 1)
    except zlib.error as error:
        raise _NotReadable("holds no release: it is no gzip") from error
    if len(made) > most:
        raise _NotReadable(f"grows to more than {most >> 20} MiB when it is unpacked")
    if not inflating.eof:
        raise _NotReadable("holds a release that is cut off")
    return made
