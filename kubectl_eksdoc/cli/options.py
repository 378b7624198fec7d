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
from kubectl_eksdoc.session.sources import SourceChoice, is_snapshot, read_saved_result

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

_FALSE_VALUES = ("", "0", "false", "no", "off")


def check_writable(
    environ: Mapping[str, str], action: str, read_only_clause: str = "drain plan and rehearse read only"
) -> None:
    """`read_only_clause`: commands that only read, a clause.

    Raises:
        UsageError: the environment forbids every change.
    """
    if environ.get(READ_ONLY, "").strip().lower() not in _FALSE_VALUES:
        raise UsageError(
            f"{action} changes the cluster, and {READ_ONLY} is set in the environment",
            f"Unset {READ_ONLY} for this command if you mean it; {read_only_clause}.",
        )


Prompt = Callable[[str], str]
"""Shows a question at the terminal and returns the line that the user types. Raises UsageError: there is no
terminal."""


@frozen
class ConfirmationFlags:
    """The flags that replace the typed confirmation; `expected` None: not given."""

    yes: bool = False
    expected: int | None = None


def short_cluster_name(identity: Identity) -> str:
    """The short name of the EKS cluster; without one the last part of its context, which is a name, too."""
    return identity.cluster or identity.context.rpartition("/")[2]


@frozen
class CountedItem:
    """The items that are counted in a confirmation, and the flag for their expected number; `expected`: their name in
    the help."""

    singular: str
    plural: str
    flag: str
    expected: str = ""

    def count_text(self, count: int) -> str:
        return f"1 {self.singular}" if count == 1 else f"{count} {self.plural}"


NODES = CountedItem("node", "nodes", "--expect-nodes", "nodes")
CHANGES = CountedItem("pod", "pods", "--expect-changes", "changes")


def confirm(
    identity: Identity,
    count: int,
    action: str,
    confirmation: ConfirmationFlags,
    prompt: Prompt,
    extra_words: Sequence[str] = (),
    item: CountedItem = NODES,
) -> None:
    """Ask the user to confirm `action` (as in ``drain``) on `count` nodes, or on what `item` says; each of
    `extra_words` must be typed, too.

    Raises:
        Drifted: the expected number is wrong; nothing was done.
        UsageError: the typed text is different, or there is no terminal.
    """
    check_expected(confirmation, count, action, item)
    prompt_with_hint = with_hint(prompt, _script_hint(item))
    if not confirmation.yes:
        require_typed(
            f"{short_cluster_name(identity)} {count}",
            f"to {action} {item.count_text(count)} of {short_cluster_name(identity) or 'this cluster'}",
            prompt_with_hint,
        )
    for word in extra_words:
        require_typed(word, f"to delete {word} past its budget", prompt_with_hint)


def check_expected(confirmation: ConfirmationFlags, count: int, action: str, item: CountedItem) -> None:
    """Check the expected number.

    Raises:
        Drifted: another number was expected; nothing was done.
        UsageError: `--yes` without an expected number.
    """
    if confirmation.expected is not None and confirmation.expected != count:
        raise Drifted(
            f"{item.flag} {confirmation.expected} is wrong: this would {action} {item.count_text(count)}",
            "Nothing was done. Read the plan again; something has changed since the number was written down.",
        )
    if confirmation.yes and confirmation.expected is None:
        raise UsageError(
            f"--yes needs the expectation: how many {item.plural} it is about",
            f"Add {item.flag} {count} if that is what the plan says that you have read.",
        )


def check_can_confirm(
    confirmation: ConfirmationFlags, check_terminal: Callable[[], object], item: CountedItem = NODES
) -> None:
    """For use before anything is read. Raises UsageError: a confirmation is needed, and there is no terminal."""
    if not confirmation.yes:
        with_hint(check_terminal, _script_hint(item))()


def _script_hint(item: CountedItem) -> str:
    return f"In a script: --yes {item.flag} N, with the number of {item.plural} of the plan that you have read."


def with_hint(function: Callable[P, T], hint: str) -> Callable[P, T]:
    """`function`, with `hint` in its UsageError where there is no terminal."""

    def call(*args: P.args, **more: P.kwargs) -> T:
        try:
            return function(*args, **more)
        except UsageError as error:
            raise UsageError(error.message, hint) from error

    return call


