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

from kubectl_eksdoc.cli import opening, values
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.parser import add_flag, flag_of
from kubectl_eksdoc.cli.streams import ProgressLine
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.report.text import cut, listing, shown
from kubectl_eksdoc.session.sources import SourceChoice

if TYPE_CHECKING:  # help must not load facts
    from kubectl_eksdoc.model.cluster import Identity, Member
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.model.findings import Severity

    from .members import Members


# Contexts of the kubeconfig, entries of a file, and the processes that check the clusters.


def kubeconfig_contexts(connection: Connection) -> tuple[str, ...]:
    """Return the contexts of the kubeconfig, sorted. A context without a name is skipped: it would mean the current
    one.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube import kubeconfig
    from kubectl_eksdoc.kube.target import of_this_process

    return tuple(sorted(filter(None, kubeconfig.load(connection.kubeconfig, of_this_process()).contexts)))


def whose(member: Member, connection: Connection) -> Identity:
    """Return the identity from the kubeconfig; no request is sent, and no credential plugin runs."""
    from kubectl_eksdoc.errors import ConfigError
    from kubectl_eksdoc.kube.identity import identify
    from kubectl_eksdoc.kube.kubeconfig import choose
    from kubectl_eksdoc.kube.target import of_this_process
    from kubectl_eksdoc.model.cluster import Identity

    around = of_this_process()
    found = Identity(member.context)
    if not member.snapshot:
        with suppress(ConfigError):  # its own process reports that
            found = identify(choose(connection, around), around.environ).identity
    return found.called(member.cluster, member.region)


def open_members(
    words: Callable[[Member], Sequence[str]], kind: str, environ: Mapping[str, str], timeout_s: float
) -> Members:
    """`arguments`: the command line for one cluster, without the program; `kind`: of the document it prints."""
    from kubectl_eksdoc.host.fleet import MemberProcess, MemberProcesses, environment_of, own_program

    def environment(member: Member) -> dict[str, str]:
        return environment_of(member, environ, _source(member.profile))

    return MemberProcesses(MemberProcess(words, kind, environment, timeout_s, own_program()))


def _source(profile: str) -> str:
    if not profile:
        return ""
    from kubectl_eksdoc.aws.sessions import source_of

    return source_of(profile)


# Flags of a fleet, and flags that conflict with them.


AT_ONCE = 8
MOST_AT_ONCE = 64
TIMEOUT_S = 180.0

_OF_ONE = (
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
    at_once: int = AT_ONCE
    timeout_s: float = TIMEOUT_S

    @property
    def given(self) -> dict[str, object]:
        """The options by the names of flags."""
        more = {"parallel": self.at_once} if self.at_once != AT_ONCE else {}
        late = {"fleet-timeout": values.duration_text(self.timeout_s)} if self.timeout_s != TIMEOUT_S else {}
        return {"fleet": self.text, **more, **late}


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
    add_flag(group, "--parallel", "N", f"clusters to check in parallel; default: {AT_ONCE}", _at_once)
    add_flag(
        group,
        "--fleet-timeout",
        "TIME",
        f"timeout for one cluster; default: {values.duration_text(TIMEOUT_S)}",
        values.some_seconds,
    )


def _at_once(text: str) -> int:
    found = values.count(text)
    if not 1 <= found <= MOST_AT_ONCE:
        raise argparse.ArgumentTypeError(f"{text} is no number of clusters from 1 to {MOST_AT_ONCE}")
    return found


def fleet_from(args: argparse.Namespace, around: CommandContext, beside: Iterable[str]) -> FleetChoice | None:
    """Return the choice; None: one cluster is checked. `single_cluster_flags`: the command's flags that apply to one
    cluster only, by their names in the arguments.

    Raises:
        UsageError: flags conflict.
    """
    if args.fleet is None:
        for dest in ("parallel", "fleet_timeout"):
            if getattr(args, dest) is not None:
                raise UsageError(
                    f"{flag_of(dest)} is of --fleet, and no fleet is named", "Add --fleet: which clusters."
                )
        return None
    if not around.source.live:
        flag = "--demo" if around.source.demo else "--snapshot"
        raise UsageError(
            f"{flag} is one cluster, and --fleet names many",
            "A file for --fleet may name snapshots: entries with name and snapshot.",
        )
    of_one = [name for name in _OF_ONE if getattr(around.connection, name)]
    of_one += ["cluster_name"] if around.options.cluster_name else []
    if of_one:
        raise UsageError(
            f"{flag_of(of_one[0])} is of one cluster, and --fleet names many",
            "Leave it out; a file for --fleet may say more of each cluster.",
        )
    for dest in beside:
        if getattr(args, dest) != args.leaf.get_default(dest):
            raise UsageError(
                f"{flag_of(dest)} is for one cluster at a time, and --fleet names many", "Give --context instead."
            )
    return FleetChoice(args.fleet, args.parallel or AT_ONCE, args.fleet_timeout or TIMEOUT_S)


# Command line for each cluster of a fleet.


@frozen
class MemberFlags:
    """`options`: options of the command, by the names of flags. `positional`: those that are positional arguments;
    `comma_separated`: flags that take several values separated by commas."""

    command: str
    kind: str
    given: Mapping[str, object]
    named: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()

    def words(self, around: CommandContext, member: Member) -> tuple[str, ...]:
        """Return the command line for `member`. Its own values come before the global flags."""
        return (self.command, *self._given(), *_reach(around, member), "-o", "json")

    def _given(self) -> Iterator[str]:
        for name, value in self.given.items():
            if name in self.named:
                yield str(value)
            elif value is True:
                yield f"--{name}"
            elif isinstance(value, (list, tuple)) and name in self.joined:
                yield f"--{name}={','.join(map(str, value))}"
            else:
                several = value if isinstance(value, (list, tuple)) else (value,)
                yield from (f"--{name}={each}" for each in several)


def connection_of(around: CommandContext, member: Member) -> Connection:
    """Return the connection of one cluster."""
    usual = around.connection
    return replace(usual, context=member.context, kubeconfig=member.kubeconfig or usual.kubeconfig)


def _reach(around: CommandContext, member: Member) -> tuple[str, ...]:
    options = around.options
    if member.snapshot:
        return opening.words(replace(around, source=SourceChoice(snapshot=member.snapshot)), "")
    own = replace(
        options,
        connection=connection_of(around, member),
        cluster_name=member.cluster,
        region=member.region or options.region,
        profile=member.profile or options.profile,
    )
    return opening.with_aws(replace(around, options=own), member.context)


# The answer of a command for a fleet.


_SHOWN = 3
_OF_FILES = ("@", "./", "../", "/", "~/")
"""A value with such a prefix cannot be a context."""


def over_fleet(
    choice: FleetChoice,
    passed: MemberFlags,
    around: CommandContext,
    least: Severity | None = None,
) -> CommandAnswer:
    """Check each cluster as the command would check it alone, and return the summary. `min_severity`: findings of lower
    severity do not count.

    Raises:
        EksdocError: the clusters cannot be determined.
        KeyboardInterrupt: the process was told to end, and so were its subprocesses.
    """
    from kubectl_eksdoc.host.processes import told_to_stop
    from kubectl_eksdoc.model.findings import Severity

    from .members import ask_fleet
    from .report import FleetReport

    FleetReport.check(around.options.output)
    members = _members(choice, around)
    aside = opening.decide(around, around.stderr)
    count = len(members)
    clusters = "1 cluster" if count == 1 else f"{count} clusters"
    pace = f"{min(choice.at_once, count)} at once, {values.duration_text(choice.timeout_s)} for each at most"
    around.note(aside.signs(f"fleet {choice.text} · {clusters} · {passed.command} · {pace}"))

    def far(done: int, names: Sequence[str]) -> None:
        # In one line: a second one would not be rewritten.
        said = f"{done} of {count} clusters answered; asking {listing(names, _SHOWN, aside)}"
        progress.show(cut(shown(said, aside), aside.width - 1, aside))

    asking = around.open_members(partial(passed.words, around), passed.kind, dict(around.environ), choice.timeout_s)
    with ProgressLine(around.stderr) as progress, told_to_stop() as told:
        plan = ask_fleet(
            members,
            asking,
            choice.at_once,
            told,
            far,
            lambda member: whose(member, connection_of(around, member)),
            Severity.INFO if least is None else least,
        )
    report = FleetReport(plan, passed.command, options={**passed.given, **choice.given})
    return opening.answer(report, around, plan.exit_code)


def _members(choice: FleetChoice, around: CommandContext) -> tuple[Member, ...]:
    from kubectl_eksdoc.host.fleet import named_file, read_fleet

    from . import clusters as choosing

    path = named_file(choice.text)
    if path and choice.text.startswith(_OF_FILES):
        found = read_fleet(path, choosing.WANTED)
        if all(isinstance(each, Mapping) for each in found):  # entries do not depend on the kubeconfig
            return choosing.listed(found, (), f"--fleet {path}")
    contexts = kubeconfig_contexts(around.connection)
    if not path:
        return choosing.named(choice.text, contexts)
    if choice.text in contexts:
        raise UsageError(
            f"--fleet {choice.text} is a context, and a file here as well",
            f"Write @{path} for the file, or {choice.text}, with a comma behind it for the context.",
        )
    return choosing.listed(read_fleet(path, choosing.WANTED), contexts, f"--fleet {path}")
