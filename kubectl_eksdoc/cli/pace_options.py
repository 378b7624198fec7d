"""The options of ``drain plan`` that say how many nodes go at once, how fast, and which of them first."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import values
from kubectl_eksdoc.core.plan.drain.policy import ALL, AUTO, DEFAULT_EFFORT, NODEGROUP, ORDERS, ZONE, DrainPolicy
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.host.order_file import read_order

if TYPE_CHECKING:  # help must not pay for plans
    from kubectl_eksdoc.core.plan.drain.result import DrainPlan

_COUNTED_BY = (ALL, ZONE, NODEGROUP)


def add_to(parser: argparse.ArgumentParser) -> None:
    _add_pace(parser.add_argument_group("How many nodes go at once, and how fast (only here)"))
    _add_order(parser.add_argument_group("Which nodes go first (only here)"))


def _add_pace(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--max-unavailable",
        type=values.nodes_at_once,
        action="append",
        default=[],
        metavar="[zone=|nodegroup=]N|N%",
        help="targets under way at once: of all, of each zone, of each node group; default: all; may be repeated",
    )
    group.add_argument(
        "--surge",
        type=values.new_nodes,
        default=None,
        metavar="N",
        help="N new nodes join first, and each drained node is replaced by a new one; default: no node joins",
    )
    group.add_argument(
        "--soft-budget",
        type=values.percentage,
        default=None,
        metavar="PCT",
        help="how much of a workload without a budget may be away at once; default: all of it",
    )
    group.add_argument(
        "--max-evictions-per-second",
        type=values.rate,
        default=0.0,
        metavar="N",
        help="how fast evictions may follow each other; default: no limit",
    )


def _add_order(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--order",
        type=values.one_of((AUTO, *ORDERS), "order"),
        default=AUTO,
        metavar="ORDER",
        help=f"{', '.join(ORDERS)}, or {AUTO} (default): several are tried and the best is kept",
    )
    group.add_argument(
        "--order-file",
        default=None,
        metavar="FILE",
        help="the nodes in the order in which they go, one a line, as -o name prints them; the others go after them",
    )
    group.add_argument(
        "--pin",
        type=values.pin,
        action="append",
        default=[],
        metavar="NODE=WAVE",
        help="drain that node in that wave, the first is 1; may be repeated",
    )
    group.add_argument(
        "--effort",
        type=values.effort,
        default=DEFAULT_EFFORT,
        metavar="N",
        help=f"evictions that may be simulated in search of a better order (default: {DEFAULT_EFFORT}; "
        "0: the first order is taken)",
    )


def order_file_from(args: argparse.Namespace) -> str:
    """The path of ``--order-file``, "" where it was not given.

    Raises:
        UsageError: an empty path, as of a variable that is not set.
    """
    if args.order_file == "":
        raise UsageError("--order-file needs the path of a file with one node a line")
    return args.order_file or ""


def paced(policy: DrainPolicy, args: argparse.Namespace) -> DrainPolicy:
    """`policy` with these options.

    Raises:
        UsageError: two orders were given, or the file of one cannot be read; a flag says two things of one node
            or of one way to count nodes.
    """
    path = order_file_from(args)
    if path and args.order != AUTO:
        raise UsageError(
            f"--order {args.order} and --order-file exclude each other",
            "Give one of them; nodes that the file does not name go after it, by name.",
        )
    at_once = values.agreed("--max-unavailable", args.max_unavailable)
    return replace(
        policy,
        max_unavailable=tuple(sorted(at_once.items(), key=lambda x: _COUNTED_BY.index(x[0]))),
        surge=args.surge,
        soft_budget=args.soft_budget,
        evictions_per_second=args.max_evictions_per_second,
        order=args.order,
        order_nodes=read_order(path) if path else (),
        pins=tuple(sorted(values.agreed("--pin", args.pin).items())),
        effort=args.effort,
    )


def idle_pins(plan: DrainPlan) -> list[str]:
    """Notes on pins that change nothing, because the plan does not drain their node."""
    verdicts = {target.node.name: target.verdict.value for target in plan.targets if not target.order}
    return [
        f"--pin {node}={wave} changes nothing: the plan does not drain {node} ({verdicts[node]})"
        for node, wave in plan.policy.pins
        if node in verdicts
    ]
