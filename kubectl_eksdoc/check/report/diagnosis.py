"""Diagnosis of a symptom in the report: five lines for the likeliest cause, one line for each of the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kubectl_eksdoc.model.findings import Finding, Remedy
from kubectl_eksdoc.report.report import Line, Section, TextBlock, verbatim_line
from kubectl_eksdoc.report.text import MARGIN, Title, Tone, join_sentences, pluralize

from ..rollback import UNDO

if TYPE_CHECKING:  # manifests alone have no symptoms
    from ..symptoms import Suspect, SymptomDiagnosis

_MAX_SUSPECTS = 4
"""Suspects that a page shows after the first."""
_MAX_UNKNOWN = 3
_COMMAND_INDENT = MARGIN
"""The beginning of a line of `five_lines` that is a command."""
_TOOLS = ("kubectl ", "aws ")


def diagnosis_sections(diagnosis: SymptomDiagnosis, full: bool) -> Iterator[Section]:
    if diagnosis.suspects:
        evidence = (f"- {each}" for each in diagnosis.suspects[0].evidence) if full else ()
        first, *rest = _lines((*five_lines(diagnosis.suspects[0]), *evidence), 0)
        yield TextBlock(None, [first._replace(tone=Tone.BAD), *rest])
    else:
        yield TextBlock(None, [Line(f"Nothing was found that explains {diagnosis.symptom.value}.", 0)])
    other_suspects = diagnosis.suspects[1:] if full else diagnosis.suspects[1 : _MAX_SUSPECTS + 1]
    yield TextBlock(
        "Next likely",
        list(_next_suspects(other_suspects, full)),
        omitted=len(diagnosis.suspects[1:]) - len(other_suspects),
    )
    unknown_shown = diagnosis.unknown if full else diagnosis.unknown[:_MAX_UNKNOWN]
    title = Title(f"Not known: {pluralize(len(diagnosis.unknown), 'answer')}")
    yield TextBlock(title, list(map(_unknown_line, unknown_shown)), omitted=len(diagnosis.unknown) - len(unknown_shown))
    is_short = bool(diagnosis.suspects) and not full
    yield TextBlock(
        "Where to look next", list(_next_places(diagnosis.elsewhere[:1] if is_short else diagnosis.elsewhere))
    )


def five_lines(suspect: Suspect) -> Iterator[str]:
    """The lines Most likely, On, Because, Do and Undo; also for tickets."""
    subject = f"{suspect.subject.kind} {suspect.subject}"
    yield f"Most likely: {suspect.what} ({suspect.code})"
    yield f"On: {subject}, {suspect.severity.value}"
    yield join_sentences(f"Because: {suspect.because}")
    if suspect.do is None:
        yield "Do: nothing is proposed; check it first."
    else:
        yield f"Do: {suspect.do.text}"
        if suspect.do.command:
            yield f"{_COMMAND_INDENT}{suspect.do.command}"
    yield suspect.undo if suspect.undo.startswith(UNDO) else f"{UNDO}{suspect.undo}"


def split_command(line: str) -> tuple[str, str]:
    """The text of a line of `five_lines`, and the command in it."""
    if line.startswith(_COMMAND_INDENT):
        return "", line.strip()
    undo = line.removeprefix(UNDO)
    return (UNDO, undo) if undo != line and undo.startswith(_TOOLS) else (line, "")


def _lines(texts: Iterable[str], indent: int) -> Iterator[Line]:
    """Commands stay on one line."""
    return (Line(text, indent, verbatim=text.startswith((_COMMAND_INDENT, UNDO))) for text in texts)


def _next_suspects(others: tuple[Suspect, ...], full: bool) -> Iterator[Line | str]:
    for number, suspect in enumerate(others, 2):
        if full:
            yield f"{number}. {suspect.what} ({suspect.code})"
            yield from _lines(list(five_lines(suspect))[1:], 4)
        else:
            yield Line(
                f"{number}. {suspect.what} ({suspect.subject.kind} {suspect.subject}): {suspect.because}", hang=4
            )


def _unknown_line(finding: Finding) -> str:
    """The message, with the missing data unless the message contains it."""
    missing = f" (missing: {finding.missing})" if finding.missing and finding.missing not in finding.message else ""
    return f"? {finding.message}{missing}"


def _next_places(remedies: Iterable[Remedy]) -> Iterator[Line | str]:
    for remedy in remedies:
        yield f"- {remedy.text}"
        if remedy.command:
            yield verbatim_line(remedy.command, 4)
