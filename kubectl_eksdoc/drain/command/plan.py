"""``kubectl eksdoc drain plan``: flags, reads, and the plan in the requested format."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import answers, options, streams, values
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.declared_options import add_options, given_options
from kubectl_eksdoc.cli.options import add_command, add_source
from kubectl_eksdoc.cli.parser import Commands, RefusedFlag, add_flag
from kubectl_eksdoc.cli.streams import ProgressLine
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.options import declared_options
from kubectl_eksdoc.session.sources import is_snapshot
from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE

from ..policy import (
    AUTO_ORDER,
    KUBECTL_GROUP,
    ORDER_GROUP,
    OWN_GROUP,
    PACE_GROUP,
    WHAT_IF_GROUP,
    DrainPolicy,
    Targeting,
)
from .stop_times import stop_times

if TYPE_CHECKING:
    from kubectl_eksdoc.model.baseline import Baseline
    from kubectl_eksdoc.model.cluster import Cluster

    from ..read import StopTimeSource
    from ..result import DrainPlan


# Options of ``drain plan``: which nodes, and what may be done to their pods.
#
# kubectl drain's own flags keep their meaning. Two defaults differ, and help says so: DaemonSet pods are ignored
# without a flag, and no pod is ever deleted past its budget.


def targeting_from(args: argparse.Namespace) -> Targeting:
    """Return the selected nodes: by name (positional arguments), or by filters.

    Raises:
        UsageError: a word is not a node's name, or names and filters are mixed.
    """
    flags = {"--selector": args.selector, "--nodegroup": args.nodegroup, "--older-than": args.older_than}
    filters = [flag for flag, value in flags.items() if value]
    if args.words and filters:
        raise UsageError(
            f"node names and {filters[0]} exclude each other",
            "Name the nodes, or select them; kubectl drain does the same.",
        )
    flag = next((name for name in args.words if name.startswith("-") and name != "-"), "")
    if flag:
        raise UsageError(f"words behind -- are names of nodes, and {flag!r} is none", "Flags stand before --.")
    try:
        nodes = tuple(dict.fromkeys(values.node_name(name) for name in args.words))
    except argparse.ArgumentTypeError as error:
        raise UsageError(str(error)) from error
    return Targeting(nodes, args.selector, tuple(dict.fromkeys(args.nodegroup)), args.older_than)


def add_targeting(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Nodes (by name, or all that pass every filter)")
    add_flag(group, "-l --selector", "SELECTOR", "nodes whose labels match", values.selector)
    add_flag(
        group,
        "--nodegroup",
        "NAME",
        "nodes of a managed or eksctl node group or a Karpenter NodePool; may be repeated",
        action="append",
        default=[],
    )
    add_flag(
        group, "--older-than", "VERSION", "nodes with a kubelet older than this version, such as v1.33", values.version
    )


def add_policy(parser: argparse.ArgumentParser, *, runs: bool = False) -> None:
    """`runs`: for a command that drains: flags for assumptions, which only a plan can make, are refused."""
    groups = add_options(
        parser, DrainPolicy, (KUBECTL_GROUP, OWN_GROUP, *(() if runs else (WHAT_IF_GROUP,)), PACE_GROUP, ORDER_GROUP)
    )
    add_flag(
        groups[KUBECTL_GROUP],
        "--chunk-size",
        "N",
        "objects per list request",
        values.page_size,
        argparse.SUPPRESS,
    )
    hidden: dict[str, Any] = {"default": argparse.SUPPRESS, "help": argparse.SUPPRESS}

    def refuse(flag: str, reason: str, **arguments: Any) -> None:
        parser.add_argument(flag, action=RefusedFlag, nargs="?", const=reason, **arguments, **hidden)

    if runs:  # a run uses the real cluster
        for each in declared_options(DrainPolicy):
            if each.option.group == WHAT_IF_GROUP:
                refuse(each.option.flag, _NO_ASSUMPTIONS, dest=each.name)
        refuse("--timeout", "guards stop a run: see --stop-pending and --eviction-timeout")
    else:  # they have no effect on a plan
        parser.add_argument("--timeout", type=values.seconds, metavar="TIME", **hidden)
        parser.add_argument("--dry-run", type=values.DRY_RUN, metavar="MODE", **hidden)
    parser.add_argument("--delete-local-data", action="switch", **hidden)
    refuse("--disable-eviction", "it deletes pods past their PodDisruptionBudgets")


_NO_ASSUMPTIONS = "a run goes by the cluster as it is; drain plan and rehearse can suppose something else"

_NOTES = {
    "delete_local_data": "--delete-local-data is the old name of --delete-emptydir-data and is taken as that",
    "timeout": "--timeout changes nothing: a plan waits for no pod",
    "dry_run": "--dry-run changes nothing: a plan never changes the cluster",
}
"""Notes on flags of kubectl drain that have no effect."""


def policy_from(args: argparse.Namespace) -> DrainPolicy:
    """Return the policy.

    Raises:
        UsageError: ``--grace-period=0``, a negative time to skip, orders that exclude each other, an order file that
            cannot be read, a flag that contradicts itself.
    """
    if args.grace_seconds == 0:
        raise UsageError(
            "--grace-period=0 is not supported: it kills containers at once, without SIGTERM and preStop",
            "Give at least 1 second, or -1 for each pod's own time.",
        )
    if (args.skip_deleting_after or 0) < 0:
        raise UsageError("--skip-wait-for-delete-timeout must not be negative", "0 means: always wait.")
    path = required_path(args.order_nodes, _ORDER_FILE)
    if path and args.order not in (None, AUTO_ORDER):
        raise UsageError(
            f"--order {args.order} and --order-file exclude each other",
            "Give one of them; nodes that the file does not name go after it, by name.",
        )
    options = given_options(DrainPolicy, args)
    if path:
        from kubectl_eksdoc.host.user_files import read_order

        options["order_nodes"] = read_order(path)
    if getattr(args, "delete_local_data", False):
        options["delete_emptydir_data"] = True
    return DrainPolicy(**options)


_ORDER_FILE = "--order-file needs the path of a file with one node a line"
_SINCE = "--since (or --baseline) needs the path of a plan that was saved with -o json"


def required_path(path: str | None, missing: str) -> str:
    """Return a path, "" if it was not given.

    Raises:
        UsageError: an empty path, as of a variable that is not set.
    """
    if path == "":
        raise UsageError(missing)
    return path or ""


def ineffective_option_notes(plan: DrainPlan, targeting: Targeting, server: str) -> list[str]:
    """Return notes on options without effect: pins of nodes that the plan does not drain, ``--delete-past-budget`` for
    pods that are evicted without it or are not removed for another reason, and an ``--older-than`` above the control
    plane's version (`server`)."""
    from kubectl_eksdoc.model.quantities import parse_version

    limit, server_version = targeting.older_than, parse_version(server)
    is_above_server = (
        limit is not None
        and server_version is not None
        and (server_version.major, server_version.minor) < (limit.major, limit.minor)
    )
    older_than_note = [
        f"--older-than {limit} leaves no node out: no kubelet is newer than the control plane ({server})"
    ]
    verdicts = {target.node.name: target.verdict.value for target in plan.targets if not target.order}
    pins = [
        f"--pin {node}={wave} changes nothing: the plan does not drain {node} ({verdicts[node]})"
        for node, wave in plan.policy.pins
        if node in verdicts
    ]
    reasons = {row.pod.key: f"it does not go: {row.reason}" for row in plan.left}
    for planned_eviction in plan.evictions:
        budget_reason = (
            "its budget allows its eviction in its turn" if planned_eviction.budget else "no budget keeps it"
        )
        restarts = planned_eviction.eviction_mode.restarts is not None
        reasons[planned_eviction.pod.key] = "a rollout replaces it (--surge-singles)" if restarts else budget_reason
    without = sorted(plan.policy.delete_past_budget - {eviction.pod.key for eviction in plan.past_budgets})
    no_target = "it is on no target"
    return [*(older_than_note if is_above_server else []), *pins] + [
        f"--delete-past-budget {pod} changes nothing: {reasons.get(pod, no_target)}" for pod in without
    ]


