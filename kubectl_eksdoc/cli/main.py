"""The command line as a whole: parsing, dispatch, and the one place where errors become text."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TextIO

from kubectl_eksdoc import __version__
from kubectl_eksdoc.errors import EksdocError, UsageError

from . import streams
from .called import COMPLETE, PROG, VERSION, command_line, late
from .commands import help_of, leads_to, tree

if TYPE_CHECKING:  # completion must not wait for these imports
    from .context import CommandAnswer, CommandContext
    from .parser import Parser

__all__ = ["main", "run", "tree"]


def main() -> int:
    """Run this process's command line; returns the exit code."""
    called, argv = command_line(sys.argv)
    if argv[:1] == [COMPLETE]:
        from .completion_command import main as complete

        return complete(argv[1:])
    streams.occupy_closed()
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    if sys.stdout is None:
        streams.say(sys.stderr, "error: there is nowhere to write the answer: stdout is closed\n")
        return streams.USAGE
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A locale that cannot encode a name must not turn an answer into a traceback.
            stream.reconfigure(errors="backslashreplace")
    collect_seldom()
    code = run(argv, sys.stdout, sys.stderr, prog=called.prog)
    collect_no_more()
    return code


def collect_seldom() -> None:
    """Run the garbage collector rarely: facts are many small objects without cycles, and the search for cycles costs a
    third of the read time of a large cluster."""
    gc.set_threshold(20_000_000, 10, 10)


def collect_no_more() -> None:
    """At exit Python searches all loaded objects for cycles: half a second between the last key and the prompt, for
    memory that is freed with the process anyway."""
    gc.freeze()


def run(
    argv: Sequence[str],
    stdout: TextIO,
    stderr: TextIO,
    *,
    prog: str = PROG,
    around: CommandContext | None = None,
) -> int:
    """Answer `argv` (without the program) on the streams; returns the exit code and never raises.

    Answers go to `stdout`, everything else to `stderr`. `context` is passed to commands instead of the one of the real
    process.
    """
    debug = "--debug" in argv
    try:
        if argv[-1:] == ["--version"] and leads_to(argv[:-1]) is not None:
            # Scripts call this often, for every entry point: without parsers it takes a third of the time.
            streams.deliver(stdout, VERSION)
            return streams.CLEAN
        if argv[-1:] in (["-h"], ["--help"]) and leads_to(argv[:-1]) is not None:
            streams.deliver(stdout, help_of(tuple(argv[:-1]), prog))
            return streams.CLEAN
        answer = _asked(argv, prog, around or late("cli.context.CommandContext")(stdout, stderr))()
        streams.deliver(stdout, answer.text)
        return answer.exit_code
    except KeyboardInterrupt:
        _say(stderr, "interrupted")
        return streams.INTERRUPTED
    except EksdocError as error:
        streams.deliver(stdout, error.answer)
        _explain(error, stderr, debug)
        return error.exit_code
    except Exception as error:  # the boundary: any other error is a bug, and reported as one
        _explain(_bug(error), stderr, debug)
        return streams.BUG


def _asked(argv: Sequence[str], prog: str, around: CommandContext) -> Callable[[], CommandAnswer]:
    """Parse `argv`; returns the function that runs the command."""
    from . import bare, options
    from .context import CommandAnswer, no_terminal
    from .parser import ShowText, first_unknown, spelled_out, strays, unknown_flag, until_dashes

    alone = bare.flags_alone(argv, prog)
    if alone is not None and not no_terminal(around):
        return partial(late("tui.command.main.open_screens"), alone, alone.leaf, around)
    parser = tree(prog, _alone(argv))
    try:
        flags, names = until_dashes(argv)
        args, extras = parser.parse_known_args(spelled_out(flags, parser.bare()))
        leaf: Parser = args.leaf
        args.words = [*strays(extras, leaf), *names]
    except ShowText as asked:
        return partial(CommandAnswer, asked.text)
    except UsageError:
        whole = tree(prog)
        mistyped = first_unknown(argv, whole)
        if mistyped:
            raise unknown_flag(mistyped, whole.named(argv)) from None
        raise
    if not hasattr(args, "command"):
        if names:
            raise UsageError(f"words behind -- are names, and {leaf.prog!r} needs a command before them")
        if args.words:
            leaf.error(f"COMMAND: invalid choice: {args.words[0]!r}")
        if not leaf.opens_screens:
            raise leaf.without_command()
        return partial(late("tui.command.main.open_screens"), args, leaf, around)
    bare.check_no_replay(args, leaf)
    return partial(args.command, args, options.asked(args, around))


def _alone(argv: Sequence[str]) -> tuple[str, ...] | None:
    """The command that the first words of `argv` name, so that no other one is imported. None where they name none."""
    path: tuple[str, ...] = ()
    for word in argv:
        path = (*path, word)
        found = leads_to(path)
        if found is None:
            return None
        if not found.under:
            return path
    return None


def _bug(error: Exception) -> EksdocError:
    from kubectl_eksdoc.held_secrets import without_held
    from kubectl_eksdoc.kubernetes.redaction import hidden  # the message may have a secret

    what = hidden(without_held(f"{type(error).__name__}: {error}"))
    hint = (
        f"This is a bug in kubectl eksdoc {__version__}. Please report it with what the same command says with --debug."
    )
    bug = EksdocError(what, hint)
    bug.__cause__ = error
    return bug


def _explain(error: EksdocError, stderr: TextIO, debug: bool) -> None:
    if debug:
        import traceback

        from kubectl_eksdoc.held_secrets import without_held
        from kubectl_eksdoc.kubernetes.redaction import hidden

        _say(stderr, *hidden(without_held("".join(traceback.format_exception(error)))).splitlines())
    _say(stderr, f"error: {error.message}", *error.hint.splitlines())


def _say(stderr: TextIO, *lines: str) -> None:
    """Write lines to stderr; terminal control characters are escaped."""
    from kubectl_eksdoc.report.text import clean

    streams.say(stderr, "".join(f"{clean(line)}\n" for line in lines))
