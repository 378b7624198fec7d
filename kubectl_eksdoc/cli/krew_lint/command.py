"""``kubectl eksdoc krew-lint FILE``: its flags, and its answer."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.cli import saying
from kubectl_eksdoc.cli.options import LEVELS, GlobalOptions, SourceOptions
from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.errors import UsageError

NAME = "krew-lint"

_ABOUT = """\
Hold the manifest of a kubectl plugin, and the archives that it names, to the rules of krew: what krew refuses, what
validate-krew-manifest refuses, what both let pass though it cannot work, and what reviewers of krew-index ask for. Of
any plugin; neither krew, Go, a cluster nor a network is needed, and nothing is installed or run.

Examples:
  %(prog)s plugins/eksdoc.yaml
  %(prog)s plugins/eksdoc.yaml --archive dist/kubectl-eksdoc_linux_amd64.tar.gz
  %(prog)s plugins/eksdoc.yaml -o json
"""

_EXIT_CODES = """\
Exit codes: 0 krew and its validator take it (remarks of reviewers may be left), 1 something is to be mended; 2 usage,
or a file cannot be read.
Global flags: kubectl eksdoc options
"""


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add ``krew-lint``."""
    parser = commands.add_parser(
        NAME,
        help="hold a plugin's manifest and archive to krew's rules, without krew",
        usage="%(prog)s FILE [flags]",
        description=_ABOUT,
        epilog=_EXIT_CODES,
    )
    GlobalOptions.add_to(parser, level=LEVELS - 1)
    group = parser.add_argument_group("What is judged")
    group.add_argument(
        "--archive",
        action="append",
        default=[],
        metavar="FILE",
        help="an archive of a platform, told by its checksum or its name; may be repeated. Without any, nothing is "
        "said of what the archives hold",
    )
    parser.set_defaults(leaf=parser, command=run)


@dataclass(frozen=True, slots=True)
class Request:
    options: GlobalOptions
    path: str
    archives: tuple[str, ...]

    @staticmethod
    def from_args(args: argparse.Namespace, words: Sequence[str]) -> Request:
        """
        Raises:
            UsageError: not one file is named, or a cluster is.
        """
        if len(words) != 1:
            named = f", and {len(words)} are named: {', '.join(words)}" if words else ", and none is named"
            raise UsageError(f"one manifest is judged{named}", f"{NAME} FILE [--archive FILE]")
        if not SourceOptions.from_args(args).choice.live:
            raise UsageError(f"{NAME} reads files: --demo and --snapshot do not go with it")
        if "" in (words[0], *args.archive):
            raise UsageError("the path of a file is empty", f"{NAME} FILE [--archive FILE]")
        return Request(GlobalOptions.from_args(args), words[0], tuple(dict.fromkeys(args.archive)))

    @property
    def given(self) -> dict[str, object]:
        return {"archive": self.archives} if self.archives else {}


def run(args: argparse.Namespace, words: Sequence[str], around: Surroundings) -> Answer:
    """
    Raises:
        UsageError: the command line is at fault, or a file.
    """
    # Imported late: help and errors of usage must not pay for what only an answer needs.
    from kubectl_eksdoc.cli import look as looks
    from kubectl_eksdoc.core.plan.krew_lint.judging import judged
    from kubectl_eksdoc.host.krew.archive import read_archive
    from kubectl_eksdoc.host.krew.manifest import read_manifest
    from kubectl_eksdoc.render.krew_lint import FORMATS, KrewLintView

    request = Request.from_args(args, words)
    options = request.options
    FORMATS.check(options.output)
    manifest = read_manifest(request.path)
    lint = judged(manifest, os.path.basename(request.path), [read_archive(path) for path in request.archives])
    if lint.unchecked:
        which = "no archive" if len(lint.unchecked) == len(lint.platforms) else "not every archive"
        around.note(
            f"note: {which} was looked into: whether checksums fit, programs are there and a licence is installed is "
            "not checked; give --archive FILE"
        )
    look = looks.decide(options, around.stdout, around.environ)
    text = FORMATS.render(KrewLintView(lint, request.path, request.given), options.output, look)
    return Answer(text, saying.code(lint.findings))
