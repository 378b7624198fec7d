"""Canary secrets that name the place where they were planted, and a search that finds them plain, URL-encoded, in
base64 and packed."""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

MARK = "canary7q"
"""Part of every one of them; of letters and digits alone, so that a URL-encoded one has it as it is."""


class Canaries:
    """A series of secrets, each with its place and a number."""

    def __init__(self, place: str) -> None:
        self._place, self._count = re.sub(r"[^a-z0-9]+", "-", place.lower()), 0

    def any(self) -> str:
        self._count += 1
        return f"{MARK}-{self._place}-{self._count}/+Z"

    known = any

    def label(self, number: int) -> str:
        """A value without a secret, because labels are printed."""
        return "ann"

    def of_route53(self) -> str:
        return f"{self.any()} {self.any()}"


_PLAIN = re.compile(rb"(?i)%s(?:[a-z0-9-]*[a-z0-9])?" % MARK.encode())
_PACKED = re.compile(rb"H4sI[A-Za-z0-9+/]{16,}={0,2}")
_WORD = re.compile(rb"[A-Za-z0-9+/_-]*")


def _fragments() -> Iterator[tuple[int, bytes]]:
    """For each offset of the mark in a group of three bytes, the base64 text that depends on nothing else."""
    for before in range(3):
        whole = base64.b64encode(bytes(before) + MARK.encode())
        yield before, whole[(before * 8 + 5) // 6 : (before + len(MARK)) * 8 // 6]


FRAGMENTS = tuple(_fragments())


def canaries_in(data: bytes, more: Mapping[str, str] = {}) -> set[str]:
    """The names of the canaries in the text. `more`: secrets without the mark, and their names."""
    found = set()
    for text in _unpacked(data):
        found |= {each.decode().lower() for each in _PLAIN.findall(text)}
        for before, fragment in FRAGMENTS:
            if fragment in text:
                found |= {f"{each} (base64)" for each in _decoded(text, fragment, before)}
        found |= {f"{MARK} (hex)"} if MARK.encode().hex().encode() in text.lower() else set()
        for secret, name in more.items():
            if any(form in text for form in _forms(secret)):
                found.add(name)
    return found


def _decoded(text: bytes, fragment: bytes, before: int) -> Iterator[str]:
    at = text.find(fragment)
    while at >= 0:
        begin = at - (before * 8 + 5) // 6
        word = _WORD.match(text, begin if begin >= 0 else at)
        body = word.group() if word else b""
        plain = base64.b64decode(body[: len(body) // 4 * 4], altchars=b"-_" if set(body) & set(b"-_") else None)
        names = {each.decode() for each in _PLAIN.findall(plain)}
        yield from names or {MARK}
        at = text.find(fragment, at + 1)


def _forms(secret: str) -> tuple[bytes, bytes]:
    return secret.encode(), base64.b64encode(secret.encode()).rstrip(b"=")[:-1]


def _unpacked(data: bytes) -> Iterator[bytes]:
    """The data itself, and all data packed in it."""
    if data[:2] == b"\x1f\x8b":
        try:
            yield from _unpacked(gzip.decompress(data))
        except (OSError, EOFError, zlib.error):
            yield data
        return
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                file = archive.extractfile(member)
                yield member.name.encode()
                if file is not None:
                    yield from _unpacked(file.read())
        return
    except tarfile.TarError:
        pass
    yield data
    for packed in _PACKED.findall(data):
        try:
            yield from _unpacked(gzip.decompress(base64.b64decode(packed + b"=" * (-len(packed) % 4))))
        except (OSError, EOFError, zlib.error, binascii.Error):
            continue


def canaries_below(folder: Path, more: Mapping[str, str] = {}) -> set[str]:
    """The canaries in contents and names of files, each with its file."""
    found = set()
    for path in sorted(folder.rglob("*")):
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        name = path.relative_to(folder)
        found |= {f"{each} in {name}" for each in canaries_in(data, more) | canaries_in(str(name).encode(), more)}
    return found
