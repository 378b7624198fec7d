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
from kubectl_eksdoc.knowledge import read_records, record_files

from .kinds import Confidence
from .quantities import Version, parse_version

_T = TypeVar("_T")
_Maker = Callable[[Any], Any]


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


knowledge_file = cache(read_records)
"""The content of a knowledge file, by its name: head and records as written."""


def subjects() -> tuple[str, ...]:
    """The subjects of knowledge that has a source, by name; declarations of the tool itself have none."""
    return tuple(each for each in record_files() if "source" in knowledge_file(each))


def last_kubernetes_read(subject: str) -> Version:
    """The last Kubernetes version whose documents were read for it."""
    return _parse_version(knowledge_file(subject)["read_to"])


class Records(Sequence[_T]):
    """Records of a table, in its order. They are loaded on first use, so a table costs nothing for a command that does
    not use it."""

    def __init__(self, load: Callable[[], tuple[_T, ...]]) -> None:
        self._load = load
        self._indexes: dict[tuple[str, ...], Mapping[Any, _T]] = {}

    @cached_property
    def _records(self) -> tuple[_T, ...]:
        return self._load()

    def by(self, *fields: str) -> Mapping[Any, _T]:
        """An index by the values of these fields; of records with the same values, the last one."""
        if fields not in self._indexes:
            self._indexes[fields] = dict(zip(map(attrgetter(*fields), self), self, strict=True))
        return self._indexes[fields]

    def __getitem__(self, at: Any) -> Any:
        return self._records[at]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[_T]:
        return iter(self._records)


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


def rule_basis(rule: str) -> RuleBasis:
    """The basis of a rule, by its name in knowledge/rules.json."""
    return _RULE_BASES.by("rule")[rule]


def records(record_type: type[_T], subject: str) -> Records[_T]:
    """All records of the file, in its order, without their sections."""
    return Records(lambda: _read_records(record_type, subject))


def _read_records(record_type: type[_T], subject: str) -> tuple[_T, ...]:
    content = knowledge_file(subject)
    section_names = content.get("sections", ())
    rows = ({name: each[name] for name in each if name not in section_names} for each in content["records"])
    return tuple(
        _build_record(record_type, subject, {**each, "source": content["source"] | each.get("source", {})})
        for each in rows
    )


_RULE_BASES = records(RuleBasis, "rules")


def sections(record_type: type[_T], subject: str, section: str) -> Records[_T]:
    """Entries of the section with that name, each with those fields of `record_type` that its record has. A missing
    part of a source is taken from the record, and then from the head."""
    return Records(
        lambda: tuple(
            _build_record(record_type, subject, each) for each in _read_sections(record_type, subject, section)
        )
    )


def _read_sections(record_type: Any, subject: str, section: str) -> Iterator[Mapping[str, Any]]:
    content = knowledge_file(subject)
    shared = [name for name in _field_makers(record_type) if name not in content["sections"]]
    for record in content["records"]:
        entries = record.get(section, [])
        for each in entries if isinstance(entries, list) else [entries]:
            record_fields = {name: record[name] for name in shared if name in record}
            source = {**content["source"], **record.get("source", {}), **each.get("source", {})}
            yield {**record_fields, **each, "source": source}


def _build_record(record_type: type[_T], subject: str, record: Mapping[str, Any]) -> _T:
    """As `from_json`; an error names the file and the record."""
    try:
        return from_json(record_type, record)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{subject}.json, record {next(iter(record.values()), '')!r}: {error}") from error


def from_json(record_type: type[_T], document: Any) -> _T:
    """Build an instance from a record, or from a list of its fields in their order.

    Raises:
        TypeError, ValueError: the record is not valid; the message names the field.
    """
    any_type: Any = record_type
    fields = _field_makers(any_type)
    if isinstance(document, list):
        if len(document) != len(fields):
            raise TypeError(f"{document} has {len(document)} values, not {len(fields)}: {', '.join(fields)}")
        document = dict(zip(fields, document, strict=True))
    if not isinstance(document, Mapping):
        raise TypeError(f"{document!r} is no object with {', '.join(fields)}")
    if unknown_fields := [name for name in document if name not in fields]:
        raise TypeError(f"{record_type.__name__} has no field {', '.join(unknown_fields)}, but {', '.join(fields)}")
    if missing_fields := [name for name in _required_fields(any_type) if name not in document]:
        raise TypeError(f"it lacks {', '.join(missing_fields)}")
    values: dict[str, Any] = {}
    for name, value in document.items():
        try:
            values[name] = fields[name](value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}: {error}") from error
    return record_type(**values)


def to_json(value: Any) -> Any:
    """The value in JSON types, from which `from_json` builds it again."""
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, (tuple, list)):
        return [to_json(each) for each in value]
    if isinstance(value, Mapping):
        return {key: to_json(each) for key, each in value.items()}
    if not is_dataclass(value):
        return value
    value_type: Any = type(value)
    return {name: to_json(getattr(value, name)) for name in _field_makers(value_type)}


@cache
def _required_fields(record_type: Any) -> tuple[str, ...]:
    return tuple(
        each.name for each in fields_of(record_type) if each.default is MISSING and each.default_factory is MISSING
    )


@cache
def _field_makers(record_type: Any) -> Mapping[str, _Maker]:
    return {name: _maker(hint) for name, hint in get_type_hints(record_type).items()}


def _maker(hint: Any) -> _Maker:
    """The function that builds values of that type. Called once for each field of a dataclass."""
    type_args = get_args(hint)
    if hint is Any:
        return lambda told: told
    if hint in _TEXT_PARSERS:
        return _TEXT_PARSERS[hint]
    if isinstance(hint, type) and is_dataclass(hint):
        return lambda told: from_json(hint, told)
    if isinstance(hint, EnumMeta):
        return lambda told: _enum_member(hint, told)
    if get_origin(hint) is tuple:
        if type_args[-1] is not ...:
            return lambda told: tuple(
                make(make_item) for make, make_item in zip(map(_maker, type_args), told, strict=True)
            )
        make_item = _maker(type_args[0])
        return lambda told: tuple(map(make_item, _require_type(list, told)))
    if type(None) in type_args:
        make_value = _maker(type_args[0])
        return lambda told: None if told is None else make_value(told)
    return lambda told: _require_type(get_origin(hint) or hint, told)


def _require_type(expected: type[Any], value: Any) -> Any:
    if not isinstance(value, expected):
        raise TypeError(f"{value!r} is no {expected.__name__}")
    return value


def _enum_member(enum_type: EnumMeta, value: Any) -> Any:
    names = [each.lower() for each in enum_type.__members__]
    if value not in names:
        raise ValueError(f"{value!r} is none of {', '.join(names)}")
    return enum_type[value.upper()]


def _parse_version(text: str) -> Version:
    """Parse a version in a record: ``1.36``, ``1.16.2``."""
    if not isinstance(text, str):
        raise TypeError(f"{text!r} is no text: write a version in quotes")  # YAML reads 1.30 as 1.3
    version = parse_version(text)
    if version is None:
        raise ValueError(f"{text!r} is no version")
    return version


_TEXT_PARSERS: Mapping[Any, _Maker] = {Version: _parse_version, date: date.fromisoformat}
