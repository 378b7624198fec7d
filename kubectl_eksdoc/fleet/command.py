"""``--fleet``: run a command for many clusters.

Belongs here: its flags, conflicts with other flags, the command line for each cluster. Never here: the check of one
cluster (each command's own), the summary (`fleet.clusters`).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import answers, values
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.parser import add_flag, flag_name
from kubectl_eksdoc.cli.streams import ProgressLine
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.report.text import list_names, printable, truncate
from kubectl_eksdoc.session.sources import SourceChoice

if TYPE_CHECKING:  # help must not load facts
    from kubectl_eksdoc.model.cluster import FleetMember, Identity
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.model.findings import Severity

    from .members import MemberRunner


# Contexts of the kubeconfig, entries of a file, and the processes that check the clusters.


def kubeconfig_contexts(connection: Connection) -> tuple[str, ...]:
    """Return the contexts of the kubeconfig, sorted. A context without a name is skipped: it would mean the current
    one.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube import kubeconfig
    from kubectl_eksdoc.kube.target import process_credential_context

    return tuple(sorted(filter(None, kubeconfig.load(connection.kubeconfig, process_credential_context()).contexts)))


def identity_of(member: FleetMember, connection: Connection) -> Identity:
    """Return the identity from the kubeconfig; no request is sent, and no credential plugin runs."""
    from kubectl_eksdoc.errors import ConfigError
    from kubectl_eksdoc.kube.identity import identify_cluster
    from kubectl_eksdoc.kube.kubeconfig import choose_target
    from kubectl_eksdoc.kube.target import process_credential_context
    from kubectl_eksdoc.model.cluster import Identity

    target = process_credential_context()
    identity = Identity(member.context)
    if not member.snapshot:
        with suppress(ConfigError):  # its own process reports that
            identity = identify_cluster(choose_target(connection, target), target.environ).identity
    return identity.with_names(member.cluster, member.region)


def open_members(
    arguments: Callable[[FleetMember], Sequence[str]], kind: str, environ: Mapping[str, str], timeout_s: float
) -> MemberRunner:
    """`arguments`: the command line for one cluster, without the program; `kind`: of the document it prints."""
    from kubectl_eksdoc.host.fleet import MemberProcesses, MemberProcessSettings, member_environment, own_program

    def environment(member: FleetMember) -> dict[str, str]:
        return member_environment(member, environ, _source_profile(member.profile))

    return MemberProcesses(MemberProcessSettings(arguments, kind, environment, timeout_s, own_program()))


def _source_profile(profile: str) -> str:
    if not profile:
        return ""
    from kubectl_eksdoc.aws.sessions import credential_source

    return credential_source(profile)


# Flags of a fleet, and flags that conflict with them.


DEFAULT_PARALLEL = 8
MAX_PARALLEL = 64
DEFAULT_TIMEOUT_S = 180.0

_SINGLE_CLUSTER_FIELDS = (
    "context",
    "cluster",
    "user",
    "server",
    "token",
    "certificate_authority",
    "client_certificate",
    "client_key",
    "tls_server_name",
)
"""Fields of a connection that select one cluster, or authenticate to one: credentials for one cluster must never be
sent to another."""


@frozen
class FleetChoice:
    """`text`: the chosen clusters, as given."""

    text: str
    parallel: int = DEFAULT_PARALLEL
    timeout_s: float = DEFAULT_TIMEOUT_S

    @property
    def options(self) -> dict[str, object]:
        """The options by the names of flags."""
        parallel_option = {"parallel": self.parallel} if self.parallel != DEFAULT_PARALLEL else {}
        timeout_option = (
            {"fleet-timeout": values.format_duration(self.timeout_s)} if self.timeout_s != DEFAULT_TIMEOUT_S else {}
        )
        return {"fleet": self.text, **parallel_option, **timeout_option}


def add_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Several clusters")
    add_flag(
        group,
        "--fleet",
        "CONTEXTS|GLOB|FILE",
        "comma-separated contexts, a pattern such as 'prod-*', or a file that lists them (also "
        "@FILE): names, or entries with name, context, kubeconfig, cluster-name, region, profile, "
        "snapshot. The worst result sets the exit code",
    )
    add_flag(group, "--parallel", "N", f"clusters to check in parallel; default: {DEFAULT_PARALLEL}", _parallel_count)
    add_flag(
        group,
        "--fleet-timeout",
        "TIME",
        f"timeout for one cluster; default: {values.format_duration(DEFAULT_TIMEOUT_S)}",
        values.some_seconds,
    )


def _parallel_count(text: str) -> int:
    number = values.count(text)
    if not 1 <= number <= MAX_PARALLEL:
        raise argparse.ArgumentTypeError(f"{text} is no number of clusters from 1 to {MAX_PARALLEL}")
    return number


def fleet_from(
    args: argparse.Namespace, context: CommandContext, single_cluster_flags: Iterable[str]
) -> FleetChoice | None:
    """Return the choice; None: one cluster is checked. `single_cluster_flags`: the command's flags that apply to one
    cluster only, by their names in the arguments.

    Raises:
        UsageError: flags conflict.
    """
    if args.fleet is None:
        for dest in ("parallel", "fleet_timeout"):
            if getattr(args, dest) is not None:
                raise UsageError(
                    f"{flag_name(dest)} is of --fleet, and no fleet is named", "Add --fleet: which clusters."
                )
        return None
    if not context.source.live:
        flag = "--demo" if context.source.demo else "--snapshot"
        raise UsageError(
            f"{flag} is one cluster, and --fleet names many",
            "A file for --fleet may name snapshots: entries with name and snapshot.",
        )
    single_cluster = [name for name in _SINGLE_CLUSTER_FIELDS if getattr(context.connection, name)]
    single_cluster += ["cluster_name"] if context.options.cluster_name else []
    if single_cluster:
        raise UsageError(
            f"{flag_name(single_cluster[0])} is of one cluster, and --fleet names many",
            "Leave it out; a file for --fleet may say more of each cluster.",
        )
    for dest in single_cluster_flags:
        if getattr(args, dest) != args.leaf.get_default(dest):
            raise UsageError(
                f"{flag_name(dest)} is for one cluster at a time, and --fleet names many", "Give --context instead."
            )
    return FleetChoice(args.fleet, args.parallel or DEFAULT_PARALLEL, args.fleet_timeout or DEFAULT_TIMEOUT_S)


