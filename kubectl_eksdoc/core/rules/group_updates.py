"""What EKS' own update of a managed node group does to nodes: how many it adds, and how long it waits for each.

From the EKS user guide ("Understand each phase of node updates"): the surge, random nodes, 15 minutes for the pods
of a node, then PodEvictionFailure, which names no pod, and 60 seconds before an empty node is ended.
"""

from __future__ import annotations

from datetime import timedelta

PATIENCE = timedelta(minutes=15)
"""How long the update waits for the pods of one node to go."""

PAUSE = timedelta(seconds=60)
"""How long it waits after the drain of a node before the node ends."""

SURGE_PER_ZONE = 2
