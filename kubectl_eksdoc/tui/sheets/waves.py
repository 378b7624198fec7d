"""The waves as a Gantt: when each node is cordoned, empty and done; below, what is not drained and why."""

from __future__ import annotations

from kubectl_eksdoc.core.sim.course import Span
from kubectl_eksdoc.render.drain.scale import short, ticks
from kubectl_eksdoc.render.drain.verdict import TARGET_SIGN
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.look import Tone
from kubectl_eksdoc.render.tables import Cell, Column
from kubectl_eksdoc.render.times import duration
from kubectl_eksdoc.tui.sheets.once import once_a_view
from kubectl_eksdoc.tui.sheets.sheet import Cells, Sheet, of_rows

NOTHING = "No node of the plan is drained."

EVICTING = ("▇", "▆")
"""Waves take turns in these, so that one sees where the next begins."""
EMPTY = "─"
SLOW = "·"
KEY = f"p50: {EVICTING[0]} pods are evicted  {EMPTY} empty, until it is done  {SLOW} p95"
_TICK_ROOM = 10


@once_a_view
def sheet(view: DrainView, full: bool = False) -> Sheet:
    columns = [
        Column("W" if not view.plan.in_generations else "G", right=True),
        Column("NODE", middle=True, floor=14),
        *([Column("EVICTIONS", right=True, short="EV", drop=1)] if full else []),
        Column("TIME"),
    ]
    spans, slow_s = view.spans, view.slow_s
    end = max([*(span.done_s for span in spans.values()), *slow_s.values()], default=0.0) or 1.0
    rows: list[tuple[str, Cells]] = []
    why: dict[str, Cell] = {}
    last = 0
    for target in view.targets:
        name = target.node.name
        if target.order:
            wave = str(target.wave) if target.wave != last else ""
            last = target.wave
            count = [str(target.evictions)] if full else []
            rows.append((name, [wave, name, *count, ""]))
        else:
            sign, tone = TARGET_SIGN[target.verdict]
            why[name] = Cell("; ".join(target.why) or target.verdict.value, tone)
            rows.append((name, [Cell(sign, tone), name, *([""] if full else []), ""]))
    sheet = of_rows(columns, rows, NOTHING, fill=len(columns) - 1)

    def filled(name: str, room: int) -> Cell | str:
        if name in why:
            return why[name]
        span = spans.get(name)
        if span is None:
            return Cell("how long is not known", Tone.UNKNOWN)
        return Cell(gantt(span, end, room, view.wave_of.get(name, 1), slow_s.get(name, 0.0)), Tone.GOOD)

    return Sheet(
        sheet.columns,
        sheet.widths,
        sheet.keys,
        sheet.cells,
        sheet.fill,
        filled,
        NOTHING,
        head=lambda room: axis(end, room - _time_width(view)),
        ascii_widths=sheet.ascii_widths,
    )


def _time_width(view: DrainView) -> int:
    """Room for the longest time behind a bar."""
    return max((len(duration(span.done_s)) for span in view.spans.values()), default=0) + 1


def gantt(span: Span, end: float, room: int, wave: int, slow_s: float = 0.0) -> str:
    """``   ▇▇▇▇─··· 1m05s``, at least one sign long; the time is when it is done, the tail ends when a slow one is."""
    said = duration(span.done_s)
    bars = max(room - len(duration(end)) - 1, 1)
    start = min(int(span.start_s / end * bars), bars - 1)
    empty = max(round(span.empty_s / end * bars), start + (span.empty_s > span.start_s))
    done = max(round(span.done_s / end * bars), empty, start + 1)
    tail = SLOW * (round(slow_s / end * bars) - done)
    return f"{' ' * start}{EVICTING[(wave - 1) % 2] * (empty - start)}{EMPTY * (done - empty)}{tail} {said}"


def axis(end: float, room: int) -> str:
    """``0s        30s       1m``: a mark begins at its moment; one without room is left out."""
    line = ""
    for mark in ticks(end, max(2, room // _TICK_ROOM)):
        at, said = int(mark / end * room), short(mark)
        if at + len(said) <= room and at >= len(line) + bool(line):
            line = line.ljust(at) + said
    return line
