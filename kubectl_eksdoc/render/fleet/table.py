"""``-o table``: a row a cluster, the worst first, and what many of them share. ``-o wide``: all of it, nothing cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubectl_eksdoc.fleet import FleetPlan, Row, Shared, Standing
from kubectl_eksdoc.model.findings import Severity
from kubectl_eksdoc.model.fleet import Answered, Unanswered
from kubectl_eksdoc.render import markdown
from kubectl_eksdoc.render.fleet import FleetView
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.markdown import code, escape
from kubectl_eksdoc.render.tables import MARGIN, SIGNS, Cell, Column, Drawn, Title, drawn, more, plain, titled, told
from kubectl_eksdoc.render.tables import Row as Cells
from kubectl_eksdoc.render.text import counted, shown, wrap

# A fleet in sentences.


_STANDINGS = {
    Standing.NOT_JUDGED: "not judged",
    Standing.FAILS: "with findings that fail",
    Standing.UNKNOWN: "with unknown answers",
    Standing.CLEAN: "clean",
}
IN_TABLE = {
    Standing.NOT_JUDGED: "not judged",
    Standing.FAILS: "fails",
    Standing.UNKNOWN: "unknown",
    Standing.CLEAN: "clean",
}


def in_short(plan: FleetPlan) -> str:
    """``30 clusters: 2 not judged, 20 with findings that fail, 8 clean.``"""
    counts = [f"{plan.standing(each)} {_STANDINGS[each]}" for each in Standing if plan.standing(each)]
    return f"{counted(len(plan.rows), 'cluster')}: {', '.join(counts)}."


def first(row: Row) -> str:
    """What is in the way first, in words; "" where nothing is."""
    if isinstance(row.outcome, Unanswered):
        return row.outcome.reason
    if row.first is not None:
        return f"{row.first.subject}: {row.first.message}"
    return "" if row.standing is Standing.CLEAN else row.outcome.verdict


# The tables of a fleet, whatever draws them.


NOTHING = "-"
_SIGNS = {
    Standing.NOT_JUDGED: Cell("✗", Tone.BAD),
    Standing.FAILS: Cell("✗", Tone.BAD),
    Standing.UNKNOWN: Cell("?", Tone.UNKNOWN),
    Standing.CLEAN: Cell("✓", Tone.GOOD),
}
_COUNTED = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM, Severity.LOW)
_SHORT = {Severity.CRITICAL: "CRIT", Severity.HIGH: "HIGH", Severity.MEDIUM: "MED", Severity.LOW: "LOW"}
_DROPPED = {Severity.LOW: 6, Severity.MEDIUM: 5}
_LONGEST_NAME, _LEAST_SAID = 24, 20


def clusters(plan: FleetPlan, full: bool) -> Drawn:
    """One row a cluster, the worst first. `full`: with where each was reached, and what its command exits with."""
    figures, names = _figures(plan), _names(plan, full)
    columns = [
        Column(""),
        Column("CLUSTER", floor=_LONGEST_NAME, middle=True),
        Column("ACCOUNT", drop=3),
        Column("REGION", drop=4),
        Column("VERSION", drop=2),
        Column("VERDICT"),
        *(Column(each.value.upper(), True, _DROPPED.get(each, 0), short=_SHORT[each]) for each in _COUNTED),
        Column("UNKNOWN", right=True, short="UNKN"),
        *(Column(title, drop=1, floor=16) for title in figures),
        *((Column("EXIT", right=True), Column("CONTEXT"), Column("OBSERVED")) if full else ()),
        Column("FIRST IN THE WAY", floor=_LEAST_SAID),
    ]
    return columns, [_cells(row, names[row.member.name], figures, full) for row in plan.rows]


def _names(plan: FleetPlan, full: bool) -> dict[str, str]:
    """What they are called in a table: of an ARN the cluster's own name, where no other is called so."""
    short = {row.member.name: row.member.name.rpartition(":cluster/")[2] for row in plan.rows}
    every = list(short.values())
    return {name: name if full or every.count(cut) > 1 else cut for name, cut in short.items()}


def _figures(plan: FleetPlan) -> tuple[str, ...]:
    """The columns that only this command has."""
    found = (each.title for row in plan.rows if isinstance(row.outcome, Answered) for each in row.outcome.figures)
    return tuple(dict.fromkeys(found))


def _cells(row: Row, name: str, figures: tuple[str, ...], full: bool) -> Cells:
    outcome, who, fails = row.outcome, row.outcome.who, row.fails
    answered = isinstance(outcome, Answered)
    told = {each.title: each.text for each in outcome.figures} if isinstance(outcome, Answered) else {}
    seen = outcome.observed_at if isinstance(outcome, Answered) else ""
    return [
        _SIGNS[row.standing],
        name,
        who.account or NOTHING,
        who.region or NOTHING,
        who.server_version or NOTHING,
        IN_TABLE[row.standing],
        *(_count(fails[each]) for each in _COUNTED),
        _count(row.unknown) if answered else NOTHING,
        *(told.get(title, NOTHING) for title in figures),
        *((str(outcome.exit_code), who.context or row.member.context or NOTHING, seen or NOTHING) if full else ()),
        first(row) or NOTHING,
    ]


