"""How nodes join and leave after the drain, and the replacement methods compared, for a terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.markdown import block, code, escape, folded, more, table
from kubectl_eksdoc.report.report import ReportFigure, Written
from kubectl_eksdoc.report.text import (
    Drawn,
    Look,
    Row,
    Title,
    Tone,
    columns_of,
    counted,
    cut,
    joined,
    plain,
    shown,
    wrapped,
)

from ..rollover_offers import HandOff, Option, Way
from .findings import command_line
from .rows import NONE

TITLE = Title("After the drain", ": how new nodes come and old ones leave")

_MOST_LINES = 12
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
"""Row titles for the fields of an `Option` that list pods."""


def section(handoffs: Sequence[HandOff], full: bool) -> ReportFigure:
    if full:
        return ReportFigure(TITLE, lambda look, _: afterwards(handoffs, look))
    brief = Title("After the drain", ", in short (commands, cautions: -o wide)")
    return ReportFigure(brief, lambda look, _: briefly(handoffs, look))


def afterwards(handoffs: Sequence[HandOff], look: Look) -> list[str]:
    """One paragraph for each owner and node group, complete, with the methods compared."""
    return [text for handoff in handoffs for text in ["", *_paragraph(handoff, look)]][1:]


def briefly(handoffs: Sequence[HandOff], look: Look) -> list[str]:
    """At most `_MAX_LINES` lines: for each group the number of emptied nodes, and the first sentence of each step.

    If there are more lines, the steps are dropped first, then the last groups.
    """
    lines = [text for handoff in handoffs for text in _short(handoff, look)]
    if len(lines) > _MOST_LINES:
        lines = [text for handoff in handoffs for text in _short(handoff, look)[:1]]
    kept = lines if len(lines) <= _MOST_LINES else lines[: _MOST_LINES - 1]
    if len(kept) < len(lines):
        kept.append(f"  {look.ellipsis} and {len(lines) - len(kept)} more groups of nodes")
    return kept


def head(handoff: HandOff) -> str:
    """``managed node group blue: 5 of 8 targets emptied in full``."""
    total = len(handoff.nodes) + len(handoff.kept)
    if not handoff.kept:
        return f"{handoff.about}: {'all ' if total > 1 else ''}{counted(total, 'target')} emptied"
    return f"{handoff.about}: {len(handoff.nodes) or 'none'} of {counted(total, 'target')} emptied in full"


def comparison(options: Sequence[Option]) -> Drawn:
    """One column for each method, one row for each question."""
    columns = columns_of("", *(WAYS[option.way] for option in options))
    rows: list[Row] = [
        ["nodes replaced", *(o.nodes for o in options)],
        ["nodes added at once", *(_surge(o) for o in options)],
        ["order", *(o.order for o in options)],
        ["waits", *(o.waits for o in options)],
        [
            "takes at least",
            *(
                f"{duration(o.least_seconds)}, one node at a time" if o.least_seconds is not None else NONE
                for o in options
            ),
        ],
    ]
    for title, name in _PODS:
        rows.append([title, *(counted(n, "pod") if (n := len(getattr(o, name))) else NONE for o in options)])
    rows.append(["rollback", *(o.way_back for o in options)])
    return columns, rows


def update_of(handoff: HandOff) -> Option | None:
    """The managed node group's own update, or None where the group has none."""
    return next((option for option in handoff.instead if option.way is Way.GROUP_UPDATE), None)


def pods_of(option: Option) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each list of pods that is not empty, with the update's effect on them."""
    said = (
        ("it fails after 15 minutes (PodEvictionFailure), as long as nothing changes, at", option.stopped_by),
        ("it fails, unless they are gone in 15 minutes, at", option.may_be_stopped_by),
        ("it evicts without a question, though this plan leaves them to you,", option.unasked),
        ("it meets, and this plan cannot say what then,", option.not_judged),
    )
    return tuple((text, pods) for text, pods in said if pods)


