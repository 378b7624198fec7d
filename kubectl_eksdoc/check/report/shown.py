"""Findings, unknown answers and drains on the HTML page of a check; similar findings beyond a limit are counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from kubectl_eksdoc.amazon.versions import in_words
from kubectl_eksdoc.drain.outcome import DrainTarget, TargetVerdict
from kubectl_eksdoc.drain.report import rows
from kubectl_eksdoc.drain.report.page import budgets
from kubectl_eksdoc.drain.report.plan import BAD as SIGNS_BAD
from kubectl_eksdoc.drain.report.plan import GOOD as SIGNS_GOOD
from kubectl_eksdoc.drain.report.plan import OPEN as SIGNS_OPEN
from kubectl_eksdoc.drain.report.plan import WARN, DrainView
from kubectl_eksdoc.drain.report.rows import NONE
from kubectl_eksdoc.drain.report.timeline import NO_GROUP, over_the_drain
from kubectl_eksdoc.drain.report.verdict import verdict
from kubectl_eksdoc.frozen import CachedProperties, frozen
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Status, When
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.pages import (
    TONES,
    Html,
    advice,
    bullets,
    command_list,
    el,
    folded,
    lines,
    more,
    put,
    table,
)
from kubectl_eksdoc.report.report import SIGNS
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    Look,
    Row,
    columns_of,
    counted,
    cut,
    listing,
    number_column,
)

from ..plan import CheckPlan
from . import verdict as check_verdict
from .verdict import (
    AreaLight,
    AreaPart,
    GateOf,
    area_parts,
    gates,
    of_aws,
)

MOST_ALIKE = 12
"""Findings of one code and status in an area that the page shows; users do not read more of them."""

LONGEST_NAME = 120
"""Characters of the subject of a finding: some findings are about hundreds of nodes."""


class CountedFindings(NamedTuple):
    """Findings of one code and status that are counted and not shown."""

    code: Code
    status: Status
    left: int


@frozen
class CheckPage(CachedProperties):
    """The data of the page; values derived from the plan are computed once."""

    plan: CheckPlan
    options: Mapping[str, object]
    tool_version: str

    @cached_property
    def parts(self) -> tuple[AreaPart, ...]:
        """All areas, in their order."""
        return area_parts(self.plan)

    @cached_property
    def worst_first(self) -> tuple[AreaPart, ...]:
        """The areas with checks, the worst first."""
        seen = (part for part in self.parts if part.judged)
        return tuple(sorted(seen, key=lambda part: (part.light.value, _rank(part))))

    @cached_property
    def gate_of(self) -> GateOf:
        return gates(self.plan)

    @cached_property
    def anchors(self) -> Mapping[Finding, str]:
        """Anchors of the findings that are shown."""
        kept = (found for part in self.worst_first for found in few((*part.counting, *part.others))[0])
        return {found: f"finding-{number}" for number, found in enumerate(dict.fromkeys(kept), 1)}

    @cached_property
    def drain(self) -> DrainView | None:
        """The plan behind the findings about drains."""
        facts = self.plan.facts
        if facts.drain is None:
            return None
        return DrainView(facts.drain, facts.cluster, tool_version=self.tool_version)

    @cached_property
    def group_anchors(self) -> Mapping[str, str]:
        """Anchors of the node groups in the drain's section; nodes without a group have the name ""."""
        if self.drain is None:
            return {}
        names = dict.fromkeys(target.node.group for target in self.drain.targets)
        return {name: f"drain-{number}" for number, name in enumerate(names, 1)}

    def link(self, found: Finding) -> str:
        """The anchor of the finding itself, or of its area where it is only counted."""
        return self.anchors.get(found) or next(
            (part.anchor for part in self.worst_first if found in part.counting), "findings"
        )


def about(found: Finding) -> str:
    """The subject of the finding in one line, cut to the maximum length."""
    return cut(f"{found.subject.kind} {found.subject}", LONGEST_NAME, Look())