# Command line for each cluster of a fleet.


@frozen
class MemberFlags:
    """`options`: options of the command, by the names of flags. `positional`: those that are positional arguments;
    `comma_separated`: flags that take several values separated by commas."""

    command: str
    kind: str
    options: Mapping[str, object]
    positional: tuple[str, ...] = ()
    comma_separated: tuple[str, ...] = ()

    def arguments(self, context: CommandContext, member: FleetMember) -> tuple[str, ...]:
        """Return the command line for `member`. Its own values come before the global flags."""
        return (self.command, *self._option_arguments(), *_target_arguments(context, member), "-o", "json")

    def _option_arguments(self) -> Iterator[str]:
        for name, value in self.options.items():
            if name in self.positional:
                yield str(value)
            elif value is True:
                yield f"--{name}"
            elif isinstance(value, (list, tuple)) and name in self.comma_separated:
                yield f"--{name}={','.join(map(str, value))}"
            else:
                value_list = value if isinstance(value, (list, tuple)) else (value,)
                yield from (f"--{name}={each}" for each in value_list)


def connection_of(context: CommandContext, member: FleetMember) -> Connection:
    """Return the connection of one cluster."""
    base = context.connection
    return replace(base, context=member.context, kubeconfig=member.kubeconfig or base.kubeconfig)


def _target_arguments(context: CommandContext, member: FleetMember) -> tuple[str, ...]:
    options = context.options
    if member.snapshot:
        return answers.target_flags(replace(context, source=SourceChoice(snapshot=member.snapshot)), "")
    member_options = replace(
        options,
        connection=connection_of(context, member),
        cluster_name=member.cluster,
        region=member.region or options.region,
        profile=member.profile or options.profile,
    )
    return answers.target_flags_with_aws(replace(context, options=member_options), member.context)


# The answer of a command for a fleet.


_MAX_SHOWN = 3
_FILE_PREFIXES = ("@", "./", "../", "/", "~/")
"""A value with such a prefix cannot be a context."""


def run_fleet(
    choice: FleetChoice,
    flags: MemberFlags,
    context: CommandContext,
    min_severity: Severity | None = None,
) -> CommandAnswer:
    """Check each cluster as the command would check it alone, and return the summary. `min_severity`: findings of lower
    severity do not count.

    Raises:
        EksdocError: the clusters cannot be determined.
        KeyboardInterrupt: the process was told to end, and so were its subprocesses.
    """
    from kubectl_eksdoc.host.processes import told_to_stop
    from kubectl_eksdoc.model.findings import Severity

    from .members import check_fleet
    from .report import FleetReport

    FleetReport.check_format(context.options.output)
    members = _members(choice, context)
    appearance = answers.appearance_for(context, context.stderr)
    count = len(members)
    clusters = "1 cluster" if count == 1 else f"{count} clusters"
    limits_text = f"{min(choice.parallel, count)} at once, {values.format_duration(choice.timeout_s)} for each at most"
    context.note(appearance.transliterate(f"fleet {choice.text} · {clusters} · {flags.command} · {limits_text}"))

    def show_progress(finished: int, names: Sequence[str]) -> None:
        # In one line: a second one would not be rewritten.
        message = f"{finished} of {count} clusters answered; asking {list_names(names, _MAX_SHOWN, appearance)}"
        progress.show(truncate(printable(message, appearance), appearance.width - 1, appearance))

    runner = context.open_members(
        partial(flags.arguments, context), flags.kind, dict(context.environ), choice.timeout_s
    )
    with ProgressLine(context.stderr) as progress, told_to_stop() as stop_requested:
        plan = check_fleet(
            members,
            runner,
            choice.parallel,
            stop_requested,
            show_progress,
            lambda member: identity_of(member, connection_of(context, member)),
            Severity.INFO if min_severity is None else min_severity,
        )
    report = FleetReport(plan, flags.command, options={**flags.options, **choice.options})
    return answers.report_answer(report, context, plan.exit_code)


def _members(choice: FleetChoice, context: CommandContext) -> tuple[FleetMember, ...]:
    from kubectl_eksdoc.host.fleet import fleet_file_path, read_fleet

    from . import clusters as choosing

    path = fleet_file_path(choice.text)
    if path and choice.text.startswith(_FILE_PREFIXES):
        entries = read_fleet(path, choosing.VALUE_HINT)
        if all(isinstance(each, Mapping) for each in entries):  # entries do not depend on the kubeconfig
            return choosing.members_from_entries(entries, (), f"--fleet {path}")
    contexts = kubeconfig_contexts(context.connection)
    if not path:
        return choosing.members_by_name(choice.text, contexts)
    if choice.text in contexts:
        raise UsageError(
            f"--fleet {choice.text} is a context, and a file here as well",
            f"Write @{path} for the file, or {choice.text}, with a comma behind it for the context.",
        )
    return choosing.members_from_entries(read_fleet(path, choosing.VALUE_HINT), contexts, f"--fleet {path}")
