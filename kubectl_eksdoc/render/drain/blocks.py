"""Findings as paragraphs for a terminal: what is wrong, on what, and the commands that mend it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kubectl_eksdoc.model.findings import When
from kubectl_eksdoc.render.drain.groups import Advice, Group, evidence
from kubectl_eksdoc.render.drain.invocation import NextStep
from kubectl_eksdoc.render.drain.verdict import STATUS_SIGN
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.report import Line, Lines
from kubectl_eksdoc.render.tables import Title
from kubectl_eksdoc.render.text import shown, wrap

_MARGIN = "    "
_QUOTED = re.compile(r"(?<!\w)'[^']*'(?!\w)")
_JOIN = "\x00"
"""Stands for a space where a line must not break; clean text holds none."""

_WHEN_WIDTH = len(When.LATER.value) + 1


def block(group: Group, look: Look, advice: Sequence[Advice] | None = None) -> list[str]:
    """Head, message, evidence and remedies: no name, message or command is left out.

    `advice` stands in place of the group's own remedies.
    """
    lines = [*head(group, look)]
    for message in group.messages:
        lines += _paragraph(message, look)
    lines += _evidence(group, look)
    if group.first.missing:
        lines += _paragraph(f"missing: {group.first.missing}", look)
    return lines + _remedies(group.remedies if advice is None else advice, look)


def head(group: Group, look: Look) -> list[str]:
    """Sign, code, severity and subject, and the nodes it holds up."""
    tone = STATUS_SIGN[group.first.status][1]
    lines = wrap(shown(_about(group) + _on(group), look), look.columns, rest=_MARGIN)
    return [look.paint(lines[0], tone), *lines[1:]]


def _evidence(group: Group, look: Look) -> list[str]:
    """One line each, the rest counted."""
    lines, more = evidence(group)
    texts = [*lines, *([f"{look.ellipsis} and {more} more"] if more else [])]
    return [text for each in texts for text in wrap(shown(f"- {each}", look), look.columns, _MARGIN, _MARGIN + "  ")]


def _on(group: Group) -> str:
    nodes = [node for node in group.nodes if node not in group.names]
    return f"; on {', '.join(nodes)}" if nodes else ""


def _about(group: Group) -> str:
    first = group.first
    text = f"{STATUS_SIGN[first.status][0]} {first.code.name} ({first.severity.value}): {group.about}"
    return f"{text} ({', '.join(group.listed)})" if group.listed else text


def _paragraph(text: str, look: Look) -> list[str]:
    return wrap(shown(text, look), look.columns, first=_MARGIN)


def _sentences(text: str, look: Look, opening: str) -> list[str]:
    """A wrapped text in which what stands in quotes is not broken, if a line has room for it."""
    room = look.columns - len(opening)

    def whole(match: re.Match[str]) -> str:
        return match[0].replace(" ", _JOIN) if len(match[0]) < room else match[0]

    lines = wrap(_QUOTED.sub(whole, shown(text, look)), look.columns, opening)
    return [each.replace(_JOIN, " ") for each in lines]


def _remedies(each: Sequence[Advice], look: Look) -> list[str]:
    """Those of now first. A command is a line of its own that is never broken, so that it can be copied."""
    lines: list[str] = []
    for when in When:
        for remedy, commands in each:
            if remedy.when is not when:
                continue
            opening = _MARGIN + f"{when.value}:".ljust(_WHEN_WIDTH) + " "
            text = _sentences(remedy.text, look, opening)
            lines += [look.paint(text[0][: len(opening)], Tone.TITLE) + text[0][len(opening) :], *text[1:]]
            lines += [command_line(command, look) for command in commands]
    return lines


def command_line(command: str, look: Look) -> str:
    """A line end in a command would run what stands behind it when it is pasted: it is escaped like all else."""
    return _MARGIN * 2 + shown(command, look)


def step_lines(step: NextStep, look: Look) -> list[str]:
    """What is to be done next, and the command that does it."""
    lines = wrap(shown(step.text + (":" if step.command else "."), look), look.columns, "  ")
    return [*lines, command_line(step.command, look)] if step.command else lines


def to_do(title: Title, steps: Iterable[tuple[str, str]]) -> Lines:
    """A sentence each, and the command that does it."""
    pairs = ((Line(f"- {text}:"), Line(command, 2 * len(_MARGIN), whole=True)) for text, command in steps)
    return Lines(title, [line for pair in pairs for line in pair], "sh")
