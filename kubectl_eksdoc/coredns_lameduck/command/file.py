"""``coredns-lameduck -f Corefile``: check a single file, without a cluster."""

from __future__ import annotations

import argparse

from kubectl_eksdoc.cli import answers
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.parser import add_flag, add_text
from kubectl_eksdoc.errors import UsageError, os_error_text
from kubectl_eksdoc.files import open_file
from kubectl_eksdoc.model import quantities

MAX_BYTES = 1 << 20
"""The size limit of a ConfigMap."""
FILE, _VERSION = "--filename", "--coredns-version"


def add_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Check a file (no cluster, no AWS)")
    add_flag(group, f"-f {FILE}", "COREFILE", "check this Corefile only, such as before a merge")
    add_text(group, _VERSION, "VERSION", "with -f: the CoreDNS version to check for; default: 1.13.1")


def is_requested(args: argparse.Namespace) -> bool:
    """Whether a file is to be checked.

    Raises:
        UsageError: a version is given without a file.
    """
    if args.filename is None and args.coredns_version:
        raise UsageError(f"{_VERSION} needs -f: for a cluster the installed version is used")
    return args.filename is not None


def run(args: argparse.Namespace, accepted: tuple[str, ...], context: CommandContext) -> CommandAnswer:
    """Check the file, and report the result.

    Raises:
        UsageError: the file or the version cannot be read.
    """
    from kubectl_eksdoc.kubernetes.corefile_plugins import DEFAULT_VERSION

    from ..report.corefile import CorefileReport
    from ..shutdown import check_corefile_text

    if not context.source.live:
        raise UsageError("-f reads a file alone: --demo and --snapshot do not go with it")
    CorefileReport.check_format(context.options.output)
    path: str = args.filename
    version = quantities.parse_version(args.coredns_version) if args.coredns_version else DEFAULT_VERSION
    if version is None or version.patch is None:
        raise UsageError(f"{_VERSION} {args.coredns_version!r} is no version of CoreDNS", "Write it as 1.13.1.")
    read = check_corefile_text(_text(path), path, version)
    options = {"filename": path, **({"coredns-version": args.coredns_version} if args.coredns_version else {})}
    return answers.report_answer(
        CorefileReport(read, options=options), context, answers.exit_code_of_findings(read.findings, accepted)
    )


def _text(path: str) -> str:
    try:
        with open_file(path) as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: an invalid path
        raise UsageError(f"the Corefile {path} cannot be read: {os_error_text(error)}") from error
    if len(content) > MAX_BYTES:
        raise UsageError(f"the Corefile {path} is larger than {MAX_BYTES >> 20} MiB")
    return content.decode("utf-8", "replace")
