"""``--with`` and ``--without``: rights that are granted only by name, and what is left out of a scope without them."""

from __future__ import annotations

import argparse

from kubectl_eksdoc.cli import values
from kubectl_eksdoc.core.model import opt_ins
from kubectl_eksdoc.errors import UsageError

WITH, WITHOUT = "--with", "--without"


def add_with(group: argparse._ArgumentGroup, does: str, names: tuple[str, ...] = opt_ins.NAMES) -> None:
    """`does`: what naming one does, an imperative."""
    risks = "; ".join(f"{each.name} {each.risk}" for each in opt_ins.ALL if each.name in names)
    _add(group, WITH, "opted", names, f"{does} opt-in rights: {risks}")


def add_without(group: argparse._ArgumentGroup, *names: str) -> None:
    """`names`: the opt-ins that the command can do without."""
    does = "leave out of the scope what needs these opt-in rights, so that it is not unknown"
    _add(group, WITHOUT, "without", names, f"{does}: {', '.join(names)}")


def _add(group: argparse._ArgumentGroup, flag: str, dest: str, names: tuple[str, ...], about: str) -> None:
    type_ = values.Codes(lambda: names, none="names no opt-in", listed=True, what="opt-in")
    group.add_argument(flag, dest=dest, type=type_, action="append", default=[], metavar="OPT-IN,…", help=about)


def opted_from(args: argparse.Namespace) -> tuple[str, ...]:
    """Sorted, each once."""
    return tuple(sorted({name for names in args.opted for name in names}))


def without_from(args: argparse.Namespace) -> tuple[str, ...]:
    """Sorted, each once."""
    return tuple(sorted({name for names in args.without for name in names}))


def check_not_both(opted: tuple[str, ...], without: tuple[str, ...]) -> None:
    """
    Raises:
        UsageError: the same is granted and left out.
    """
    both = [each for each in opted if each in without]
    if both:
        raise UsageError(f"{WITH} {both[0]} and {WITHOUT} {both[0]} exclude each other", "Give one of them.")
