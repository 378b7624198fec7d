"""``-o table`` and ``-o wide``: what will be sent and the way back; or what came of it."""

from __future__ import annotations

from kubectl_eksdoc.addon_diff.fields import value_of
from kubectl_eksdoc.addon_diff.modes import Mode
from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.addon_diff.run.ended import Ended
from kubectl_eksdoc.addon_diff.run.outcome import Check, Verdict
from kubectl_eksdoc.drain.run.stages import Stage
from kubectl_eksdoc.kubernetes.keeping import printed
from kubectl_eksdoc.render.addon.commands import as_json, update_addon
from kubectl_eksdoc.render.addon.update import BLANK, sections, way_out
from kubectl_eksdoc.render.addon_update import words
from kubectl_eksdoc.render.addon_update.view import UpdateView
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.report import Line, Screen, Section
from kubectl_eksdoc.render.tables import MARGIN, Cell, Column, Row, Title, drawn, titled
from kubectl_eksdoc.render.text import counted, duration, shown, wrap

_TONES = {
    Verdict.AS_PREDICTED: Tone.GOOD,
    Verdict.AS_BEFORE: Tone.GOOD,
    Verdict.OTHER: Tone.BAD,
    Verdict.NOT_PREDICTED: Tone.UNKNOWN,
    Verdict.NOT_READ: Tone.UNKNOWN,
}
_MOST = 5


def table(view: UpdateView, look: Look) -> str:
    return _text(view, look, full=False)


def wide(view: UpdateView, look: Look) -> str:
    """Nothing is cut and no column dropped, so lines may be wider than the terminal."""
    return _text(view, look, full=True)


def _text(view: UpdateView, look: Look, full: bool) -> str:
    if view.ended is None:
        return _before(view, look, full)
    return _joined(_after(view, view.ended, look, full))


def _joined(sections: list[list[str]]) -> str:
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _before(view: UpdateView, look: Look, full: bool) -> str:
    """The forecast of what is sent, what that is, and the way back."""
    plan, screen = view.plan, Screen(full)
    told = (
        [] if plan is None else [screen.lines(each, look) for each in (*sections(plan, full), _way_out(plan)) if each]
    )
    return _joined([*told, _sent(view, look, full), _back(view, look), _guards(view, look), _weighty(view, look)])


def _way_out(plan: AddonPlan) -> Section | None:
    """Of what is sent: where fields are still at risk."""
    command = [] if plan.way_out is None else [BLANK, Line(update_addon(plan, plan.way_out), whole=True)]
    return way_out(plan, command)


def _sent(view: UpdateView, look: Look, full: bool) -> list[str]:
    sent = view.sent
    lines: list[str] = []
    top = _wrapped([f"UpdateAddon: {words.head(sent)}"], look)
    if sent.values is None:
        lines.append("Configuration values: none are given, so EKS keeps those of today.")
    else:  # on one line: where a line is broken, nobody sees which spaces are sent
        top += [f"{MARGIN}Configuration values:", MARGIN * 2 + shown(as_json(printed(sent.values)), look)]
    if sent.keeps:
        fields = counted(len(sent.keeps), "field")
        lines.append(f"These values were not given (--as-asked sends none): they keep {fields} as they are:")
        kept = sent.keeps if full else sent.keeps[:_MOST]
        lines += [f"- {each}" for each in kept]
        if len(kept) < len(sent.keeps):
            lines.append(f"- and {len(sent.keeps) - len(kept)} more (-o wide)")
    lines.append(f"{counted(view.changes, 'field')} {'is' if view.changes == 1 else 'are'} predicted to change.")
    return titled(Title("What is sent"), top + _wrapped(lines, look), look)


def _wrapped(lines: list[str], look: Look) -> list[str]:
    return [line for text in lines for line in wrap(shown(text, look), look.columns, MARGIN, MARGIN * 2)]


def _back(view: UpdateView, look: Look) -> list[str]:
    title = Title("Rollback", ": another update, never kubectl apply of a saved object")
    back = view.back
    if not back:
        return []
    if isinstance(back, str):
        return titled(Title("Rollback"), _wrapped([f"? {back}"], look), look)
    lines = [MARGIN + shown(command, look) for command in back.commands]  # a command is one line
    caveats = [f"- {each}" for each in back.caveats]
    if back.by_hand:
        caveats.append("- no value of that version sets these again, so they are set by hand:")
        caveats += [f"  - {each}" for each in back.by_hand]
    return titled(title, lines + _wrapped(caveats, look), look)


