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
from .commands import command_parser, find_command, help_text
from .entry_point import COMPLETE, PROG, VERSION, lazy_call, split_command_line

if TYPE_CHECKING:  # completion must not wait for these imports
    from .context import CommandAnswer, CommandContext
    from .parser import Parser

__all__ = ["command_parser", "main", "run"]


def main() -> int:
    """Run this process's command line; returns the exit code."""
    program, argv = split_command_line(sys.argv)
    if argv[:1] == [COMPLETE]:
        from .completion_command import main as complete

        return complete(argv[1:])
    streams.open_closed_streams()
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    if sys.stdout is None:
        streams.write_note(sys.stderr, "error: there is nowhere to write the answer: stdout is closed\n")
        return streams.USAGE
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A locale that cannot encode a name must not turn an answer into a traceback.
            stream.reconfigure(errors="backslashreplace")
    reduce_gc()
    code = run(argv, sys.stdout, sys.stderr, prog=program.prog)
    freeze_gc()
    return code


def reduce_gc() -> None:
    """Run the garbage collector rarely: facts are many small objects without cycles, and the search for cycles costs a
    third of the read time of a large cluster."""
    gc.set_threshold(20_000_000, 10, 10)


def freeze_gc() -> None:
    """At exit Python searches all loaded objects for cycles: half a second between the last key and the prompt, for
    memory that is freed with the process anyway."""
    gc.freeze()


def run(
    argv: Sequence[str],
    stdout: TextIO,
    stderr: TextIO,
    *,
    prog: str = PROG,
    context: CommandContext | None = None,
) -> int:
    """Answer `argv` (without the program) on the streams; returns the exit code and never raises.

    Answers go to `stdout`, everything else to `stderr`. `context` is passed to commands instead of the one of the real
    process.
    """
    debug = "--debug" in argv
    try:
        if argv[-1:] == ["--version"] and find_command(argv[:-1]) is not None:
            # Scripts call this often, for every entry point: without parsers it takes a third of the time.
            streams.write_answer(stdout, VERSION)
            return streams.CLEAN
        if argv[-1:] in (["-h"], ["--help"]) and find_command(argv[:-1]) is not None:
            streams.write_answer(stdout, help_text(tuple(argv[:-1]), prog))
            return streams.CLEAN
        answer = _prepare(argv, prog, context or lazy_call("cli.context.CommandContext")(stdout, stderr))()
        streams.write_answer(stdout, answer.text)
        return answer.exit_code
    except KeyboardInterrupt:
        _print_lines(stderr, "interrupted")
        return streams.INTERRUPTED
    except EksdocError as error:
        streams.write_answer(stdout, error.partial_answer)
        _print_error(error, stderr, debug)
        return error.exit_code
    except Exception as error:  # the boundary: any other error is a bug, and reported as one
        _print_error(_bug_error(error), stderr, debug)
        return streams.BUG


def _prepare(argv: Sequence[str], prog: str, context: CommandContext) -> Callable[[], CommandAnswer]:
    """Parse `argv`; returns the function that runs the command."""
    from . import bare, options
    from .context import CommandAnswer, non_terminal_stream
    from .parser import (
        ShowText,
        expand_bare_flags,
        first_unknown_flag,
        positional_words,
        split_at_dashes,
        unknown_flag_error,
    )

    flags_only = bare.parse_without_command(argv, prog)
    if flags_only is not None and not non_terminal_stream(context):
        return partial(lazy_call("tui.command.main.open_screens"), flags_only, flags_only.leaf, context)
    parser = command_parser(prog, _command_path(argv))
    try:
        flags, names = split_at_dashes(argv)
        args, extras = parser.parse_known_args(expand_bare_flags(flags, parser.flags_without_value()))
        leaf: Parser = args.leaf
        args.words = [*positional_words(extras, leaf), *names]
    except ShowText as asked:
        return partial(CommandAnswer, asked.text)
    except UsageError:
        complete_parser = command_parser(prog)
        unknown_flag_word = first_unknown_flag(argv, complete_parser)
        if unknown_flag_word:
            raise unknown_flag_error(unknown_flag_word, complete_parser.subcommand_parser(argv)) from None
        raise
    if not hasattr(args, "command"):
        if names:
            raise UsageError(f"words behind -- are names, and {leaf.prog!r} needs a command before them")
        if args.words:
            leaf.error(f"COMMAND: invalid choice: {args.words[0]!r}")
        if not leaf.opens_ui:
            raise leaf.missing_command_error()
        return partial(lazy_call("tui.command.main.open_screens"), args, leaf, context)
    bare.check_no_replay(args, leaf)
    return partial(args.command, args, options.context_from_args(args, context))


def _command_path(argv: Sequence[str]) -> tuple[str, ...] | None:
    """The command that the first words of `argv` name, so that no other one is imported. None where they name none."""
    path: tuple[str, ...] = ()
    for word in argv:
        path = (*path, word)
        command = find_command(path)
        if command is None:
            return None
        if not command.subcommands:
            return path
    return None


def _bug_error(error: Exception) -> EksdocError:
    from kubectl_eksdoc.held_secrets import redact_held
    from kubectl_eksdoc.kubernetes.redaction import redact_message  # the message may have a secret

    message = redact_message(redact_held(f"{type(error).__name__}: {error}"))
    hint = (
        f"This is a bug in kubectl eksdoc {__version__}. Please report it with what the same command says with --debug."
    )
    bug = EksdocError(message, hint)
    bug.__cause__ = error
    return bug


def _print_error(error: EksdocError, stderr: TextIO, debug: bool) -> None:
    if debug:
        import traceback

        from kubectl_eksdoc.held_secrets import redact_held
        from kubectl_eksdoc.kubernetes.redaction import redact_message

        _print_lines(stderr, *redact_message(redact_held("".join(traceback.format_exception(error)))).splitlines())
    _print_lines(stderr, f"error: {error.message}", *error.hint.splitlines())


def _print_lines(stderr: TextIO, *lines: str) -> None:
    """Write lines to stderr; terminal control characters are escaped."""
    from kubectl_eksdoc.report.text import clean

    streams.write_note(stderr, "".join(f"{clean(line)}\n" for line in lines))
