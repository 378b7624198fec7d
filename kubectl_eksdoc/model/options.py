"""Options of commands, each declared once as metadata of a dataclass field. The parser, completion, JSON
(``metadata.options`` and ``options``), the equivalent command line, and the form of the screens use the declaration.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import field, fields
from typing import Any, Generic, NamedTuple, TypeVar

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen

T = TypeVar("T")
_OPTION = "option"


def _identity(value: Any) -> Any:
    return value


def _or_none(value: Any) -> Any:
    return value or None


@frozen(kw_only=True)
class OptionKind:
    """The kind of value that a flag takes, and how the value is written.

    `parser`: the function of `cli.values` for one word, "" for plain text. `choices`: the allowed words. `from_parsed`
    builds the field's value from the parsed one: from a list if the flag is `repeated`, from a mapping if its words are
    pairs (`keyed`). `to_flag` is the value in ``metadata.options``: the argument of the flag (False, "" or []: the flag
    is not given). `to_json` is the value in ``options``, None for *no limit* and the like; each pair is an object with
    the two names of `pair`.
    """

    parser: str = ""
    choices: tuple[str, ...] = ()
    switch: bool = False
    repeated: bool = False
    keyed: bool = False
    pair: tuple[str, str] = ("", "")
    from_parsed: Callable[[Any], Any] = _identity
    to_flag: Callable[[Any], object] = _identity
    to_json: Callable[[Any], Any] = _identity


SWITCH = OptionKind(switch=True)
OFF_SWITCH = OptionKind(switch=True, from_parsed=lambda given: not given, to_flag=lambda value: not value)
"""The flag disables something."""

COUNT = OptionKind(parser="count", to_flag=str)
SECONDS = OptionKind(parser="some_seconds", to_flag=lambda value: f"{value}s")
SECONDS_OR_NONE = OptionKind(parser="seconds", to_flag=lambda value: f"{value}s")

WHOLE_SECONDS = OptionKind(parser="whole_seconds")
GRACE = OptionKind(
    parser="whole_seconds",
    from_parsed=lambda seconds: seconds if seconds > 0 else None,
    to_flag=lambda value: -1 if value is None else value,
)
"""Negative: the pod's own grace period, which is None."""

STALL_TIMEOUT = OptionKind(parser="patience", to_flag=lambda value: f"{value}s" if value else "", to_json=_or_none)
SELECTOR = OptionKind(
    parser="selector",
    to_flag=lambda value: str(value or ""),
    to_json=lambda value: None if value is None else str(value),
)
NEW_NODES = OptionKind(parser="new_nodes", to_flag=lambda value: "" if value is None else str(value))
PERCENTAGE = OptionKind(parser="percentage", to_flag=lambda value: f"{value}%" if value else "")
RATE = OptionKind(parser="rate", to_json=_or_none)
EFFORT = OptionKind(parser="effort", to_flag=str)
POD_NAMES = OptionKind(parser="pod_key", repeated=True, from_parsed=frozenset, to_flag=sorted, to_json=sorted)
CODES = OptionKind(
    parser="code_names",
    repeated=True,
    from_parsed=lambda lists: frozenset(name for names in lists for name in names),
    to_flag=sorted,
    to_json=sorted,
)
NAMES_IN_A_FILE = OptionKind(to_flag=lambda value: "", to_json=list)
"""The path is not part of the value: the reader of the file reports it."""


def one_of(*choices: str) -> OptionKind:
    return OptionKind(choices=choices)


def pairs(parser: str, key: str, value: str) -> OptionKind:
    """``KEY=VALUE``, repeated; sorted pairs, in JSON objects with these two names."""
    return OptionKind(
        parser=parser,
        repeated=True,
        keyed=True,
        pair=(key, value),
        from_parsed=lambda mapping: tuple(sorted(mapping.items())),
        to_flag=lambda found: [f"{name}={number}" for name, number in found],
        to_json=lambda found: [{key: name, value: number} for name, number in found],
    )


