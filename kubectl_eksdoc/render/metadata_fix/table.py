"""``-o table`` and ``-o wide``: what will be done and the way back; or what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubectl_eksdoc.core.model.metadata_acts import OnInstances
from kubectl_eksdoc.core.run.metadata.became import Became, Done, Part
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.metadata_fix import words
from kubectl_eksdoc.render.metadata_fix.choosing import commands
from kubectl_eksdoc.render.metadata_fix.view import FixView
from kubectl_eksdoc.render.sections import MARGIN, Drawn, Title, drawn, more, titled
from kubectl_eksdoc.render.tables import Cell, Column, Row
from kubectl_eksdoc.render.text import shown, wrap
from kubectl_eksdoc.render.times import duration

_TONES = {
    Became.DONE: Tone.GOOD,
    Became.AS_BEFORE: Tone.WARN,
    Became.PENDING: Tone.WARN,
    Became.OTHER: Tone.BAD,
    Became.GONE: Tone.FAINT,
    Became.UNKNOWN: Tone.UNKNOWN,
}
_MOST = 4


def table(view: FixView, look: Look) -> str:
    return _text(view, look, full=False)


def wide(view: FixView, look: Look) -> str:
    """Nothing is cut and no column dropped, so lines may be wider than the terminal."""
    return _text(view, look, full=True)


def _text(view: FixView, look: Look, full: bool) -> str:
    first = [look.paint(line, Tone.TITLE) for line in wrap(shown(f"{words.verdict(view)}.", look), look.columns)]
    rest = _before(view, look, full) if view.done is None else _after(view, view.done, look, full)
    return "\n\n".join("\n".join(lines) for lines in (first, *rest) if lines) + "\n"


def _before(view: FixView, look: Look, full: bool) -> Iterator[list[str]]:
    most = 0 if full else _MOST
    if isinstance(view.act, OnInstances):
        lines = [line for one in view.act.each for line in _wrapped(str(one), look)]
    else:
        lines = [line for each in view.fixes for line in _wrapped(f"{each.does}.", look)]
    yield titled(Title("What is done"), _some(lines, most * 3, look), look)
    yield titled(Title("What it moves"), list(_moves(view, look)), look)
    by_hand = [line for each in view.fixes for line in each.commands]
    yield titled(Title("The same by hand"), list(commands(by_hand, look, most)), look)
    yield _back(view, look, full)
    cautions = dict.fromkeys(caution for each in view.fixes for caution in each.cautions)
    yield titled(Title("Mind"), [line for each in cautions for line in _wrapped(f"- {each}", look)], look)
    yield titled(Title("The dry run"), [line for each in view.tried for line in _wrapped(f"- {each}", look)], look)
    yield titled(Title("Nothing is done"), _wrapped(view.forbidden, look) if view.forbidden else [], look)


def _moves(view: FixView, look: Look) -> Iterator[str]:
    for text in dict.fromkeys(f"{words.reach(each.blast)}: {each.blast.how}; {each.lasts}." for each in view.fixes):
        yield from _wrapped(text[:1].upper() + text[1:], look)


def _back(view: FixView, look: Look, full: bool) -> list[str]:
    return titled(Title("The way back"), list(commands(view.back, look, 0 if full else _MOST)), look)


def _after(view: FixView, done: Done, look: Look, full: bool) -> Iterator[list[str]]:
    yield drawn(Title("What came of it"), _parts(done.parts), look, full)
    yield titled(Title("What EKS says"), list(_of_eks(done, look)), look)
    yield drawn(Title("The nodes of the group now"), _parts(done.nodes), look, full) if done.nodes else []
    proved = wrap(shown(words.proof(done), look), look.columns)
    if done.proofs:
        yield drawn(Title("From pods"), _parts(done.proofs), look, full)
    else:
        yield proved + ([f"{MARGIN}{shown(view.from_pod, look)}"] if view.from_pod else [])
    yield _back(view, look, full)
    said = wrap(f"Fix {view.run}, {duration(done.seconds)}.", look.columns) if view.run else []
    yield [*said, *([shown(f"Journal: {view.journal}", look)] if view.journal else [])]


def _of_eks(done: Done, look: Look) -> Iterator[str]:
    for error in done.errors:
        yield from _wrapped(f"{error.code}: {error.message}", look)
    if done.left:
        yield from _wrapped(f"It is followed no longer: {done.left}.", look)


def _parts(parts: Iterable[Part]) -> Drawn:
    columns = [Column("WHAT", floor=20, middle=True), Column("NOW"), Column("AS", floor=10)]
    rows: list[Row] = [[each.what, Cell(each.became.value, _TONES[each.became]), each.why or "-"] for each in parts]
    return columns, rows


def _wrapped(text: str, look: Look) -> list[str]:
    return wrap(shown(text, look), look.columns, MARGIN, MARGIN * 2)


def _some(lines: list[str], most: int, look: Look) -> list[str]:
    if not most or len(lines) <= most + 1:
        return lines
    return [*lines[:most], *more(len(lines) - most, look)]
