"""The rows of the plan's tables: what stands in them, whatever draws them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from kubectl_eksdoc.drain.handoff.offers import HandOff, Option, Way
from kubectl_eksdoc.drain.outcome import BudgetVerdict, DrainTarget, Eviction, NotEvictedPod
from kubectl_eksdoc.drain.result import Headroom
from kubectl_eksdoc.model.kinds import KindRead
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.render.drain.findings import command_line, grouped
from kubectl_eksdoc.render.drain.plan import DrainView, status_of
from kubectl_eksdoc.render.drain.signs import BUDGET_SIGN, POD_SIGN, TARGET_SIGN, Sign
from kubectl_eksdoc.render.markdown import block, code, escape, folded, more, table
from kubectl_eksdoc.render.report import ReportFigure, Written
from kubectl_eksdoc.render.tables import Cell, Column, Drawn, Row, Title, plain
from kubectl_eksdoc.render.text import Look, Tone, age, between, counted, cut, duration, joined, shown, wrap

UNKNOWN = "unknown"
NONE = "-"


OF_NODE: Mapping[str, Column] = {
    column.title: column
    for column in (
        Column("GROUP", drop=2),
        Column("TYPE", drop=6),
        Column("CAPACITY", drop=7),
        Column("ZONE"),
        Column("KUBELET", drop=4),
        Column("OS IMAGE"),
        Column("AGE", right=True, drop=9),
    )
}
"""What a node is, whichever page or screen shows it; by their titles."""
_WIDE = ("ZONE", "OS IMAGE")


def of_node(node: Node, at: datetime) -> dict[str, str]:
    """The cells of `OF_NODE`; "" is not known."""
    created = node.created_at
    return {
        "GROUP": node.group,
        "TYPE": node.instance_type,
        "CAPACITY": node.capacity_type,
        "ZONE": node.zone,
        "KUBELET": str(node.kubelet or node.kubelet_text),
        "OS IMAGE": node.os_image,
        "AGE": "" if created is None else age(between(created, at)),
    }


def drained(view: DrainView, full: bool = False) -> Drawn:
    """The targets that are drained, in order; `full` adds what the screen has no room for."""
    targets = [t for t in view.targets if t.order]
    generations = view.plan.in_generations
    wave = Column("GENERATION" if generations else "WAVE", right=True, short="GEN" if generations else "")
    columns = [
        Column("#", right=True),
        Column("NODE", middle=True),
        *(column for title, column in OF_NODE.items() if full or title not in _WIDE),
        Column("EVICTIONS", right=True),
        Column("LEFT", right=True),
        *([wave] if _in_waves(view) else []),
        Column("EMPTY IN ROUND", right=True, short="ROUND"),
        Column("DONE AFTER", right=True, drop=3, short="DONE"),
        Column("VERDICT"),
    ]
    rows = [_drained(t, view, full) for t in targets]
    if full and any(t.needs for t in targets):
        columns.append(Column("WAITS FOR"))
        for row, t in zip(rows, targets, strict=True):
            row.append(", ".join(f"{name} (new)" for name in t.needs) or NONE)
    if any(t.why for t in targets):
        columns.append(Column("WHY", floor=24, lines=3))
        for row, t in zip(rows, targets, strict=True):
            row.append("; ".join(t.why))
    return columns, rows


def _drained(target: DrainTarget, view: DrainView, full: bool) -> list[str | Cell]:
    node = target.node
    told = of_node(node, view.cluster.observed_at)
    told |= {"GROUP": node.group or NONE, "KUBELET": node.kubelet_text if full else told["KUBELET"]}
    return [
        str(target.order),
        node.name,
        *(told[title] or UNKNOWN for title in OF_NODE if full or title not in _WIDE),
        str(target.evictions),
        str(target.left),
        *([str(target.wave)] if _in_waves(view) else []),
        str(target.finish_round) if target.finish_round else NONE,
        duration(view.spans[node.name].done_s) if node.name in view.spans else NONE,
        verdict(target),
    ]


def _in_waves(view: DrainView) -> bool:
    return any(target.wave > 1 for target in view.targets)


def undrained(view: DrainView, full: bool = False) -> Drawn:
    """The targets that are not drained, by name, and why: the blockers by code and subject, `full` in words."""
    columns = [
        Column("NODE", middle=True),
        Column("GROUP", drop=3),
        Column("OWNER", drop=5),
        Column("KUBELET", drop=4),
        Column("LEFT", right=True, drop=2),
        Column("VERDICT"),
        Column("WHY", floor=45, lines=6),
    ]
    named = {} if full else causes(view)
    rows: list[Row] = [
        [
            target.node.name,
            target.node.group or NONE,
            target.node.owner.value,
            of_node(target.node, view.cluster.observed_at)["KUBELET"] or UNKNOWN,
            str(target.left),
            verdict(target),
            "; ".join(named.get(target.node.name, target.why)),
        ]
        for target in view.targets
        if not target.order
    ]
    return columns, rows


def causes(view: DrainView) -> dict[str, list[str]]:
    """For each node what holds it up, by code: ``budget-never-allows shop/ads, shop/sale``."""
    subjects: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for group in grouped(view.blockers, view):
        for node in group.nodes:
            subjects[node][group.first.code.name].append(group.short)
    return {
        node: [f"{code} {', '.join(names)}".rstrip() for code, names in codes.items()]
        for node, codes in subjects.items()
    }


def budgets(view: DrainView, full: bool = False, most: int | None = None) -> Drawn:
    """Worst first, then the slowest; at most `most` of each verdict.

    Only `full` has those that fit, and the reasons: what blocks is a finding as well.
    """
    columns = [
        Column("BUDGET", middle=True),
        Column("RULE", drop=2),
        Column("HEALTHY", right=True, drop=1),
        Column("NEEDED", right=True, drop=1),
        Column("ALLOWED", right=True),
        Column("TO EVICT", right=True),
        Column("AT ONCE", right=True, drop=3),
        Column("ROUNDS", right=True),
        Column("VERDICT"),
        *([Column("OWNER"), Column("WHY")] if full else []),
    ]
    return columns, [_budget(h, full) for h in budget_order(view, full, most)]


def budget_order(view: DrainView, full: bool = False, most: int | None = None) -> list[Headroom]:
    """The budgets of the table's rows."""
    shown: list[Headroom] = []
    for verdict in BudgetVerdict:
        if full or verdict is not BudgetVerdict.FITS:
            alike = (h for h in view.budgets if h.verdict is verdict)
            shown += sorted(alike, key=lambda h: -h.rounds)[:most]
    return shown


