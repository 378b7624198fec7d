"""The options of ``drain plan``: which nodes, and what may be done to their pods.

kubectl drain's own flags keep their meaning. Two defaults differ, and help says so: DaemonSets' pods are
left alone without being asked, and nothing is ever deleted past its budget.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.cli import pace_options, values
from kubectl_eksdoc.cli.parser import Refusal
from kubectl_eksdoc.core.plan.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.errors import UsageError

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
    group = parser.add_argument_group("What the drain may do (as in kubectl drain)")
    group.add_argument(
        "--ignore-daemonsets",
        action="switch",
        default=True,
        help="leave DaemonSets' pods alone; on by default here, unlike in kubectl",
    )
    group.add_argument("--delete-emptydir-data", action="switch", default=False, help="evict pods with emptyDir data")
    group.add_argument("--force", action="switch", default=False, help="evict pods that nothing creates again")
    group.add_argument(
        "--grace-period",
        type=values.whole_seconds,
        default=-1,
        metavar="SECONDS",
        help="time to stop for every pod; negative: each pod's own (default: -1)",
    )
    group.add_argument(
        "--pod-selector", type=values.selector, metavar="SELECTOR", help="evict only pods whose labels match"
    )
    group.add_argument(
        "--skip-wait-for-delete-timeout",
        type=values.whole_seconds,
        default=0,
        metavar="SECONDS",
        help="do not wait for pods that have been stopping for longer; 0: always wait",
    )
    group.add_argument(
        "--chunk-size", type=values.page_size, default=argparse.SUPPRESS, metavar="N", help="objects in one answer"
    )
    _add_ours(parser)
    if runs:
        _refuse_what_if(parser)
    else:
        _add_what_if(parser)
        _add_idle(parser)
    pace_options.add_to(parser)
    _add_explained(parser)


def _add_ours(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("What the drain may do (only here)")
    group.add_argument(
        "--partial", action="switch", default=False, help="empty nodes as far as possible where a pod cannot go"
    )
    group.add_argument(
        "--no-cordon-skipped",
        action="switch",
        default=False,
        help="do not cordon targets that are not drained: evicted pods can be scheduled onto them",
    )
    group.add_argument(
        "--evict-protected", action="switch", default=False, help="evict pods whose owner asks not to disrupt them"
    )
    group.add_argument(
        "--surge-singles",
        action="switch",
        default=False,
        help="restart the Deployment of a single replica instead of evicting it, where the new pod can be Ready first",
    )
    group.add_argument(
        "--wait-jobs",
        type=values.patience,
        default=0,
        metavar="TIME",
        help="let pods of Jobs finish for so long from the begin of their node on: 30m; default: not at all",
    )
    group.add_argument(
        "--delete-past-budget",
        type=values.pod_key,
        action="append",
        default=[],
        metavar="NS/POD",
        help="delete exactly that pod if its budget does not let it go; may be repeated",
    )
    group.add_argument(
        "--accept-unknown",
        type=values.code_names,
        action="append",
        default=[],
        metavar="CODE,…",
        help="finding codes that may stay unknown without exit code 5; may be repeated",
    )


def _add_what_if(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("What if (only here)")
    group.add_argument(
        "--assume-budget",
        type=values.assumed_budget,
        action="append",
        default=[],
        metavar="NS/NAME=N",
        help="what if that budget let N of its pods be away; may be repeated",
    )
    group.add_argument(
        "--assume-fixed",
        type=values.code_names,
        action="append",
        default=[],
        metavar="CODE,…",
        help="what if what these finding codes name stopped nothing; may be repeated",
    )


def _refuse_what_if(parser: argparse.ArgumentParser) -> None:
    """A run goes by what is."""
    refused = {"--assume-budget": "assume_budget", "--assume-fixed": "assume_fixed"}
    for flag, dest in refused.items():
        why = "a run goes by the cluster as it is; drain plan and rehearse can suppose something else"
        parser.add_argument(flag, action=Refusal, nargs="?", const=why, dest=dest, default=[], help=argparse.SUPPRESS)
    why = "guards stop a run: see --stop-pending and --give-up"
    hidden: dict[str, Any] = {"default": argparse.SUPPRESS, "help": argparse.SUPPRESS}
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
    if args.grace_period == 0:
        raise UsageError(
            "--grace-period=0 is not supported: it kills containers at once, without SIGTERM and preStop",
            "Give at least 1 second, or -1 for each pod's own time.",
        )
    if args.skip_wait_for_delete_timeout < 0:
        raise UsageError("--skip-wait-for-delete-timeout must not be negative", "0 means: always wait.")
    allowed = DrainPolicy(
        ignore_daemonsets=args.ignore_daemonsets,
        delete_emptydir_data=args.delete_emptydir_data or getattr(args, "delete_local_data", False),
        force=args.force,
        grace_seconds=args.grace_period if args.grace_period > 0 else None,
        pod_selector=args.pod_selector,
        skip_deleting_after=args.skip_wait_for_delete_timeout,
        partial=args.partial,
        evict_protected=args.evict_protected,
        surge_singles=args.surge_singles,
        wait_jobs=args.wait_jobs,
        cordon_skipped=not args.no_cordon_skipped,
        delete_past_budget=frozenset(args.delete_past_budget),
        accept_unknown=frozenset(name for names in args.accept_unknown for name in names),
        assume_budgets=tuple(sorted(values.agreed("--assume-budget", args.assume_budget).items())),
        assume_fixed=frozenset(name for names in args.assume_fixed for name in names),
    )
    return pace_options.paced(allowed, args)


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
    return [*pace_options.idle_pins(plan), *_idle_deletions(plan)]


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
