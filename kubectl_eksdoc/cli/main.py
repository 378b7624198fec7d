"""The command line as a whole: the tree of commands, and the one place where errors become text."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import TextIO

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import bare, exits, replay, screen, streams
from kubectl_eksdoc.cli.called import PROG, called_as
from kubectl_eksdoc.cli.parser import (
    VERSION,
    Parser,
    ShowText,
    first_unknown,
    spelled_out,
    strays,
    unknown_flag,
    until_dashes,
)
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.errors import EksdocError, UsageError


def main() -> int:
    """Run this process's command line; returns the exit code."""
    streams.occupy_closed()
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    if sys.stdout is None:
        streams.say(sys.stderr, "error: there is nowhere to write the answer: stdout is closed\n")
        return exits.USAGE
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A locale that cannot encode a name must not turn an answer into a traceback.
            stream.reconfigure(errors="backslashreplace")
    collect_seldom()
    called = called_as(sys.argv[0])
    code = run([*called.before, *sys.argv[1:]], sys.stdout, sys.stderr, prog=called.prog)
    collect_no_more()
    return code


def collect_seldom() -> None:
    """Facts are many small objects without cycles: looking for cycles while they are read finds nothing and costs a
    third of the time of a large cluster."""
    gc.set_threshold(20_000_000, 10, 10)


def collect_no_more() -> None:
    """When it ends, Python looks for cycles in all that was ever loaded: half a second that whoever pressed q waits
    for, though everything goes with the process anyway."""
    gc.freeze()


def run(
    argv: Sequence[str],
    stdout: TextIO,
    stderr: TextIO,
    *,
    prog: str = PROG,
    around: Surroundings | None = None,
) -> int:
    """Answer `argv` (without the program) on the streams; returns the exit code and never raises.

    Answers go to `stdout`, everything else to `stderr`. `around` is what commands are given instead of the
    real process.
    """
    around = around or Surroundings(stdout, stderr)
    debug = "--debug" in argv
    try:
        answer = _answer(argv, prog, around)
        streams.deliver(stdout, answer.text)
        return answer.exit_code
    except KeyboardInterrupt:
        _say(stderr, "interrupted")
        return exits.INTERRUPTED
    except EksdocError as error:
        _explain(error, stderr, debug)
        return error.exit_code
    except Exception as error:  # the boundary: whatever is left is a bug, and said to be one
        _explain(_bug(error), stderr, debug)
        return exits.BUG


def _answer(argv: Sequence[str], prog: str, around: Surroundings) -> Answer:
    if list(argv) == ["--version"]:  # asked by scripts, often: without a tree of commands it takes half the time
        return Answer(VERSION)
    alone = bare.flags_alone(argv, prog)
    if alone is not None and not screen.no_terminal(around):
        return screen.open_screens(alone, alone.leaf, around)
    parser = tree(prog)
    try:
        flags, names = until_dashes(argv)
        args, extras = parser.parse_known_args(spelled_out(flags, bare_values(parser)))
        leaf: Parser = args.leaf
        words = [*strays(extras, leaf), *names]
    except ShowText as asked:
        return Answer(asked.text)
    except UsageError:
        mistyped = first_unknown(argv, parser)
        if mistyped:
            raise unknown_flag(mistyped, parser) from None
        raise
    if not hasattr(args, "command"):
        if names:
            raise UsageError(f"words behind -- are names, and {leaf.prog!r} needs a command before them")
        if words:
            leaf.error(f"COMMAND: invalid choice: {words[0]!r}")
        return screen.open_screens(args, leaf, around)
    replay.check_not_asked_for(args, leaf)
    answer: Answer = args.command(args, words, around)
    return answer


def tree(prog: str = PROG) -> Parser:
    """The parser with every command. A new command is one module with `add_to`, and one line here."""
    from kubectl_eksdoc.cli import drain, options_list, rehearse
    from kubectl_eksdoc.cli.addon import command as addon_diff
    from kubectl_eksdoc.cli.check import command as check
    from kubectl_eksdoc.cli.dns import command as coredns_lameduck
    from kubectl_eksdoc.cli.interruption import command as interruption
    from kubectl_eksdoc.cli.krew_lint import command as krew_lint
    from kubectl_eksdoc.cli.metadata import command as imds_probe
    from kubectl_eksdoc.cli.permissions import command as permissions
    from kubectl_eksdoc.cli.run import asking as run_asking
    from kubectl_eksdoc.cli.run import drain as run_drain
    from kubectl_eksdoc.cli.run import resume as run_resume
    from kubectl_eksdoc.cli.run import rollback as run_rollback
    from kubectl_eksdoc.cli.run import status as run_status
    from kubectl_eksdoc.cli.snapshot import command as snapshot

    parser = bare.root(prog)
    parser.show_version_flag()
    commands = parser.add_commands()
    under_drain = drain.add_to(commands)
    for command in (run_drain, run_status, run_asking, run_resume, run_rollback):
        command.add_to(under_drain)
    rehearse.add_to(under_drain)
    rehearse.add_to(commands, level=1)
    check.add_to(commands)
    addon_diff.add_to(commands)
    imds_probe.add_to(commands)
    coredns_lameduck.add_to(commands)
    interruption.add_to(commands)
    snapshot.add_to(commands)
    krew_lint.add_to(commands)
    permissions.add_to(commands)
    options_list.add_to(commands)
    return parser


def bare_values(parser: Parser) -> dict[str, str]:
    """Every flag that may stand alone, and what it then means."""
    from kubectl_eksdoc.cli import drain_options
    from kubectl_eksdoc.cli.dns import measure_options

    return dict.fromkeys(parser.switches(), "true") | drain_options.BARE | measure_options.BARE


def _bug(error: Exception) -> EksdocError:
    what = f"{type(error).__name__}: {error}"
    hint = (
        f"This is a bug in kubectl eksdoc {__version__}. Please report it with what the same command says with --debug."
    )
    bug = EksdocError(what, hint)
    bug.__cause__ = error
    return bug


def _explain(error: EksdocError, stderr: TextIO, debug: bool) -> None:
    if debug:
        import traceback

        _say(stderr, *"".join(traceback.format_exception(error)).splitlines())
    _say(stderr, f"error: {error.message}", *error.hint.splitlines())


def _say(stderr: TextIO, *lines: str) -> None:
    """Write lines to stderr with what a terminal would act on shown as escapes."""
    from kubectl_eksdoc.render.text import clean

    streams.say(stderr, "".join(f"{clean(line)}\n" for line in lines))