def _budget(headroom: Headroom, full: bool) -> list[str | Cell]:
    budget, status = headroom.budget, status_of(headroom.budget)
    word = "+".join(v.value for v in (headroom.verdict, *headroom.also)) if full else headroom.verdict.value
    healthy = f"{status.current}/{status.expected}" if status else UNKNOWN
    return [
        budget.key,
        budget.rule,
        healthy,
        str(status.desired) if status else UNKNOWN,
        str(budget.status.allowed),
        f"{headroom.to_evict} of {headroom.on_targets}",
        str(headroom.per_round),
        str(headroom.rounds) if headroom.rounds else NONE,
        _signed(BUDGET_SIGN[headroom.verdict], word),
        *([headroom.owner or UNKNOWN, headroom.why] if full else []),
    ]


def evictions(rows: Iterable[Eviction], view: DrainView) -> Drawn:
    columns = [
        Column("#", right=True),
        Column("ROUND", right=True),
        Column("NODE"),
        Column("POD"),
        Column("OWNER"),
        Column("BUDGET"),
        Column("GRACE", right=True),
        Column("SCHEDULED ON"),
        Column("REASON"),
    ]
    return columns, [
        [
            str(e.position),
            str(e.round),
            e.node,
            e.pod.key,
            view.app(e.pod) or NONE,
            e.budget or NONE,
            duration(view.grace(e.pod)),
            e.lands_on or NONE,
            e.reason,
        ]
        for e in rows
    ]


def left(rows: Iterable[NotEvictedPod], view: DrainView) -> Drawn:
    columns = [Column("NODE"), Column("POD"), Column("OWNER"), Column("VERDICT"), Column("CODES"), Column("REASON")]
    return columns, [
        [
            row.node,
            row.pod.key,
            view.app(row.pod) or NONE,
            _signed(POD_SIGN[row.verdict], row.verdict.value),
            ",".join(row.codes) or NONE,
            row.reason,
        ]
        for row in rows
    ]


