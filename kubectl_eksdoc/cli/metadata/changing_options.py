"""The flags of every face of ``imds-probe`` that changes something: how it is confirmed, and that it is only shown."""

from __future__ import annotations

import argparse

from kubectl_eksdoc.cli import confirm_options
from kubectl_eksdoc.cli.confirming import NODES


def add_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Before anything is changed")
    confirm_options.add_confirmation(group, NODES, "exactly N nodes are probed, changed or replaced")
    confirm_options.add_dry_run(group, "show what would be done", "ask the servers whether they would take it")
