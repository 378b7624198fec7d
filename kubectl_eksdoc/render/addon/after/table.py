"""``-o table``: what was lost, the patch for now, the values for later, pods. ``-o wide``: all that changed, too."""

from __future__ import annotations

from kubectl_eksdoc.addon_diff.aftermath.causes import Cause
from kubectl_eksdoc.addon_diff.aftermath.facts import Aftermath, ChangedField, State, Templated
from kubectl_eksdoc.addon_diff.aftermath.unrecorded import differing_data
from kubectl_eksdoc.addon_diff.fields import value_of
from kubectl_eksdoc.model.api_objects import named
from kubectl_eksdoc.model.aws.addons import Update
from kubectl_eksdoc.render.addon import commands
from kubectl_eksdoc.render.addon.after import words
from kubectl_eksdoc.render.addon.after.view import AfterView
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.tables import MARGIN, Cell, Column, Row, Title, drawn, findings, titled
from kubectl_eksdoc.render.text import counted, shown, wrap

_FORMATS = "With evidence, and what the version itself changed: -o wide; for a program: -o json"
_CAUSES = {Cause.LOST: Tone.BAD, Cause.UNKNOWN: Tone.UNKNOWN}
_STATES = {State.GONE: Tone.BAD, State.BACK: Tone.GOOD, State.OTHER: Tone.WARN}


def table(view: AfterView, look: Look) -> str:
    """What somebody must look at."""
    return _text(view, look, full=False)


def wide(view: AfterView, look: Look) -> str:
    """Nothing is cut and no column dropped, so lines may be wider than the terminal."""
    return _text(view, look, full=True)


def _text(view: AfterView, look: Look, full: bool) -> str:
    sections = [section for found in view.found for section in _of(found, view.cluster.identity.context, look, full)]
    if not full:
        sections.append(wrap(_FORMATS, look.columns))
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _of(found: Aftermath, context: str, look: Look, full: bool) -> list[list[str]]:
    changed = [change for each in found.templated for change in each.changes]
    seen = [change for change in changed if full or change.because.cause in _CAUSES]
    title = Title("What the update changed" if full else "What the update took")
    return [
        _summary(found, look, full),
        drawn(title, _table(seen, full), look, full),
        findings(found.findings, "", look, full),
        *(_now(each, context, look) for each in found.templated),
        later(found, look, full),
        _pods(found, look),
        *(_texts(found, look) if full else ()),
    ]


def _summary(found: Aftermath, look: Look, full: bool) -> list[str]:
    lines = [look.paint(line, Tone.TITLE) for line in wrap(shown(words.verdict(found), look), look.columns)]
    said = list(words.about(found)) if isinstance(found.facts.update, Update) else []
    return [*lines, *(line for text in said for line in wrap(shown(text, look), look.columns))]


def _table(changed: list[ChangedField], full: bool) -> tuple[list[Column], list[Row]]:
    columns = [
        Column("FIELD", floor=24, middle=True),
        Column("BEFORE", floor=8),
        Column("AFTER", floor=8),
        Column("NOW", floor=8),
        Column("SET BY", floor=8, drop=2),
        Column("STATE", floor=4),
        Column("SURE", drop=1),
        *([Column("WHY")] if full else []),
    ]
    return columns, [_row(change, full) for change in changed]


def _row(change: ChangedField, full: bool) -> Row:
    cause = change.because.cause
    state = Cell(words.STATES[change.state], _STATES[change.state]) if change.lost else Cell("")
    return [
        words.named(change),
        *(_value(change.field.printed(value), full) for value in (change.before, change.after, change.live)),
        ", ".join(change.owners) or "nobody",
        state if change.lost else Cell(cause.value, _CAUSES.get(cause)),
        change.because.sure.value,
        *([change.because.why] if full else []),
    ]


def _value(value: object, full: bool) -> str:
    """In full where there is room, but for texts of several lines."""
    return f'"{value}"' if full and isinstance(value, str) and "\n" not in value else value_of(value)


def _now(each: Templated, context: str, look: Look) -> list[str]:
    command = words.patch_command(each, context)
    if not command:
        return []
    lines = ["", MARGIN + shown(command, look), ""]
    for text in filter(None, (words.rolls(each), words.OWNER)):
        lines += wrap(shown(text, look), look.columns, MARGIN, MARGIN)
    return titled(Title("Now", ": the patch that gives it back, and changes nothing else"), lines[1:], look)


def later(found: Aftermath, look: Look, full: bool) -> list[str]:
    plan = found.keeping
    way = plan.way_out if plan is not None else None
    if plan is None or way is None or not found.lost:
        return []
    lost = {change.field for change in found.lost}
    kept = [change for change in way.keeps if change.field in lost]
    if not way.usable or not kept:
        text = "No configuration values that are known here keep what was lost."
        return titled(_LATER, wrap(shown(text, look), look.columns, MARGIN), look)
    lines = [MARGIN + shown(commands.update_addon(plan, way), look), ""]
    more = len(way.keeps) - len(kept)
    text = f"They keep {counted(len(kept), 'field')} that the update took"
    text += f", and {more} more that the next one would take." if more else "."
    if any(change.missed for change in found.lost):
        text += " Set now, they restore it without a patch, as soon as EKS applies them."
    lines += wrap(shown(text, look), look.columns, MARGIN, MARGIN)
    if full:
        for versions, arguments in commands.terraform(plan, way):
            lines += ["", f"{MARGIN}Terraform, AWS provider {versions}:"]
            lines += [f"{MARGIN * 2}{shown(line, look)}" for line in arguments.splitlines()]
    return titled(_LATER, lines, look)


_LATER = Title("Later", ": configuration values that keep it")


def _pods(found: Aftermath, look: Look) -> list[str]:
    said = [words.to_recreate(rule) for rule in found.recreating]
    said += [text for each in found.templated if (text := words.behind(each))]
    lines = [line for text in said for line in wrap(shown(text, look), look.columns, MARGIN, MARGIN * 2)]
    return titled(Title("Pods to recreate"), lines, look)


def _texts(found: Aftermath, look: Look) -> list[list[str]]:
    """What ``kubectl apply`` sent last, where something else stands now."""
    live = {named(each): each for each in found.facts.now.objects}
    sections = []
    for kept in found.unrecorded:
        for key, text in differing_data(kept, live[kept.of]):
            title = Title(
                f"{kept.of}, {key}", ": as kubectl apply sent it last; whether it was so before the update is not told"
            )
            sections.append(titled(title, [MARGIN + shown(line, look) for line in text.splitlines()], look))
    return sections