def require_typed(expected: str, purpose: str, prompt: Prompt) -> None:
    """Raises UsageError: the typed text is different, or there is no terminal."""
    expected = expected.strip()
    typed = prompt(f"Type {expected!r} {purpose}, anything else to leave it: ")
    if typed.split() != expected.split():
        raise UsageError(f"what was typed is not {expected!r}", "Nothing was done.")


_UNLIMITED_PAGE = 2**31 - 1


def add_command(
    commands: Commands,
    name: str,
    about: str,
    usage: str,
    description: str,
    exit_codes: str,
    run: Callable[..., CommandAnswer],
    level: int = LEVELS - 1,
    own_flags: Sequence[str] = (),
    **settings: Any,
) -> Parser:
    """Add a command with the global flags. `usage`: the text after its name; `exit_codes`: lines at the end of the
    help, "" for none; `level` and `own_flags`: as in `GlobalOptions.add_to`."""
    epilog = f"{exit_codes}Global flags: kubectl eksdoc options\n" if exit_codes else None
    parser = commands.add_parser(
        name, help=about, usage=f"%(prog)s {usage}", description=description, epilog=epilog, **settings
    )
    GlobalOptions.add_to(parser, level, own_flags)
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


def check_source_live(context: CommandContext) -> None:
    """For a command that reads the live cluster only: the source flags are accepted before it, and must not be ignored.

    Raises:
        UsageError: another source than the live cluster was requested.
    """
    if not context.source.live:
        raise UsageError(
            "runs are of the live cluster: --demo and --snapshot do not go with them",
            "To practise: kubectl eksdoc rehearse --serve --demo, and its kubeconfig.",
        )


def source_from_args(args: argparse.Namespace) -> SourceChoice:
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


def context_from_args(args: argparse.Namespace, context: CommandContext) -> CommandContext:
    """`context` with the global flags and the source. Raises UsageError: as `source_from_args`."""
    options = GlobalOptions.from_args(args)
    if (size := getattr(args, "chunk_size", None)) is not None:
        connection = replace(options.connection, page_size=size or _UNLIMITED_PAGE)
        options = replace(options, connection=connection)
    return replace(context, options=options, source=source_from_args(args))


WITH, WITHOUT = "--with", "--without"


def add_with_flag(
    group: argparse._ArgumentGroup, effect: str, names: tuple[str, ...] = permissions.OPT_IN_NAMES
) -> None:
    """`effect`: the effect of an opt-in, an imperative."""
    risks = "; ".join(f"{each.name} {each.risk}" for each in permissions.OPT_INS if each.name in names)
    _add_opt_ins(group, WITH, "opted", names, f"{effect} opt-in rights: {risks}")


def add_without_flag(group: argparse._ArgumentGroup, *names: str) -> None:
    """`names`: the opt-ins that the command does not require."""
    effect = "leave out checks that need these opt-in permissions, instead of reporting unknown"
    _add_opt_ins(group, WITHOUT, "without", names, f"{effect}: {', '.join(names)}")


def _add_opt_ins(group: argparse._ArgumentGroup, flag: str, dest: str, names: tuple[str, ...], about: str) -> None:
    type_ = values.Codes(lambda: names, empty_error="names no opt-in", lists_known=True, word_name="opt-in")
    add_flag(group, flag, "OPT-IN,…", about, type_, dest=dest, action="append", default=[])


def opt_ins_from_args(args: argparse.Namespace) -> tuple[str, ...]:
    """Sorted, without duplicates."""
    return tuple(sorted({name for names in args.opted for name in names}))


def without_from_args(args: argparse.Namespace) -> tuple[str, ...]:
    """Sorted, without duplicates."""
    return tuple(sorted({name for names in args.without for name in names}))


def check_not_both(opt_ins: tuple[str, ...], without: tuple[str, ...]) -> None:
    """Check that no opt-in is both granted and left out.

    Raises:
        UsageError: one is.
    """
    both = [each for each in opt_ins if each in without]
    if both:
        raise UsageError(f"{WITH} {both[0]} and {WITHOUT} {both[0]} exclude each other", "Give one of them.")


# ``--accept-unknown``: finding codes that may stay unknown.


def add_accept_unknown(
    group: argparse._ArgumentGroup, codes: Callable[[], Iterable[str]], owner: str, consequence: str = "exit code 5"
) -> None:
    """Add it for the names of `codes`; `owner` names their command, for the error about another code. `consequence`:
    the effect of an unknown that is not accepted."""
    add_flag(
        group,
        "--accept-unknown",
        "CODE,…",
        f"accept these finding codes as unknown, without {consequence}",
        values.Codes(codes, owner),
        (),
    )


