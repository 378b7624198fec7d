"""How text may look: width, colour, signs. Decided once at the boundary and handed to every renderer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

NARROWEST = 60
"""Narrower layouts would cut names to pieces; a terminal below this wraps the lines itself."""


class Tone(str, Enum):
    """What a colour means. A sign or a word always says the same, so removing colour loses nothing."""

    GOOD = "36"
    WARN = "33"
    BAD = "1;31"
    UNKNOWN = "35"
    TITLE = "1"
    FAINT = "2"


_ASCII = {
    "✓": "+",
    "✗": "x",
    "○": "o",
    "·": "-",
    "…": "...",
    "–": "-",
    "—": "-",
    "→": "->",
    "←": "<-",
    "≥": ">=",
    "≤": "<=",
    "×": "x",
    "█": "#",
    "▓": "=",
    "░": ".",
    "▒": "=",
    "▇": "#",
    "▆": "=",
    "▅": "+",
    "▄": "-",
    "▃": ":",
    "▂": ".",
    "▁": "_",
    "─": "-",
    "▌": ">",
    "▲": "^",
    "▼": "v",
    "●": "*",
    "⊘": "/",
    "»": ">",
    "↓": "down",
    "↑": "up",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "\N{NO-BREAK SPACE}": " ",
}


@dataclass(frozen=True, slots=True)
class Look:
    """`width` in columns of the terminal; `ascii` allows no other signs; `headers` False is ``--no-headers``."""

    width: int = 120
    colour: bool = False
    ascii: bool = False
    headers: bool = True

    @property
    def columns(self) -> int:
        return max(self.width, NARROWEST)

    @property
    def ellipsis(self) -> str:
        return "..." if self.ascii else "…"

    def signs(self, text: str) -> str:
        """`text` in the signs that may be used; what has no ASCII form becomes its escape."""
        if not self.ascii or text.isascii():
            return text
        plain = "".join(_ASCII.get(char, char) for char in text)
        return plain.encode("ascii", "backslashreplace").decode("ascii")

    def paint(self, text: str, tone: Tone | None) -> str:
        """`text` in the tone's colour, if there are colours. `text` must be clean already."""
        return f"\x1b[{tone.value}m{text}\x1b[0m" if self.colour and tone and text else text