_PLAN = """\
Plan a drain: which nodes can be drained, in which order, how long it takes, what blocks it and how to fix that.
Reads the cluster and changes nothing.

Examples:
  %(prog)s old-1 old-2
  %(prog)s --nodegroup blue --delete-emptydir-data
  %(prog)s --older-than v1.33 -o wide
  %(prog)s -l eks.amazonaws.com/nodegroup=blue --snapshot dump.tar.gz -o json
  %(prog)s --nodegroup blue --since yesterday.json
  %(prog)s --demo
"""

_EXIT_CODES = """\
Exit codes: 0 nothing blocks, 1 blockers, 5 nothing blocks but something is unknown; 2 usage, 3 cluster.
"""


def add_plan(commands: Commands) -> None:
    plan = add_command(
        commands, "plan", "plan a drain: order, duration and blockers", "[NODE…] [flags]", _PLAN, _EXIT_CODES, run_plan
    )
    add_targeting(plan)
    add_source(plan)
    add_policy(plan)
    add_flag(
        plan.add_argument_group("Compare with a previous plan"),
        "--since --baseline",
        "FILE",
        "compare with a plan saved with -o json > FILE, or with the same plan of a snapshot or dump, "
        "and show what is new and what is fixed",
        dest="baseline",
    )


@frozen
class PlanRequest:
    """A request for a plan; `notes` say which flags have no effect; `baseline` and `order_file` are paths or ""."""

    targeting: Targeting
    policy: DrainPolicy
    notes: tuple[str, ...] = ()
    baseline: str = ""
    order_file: str = ""

    @property
    def options(self) -> dict[str, object]:
        """The options by the names of flags."""
        from ..report.plan import given_options

        return given_options(self.targeting, self.policy, self.baseline, self.order_file)

    @staticmethod
    def from_args(args: argparse.Namespace, context: CommandContext) -> PlanRequest:
        """Return the request.

        Raises:
            UsageError: no nodes are named or selected, or options contradict each other.
        """
        targeting = targeting_from(args)
        notes = [text for dest, text in _NOTES.items() if hasattr(args, dest)]
        source, default_connection = context.source, Connection()
        if context.options.namespace:
            notes.append("-n changes nothing: the pods of a node are of all namespaces")
        if (
            replace(context.connection, page_size=default_connection.page_size) != default_connection
            and not source.live
        ):
            flag = "--demo" if source.demo else "--snapshot"
            notes.append(f"flags for reaching a cluster change nothing with {flag}")
        if targeting.is_empty and source.demo:
            from kubectl_eksdoc.embedded.demo.reader import DEFAULT_NODEGROUP

            targeting = Targeting(nodegroups=(DEFAULT_NODEGROUP,))
            notes.append(f"no node is named, so this plans --nodegroup {DEFAULT_NODEGROUP}, the demo's old node group")
        if targeting.is_empty:
            raise UsageError(
                "no node is named or selected",
                "Name nodes, or select them: -l SELECTOR, --nodegroup NAME, --older-than v1.33. "
                "To see a plan without a cluster: --demo",
            )
        policy, baseline = policy_from(args), required_path(args.baseline, _SINCE)
        order_file = required_path(args.order_nodes, _ORDER_FILE)
        return PlanRequest(targeting, policy, tuple(notes), baseline, order_file)


