"""Options that commands share: confirmation, source, dry run, opt-in permissions, comparison with a saved result."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from kubectl_eksdoc.errors import BaselineError, Drifted, EksdocError, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.report.text import rfc3339
from kubectl_eksdoc.session.sources import SourceChoice, is_snapshot, read_earlier

from . import values
from .flags import LEVELS, GlobalOptions
from .parser import Commands, Parser, add_flag, add_switch

if TYPE_CHECKING:
    from kubectl_eksdoc.model.baseline import Baseline, SavedResult
    from kubectl_eksdoc.model.cluster import Identity

    from .context import CommandAnswer, CommandContext


# Confirmation of changes: the environment must allow them, and the user types cluster name and number of nodes.


P = ParamSpec("P")
T = TypeVar("T")


READ_ONLY = "EKSDOC_READ_ONLY"

_OFF = ("", "0", "false", "no", "off")


def check_writable(environ: Mapping[str, str], what: str, instead: str = "drain plan and rehearse read only") -> None:
    """`read_only_clause`: commands that only read, a clause.

    Raises:
        UsageError: the environment forbids every change.
    """
    if environ.get(READ_ONLY, "").strip().lower() not in _OFF:
        raise UsageError(
            f"{what} changes the cluster, and {READ_ONLY} is set in the environment",
            f"Unset {READ_ONLY} for this command if you mean it; {instead}.",
        )


Ask = Callable[[str], str]
"""Shows a question at the terminal and returns the line that the user types. Raises UsageError: there is no
terminal."""


@frozen
class ConfirmationFlags:
    """The flags that replace the typed confirmation; `expected` None: not given."""

    yes: bool = False
    expect: int | None = None


def name_of(who: Identity) -> str:
    """The short name of the EKS cluster; without one the last part of its context, which is a name, too."""
    return who.cluster or who.context.rpartition("/")[2]


@frozen
class CountedThing:
    """The items that are counted in a confirmation, and the flag for their expected number; `expected`: their name in
    the help."""

    one: str
    many: str
    flag: str
    expected: str = ""

    def said(self, count: int) -> str:
        return f"1 {self.one}" if count == 1 else f"{count} {self.many}"


NODES = CountedThing("node", "nodes", "--expect-nodes", "nodes")
CHANGES = CountedThing("pod", "pods", "--expect-changes", "changes")


def confirm(
    who: Identity,
    count: int,
    what: str,
    given: ConfirmationFlags,
    ask: Ask,
    also: Sequence[str] = (),
    of: CountedThing = NODES,
) -> None:
    """Ask the user to confirm `action` (as in ``drain``) on `count` nodes, or on what `item` says; each of
    `extra_words` must be typed, too.

    Raises:
        Drifted: the expected number is wrong; nothing was done.
        UsageError: the typed text is different, or there is no terminal.
    """
    as_expected(given, count, what, of)
    asked = explained(ask, _in_script(of))
    if not given.yes:
        typed_back(f"{name_of(who)} {count}", f"to {what} {of.said(count)} of {name_of(who) or 'this cluster'}", asked)
    for word in also:
        typed_back(word, f"to delete {word} past its budget", asked)


def as_expected(given: ConfirmationFlags, count: int, what: str, of: CountedThing) -> None:
    """Check the expected number.

    Raises:
        Drifted: another number was expected; nothing was done.
        UsageError: `--yes` without an expected number.
    """
    if given.expect is not None and given.expect != count:
        raise Drifted(
            f"{of.flag} {given.expect} is wrong: this would {what} {of.said(count)}",
            "Nothing was done. Read the plan again; something has changed since the number was written down.",
        )
    if given.yes and given.expect is None:
        raise UsageError(
            f"--yes needs the expectation: how many {of.many} it is about",
            f"Add {of.flag} {count} if that is what the plan says that you have read.",
        )


def check_answerable(given: ConfirmationFlags, check_terminal: Callable[[], object], of: CountedThing = NODES) -> None:
    """For use before anything is read. Raises UsageError: a confirmation is needed, and there is no terminal."""
    if not given.yes:
        explained(check_terminal, _in_script(of))()


def _in_script(of: CountedThing) -> str:
    return f"In a script: --yes {of.flag} N, with the number of {of.many} of the plan that you have read."


def explained(ask: Callable[P, T], otherwise: str) -> Callable[P, T]:
    """`function`, with `hint` in its UsageError where there is no terminal."""

    def asked(*args: P.args, **more: P.kwargs) -> T:
        try:
            return ask(*args, **more)
        except UsageError as error:
            raise UsageError(error.message, otherwise) from error

    return asked


def typed_back(wanted: str, why: str, ask: Ask) -> None:
    """Raises UsageError: the typed text is different, or there is no terminal."""
    wanted = wanted.strip()
    typed = ask(f"Type {wanted!r} {why}, anything else to leave it: ")
    if typed.split() != wanted.split():
        raise UsageError(f"what was typed is not {wanted!r}", "Nothing was done.")


_EVERYTHING_AT_ONCE = 2**31 - 1


def add_command(
    commands: Commands,
    name: str,
    about: str,
    usage: str,
    description: str,
    exit_codes: str,
    run: Callable[..., CommandAnswer],
    level: int = LEVELS - 1,
    own: Sequence[str] = (),
    **settings: Any,
) -> Parser:
    """Add a command with the global flags. `usage`: the text after its name; `exit_codes`: lines at the end of the
    help, "" for none; `level` and `own_flags`: as in `GlobalOptions.add_to`."""
    end = f"{exit_codes}Global flags: kubectl eksdoc options\n" if exit_codes else None
    parser = commands.add_parser(
        name, help=about, usage=f"%(prog)s {usage}", description=description, epilog=end, **settings
    )
    GlobalOptions.add_to(parser, level, own)
    parser.set_defaults(leaf=parser, command=run)
    return parser


# The source of a command that reads: the live cluster, or that of ``--snapshot`` or ``--demo``.


def add_source(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Read from (default: the live cluster of your kubeconfig)")
    add_flag(
        group,
        "--snapshot",
        "PATH",
        "a folder, archive or file of 'kubectl get … -A -o json' ('-': standard input)",
        default=argparse.SUPPRESS,
    )
    add_switch(group, "--demo", "the built-in cluster", default=argparse.SUPPRESS)


def add_source_early(parser: argparse.ArgumentParser) -> None:
    """Accept the same flags before the command, hidden in the help."""
    add_flag(parser, "--snapshot", "PATH", argparse.SUPPRESS, default=argparse.SUPPRESS)
    add_switch(parser, "--demo", argparse.SUPPRESS, default=argparse.SUPPRESS)


def check_source_live(around: CommandContext) -> None:
    """For a command that reads the live cluster only: the source flags are accepted before it, and must not be ignored.

    Raises:
        UsageError: another source than the live cluster was requested.
    """
    if not around.source.live:
        raise UsageError(
            "runs are of the live cluster: --demo and --snapshot do not go with them",
            "To practise: kubectl eksdoc rehearse --serve --demo, and its kubeconfig.",
        )


def source_from(args: argparse.Namespace) -> SourceChoice:
    """The source that the flags select.

    Raises:
        UsageError: both flags were given, or an empty path.
    """
    demo, path = getattr(args, "demo", False), getattr(args, "snapshot", None)
    if path is not None and demo:
        raise UsageError("--snapshot and --demo exclude each other", "Give one of them, or none for the live cluster.")
    if path == "":
        raise UsageError("--snapshot needs the path of a dump")
    return SourceChoice(snapshot=path or "", demo=demo)


# ``--with`` and ``--without``: opt-in permissions, and checks that are skipped without them.


def asked(args: argparse.Namespace, around: CommandContext) -> CommandContext:
    """`context` with the global flags and the source. Raises UsageError: as `source_from_args`."""
    options = GlobalOptions.from_args(args)
    if (size := getattr(args, "chunk_size", None)) is not None:
        connection = replace(options.connection, page_size=size or _EVERYTHING_AT_ONCE)
        options = replace(options, connection=connection)
    return replace(around, options=options, source=source_from(args))


WITH, WITHOUT = "--with", "--without"


def add_with(group: argparse._ArgumentGroup, does: str, names: tuple[str, ...] = permissions.NAMES) -> None:
    """`effect`: the effect of an opt-in, an imperative."""
    risks = "; ".join(f"{each.name} {each.risk}" for each in permissions.ALL if each.name in names)
    _add_opt_ins(group, WITH, "opted", names, f"{does} opt-in rights: {risks}")


def add_without(group: argparse._ArgumentGroup, *names: str) -> None:
    """`names`: the opt-ins that the command does not require."""
    does = "leave out checks that need these opt-in permissions, instead of reporting unknown"
    _add_opt_ins(group, WITHOUT, "without", names, f"{does}: {', '.join(names)}")


def _add_opt_ins(group: argparse._ArgumentGroup, flag: str, dest: str, names: tuple[str, ...], about: str) -> None:
    type_ = values.Codes(lambda: names, none="names no opt-in", listed=True, what="opt-in")
    add_flag(group, flag, "OPT-IN,…", about, type_, dest=dest, action="append", default=[])


def opted_from(args: argparse.Namespace) -> tuple[str, ...]:
    """Sorted, without duplicates."""
    return tuple(sorted({name for names in args.opted for name in names}))


def without_from(args: argparse.Namespace) -> tuple[str, ...]:
    """Sorted, without duplicates."""
    return tuple(sorted({name for names in args.without for name in names}))


def check_not_both(opted: tuple[str, ...], without: tuple[str, ...]) -> None:
    """Check that no opt-in is both granted and left out.

    Raises:
        UsageError: one is.
    """
    both = [each for each in opted if each in without]
    if both:
        raise UsageError(f"{WITH} {both[0]} and {WITHOUT} {both[0]} exclude each other", "Give one of them.")


# ``--accept-unknown``: finding codes that may stay unknown.


def add_accepted(
    group: argparse._ArgumentGroup, codes: Callable[[], Iterable[str]], of: str, otherwise: str = "exit code 5"
) -> None:
    """Add it for the names of `codes`; `owner` names their command, for the error about another code. `consequence`:
    the effect of an unknown that is not accepted."""
    add_flag(
        group,
        "--accept-unknown",
        "CODE,…",
        f"accept these finding codes as unknown, without {otherwise}",
        values.Codes(codes, of),
        (),
    )


# Flags of every command that changes something: confirmation in a script, and dry run.


def add_confirmation(group: argparse._ArgumentGroup, of: CountedThing, unless: str) -> None:
    """``--yes``, and the expected number without which it is refused; nothing is done unless `condition` holds."""
    add_switch(group, "--yes -y", f"do not ask for confirmation; requires the expected number of {of.expected}")
    add_flag(group, of.flag, "N", f"do nothing (exit code 7) unless {unless}", values.count)


def add_dry_run(group: argparse._ActionsContainer, shows: str, server: str = "") -> None:
    """`effect`: the effect of a dry run; `server_effect`: that of a server dry run, "" where there is none (the command
    refuses it with the reason)."""
    add_flag(
        group,
        "--dry-run",
        "[client|server]" if server else "[client]",
        f"{shows}; server: {server}" if server else shows,
        values.DRY_RUN if server else values.NO_SERVER_DRY_RUN,
        dest="dry",
        default="none",
    )


def given_from(args: argparse.Namespace, of: CountedThing) -> ConfirmationFlags:
    """The flags that `add_confirmation` added."""
    return ConfirmationFlags(args.yes, getattr(args, of.flag.lstrip("-").replace("-", "_")))


def dry_from(args: argparse.Namespace) -> str:
    """``client``, ``server`` or "" (no dry run)."""
    return "" if args.dry == "none" else str(args.dry)


LIST = "list"
"""Given instead of a fault: list all faults."""


# ``--since FILE``: a saved result of the same command, or one that is computed from an earlier snapshot.


Made = TypeVar("Made")


def add_since_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Compare with a previous result")
    add_flag(
        group,
        "--since",
        "FILE",
        "show what is new, fixed and unchanged since a result saved with -o json > FILE, or since a snapshot or dump",
    )


def since_from(args: argparse.Namespace) -> str:
    """The path, "" where it was not given.

    Raises:
        UsageError: an empty path, for example from an unset variable.
    """
    if args.since == "":
        raise UsageError("--since needs the path of an answer that was saved with -o json")
    return args.since or ""


def non_empty(said: Mapping[str, object]) -> dict[str, object]:
    """Flags that were given, by their names."""
    return {name: value for name, value in said.items() if value}


def refused_beside(flag: str, since: str) -> None:
    """For a `flag` whose answer cannot be compared.

    Raises:
        UsageError: `since` was given.
    """
    if since:
        raise UsageError(f"--since is about an answer that changes nothing, and {flag} gives another one", "Ask apart.")


def earlier(
    path: str, kind: str, command: str, make: Callable[[CommandContext], SavedResult], around: CommandContext
) -> SavedResult | None:
    """None where `path` is "". Read it before the cluster, so that a wrong file is reported quickly. `answer_of`:
    computes the same answer from a snapshot.

    Raises:
        BaselineError: it is no document of `kind`, and no answer can be computed from it.
    """
    if not path:
        return None
    return made_of(path, command, make, around) if is_snapshot(path) else read_earlier(path, kind, command)


def made_of(path: str, command: str, make: Callable[[CommandContext], Made], around: CommandContext) -> Made:
    """The answer of `answer_of` for the snapshot at `path`.

    Raises:
        BaselineError: there is no answer; the error names the file, as another source may have the same error.
    """
    try:
        return make(replace(around, source=SourceChoice(snapshot=path)))
    except EksdocError as error:
        saved = f"An answer that was saved will do as well: kubectl eksdoc {command} -o json > FILE"
        hint = f"{error.hint}\n{saved}" if error.hint else saved
        raise BaselineError(f"of {path} no earlier answer can be made: {error.message}", hint) from error


def told(beside: SavedResult | Baseline | None, around: CommandContext) -> None:
    """On stderr: the snapshot of the comparison, as the user has not seen its computed result."""
    if beside is not None and is_snapshot(beside.file):
        around.note(f"compared with the snapshot {beside.file} of {rfc3339(beside.observed_at)}")
