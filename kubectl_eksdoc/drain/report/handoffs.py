"""How nodes join and leave after the drain, and the replacement methods compared, for a terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.markdown import (
    code_block,
    code_span,
    collapsible,
    escape_markdown,
    markdown_table,
    omitted_note,
)
from kubectl_eksdoc.report.report import MarkdownBlock, ReportFigure
from kubectl_eksdoc.report.text import (
    Appearance,
    Row,
    TableData,
    Title,
    Tone,
    as_columns,
    format_table,
    join_words,
    pluralize,
    printable,
    truncate,
    wrap_printable,
)

from ..rollover_offers import NodeGroupRollover, ReplacementMethod, ReplacementOption
from .findings import command_line
from .rows import NONE

TITLE = Title("After the drain", ": how new nodes come and old ones leave")

_MAX_LINES = 12
_MARGIN = "    "

METHOD_TITLES = {
    ReplacementMethod.OWN_DRAIN: "THIS DRAIN, IN PLACE",
    ReplacementMethod.GROUP_UPDATE: "THE GROUP'S OWN UPDATE",
    ReplacementMethod.BLUE_GREEN: "THIS DRAIN, BLUE/GREEN",
}

_POD_LISTS = (
    ("stopped at", "stopped_by"),
    ("perhaps stopped at", "may_be_stopped_by"),
    ("evicted without asking", "unasked"),
    ("not judged", "not_judged"),
)
"""Row titles for the fields of a `ReplacementOption` that list pods."""


def section(handoffs: Sequence[NodeGroupRollover], full: bool) -> ReportFigure:
    if full:
        return ReportFigure(TITLE, lambda look, _: full_lines(handoffs, look))
    brief = Title("After the drain", ", in short (commands, cautions: -o wide)")
    return ReportFigure(brief, lambda look, _: summary_lines(handoffs, look))


def full_lines(handoffs: Sequence[NodeGroupRollover], appearance: Appearance) -> list[str]:
    """One paragraph for each owner and node group, complete, with the methods compared."""
    return [text for handoff in handoffs for text in ["", *_paragraph(handoff, appearance)]][1:]


def summary_lines(handoffs: Sequence[NodeGroupRollover], appearance: Appearance) -> list[str]:
    """At most `_MAX_LINES` lines: for each group the number of emptied nodes, and the first sentence of each step.

    If there are more lines, the steps are dropped first, then the last groups.
    """
    lines = [text for handoff in handoffs for text in _summary(handoff, appearance)]
    if len(lines) > _MAX_LINES:
        lines = [text for handoff in handoffs for text in _summary(handoff, appearance)[:1]]
    shown_lines = lines if len(lines) <= _MAX_LINES else lines[: _MAX_LINES - 1]
    if len(shown_lines) < len(lines):
        shown_lines.append(f"  {appearance.ellipsis} and {len(lines) - len(shown_lines)} more groups of nodes")
    return shown_lines


def heading_text(handoff: NodeGroupRollover) -> str:
    """``managed node group blue: 5 of 8 targets emptied in full``."""
    total = len(handoff.nodes) + len(handoff.kept)
    if not handoff.kept:
        return f"{handoff.title}: {'all ' if total > 1 else ''}{pluralize(total, 'target')} emptied"
    return f"{handoff.title}: {len(handoff.nodes) or 'none'} of {pluralize(total, 'target')} emptied in full"


def comparison(options: Sequence[ReplacementOption]) -> TableData:
    """One column for each method, one row for each question."""
    columns = as_columns("", *(METHOD_TITLES[option.way] for option in options))
    rows: list[Row] = [
        ["nodes replaced", *(o.nodes for o in options)],
        ["nodes added at once", *(_surge(o) for o in options)],
        ["order", *(o.order for o in options)],
        ["waits", *(o.waits for o in options)],
        [
            "takes at least",
            *(
                f"{format_duration(o.least_seconds)}, one node at a time" if o.least_seconds is not None else NONE
                for o in options
            ),
        ],
    ]
    for title, name in _POD_LISTS:
        rows.append([title, *(pluralize(n, "pod") if (n := len(getattr(o, name))) else NONE for o in options)])
    rows.append(["rollback", *(o.way_back for o in options)])
    return columns, rows


def group_update(handoff: NodeGroupRollover) -> ReplacementOption | None:
    """The managed node group's own update, or None where the group has none."""
    return next((option for option in handoff.instead if option.way is ReplacementMethod.GROUP_UPDATE), None)


def pods_by_effect(option: ReplacementOption) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each list of pods that is not empty, with the update's effect on them."""
    effects = (
        ("it fails after 15 minutes (PodEvictionFailure), as long as nothing changes, at", option.stopped_by),
        ("it fails, unless they are gone in 15 minutes, at", option.may_be_stopped_by),
        ("it evicts without a question, though this plan leaves them to you,", option.unasked),
        ("it meets, and this plan cannot say what then,", option.not_judged),
    )
    return tuple((text, pods) for text, pods in effects if pods)