@frozen
class Steps(Generic[T]):
    """The values through which a form of the screens steps. `usual`: the label of the default, if it is
    not the value; `unit`: of the other values, ``s`` or ``%``."""

    name: str
    does: str
    values: tuple[T, ...]
    usual: str = ""
    unit: str = ""


@frozen(kw_only=True)
class _Option:
    """`group`: the heading in the help. `always`: ``metadata.options`` includes it even if it is not given. `json`: its
    name in ``options``, "" for the field's name in camel case."""

    flag: str
    group: str
    kind: OptionKind
    help: str
    metavar: str = ""
    always: bool = False
    json: str = ""
    steps: Steps[Any] | None = None


class DeclaredOption(NamedTuple):
    """A dataclass field that is an option."""

    name: str
    default: Any
    option: _Option

    @property
    def json(self) -> str:
        first, *others = self.name.split("_")
        return self.option.json or first + "".join(word.capitalize() for word in others)


def option(
    default: Any,
    flag: str,
    group: str,
    kind: OptionKind,
    help: str,
    metavar: str = "",
    *,
    always: bool = False,
    json: str = "",
    steps: Steps[Any] | None = None,
) -> Any:
    """Declare a dataclass field with `default` that is an option."""
    declared = _Option(
        flag=flag, group=group, kind=kind, help=help, metavar=metavar, always=always, json=json, steps=steps
    )
    return field(default=default, metadata={_OPTION: declared})


@functools.cache
def declared_options(kind: Any) -> tuple[DeclaredOption, ...]:
    """The fields of a dataclass that are options, in their order."""
    return tuple(
        DeclaredOption(each.name, each.default, each.metadata[_OPTION])
        for each in fields(kind)
        if _OPTION in each.metadata
    )


def flag_values(options: Any) -> dict[str, object]:
    """By flag name: the values that differ from the defaults, and those that are always included."""
    values = {}
    for name, default, declared in declared_options(options.__class__):
        value = getattr(options, name)
        flag_value = declared.kind.to_flag(value)
        if declared.always or (value != default and flag_value not in (False, "", [])):
            values[declared.flag.lstrip("-")] = flag_value
    return values


def default_flag_values(kind: Any) -> dict[str, object]:
    """The values that `flag_values` always includes, for the defaults."""
    return {
        declared.flag.lstrip("-"): declared.kind.to_flag(default)
        for _, default, declared in declared_options(kind)
        if declared.always
    }


def json_values(options: Any) -> dict[str, Any]:
    """All options by their names in JSON."""
    return {
        each.json: each.option.kind.to_json(getattr(options, each.name)) for each in declared_options(options.__class__)
    }


def merge_pairs(flag: str, pairs: Iterable[tuple[str, T]]) -> dict[str, T]:
    """The values of a repeated flag by subject; the same value twice is not a contradiction.

    Raises:
        UsageError: two different values for one subject.
    """
    values: dict[str, T] = {}
    for subject, value in pairs:
        if values.setdefault(subject, value) != value:
            raise UsageError(
                f"{flag} contradicts itself: {values[subject]} and {value} for {subject}", "Give one of them."
            )
    return values


def parsed_values(kind: Any, parsed_value: Callable[[str], Any]) -> dict[str, Any]:
    """The fields whose flag was given. `parsed_value`: the parsed value of a field, None if its flag was not given.

    Raises:
        UsageError: a flag contradicts itself.
    """
    values = {}
    for name, _, declared in declared_options(kind):
        value = parsed_value(name)
        if value is not None:
            values[name] = declared.kind.from_parsed(
                merge_pairs(declared.flag, value) if declared.kind.keyed else value
            )
    return values


ALL, ZONE, NODEGROUP = "all", "zone", "nodegroup"
"""How concurrent nodes are counted: over all targets, per zone, or per node group or NodePool."""


DEFAULT_EFFORT = 120_000
