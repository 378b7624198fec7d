"""What may cause a symptom, on a screen: five lines for the likeliest, one for each that is next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubectl_eksdoc.check.undoing import UNDO
from kubectl_eksdoc.model.findings import Finding, Remedy
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.tables import MARGIN, Title, more, titled
from kubectl_eksdoc.render.text import counted, sentences, shown, wrap

if TYPE_CHECKING:  # manifests alone have no symptoms
    from kubectl_eksdoc.check.symptoms import Diagnosis, Suspect

_MOST = 4
"""Suspects after the first that a page shows."""
_UNKNOWN = 3
COMMAND = MARGIN
"""What a line of `five` begins with that is to be pasted."""


def diagnosis(found: Diagnosis | None, look: Look, full: bool) -> list[str]:
    """None where no symptom was named."""
    if found is None:
        return []
    lines = [line for text in _texts(found, full) for line in _lines(text, look)]
    if found.suspects:
        lines[0] = look.paint(lines[0], Tone.BAD)
    return [
        *lines,
        *_next(found, look, full),
        *_unknown(found, look, full),
        *_elsewhere(found.elsewhere, look, bool(found.suspects) and not full),
    ]


def _texts(found: Diagnosis, full: bool) -> Iterator[str]:
    if not found.suspects:
        yield f"Nothing was found that explains {found.symptom.value}."
        return
    yield from five(found.suspects[0])
    if full:
        for each in found.suspects[0].evidence:
            yield f"- {each}"


def five(suspect: Suspect) -> Iterator[str]:
    """Most likely, on what, because, do, undo: also what a ticket says."""
    where = f"{suspect.subject.kind} {suspect.subject}"
    yield f"Most likely: {suspect.what} ({suspect.code})"
    yield f"On: {where}, {suspect.severity.value}"
    yield sentences(f"Because: {suspect.because}")
    if suspect.do is None:
        yield "Do: nothing is proposed; check it first."
    else:
        yield f"Do: {suspect.do.text}"
        if suspect.do.command:
            yield f"{COMMAND}{suspect.do.command}"
    yield suspect.undo if suspect.undo.startswith(UNDO) else f"{UNDO}{suspect.undo}"


def _lines(text: str, look: Look, margin: str = "") -> list[str]:
    """What is to be pasted stays on one line."""
    if text.startswith((COMMAND, UNDO)):
        return [f"{margin}{shown(text, look)}"]
    return wrap(shown(text, look), look.columns, margin, margin + MARGIN)


def _next(found: Diagnosis, look: Look, full: bool) -> list[str]:
    others = found.suspects[1:]
    kept = others if full else others[:_MOST]
    lines: list[str] = []
    for number, each in enumerate(kept, 2):
        if full:
            lines += _lines(f"{number}. {each.what} ({each.code})", look, MARGIN)
            lines += [line for text in list(five(each))[1:] for line in _lines(text, look, MARGIN * 2)]
        else:
            text = f"{number}. {each.what} ({each.subject.kind} {each.subject}): {each.because}"
            lines += wrap(shown(text, look), look.columns, MARGIN, MARGIN * 3)
    return _titled("Next likely", [*lines, *more(len(others) - len(kept), look)], look)


def _unknown(found: Diagnosis, look: Look, full: bool) -> list[str]:
    kept = found.unknown if full else found.unknown[:_UNKNOWN]
    lines = [line for each in kept for line in wrap(shown(_not_known(each), look), look.columns, MARGIN, MARGIN * 2)]
    lines += more(len(found.unknown) - len(kept), look)
    return _titled(f"Not known: {counted(len(found.unknown), 'answer')}", lines, look)


def _not_known(found: Finding) -> str:
    """With what is missing, unless the message names it already."""
    missing = f" (missing: {found.missing})" if found.missing and found.missing not in found.message else ""
    return f"? {found.message}{missing}"


def _elsewhere(where: tuple[Remedy, ...], look: Look, short: bool) -> list[str]:
    lines: list[str] = []
    for each in where[:1] if short else where:
        lines += wrap(shown(f"- {each.text}", look), look.columns, MARGIN, MARGIN * 2)
        if each.command:
            lines.append(f"{MARGIN * 2}{shown(each.command, look)}")
    return _titled("Where to look next", lines, look)


def _titled(title: str, lines: list[str], look: Look) -> list[str]:
    return ["", *titled(Title(title), lines, look)] if lines else []
