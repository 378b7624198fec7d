"""The flags of every face of ``coredns-lameduck`` that changes something: how it is confirmed, or only shown."""

from __future__ import annotations

import argparse

from kubectl_eksdoc.cli import confirm_options
from kubectl_eksdoc.cli.confirming import CHANGES


def add_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Before anything is changed")
    unless = "exactly N values become others; with --measure: unless exactly N pods are made, replaced or evicted"
    confirm_options.add_confirmation(group, CHANGES, unless)
    confirm_options.add_dry_run(group, "show what would be done", "ask the server whether it would take it")
