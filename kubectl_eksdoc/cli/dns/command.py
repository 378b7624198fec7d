"""``kubectl eksdoc coredns-lameduck``: its flags, and its answer."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from kubectl_eksdoc.cli.dns import confirm_options, measure_options
from kubectl_eksdoc.cli.dns.measuring import measuring
from kubectl_eksdoc.cli.options import LEVELS, GlobalOptions, SourceOptions
from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.errors import UsageError

NAME = "coredns-lameduck"


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add ``coredns-lameduck``."""
    parser = commands.add_parser(NAME, help="whether DNS answers while CoreDNS leaves", usage="%(prog)s [flags]")
    GlobalOptions.add_to(parser, level=LEVELS - 1)
    SourceOptions.add_to(parser)
    measure_options.add_to(parser)
    confirm_options.add_to(parser)
    parser.set_defaults(leaf=parser, command=run)


def run(args: argparse.Namespace, words: Sequence[str], around: Surroundings) -> Answer:
    """Raises EksdocError: the command line or the cluster is at fault; the error says which."""
    given, dry = confirm_options.given_from(args), confirm_options.dry_from(args)
    measure = measure_options.measure_from(args, given, dry)
    if measure is None or words:
        raise UsageError("coredns-lameduck measures, and takes no names", "Add --measure.")
    return measuring(GlobalOptions.from_args(args), SourceOptions.from_args(args).choice, measure, around)
