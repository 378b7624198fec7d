"""One drain of a made cluster that is served, unscaled: by kubectl one node after another, all at once, or by ours.

Prints what the cluster saw of it as one line of JSON. The clusters are those of the tests: `tests/drains`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tests.drains import drainers
from tests.drains.bound import lower_bound_s, planned
from tests.drains.shapes import large, small

SHAPES = {"small": small, "large": large}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("who", choices=("ours", "at-once", "in-turn"))
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("--new", type=int, default=None, help="so many new nodes")
    parser.add_argument("--kubectl", default="kubectl")
    parser.add_argument(
        "--eviction-timeout", type=float, default=0.0, help="after so many seconds, where there is no room"
    )
    asked = parser.parse_args()
    print(json.dumps(_drained(asked)))
    return 0


def _drained(asked: argparse.Namespace) -> dict[str, float]:
    shape = SHAPES[asked.shape](*([] if asked.new is None else [asked.new]))
    with tempfile.TemporaryDirectory() as home, drainers.served(shape, Path(home)) as world:
        plan = planned(world.kubeconfig)
        nodes = len(plan.targets) - len(plan.skipped)
        ways = {
            "ours": lambda: drainers.ours(world, nodes),
            "at-once": lambda: drainers.all_at_once(asked.kubectl, asked.eviction_timeout)(world),
            "in-turn": lambda: drainers.one_after_another(asked.kubectl, asked.eviction_timeout)(world),
        }
        drained = ways[asked.who]()
        watched, counted = world.watched, world.counted
        whole = nodes == shape.old
        if whole and any(drained.codes):
            sys.exit("\n".join(line for line in drained.err.splitlines() if "will retry" not in line))
        return {
            "wall": drained.wall_s,
            "gone": drained.gone_s,
            "bound": lower_bound_s(plan, shape, watched.lag_s) if whole else 0.0,
            "took": watched.took_s,
            "refused": counted.refused,
            "asked": counted.answers.total(),
            "again": len(watched.again),
            "pending": len(watched.pending),
            "emptied": len(watched.empty()),
            "half": len(watched.half()),
            "left": sum(half.left for half in watched.half()),
        }


if __name__ == "__main__":
    sys.exit(main())
