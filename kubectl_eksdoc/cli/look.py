"""How the answer may look: decided once, from the flags, the environment and what stdout is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.cli.streams import say
from kubectl_eksdoc.render.look import Look

if TYPE_CHECKING:
    from kubectl_eksdoc.cli.surroundings import CommandContext
    from kubectl_eksdoc.model.cluster import Cluster
    from kubectl_eksdoc.render.report import Report

WIDTH = 120
"""Columns where stdout is no terminal and $COLUMNS says nothing."""

_SIGNS = "·…–→✓"


def decide(options: GlobalOptions, stream: TextIO, environ: Mapping[str, str]) -> Look:
    """Colours only on a terminal, unless ``--no-color``, NO_COLOR (https://no-color.org) or TERM=dumb forbid them.

    A stream that cannot encode our signs gets ASCII.
    """
    terminal = stream.isatty()
    plain = options.no_color or bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"
    return Look(
        width=_width(stream, environ),
        colour=terminal and not plain,
        ascii=options.ascii or not _can_encode(stream),
        headers=not options.no_headers,
    )


def answered(report: Report, options: GlobalOptions, around: CommandContext) -> str:
    """The text for stdout, in the format that was asked for."""
    return report.render(options.output, decide(options, around.stdout, around.environ))


def identify(cluster: Cluster, options: GlobalOptions, around: CommandContext) -> None:
    """On stderr, which cluster it is."""
    from kubectl_eksdoc.render.identity import identity_line

    around.note(identity_line(cluster, around.now(), decide(options, around.stderr, around.environ)))


def show(report: Report, options: GlobalOptions, around: CommandContext) -> None:
    """On stderr, before anything is done: it is no answer."""
    look = decide(options, around.stderr, around.environ)
    say(around.stderr, f"{report.render('wide' if options.output == 'wide' else 'table', look)}\n")


def _width(stream: TextIO, environ: Mapping[str, str]) -> int:
    columns = environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    if not stream.isatty():
        return WIDTH
    try:
        return os.get_terminal_size(stream.fileno()).columns or WIDTH
    except (OSError, ValueError):
        return WIDTH


def _can_encode(stream: TextIO) -> bool:
    try:
        _SIGNS.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
