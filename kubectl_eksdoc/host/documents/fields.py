"""Reading a JSON object field by field: each value is of the form that is asked for, or the place is named."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from enum import Enum
from typing import TypeVar

MOST = 10**9
"""No count of a plan comes near it, and no time: it is 31 years of seconds."""

_LONGEST = 60
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")

_Word = TypeVar("_Word", bound=Enum)


class Unfit(ValueError):
    """Something in the document is missing or of another form; the message says what and where."""


def short(text: str) -> str:
    """`text` as part of an error, cut where it is long."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


class Fields:
    """An object of the document; each method gives the value of a key that must be there.

    Raises:
        Unfit: it is not there, or of another form.
    """

    def __init__(self, values: Mapping[str, object], where: str = "") -> None:
        self._values = values
        self._where = where

    def names(self) -> tuple[str, ...]:
        return tuple(self._values)

    def value(self, key: str) -> object:
        if key not in self._values:
            raise self.unfit(key, "is missing")
        return self._values[key]

    def unfit(self, key: str, what: str) -> Unfit:
        return Unfit(f"{self._where}{short(key)} {what}")

    def text(self, key: str) -> str:
        value = self.value(key)
        if not isinstance(value, str) or not value:
            raise self.unfit(key, "is no text")
        return value

    def text_or_empty(self, key: str) -> str:
        return "" if self.value(key) == "" else self.text(key)

    def text_or_null(self, key: str) -> str:
        """Null is the empty text."""
        return "" if self.value(key) is None else self.text(key)

    def word(self, key: str, words: type[_Word]) -> _Word:
        text = self.text(key)
        try:
            return words(text)
        except ValueError:
            raise self.unfit(key, f"is {short(text)!r}, which is not known here") from None

    def whole(self, key: str) -> int:
        value = self.value(key)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST:
            raise self.unfit(key, "is no count")
        return value

    def number(self, key: str) -> float:
        value = self.value(key)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= MOST:
            raise self.unfit(key, "is no amount")
        return value

    def moment(self, key: str) -> datetime:
        text = self.text(key)
        try:
            if _MOMENT.fullmatch(text):
                return datetime.fromisoformat(text[:-1]).replace(tzinfo=timezone.utc)
        except ValueError:
            pass
        raise self.unfit(key, "is no moment in UTC")

    def texts(self, key: str) -> tuple[str, ...]:
        values = self._list(key)
        if not all(isinstance(value, str) for value in values):
            raise self.unfit(key, "holds more than texts")
        return tuple(map(str, values))

    def each(self, key: str) -> Iterator[Fields]:
        """The objects of a list."""
        for at, value in enumerate(self._list(key)):
            if not isinstance(value, dict):
                raise self.unfit(f"{key}[{at}]", "is no object")
            yield Fields(value, f"{self._where}{key}[{at}].")

    def inside(self, key: str) -> Fields:
        value = self.value(key)
        if not isinstance(value, dict):
            raise self.unfit(key, "is no object")
        return Fields(value, f"{self._where}{key}.")

    def inside_or_null(self, key: str) -> Fields | None:
        return None if self.value(key) is None else self.inside(key)

    def _list(self, key: str) -> list[object]:
        value = self.value(key)
        if not isinstance(value, list):
            raise self.unfit(key, "is no list")
        return value
