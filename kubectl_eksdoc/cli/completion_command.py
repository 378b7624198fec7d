"""The hidden command ``__complete``, which answers whatever comes: it ends with 0 and is silent on stderr.

Another exit code would have kubectl offer files, and what is said on stderr lands in the line that is typed.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress

from .called import PROG
from .completion_offers import NOTHING, Offer, Offers, written

LONGEST_S = 6.0
"""So long an answer may take whatever happens; a cluster alone is waited for much shorter (`cli.completion_names`)."""


def main(words: Sequence[str]) -> int:
    """Answer on this process's stdout; returns the exit code."""
    answer = ""
    if hasattr(signal, "SIGALRM"):  # a file may be a pipe that nobody writes to
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, LONGEST_S)
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        answer = answered(words, os.environ)
    except (Exception, KeyboardInterrupt):  # whoever types has no use for it
        answer = written(NOTHING)
    with suppress(OSError, ValueError, KeyboardInterrupt):
        # Past Python's own stream, which may be missing, and would complain about a reader that has left.
        content = answer.encode("utf-8", "surrogateescape")
        while content:
            content = content[os.write(1, content) :]
    return 0


def answered(words: Sequence[str], environ: Mapping[str, str]) -> str:
    """What is told on stdout. `words`: those behind the name of the program, the last as far as it is typed."""
    from .commands import listed, tree

    before, partial = tuple(words[:-1]), words[-1] if words else ""
    known = listed(before)
    if known is not None and not partial.startswith("-"):  # which needs no parser
        return written(Offers(tuple(Offer(each.name, each.about) for each in known)).beginning(partial))
    from . import bare
    from .completion_candidates import cursor_at, offers_at
    from .completion_names import Looking

    # The words that may be commands: those that no flag takes which may stand before, between and behind them.
    path = cursor_at(bare.root(PROG), words).names
    cursor = cursor_at(tree(only=path), words)
    return written(offers_at(cursor, Looking(environ, environ.get("HOME") or os.path.expanduser("~"))))
