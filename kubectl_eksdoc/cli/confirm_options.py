"""The flags of every command that changes something: how it is confirmed in a script, and that it is only shown."""

from __future__ import annotations

import argparse

from kubectl_eksdoc.cli import values
from kubectl_eksdoc.cli.confirming import Counted, Given


def add_confirmation(group: argparse._ArgumentGroup, of: Counted, unless: str) -> None:
    """``--yes``, and the expectation without which it is refused; `unless` exactly N …, nothing is done."""
    group.add_argument(
        "--yes",
        "-y",
        action="switch",
        default=False,
        help=f"ask nothing; only together with the number of {of.expected} that is expected",
    )
    group.add_argument(
        of.flag,
        type=values.count,
        default=None,
        metavar="N",
        help=f"do nothing (exit code 7) unless {unless}",
    )


def add_dry_run(group: argparse._ArgumentGroup, shows: str, server: str = "") -> None:
    """`shows`: what a dry run does; `server`: what one of the server does, "" where there is none (it is refused with
    the reason by whoever has the flag)."""
    group.add_argument(
        "--dry-run",
        dest="dry",
        type=values.DRY_RUN if server else values.NO_SERVER_DRY_RUN,
        default="none",
        metavar="[client|server]" if server else "[client]",
        help=f"{shows}; server: {server}" if server else shows,
    )


def given_from(args: argparse.Namespace, of: Counted) -> Given:
    """As `add_confirmation` has added it."""
    return Given(args.yes, getattr(args, of.flag.lstrip("-").replace("-", "_")))


def dry_from(args: argparse.Namespace) -> str:
    """``client``, ``server`` or "" (no dry run)."""
    return "" if args.dry == "none" else str(args.dry)