def unread(reads: Iterable[KindRead]) -> Drawn:
    columns = [Column("KIND"), Column("STATE"), Column("BECAUSE", floor=20)]
    return columns, [[read.resource.full_name, read.state.value, read.detail or NONE] for read in reads]


def verdict(target: DrainTarget) -> Cell:
    return _signed(TARGET_SIGN[target.verdict], target.verdict.value)


def _signed(sign: Sign, word: str) -> Cell:
    return Cell(f"{sign[0]} {word}", sign[1])


# How nodes come and go after the drain, and the ways compared, for a terminal and in Markdown.


TITLE = Title("After the drain", ": how new nodes come and old ones leave")

_MOST_LINES = 12
_MARGIN = "    "

WAYS = {
    Way.OWN_DRAIN: "THIS DRAIN, IN PLACE",
    Way.GROUP_UPDATE: "THE GROUP'S OWN UPDATE",
    Way.BLUE_GREEN: "THIS DRAIN, BLUE/GREEN",
}

_PODS = (
    ("stopped at", "stopped_by"),
    ("perhaps stopped at", "may_be_stopped_by"),
    ("evicted without asking", "unasked"),
    ("not judged", "not_judged"),
)
"""What to call the fields of an Option that list pods."""


def section(handoffs: Sequence[HandOff], full: bool) -> ReportFigure:
    if full:
        return ReportFigure(TITLE, lambda look, _: afterwards(handoffs, look))
    brief = Title("After the drain", ", in short (commands, cautions: -o wide)")
    return ReportFigure(brief, lambda look, _: briefly(handoffs, look))


def afterwards(handoffs: Sequence[HandOff], look: Look) -> list[str]:
    """One paragraph for each owner and group, with nothing left out and the ways compared."""
    return [text for handoff in handoffs for text in ["", *_paragraph(handoff, look)]][1:]


def briefly(handoffs: Sequence[HandOff], look: Look) -> list[str]:
    """At most a dozen lines: for each group how many nodes are emptied, and the first words of each step.

    Where they would be more the steps go first, then the last groups.
    """
    lines = [text for handoff in handoffs for text in _short(handoff, look)]
    if len(lines) > _MOST_LINES:
        lines = [text for handoff in handoffs for text in _short(handoff, look)[:1]]
    kept = lines if len(lines) <= _MOST_LINES else lines[: _MOST_LINES - 1]
    if len(kept) < len(lines):
        kept.append(f"  {look.ellipsis} and {len(lines) - len(kept)} more groups of nodes")
    return kept


def head(handoff: HandOff) -> str:
    """``managed node group blue: 5 of 8 targets emptied in full``."""
    total = len(handoff.nodes) + len(handoff.kept)
    if not handoff.kept:
        return f"{handoff.about}: {'all ' if total > 1 else ''}{counted(total, 'target')} emptied"
    return f"{handoff.about}: {len(handoff.nodes) or 'none'} of {counted(total, 'target')} emptied in full"


def comparison(options: Sequence[Option]) -> Drawn:
    """One column for each way, one row for each question."""
    columns = [Column(""), *(Column(WAYS[option.way]) for option in options)]
    rows: list[Row] = [
        ["nodes replaced", *(str(o.nodes) for o in options)],
        ["nodes added at once", *(_surge(o) for o in options)],
        ["order", *(o.order for o in options)],
        ["waits", *(o.waits for o in options)],
        [
            "takes at least",
            *(
                f"{duration(o.least_seconds)}, one node at a time" if o.least_seconds is not None else NONE
                for o in options
            ),
        ],
    ]
    for title, name in _PODS:
        rows.append([title, *(counted(n, "pod") if (n := len(getattr(o, name))) else NONE for o in options)])
    rows.append(["rollback", *(o.way_back for o in options)])
    return columns, rows


def update_of(handoff: HandOff) -> Option | None:
    """What the group's own update would do, None where there is no such thing."""
    return next((option for option in handoff.instead if option.way is Way.GROUP_UPDATE), None)


