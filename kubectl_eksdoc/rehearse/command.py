"""``kubectl eksdoc rehearse``, also as ``drain rehearse``: rehearse a drain on a simulated cluster, or serve that
cluster."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import opening, streams, values
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.flags import LEVELS
from kubectl_eksdoc.cli.options import LIST, add_command, add_source
from kubectl_eksdoc.cli.parser import Commands, add_flag, add_switch
from kubectl_eksdoc.cli.streams import ProgressLine
from kubectl_eksdoc.drain.command import plan as drain
from kubectl_eksdoc.drain.command.plan import PlanRequest, exit_code, stops_of, tell
from kubectl_eksdoc.drain.duration.generations import pace_of
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.report.text import Column, Look, plain, wrap
from kubectl_eksdoc.wiring.stages import Serving

if TYPE_CHECKING:
    from kubectl_eksdoc.wiring.stages import Faults

SPEED = 60.0
"""Default of ``--speed``: virtual seconds per second of a served cluster."""

_ABOUT = """\
Rehearse a drain on a simulated copy of a cluster, made from a dump or from the live cluster: the plan runs in virtual
time, with the rules of Kubernetes for evictions, budgets, controllers and the scheduler. Nothing real is changed.
With --serve, serve the simulated cluster instead, for kubectl and for this tool.

Examples:
  %(prog)s --nodegroup blue --snapshot dump.tar.gz
  %(prog)s --nodegroup blue -o wide
  %(prog)s --demo --fault node-not-ready=blue-2@90s --fault slow-pods=2m@10%%
  %(prog)s --serve --snapshot dump.tar.gz --speed 10
