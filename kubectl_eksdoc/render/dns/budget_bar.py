"""The shutdown budget as a bar: from SIGTERM to SIGKILL, and where lameduck may end.

  now 5 s          safe: 7 to 20 s
░░░░▲░░█████████████████████████▒▒▒▒▒▒▒▒
0     7                      20   25  30 s
"""

from __future__ import annotations

from kubectl_eksdoc.core.plan.dns.shutdown import Budget
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.text import shown

_SHORT, _SAFE, _LONG, _KILLED, _NOW = "░", "█", "▒", "▓", "▲"
_WIDEST = 60


def bar(budget: Budget, lameduck: float | None, look: Look, room: int) -> list[str]:
    """Three lines, none wider than `room`: the bar, where lameduck is now below it, and the seconds."""
    grace = max(budget.shutdown.grace_s, 1)
    end = max(grace, int(lameduck or 0) + 1)
    width = min(_WIDEST, room - len(f" {end} s"))
    signs = "".join(_sign(budget, (at + 0.5) * end / width) for at in range(width))
    marks = {0: "0", budget.least_s: str(budget.least_s), grace: f"{grace} s"}
    if budget.fits:
        marks[budget.advised_s] = str(budget.advised_s)
    lines = [shown(signs, look), _scale(marks, end, width)]
    if lameduck is not None:
        at = min(width - 1, int(lameduck * width / end))
        text = f"{_NOW} now {lameduck:g} s"
        lines.append(shown(" " * min(at, room - len(text)) + text, look))
    return lines


def _sign(budget: Budget, second: float) -> str:
    if second < budget.least_s:
        return _SHORT
    if second < budget.advised_s:
        return _SAFE
    return _LONG if second < budget.shutdown.grace_s else _KILLED


def _scale(marks: dict[int, str], end: int, width: int) -> str:
    """Each number where its second is; one that would run into the one before is left out."""
    line = ""
    for second, text in sorted(marks.items()):
        at = int(second * width / end)
        if not line or len(line) < at <= width:
            line = line.ljust(at) + text
    return line


def legend(budget: Budget) -> str:
    safe = f"safe: {budget.least_s} to {budget.advised_s} s" if budget.fits else "no value is safe"
    when = budget.propagation.measured_at
    short = "too short" if when is None else f"too short as measured on {when:%Y-%m-%d}"
    return f"{_SHORT} {short}   {_SAFE} {safe}   {_LONG} closing, margin"
