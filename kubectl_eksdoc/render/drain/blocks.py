"""Findings as paragraphs for a terminal: what is wrong, on what, and the commands that mend it."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.core.model.findings import When
from kubectl_eksdoc.render.drain.groups import Advice, Group
from kubectl_eksdoc.render.drain.verdict import STATUS_SIGN
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.text import counted, listing, shown, wrap

_NAMES = 6
_EVIDENCE = 4
_COMMANDS = 3
_MARGIN = "    "
_WHEN_WIDTH = len(When.TOMORROW.value) + 1


def block(group: Group, look: Look, full: bool = False) -> list[str]:
    """Head, message and remedies; `full` adds the evidence and leaves no name, message or command out."""
    lines = [*head(group, look, full)]
    messages = group.messages if full else group.messages[:1]
    for message in messages:
        lines += _paragraph(message, look)
    if len(messages) < len(group.messages):
        lines += _paragraph(f"(and {len(group.messages) - 1} more like it: -o wide)", look)
    if full:
        for text in group.evidence:
            lines += _paragraph(f"- {text}", look)
    elif group.evidence:
        lines += _paragraph(listing(group.evidence, _EVIDENCE, look, "; "), look)
    if group.first.missing:
        lines += _paragraph(f"missing: {group.first.missing}", look)
    return lines + remedies(group.remedies, look, full)


def head(group: Group, look: Look, full: bool = False) -> list[str]:
    """Sign, code, severity and subject, and the nodes it holds up."""
    text = _about(group, look, full)
    nodes = [node for node in group.nodes if node not in group.names]
    if nodes:
        text += f"; on {listing(nodes, len(nodes) if full else _NAMES, look)}"
    tone = STATUS_SIGN[group.first.status][1]
    lines = wrap(shown(text, look), look.columns, rest=_MARGIN)
    return [look.paint(lines[0], tone), *lines[1:]]


def line(group: Group, look: Look) -> list[str]:
    """Subject and message in one wrapped line, and what an unknown lacks."""
    missing = f"; missing: {group.first.missing}" if group.first.missing else ""
    text = f"{_about(group, look, full=False)}: {group.first.message}{missing}"
    lines = wrap(shown(text, look), look.columns, rest=_MARGIN)
    return [look.paint(lines[0][:1], STATUS_SIGN[group.first.status][1]) + lines[0][1:], *lines[1:]]


def _about(group: Group, look: Look, full: bool) -> str:
    first = group.first
    text = f"{STATUS_SIGN[first.status][0]} {first.code.name} ({first.severity.value}): {group.about}"
    if not group.listed:
        return text
    names = listing(group.listed, len(group.listed) if full else _NAMES, look)
    return f"{text} ({names})"


def _paragraph(text: str, look: Look) -> list[str]:
    return wrap(shown(text, look), look.columns, first=_MARGIN)


def remedies(each: Sequence[Advice], look: Look, full: bool = False) -> list[str]:
    """Tonight's first. A command is a line of its own that is never broken, so that it can be copied."""
    lines: list[str] = []
    for when in When:
        for remedy, commands in each:
            if remedy.when is not when:
                continue
            opening = _MARGIN + f"{when.value}:".ljust(_WHEN_WIDTH) + " "
            text = wrap(shown(remedy.text, look), look.columns, first=opening)
            lines += [look.paint(text[0][: len(opening)], Tone.TITLE) + text[0][len(opening) :], *text[1:]]
            kept = commands if full else commands[:_COMMANDS]
            lines += [command_line(command, look) for command in kept]
            if len(kept) < len(commands):
                more = f"{look.ellipsis} and {counted(len(commands) - len(kept), 'command')} more like it (-o wide)"
                lines.append(_MARGIN * 2 + more)
    return lines


def command_line(command: str, look: Look) -> str:
    """A line end in a command would run what stands behind it when it is pasted: it is escaped like all else."""
    return _MARGIN * 2 + shown(command, look)
