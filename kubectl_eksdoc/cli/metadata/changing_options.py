"""The flags of every face of ``imds-probe`` that changes something: how it is confirmed, and that it is only shown."""

from __future__ import annotations

import argparse

from kubectl_eksdoc.cli import values


def add_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Before anything is changed")
    group.add_argument(
        "--yes",
        "-y",
        action="switch",
        default=False,
        help="ask nothing; only together with the number of nodes that is expected",
    )
    group.add_argument(
        "--expect-nodes",
        type=values.count,
        default=None,
        metavar="N",
        help="do nothing (exit code 7) unless exactly N nodes are probed, changed or replaced",
    )
    group.add_argument(
        "--dry-run",
        dest="dry",
        type=values.one_of(("none", "client", "server"), "dry run"),
        default="none",
        metavar="[client|server]",
        help="show what would be done; server: ask the servers whether they would take it",
    )