def few(found: Iterable[Finding], most: int = MOST_ALIKE) -> tuple[list[Finding], list[CountedFindings]]:
    """The first `limit` of each code and status, and the number of the others. A single further one is shown, too."""
    alike: dict[tuple[str, Status], list[Finding]] = defaultdict(list)
    every = list(found)
    for each in every:
        alike[each.code.name, each.status].append(each)
    left = {key: len(some) - most for key, some in alike.items() if len(some) > most + 1}
    seen: Counter[tuple[str, Status]] = Counter()
    kept = []
    for each in every:
        key = (each.code.name, each.status)
        seen[key] += 1
        if key not in left or seen[key] <= most:
            kept.append(each)
    return kept, [CountedFindings(alike[key][0].code, key[1], count) for key, count in left.items()]


def _rank(part: AreaPart) -> Sequence[int]:
    """Smaller for worse: by the number of findings of each severity."""
    severities = Counter(each.severity for each in part.fails or part.unknown)
    return [-severities[severity] for severity in Severity]


# The replacement of the nodes as the check has planned it: by node group, over time, and with budget headroom.


MOST_BUDGETS = 40
"""Budgets whose headroom a page shows; the worst come first."""
_MOST_NAMES = 8

_PLAN = "kubectl eksdoc drain plan "
_HOW = (
    "As the update of a managed node group does it: one new node joins first; pods without a controller and with"
    " emptyDir are evicted, too. No order was searched."
)


def drain(shown: CheckPage) -> Html:
    """Empty where there is nothing to drain, or no plan."""
    view = shown.drain
    if view is None:
        return Html("")
    target = in_words(shown.plan.facts.way.target)
    return lines(
        [
            el("p", f"All nodes that are older than {target}. ", verdict(view)),
            el("p", _HOW, " What blocks is among the findings." if shown.plan.wish.whole else "", class_="soft"),
            _groups(shown, view),
            el("h3", "Over time"),
            over_the_drain(view) or el("p", "No node can be emptied, so there is no course of time to show."),
            _budgets(view),
            _own_pages(shown),
        ]
    )


def _groups(shown: CheckPage, view: DrainView) -> Html:
    columns = columns_of(
        "NODE GROUP",
        number_column("NODES"),
        number_column("CAN GO"),
        number_column("EVICTIONS", 1),
        number_column("DONE AFTER"),
        "VERDICT",
        "NOT EMPTIED",
    )
    rows = [_group(view, name, anchor) for name, anchor in shown.group_anchors.items()]
    return table(columns, rows)


def _group(view: DrainView, name: str, anchor: str) -> Row:
    targets = [target for target in view.targets if target.node.group == name]
    drained = [target for target in targets if target.order]
    done = [view.spans[each.node.name].done_s for each in drained if each.node.name in view.spans]
    names = [target.node.name for target in targets if not target.order]
    return [
        el("b", name or NO_GROUP, id=anchor),
        len(targets),
        len(drained),
        sum(target.evictions for target in drained),
        duration(max(done)) if done else NONE,
        _standing(targets),
        listing(names, _MOST_NAMES, Look()) or NONE,
    ]


def _standing(targets: Sequence[DrainTarget]) -> Cell:
    """Whether all, some or no nodes of a group can be drained."""
    drained = sum(target.order > 0 for target in targets)
    if drained == len(targets):
        sign, tone = SIGNS_GOOD
        return Cell(f"{sign} all can go", tone)
    unknown = any(target.verdict is TargetVerdict.UNKNOWN for target in targets)
    sign, tone = WARN if drained else SIGNS_OPEN if unknown else SIGNS_BAD
    return Cell(f"{sign} {'some can go' if drained else 'not judged' if unknown else 'none can go'}", tone)


def _budgets(view: DrainView) -> Html:
    told = budgets(view, MOST_BUDGETS)
    return put(el("h3", "Headroom of the budgets"), told) if told else Html("")


