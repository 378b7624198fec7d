"""``kubectl eksdoc drain plan``: flags, reads, and the plan in the requested format."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import opening, options, streams, values
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.declared import add_options, given_of
from kubectl_eksdoc.cli.options import add_command, add_source
from kubectl_eksdoc.cli.parser import Commands, RefusedFlag, add_flag
from kubectl_eksdoc.cli.streams import ProgressLine
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.options import options_of
from kubectl_eksdoc.session.sources import is_snapshot
from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE

from ..policy import (
    AS_IN_KUBECTL,
    AUTO,
    FIRST,
    ONLY_HERE,
    PACE,
    WHAT_IF,
    DrainPolicy,
    Targeting,
)
from .stop_times import stop_times

if TYPE_CHECKING:
    from kubectl_eksdoc.model.baseline import Baseline
    from kubectl_eksdoc.model.cluster import Cluster

    from ..read import Stops
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
    filters = [flag for flag, given in flags.items() if given]
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
    groups = add_options(parser, DrainPolicy, (AS_IN_KUBECTL, ONLY_HERE, *(() if runs else (WHAT_IF,)), PACE, FIRST))
    add_flag(
        groups[AS_IN_KUBECTL],
        "--chunk-size",
        "N",
        "objects per list request",
        values.page_size,
        argparse.SUPPRESS,
    )
    hidden: dict[str, Any] = {"default": argparse.SUPPRESS, "help": argparse.SUPPRESS}

    def refuse(flag: str, why: str, **more: Any) -> None:
        parser.add_argument(flag, action=RefusedFlag, nargs="?", const=why, **more, **hidden)

    if runs:  # a run uses the real cluster
        for each in options_of(DrainPolicy):
            if each.option.group == WHAT_IF:
                refuse(each.option.flag, _WHAT_IS, dest=each.name)
        refuse("--timeout", "guards stop a run: see --stop-pending and --eviction-timeout")
    else:  # they have no effect on a plan
        parser.add_argument("--timeout", type=values.seconds, metavar="TIME", **hidden)
        parser.add_argument("--dry-run", type=values.DRY_RUN, metavar="MODE", **hidden)
    parser.add_argument("--delete-local-data", action="switch", **hidden)
    refuse("--disable-eviction", "it deletes pods past their PodDisruptionBudgets")


_WHAT_IS = "a run goes by the cluster as it is; drain plan and rehearse can suppose something else"

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
    path = path_of(args.order_nodes, _ORDER_FILE)
    if path and args.order not in (None, AUTO):
        raise UsageError(
            f"--order {args.order} and --order-file exclude each other",
            "Give one of them; nodes that the file does not name go after it, by name.",
        )
    found = given_of(DrainPolicy, args)
    if path:
        from kubectl_eksdoc.host.user_files import read_order

        found["order_nodes"] = read_order(path)
    if getattr(args, "delete_local_data", False):
        found["delete_emptydir_data"] = True
    return DrainPolicy(**found)


_ORDER_FILE = "--order-file needs the path of a file with one node a line"
_SINCE = "--since (or --baseline) needs the path of a plan that was saved with -o json"


def path_of(given: str | None, missing: str) -> str:
    """Return a path, "" if it was not given.

    Raises:
        UsageError: an empty path, as of a variable that is not set.
    """
    if given == "":
        raise UsageError(missing)
    return given or ""


def idle(plan: DrainPlan, targeting: Targeting, server: str) -> list[str]:
    """Return notes on options without effect: pins of nodes that the plan does not drain, ``--delete-past-budget`` for
    pods that are evicted without it or are not removed for another reason, and an ``--older-than`` above the control
    plane's version (`server`)."""
    from kubectl_eksdoc.model.quantities import parse

    limit, own = targeting.older_than, parse(server)
    above = limit is not None and own is not None and (own.major, own.minor) < (limit.major, limit.minor)
    every = [f"--older-than {limit} leaves no node out: no kubelet is newer than the control plane ({server})"]
    verdicts = {target.node.name: target.verdict.value for target in plan.targets if not target.order}
    pins = [
        f"--pin {node}={wave} changes nothing: the plan does not drain {node} ({verdicts[node]})"
        for node, wave in plan.policy.pins
        if node in verdicts
    ]
    why = {row.pod.key: f"it does not go: {row.reason}" for row in plan.left}
    for each in plan.evictions:
        turn = "its budget allows its eviction in its turn" if each.budget else "no budget keeps it"
        restarts = each.manner.restarts is not None
        why[each.pod.key] = "a rollout replaces it (--surge-singles)" if restarts else turn
    without = sorted(plan.policy.delete_past_budget - {eviction.pod.key for eviction in plan.past_budgets})
    none = "it is on no target"
    return [*(every if above else []), *pins] + [
        f"--delete-past-budget {pod} changes nothing: {why.get(pod, none)}" for pod in without
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
    def given(self) -> dict[str, object]:
        """The options by the names of flags."""
        from ..report.plan import as_given

        return as_given(self.targeting, self.policy, self.baseline, self.order_file)

    @staticmethod
    def from_args(args: argparse.Namespace, around: CommandContext) -> PlanRequest:
        """Return the request.

        Raises:
            UsageError: no nodes are named or selected, or options contradict each other.
        """
        targeting = targeting_from(args)
        notes = [text for dest, text in _NOTES.items() if hasattr(args, dest)]
        source, usual = around.source, Connection()
        if around.options.namespace:
            notes.append("-n changes nothing: the pods of a node are of all namespaces")
        if replace(around.connection, page_size=usual.page_size) != usual and not source.live:
            flag = "--demo" if source.demo else "--snapshot"
            notes.append(f"flags for reaching a cluster change nothing with {flag}")
        if targeting.empty and source.demo:
            from kubectl_eksdoc.embedded.demo.reader import DEFAULT_NODEGROUP

            targeting = Targeting(nodegroups=(DEFAULT_NODEGROUP,))
            notes.append(f"no node is named, so this plans --nodegroup {DEFAULT_NODEGROUP}, the demo's old node group")
        if targeting.empty:
            raise UsageError(
                "no node is named or selected",
                "Name nodes, or select them: -l SELECTOR, --nodegroup NAME, --older-than v1.33. "
                "To see a plan without a cluster: --demo",
            )
        policy, baseline = policy_from(args), path_of(args.baseline, _SINCE)
        order_file = path_of(args.order_nodes, _ORDER_FILE)
        return PlanRequest(targeting, policy, tuple(notes), baseline, order_file)


def run_plan(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """Return the plan in the requested format.

    Raises:
        EksdocError: the command line, the dump or the cluster is at fault; the error says which.
    """
    request = PlanRequest.from_args(args, around)
    # Imported late: help and usage errors must not load what only a plan needs.
    from ..comparison import compare
    from ..report.formats import DrainReport

    # First: a wrong file is found faster than a cluster is read.
    baseline = _baseline(request, around)
    with noting(request, "drain plan", around) as said:
        cluster, plan = answered(request, around, said.append)
    # The cluster's identity comes first, then all notes on the answer.
    opening.identify(cluster, around)
    options.told(baseline, around)
    tell(
        (
            *said,
            *opening.contradicted(cluster.identity, around),
            *idle(plan, request.targeting, cluster.identity.server_version),
        ),
        around,
    )
    reached_by = opening.words(around, cluster.identity.context)
    comparison = compare(baseline, cluster, plan, request.given) if baseline else None
    if comparison and (doubt := comparison.since.doubt):
        tell((f"it is unknown whether the baseline is of this cluster: {doubt}",), around)
    aws = around.options.with_profile
    report = DrainReport(plan, cluster, request.given, reached_by=reached_by, aws=aws, comparison=comparison)
    return opening.answer(report, around, exit_code(plan))


@contextmanager
def noting(request: PlanRequest, command: str, around: CommandContext) -> Iterator[list[str]]:
    """Collect notes on the answer, to be printed with it; they are printed at once if there is an error."""
    said = list(request.notes)
    with opening.explaining(command):
        try:
            yield said
        except Exception:
            tell(said, around)
            raise


def answered(request: PlanRequest, around: CommandContext, say: Callable[[str], object]) -> tuple[Cluster, DrainPlan]:
    """Do what `drain.read.plan_drain` does, with a progress line on stderr; `say` as for `stop_times`."""
    from ..read import plan_drain

    with ProgressLine(around.stderr) as progress:
        reader, who = around.reader(progress), around.options.identity
        return plan_drain(reader, request.targeting, request.policy, who, stops_of(around, say))


def stops_of(around: CommandContext, say: Callable[[str], object]) -> Stops:
    """Return the reader of stop times, as `stop_times`. Plans of recorded or simulated clusters do not use this
    machine's journals, so they are the same on all machines."""
    if not around.source.live:
        from ..read import no_stops

        return no_stops
    return stop_times(around.connection, JOURNAL_NAMESPACE, around, say)


def _baseline(request: PlanRequest, around: CommandContext) -> Baseline | None:
    """Return the baseline of --since: a saved plan, or the same plan of a snapshot; None without the flag.

    Raises:
        BaselineError: it is neither.
    """
    from kubectl_eksdoc.baseline.side import SnapshotOrigin

    from ..comparison import as_baseline

    def made(around: CommandContext) -> Baseline:
        cluster, plan = answered(request, around, around.note)
        return as_baseline(SnapshotOrigin(request.baseline, __version__, request.given), cluster, plan)

    if not request.baseline:
        return None
    if is_snapshot(request.baseline):
        return options.made_of(request.baseline, "drain plan", made, around)
    return around.read_baseline(request.baseline)


def tell(notes: Sequence[str], around: CommandContext) -> None:
    for note in notes:
        around.note(f"note: {note}")


def exit_code(plan: DrainPlan) -> int:
    """Blockers come first: a known failure matters more than an unknown."""
    if plan.blockers:
        return streams.FAILS
    return streams.UNKNOWN if plan.unknowns else streams.CLEAN