def pods_of(option: Option) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each list of pods that is not empty, by what the update does to them."""
    said = (
        ("it fails after 15 minutes (PodEvictionFailure), as long as nothing changes, at", option.stopped_by),
        ("it fails, unless they are gone in 15 minutes, at", option.may_be_stopped_by),
        ("it evicts without a question, though this plan leaves them to you,", option.unasked),
        ("it meets, and this plan cannot say what then,", option.not_judged),
    )
    return tuple((text, pods) for text, pods in said if pods)


def _short(handoff: HandOff, look: Look) -> list[str]:
    lines = [look.paint(cut(f"  {shown(head(handoff), look)}", look.columns, look), Tone.TITLE)]
    said = [("new nodes", step.text) for step in handoff.arrive] if handoff.nodes else []
    said += [("old nodes", step.text) for step in handoff.leave]
    if (update := update_of(handoff)) is not None:
        said.append(("its own update", _meets(update)))
    for what, text in said:  # of which the first sentence, or what stands before what explains it
        opening = text.split(". ")[0].rstrip(".").split("; ")[0]
        lines.append(cut(shown(f"{_MARGIN}{what}: {opening}", look), look.columns, look))
    return lines


def _meets(update: Option) -> str:
    """What the group's own update would do with the pods that this plan leaves."""
    counts = (
        ("would fail at", len(update.stopped_by)),
        ("might fail at", len(update.may_be_stopped_by)),
        ("would evict unasked", len(update.unasked)),
        ("is not judged for", len(update.not_judged)),
    )
    said = [f"{text} {counted(count, 'pod')}" for text, count in counts if count]
    return joined(said) if said else "meets no pod that this plan leaves"


def _paragraph(handoff: HandOff, look: Look) -> list[str]:
    lines = [look.paint(t, Tone.TITLE) for t in wrap(shown(head(handoff), look), look.columns, "  ", _MARGIN)]

    def say(*texts: str) -> None:
        for text in texts:
            lines.extend(wrap(shown(text, look), look.columns, _MARGIN, _MARGIN + "  "))

    if handoff.kept:
        say(f"not in full: {', '.join(handoff.kept)}")
    for opening, steps in (("new", handoff.arrive), ("old", handoff.leave)):
        for step in steps:
            say(f"{opening} nodes: {step.text}")
            lines += [command_line(command, look) for command in step.commands]
    say(*(f"! {caution}." for caution in handoff.beware))
    update = update_of(handoff)
    if update is not None:
        say(f"Its own update instead: nodes added at once {_surge(update)}; {update.order}.")
        say(*(f"- {text} {counted(len(pods), 'pod')}: {', '.join(pods)}" for text, pods in pods_of(update)))
        lines += ["", *plain(*comparison(handoff.instead), look, indent=len(_MARGIN), fit=False), ""]
        say(*(f"nodes added by {WAYS[each.way].lower()}: {each.surge_why}" for each in handoff.instead))
    return lines


def _surge(option: Option) -> str:
    if option.surge is None:
        return "unknown"
    return f"up to {option.surge}" if option.way is Way.GROUP_UPDATE else str(option.surge)


# In Markdown: a group's steps, and folded: what to beware of, and for a managed group the ways compared.


def written(handoffs: Sequence[HandOff], most: int) -> Written:
    lines = [line for handoff in handoffs[:most] for line in _handed_off(handoff, most)]
    return Written(TITLE, [*lines, "", *more(len(handoffs) - most, "groups of nodes")] if lines else [])


def _handed_off(handoff: HandOff, most: int) -> list[str]:
    lines = ["", f"#### {escape(head(handoff))}", ""]
    for title, steps in (("New nodes", handoff.arrive), ("Old nodes", handoff.leave)):
        for step in steps:
            lines.append(f"- *{title}*: {escape(step.text)}")
            if step.commands:
                lines += ["", *(f"  {line}" for line in block(step.commands[:most])), ""]
            lines += [f"  {line}\n" for line in more(len(step.commands) - most, "commands")]
    beware = [f"- {escape(text)}." for text in handoff.beware]
    lines += ["", *folded(f"{len(beware)} to beware of", beware)] if beware else []
    update = update_of(handoff)
    if update is None:
        return lines
    lines += ["", *table(*comparison(handoff.instead)), ""]
    lines += [f"- nodes added by {WAYS[o.way].lower()}: {escape(o.surge_why)}" for o in handoff.instead]
    for text, pods in pods_of(update):
        names = ", ".join(code(pod) for pod in pods[:most])
        rest = "".join(f" {line}" for line in more(len(pods) - most, "pods"))
        lines.append(f"- the group's own update: {escape(text)} {counted(len(pods), 'pod')}: {names}{rest}")
    return lines
