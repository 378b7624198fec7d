"""``--since FILE``: an answer of the same command that was saved earlier."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kubectl_eksdoc.errors import UsageError

if TYPE_CHECKING:  # help must not pay for facts
    from kubectl_eksdoc.cli.surroundings import Surroundings
    from kubectl_eksdoc.core.model.earlier import Earlier


def add_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Beside an earlier answer")
    group.add_argument(
        "--since",
        metavar="FILE",
        default=None,
        help="say what is new, fixed and unchanged since an answer that was saved with -o json > FILE",
    )


def since_from(args: argparse.Namespace) -> str:
    """The path, "" where it was not given.

    Raises:
        UsageError: an empty path, as of a variable that is not set.
    """
    if args.since == "":
        raise UsageError("--since needs the path of an answer that was saved with -o json")
    return args.since or ""


def refused_beside(flag: str, since: str) -> None:
    """`flag` gives an answer of another kind.

    Raises:
        UsageError: `since` was given.
    """
    if since:
        raise UsageError(f"--since is about an answer that changes nothing, and {flag} gives another one", "Ask apart.")


def earlier(path: str, kind: str, command: str, around: Surroundings) -> Earlier | None:
    """None where `path` is "". Read before the cluster: that takes longer than finding out that the file is wrong.

    Raises:
        BaselineError: it is no document of `kind`; a snapshot is refused as well.
    """
    return around.read_earlier(path, kind, command) if path else None
