"""Sessions, proposed command lines, appearance and exit codes of all commands."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.connection import IN_CLUSTER, CommandTarget, Connection
from kubectl_eksdoc.report.text import Look

from . import streams
from .context import CommandAnswer, CommandContext
from .flags import HONOURED, Flag, FlagValueKind
from .streams import ProgressLine, say

if TYPE_CHECKING:
    from kubectl_eksdoc.model.cluster import Cluster, Identity
    from kubectl_eksdoc.model.findings import Finding, Status
    from kubectl_eksdoc.report.report import Report
    from kubectl_eksdoc.session.session import ClusterNeeds, ClusterSession


def opened(around: CommandContext, needs: ClusterNeeds) -> ClusterSession:
    """Open a session and read its cluster, with a progress line on stderr.

    Raises:
        EksdocError: the cluster or the snapshot cannot be read, or AWS describes another cluster.
    """
    from kubectl_eksdoc.session.session import SessionRequest

    with ProgressLine(around.stderr) as progress:
        session = around.open_session(SessionRequest(around.source, around.connection, around.aws, needs, progress))
        _ = session.cluster
    return session


@contextmanager
def explaining(command: str) -> Iterator[None]:
    """Add the permissions that `command` needs, and how to grant them, to a Forbidden that is raised in this
    context."""
    try:
        yield
    except Forbidden as error:
        from . import rights

        raise rights.explained(error, command) from error


# Flags that select the same cluster or dump again, for the command lines that an answer proposes.


_SECRET = "token"
_USUAL = Connection()


def words(around: CommandContext, context: str) -> tuple[str, ...]:
    """The connection flags as given, with `kube_context` in place of the current context, and never a token."""
    source, connection = around.source, around.connection
    if source.demo:
        return ("--demo",)
    if source.snapshot:
        return _with("--snapshot", source.snapshot)
    found = [word for flag in HONOURED for word in _given(flag, connection)]
    named = connection.context or connection.server or context in ("", IN_CLUSTER)
    return tuple(found) if named else (*_with("--context", context), *found)


def with_aws(around: CommandContext, context: str) -> tuple[str, ...]:
    """The same for a command that also uses AWS."""
    options = around.options
    aws = {"--cluster-name": options.cluster_name, "--region": options.region, "--profile": options.profile}
    return (*words(around, context), *(word for flag in aws if aws[flag] for word in _with(flag, aws[flag])))


def reached_by(around: CommandContext, world: WasRead | ClusterSession) -> tuple[str, ...]:
    """The flags that select the same cluster again, for a command that also uses AWS."""
    return with_aws(around, world.cluster.identity.context)


def reach(around: CommandContext, world: WasRead | ClusterSession) -> CommandTarget:
    """The flags for commands that an answer proposes. Objects of the demo cannot be changed, and a snapshot does not
    have the address of its cluster."""
    plain = words(around, world.cluster.identity.context)
    if around.source.demo:
        return CommandTarget(plain, (), (*plain, "--dry-run"))
    if not around.source.live:
        return CommandTarget(plain)
    ours = reached_by(around, world)
    of_kubeconfig = getattr(world, "profile", "")
    aws = around.options.with_profile or (("--profile", of_kubeconfig) if of_kubeconfig else ())
    return CommandTarget(ours, plain, ours, aws, naming=getattr(world, "naming", ()))


def for_kubectl(around: CommandContext, world: WasRead | ClusterSession) -> tuple[str, ...]:
    """The flags by which kubectl changes the same cluster and no other; of the demo and of a snapshot the name of their
    context."""
    context = world.cluster.identity.context
    if around.source.live:
        return words(around, context)
    return _with("--context", context) if context else ()


def _given(flag: Flag, connection: Connection) -> Iterable[str]:
    value = getattr(connection, flag.dest, None)
    if value is None or value == getattr(_USUAL, flag.dest) or flag.dest == _SECRET:
        return ()
    if flag.takes is FlagValueKind.SWITCH:
        return (flag.long,)
    if flag.takes is FlagValueKind.REPEATED:
        return tuple(word for each in value for word in _with(flag.long, each))
    return _with(flag.long, f"{value:g}" if isinstance(value, float) else str(value))


def _with(flag: str, value: str) -> tuple[str, ...]:
    """One word where the value would be taken for a flag: a context may be called ``-prod``."""
    return (f"{flag}={value}",) if value.startswith("-") and value != "-" else (flag, value)


# Notes on stderr and exit codes of commands that read a cluster and AWS.


@frozen
class WasRead:
    """A cluster without a session; `aws_calls` and `denied` as of a session: the AWS calls, "" for none, and the IAM
    actions that AWS denied."""

    cluster: Cluster
    calls: str = ""
    denied: tuple[str, ...] = ()


def told(world: WasRead | ClusterSession, around: CommandContext) -> None:
    """On stderr: the cluster, denied IAM actions, and with --debug the AWS calls."""
    identify(world.cluster, around)
    for note in contradicted(world.cluster.identity, around):
        around.note(f"note: {note}")
    if world.denied:
        around.note(f"AWS does not let you {', '.join(world.denied)}: what only these tell is unknown")
    if around.options.debug and world.calls:
        around.note(f"debug: {world.calls}")


def contradicted(identity: Identity, around: CommandContext) -> list[str]:
    """Notes on flags whose value is not that of the cluster that was read."""
    options = around.options
    pairs = (
        ("--region", options.region, identity.region),
        ("--cluster-name", options.cluster_name, identity.cluster),
    )
    return [
        f"{flag} {given} is not used: what was read says {known}"
        for flag, given, known in pairs
        if given and given != known
    ]


def code(findings: Iterable[Finding], accepted: Collection[str] = ()) -> int:
    """The exit code: a failure has precedence over an unknown. `accepted_unknown`: codes that may be unknown."""
    from kubectl_eksdoc.model.findings import Status

    found = (each for each in findings if each.status is not Status.UNKNOWN or each.code.name not in accepted)
    return of(Status.worst(each.status for each in found))


def of(worst: Status) -> int:
    """The exit code of an answer, by the worst status that counts."""
    return {"fail": streams.FAILS, "unknown": streams.UNKNOWN, "pass": streams.CLEAN}[worst.value]


# The appearance of the answer, from the flags, the environment and the type of stdout.


WIDTH = 120
"""Columns where stdout is no terminal and $COLUMNS is not set."""

_SIGNS = "·…–→✓"


def decide(around: CommandContext, of: TextIO | None = None) -> Look:
    """The appearance on a stream, by default stdout. Colours only on a terminal, unless ``--no-color``, NO_COLOR
    (https://no-color.org) or TERM=dumb forbid them.

    A stream that cannot encode our symbols gets ASCII.
    """
    options, stream, environ = around.options, of or around.stdout, around.environ
    terminal = stream.isatty()
    plain = options.no_color or bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"
    ascii = options.ascii
    try:
        _SIGNS.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        ascii = True
    return Look(
        width=_width(stream, environ),
        colour=terminal and not plain,
        ascii=ascii,
        headers=not options.no_headers,
    )


def answered(report: Report, around: CommandContext) -> str:
    """The text for stdout, in the requested format."""
    return report.render(around.options.output, decide(around))


def answer(report: Report, around: CommandContext, code: int = streams.CLEAN) -> CommandAnswer:
    return CommandAnswer(answered(report, around), code)


def identify(cluster: Cluster, around: CommandContext) -> None:
    """Name the cluster on stderr."""
    from kubectl_eksdoc.report.identity import identity_line

    around.note(identity_line(cluster, around.now(), decide(around, around.stderr)))


def show(report: Report, around: CommandContext) -> None:
    """Show a report on stderr before something is done; it is not the answer."""
    output = "wide" if around.options.output == "wide" else "table"
    say(around.stderr, f"{report.render(output, decide(around, around.stderr))}\n")


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
