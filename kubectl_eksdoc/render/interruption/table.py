"""``-o table``: one page: who hears, link by link; what the next interruption takes; what is found. ``-o wide``: all of
it, every node and all evidence."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.core.model.findings import Status
from kubectl_eksdoc.core.plan.interruption.links import Link
from kubectl_eksdoc.core.plan.interruption.outage import sentences
from kubectl_eksdoc.core.plan.interruption.spot import NOTICE_S, AtRisk, SpotNode
from kubectl_eksdoc.render.findings import findings
from kubectl_eksdoc.render.interruption import words
from kubectl_eksdoc.render.interruption.view import InterruptionView
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.sections import Drawn, Title, drawn, told
from kubectl_eksdoc.render.tables import Cell, Column, Row
from kubectl_eksdoc.render.text import counted, shown, wrap

_SIGNS = {
    Status.PASS: Cell("✓", Tone.GOOD),
    Status.FAIL: Cell("✗", Tone.BAD),
    Status.UNKNOWN: Cell("?", Tone.UNKNOWN),
    None: Cell("·", Tone.FAINT),
}
_SOME = 8
_NOTHING = "This command changes nothing. All evidence: -o wide; for a program: -o json"
_PRINT = "This command changes nothing; it prints: --print stack | commands | iam | helm-values. All evidence: -o wide"


def table(view: InterruptionView, look: Look) -> str:
    """What somebody must look at."""
    return _text(view, look, full=False)


def wide(view: InterruptionView, look: Look) -> str:
    """Nothing is cut and no column dropped, so lines may be wider than the terminal."""
    return _text(view, look, full=True)


def _text(view: InterruptionView, look: Look, full: bool) -> str:
    plan = view.plan
    end = _PRINT if plan.missing is not None else _NOTHING
    sections = [
        [look.paint(line, Tone.TITLE) for line in wrap(shown(words.in_short(plan), look), look.columns)],
        drawn(Title("Links", ": from EventBridge to Karpenter"), _links(plan.links), look, full),
        told(Title("Verdicts"), words.verdicts(plan), look),
        drawn(Title("Spot nodes", " of Karpenter"), _nodes(plan.outage.nodes, full), look, full),
        drawn(Title("Who loses pods", " with one Spot node"), _losers(plan.outage.losers, full), look, full),
        told(Title("The next interruption"), sentences(plan.outage), look),
        findings(plan.findings, "", look, full, named=True),
        told(Title("Notes"), plan.facts.cluster.notes, look),
        [] if full else wrap(end, look.columns),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _links(links: tuple[Link, ...]) -> Drawn:
    columns = [Column(""), Column("LINK"), Column("WHAT IS THERE", floor=24, lines=3)]
    return columns, [[_SIGNS[each.status], each.name, each.what] for each in links]


def _nodes(nodes: tuple[SpotNode, ...], full: bool) -> Drawn:
    columns = [
        Column("NODE", floor=12, middle=True),
        Column("NODEPOOL", drop=2),
        Column("TYPE", drop=3),
        Column("ZONE", drop=1),
        Column("NOTICE"),
        Column("PODS", right=True),
        Column("CRITICAL", right=True, short="CRIT."),
        Column("A DRAIN WAITS FOR", floor=20),
    ]
    return columns, [_node(each, full) for each in nodes]


def _node(each: SpotNode, full: bool) -> Row:
    held = ", ".join(each.holds) if full else f"{counted(len(each.holds), 'pod')} that may not go"
    return [
        each.name,
        each.node.group or "-",
        each.node.instance_type or "-",
        each.node.zone or "-",
        Cell("NOW", Tone.BAD) if each.heard else "-",
        str(len(each.dying)),
        Cell(str(len(each.critical)), Tone.WARN) if each.critical else "-",
        Cell(held, Tone.WARN) if each.holds else _grace(each),
    ]


def _grace(each: SpotNode) -> str | Cell:
    """Seconds at most before system-critical pods have their turn."""
    text = f"grace periods, {each.before_s} s"
    return Cell(text, Tone.WARN) if each.before_s >= NOTICE_S else text if each.before_s else "-"


def _losers(losers: tuple[AtRisk, ...], full: bool) -> Drawn:
    columns = [
        Column("WORKLOAD", floor=20, middle=True),
        Column("READY", right=True),
        Column("ON SPOT", right=True),
        Column("AT ONCE", right=True),
        Column("WITH", floor=10, middle=True),
        Column(""),
    ]
    kept = losers if full else losers[:_SOME]
    rows: list[Row] = [list(_loser(each)) for each in kept]
    if len(kept) < len(losers):
        rows.append([f"and {len(losers) - len(kept)} more (-o wide)", "", "", "", "", ""])
    return columns, rows


def _loser(each: AtRisk) -> Iterator[str | Cell]:
    yield str(each.subject)
    yield str(each.ready)
    yield str(each.on_spot)
    yield Cell(str(each.at_once), Tone.BAD if each.all_at_once else None)
    yield each.node
    said = ["cluster DNS"] if each.dns else ["system-critical"] if each.critical else []
    said += ["all of it"] if each.all_at_once else []
    yield ", ".join(said)
