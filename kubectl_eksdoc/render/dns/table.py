"""``-o table``: one page: what will happen, in what order to mend it, and what shows it. ``-o wide``: all evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kubectl_eksdoc.core.model import dns_codes as codes
from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.findings import Finding, Severity
from kubectl_eksdoc.core.plan.dns.judging.failing import endpoints
from kubectl_eksdoc.core.plan.dns.order import Step
from kubectl_eksdoc.core.plan.dns.plan import DnsPlan, Zone
from kubectl_eksdoc.render.dns import words
from kubectl_eksdoc.render.dns.budget_bar import bar, legend
from kubectl_eksdoc.render.dns.view import DnsView
from kubectl_eksdoc.render.findings import findings
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.sections import MARGIN, Title, drawn, titled, told
from kubectl_eksdoc.render.tables import Cell, Column, Row
from kubectl_eksdoc.render.text import shown, wrap

_FORMATS = "All evidence and every zone: -o wide; for a program: -o json"
_IN_STEPS = (
    codes.LAMEDUCK_SHORT,
    codes.LAMEDUCK_LONG,
    codes.ON_SPOT,
    codes.TOGETHER,
    codes.NOTICES,
    codes.NO_BUDGET,
)


_DEEP = f"{MARGIN}   "


def table(view: DnsView, look: Look) -> str:
    """What somebody must look at."""
    return _text(view, look, full=False)


def wide(view: DnsView, look: Look) -> str:
    """Nothing is cut and no column dropped, so lines may be wider than the terminal."""
    return _text(view, look, full=True)


def _text(view: DnsView, look: Look, full: bool) -> str:
    plan = view.plan
    sections = [
        [
            *(look.paint(line, Tone.TITLE) for line in wrap(shown(words.verdict(plan), look), look.columns)),
            *wrap(shown(words.what(plan), look), look.columns),
        ],
        told(Title("What will happen"), plan.outlook, look),
        titled(Title("Fix it in this order"), list(_steps(plan, look)), look),
        titled(
            Title("How it ends", ": lameduck between SIGTERM and SIGKILL"),
            [] if words.elsewhere(plan) else list(_ending(plan, look)),
            look,
        ),
        drawn(Title("Pods"), _pods(plan), look, full),
        drawn(Title("Zones"), _zones(plan.zones), look, full) if full else [],
        findings(_shown(plan, full), "", look, full, named=True),
        told(Title("Notes"), plan.facts.cluster.notes, look),
        [] if full else wrap(_FORMATS, look.columns),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _shown(plan: DnsPlan, full: bool) -> tuple[Finding, ...]:
    """What the steps mend is said there; of it only the line is repeated."""
    if full:
        return plan.findings
    kept = (each for each in plan.findings if each.severity is not Severity.INFO)
    commands = {step.command for step in plan.steps if step.command}
    return tuple(
        replace(each, evidence=(), remedy=())
        if each.code in _IN_STEPS and any(remedy.command in commands for remedy in each.remedy)
        else each
        for each in kept
    )


def _steps(plan: DnsPlan, look: Look) -> Iterator[str]:
    for number, step in enumerate(plan.steps, 1):
        yield from wrap(shown(f"{number}. {step.what}", look), look.columns, MARGIN, _DEEP)
        yield from wrap(shown(f"{_moves(step)}Why: {step.why}.", look), look.columns, _DEEP, _DEEP)
        if step.command:
            yield f"{_DEEP}{shown(step.command, look)}"


def _moves(step: Step) -> str:
    return f"Moves {step.moves}. " if step.moves else ""


def _ending(plan: DnsPlan, look: Look) -> Iterator[str]:
    end = plan.ending
    if words.elsewhere(plan):
        return
    if isinstance(end.budget, Unknown):
        yield from wrap(shown(f"Not known: {end.budget.why}.", look), look.columns, MARGIN)
        return
    for line in bar(end.budget, end.lameduck_s, look, look.columns - len(MARGIN)):
        yield f"{MARGIN}{line}"
    yield from wrap(shown(legend(end.budget), look), look.columns, MARGIN)


def _pods(plan: DnsPlan) -> tuple[list[Column], list[Row]]:
    columns = [
        Column("POD", floor=12, middle=True),
        Column("NODE", floor=10, middle=True),
        Column("ZONE", drop=1),
        Column("CAPACITY"),
        Column("MADE BY", drop=3),
        Column("READY"),
        Column("SERVING", drop=2),
        Column("RESTARTS", right=True, drop=4),
    ]
    facts = plan.facts
    service = endpoints(facts)
    rows: list[Row] = []
    for pod in facts.pods:
        node = facts.node_of(pod)
        looked = facts.inside.get(pod.key)
        restarts = "?" if looked is None or looked.container is None else str(looked.container.restarts)
        capacity = node.capacity_type if node else ""
        rows.append(
            [
                pod.name,
                pod.node or "-",
                (node.zone if node else "") or "-",
                Cell(capacity or "-", Tone.WARN if capacity == "spot" else None),
                f"{node.owner.value} {node.group}".strip() if node else "-",
                _yes("leaving" if pod.deleting else "yes" if pod.ready else "no"),
                Cell("?", Tone.UNKNOWN) if isinstance(service, Unknown) else _yes(_word(pod.uid in service.ready)),
                restarts,
            ]
        )
    return columns, rows


def _word(so: bool) -> str:
    return "yes" if so else "no"


def _yes(word: str) -> Cell:
    return Cell(word, None if word == "yes" else Tone.WARN)


def _zones(zones: tuple[Zone, ...]) -> tuple[list[Column], list[Row]]:
    columns = [
        Column("ZONE"),
        Column("NODES", right=True),
        Column("PODS", right=True),
        Column("READY", right=True),
        Column("SERVING", right=True),
    ]
    return columns, [
        [
            zone.name or "-",
            str(zone.nodes),
            str(zone.pods),
            str(zone.ready),
            "?" if zone.serving is None else str(zone.serving),
        ]
        for zone in zones
    ]
