"""Texts that are packed to be sent along, and unpacked within bounds: gzip, without a time or a name in it."""

from __future__ import annotations

import gzip
import io
import zlib

MAGIC = b"\x1f\x8b"


def packed(text: str) -> bytes:
    """The same text gives the same bytes."""
    return gzip.compress(text.encode(), 9, mtime=0)


def unpacked(content: bytes, most: int) -> bytes:
    """What is behind `content`, up to one byte more than `most`.

    Raises:
        ValueError: it is broken, or not all of it.
    """
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            return file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"it is packed, and broken: {error}") from error
