"""When a run holds, stops, or gives up on a pod: what its guards go by."""

from __future__ import annotations

from dataclasses import dataclass

SETTLES_S = 120.0
"""So long a run that was stopped waits for pods that leave."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`hold_s`, `pending_s`: a replacement without a node for so long holds, or stops, the run. `not_ready`: so many
    nodes outside the targets may become NotReady. `away_s`: the cluster does not answer, or cannot be watched, for so
    long; `failing_s`: it answers with errors. `blocked_s`: a pod that is refused for so long while nothing moves, or
    that stops for so much too long, is given up, with its node. `bake_s`: so long after a wave nothing of the next one
    is begun, and all of this may show. `ready_s`: once every node is done, replacements may take so long to be Ready
    until the run ends without them: as long as a Deployment's progressDeadlineSeconds by default."""

    hold_s: float = 10.0
    pending_s: float = 600.0
    not_ready: int = 2
    away_s: float = 1800.0
    failing_s: float = 300.0
    blocked_s: float = 1800.0
    bake_s: float = 0.0
    ready_s: float = 600.0
