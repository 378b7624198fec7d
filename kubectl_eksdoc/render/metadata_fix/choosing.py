"""The fixes to choose from, below a probe: one line for each, and with ``-o wide`` all that is known of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kubectl_eksdoc.core.model.findings import When
from kubectl_eksdoc.core.plan.metadata.fixes.fix import Choice, Fix
from kubectl_eksdoc.core.plan.metadata.groups import NodesAlike
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.metadata_fix import words
from kubectl_eksdoc.render.sections import MARGIN, Title, drawn, titled
from kubectl_eksdoc.render.tables import Cell, Column, Row
from kubectl_eksdoc.render.text import shown, wrap

Offered = Sequence[tuple[NodesAlike, Choice]]
_TITLE = Title("What can be done", ": for each group, what moves least first")


def to_choose(offered: Offered, look: Look, full: bool) -> list[list[str]]:
    """Sections; none where there is nothing to choose."""
    rows = [row for alike, choice in offered for row in _rows(alike, choice if full else _least(choice))]
    more = sum(len(choice.fixes) for _, choice in offered) - len(rows)
    columns = [
        Column("GROUP", floor=8, middle=True),
        Column("FIX"),
        Column("WHEN"),
        Column("NODES", right=True),
        Column("PODS", right=True),
        Column("INSTANCES", right=True, short="INST."),
        Column("BY", drop=1),
    ]
    table = drawn(_TITLE, (columns, rows), look, full) if rows else []
    said = [line for alike, choice in offered for line in _cannot(alike, choice, look)] if full or not rows else []
    first = table + said if table else titled(_TITLE, said, look)
    return [first, *_whole(offered, look)] if full else [first, _below(rows, more, look)]


def _least(choice: Choice) -> Choice:
    """What moves least."""
    return replace(choice, fixes=choice.fixes[:1])


def _rows(alike: NodesAlike, choice: Choice) -> Iterator[Row]:
    for each in choice.fixes:
        blast = each.blast
        yield [
            alike.label,
            Cell(each.name, Tone.TITLE),
            Cell(each.when.value, Tone.GOOD if each.when is When.TONIGHT else None),
            *(str(count or "-") for count in (blast.nodes, blast.pods, blast.instances)),
            "--apply" if each.act is not None else "you",
        ]


def _cannot(alike: NodesAlike, choice: Choice, look: Look) -> Iterator[str]:
    """That there never was a service on some nodes is said above."""
    if alike.now.options is None and not choice.fixes:
        return
    for why in choice.cannot:
        yield from wrap(shown(f"{alike.label}: {why}", look), look.columns, MARGIN, MARGIN * 2)


def _below(rows: Sequence[Row], more: int, look: Look) -> list[str]:
    if not rows:
        return []
    others = f"{more} more fixes, commands" if more else "Commands"
    text = f"{others}, way back and cautions: -o wide. To have one carried out: --apply --fix FIX [--nodegroup GROUP]"
    return wrap(text, look.columns)


def _whole(offered: Offered, look: Look) -> Iterator[list[str]]:
    """A caution is said where it comes first."""
    said: set[str] = set()
    for alike, choice in offered:
        for each in choice.fixes:
            rest = f" for {alike.label}: {each.when.value}, {words.reach(each.blast)}"
            cautions = [caution for caution in each.cautions if caution not in said]
            said |= {*cautions}
            yield titled(Title(each.name, rest), list(_body(each, cautions, look)), look)


def _body(each: Fix, cautions: Sequence[str], look: Look) -> Iterator[str]:
    for text in (f"{each.does}.", f"{_capital(each.blast.how)}; {each.lasts}."):
        yield from wrap(shown(text, look), look.columns, MARGIN, MARGIN * 2)
    yield from commands(each.commands, look)
    if each.back:
        yield f"{MARGIN}The way back:"
        yield from commands(each.back, look)
    for caution in cautions:
        yield from wrap(shown(f"- {caution}", look), look.columns, MARGIN, MARGIN * 2)


def commands(lines: Sequence[str], look: Look, most: int = 0) -> Iterator[str]:
    """Each is one line, however long; with `most`, the first ones."""
    kept = lines[:most] if most and len(lines) > most + 1 else lines
    for line in kept:
        yield MARGIN * 2 + shown(line, look)
    if len(kept) < len(lines):
        yield f"{MARGIN * 2}{look.ellipsis} and {len(lines) - len(kept)} more (-o wide)"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
