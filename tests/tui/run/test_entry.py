"""Enter in the log of a run shows an entry in full, and does nothing else."""

from __future__ import annotations

WHY = "Cannot evict pod as it would violate the pod's disruption budget. " * 4
