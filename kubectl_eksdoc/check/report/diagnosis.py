"""Diagnosis of a symptom in the report: five lines for the likeliest cause, one line for each of the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kubectl_eksdoc.model.findings import Finding, Remedy
from kubectl_eksdoc.report.report import Line, Lines, Section, as_it_is
from kubectl_eksdoc.report.text import MARGIN, Title, Tone, counted, sentences

from ..rollback import UNDO

if TYPE_CHECKING:  # manifests alone have no symptoms
    from ..symptoms import Suspect, SymptomDiagnosis

_MOST = 4
"""Suspects that a page shows after the first."""
_UNKNOWN = 3
_COMMAND = MARGIN
"""The beginning of a line of `five_lines` that is a command."""
_TOOLS = ("kubectl ", "aws ")


def diagnosis(found: SymptomDiagnosis, full: bool) -> Iterator[Section]:
    if found.suspects:
        evidence = (f"- {each}" for each in found.suspects[0].evidence) if full else ()
        first, *rest = _lines((*five(found.suspects[0]), *evidence), 0)
        yield Lines(None, [first._replace(tone=Tone.BAD), *rest])
    else:
        yield Lines(None, [Line(f"Nothing was found that explains {found.symptom.value}.", 0)])
    others = found.suspects[1:] if full else found.suspects[1 : _MOST + 1]
    yield Lines("Next likely", list(_next(others, full)), left_out=len(found.suspects[1:]) - len(others))
    kept = found.unknown if full else found.unknown[:_UNKNOWN]
    title = Title(f"Not known: {counted(len(found.unknown), 'answer')}")
    yield Lines(title, list(map(_not_known, kept)), left_out=len(found.unknown) - len(kept))
    short = bool(found.suspects) and not full
    yield Lines("Where to look next", list(_elsewhere(found.elsewhere[:1] if short else found.elsewhere)))


def five(suspect: Suspect) -> Iterator[str]:
    """The lines Most likely, On, Because, Do and Undo; also for tickets."""
    where = f"{suspect.subject.kind} {suspect.subject}"
    yield f"Most likely: {suspect.what} ({suspect.code})"
    yield f"On: {where}, {suspect.severity.value}"
    yield sentences(f"Because: {suspect.because}")
    if suspect.do is None:
        yield "Do: nothing is proposed; check it first."
    else:
        yield f"Do: {suspect.do.text}"
        if suspect.do.command:
            yield f"{_COMMAND}{suspect.do.command}"
    yield suspect.undo if suspect.undo.startswith(UNDO) else f"{UNDO}{suspect.undo}"


def pasted(line: str) -> tuple[str, str]:
    """The text of a line of `five_lines`, and the command in it."""
    if line.startswith(_COMMAND):
        return "", line.strip()
    undo = line.removeprefix(UNDO)
    return (UNDO, undo) if undo != line and undo.startswith(_TOOLS) else (line, "")


def _lines(texts: Iterable[str], indent: int) -> Iterator[Line]:
    """Commands stay on one line."""
    return (Line(text, indent, whole=text.startswith((_COMMAND, UNDO))) for text in texts)


def _next(others: tuple[Suspect, ...], full: bool) -> Iterator[Line | str]:
    for number, each in enumerate(others, 2):
        if full:
            yield f"{number}. {each.what} ({each.code})"
            yield from _lines(list(five(each))[1:], 4)
        else:
            yield Line(f"{number}. {each.what} ({each.subject.kind} {each.subject}): {each.because}", hang=4)


def _not_known(found: Finding) -> str:
    """The message, with the missing data unless the message contains it."""
    missing = f" (missing: {found.missing})" if found.missing and found.missing not in found.message else ""
    return f"? {found.message}{missing}"


def _elsewhere(where: Iterable[Remedy]) -> Iterator[Line | str]:
    for each in where:
        yield f"- {each.text}"
        if each.command:
            yield as_it_is(each.command, 4)