def run_plan(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Return the plan in the requested format.

    Raises:
        EksdocError: the command line, the dump or the cluster is at fault; the error says which.
    """
    request = PlanRequest.from_args(args, context)
    # Imported late: help and usage errors must not load what only a plan needs.
    from ..comparison import compare_plans
    from ..report.formats import DrainReport

    # First: a wrong file is found faster than a cluster is read.
    baseline = _read_baseline(request, context)
    with collecting_notes(request, "drain plan", context) as notes:
        cluster, plan = plan_with_progress(request, context, notes.append)
    # The cluster's identity comes first, then all notes on the answer.
    answers.note_cluster(cluster, context)
    options.note_comparison(baseline, context)
    print_notes(
        (
            *notes,
            *answers.unused_flag_notes(cluster.identity, context),
            *ineffective_option_notes(plan, request.targeting, cluster.identity.server_version),
        ),
        context,
    )
    target_arguments = answers.target_flags(context, cluster.identity.context)
    comparison = compare_plans(baseline, cluster, plan, request.options) if baseline else None
    if comparison and (doubt := comparison.since.cluster_doubt):
        print_notes((f"it is unknown whether the baseline is of this cluster: {doubt}",), context)
    aws = context.options.profile_flag
    report = DrainReport(
        plan, cluster, request.options, connection_args=target_arguments, aws=aws, comparison=comparison
    )
    return answers.report_answer(report, context, exit_code(plan))


@contextmanager
def collecting_notes(request: PlanRequest, command: str, context: CommandContext) -> Iterator[list[str]]:
    """Collect notes on the answer, to be printed with it; they are printed at once if there is an error."""
    notes = list(request.notes)
    with answers.explain_forbidden(command):
        try:
            yield notes
        except Exception:
            print_notes(notes, context)
            raise


def plan_with_progress(
    request: PlanRequest, context: CommandContext, say: Callable[[str], object]
) -> tuple[Cluster, DrainPlan]:
    """Do what `drain.read.plan_drain` does, with a progress line on stderr; `say` as for `stop_times`."""
    from ..read import plan_drain

    with ProgressLine(context.stderr) as progress:
        reader, identity = context.reader(progress), context.options.identity
        return plan_drain(reader, request.targeting, request.policy, identity, stop_times_reader(context, say))


def stop_times_reader(context: CommandContext, say: Callable[[str], object]) -> StopTimeSource:
    """Return the reader of stop times, as `stop_times`. Plans of recorded or simulated clusters do not use this
    machine's journals, so they are the same on all machines."""
    if not context.source.live:
        from ..read import no_stop_times

        return no_stop_times
    return stop_times(context.connection, JOURNAL_NAMESPACE, context, say)


def _read_baseline(request: PlanRequest, context: CommandContext) -> Baseline | None:
    """Return the baseline of --since: a saved plan, or the same plan of a snapshot; None without the flag.

    Raises:
        BaselineError: it is neither.
    """
    from kubectl_eksdoc.baseline.side import SnapshotOrigin

    from ..comparison import as_baseline

    def made(snapshot_context: CommandContext) -> Baseline:
        cluster, plan = plan_with_progress(request, snapshot_context, snapshot_context.note)
        return as_baseline(SnapshotOrigin(request.baseline, __version__, request.options), cluster, plan)

    if not request.baseline:
        return None
    if is_snapshot(request.baseline):
        return options.result_of_snapshot(request.baseline, "drain plan", made, context)
    return context.read_baseline(request.baseline)


def print_notes(notes: Sequence[str], context: CommandContext) -> None:
    for note in notes:
        context.note(f"note: {note}")


def exit_code(plan: DrainPlan) -> int:
    """Blockers come first: a known failure matters more than an unknown."""
    if plan.blockers:
        return streams.FAILS
    return streams.UNKNOWN if plan.unknowns else streams.CLEAN
