"""One plan of a large made cluster, in a process of its own; prints what it took and says as one line of JSON.

``--what-if N`` then plans N times as if one budget let one pod more be away: the budget that binds.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from bench.world import Shape, make
from kubectl_eksdoc.cli.main import reduce_gc
from kubectl_eksdoc.drain.plan import WhatIfPlan, build_plan
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.model.cluster import Cluster

Answer = TypeVar("Answer")


def main() -> None:
    asked = _arguments()
    cluster = make(Shape(asked.nodes, asked.pods_per_node, asked.utilisation, asked.seed, alike=asked.alike))
    targets = cluster.nodes[: asked.targets]
    policy = DrainPolicy(surge=asked.surge if asked.surge >= 0 else None, effort=asked.effort)
    gc.collect()
    reduce_gc()  # as the command line does
    before = _peak()
    seconds, plan = _timed(lambda: build_plan(cluster, targets, policy))
    said = {"seconds": seconds, "before_mib": before, "peak_mib": _peak(), **_about(cluster, plan)}
    if asked.what_if and plan.budgets:
        kept = WhatIfPlan(cluster, targets, policy)
        assumed = replace(policy, assume_budgets=(_one_more(plan),))
        said["preview_s"] = [_timed(lambda: kept.preview(assumed))[0] for _ in range(asked.what_if)]
        said["what_if_s"] = [_timed(lambda: kept.plan_for(assumed))[0] for _ in range(asked.what_if)]
    print(json.dumps(said))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--targets", type=int, default=800)
    parser.add_argument("--pods-per-node", type=int, default=30)
    parser.add_argument("--utilisation", type=float, default=0.65)
    parser.add_argument("--alike", action="store_true", help="so are all applications")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--surge", type=int, default=-1, help="new nodes that join first; -1: none, and none ever does")
    parser.add_argument("--effort", type=int, default=0, help="evictions that may be simulated for a better order")
    parser.add_argument("--what-if", type=int, default=0, metavar="TIMES")
    return parser.parse_args()


def _timed(asked: Callable[[], Answer]) -> tuple[float, Answer]:
    """The seconds of CPU: other processes may use this machine."""
    before = time.process_time()
    answer = asked()
    return time.process_time() - before, answer


def _peak() -> float:
    """The peak memory of this process so far, in MiB."""
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10  # bytes there, KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _about(cluster: Cluster, plan: DrainPlan) -> dict[str, Any]:
    estimate = plan.estimate
    binding = estimate.bounds[0] if estimate is not None and estimate.bounds else None
    return {
        "pods": len(cluster.pods),
        "budgets": len(cluster.budgets),
        "drained": len(plan.targets) - len(plan.skipped),
        "skipped": len(plan.skipped),
        "evictions": len(plan.evictions),
        "rounds": plan.rounds,
        "waves": max((target.wave for target in plan.targets), default=0),
        "blockers": len(plan.blockers),
        "p50_s": estimate.p50_s if estimate is not None else None,
        "tried": len(plan.tried_orders),
        "gap": estimate.gap if estimate is not None else None,
        "bound": f"{binding.name.value} {binding.subject}".rstrip() if binding is not None else "",
        "bound_s": binding.seconds if binding is not None else None,
    }


def _one_more(plan: DrainPlan) -> tuple[str, int]:
    """The budget with the most rounds, which allows one disruption more."""
    longest = max(plan.budgets, key=lambda headroom: headroom.rounds)
    return longest.budget.key, longest.per_round + 1


if __name__ == "__main__":
    main()
