"""Records of the folder `kubectl_eksdoc/knowledge` as frozen dataclasses, and where a fact is from.

A dataclass says by its fields what its records have to hold. Versions and dates are texts there, and a member of an
enum is its name in small letters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, is_dataclass
from dataclasses import fields as fields_of
from datetime import date
from enum import Enum, EnumMeta
from functools import cache, cached_property
from operator import attrgetter
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.knowledge import names, read

from .kinds import Confidence
from .quantities import Version, parse

_T = TypeVar("_T")
_Make = Callable[[Any], Any]


@frozen
class KnowledgeSource:
    """`document`: a page, a file of a repository, or an API's model. `read`: when, None for what is observed."""

    document: str
    confidence: Confidence = Confidence.HIGH
    read: date | None = None

    @property
    def doubt(self) -> str:
        """``confidence: medium``, "" where it is high."""
        return "" if self.confidence is Confidence.HIGH else f"confidence: {self.confidence.value}"

    def __str__(self) -> str:
        return f"{self.document} ({self.doubt})" if self.doubt else self.document


file = cache(read)
"""Of a kind of subject, by its name: head and records as they are written."""


def subjects() -> tuple[str, ...]:
    """All of which something is known, by name; what the tool declares of itself has no source."""
    return tuple(each for each in names() if "source" in file(each))


def read_to(subject: str) -> Version:
    """The last Kubernetes version whose documents were read for it."""
    return _version(file(subject)["read_to"])


class Records(Sequence[_T]):
    """Those of a table, in its order. They are made when the first is needed: a table of a module costs no command
    that does not ask it."""

    def __init__(self, make: Callable[[], tuple[_T, ...]]) -> None:
        self._make = make
        self._by: dict[tuple[str, ...], Mapping[Any, _T]] = {}

    @cached_property
    def _made(self) -> tuple[_T, ...]:
        return self._make()

    def by(self, *fields: str) -> Mapping[Any, _T]:
        """By the values of these fields; the last one of those that share them."""
        if fields not in self._by:
            self._by[fields] = dict(zip(map(attrgetter(*fields), self), self, strict=True))
        return self._by[fields]

    def __getitem__(self, at: Any) -> Any:
        return self._made[at]

    def __len__(self) -> int:
        return len(self._made)

    def __iter__(self) -> Iterator[_T]:
        return iter(self._made)


@frozen
class RuleBasis:
    """What a rule in code goes by. `since`: the version of Kubernetes from which on it holds, 0.0 for all; `at_least`:
    the version of something else that is needed then; `number`: of what the rule counts; `clause`: what a user is told
    of it, "" where the rule makes the words."""

    rule: str
    source: KnowledgeSource
    since: Version = Version(0, 0)
    at_least: Version = Version(0, 0)
    number: int = 0
    names: tuple[str, ...] = ()
    clause: str = ""


def basis(rule: str) -> RuleBasis:
    """Of a rule, by its name in knowledge/rules.json."""
    return _BASES.by("rule")[rule]


def records(of: type[_T], subject: str) -> Records[_T]:
    """All in the file, in its order, without their sections."""
    return Records(lambda: _records(of, subject))


def _records(of: type[_T], subject: str) -> tuple[_T, ...]:
    told = file(subject)
    apart = told.get("sections", ())
    rows = ({name: each[name] for name in each if name not in apart} for each in told["records"])
    return tuple(made(of, {**each, "source": told["source"] | each.get("source", {})}) for each in rows)


_BASES = records(RuleBasis, "rules")


def sections(of: type[_T], subject: str, section: str) -> Records[_T]:
    """Those of that name, each with the fields of `of` that its record has beside it. Where a source does not say
    something, that of the record holds, and then that of the head."""
    return Records(lambda: tuple(made(of, each) for each in _sections(of, subject, section)))


def _sections(of: Any, subject: str, section: str) -> Iterator[Mapping[str, Any]]:
    told = file(subject)
    shared = [name for name in _fields(of) if name not in told["sections"]]
    for record in told["records"]:
        found = record.get(section, [])
        for each in found if isinstance(found, list) else [found]:
            beside = {name: record[name] for name in shared if name in record}
            source = {**told["source"], **record.get("source", {}), **each.get("source", {})}
            yield {**beside, **each, "source": source}


def made(of: type[_T], told: Any) -> _T:
    """Of a record, or of its fields in their order.

    Raises:
        TypeError, ValueError: it is none; a test says which one.
    """
    kind: Any = of
    fields = _fields(kind)
    if isinstance(told, list):
        if len(told) != len(fields):
            raise TypeError(f"{told} has {len(told)} values, not {len(fields)}: {', '.join(fields)}")
        told = dict(zip(fields, told, strict=True))
    if not isinstance(told, Mapping):
        raise TypeError(f"{told!r} is no object with {', '.join(fields)}")
    if strange := [name for name in told if name not in fields]:
        raise TypeError(f"{of.__name__} has no field {', '.join(strange)}, but {', '.join(fields)}")
    if lacking := [name for name in _required(kind) if name not in told]:
        raise TypeError(f"it lacks {', '.join(lacking)}")
    return of(**{name: fields[name](value) for name, value in told.items()})


def told_of(value: Any) -> Any:
    """That of which `made` makes it again, in JSON's types."""
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, (tuple, list)):
        return [told_of(each) for each in value]
    if isinstance(value, Mapping):
        return {key: told_of(each) for key, each in value.items()}
    if not is_dataclass(value):
        return value
    of: Any = type(value)
    return {name: told_of(getattr(value, name)) for name in _fields(of)}


@cache
def _required(of: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields_of(of) if each.default is MISSING and each.default_factory is MISSING)


@cache
def _fields(of: Any) -> Mapping[str, _Make]:
    return {name: _maker(wanted) for name, wanted in get_type_hints(of).items()}


def _maker(wanted: Any) -> _Make:
    """Of values of that type. It is asked for once for each field of a dataclass."""
    inner = get_args(wanted)
    if wanted is Any:
        return lambda told: told
    if wanted in _OF_TEXT:
        return _OF_TEXT[wanted]
    if isinstance(wanted, type) and is_dataclass(wanted):
        return lambda told: made(wanted, told)
    if isinstance(wanted, EnumMeta):
        return lambda told: _member(wanted, told)
    if get_origin(wanted) is tuple:
        if inner[-1] is not ...:
            return lambda told: tuple(make(each) for make, each in zip(map(_maker, inner), told, strict=True))
        each = _maker(inner[0])
        return lambda told: tuple(map(each, _checked(list, told)))
    if type(None) in inner:
        some = _maker(inner[0])
        return lambda told: None if told is None else some(told)
    return lambda told: _checked(get_origin(wanted) or wanted, told)


def _checked(wanted: type[Any], told: Any) -> Any:
    if not isinstance(told, wanted):
        raise TypeError(f"{told!r} is no {wanted.__name__}")
    return told


def _member(of: EnumMeta, told: Any) -> Any:
    names = [each.lower() for each in of.__members__]
    if told not in names:
        raise ValueError(f"{told!r} is none of {', '.join(names)}")
    return of[told.upper()]


def _version(text: str) -> Version:
    """As it stands in a record: ``1.36``, ``1.16.2``."""
    if not isinstance(text, str):
        raise TypeError(f"{text!r} is no text: write a version in quotes")  # YAML takes 1.30 for 1.3
    found = parse(text)
    if found is None:
        raise ValueError(f"{text!r} is no version")
    return found


_OF_TEXT: Mapping[Any, _Make] = {Version: _version, date: date.fromisoformat}
