"""Watches that go wrong: the pieces of a stream of events, cut, late, doubled, expired or kept back.

Source of the texts: apiserver pkg/storage/cacher/watch_cache_history.go and pkg/storage/etcd3/watcher.go, as a 1.36
server answered them (tests/data/recordings).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kubectl_eksdoc.core.rules.api.statuses import expired
from kubectl_eksdoc.embedded.serving.messages import ConnectionLost
from kubectl_eksdoc.objects.single import encode


def too_old(version: str) -> bytes:
    """The only event of a watch whose version is behind what the watch cache holds."""
    oldest = int(version) + 1 if version.isascii() and version.isdigit() else 2
    return _error(f"too old resource version: {version or 1} ({oldest})")


def expiring(pieces: Iterator[bytes], after: int) -> Iterator[bytes]:
    """So many events, and then that etcd was compacted."""
    yield from _first(pieces, after)
    yield _error("The resourceVersion for the provided watch is too old.")


def cut(pieces: Iterator[bytes], after: int) -> Iterator[bytes]:
    """So many events.

    Raises:
        ConnectionLost: after them, to be taken for the stream's end without an end.
    """
    yield from _first(pieces, after)
    raise ConnectionLost


def delayed(pieces: Iterator[bytes], sleep: Callable[[], object]) -> Iterator[bytes]:
    for piece in pieces:
        if piece:
            sleep()
        yield piece


def doubled(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield b"".join(line + line for line in piece.splitlines(keepends=True))


def silent(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for _ in pieces:
        yield b""


def _first(pieces: Iterator[bytes], count: int) -> Iterator[bytes]:
    """The first events; fewer where the stream ends before."""
    for piece in pieces:
        lines = piece.splitlines(keepends=True)[:count]
        yield b"".join(lines)
        count -= len(lines)
        if not count:
            return


def _error(text: str) -> bytes:
    return encode({"type": "ERROR", "object": expired(text).status.doc()}) + b"\n"
