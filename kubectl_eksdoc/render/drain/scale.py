"""The time scale that all pictures of a run share: which moments are marked, and how a mark is called."""

from __future__ import annotations

from kubectl_eksdoc.render.text import duration

_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)


def ticks(end: float, most: int = 5) -> list[float]:
    """The seconds from 0 to `end` that are marked: round ones, about `most` of them beside the 0."""
    step = next((step for step in _STEPS_S if end / step <= most), _STEPS_S[-1])
    return [float(tick) for tick in range(0, int(end) + 1, step)]


def short(moment: float) -> str:
    """``5m``, ``1m30s``, ``2h``: so that marks have room on a phone."""
    said = duration(moment)
    for rest in ("m00s", "h00m"):
        said = said.removesuffix(rest) + rest[0] if said.endswith(rest) else said
    return said
