"""Text of foreign origin made safe for a terminal, and text made to fit a line.

Messages, annotations and paths are whatever somebody wrote into the cluster. A terminal obeys escape
sequences in them: it can be told to hide lines, to retitle itself or to reorder what is read.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import TypeVar

from kubectl_eksdoc.frozen import frozen

# How text may look: width, colour, signs. Decided once at the boundary and handed to every renderer.


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


@frozen
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


_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Control, format (bidirectional marks, zero width), lone surrogate, line and paragraph separator."""


def unsafe(char: str) -> bool:
    """True for what a terminal or an editor acts on instead of showing it."""
    return unicodedata.category(char) in _UNSAFE


def clean(text: str) -> str:
    """`text` on one line, with everything a terminal would act on shown as an escape: ``\\x1b[2J``."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(char) if unsafe(char) else char for char in text)


def _escape(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def shown(text: str, look: Look) -> str:
    """`text` as it may be printed: clean, and in the signs that `look` allows."""
    return look.signs(clean(text))


def cut(text: str, room: int, look: Look, middle: bool = False) -> str:
    """At most `room` columns of `text`; what is missing is marked, at the end or in the middle."""
    if len(text) <= room:
        return text
    mark = look.ellipsis
    rest = room - len(mark)
    if rest <= 0:
        return text[: max(room, 0)]
    if not middle:
        return text[:rest].rstrip() + mark
    head = (rest + 1) // 2
    return text[:head] + mark + text[len(text) - (rest - head) :]


def wrap(text: str, room: int, first: str = "", rest: str | None = None) -> list[str]:
    """`text` in lines of at most `room` columns, breaking at spaces; a word that is too long is broken, behind a dot
    if there is one.

    `first` opens the first line and `rest` the others (by default as many spaces).
    """
    rest = " " * len(first) if rest is None else rest
    lines: list[str] = []
    line, opened = first, False
    for word in text.split(" "):
        if opened and len(line) + 1 + len(word) > room:
            lines.append(line)
            line, opened = rest, False
        if opened:
            line += " "
        while len(line) + len(word) > room and room > len(rest):
            fits = room - len(line)
            fits = word.rfind(".", 0, fits) + 1 or fits
            lines.append(line + word[:fits])
            word, line = word[fits:], rest
        line += word
        opened = True
    return [*lines, line]


def wrapped(text: str, look: Look, first: str = "", rest: str | None = None) -> list[str]:
    """`text` as it may be printed, in lines that fit the look (`wrap`)."""
    return wrap(shown(text, look), look.columns, first, rest)


_T = TypeVar("_T")


def few(every: Sequence[_T], most: int) -> Sequence[_T]:
    """The first `most`; one more is shown rather than counted."""
    return every if len(every) <= most + 1 else every[:most]


def sentences(*texts: str) -> str:
    """One after the other, each with one stop at its end, be it there already; those that are empty are left out."""
    kept = (text.rstrip() for text in texts if text.strip())
    return " ".join(text if text[-1] in _STOPS else f"{text}." for text in kept)


_STOPS = ".!?…"


def listing(names: Iterable[str], most: int, look: Look, comma: str = ", ") -> str:
    """``a, b, c … and 31 more``: the first `most` of `names`; one more is shown rather than counted."""
    every = list(names)
    if len(every) <= most + 1:
        return comma.join(every)
    return f"{comma.join(every[:most])} {look.ellipsis} and {len(every) - most} more"


def counted(count: int, noun: str, plural: str = "") -> str:
    """``1 node``, ``2 nodes``."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def joined(parts: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


# Moments, ages and durations as people read them.


_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def rfc3339(moment: datetime) -> str:
    """``2026-11-20T08:51:00Z``: UTC, whole seconds. A moment without a zone is taken as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return aware.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def between(earlier: datetime, later: datetime) -> timedelta:
    """`later` - `earlier`; a moment without a zone is taken as UTC."""
    first, second = (m if m.tzinfo else m.replace(tzinfo=timezone.utc) for m in (earlier, later))
    return second - first


def age(span: timedelta) -> str:
    """One unit, the largest that is at least two of itself, as kubectl prints ages: ``90s``, ``12d``."""
    seconds = max(0, int(span.total_seconds()))
    for size, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def duration(seconds: float) -> str:
    """Exact to the second: ``47s``, ``4m47s``, ``2h05m00s``."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, _HOUR)
    minutes, left = divmod(rest, _MINUTE)
    if hours:
        return f"{hours}h{minutes:02d}m{left:02d}s"
    return f"{minutes}m{left:02d}s" if minutes else f"{left}s"


def short(moment: float) -> str:
    """``5m``, ``1m30s``, ``2h``: so that marks have room on a phone."""
    said = duration(moment)
    for rest in ("m00s", "h00m"):
        said = said.removesuffix(rest) + rest[0] if said.endswith(rest) else said
    return said
