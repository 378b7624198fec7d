"""Limits of a run: when its guards hold it, stop it, or give up a pod."""

from __future__ import annotations

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.options import COUNT, SECONDS, SECONDS_OR_NONE, OptionKind, option

SETTLE_TIMEOUT_S = 120.0
"""How long a stopped run waits for pods that are stopping."""

READY_TIMEOUT_S = 600.0
"""The default of a Deployment's progressDeadlineSeconds."""

UNREADY_WAIT_S = 60.0
"""How long a run waits for the replacement of a pod that was not Ready: its node may have been the cause."""

GUARDS = "Guards"
THE_END = "The end"
BETWEEN_WAVES = "Between waves (waves: --max-unavailable, --pin)"

_NO_WAIT = OptionKind(
    switch=True, from_parsed=lambda given: 0.0 if given else READY_TIMEOUT_S, to_flag=lambda value: not value
)


@frozen
class RunLimits:
    """Seconds, and a number of nodes."""

    hold_s: float = option(
        10.0,
        "--hold-pending",
        GUARDS,
        SECONDS,
        "pause evictions when a replacement pod is unschedulable this long",
        "TIME",
    )
    pending_s: float = option(
        600.0,
        "--stop-pending",
        GUARDS,
        SECONDS,
        "stop the run when a replacement pod is unschedulable this long",
        "TIME",
    )
    not_ready: int = option(
        2, "--stop-not-ready", GUARDS, COUNT, "stop the run when more than N other nodes became NotReady", "N"
    )
    away_s: float = option(
        1800.0,
        "--max-api-outage",
        GUARDS,
        SECONDS,
        "stop the run when the API server is unreachable this long",
        "TIME",
    )
    failing_s: float = option(
        300.0,
        "--max-api-errors",
        GUARDS,
        SECONDS,
        "stop the run when most answers of the API server are errors this long",
        "TIME",
    )
    blocked_s: float = option(
        1800.0,
        "--eviction-timeout",
        GUARDS,
        SECONDS,
        "skip a node when one of its pods cannot be evicted within this time",
        "TIME",
    )
    """A pod is given up when it is refused for this long without any change, or stops this much longer than its grace
    period."""
    soak_s: float = option(
        0.0,
        "--soak",
        BETWEEN_WAVES,
        SECONDS_OR_NONE,
        "soak time after each wave, during which the guards keep watching",
        "TIME",
    )
    ready_s: float = option(
        READY_TIMEOUT_S,
        "--no-wait-ready",
        THE_END,
        _NO_WAIT,
        "end when all nodes are drained; do not wait for replacement pods to become Ready (up to 10m)",
    )