# Flags of every command that changes something: confirmation in a script, and dry run.


def add_confirmation(group: argparse._ArgumentGroup, item: CountedItem, condition: str) -> None:
    """``--yes``, and the expected number without which it is refused; nothing is done unless `condition` holds."""
    add_switch(group, "--yes -y", f"do not ask for confirmation; requires the expected number of {item.expected}")
    add_flag(group, item.flag, "N", f"do nothing (exit code 7) unless {condition}", values.count)


def add_dry_run(group: argparse._ActionsContainer, effect: str, server_effect: str = "") -> None:
    """`effect`: the effect of a dry run; `server_effect`: that of a server dry run, "" where there is none (the command
    refuses it with the reason)."""
    add_flag(
        group,
        "--dry-run",
        "[client|server]" if server_effect else "[client]",
        f"{effect}; server: {server_effect}" if server_effect else effect,
        values.DRY_RUN if server_effect else values.NO_SERVER_DRY_RUN,
        dest="dry",
        default="none",
    )


def confirmation_from_args(args: argparse.Namespace, item: CountedItem) -> ConfirmationFlags:
    """The flags that `add_confirmation` added."""
    return ConfirmationFlags(args.yes, getattr(args, item.flag.lstrip("-").replace("-", "_")))


def dry_run_from_args(args: argparse.Namespace) -> str:
    """``client``, ``server`` or "" (no dry run)."""
    return "" if args.dry == "none" else str(args.dry)


LIST_FAULTS = "list"
"""Given instead of a fault: list all faults."""


# ``--since FILE``: a saved result of the same command, or one that is computed from an earlier snapshot.


Result = TypeVar("Result")


def add_since(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Compare with a previous result")
    add_flag(
        group,
        "--since",
        "FILE",
        "show what is new, fixed and unchanged since a result saved with -o json > FILE, or since a snapshot or dump",
    )


def since_from_args(args: argparse.Namespace) -> str:
    """The path, "" where it was not given.

    Raises:
        UsageError: an empty path, for example from an unset variable.
    """
    if args.since == "":
        raise UsageError("--since needs the path of an answer that was saved with -o json")
    return args.since or ""


def given_flags(flags: Mapping[str, object]) -> dict[str, object]:
    """Flags that were given, by their names."""
    return {name: value for name, value in flags.items() if value}


def check_without_since(flag: str, since: str) -> None:
    """For a `flag` whose answer cannot be compared.

    Raises:
        UsageError: `since` was given.
    """
    if since:
        raise UsageError(f"--since is about an answer that changes nothing, and {flag} gives another one", "Ask apart.")


def earlier_result(
    path: str, kind: str, command: str, answer_of: Callable[[CommandContext], SavedResult], context: CommandContext
) -> SavedResult | None:
    """None where `path` is "". Read it before the cluster, so that a wrong file is reported quickly. `answer_of`:
    computes the same answer from a snapshot.

    Raises:
        BaselineError: it is no document of `kind`, and no answer can be computed from it.
    """
    if not path:
        return None
    return (
        result_of_snapshot(path, command, answer_of, context)
        if is_snapshot(path)
        else read_saved_result(path, kind, command)
    )


def result_of_snapshot(
    path: str, command: str, answer_of: Callable[[CommandContext], Result], context: CommandContext
) -> Result:
    """The answer of `answer_of` for the snapshot at `path`.

    Raises:
        BaselineError: there is no answer; the error names the file, as another source may have the same error.
    """
    try:
        return answer_of(replace(context, source=SourceChoice(snapshot=path)))
    except EksdocError as error:
        saved = f"An answer that was saved will do as well: kubectl eksdoc {command} -o json > FILE"
        hint = f"{error.hint}\n{saved}" if error.hint else saved
        raise BaselineError(f"of {path} no earlier answer can be made: {error.message}", hint) from error


def note_comparison(earlier: SavedResult | Baseline | None, context: CommandContext) -> None:
    """On stderr: the snapshot of the comparison, as the user has not seen its computed result."""
    if earlier is not None and is_snapshot(earlier.file):
        context.note(f"compared with the snapshot {earlier.file} of {rfc3339(earlier.observed_at)}")
