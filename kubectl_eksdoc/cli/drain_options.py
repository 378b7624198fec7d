"""The options of ``drain plan``: which nodes, and what may be done to their pods.

kubectl drain's own flags keep their meaning. Two defaults differ, and help says so: DaemonSets' pods are
left alone without being asked, and nothing is ever deleted past its budget.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.cli import values
from kubectl_eksdoc.cli.declared import add_options, given_of
from kubectl_eksdoc.cli.parser import Refusal
from kubectl_eksdoc.core.model.options import options_of
from kubectl_eksdoc.core.plan.drain.policy import (
    AS_IN_KUBECTL,
    AUTO,
    FIRST,
    ONLY_HERE,
    PACE,
    WHAT_IF,
    DrainPolicy,
    Targeting,
)
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.host.order_file import read_order

if TYPE_CHECKING:  # help must not pay for plans
    from kubectl_eksdoc.core.plan.drain.outcome import Eviction
    from kubectl_eksdoc.core.plan.drain.result import DrainPlan

_EVERYTHING_AT_ONCE = 2**31 - 1


def targeting_from(args: argparse.Namespace, names: Sequence[str]) -> Targeting:
    """The nodes meant; `names` are the words of the command line that belong to no flag.

    Raises:
        UsageError: a word is not a node's name, or names and filters are mixed.
    """
    filters = [flag for flag, given in _filters(args) if given]
    if names and filters:
        raise UsageError(
            f"node names and {filters[0]} exclude each other",
            "Name the nodes, or select them; kubectl drain does the same.",
        )
    flag = next((name for name in names if name.startswith("-") and name != "-"), "")
    if flag:
        raise UsageError(f"words behind -- are names of nodes, and {flag!r} is none", "Flags stand before --.")
    try:
        nodes = tuple(dict.fromkeys(values.node_name(name) for name in names))
    except argparse.ArgumentTypeError as error:
        raise UsageError(str(error)) from error
    return Targeting(nodes, args.selector, tuple(dict.fromkeys(args.nodegroup)), args.older_than)


def _filters(args: argparse.Namespace) -> list[tuple[str, object]]:
    return [("--selector", args.selector), ("--nodegroup", args.nodegroup), ("--older-than", args.older_than)]


def add_targeting(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Nodes (by name, or all that pass every filter)")
    group.add_argument("-l", "--selector", type=values.selector, metavar="SELECTOR", help="those whose labels match")
    group.add_argument(
        "--nodegroup",
        action="append",
        default=[],
        metavar="NAME",
        help="those of a managed or eksctl node group or Karpenter NodePool; may be repeated",
    )
    group.add_argument(
        "--older-than", type=values.version, metavar="VERSION", help="those with an older kubelet: v1.33"
    )


def add_policy(parser: argparse.ArgumentParser, *, runs: bool = False) -> None:
    """`runs`: for a command that does it: what only a plan can suppose is refused there."""
    groups = add_options(parser, DrainPolicy, (AS_IN_KUBECTL, ONLY_HERE, *(() if runs else (WHAT_IF,)), PACE, FIRST))
    groups[AS_IN_KUBECTL].add_argument(
        "--chunk-size", type=values.page_size, default=argparse.SUPPRESS, metavar="N", help="objects in one answer"
    )
    if runs:
        _refuse_what_if(parser)
    else:
        _add_idle(parser)
    _add_explained(parser)


def _refuse_what_if(parser: argparse.ArgumentParser) -> None:
    """A run goes by what is."""
    hidden: dict[str, Any] = {"default": argparse.SUPPRESS, "help": argparse.SUPPRESS}
    why = "a run goes by the cluster as it is; drain plan and rehearse can suppose something else"
    for each in options_of(DrainPolicy):
        if each.option.group == WHAT_IF:
            parser.add_argument(each.option.flag, action=Refusal, nargs="?", const=why, dest=each.name, **hidden)
    why = "guards stop a run: see --stop-pending and --give-up"
    parser.add_argument("--timeout", action=Refusal, nargs="?", const=why, **hidden)


def _add_idle(parser: argparse.ArgumentParser) -> None:
    """kubectl drain's flags that change nothing for a plan."""
    hidden: dict[str, Any] = {"default": argparse.SUPPRESS, "help": argparse.SUPPRESS}
    parser.add_argument("--timeout", type=values.seconds, metavar="TIME", **hidden)
    parser.add_argument("--dry-run", type=values.DRY_RUN, metavar="MODE", **hidden)


