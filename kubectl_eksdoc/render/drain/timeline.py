"""A run as a text Gantt: one line a node, from its cordon until it is done, scaled to the width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from kubectl_eksdoc.drain.course import Span
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.render.drain.scale import short, ticks
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.text import cut, duration, shown, wrap

TITLE = "Timeline (p50), nodes in the order in which they are begun"

MOST_NODES = 40
"""Beyond these the rest is counted: more is no picture any more, and a ticket has little room."""

_GAP = 2
_LEAST_BAR = 24
"""Columns that the bars have whatever the names: below that they tell nothing."""
_TICK_ROOM = 10
_EVICTING = ("█", "▓")
"""Waves take turns in these, so that one sees where the next begins."""
_EMPTY = "░"
_SLOW = "·"


class Timed(Protocol):
    """Something that has a time for each node: a plan, or what came of it."""

    @property
    def plan(self) -> DrainPlan: ...

    @property
    def spans(self) -> Mapping[str, Span]: ...

    @property
    def wave_of(self) -> Mapping[str, int]: ...


def timeline(
    view: Timed, look: Look, indent: int = 0, whole: str = "-o html", slow_s: Mapping[str, float] = MappingProxyType({})
) -> list[str]:
    """The lines, none wider than the look's columns; none at all where no times are known.

    `whole` is the option that shows every node. `slow_s`: when nodes may be done as well, the tails of the bars.
    """
    spans = sorted(view.spans.values(), key=lambda span: span.start_s)  # of equal ones as they are activated
    kept, end = spans[:MOST_NODES], max([span.done_s for span in spans] + list(slow_s.values()), default=0.0) or 1.0
    if not kept:
        return []
    waves = [str(_wave(view, span)) for span in kept] if _in_waves(view) else []
    times = [shown(f"{duration(span.start_s)}–{duration(span.done_s)}", look) for span in kept]
    heads = ("NODE", "GEN" if view.plan.in_generations else "WAVE", "START–DONE") if look.headers else ("", "", "")
    wave_width = max(map(len, (heads[1], *waves))) + _GAP if waves else 0
    time_width = max(map(len, (heads[2], *times)))
    spare = look.columns - indent - wave_width - time_width - 2 * _GAP
    names = _names([shown(span.node, look) for span in kept], spare - _LEAST_BAR, look)
    name_width = max(map(len, (heads[0], *names)))
    room = spare - name_width

    def row(name: str, wave: str, bar: str, time: str) -> str:
        middle = f"{wave:>{wave_width - _GAP}}{' ' * _GAP}" if waves else ""
        return f"{' ' * indent}{name:<{name_width}}{' ' * _GAP}{middle}{bar:<{room}}{' ' * _GAP}{time}".rstrip()

    lines = []
    if look.headers:
        head = row(heads[0], heads[1], _axis(end, room), shown(heads[2], look))
        lines.append(" " * indent + look.paint(head[indent:], Tone.FAINT))
    for place, span in enumerate(kept):
        bar = look.signs(_bar(span, slow_s.get(span.node, 0.0), end, room, _EVICTING[(_wave(view, span) - 1) % 2]))
        lines.append(row(names[place], waves[place] if waves else "", bar, times[place]))
    if len(kept) < len(spans):
        lines.append(f"{' ' * indent}{look.ellipsis} and {len(spans) - len(kept)} more nodes ({whole})")
    return lines + wrap(look.signs(_key(view, bool(slow_s))), look.columns, " " * indent)


def _axis(end: float, room: int) -> str:
    """``|0s      |30s     |1m``: each bar stands at its moment; a mark without room is left out."""
    line = ""
    for mark in ticks(end, max(2, room // _TICK_ROOM)):
        at, said = int(mark / end * room), f"|{short(mark)}"
        if at + len(said) <= room and at >= len(line) + bool(line):
            line = line.ljust(at) + said
    return line


def _bar(span: Span, slow_s: float, end: float, room: int, evicting: str) -> str:
    """At least one sign long; a node without a pod to evict is empty at once."""
    start = min(int(span.start_s / end * room), room - 1)
    empty = round(span.empty_s / end * room) if span.empty_s > span.start_s else start
    empty = max(empty, start + (span.empty_s > span.start_s))
    done = max(round(span.done_s / end * room), empty, start + 1)
    tail = _SLOW * (round(slow_s / end * room) - done)
    return " " * start + evicting * (empty - start) + _EMPTY * (done - empty) + tail


def _key(view: Timed, tails: bool) -> str:
    called = "generation" if view.plan.in_generations else "wave"
    both = f"{' and '.join(_EVICTING)} (by {called})" if _in_waves(view) else _EVICTING[0]
    slow = f"; {_SLOW}: until then in a slow run (p95)" if tails else ""
    return f"{both}: pods are evicted; {_EMPTY}: empty, until it is done{slow}."


def _names(names: Sequence[str], room: int, look: Look) -> list[str]:
    """Where they do not fit their domain goes, as long as that leaves them different; then their middle."""
    if max(map(len, names)) <= room:
        return list(names)
    hosts = [name.partition(".")[0] + look.ellipsis if "." in name else name for name in names]
    kept = hosts if len(set(hosts)) == len(set(names)) else names
    return [cut(name, max(room, 1), look, middle=True) for name in kept]


def _wave(view: Timed, span: Span) -> int:
    return view.wave_of.get(span.node, 0) or 1


def _in_waves(view: Timed) -> bool:
    return any(wave > 1 for wave in view.wave_of.values())
