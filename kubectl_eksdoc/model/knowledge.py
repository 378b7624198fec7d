"""Knowledge records (folder `kubectl_eksdoc/knowledge`) as frozen dataclasses, with the source of each fact.

The fields of a dataclass define the fields of its records. Versions and dates are texts in records, and a member of an
enum is its name in lower case.
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
    """`document`: a page, a file of a repository, or an API model. `read`: the date, None for observed facts."""

    document: str
    confidence: Confidence = Confidence.HIGH
    read: date | None = None

    @property
    def doubt(self) -> str:
        """``confidence: medium``, "" if it is high."""
        return "" if self.confidence is Confidence.HIGH else f"confidence: {self.confidence.value}"

    def __str__(self) -> str:
        return f"{self.document} ({self.doubt})" if self.doubt else self.document


file = cache(read)
"""The content of a knowledge file, by its name: head and records as written."""


def subjects() -> tuple[str, ...]:
    """The subjects of knowledge that has a source, by name; declarations of the tool itself have none."""
    return tuple(each for each in names() if "source" in file(each))


def read_to(subject: str) -> Version:
    """The last Kubernetes version whose documents were read for it."""
    return _version(file(subject)["read_to"])


class Records(Sequence[_T]):
    """Records of a table, in its order. They are loaded on first use, so a table costs nothing for a command that does
    not use it."""

    def __init__(self, make: Callable[[], tuple[_T, ...]]) -> None:
        self._make = make
        self._by: dict[tuple[str, ...], Mapping[Any, _T]] = {}

    @cached_property
    def _made(self) -> tuple[_T, ...]:
        return self._make()

    def by(self, *fields: str) -> Mapping[Any, _T]:
        """An index by the values of these fields; of records with the same values, the last one."""
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
    """The basis of a rule in code. `since`: the first Kubernetes version for which it holds, 0.0 for all; `at_least`:
    the version of another component that it then requires; `number`: a number that the rule uses; `clause`: its text
    for users, "" if the rule writes the text itself."""

    rule: str
    source: KnowledgeSource
    since: Version = Version(0, 0)
    at_least: Version = Version(0, 0)
    number: int = 0
    names: tuple[str, ...] = ()
    clause: str = ""


def basis(rule: str) -> RuleBasis:
    """The basis of a rule, by its name in knowledge/rules.json."""
    return _BASES.by("rule")[rule]


def records(of: type[_T], subject: str) -> Records[_T]:
    """All records of the file, in its order, without their sections."""
    return Records(lambda: _records(of, subject))


def _records(of: type[_T], subject: str) -> tuple[_T, ...]:
    told = file(subject)
    apart = told.get("sections", ())
    rows = ({name: each[name] for name in each if name not in apart} for each in told["records"])
    return tuple(made(of, {**each, "source": told["source"] | each.get("source", {})}) for each in rows)


_BASES = records(RuleBasis, "rules")


def sections(of: type[_T], subject: str, section: str) -> Records[_T]:
    """Entries of the section with that name, each with those fields of `record_type` that its record has. A missing
    part of a source is taken from the record, and then from the head."""
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
    """Build an instance from a record, or from a list of its fields in their order.

    Raises:
        TypeError, ValueError: the record is not valid; a test names the record.
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
    """The value in JSON types, from which `from_json` builds it again."""
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
    """The function that builds values of that type. Called once for each field of a dataclass."""
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
    """Parse a version in a record: ``1.36``, ``1.16.2``."""
    if not isinstance(text, str):
        raise TypeError(f"{text!r} is no text: write a version in quotes")  # YAML reads 1.30 as 1.3
    found = parse(text)
    if found is None:
        raise ValueError(f"{text!r} is no version")
    return found


_OF_TEXT: Mapping[Any, _Make] = {Version: _version, date: date.fromisoformat}
