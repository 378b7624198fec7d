"""``--since FILE``: an answer of the same command that was saved earlier, or one that is made of what was read then."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeVar

from kubectl_eksdoc.errors import BaselineError, EksdocError, UsageError
from kubectl_eksdoc.wiring.sources import SourceChoice, is_snapshot

if TYPE_CHECKING:  # help must not pay for facts
    from kubectl_eksdoc.cli.surroundings import Surroundings
    from kubectl_eksdoc.core.model.earlier import Earlier

Made = TypeVar("Made")


class Compared(Protocol):
    """Of which file an earlier answer is, and when its cluster was observed."""

    @property
    def file(self) -> str: ...

    @property
    def observed_at(self) -> datetime: ...


def add_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Beside an earlier answer")
    group.add_argument(
        "--since",
        metavar="FILE",
        default=None,
        help="say what is new, fixed and unchanged since an answer that was saved with -o json > FILE, or since a "
        "snapshot or a dump, of which the same is asked first",
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


def earlier(
    path: str, kind: str, command: str, around: Surroundings, make: Callable[[SourceChoice], Earlier]
) -> Earlier | None:
    """None where `path` is "". Read before the cluster: that takes longer than finding out that the file is wrong.
    `make`: the same asked of a snapshot.

    Raises:
        BaselineError: it is no document of `kind`, and none can be made of it.
    """
    if not path:
        return None
    return made_of(path, command, make) if is_snapshot(path) else around.read_earlier(path, kind, command)


def made_of(path: str, command: str, make: Callable[[SourceChoice], Made]) -> Made:
    """What `make` answers of the snapshot at `path`.

    Raises:
        BaselineError: it answers nothing; the error names the file, as the same may be asked of another source, too.
    """
    try:
        return make(SourceChoice(snapshot=path))
    except EksdocError as error:
        saved = f"An answer that was saved will do as well: kubectl eksdoc {command} -o json > FILE"
        hint = f"{error.hint}\n{saved}" if error.hint else saved
        raise BaselineError(f"of {path} no earlier answer can be made: {error.message}", hint) from error


def told(beside: Compared | None, around: Surroundings) -> None:
    """On stderr: with what was compared, where nobody has seen the answer that was made of it."""
    from kubectl_eksdoc.render.times import rfc3339

    if beside is not None and is_snapshot(beside.file):
        around.note(f"compared with the snapshot {beside.file} of {rfc3339(beside.observed_at)}")