def _count(number: int) -> str:
    return str(number) if number else NOTHING


def shared(plan: FleetPlan, full: bool) -> Drawn:
    """What is mended once for many clusters."""
    columns = [
        Column(""),
        Column("CLUSTERS", right=True),
        Column("SEVERITY"),
        Column("CODE"),
        Column("WHAT", floor=24),
        Column("WHERE", floor=24),
    ]
    return columns, [_of_shared(each, _names(plan, full)) for each in plan.shared]


def _of_shared(found: Shared, names: Mapping[str, str]) -> Cells:
    sign, tone = SIGNS[found.status]
    where = _where(found.members, names)
    return [Cell(sign, tone), str(len(found.members)), found.severity.value, found.code, found.title, where]


def lacking(plan: FleetPlan, full: bool) -> Drawn:
    """What one administrator gives once."""
    columns = [Column("CLUSTERS", right=True), Column("RIGHT"), Column("WHERE", floor=24)]
    names = _names(plan, full)
    return columns, [[str(len(each.members)), each.right, _where(each.members, names)] for each in plan.lacking]


def _where(members: Sequence[str], names: Mapping[str, str]) -> str:
    return "all of them" if len(members) == len(names) else ", ".join(names[each] for each in members)


MOST_SHARED = 10


def table(view: FleetView, look: Look) -> str:
    """Every cluster has its row, however many there are."""
    return _text(view, look, full=False)


def wide(view: FleetView, look: Look) -> str:
    """Nothing is cut and no column dropped, so lines may be wider than the terminal."""
    return _text(view, look, full=True)


def _text(view: FleetView, look: Look, full: bool) -> str:
    plan = view.plan
    columns, rows = clusters(plan, full)
    sections = [
        [look.paint(line, Tone.TITLE) for line in wrap(shown(in_short(plan), look), look.columns)],
        titled(Title("Clusters"), plain(columns, rows, look, indent=len(MARGIN), fit=not full), look),
        list(_reasons(plan, look, full)),
        _most(Title("Findings", " that clusters share"), shared(plan, full), look, full),
        _most(Title("Rights", " that are missing in several clusters"), lacking(plan, full), look, full),
        told(Title("Notes"), plan.notes, look),
        wrap(f"One of them alone: kubectl eksdoc {view.command} {_alone(plan)}. For a program: -o json", look.columns),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _alone(plan: FleetPlan) -> str:
    return "--snapshot FILE" if all(row.member.snapshot for row in plan.rows) else "--context NAME"


def _most(title: Title, table: Drawn, look: Look, full: bool) -> list[str]:
    if full:
        return drawn(title, table, look, full)
    columns, rows = table
    lines = plain(columns, rows[:MOST_SHARED], look, indent=len(MARGIN))
    return titled(title, [*lines, *more(len(rows) - MOST_SHARED, look)], look)


def _reasons(plan: FleetPlan, look: Look, full: bool) -> Iterator[str]:
    """Why some could not be judged, whole: in a row of the table it is cut."""
    lines: list[str] = []
    for row in plan.rows:
        if isinstance(row.outcome, Unanswered):
            said = f"✗ {row.member.name}: {row.outcome.reason} (exit code {row.outcome.exit_code})"
            head = wrap(shown(said, look), look.columns, MARGIN, MARGIN * 2)
            lines += [look.paint(head[0], Tone.BAD), *head[1:]]
            if row.outcome.hint and full:
                lines += wrap(shown(f"→ {row.outcome.hint}", look), look.columns, MARGIN * 2, MARGIN * 3)
    yield from titled(Title("Not judged"), lines, look)


# ``-o markdown``: a fleet for a ticket: the verdict, a row a cluster, why some were not judged, what many share.


def ticket(view: FleetView, look: Look) -> str:
    """Headings from the second level, so that it can stand below a title of its own; short enough for GitHub."""
    return markdown.fitting(lambda most: markdown.signed(list(_lines(view, most)), look))


def _lines(view: FleetView, most: int) -> Iterator[str]:
    plan = view.plan
    yield from (f"## {code(f'kubectl eksdoc {view.command}')} of {counted(len(plan.rows), 'cluster')}", "")
    yield from (f"**{escape(in_short(plan))}**", "")
    seen = f"oldest observation {escape(plan.observed_at)} · " if plan.observed_at else ""
    yield from (f"{seen}kubectl eksdoc {escape(view.tool_version)}", "")
    for title, body in _sections(plan, most):
        if body:
            yield from (f"### {escape(title)}", "", *body, "")


def _sections(plan: FleetPlan, most: int) -> Iterator[tuple[str, list[str]]]:
    yield "Clusters", markdown.ticket_table(clusters(plan, full=False), "clusters", most)
    yield (
        "Not judged",
        markdown.items(
            f"{row.member.name}: {row.outcome.reason} (exit code {row.outcome.exit_code})"
            for row in plan.rows
            if isinstance(row.outcome, Unanswered)
        ),
    )
    yield "Findings that clusters share", markdown.ticket_table(shared(plan, full=False), "findings", most)
    yield (
        "Rights that are missing in several clusters",
        markdown.ticket_table(lacking(plan, full=False), "rights", most),
    )
    yield "Notes", markdown.items(plan.notes)
