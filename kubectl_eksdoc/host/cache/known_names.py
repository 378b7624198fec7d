"""Names that were seen in clusters, kept for the next press of Tab."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kubectl_eksdoc.core.model.names import Name
from kubectl_eksdoc.host.cache.files import CacheFiles
from kubectl_eksdoc.host.documents.fields import Fields, Unfit

VERSION = 1
MOST = 100
LARGEST = 1 << 20
ENDING = ".names"
ASKING = ".asking"
_SMALL = 64

FRESH_S = 60.0
"""So long nobody is asked again."""
FAILED_S = 15.0
"""So long nobody is asked again where there was no answer: whoever logs in meanwhile need not wait for a minute."""
LONGEST_S = 86_400.0
"""So long names are offered if nobody answers."""


@dataclass(frozen=True, slots=True)
class Known:
    """`asked` is when they were asked for last, `seen` when there was an answer; seconds since 1970."""

    names: tuple[Name, ...]
    asked: float
    seen: float

    def fresh(self, now: float) -> bool:
        return 0 <= now - self.asked < (FRESH_S if self.seen >= self.asked else FAILED_S)

    def usable(self, now: float) -> tuple[Name, ...]:
        return self.names if 0 <= now - self.seen < LONGEST_S else ()


class KnownNames:
    """`key` is a digest, in hex, of all that makes out what is asked, and who asks."""

    def __init__(self, folder: Path) -> None:
        self._files = CacheFiles(folder, ENDING, MOST, LARGEST)
        self._asking = CacheFiles(folder, ASKING, MOST, _SMALL)

    def of(self, key: str) -> Known | None:
        """None where there are none, or none that can be used."""
        content = self._files.of(key)
        return None if content is None else known_in(content)

    def keep(self, key: str, known: Known) -> None:
        self._files.keep(key, content_of(known))

    def asked_for(self, key: str, now: float) -> float:
        """The seconds since somebody began to ask to whom nothing has been said yet; infinite where nobody did."""
        try:
            begun = float(self._asking.of(key) or b"nan")
        except ValueError:
            return math.inf
        found = self.of(key)
        return now - begun if begun <= now and (found is None or found.asked < begun) else math.inf

    def begin(self, key: str, now: float) -> None:
        self._asking.keep(key, repr(now).encode("ascii"))


def content_of(known: Known) -> bytes:
    names = [{"name": each.text, "about": each.about} for each in known.names]
    document = {"version": VERSION, "asked": known.asked, "seen": known.seen, "names": names}
    return json.dumps(document, separators=(",", ":")).encode("ascii")


def known_in(content: bytes) -> Known | None:
    """None: it is not what `content_of` of this version makes."""
    try:
        document: object = json.loads(content)
        if not isinstance(document, dict):
            return None
        fields = Fields(document)
        if fields.whole("version") != VERSION:
            return None
        return Known(_names(fields.each("names")), _seconds(fields, "asked"), _seconds(fields, "seen"))
    except (ValueError, RecursionError, OverflowError):  # ValueError: not JSON, not Unicode, or Unfit
        return None


def _names(entries: Iterable[Fields]) -> tuple[Name, ...]:
    return tuple(Name(each.text("name"), each.text_or_empty("about")) for each in entries)


def _seconds(fields: Fields, key: str) -> float:
    value = fields.value(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Unfit(f"{key} is no number")
    return float(value)
