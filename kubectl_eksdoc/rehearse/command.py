"""``kubectl eksdoc rehearse``, also as ``drain rehearse``: rehearse a drain on a simulated cluster, or serve that
cluster."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import answers, streams, values
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.flags import LEVELS
from kubectl_eksdoc.cli.options import LIST_FAULTS, add_command, add_source
from kubectl_eksdoc.cli.parser import Commands, add_flag, add_switch
from kubectl_eksdoc.cli.streams import ProgressLine
from kubectl_eksdoc.drain.command import plan as drain
from kubectl_eksdoc.drain.command.plan import PlanRequest, exit_code, print_notes, stop_times_reader
from kubectl_eksdoc.drain.duration.generations import learned_kubelet_times
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.report.text import Appearance, Column, format_table, wrap
from kubectl_eksdoc.wiring.stages import ServeSettings

if TYPE_CHECKING:
    from kubectl_eksdoc.wiring.stages import RequestedFaults

SPEED = 60.0
"""Default of ``--speed``: virtual seconds per second of a served cluster."""

_DESCRIPTION = """\
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
        f"inject a fault, such as slow=2s@5%%; may be repeated; {LIST_FAULTS}: list all faults",
        _checked_fault,
        action="append",
        default=[],
    )
    add_flag(
        group,
        "--fault-seed",
        "N",
        "random seed; the same seed gives the same faults (default: 0)",
        values.MatchingText("[0-9]{1,9}", "is no seed; write a whole number, 0 or more", int),
        0,
    )


def add_to(commands: Commands, level: int = LEVELS - 1) -> None:
    """Add ``rehearse``; `level` as for the global options."""
    parser = add_command(
        commands,
        "rehearse",
        "rehearse a drain on a simulated cluster, or serve that cluster",
        "[NODE…] [flags]",
        _DESCRIPTION,
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


def run_rehearse(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """The rehearsal in the requested format; with ``--serve`` an empty answer, once serving has ended.

    Raises:
        EksdocError: the command line, the dump or the cluster is at fault; the error says which.
    """
    if wants_list(args):
        appearance = answers.appearance_for(context)
        return CommandAnswer(fault_list(appearance))
    if args.serve:
        return _serve(args, context)
    if args.speed is not None or args.kubeconfig_out is not None:
        serve_flag = "--speed" if args.speed is not None else "--kubeconfig-out"
        raise UsageError(f"{serve_flag} is for --serve: without it virtual time takes no time")
    request = PlanRequest.from_args(args, context)
    faults = faults_from(args)
    from .rehearsal import rehearse
    from .report import RehearsalReport

    options = context.options
    with drain.collecting_notes(request, "rehearse", context) as notes:
        with ProgressLine(context.stderr) as progress:
            simulated = context.open_stage(context.source, context.connection, progress, faults)
        stop_times = stop_times_reader(context, notes.append)
        cluster, rehearsal_record = rehearse(
            simulated, request.targeting, request.policy, options.identity, stop_times=stop_times
        )
    answers.note_cluster(cluster, context)
    print_notes(
        (
            *notes,
            *drain.ineffective_option_notes(rehearsal_record.plan, request.targeting, cluster.identity.server_version),
        ),
        context,
    )
    options_given = request.options | fault_options(faults)
    cluster_flags = answers.target_flags(context, cluster.identity.context)
    report = RehearsalReport(
        rehearsal_record, cluster, options_given, connection_args=cluster_flags, aws=options.profile_flag
    )
    return answers.report_answer(
        report, context, streams.FAILS if rehearsal_record.undone else exit_code(rehearsal_record.plan)
    )


def _serve(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    if args.words:
        raise UsageError(f"--serve serves the whole cluster: it takes no node, as {args.words[0]!r}")
    speed = SPEED if args.speed is None else args.speed
    faults = faults_from(args)

    def announce(path: str, url: str) -> None:
        context.note(f"serving a simulated cluster at {url}, {speed:g} times as fast as time; stop it with Ctrl-C")
        context.note(
            f"in another terminal: kubectl eksdoc --kubeconfig {path}, or kubectl --kubeconfig {path} get nodes"
        )
        context.write_data(f"{path}\n")  # last: a client that waits for this line may interrupt at once

    try:
        with ProgressLine(context.stderr) as progress:
            serving = ServeSettings(
                speed, args.kubeconfig_out or "", announce, context.note, learned_kubelet_times, faults
            )
            context.serve(context.source, context.connection, progress, serving)
    except KeyboardInterrupt:
        pass
    return CommandAnswer("")


def faults_from(args: argparse.Namespace) -> RequestedFaults:
    """
    Raises:
        UsageError: a fault of requests without ``--serve``, or a fault of rehearsals with it.
    """
    from kubectl_eksdoc.embedded.faults import parse_fault
    from kubectl_eksdoc.wiring.stages import RequestedFaults

    for text in args.fault:
        fault_kind = parse_fault(text).fault
        if fault_kind.is_request_fault and not args.serve:
            raise UsageError(f"--fault {text} is met by clients, and only --serve has some")
        if fault_kind.rehearsed_only and args.serve:
            raise UsageError(f"--fault {text} is for rehearsals: in a served cluster no node joins by itself anyway")
    return RequestedFaults(tuple(args.fault), args.fault_seed)


def wants_list(args: argparse.Namespace) -> bool:
    return LIST_FAULTS in args.fault


def fault_list(appearance: Appearance) -> str:
    """Each fault as it is typed, its effect, its default, and what its share is of."""
    from kubectl_eksdoc.embedded.faults import ALL_FAULTS, ONCE_AT_S

    columns = [
        Column("FAULT"),
        Column("DEFAULT", drop_order=1),
        Column("WHAT GOES WRONG", min_width=30, max_lines=4),
        Column("@SHARE OF"),
    ]
    rows = [[each.syntax, each.default_text or "-", each.about, each.of.value] for each in ALL_FAULTS]
    explanation = (
        "NAME@5%: in five of a hundred, by chance; without it in all. What comes in virtual minutes may have its time "
        f"instead, as NAME@90s from the start; without either it comes once, after {ONCE_AT_S:g} s. Faults of requests "
        "need --serve. Of PODS, NAMESPACE/NAME, a * stands for any text."
    )
    return "\n".join([*format_table(columns, rows, appearance), "", *wrap(explanation, appearance.columns)]) + "\n"


def fault_options(faults: RequestedFaults) -> dict[str, object]:
    """By the names of the flags; empty where no fault was given."""
    return {"fault": list(faults.fault_texts), "fault-seed": faults.seed} if faults.fault_texts else {}


def _checked_fault(text: str) -> str:
    from kubectl_eksdoc.embedded.faults import parse_fault

    if text != LIST_FAULTS:
        try:
            parse_fault(text)
        except UsageError as error:
            raise UsageError(f"--fault: {error.message}", error.hint) from error
    return text