"""

_EXIT_CODES = """\
Exit codes: 0 as planned, 1 blockers, or a node was not drained, 5 something is unknown; 2 usage, 3 cluster.
"""


def add_faults(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Fault injection")
    add_flag(
        group,
        "--fault",
        "NAME[=VALUE][@SHARE]",
        f"inject a fault, such as slow=2s@5%%; may be repeated; {LIST}: list all faults",
        _fault,
        action="append",
        default=[],
    )
    add_flag(
        group,
        "--fault-seed",
        "N",
        "random seed; the same seed gives the same faults (default: 0)",
        values.Matching("[0-9]{1,9}", "is no seed; write a whole number, 0 or more", int),
        0,
    )


def add_to(commands: Commands, level: int = LEVELS - 1) -> None:
    """Add ``rehearse``; `level` as for the global options."""
    parser = add_command(
        commands,
        "rehearse",
        "rehearse a drain on a simulated cluster, or serve that cluster",
        "[NODE…] [flags]",
        _ABOUT,
        _EXIT_CODES,
        run_rehearse,
        level=level,
    )
    drain.add_targeting(parser)
    add_source(parser)
    group = parser.add_argument_group("Serve the simulated cluster")
    add_switch(group, "--serve", "serve the simulated cluster until Ctrl-C and print the path of its kubeconfig")
    add_flag(group, "--speed", "N", f"virtual seconds per second while serving (default: {SPEED:g})", values.speed)
    add_flag(group, "--kubeconfig-out", "FILE", "write the kubeconfig to this path")
    add_faults(parser)
    drain.add_policy(parser)
    parser.set_defaults(baseline=None)


def add_at_top(commands: Commands) -> None:
    add_to(commands, level=1)


def run_rehearse(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """The rehearsal in the requested format; with ``--serve`` an empty answer, once serving has ended.

    Raises:
        EksdocError: the command line, the dump or the cluster is at fault; the error says which.
    """
    if wants_list(args):
        look = opening.decide(around)
        return CommandAnswer(listed(look))
    if args.serve:
        return _serve(args, around)
    if args.speed is not None or args.kubeconfig_out is not None:
        flag = "--speed" if args.speed is not None else "--kubeconfig-out"
        raise UsageError(f"{flag} is for --serve: without it virtual time takes no time")
    request = PlanRequest.from_args(args, around)
    faults = faults_from(args)
    from .rehearsal import rehearse
    from .report import RehearsalReport

    options = around.options
    with drain.noting(request, "rehearse", around) as said:
        with ProgressLine(around.stderr) as progress:
            stage = around.open_stage(around.source, around.connection, progress, faults)
        stops = stops_of(around, said.append)
        cluster, rehearsal = rehearse(stage, request.targeting, request.policy, options.identity, stops=stops)
    opening.identify(cluster, around)
    tell((*said, *drain.idle(rehearsal.plan, request.targeting, cluster.identity.server_version)), around)
    asked = request.given | as_given(faults)
    to_cluster = opening.words(around, cluster.identity.context)
    report = RehearsalReport(rehearsal, cluster, asked, to_cluster=to_cluster, aws=options.with_profile)
    return opening.answer(report, around, streams.FAILS if rehearsal.undone else exit_code(rehearsal.plan))


def _serve(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    if args.words:
        raise UsageError(f"--serve serves the whole cluster: it takes no node, as {args.words[0]!r}")
    speed = SPEED if args.speed is None else args.speed
    faults = faults_from(args)

    def ready(path: str, url: str) -> None:
        around.note(f"serving a simulated cluster at {url}, {speed:g} times as fast as time; stop it with Ctrl-C")
        around.note(
            f"in another terminal: kubectl eksdoc --kubeconfig {path}, or kubectl --kubeconfig {path} get nodes"
        )
        around.say(f"{path}\n")  # last: a client that waits for this line may interrupt at once

    try:
        with ProgressLine(around.stderr) as progress:
            how = Serving(speed, args.kubeconfig_out or "", ready, around.note, pace_of, faults)
            around.serve(around.source, around.connection, progress, how)
    except KeyboardInterrupt:
        pass
    return CommandAnswer("")


def faults_from(args: argparse.Namespace) -> Faults:
    """
    Raises:
        UsageError: a fault of requests without ``--serve``, or a fault of rehearsals with it.
    """
    from kubectl_eksdoc.embedded.faults import parse
    from kubectl_eksdoc.wiring.stages import Faults

    for text in args.fault:
        named = parse(text).named
        if named.of_requests and not args.serve:
            raise UsageError(f"--fault {text} is met by clients, and only --serve has some")
        if named.rehearsed_only and args.serve:
            raise UsageError(f"--fault {text} is for rehearsals: in a served cluster no node joins by itself anyway")
    return Faults(tuple(args.fault), args.fault_seed)


def wants_list(args: argparse.Namespace) -> bool:
    return LIST in args.fault


def listed(look: Look) -> str:
    """Each fault as it is typed, its effect, its default, and what its share is of."""
    from kubectl_eksdoc.embedded.faults import ALL, ONCE_AT_S

    columns = [
        Column("FAULT"),
        Column("DEFAULT", drop=1),
        Column("WHAT GOES WRONG", floor=30, lines=4),
        Column("@SHARE OF"),
    ]
    rows = [[each.shown, each.default_shown or "-", each.about, each.of.value] for each in ALL]
    told = (
        "NAME@5%: in five of a hundred, by chance; without it in all. What comes in virtual minutes may have its time "
        f"instead, as NAME@90s from the start; without either it comes once, after {ONCE_AT_S:g} s. Faults of requests "
        "need --serve. Of PODS, NAMESPACE/NAME, a * stands for any text."
    )
    return "\n".join([*plain(columns, rows, look), "", *wrap(told, look.columns)]) + "\n"


def as_given(faults: Faults) -> dict[str, object]:
    """By the names of the flags; empty where no fault was given."""
    return {"fault": list(faults.texts), "fault-seed": faults.seed} if faults.texts else {}


def _fault(text: str) -> str:
    from kubectl_eksdoc.embedded.faults import parse

    if text != LIST:
        try:
            parse(text)
        except UsageError as error:
            raise UsageError(f"--fault: {error.message}", error.hint) from error
    return text
