"""What was asked for and is not known, and why, whoever was asked: never pass, and never nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import Any, TypeVar, cast

from kubectl_eksdoc.frozen import frozen


@frozen
class Unknown:
    """`why` in a clause; `missing`: the right that would tell, ``eks:DescribeAddon`` or ``get pods/log``, "" if that is
    not why."""

    why: str
    missing: str = ""

    def __str__(self) -> str:
        return self.why


@frozen
class NoAws(Unknown):
    """Nothing of AWS is known, for that one reason."""


@frozen
class NotHeld(Unknown):
    """A snapshot was read, which does not hold it."""


def missing_rights(*answers: object) -> tuple[str, ...]:
    """Of those that are unknown for want of a right, in their order."""
    return tuple(dict.fromkeys(each.missing for each in answers if isinstance(each, Unknown) and each.missing))


NOT_ASKED = Unknown("it was not asked for")


@frozen
class Absent:
    """Whoever was asked says that there is no such thing."""

    said: str


_Answers = TypeVar("_Answers")


def with_later(first: _Answers, later: _Answers) -> _Answers:
    """A dataclass of answers, with those that were given later; nothing is asked twice."""

    def both(name: str) -> object:
        one, other = getattr(first, name), getattr(later, name)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            return {**one, **other}
        return other if one is NOT_ASKED else one

    kind: Any = type(first)
    return cast("_Answers", kind(**{each.name: both(each.name) for each in fields(kind)}))


def known_or_unknown(answer: _Answers | Absent | Unknown) -> _Answers | Unknown:
    """Of what is nothing by itself: where there is no such thing, that is why it is unknown."""
    return Unknown(answer.said) if isinstance(answer, Absent) else answer


# How sure something is that was not observed: what a document says, or what is concluded.


class Confidence(str, Enum):
    HIGH = "high"  # read in source code, an API's model or the maker's own page, and nothing contradicts it
    MEDIUM = "medium"  # one good source, sources that contradict each other, or concluded from code
    LOW = "low"  # third parties only