def _guards(view: UpdateView, look: Look) -> list[str]:
    lines = []
    for guard in view.guards:
        lines += [f"✗ {guard.why}", *(f"  → {line}" for line in guard.hint.splitlines())]
    return titled(Title("Nothing is sent"), _wrapped(lines, look), look)


def _weighty(view: UpdateView, look: Look) -> list[str]:
    shown_ones = view.weighty[:_MOST]
    lines = [f"- {each.severity.value}, {each.status.value}: {each.message}" for each in shown_ones]
    if len(shown_ones) < len(view.weighty):
        lines.append(f"- and {len(view.weighty) - len(shown_ones)} more: all are among the findings above")
    return titled(Title("To be acknowledged"), _wrapped(lines, look), look)


def _after(view: UpdateView, ended: Ended, look: Look, full: bool) -> list[list[str]]:
    return [
        [look.paint(line, Tone.TITLE) for line in wrap(shown(words.verdict(view), look), look.columns)],
        _of_eks(view, ended, look),
        drawn(Title("Prediction and reality"), _fields(ended.checks), look, full),
        _rollouts(ended, look, full),
        _targets(ended, look, full),
        _unknown(ended, look),
        _back(view, look) if _wants_back(ended) else [],
        _written(view, ended, look),
    ]


def _wants_back(ended: Ended) -> bool:
    return not ended.whole or ended.differs


def _of_eks(view: UpdateView, ended: Ended, look: Look) -> list[str]:
    lines = []
    for error in ended.errors:
        said = error.message.splitlines() or [""]
        lines += [f"{error.code}: {said[0]}", *(f"- {line}" for line in said[1:])]
    if ended.stage is Stage.FAILED and any(error.code == "ConfigurationConflict" for error in ended.errors):
        lines.append("→ look again with addon-diff: it names who has these fields, and the values that keep them")
    if view.sent.mode == Mode.PRESERVE.value and ended.whole:
        lines.append("No document says how PRESERVE decides: what it has kept this time is seen below.")
    if ended.left:
        lines.append(f"It is followed no longer: {ended.left}.")
    return titled(Title("What EKS says"), _wrapped(lines, look), look)


def _fields(checks: tuple[Check, ...]) -> tuple[list[Column], list[Row]]:
    columns = [
        Column("FIELD", floor=24, middle=True),
        Column("BEFORE", floor=8),
        Column("FORETOLD", floor=8),
        Column("NOW", floor=8),
        Column("VERDICT"),
        Column("OF", drop=2),
        Column("SURE", drop=1),
    ]
    return columns, [_row(check) for check in checks]


def _row(check: Check) -> Row:
    return [
        words.named(check),
        value_of(check.live, check.field),
        words.foretold(check),
        words.stands(check),
        Cell(check.verdict.value, _TONES[check.verdict]),
        ", ".join(check.owners) or "-",
        check.foretold.sure.value if check.foretold is not None else "-",
    ]


def _rollouts(ended: Ended, look: Look, full: bool) -> list[str]:
    lines = [str(each) + (f"; {each.stuck}" if each.stuck else "") for each in ended.rollouts]
    kept = ended.not_ready if full else ended.not_ready[:_MOST]
    lines += [f"- {each}" for each in kept]
    if len(kept) < len(ended.not_ready):
        lines.append(f"- and {len(ended.not_ready) - len(kept)} more (-o wide)")
    return titled(Title("Rollout"), _wrapped(lines, look), look)


def _targets(ended: Ended, look: Look, full: bool) -> list[str]:
    lines = [str(each) for each in ended.health]
    lines += [f"- {target}" for each in ended.health if not each.back for target in each.unhealthy[: _MOST + 99 * full]]
    return titled(Title("Targets of load balancers"), _wrapped(lines, look), look)


def _unknown(ended: Ended, look: Look) -> list[str]:
    lines = [f"? {of}: {why}" for of, why in ended.unread]
    if ended.unwatched:
        lines.append(f"? {ended.unwatched}")
    return titled(Title("Not known"), _wrapped(lines, look), look)


def _written(view: UpdateView, ended: Ended, look: Look) -> list[str]:
    said = wrap(f"Update {ended.id}, followed for {duration(ended.seconds)}.", look.columns)
    return [*said, shown(f"Journal: {view.journal}", look)] if view.journal else said  # a path is one line
