"""``-o table``: one screen for each add-on. ``-o wide``: the same, with what only follows the version, and evidence."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.addon_diff.fields import value_of
from kubectl_eksdoc.addon_diff.modes import Fate, Mode
from kubectl_eksdoc.addon_diff.plan import AddonPlan, WayOut
from kubectl_eksdoc.addon_diff.prediction import FieldChange
from kubectl_eksdoc.addon_diff.schema.changes import changes
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.render.addon import commands, words
from kubectl_eksdoc.render.addon.steps import first_owned, steps
from kubectl_eksdoc.render.addon.view import AddonView
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.since import screen
from kubectl_eksdoc.render.since.screen import marking
from kubectl_eksdoc.render.tables import MARGIN, Cell, Column, Mark, Row, Title, drawn, findings, titled, unmarked
from kubectl_eksdoc.render.text import counted, shown, wrap

_MOST_LINES = 12
_FATES = {
    Fate.RESET: Tone.BAD,
    Fate.REMOVED: Tone.BAD,
    Fate.CONFLICT: Tone.WARN,
    Fate.UNKNOWN: Tone.UNKNOWN,
    Fate.KEPT: Tone.GOOD,
}
_FORMATS = "With evidence, and what only follows the version: -o wide; for a program: -o json"


def table(view: AddonView, look: Look) -> str:
    """Verdict, fields at risk in each mode, findings, the schema's changes, the way out."""
    return _text(view, look, full=False)


def wide(view: AddonView, look: Look) -> str:
    """Nothing is cut and no column dropped, so lines may be wider than the terminal."""
    return _text(view, look, full=True)


def _text(view: AddonView, look: Look, full: bool) -> str:
    found = [screen.section(view.beside, view.cluster.observed_at, look, full, view.tool_version)]
    found += [section for plan in view.plans for section in _of(plan, view, look, full)]
    if not full:
        found.append(wrap(_FORMATS, look.columns))
    return "\n\n".join("\n".join(lines) for lines in found if lines) + "\n"


def _of(plan: AddonPlan, view: AddonView, look: Look, full: bool) -> list[list[str]]:
    name = plan.facts.addon.name
    return [
        *sections(plan, look, full, marking(view.beside)),
        way_out(plan, _commands(plan, look, full), look),
        first_owned(view.since.get(name, ()), look),
        steps(view.steps.get(name, ()), look),
    ]


def sections(plan: AddonPlan, look: Look, full: bool, mark: Mark = unmarked) -> list[list[str]]:
    """All but the way out, which is written in more than one way."""
    risky = [change for change in plan.changes if change.at_risk]
    others = [change for change in plan.changes if not change.at_risk]
    return [
        _summary(plan, look),
        drawn(Title("Fields at risk", _modes(plan)), _table(risky, plan.asked.mode), look, full),
        findings(plan.findings, f" with {plan.asked.mode.value}", look, full, mark=mark),
        drawn(Title("What follows the version"), _table(others, plan.asked.mode), look, full) if full else [],
        _schema(plan, look, full) if plan.facts.installed else [],
    ]


def _summary(plan: AddonPlan, look: Look) -> list[str]:
    lines = [look.paint(line, Tone.TITLE) for line in wrap(shown(words.verdict(plan), look), look.columns)]
    rolls = words.rolls(plan)
    return [*lines, *(wrap(shown(rolls, look), look.columns) if rolls else [])]


def _modes(plan: AddonPlan) -> str:
    return ": what each way to resolve conflicts makes of them"


def _table(changed: list[FieldChange], asked: Mode) -> tuple[list[Column], list[Row]]:
    columns = [
        Column("FIELD", floor=24, middle=True),
        Column("LIVE", floor=8),
        Column("SET BY", floor=8),
        *(Column(mode.value) for mode in Mode),
        Column("SURE", drop=1),
    ]
    return columns, [_row(change, asked) for change in changed]


def _row(change: FieldChange, asked: Mode) -> Row:
    cells = [Cell(words.becomes(change, mode), _FATES.get(change.fate(mode))) for mode in Mode]
    live = value_of(change.live, change.field)
    return [
        words.named(change),
        live,
        ", ".join(change.owners) or "nobody",
        *cells,
        change.confidence(asked).value,
    ]


def _schema(plan: AddonPlan, look: Look, full: bool) -> list[str]:
    facts = plan.facts
    title = Title("Configuration schema", f", {facts.now.version} → {facts.target.version}")
    unknown = [side.schema.why for side in (facts.now, facts.target) if isinstance(side.schema, Unknown)]
    if isinstance(facts.now.schema, Unknown) or isinstance(facts.target.schema, Unknown):
        return titled(
            title, [MARGIN + line for why in unknown for line in wrap(shown(f"? {why}", look), look.columns)], look
        )
    lines = list(changes(facts.now.schema, facts.target.schema).lines) or ["Both versions allow the same."]
    kept = lines if full else lines[:_MOST_LINES]
    texts = [line for each in kept for line in wrap(shown(each, look), look.columns, MARGIN, MARGIN * 2)]
    if len(kept) < len(lines):
        texts.append(f"{MARGIN}{look.ellipsis} and {len(lines) - len(kept)} more (-o wide)")
    return titled(title, texts, look)


def way_out(plan: AddonPlan, taken_by: Sequence[str], look: Look, creates: bool = False) -> list[str]:
    """`taken_by`: lines with which it is taken; left out where it cannot be. `creates`: by a creation of the add-on."""
    way = plan.way_out
    if way is None:
        return []
    lines = [
        MARGIN + line for text in _of_way(way, creates) for line in wrap(shown(text, look), look.columns - len(MARGIN))
    ]
    if way.usable and len(plan.facts.steps) > 1:
        text = f"Not yet: by {plan.facts.steps[0]} first, with the values that are proposed for that (--each-step)."
        return titled(_WAY_OUT, lines + wrap(shown(text, look), look.columns, MARGIN), look)
    return titled(_WAY_OUT, [*lines, *(taken_by if way.usable else ())], look)


def _commands(plan: AddonPlan, look: Look, full: bool) -> list[str]:
    way = plan.way_out
    if way is None:
        return []
    lines = ["", MARGIN + shown(commands.update_addon(plan, way), look)]
    for versions, arguments in commands.terraform(plan, way) if full else ():
        lines += written(f"Terraform, AWS provider {versions}:", arguments, look)
    return lines


def written(head: str, text: str, look: Look) -> list[str]:
    """Lines to be copied as they are, below what they are for."""
    return ["", f"{MARGIN}{shown(head, look)}", *(f"{MARGIN * 2}{shown(line, look)}" for line in text.splitlines())]


_WAY_OUT = Title("The way out", ": values that change nothing")


def _of_way(way: WayOut, creates: bool) -> list[str]:
    said = [f"These values keep {counted(len(way.keeps), 'field')} as they are, in every mode."] if way.keeps else []
    if creates:
        said.append("A creation needs OVERWRITE for them, and takes with it what was not foreseen: look afterwards.")
    elif way.keeps and not way.cannot:
        said.append(_NONE)
    said += [f"No value that is known here keeps {words.named(change)}." for change in way.cannot]
    if not way.offered:
        said.append("EKS does not offer the target version: name one that it offers, and look again.")
    elif isinstance(way.broken, Unknown):
        said.append(f"Whether the target version takes them is not known: {way.broken.why}.")
    else:
        said += [f"The target version does not take all of it: {each}." for each in way.broken]
    return said


_NONE = (
    "With NONE, EKS refuses to overwrite a field of another owner; what was emptied or removed "
    "is restored without a conflict."
)
