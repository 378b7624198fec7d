"""Findings as paragraphs for a terminal: what is wrong, on what, and the commands that mend it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kubectl_eksdoc.core.model.findings import Status, When
from kubectl_eksdoc.render.drain.evidence import evidence
from kubectl_eksdoc.render.drain.groups import Advice, Group
from kubectl_eksdoc.render.drain.verdict import STATUS_SIGN
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.text import counted, listing, shown, wrap

_NAMES = 6
_EVIDENCE = 4
_COMMANDS = 3
_MARGIN = "    "
_QUOTED = re.compile(r"(?<!\w)'[^']*'(?!\w)")
_JOIN = "\x00"
"""Stands for a space where a line must not break; clean text holds none."""

_WHEN_WIDTH = len(When.TOMORROW.value) + 1


def block(group: Group, look: Look, full: bool = False, advice: Sequence[Advice] | None = None) -> list[str]:
    """Head, message, evidence and remedies; `full` leaves no name, message or command out.

    `advice` stands in place of the group's own remedies.
    """
    lines = [*head(group, look, full)]
    messages = group.messages if full else group.messages[:1]
    for message in messages:
        lines += _paragraph(message, look)
    if len(messages) < len(group.messages):
        lines += _paragraph(f"(and {len(group.messages) - 1} more like it: -o wide)", look)
    lines += _evidence(group, look, full)
    if group.first.missing:
        lines += _paragraph(f"missing: {group.first.missing}", look)
    return lines + remedies(group.remedies if advice is None else advice, look, full)


def head(group: Group, look: Look, full: bool = False) -> list[str]:
    """Sign, code, severity and subject, and the nodes it holds up."""
    text = _about(group, look, full) + _on(group, look, full)
    tone = STATUS_SIGN[group.first.status][1]
    lines = wrap(shown(text, look), look.columns, rest=_MARGIN)
    return [look.paint(lines[0], tone), *lines[1:]]


def line(group: Group, look: Look) -> list[str]:
    """Subject, nodes and message in one wrapped line, and what an unknown lacks."""
    missing = f"; missing: {group.first.missing}" if group.first.missing else ""
    on = _on(group, look, full=False) if group.first.status is Status.FAIL else ""
    text = f"{_about(group, look, full=False)}{on}: {group.first.message}{missing}"
    lines = wrap(shown(text, look), look.columns, rest=_MARGIN)
    return [look.paint(lines[0][:1], STATUS_SIGN[group.first.status][1]) + lines[0][1:], *lines[1:]]


def brief(group: Group, look: Look) -> list[str]:
    """The line, and the first command that helps tonight: for a blocker of a kind that was told in full."""
    commands = [c for remedy, all_of in group.remedies if remedy.when is When.TONIGHT for c in all_of[:1]]
    return line(group, look) + [command_line(command, look) for command in commands[:1]]


def _evidence(group: Group, look: Look, full: bool) -> list[str]:
    """One line each, the rest counted."""
    lines, uncounted = evidence(group)
    kept = lines if full or len(lines) + uncounted <= _EVIDENCE + 1 else lines[:_EVIDENCE]
    more = len(lines) - len(kept) + uncounted
    texts = [*kept, *([f"{look.ellipsis} and {more} more"] if more else [])]
    return [text for each in texts for text in wrap(shown(f"- {each}", look), look.columns, _MARGIN, _MARGIN + "  ")]


def _on(group: Group, look: Look, full: bool) -> str:
    nodes = [node for node in group.nodes if node not in group.names]
    return f"; on {listing(nodes, len(nodes) if full else _NAMES, look)}" if nodes else ""


def _about(group: Group, look: Look, full: bool) -> str:
    first = group.first
    text = f"{STATUS_SIGN[first.status][0]} {first.code.name} ({first.severity.value}): {group.about}"
    if not group.listed:
        return text
    names = listing(group.listed, len(group.listed) if full else _NAMES, look)
    return f"{text} ({names})"


def _paragraph(text: str, look: Look) -> list[str]:
    return wrap(shown(text, look), look.columns, first=_MARGIN)


def _sentences(text: str, look: Look, opening: str) -> list[str]:
    """A wrapped text in which what stands in quotes is not broken, if a line has room for it."""
    room = look.columns - len(opening)

    def whole(match: re.Match[str]) -> str:
        return match[0].replace(" ", _JOIN) if len(match[0]) < room else match[0]

    lines = wrap(_QUOTED.sub(whole, shown(text, look)), look.columns, opening)
    return [each.replace(_JOIN, " ") for each in lines]


def remedies(each: Sequence[Advice], look: Look, full: bool = False) -> list[str]:
    """Tonight's first. A command is a line of its own that is never broken, so that it can be copied."""
    lines: list[str] = []
    for when in When:
        for remedy, commands in each:
            if remedy.when is not when:
                continue
            opening = _MARGIN + f"{when.value}:".ljust(_WHEN_WIDTH) + " "
            text = _sentences(remedy.text, look, opening)
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