def _own_pages(shown: CheckPage) -> Html:
    """The plan commands of the checklist, which are directed to the same cluster."""
    plans = dict.fromkeys(
        f"{line} -o html"
        for step in shown.plan.checklist
        for line in step.commands
        if line.startswith(_PLAN) and "--nodegroup" in line
    )
    if not plans:
        return Html("")
    said = "The whole plan of one group, each with its own page:"
    return el("div", el("p", said), command_list(list(plans)), class_="card")


# The findings by area, the worst first: a line for each, with its remedy below and its evidence folded; and unknown
# answers with the missing right or fact, which are no passes.


BAD, OPEN, GOOD = ("✗", "bad"), ("?", "open"), ("✓", "good")
PASSED_OVER = ("○", "unseen")

LIGHTS = {
    AreaLight.GRAVE: ("✗", "bad", "something critical or high fails"),
    AreaLight.FAILS: ("!", "warn", "something less severe fails"),
    AreaLight.UNKNOWN: ("?", "open", "something is not known"),
    AreaLight.PASSED_OVER: (*PASSED_OVER, "nothing counts, but for --fail-on or a suppression alone"),
    AreaLight.FINE: ("✓", "good", "all that was checked is fine"),
    AreaLight.UNSEEN: ("–", "unseen", "not checked"),
}
"""The symbol, the CSS class, and the meaning of each light."""


_LONGEST = 400
"""Characters of a message in one line of the list; the full text is below it."""
_MOST_EVIDENCE = 25
_MOST_NODES = 6
_STATUS = {Status.FAIL: "fail", Status.UNKNOWN: "are not known", Status.PASS: "block nothing"}


def findings(shown: CheckPage) -> Html:
    """All checked areas, also those without findings."""
    return lines(_area(shown, part) for part in shown.worst_first)


def _area(shown: CheckPage, part: AreaPart) -> Html:
    sign, tone, _ = LIGHTS[part.light]
    head = el("h3", el("span", f"{sign} {part.title}", class_=tone), " ", el("span", part.figures, class_="soft"),
              id=part.anchor)  # fmt: skip
    besides = f"{counted(len(part.others), 'finding')} that {'blocks' if len(part.others) == 1 else 'block'} nothing"
    others = folded(besides, el("div", lines(_cards(shown, part.others)))) if part.others else ""
    return put(head, lines([*_cards(shown, part.counting), others]))


def _cards(shown: CheckPage, found: Sequence[Finding]) -> Iterator[Html]:
    kept, counted_only = few(found)
    for each in kept:
        sign, tone = SIGNS[each.status]
        word = "unknown" if each.status is Status.UNKNOWN else each.severity.value
        head = el("span", f"{sign} {word}", class_=f"code {TONES[tone]}")
        summary = put(head, " ", el("b", about(each)), f": {cut(each.message, _LONGEST, Look())}")
        yield folded(summary, _inside(shown, each))
    for rest in counted_only:
        yield more(rest.left, f"of {rest.code.name} that {_STATUS[rest.status]}")


