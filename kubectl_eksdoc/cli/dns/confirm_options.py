"""The flags of every face of ``coredns-lameduck`` that changes something: how it is confirmed, or only shown."""

from __future__ import annotations

import argparse

from kubectl_eksdoc.cli import values
from kubectl_eksdoc.cli.run.confirming import Given


def add_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Before anything is changed")
    group.add_argument(
        "--yes",
        "-y",
        action="switch",
        default=False,
        help="ask nothing; only together with the number of changes that is expected",
    )
    group.add_argument(
        "--expect-changes",
        type=values.count,
        default=None,
        metavar="N",
        help="do nothing (exit code 7) unless exactly N values become others; with --measure: unless exactly N pods "
        "are made, replaced or evicted",
    )
    group.add_argument(
        "--dry-run",
        dest="dry",
        type=values.one_of(("none", "client", "server"), "dry run"),
        default="none",
        metavar="[client|server]",
        help="show what would be done; server: ask the server whether it would take it",
    )


def given_from(args: argparse.Namespace) -> Given:
    return Given(args.yes, args.expect_changes)


def dry_from(args: argparse.Namespace) -> str:
    """``client``, ``server`` or "" (no dry run)."""
    return "" if args.dry == "none" else str(args.dry)