def _summary(handoff: NodeGroupRollover, appearance: Appearance) -> list[str]:
    lines = [
        appearance.paint(
            truncate(f"  {printable(heading_text(handoff), appearance)}", appearance.columns, appearance), Tone.TITLE
        )
    ]
    steps = [("new nodes", step.text) for step in handoff.arrive] if handoff.nodes else []
    steps += [("old nodes", step.text) for step in handoff.leave]
    if (update := group_update(handoff)) is not None:
        steps.append(("its own update", _update_effect(update)))
    for label, text in steps:  # Only the first sentence, without the explanation after a semicolon.
        opening = text.split(". ")[0].rstrip(".").split("; ")[0]
        lines.append(truncate(printable(f"{_MARGIN}{label}: {opening}", appearance), appearance.columns, appearance))
    return lines


def _update_effect(update: ReplacementOption) -> str:
    """What the group's own update would do with the pods that this plan does not evict."""
    counts = (
        ("would fail at", len(update.stopped_by)),
        ("might fail at", len(update.may_be_stopped_by)),
        ("would evict unasked", len(update.unasked)),
        ("is not judged for", len(update.not_judged)),
    )
    effects = [f"{text} {pluralize(count, 'pod')}" for text, count in counts if count]
    return join_words(effects) if effects else "meets no pod that this plan leaves"


def _paragraph(handoff: NodeGroupRollover, appearance: Appearance) -> list[str]:
    lines = [appearance.paint(t, Tone.TITLE) for t in wrap_printable(heading_text(handoff), appearance, "  ", _MARGIN)]

    def say(*texts: str) -> None:
        for text in texts:
            lines.extend(wrap_printable(text, appearance, _MARGIN, _MARGIN + "  "))

    if handoff.kept:
        say(f"not in full: {', '.join(handoff.kept)}")
    for opening, steps in (("new", handoff.arrive), ("old", handoff.leave)):
        for step in steps:
            say(f"{opening} nodes: {step.text}")
            lines += [command_line(command, appearance) for command in step.commands]
    say(*(f"! {caution}." for caution in handoff.beware))
    update = group_update(handoff)
    if update is not None:
        say(f"Its own update instead: nodes added at once {_surge(update)}; {update.order}.")
        say(*(f"- {text} {pluralize(len(pods), 'pod')}: {', '.join(pods)}" for text, pods in pods_by_effect(update)))
        lines += ["", *format_table(*comparison(handoff.instead), appearance, indent=len(_MARGIN), fit=False), ""]
        say(*(f"nodes added by {METHOD_TITLES[each.way].lower()}: {each.surge_why}" for each in handoff.instead))
    return lines


def _surge(option: ReplacementOption) -> str:
    if option.surge is None:
        return "unknown"
    return f"up to {option.surge}" if option.way is ReplacementMethod.GROUP_UPDATE else str(option.surge)


# Markdown: a group's steps; folded: cautions, and for a managed group the methods compared.


def written(handoffs: Sequence[NodeGroupRollover], limit: int) -> MarkdownBlock:
    lines = [line for handoff in handoffs[:limit] for line in _markdown_lines(handoff, limit)]
    return MarkdownBlock(TITLE, [*lines, "", *omitted_note(len(handoffs) - limit, "groups of nodes")] if lines else [])


def _markdown_lines(handoff: NodeGroupRollover, limit: int) -> list[str]:
    lines = ["", f"#### {escape_markdown(heading_text(handoff))}", ""]
    for title, steps in (("New nodes", handoff.arrive), ("Old nodes", handoff.leave)):
        for step in steps:
            lines.append(f"- *{title}*: {escape_markdown(step.text)}")
            if step.commands:
                lines += ["", *(f"  {line}" for line in code_block(step.commands[:limit])), ""]
            lines += [f"  {line}\n" for line in omitted_note(len(step.commands) - limit, "commands")]
    beware = [f"- {escape_markdown(text)}." for text in handoff.beware]
    lines += ["", *collapsible(f"{len(beware)} to beware of", beware)] if beware else []
    update = group_update(handoff)
    if update is None:
        return lines
    lines += ["", *markdown_table(*comparison(handoff.instead)), ""]
    lines += [
        f"- nodes added by {METHOD_TITLES[o.way].lower()}: {escape_markdown(o.surge_why)}" for o in handoff.instead
    ]
    for text, pods in pods_by_effect(update):
        names = ", ".join(code_span(pod) for pod in pods[:limit])
        rest = "".join(f" {line}" for line in omitted_note(len(pods) - limit, "pods"))
        lines.append(f"- the group's own update: {escape_markdown(text)} {pluralize(len(pods), 'pod')}: {names}{rest}")
    return lines