def _add_explained(parser: argparse.ArgumentParser) -> None:
    """kubectl drain's flags that have another name, or must not be followed."""
    hidden: dict[str, Any] = {"default": argparse.SUPPRESS, "help": argparse.SUPPRESS}
    parser.add_argument("--delete-local-data", action="switch", **hidden)
    parser.add_argument(
        "--disable-eviction",
        action=Refusal,
        nargs="?",
        const="it deletes pods past their PodDisruptionBudgets",
        **hidden,
    )


def notes_on(args: argparse.Namespace) -> tuple[str, ...]:
    """What to say about flags of kubectl drain that were given and change nothing."""
    notes = {
        "delete_local_data": "--delete-local-data is the old name of --delete-emptydir-data and is taken as that",
        "timeout": "--timeout changes nothing: a plan waits for no pod",
        "dry_run": "--dry-run changes nothing: a plan never changes the cluster",
    }
    return tuple(text for dest, text in notes.items() if hasattr(args, dest))


def policy_from(args: argparse.Namespace) -> DrainPolicy:
    """
    Raises:
        UsageError: ``--grace-period=0``, a negative time to skip, orders that exclude each other,
            a file of an order that cannot be read, a flag that contradicts itself.
    """
    if args.grace_seconds == 0:
        raise UsageError(
            "--grace-period=0 is not supported: it kills containers at once, without SIGTERM and preStop",
            "Give at least 1 second, or -1 for each pod's own time.",
        )
    if (args.skip_deleting_after or 0) < 0:
        raise UsageError("--skip-wait-for-delete-timeout must not be negative", "0 means: always wait.")
    path = order_file_from(args)
    if path and args.order not in (None, AUTO):
        raise UsageError(
            f"--order {args.order} and --order-file exclude each other",
            "Give one of them; nodes that the file does not name go after it, by name.",
        )
    found = given_of(DrainPolicy, args)
    if path:
        found["order_nodes"] = read_order(path)
    if getattr(args, "delete_local_data", False):
        found["delete_emptydir_data"] = True
    return DrainPolicy(**found)


def order_file_from(args: argparse.Namespace) -> str:
    """The path of ``--order-file``, "" where it was not given.

    Raises:
        UsageError: an empty path, as of a variable that is not set.
    """
    if args.order_nodes == "":
        raise UsageError("--order-file needs the path of a file with one node a line")
    return args.order_nodes or ""


def page_size_from(args: argparse.Namespace) -> int | None:
    """``--chunk-size``: None where it was not given, and a limit nobody reaches for kubectl's 0."""
    size: int | None = getattr(args, "chunk_size", None)
    return _EVERYTHING_AT_ONCE if size == 0 else size


def add_comparison(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Beside another plan")
    group.add_argument(
        "--since",
        "--baseline",
        dest="baseline",
        metavar="FILE",
        default=None,
        help="say what differs from a plan that was saved with -o json > FILE, or from the same plan of a snapshot or "
        "a dump, and what of it is new and what is fixed",
    )


def baseline_from(args: argparse.Namespace) -> str:
    """The path of ``--since``, or ``--baseline``, "" where it was not given.

    Raises:
        UsageError: an empty path, as of a variable that is not set.
    """
    if args.baseline == "":
        raise UsageError("--since (or --baseline) needs the path of a plan that was saved with -o json")
    return args.baseline or ""


def idle(plan: DrainPlan) -> list[str]:
    """Notes on what was asked for by name and changes nothing."""
    return [*_idle_pins(plan), *_idle_deletions(plan)]


def _idle_pins(plan: DrainPlan) -> list[str]:
    """Of pins whose node the plan does not drain."""
    verdicts = {target.node.name: target.verdict.value for target in plan.targets if not target.order}
    return [
        f"--pin {node}={wave} changes nothing: the plan does not drain {node} ({verdicts[node]})"
        for node, wave in plan.policy.pins
        if node in verdicts
    ]


def _idle_deletions(plan: DrainPlan) -> list[str]:
    """Of ``--delete-past-budget``: pods that go without it, or do not go for another reason."""
    deleted = {eviction.pod.key for eviction in plan.past_budgets}
    goes = {eviction.pod.key: _in_its_turn(eviction) for eviction in plan.evictions}
    left = {row.pod.key: f"it does not go: {row.reason}" for row in plan.left}
    return [
        f"--delete-past-budget {pod} changes nothing: {goes.get(pod) or left.get(pod) or 'it is on no target'}"
        for pod in sorted(plan.policy.delete_past_budget - deleted)
    ]


def _in_its_turn(eviction: Eviction) -> str:
    if eviction.manner.restarts is not None:
        return "a rollout replaces it (--surge-singles)"
    return "its budget lets it go in its turn" if eviction.budget else "no budget keeps it"
