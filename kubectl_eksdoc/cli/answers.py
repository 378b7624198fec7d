"""Sessions, proposed command lines, appearance and exit codes of all commands."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.connection import IN_CLUSTER, CommandTarget, Connection
from kubectl_eksdoc.report.text import Appearance

from . import streams
from .context import CommandAnswer, CommandContext
from .flags import SUPPORTED_FLAGS, Flag, FlagValueKind
from .streams import ProgressLine, write_note

if TYPE_CHECKING:
    from kubectl_eksdoc.model.cluster import Cluster, Identity
    from kubectl_eksdoc.model.findings import Finding, Status
    from kubectl_eksdoc.report.report import Report
    from kubectl_eksdoc.session.session import ClusterNeeds, ClusterSession


def open_session(context: CommandContext, needs: ClusterNeeds) -> ClusterSession:
    """Open a session and read its cluster, with a progress line on stderr.

    Raises:
        EksdocError: the cluster or the snapshot cannot be read, or AWS describes another cluster.
    """
    from kubectl_eksdoc.session.session import SessionRequest

    with ProgressLine(context.stderr) as progress:
        session = context.open_session(SessionRequest(context.source, context.connection, context.aws, needs, progress))
        _ = session.cluster
    return session


@contextmanager
def explain_forbidden(command: str) -> Iterator[None]:
    """Add the permissions that `command` needs, and how to grant them, to a Forbidden that is raised in this
    context."""
    try:
        yield
    except Forbidden as error:
        from . import rights

        raise rights.explain_forbidden(error, command) from error


# Flags that select the same cluster or dump again, for the command lines that an answer proposes.


_TOKEN_DEST = "token"
_DEFAULT_CONNECTION = Connection()


def target_flags(command_context: CommandContext, kube_context: str) -> tuple[str, ...]:
    """The connection flags as given, with `kube_context` in place of the current context, and never a token."""
    source, connection = command_context.source, command_context.connection
    if source.demo:
        return ("--demo",)
    if source.snapshot:
        return _flag_with_value("--snapshot", source.snapshot)
    flags = [word for flag in SUPPORTED_FLAGS for word in _flag_words(flag, connection)]
    has_target = connection.context or connection.server or kube_context in ("", IN_CLUSTER)
    return tuple(flags) if has_target else (*_flag_with_value("--context", kube_context), *flags)


def target_flags_with_aws(command_context: CommandContext, kube_context: str) -> tuple[str, ...]:
    """The same for a command that also uses AWS."""
    options = command_context.options
    aws = {"--cluster-name": options.cluster_name, "--region": options.region, "--profile": options.profile}
    return (
        *target_flags(command_context, kube_context),
        *(word for flag in aws if aws[flag] for word in _flag_with_value(flag, aws[flag])),
    )


def session_flags(context: CommandContext, session: ObservedCluster | ClusterSession) -> tuple[str, ...]:
    """The flags that select the same cluster again, for a command that also uses AWS."""
    return target_flags_with_aws(context, session.cluster.identity.context)


def command_target(context: CommandContext, session: ObservedCluster | ClusterSession) -> CommandTarget:
    """The flags for commands that an answer proposes. Objects of the demo cannot be changed, and a snapshot does not
    have the address of its cluster."""
    cluster_flags = target_flags(context, session.cluster.identity.context)
    if context.source.demo:
        return CommandTarget(cluster_flags, (), (*cluster_flags, "--dry-run"))
    if not context.source.live:
        return CommandTarget(cluster_flags)
    all_flags = session_flags(context, session)
    aws = context.options.profile_flag or (("--profile", session.profile) if session.profile else ())
    return CommandTarget(all_flags, cluster_flags, all_flags, aws, aws_names=session.aws_flags)


def kubectl_flags(command_context: CommandContext, session: ObservedCluster | ClusterSession) -> tuple[str, ...]:
    """The flags by which kubectl changes the same cluster and no other; of the demo and of a snapshot the name of their
    context."""
    kube_context = session.cluster.identity.context
    if command_context.source.live:
        return target_flags(command_context, kube_context)
    return _flag_with_value("--context", kube_context) if kube_context else ()


def _flag_words(flag: Flag, connection: Connection) -> Iterable[str]:
    value = getattr(connection, flag.dest, None)
    if value is None or value == getattr(_DEFAULT_CONNECTION, flag.dest) or flag.dest == _TOKEN_DEST:
        return ()
    if flag.value_kind is FlagValueKind.SWITCH:
        return (flag.long,)
    if flag.value_kind is FlagValueKind.REPEATED:
        return tuple(word for each in value for word in _flag_with_value(flag.long, each))
    return _flag_with_value(flag.long, f"{value:g}" if isinstance(value, float) else str(value))


def _flag_with_value(flag: str, value: str) -> tuple[str, ...]:
    """One word where the value would be taken for a flag: a context may be called ``-prod``."""
    return (f"{flag}={value}",) if value.startswith("-") and value != "-" else (flag, value)


# Notes on stderr and exit codes of commands that read a cluster and AWS.


@frozen
class ObservedCluster:
    """A cluster without a session; the other fields as of a session: the AWS calls, "" for none, the IAM actions that
    AWS denied, the awscli profile, and the flags by which another command finds the cluster in AWS."""

    cluster: Cluster
    aws_calls: str = ""
    denied_actions: tuple[str, ...] = ()
    profile: str = ""
    aws_flags: tuple[str, ...] = ()


def note_session(session: ObservedCluster | ClusterSession, context: CommandContext) -> None:
    """On stderr: the cluster, denied IAM actions, and with --debug the AWS calls."""
    note_cluster(session.cluster, context)
    for note in unused_flag_notes(session.cluster.identity, context):
        context.note(f"note: {note}")
    if session.denied_actions:
        context.note(f"AWS does not let you {', '.join(session.denied_actions)}: what only these tell is unknown")
    if context.options.debug and session.aws_calls:
        context.note(f"debug: {session.aws_calls}")


def unused_flag_notes(identity: Identity, context: CommandContext) -> list[str]:
    """Notes on flags whose value is not that of the cluster that was read."""
    options = context.options
    pairs = (
        ("--region", options.region, identity.region),
        ("--cluster-name", options.cluster_name, identity.cluster),
    )
    return [
        f"{flag} {given} is not used: what was read says {known}"
        for flag, given, known in pairs
        if given and given != known
    ]


def exit_code_of_findings(findings: Iterable[Finding], accepted_unknown: Collection[str] = ()) -> int:
    """The exit code: a failure has precedence over an unknown. `accepted_unknown`: codes that may be unknown."""
    from kubectl_eksdoc.model.findings import Status

    counted = (each for each in findings if each.status is not Status.UNKNOWN or each.code.name not in accepted_unknown)
    return exit_code_of_status(Status.worst(each.status for each in counted))


def exit_code_of_status(worst: Status) -> int:
    """The exit code of an answer, by the worst status that counts."""
    return {"fail": streams.FAILS, "unknown": streams.UNKNOWN, "pass": streams.CLEAN}[worst.value]


# The appearance of the answer, from the flags, the environment and the type of stdout.


DEFAULT_WIDTH = 120
"""Columns where stdout is no terminal and $COLUMNS is not set."""

_SYMBOLS = "·…–→✓"


def appearance_for(context: CommandContext, stream_override: TextIO | None = None) -> Appearance:
    """The appearance on a stream, by default stdout. Colours only on a terminal, unless ``--no-color``, NO_COLOR
    (https://no-color.org) or TERM=dumb forbid them.

    A stream that cannot encode our symbols gets ASCII.
    """
    options, stream, environ = context.options, stream_override or context.stdout, context.environ
    terminal = stream.isatty()
    no_colour = options.no_color or bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"
    ascii_only = options.ascii
    try:
        _SYMBOLS.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        ascii_only = True
    return Appearance(
        width=_columns(stream, environ),
        colour=terminal and not no_colour,
        ascii=ascii_only,
        headers=not options.no_headers,
    )


def render_report(report: Report, context: CommandContext) -> str:
    """The text for stdout, in the requested format."""
    return report.render(context.options.output, appearance_for(context))


def report_answer(report: Report, context: CommandContext, code: int = streams.CLEAN) -> CommandAnswer:
    return CommandAnswer(render_report(report, context), code)


def note_cluster(cluster: Cluster, context: CommandContext) -> None:
    """Name the cluster on stderr."""
    from kubectl_eksdoc.report.identity import identity_line

    context.note(identity_line(cluster, context.now(), appearance_for(context, context.stderr)))


def show_report(report: Report, context: CommandContext) -> None:
    """Show a report on stderr before something is done; it is not the answer."""
    output = "wide" if context.options.output == "wide" else "table"
    write_note(context.stderr, f"{report.render(output, appearance_for(context, context.stderr))}\n")


def _columns(stream: TextIO, environ: Mapping[str, str]) -> int:
    columns = environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    if not stream.isatty():
        return DEFAULT_WIDTH
    try:
        return os.get_terminal_size(stream.fileno()).columns or DEFAULT_WIDTH
    except (OSError, ValueError):
        return DEFAULT_WIDTH
