"""Flags of options that are declared once (`model.options`): added to a parser, and read from the parsed arguments."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any, TypeVar

from kubectl_eksdoc.model.options import DeclaredOption, options_of, values_of

from . import values

T = TypeVar("T")


def add_options(
    parser: argparse.ArgumentParser, kind: type, groups: Iterable[str]
) -> dict[str, argparse._ArgumentGroup]:
    """Add the options of `groups`. The groups are headings in the help, and are returned for more flags."""
    made = {group: parser.add_argument_group(group) for group in groups}
    for each in options_of(kind):
        if each.option.group in made:
            made[each.option.group].add_argument(each.option.flag, dest=each.name, **_settings(each))
    return made


def given_of(kind: type[T], args: argparse.Namespace) -> dict[str, Any]:
    """The fields of `kind` whose flags were given.

    Raises:
        UsageError: a flag contradicts itself.
    """
    return values_of(kind, lambda name: getattr(args, name, None))


def _settings(each: DeclaredOption) -> dict[str, Any]:
    """A flag that is not given results in None; the help shows a switch that is on by default as such. The help of
    numbers and times ends with their default."""
    kind, about = each.option.kind, each.option.help
    if kind.switch:
        return {"help": about, "action": "switch", "default": True if kind.given(each.default) else None}
    if kind.parser == "count":
        about += f" (default: {each.default})"
    if kind.parser in ("seconds", "some_seconds"):
        about += f" (default: {values.duration_text(each.default) if each.default else 0})"
    settings: dict[str, Any] = {"help": about, "default": None, "metavar": each.option.metavar}
    if kind.repeated:
        settings["action"] = "append"
    if kind.choices:
        settings["type"] = values.one_of(kind.choices, each.name)
    elif kind.parser:
        settings["type"] = getattr(values, kind.parser)
    return settings
