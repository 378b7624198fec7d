"""What EKS' own update of a managed node group does to nodes: how many it adds, and how long it waits for each.

From the EKS user guide ("Understand each phase of node updates"): the surge, random nodes, 15 minutes for the pods
of a node, then PodEvictionFailure, which names no pod, and 60 seconds before an empty node is ended.
"""

from __future__ import annotations

import math
from datetime import timedelta

PATIENCE = timedelta(minutes=15)
"""How long the update waits for the pods of one node to go."""

PAUSE = timedelta(seconds=60)
"""How long it waits after the drain of a node before the node ends."""

SURGE_PER_ZONE = 2

MOST_AT_ONCE = 100
"""Nodes that an update drains at the same time, whatever its configuration says."""


def unavailable(at_once: str, size: int) -> int | None:
    """How many of `size` nodes ``1`` or ``33 %`` are, rounded up; None where that is not told."""
    number, percent, _ = at_once.partition(" %")
    if not number.isdecimal():
        return None
    asked = math.ceil(size * int(number) / 100) if percent else int(number)
    return min(MOST_AT_ONCE, max(1, asked))


def surge(zones: int, at_once: int | None) -> int:
    """The most nodes that an update adds before it drains one: it says "up to twice the number of zones, or
    maxUnavailable if that is more"."""
    return max(SURGE_PER_ZONE * zones, at_once or 1)