def _short(handoff: HandOff, look: Look) -> list[str]:
    lines = [look.paint(cut(f"  {shown(head(handoff), look)}", look.columns, look), Tone.TITLE)]
    said = [("new nodes", step.text) for step in handoff.arrive] if handoff.nodes else []
    said += [("old nodes", step.text) for step in handoff.leave]
    if (update := update_of(handoff)) is not None:
        said.append(("its own update", _meets(update)))
    for what, text in said:  # Only the first sentence, without the explanation after a semicolon.
        opening = text.split(". ")[0].rstrip(".").split("; ")[0]
        lines.append(cut(shown(f"{_MARGIN}{what}: {opening}", look), look.columns, look))
    return lines


def _meets(update: Option) -> str:
    """What the group's own update would do with the pods that this plan does not evict."""
    counts = (
        ("would fail at", len(update.stopped_by)),
        ("might fail at", len(update.may_be_stopped_by)),
        ("would evict unasked", len(update.unasked)),
        ("is not judged for", len(update.not_judged)),
    )
    said = [f"{text} {counted(count, 'pod')}" for text, count in counts if count]
    return joined(said) if said else "meets no pod that this plan leaves"


def _paragraph(handoff: HandOff, look: Look) -> list[str]:
    lines = [look.paint(t, Tone.TITLE) for t in wrapped(head(handoff), look, "  ", _MARGIN)]

    def say(*texts: str) -> None:
        for text in texts:
            lines.extend(wrapped(text, look, _MARGIN, _MARGIN + "  "))

    if handoff.kept:
        say(f"not in full: {', '.join(handoff.kept)}")
    for opening, steps in (("new", handoff.arrive), ("old", handoff.leave)):
        for step in steps:
            say(f"{opening} nodes: {step.text}")
            lines += [command_line(command, look) for command in step.commands]
    say(*(f"! {caution}." for caution in handoff.beware))
    update = update_of(handoff)
    if update is not None:
        say(f"Its own update instead: nodes added at once {_surge(update)}; {update.order}.")
        say(*(f"- {text} {counted(len(pods), 'pod')}: {', '.join(pods)}" for text, pods in pods_of(update)))
        lines += ["", *plain(*comparison(handoff.instead), look, indent=len(_MARGIN), fit=False), ""]
        say(*(f"nodes added by {WAYS[each.way].lower()}: {each.surge_why}" for each in handoff.instead))
    return lines


def _surge(option: Option) -> str:
    if option.surge is None:
        return "unknown"
    return f"up to {option.surge}" if option.way is Way.GROUP_UPDATE else str(option.surge)


# Markdown: a group's steps; folded: cautions, and for a managed group the methods compared.


def written(handoffs: Sequence[HandOff], most: int) -> Written:
    lines = [line for handoff in handoffs[:most] for line in _handed_off(handoff, most)]
    return Written(TITLE, [*lines, "", *more(len(handoffs) - most, "groups of nodes")] if lines else [])


def _handed_off(handoff: HandOff, most: int) -> list[str]:
    lines = ["", f"#### {escape(head(handoff))}", ""]
    for title, steps in (("New nodes", handoff.arrive), ("Old nodes", handoff.leave)):
        for step in steps:
            lines.append(f"- *{title}*: {escape(step.text)}")
            if step.commands:
                lines += ["", *(f"  {line}" for line in block(step.commands[:most])), ""]
            lines += [f"  {line}\n" for line in more(len(step.commands) - most, "commands")]
    beware = [f"- {escape(text)}." for text in handoff.beware]
    lines += ["", *folded(f"{len(beware)} to beware of", beware)] if beware else []
    update = update_of(handoff)
    if update is None:
        return lines
    lines += ["", *table(*comparison(handoff.instead)), ""]
    lines += [f"- nodes added by {WAYS[o.way].lower()}: {escape(o.surge_why)}" for o in handoff.instead]
    for text, pods in pods_of(update):
        names = ", ".join(code(pod) for pod in pods[:most])
        rest = "".join(f" {line}" for line in more(len(pods) - most, "pods"))
        lines.append(f"- the group's own update: {escape(text)} {counted(len(pods), 'pod')}: {names}{rest}")
    return lines
