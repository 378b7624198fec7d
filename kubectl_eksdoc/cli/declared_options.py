"""Flags of options that are declared once (`model.options`): added to a parser, and read from the parsed arguments."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any, TypeVar

from kubectl_eksdoc.model.options import DeclaredOption, declared_options, parsed_values

from . import values

T = TypeVar("T")


def add_options(
    parser: argparse.ArgumentParser, kind: type, groups: Iterable[str]
) -> dict[str, argparse._ArgumentGroup]:
    """Add the options of `groups`. The groups are headings in the help, and are returned for more flags."""
    argument_groups = {group: parser.add_argument_group(group) for group in groups}
    for declared in declared_options(kind):
        if declared.option.group in argument_groups:
            argument_groups[declared.option.group].add_argument(
                declared.option.flag, dest=declared.name, **_argparse_settings(declared)
            )
    return argument_groups


def given_options(kind: type[T], args: argparse.Namespace) -> dict[str, Any]:
    """The fields of `kind` whose flags were given.

    Raises:
        UsageError: a flag contradicts itself.
    """
    return parsed_values(kind, lambda name: getattr(args, name, None))


def _argparse_settings(declared: DeclaredOption) -> dict[str, Any]:
    """A flag that is not given results in None; the help shows a switch that is on by default as such. The help of
    numbers and times ends with their default."""
    kind, about = declared.option.kind, declared.option.help
    if kind.switch:
        return {"help": about, "action": "switch", "default": True if kind.to_flag(declared.default) else None}
    if kind.parser == "count":
        about += f" (default: {declared.default})"
    if kind.parser in ("seconds", "some_seconds"):
        about += f" (default: {values.format_duration(declared.default) if declared.default else 0})"
    settings: dict[str, Any] = {"help": about, "default": None, "metavar": declared.option.metavar}
    if kind.repeated:
        settings["action"] = "append"
    if kind.choices:
        settings["type"] = values.one_of(kind.choices, declared.name)
    elif kind.parser:
        settings["type"] = getattr(values, kind.parser)
    return settings
