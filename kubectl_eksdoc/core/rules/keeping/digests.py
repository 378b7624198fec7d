"""A value that is not kept, as something that tells equal ones apart from others, and nothing else."""

from __future__ import annotations

import hashlib

MARK = "eksdoc-digest:"
"""What a digest begins with; no value that is kept does."""

_MOST = 100_000
_BYTES = 8


class Digests:
    """Of one file. `key` is chosen by chance and thrown away with this: without it nobody can try out which short
    password has this digest. Mutable: it remembers what it was asked."""

    __slots__ = ("_key", "_known")

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._known: dict[str, str] = {}

    def of(self, text: str) -> str:
        """``eksdoc-digest:`` and 16 hexadecimal digits; "" stays."""
        if not text or text.startswith(MARK):
            return text
        found = self._known.get(text)
        if found is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            made = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=_BYTES)
            found = self._known[text] = MARK + made.hexdigest()
        return found


def is_digest(text: object) -> bool:
    return isinstance(text, str) and MARK in text
