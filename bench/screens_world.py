"""Opens the screens over a large made cluster (`bench.world`), so many of whose nodes are marked: for a terminal."""

from __future__ import annotations

import argparse
import sys

from bench.world import Shape, make
from bench.world_facts import NOW
from kubectl_eksdoc.cli.context import CommandContext
from kubectl_eksdoc.cli.main import reduce_gc
from kubectl_eksdoc.drain.policy import Targeting
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.tui.opening import Opening, Progress


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--marked", type=int, default=0)
    parser.add_argument("--pods-per-node", type=int, default=Shape().pods_per_node)
    parser.add_argument("--utilisation", type=float, default=Shape().utilisation)
    asked = parser.parse_args()
    cluster = make(Shape(asked.nodes, pods_per_node=asked.pods_per_node, utilisation=asked.utilisation))
    reduce_gc()  # as the command line does

    def read(progress: Progress) -> Cluster:
        return cluster

    def targeting() -> Targeting:
        return Targeting(names=tuple(node.name for node in cluster.nodes[: asked.marked]))

    CommandContext(sys.stdout, sys.stderr).open_screens(Opening(read, targeting, lambda _: (), lambda: NOW))


if __name__ == "__main__":
    main()
