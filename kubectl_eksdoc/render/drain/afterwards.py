"""The plan's last section for a terminal: how nodes come and go after the drain, and the ways compared."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.core.plan.drain.handoff import HandOff, Option, Step, Way
from kubectl_eksdoc.render.drain.blocks import command_line
from kubectl_eksdoc.render.drain.rows import NONE, Drawn
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.tables import Column, Row, plain
from kubectl_eksdoc.render.text import counted, listing, shown, wrap
from kubectl_eksdoc.render.times import duration

TITLE = "AFTER THE DRAIN: how new nodes come and old ones leave"

_MOST_GROUPS = 4
_MOST_COMMANDS = 3
_MOST_CAUTIONS = 3
_MOST_PODS = 6
_MARGIN = "    "

WAYS = {
    Way.OWN_DRAIN: "THIS DRAIN, IN PLACE",
    Way.GROUP_UPDATE: "THE GROUP'S OWN UPDATE",
    Way.BLUE_GREEN: "THIS DRAIN, BLUE/GREEN",
}

_PODS = (
    ("stopped at", "stopped_by"),
    ("perhaps stopped at", "may_be_stopped_by"),
    ("evicted without asking", "unasked"),
    ("not judged", "not_judged"),
)
"""What to call the fields of an Option that list pods."""


def afterwards(view: DrainView, look: Look, full: bool) -> list[str]:
    """One paragraph for each owner and group; `full` leaves nothing out and compares the ways."""
    kept = view.handoffs if full else view.handoffs[:_MOST_GROUPS]
    lines = [text for handoff in kept for text in ["", *_paragraph(handoff, look, full)]][1:]
    if len(kept) < len(view.handoffs):
        lines.append(f"  {look.ellipsis} and {len(view.handoffs) - len(kept)} more groups of nodes (-o wide)")
    return lines


def head(handoff: HandOff) -> str:
    """``managed node group blue: 5 of 8 targets emptied in full``."""
    total = len(handoff.nodes) + len(handoff.kept)
    if not handoff.kept:
        return f"{handoff.about}: {'all ' if total > 1 else ''}{counted(total, 'target')} emptied"
    return f"{handoff.about}: {len(handoff.nodes) or 'none'} of {counted(total, 'target')} emptied in full"


def comparison(options: Sequence[Option]) -> Drawn:
    """One column for each way, one row for each question."""
    columns = [Column(""), *(Column(WAYS[option.way]) for option in options)]
    rows: list[Row] = [
        ["nodes replaced", *(str(o.nodes) for o in options)],
        ["nodes added at once", *(_surge(o) for o in options)],
        ["order", *(o.order for o in options)],
        ["waits", *(o.waits for o in options)],
        ["takes at least", *(_least(o) for o in options)],
    ]
    for title, name in _PODS:
        rows.append([title, *(counted(n, "pod") if (n := len(getattr(o, name))) else NONE for o in options)])
    rows.append(["way back", *(o.way_back for o in options)])
    return columns, rows


def update_of(handoff: HandOff) -> Option | None:
    """What the group's own update would do, None where there is no such thing."""
    return next((option for option in handoff.instead if option.way is Way.GROUP_UPDATE), None)


def pods_of(option: Option) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each list of pods that is not empty, by what the update does to them."""
    said = (
        ("it fails after 15 minutes (PodEvictionFailure), as long as nothing changes, at", option.stopped_by),
        ("it fails, unless they are gone in 15 minutes, at", option.may_be_stopped_by),
        ("it evicts without a question, though this plan leaves them to you,", option.unasked),
        ("it meets, and this plan cannot say what then,", option.not_judged),
    )
    return tuple((text, pods) for text, pods in said if pods)


def _paragraph(handoff: HandOff, look: Look, full: bool) -> list[str]:
    lines = [look.paint(t, Tone.TITLE) for t in wrap(shown(head(handoff), look), look.columns, "  ", _MARGIN)]
    if full and handoff.kept:
        lines += _text(f"not in full: {', '.join(handoff.kept)}", look)
    if full or handoff.nodes or not handoff.kept:
        lines += _steps("new nodes: ", handoff.arrive, look, full)
    lines += _steps("old nodes: ", handoff.leave, look, full)
    if full or handoff.nodes:
        lines += _cautions(handoff, look, full)
    return lines + _instead(handoff, look, full)


def _steps(opening: str, steps: Sequence[Step], look: Look, full: bool) -> list[str]:
    lines: list[str] = []
    for step in steps:
        text = wrap(shown(step.text, look), look.columns, first=_MARGIN + opening, rest=_MARGIN + "  ")
        lines += text
        kept = step.commands if full else step.commands[:_MOST_COMMANDS]
        lines += [command_line(command, look) for command in kept]
        if len(kept) < len(step.commands):
            more = counted(len(step.commands) - len(kept), "command")
            lines.append(f"{_MARGIN * 2}{look.ellipsis} and {more} more like it (-o wide)")
    return lines


def _cautions(handoff: HandOff, look: Look, full: bool) -> list[str]:
    kept = handoff.beware if full else handoff.beware[:_MOST_CAUTIONS]
    lines = [text for caution in kept for text in wrap(shown(f"! {caution}.", look), look.columns, _MARGIN, "      ")]
    if len(kept) < len(handoff.beware):
        lines.append(f"{_MARGIN}{look.ellipsis} and {len(handoff.beware) - len(kept)} more to beware of (-o wide)")
    return lines


def _instead(handoff: HandOff, look: Look, full: bool) -> list[str]:
    update = update_of(handoff)
    if update is None:
        return []
    lines = _text(f"Its own update instead: nodes added at once {_surge(update)}; {update.order}.", look)
    for text, pods in pods_of(update):
        named = listing(pods, len(pods) if full else _MOST_PODS, look)
        lines += _text(f"- {text} {counted(len(pods), 'pod')}: {named}", look)
    if full:
        columns, rows = comparison(handoff.instead)
        lines += ["", *plain(columns, rows, look, indent=len(_MARGIN), fit=False), ""]
        lines += [
            t for o in handoff.instead for t in _text(f"nodes added by {WAYS[o.way].lower()}: {o.surge_why}", look)
        ]
    return lines


def _text(text: str, look: Look) -> list[str]:
    return wrap(shown(text, look), look.columns, first=_MARGIN, rest=_MARGIN + "  ")


def _surge(option: Option) -> str:
    if option.surge is None:
        return "unknown"
    return f"up to {option.surge}" if option.way is Way.GROUP_UPDATE else str(option.surge)


def _least(option: Option) -> str:
    return NONE if option.least_seconds is None else f"{duration(option.least_seconds)}, one node at a time"
