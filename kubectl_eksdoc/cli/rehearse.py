"""``kubectl eksdoc rehearse``, also as ``drain rehearse``: try a drain on a simulated cluster, or serve one."""

from __future__ import annotations

import argparse

from kubectl_eksdoc.cli import drain, exits, opening, values
from kubectl_eksdoc.cli import options as fault_options
from kubectl_eksdoc.cli.drain import PlanRequest, exit_code, stops_of, tell
from kubectl_eksdoc.cli.flags import LEVELS
from kubectl_eksdoc.cli.options import add_command, add_source
from kubectl_eksdoc.cli.parser import Commands, add_flag, add_switch
from kubectl_eksdoc.cli.streams import ProgressLine
from kubectl_eksdoc.cli.surroundings import CommandAnswer, CommandContext
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.wiring.stages import Serving

SPEED = 60.0
"""Virtual seconds in a second of a served cluster, unless said otherwise."""

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
    fault_options.add_to(parser)
    drain.add_policy(parser)
    parser.set_defaults(baseline=None)


def add_at_top(commands: Commands) -> None:
    add_to(commands, level=1)


def run_rehearse(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """What came of the drain, in the format asked for; with ``--serve`` nothing, once it is over.

    Raises:
        EksdocError: the command line, the dump or the cluster is at fault; the error says which.
    """
    if fault_options.wants_list(args):
        look = opening.decide(around)
        return CommandAnswer(fault_options.listed(look))
    if args.serve:
        return _serve(args, around)
    if args.speed is not None or args.kubeconfig_out is not None:
        flag = "--speed" if args.speed is not None else "--kubeconfig-out"
        raise UsageError(f"{flag} is for --serve: without it virtual time takes no time")
    request = PlanRequest.from_args(args, around)
    faults = fault_options.faults_from(args)
    from kubectl_eksdoc.flows.rehearse import rehearse
    from kubectl_eksdoc.render.rehearsal import RehearsalReport

    options = around.options
    with drain.noting(request, "rehearse", around) as said:
        with ProgressLine(around.stderr) as progress:
            stage = around.open_stage(around.source, around.connection, progress, faults)
        stops = stops_of(around, said.append)
        cluster, rehearsal = rehearse(stage, request.targeting, request.policy, options.identity, stops=stops)
    opening.identify(cluster, around)
    tell((*said, *drain.idle(rehearsal.plan, request.targeting, cluster.identity.server_version)), around)
    asked = request.given | fault_options.as_given(faults)
    to_cluster = opening.words(around, cluster.identity.context)
    report = RehearsalReport(rehearsal, cluster, asked, to_cluster=to_cluster, aws=options.with_profile)
    return opening.answer(report, around, exits.FAILS if rehearsal.undone else exit_code(rehearsal.plan))


def _serve(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    if args.words:
        raise UsageError(f"--serve serves the whole cluster: it takes no node, as {args.words[0]!r}")
    speed = SPEED if args.speed is None else args.speed
    faults = fault_options.faults_from(args)

    def ready(path: str, url: str) -> None:
        around.note(f"serving a simulated cluster at {url}, {speed:g} times as fast as time; stop it with Ctrl-C")
        around.note(
            f"in another terminal: kubectl eksdoc --kubeconfig {path}, or kubectl --kubeconfig {path} get nodes"
        )
        around.say(f"{path}\n")  # last: who waits for it may interrupt at once

    try:
        with ProgressLine(around.stderr) as progress:
            how = Serving(speed, args.kubeconfig_out or "", ready, around.note, faults)
            around.serve(around.source, around.connection, progress, how)
    except KeyboardInterrupt:
        pass
    return CommandAnswer("")
