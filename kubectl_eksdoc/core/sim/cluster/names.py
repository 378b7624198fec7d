"""Names and UIDs that look as the API server's do, and are the same every time for the same seed."""

from __future__ import annotations

from kubectl_eksdoc.core.sim.cluster.chance import MASK, STEP, mixed

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""Of generated names: without vowels and what is mistaken for others (apimachinery pkg/util/rand)."""

SUFFIX = 5
LONGEST = 63 - SUFFIX
"""Of what stands before a generated suffix."""


class Names:
    """Mutable: each name it gives is the next of its line."""

    def __init__(self, seed: int = 0) -> None:
        self._state = seed & MASK

    def after(self, base: str) -> str:
        """`base` and five random characters, as generateName asks for."""
        number = self._next()
        suffix = ""
        for _ in range(SUFFIX):
            number, place = divmod(number, len(ALPHABET))
            suffix += ALPHABET[place]
        return base[:LONGEST] + suffix

    def uid(self) -> str:
        """A version 4 UUID."""
        number = (self._next() << 64 | self._next()) & ~(0xF << 76) & ~(0x3 << 62) | 4 << 76 | 2 << 62
        text = f"{number:032x}"
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))

    def _next(self) -> int:
        """The next of 64 random bits."""
        self._state = self._state + STEP & MASK
        return mixed(self._state)