def _inside(shown: CheckPage, found: Finding) -> Html:
    name = f"{found.subject.kind} {found.subject}"
    too_long = len(name) > LONGEST_NAME or len(found.message) > _LONGEST  # the line above is cut
    kept, left = found.evidence[:_MOST_EVIDENCE], len(found.evidence[_MOST_EVIDENCE:])
    evidence = bullets([*kept, *([f"and {left} more (in -o json)"] if left else [])], "evidence")
    # Its code, its severity, and the step that waits for it.
    waits = "blocks nothing"
    if found.status is not Status.PASS:
        gate = shown.gate_of(found)
        done = "to be known" if found.status is Status.UNKNOWN else "to be fixed"
        waits = "no step waits for it" if gate is None else f"{done} {check_verdict.before(shown.plan, gate)}"
    # For a drain finding: the nodes that it keeps from being drained, by the plan of the drain.
    drains = found.status is not Status.PASS and found.code in Code.of_area("drain")
    nodes = shown.drain.holds_up(found) if drains and shown.drain is not None else ()
    link = el("a", "the replacement of the nodes", href="#drain")
    parts = [
        el("p", f"{found.code.name} · {found.severity.value} · {waits}", class_="soft"),
        folded("In full", el("p", f"{name}: {found.message}")) if too_long else "",
        el("p", "Missing: ", el("b", found.missing)) if found.missing else "",
        el("p", f"Holds up {listing(nodes, _MOST_NODES, Look())}: see ", link, ".") if nodes else put(),
        *(
            advice(each.when.value, each.text, [each.command] if each.command else [])
            for when in When
            for each in found.remedy
            if each.when is when
        ),
        folded(f"Evidence: {counted(len(found.evidence), 'line')}", evidence),
    ]
    return el("div", lines(parts), id=shown.anchors.get(found, False))


# Unknown answers.


_MOST_ROWS = 100
"""Rows: answers with the same missing data and the same reason share one."""
_MOST_REASONS = 3
"""Rows for the reasons of one code and missing data; further reasons are counted in one more row."""


def unknown(shown: CheckPage) -> Html:
    """Empty where everything is known."""
    by_aws = of_aws(shown.plan)
    seen = frozenset(by_aws)
    groups = _alike(found for part in shown.worst_first for found in part.unknown if found not in seen)
    columns = columns_of("MISSING", "WHAT AND WHY", "OF", Column("CODE", drop=1))
    answers = table(columns, [_row(shown, some) for some in groups[:_MOST_ROWS]])
    unread = [read for read in shown.plan.facts.cluster.reads if not read.known]
    lists = folded(f"{counted(len(unread), 'kind')} not read completely", table(*rows.unread(unread)))
    return lines([_aws(shown, by_aws), put(answers, more(sum(map(len, groups[_MOST_ROWS:])))), lists])


def _aws(shown: CheckPage, found: Sequence[Finding]) -> Html:
    """The common reason of many unknown answers, once."""
    eks = shown.plan.facts.eks
    if not isinstance(eks, Unknown):
        return Html("")
    missing = put(" Missing: ", el("b", eks.missing), ".") if eks.missing else ""
    said = el("p", el("b", "? Nothing of AWS is known: "), f"{eks.why}.", missing, class_="open")
    codes = el("p", ", ".join(sorted({each.code.name for each in found})))
    return put(said, folded(f"Unknown by that: {counted(len(found), 'answer')}", codes) if found else "")


def _alike(found: Iterable[Finding]) -> list[list[Finding]]:
    """Groups by missing data, and by reason."""
    lacks: dict[tuple[str, str], dict[str, list[Finding]]] = defaultdict(lambda: defaultdict(list))
    for each in found:
        lacks[each.code.name, each.missing][_reason(each)].append(each)
    groups: list[list[Finding]] = []
    for reasons in lacks.values():
        every = list(reasons.values())
        rest = [each for some in every[_MOST_REASONS:] for each in some]
        groups += every[:_MOST_REASONS] + ([rest] if rest else [])
    return groups


def _reason(found: Finding) -> str:
    """The message without the subject's name, to compare findings about several subjects."""
    return found.message.replace(str(found.subject), "").replace(found.subject.name, "")


def _row(shown: CheckPage, found: Sequence[Finding]) -> Row:
    first = found[0]
    others = f" and {len(found) - 1} more" if len(found) > 1 else ""
    left = len(set(map(_reason, found))) - 1
    reasons = f"; and {counted(left, 'other reason')} (in -o json)" if left else ""
    link = el("a", first.code.name, href=f"#{shown.link(first)}")
    return [first.missing or "a fact that nothing tells", f"{first.message}{reasons}", f"{about(first)}{others}", link]
