"""The hidden command ``__complete``, which never fails: its exit code is 0, and stderr stays empty.

After another exit code kubectl would offer files, and text on stderr would appear in the line that the user types.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress

from .completion_offers import NO_COMPLETIONS, Completion, Completions, format_completions
from .entry_point import PROG

TIMEOUT_S = 6.0
"""The time limit for an answer; the limit for the cluster alone is much shorter (`cli.completion_names`)."""


def main(words: Sequence[str]) -> int:
    """Answer on this process's stdout; returns the exit code."""
    answer = ""
    if hasattr(signal, "SIGALRM"):  # reading a pipe without a writer would block
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, TIMEOUT_S)
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        answer = complete(words, os.environ)
    except (Exception, KeyboardInterrupt):  # an error message is of no use to completion
        answer = format_completions(NO_COMPLETIONS)
    with suppress(OSError, ValueError, KeyboardInterrupt):
        # Not through sys.stdout, which may be missing, and which reports a closed pipe at exit.
        content = answer.encode("utf-8", "surrogateescape")
        while content:
            content = content[os.write(1, content) :]
    return 0


def complete(words: Sequence[str], environ: Mapping[str, str]) -> str:
    """The output for stdout. `words`: the words after the name of the program, the last one as far as it is typed."""
    from .commands import command_parser, listed_commands

    before, partial = tuple(words[:-1]), words[-1] if words else ""
    commands = listed_commands(before)
    if commands is not None and not partial.startswith("-"):  # needs no parser
        return format_completions(
            Completions(tuple(Completion(each.name, each.about) for each in commands)).with_prefix(partial)
        )
    from . import bare
    from .completion_candidates import completions_at, cursor_at
    from .completion_names import NameLookup

    # The words that may be commands: words that are not values of flags.
    path = cursor_at(bare.root_parser(PROG), words).names
    cursor = cursor_at(command_parser(only_path=path), words)
    return format_completions(
        completions_at(cursor, NameLookup(environ, environ.get("HOME") or os.path.expanduser("~")))
    )
