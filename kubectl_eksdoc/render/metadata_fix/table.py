"""``-o table`` and ``-o wide``: what will be done and the way back; or what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kubectl_eksdoc.drain.run.stages import Stage
from kubectl_eksdoc.imds_probe.fixes.fix import Blast
from kubectl_eksdoc.imds_probe.run import Became, Done, Part
from kubectl_eksdoc.model.metadata import Act, OnClass, OnInstances, OnTemplate
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.metadata_fix import FixView
from kubectl_eksdoc.render.tables import MARGIN, Cell, Column, Drawn, Row, Title, drawn, more, titled
from kubectl_eksdoc.render.text import counted, duration, joined, shown, wrap

# A fix in sentences.


def head(act: Act) -> str:
    """What is done, a clause."""
    match act:
        case OnInstances(each):
            hops = sorted({one.hop_limit for one in each})
            return f"a hop limit of {' or '.join(map(str, hops))} for {counted(len(each), 'running instance')}"
        case OnTemplate() if act.to:
            return f"version {act.to} of launch template {act.id}, as before the fix, for {act.group}"
        case OnTemplate():
            return f"a hop limit of {act.hop_limit} in a new version of launch template {act.id} for {act.group}"
        case OnClass():
            limit = "no hop limit" if act.hop_limit is None else f"a hop limit of {act.hop_limit}"
            return f"{limit} in EC2NodeClass {act.name}"


def action(act: Act) -> str:
    """As it is typed back for: ``change 3 nodes``, ``replace 3 nodes``."""
    return "change" if isinstance(act, OnInstances) else "replace"


def reach(blast: Blast) -> str:
    """``replaces 3 nodes, evicts 12 pods``."""
    found = []
    if blast.nodes:
        found.append(f"replaces {counted(blast.nodes, 'node')}")
    if blast.pods:
        found.append(f"{'evicts' if blast.nodes else 'restarts'} {counted(blast.pods, 'pod')}")
    if blast.instances:
        found.append(f"changes {counted(blast.instances, 'instance')}")
    return ", ".join(found) or "moves nothing"


def verdict(view: FixView) -> str:
    """One sentence without its full stop."""
    what = head(view.act)
    what = what[:1].upper() + what[1:]
    if view.done is None:
        return f"{what}: nothing was changed{'' if view.forbidden else ' yet'}"
    return f"{what}: {_came_of(view.done)}"


def _came_of(done: Done) -> str:
    if done.stage in (Stage.FAILED, Stage.CANCELLED):
        return (
            f"EKS has {'not brought the update to its end' if done.stage is Stage.FAILED else 'cancelled the update'}"
        )
    counts = [f"{len(done.of(each))} {each.value}" for each in Became if done.of(each)]
    if len(counts) == 1 and done.whole:
        return "done" if done.of(Became.DONE) else counts[0]
    return joined(counts)


def proof(done: Done) -> str:
    """By what it is known, a sentence."""
    if done.proofs:
        return "Asked from pods on the nodes:"
    return "That is what AWS or the API server says of it now; no pod was asked."


def commands(lines: Sequence[str], look: Look, most: int = 0) -> Iterator[str]:
    """Each is one line, however long; with `most`, the first ones."""
    kept = lines[:most] if most and len(lines) > most + 1 else lines
    for line in kept:
        yield MARGIN * 2 + shown(line, look)
    if len(kept) < len(lines):
        yield f"{MARGIN * 2}{look.ellipsis} and {len(lines) - len(kept)} more (-o wide)"


_TONES = {
    Became.DONE: Tone.GOOD,
    Became.AS_BEFORE: Tone.WARN,
    Became.PENDING: Tone.WARN,
    Became.OTHER: Tone.BAD,
    Became.SET_BACK: Tone.WARN,
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
    first = [look.paint(line, Tone.TITLE) for line in wrap(shown(f"{verdict(view)}.", look), look.columns)]
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
    for text in dict.fromkeys(f"{reach(each.blast)}: {each.blast.how}; {each.lasts}." for each in view.fixes):
        yield from _wrapped(text[:1].upper() + text[1:], look)


def _back(view: FixView, look: Look, full: bool) -> list[str]:
    return titled(Title("Rollback"), list(commands(view.back, look, 0 if full else _MOST)), look)


def _after(view: FixView, done: Done, look: Look, full: bool) -> Iterator[list[str]]:
    yield drawn(Title("Result"), _parts(done.parts), look, full)
    yield titled(Title("What EKS says"), list(_of_eks(done, look)), look)
    yield drawn(Title("The nodes of the group now"), _parts(done.nodes), look, full) if done.nodes else []
    proved = wrap(shown(proof(done), look), look.columns)
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
