"""Findings, unknown answers and drains on the HTML page of a check; similar findings beyond a limit are counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from kubectl_eksdoc.amazon.versions import format_version
from kubectl_eksdoc.drain.outcome import DrainTarget, TargetVerdict
from kubectl_eksdoc.drain.report import rows
from kubectl_eksdoc.drain.report.page import budgets
from kubectl_eksdoc.drain.report.plan import BAD as SIGNS_BAD
from kubectl_eksdoc.drain.report.plan import GOOD as SIGNS_GOOD
from kubectl_eksdoc.drain.report.plan import UNKNOWN_SYMBOL as SIGNS_OPEN
from kubectl_eksdoc.drain.report.plan import WARN, DrainView
from kubectl_eksdoc.drain.report.rows import NONE
from kubectl_eksdoc.drain.report.timeline import NO_GROUP, drain_timeline
from kubectl_eksdoc.drain.report.verdict import plan_summary
from kubectl_eksdoc.frozen import CachedProperties, frozen
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Status, When
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.pages import (
    TONES,
    Html,
    bullet_list,
    collapsible,
    command_list,
    concat,
    element,
    html_lines,
    html_table,
    omitted_note,
    remedy_block,
)
from kubectl_eksdoc.report.report import SYMBOLS
from kubectl_eksdoc.report.text import (
    Appearance,
    Cell,
    Column,
    Row,
    as_columns,
    list_names,
    number_column,
    pluralize,
    truncate,
)

from ..plan import CheckPlan
from . import verdict as check_verdict
from .verdict import (
    AreaLight,
    AreaPart,
    GateLookup,
    area_parts,
    findings_without_aws,
    gate_lookup,
)

MAX_SIMILAR_FINDINGS = 12
"""Findings of one code and status in an area that the page shows; users do not read more of them."""

MAX_SUBJECT_LENGTH = 120
"""Characters of the subject of a finding: some findings are about hundreds of nodes."""


class CountedFindings(NamedTuple):
    """Findings of one code and status that are counted and not shown."""

    code: Code
    status: Status
    not_shown: int


@frozen
class CheckPage(CachedProperties):
    """The data of the page; values derived from the plan are computed once."""

    plan: CheckPlan
    options: Mapping[str, object]
    tool_version: str

    @cached_property
    def area_parts(self) -> tuple[AreaPart, ...]:
        """All areas, in their order."""
        return area_parts(self.plan)

    @cached_property
    def worst_parts_first(self) -> tuple[AreaPart, ...]:
        """The areas with checks, the worst first."""
        checked_parts = (part for part in self.area_parts if part.judged)
        return tuple(sorted(checked_parts, key=lambda part: (part.light.value, _part_rank(part))))

    @cached_property
    def gate_of(self) -> GateLookup:
        return gate_lookup(self.plan)

    @cached_property
    def anchors(self) -> Mapping[Finding, str]:
        """Anchors of the findings that are shown."""
        shown_findings = (
            found for part in self.worst_parts_first for found in first_of_each_code((*part.counted, *part.others))[0]
        )
        return {found: f"finding-{number}" for number, found in enumerate(dict.fromkeys(shown_findings), 1)}

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

    def anchor_of(self, finding: Finding) -> str:
        """The anchor of the finding itself, or of its area where it is only counted."""
        return self.anchors.get(finding) or next(
            (part.anchor for part in self.worst_parts_first if finding in part.counted), "findings"
        )


def subject_text(finding: Finding) -> str:
    """The subject of the finding in one line, cut to the maximum length."""
    return truncate(f"{finding.subject.kind} {finding.subject}", MAX_SUBJECT_LENGTH, Appearance())


def first_of_each_code(
    findings: Iterable[Finding], limit: int = MAX_SIMILAR_FINDINGS
) -> tuple[list[Finding], list[CountedFindings]]:
    """The first `limit` of each code and status, and the number of the others. A single further one is shown, too."""
    similar_findings: dict[tuple[str, Status], list[Finding]] = defaultdict(list)
    all_findings = list(findings)
    for finding in all_findings:
        similar_findings[finding.code.name, finding.status].append(finding)
    counts_left = {key: len(some) - limit for key, some in similar_findings.items() if len(some) > limit + 1}
    shown_counts: Counter[tuple[str, Status]] = Counter()
    shown_findings = []
    for finding in all_findings:
        key = (finding.code.name, finding.status)
        shown_counts[key] += 1
        if key not in counts_left or shown_counts[key] <= limit:
            shown_findings.append(finding)
    return shown_findings, [
        CountedFindings(similar_findings[key][0].code, key[1], count) for key, count in counts_left.items()
    ]


def _part_rank(part: AreaPart) -> Sequence[int]:
    """Smaller for worse: by the number of findings of each severity."""
    severities = Counter(each.severity for each in part.fails or part.unknown)
    return [-severities[severity] for severity in Severity]


# The replacement of the nodes as the check has planned it: by node group, over time, and with budget headroom.


MAX_BUDGETS = 40
"""Budgets whose headroom a page shows; the worst come first."""
_MAX_NAMES = 8

_PLAN_COMMAND = "kubectl eksdoc drain plan "
_PLAN_NOTE = (
    "As the update of a managed node group does it: one new node joins first; pods without a controller and with"
    " emptyDir are evicted, too. No order was searched."
)


def drain_section(check_page: CheckPage) -> Html:
    """Empty where there is nothing to drain, or no plan."""
    view = check_page.drain
    if view is None:
        return Html("")
    target = format_version(check_page.plan.facts.path.target)
    return html_lines(
        [
            element("p", f"All nodes that are older than {target}. ", plan_summary(view)),
            element(
                "p",
                _PLAN_NOTE,
                " What blocks is among the findings." if check_page.plan.scope.is_complete else "",
                class_="soft",
            ),
            _group_table(check_page, view),
            element("h3", "Over time"),
            drain_timeline(view) or element("p", "No node can be emptied, so there is no course of time to show."),
            _budget_section(view),
            _group_plan_commands(check_page),
        ]
    )


def _group_table(check_page: CheckPage, view: DrainView) -> Html:
    columns = as_columns(
        "NODE GROUP",
        number_column("NODES"),
        number_column("CAN GO"),
        number_column("EVICTIONS", 1),
        number_column("DONE AFTER"),
        "VERDICT",
        "NOT EMPTIED",
    )
    rows = [_group_row(view, name, anchor) for name, anchor in check_page.group_anchors.items()]
    return html_table(columns, rows)


def _group_row(view: DrainView, name: str, anchor: str) -> Row:
    targets = [target for target in view.targets if target.node.group == name]
    drained = [target for target in targets if target.order]
    done_seconds = [view.spans[each.node.name].done_s for each in drained if each.node.name in view.spans]
    not_drained = [target.node.name for target in targets if not target.order]
    return [
        element("b", name or NO_GROUP, id=anchor),
        len(targets),
        len(drained),
        sum(target.evictions for target in drained),
        format_duration(max(done_seconds)) if done_seconds else NONE,
        _group_verdict(targets),
        list_names(not_drained, _MAX_NAMES, Appearance()) or NONE,
    ]


def _group_verdict(targets: Sequence[DrainTarget]) -> Cell:
    """Whether all, some or no nodes of a group can be drained."""
    drained = sum(target.order > 0 for target in targets)
    if drained == len(targets):
        symbol, tone = SIGNS_GOOD
        return Cell(f"{symbol} all can go", tone)
    unknown = any(target.verdict is TargetVerdict.UNKNOWN for target in targets)
    symbol, tone = WARN if drained else SIGNS_OPEN if unknown else SIGNS_BAD
    return Cell(f"{symbol} {'some can go' if drained else 'not judged' if unknown else 'none can go'}", tone)


def _budget_section(view: DrainView) -> Html:
    budget_table = budgets(view, MAX_BUDGETS)
    return concat(element("h3", "Headroom of the budgets"), budget_table) if budget_table else Html("")


def _group_plan_commands(check_page: CheckPage) -> Html:
    """The plan commands of the checklist, which are directed to the same cluster."""
    commands = dict.fromkeys(
        f"{line} -o html"
        for step in check_page.plan.checklist
        for line in step.commands
        if line.startswith(_PLAN_COMMAND) and "--nodegroup" in line
    )
    if not commands:
        return Html("")
    text = "The whole plan of one group, each with its own page:"
    return element("div", element("p", text), command_list(list(commands)), class_="card")


# The findings by area, the worst first: a line for each, with its remedy below and its evidence folded; and unknown
# answers with the missing right or fact, which are no passes.


BAD_SYMBOL, OPEN_SYMBOL, GOOD_SYMBOL = ("✗", "bad"), ("?", "open"), ("✓", "good")
NOT_COUNTED_SYMBOL = ("○", "unseen")

LIGHTS = {
    AreaLight.SERIOUS: ("✗", "bad", "something critical or high fails"),
    AreaLight.FAILS: ("!", "warn", "something less severe fails"),
    AreaLight.UNKNOWN: ("?", "open", "something is not known"),
    AreaLight.NOT_COUNTED: (*NOT_COUNTED_SYMBOL, "nothing counts, but for --fail-on or a suppression alone"),
    AreaLight.FINE: ("✓", "good", "all that was checked is fine"),
    AreaLight.NOT_CHECKED: ("–", "unseen", "not checked"),
}
"""The symbol, the CSS class, and the meaning of each light."""


_MAX_MESSAGE_LENGTH = 400
"""Characters of a message in one line of the list; the full text is below it."""
_MAX_EVIDENCE = 25
_MAX_NODES = 6
_STATUS_TEXTS = {Status.FAIL: "fail", Status.UNKNOWN: "are not known", Status.PASS: "block nothing"}


def findings_section(check_page: CheckPage) -> Html:
    """All checked areas, also those without findings."""
    return html_lines(_area_section(check_page, part) for part in check_page.worst_parts_first)


def _area_section(check_page: CheckPage, part: AreaPart) -> Html:
    symbol, tone, _ = LIGHTS[part.light]
    head = element("h3", element("span", f"{symbol} {part.title}", class_=tone), " ",
                   element("span", part.figures, class_="soft"), id=part.anchor)  # fmt: skip
    others_title = (
        f"{pluralize(len(part.others), 'finding')} that {'blocks' if len(part.others) == 1 else 'block'} nothing"
    )
    others = (
        collapsible(others_title, element("div", html_lines(_finding_cards(check_page, part.others))))
        if part.others
        else ""
    )
    return concat(head, html_lines([*_finding_cards(check_page, part.counted), others]))


def _finding_cards(check_page: CheckPage, findings: Sequence[Finding]) -> Iterator[Html]:
    shown_findings, counted_only = first_of_each_code(findings)
    for finding in shown_findings:
        symbol, tone = SYMBOLS[finding.status]
        severity_text = "unknown" if finding.status is Status.UNKNOWN else finding.severity.value
        head = element("span", f"{symbol} {severity_text}", class_=f"code {TONES[tone]}")
        summary = concat(
            head,
            " ",
            element("b", subject_text(finding)),
            f": {truncate(finding.message, _MAX_MESSAGE_LENGTH, Appearance())}",
        )
        yield collapsible(summary, _card_body(check_page, finding))
    for rest in counted_only:
        yield omitted_note(rest.not_shown, f"of {rest.code.name} that {_STATUS_TEXTS[rest.status]}")


def _card_body(check_page: CheckPage, finding: Finding) -> Html:
    name = f"{finding.subject.kind} {finding.subject}"
    has_full_text = (
        len(name) > MAX_SUBJECT_LENGTH or len(finding.message) > _MAX_MESSAGE_LENGTH
    )  # the line above is cut
    shown_evidence, hidden_count = finding.evidence[:_MAX_EVIDENCE], len(finding.evidence[_MAX_EVIDENCE:])
    evidence = bullet_list(
        [*shown_evidence, *([f"and {hidden_count} more (in -o json)"] if hidden_count else [])], "evidence"
    )
    # Its code, its severity, and the step that waits for it.
    waiting_text = "blocks nothing"
    if finding.status is not Status.PASS:
        gate = check_page.gate_of(finding)
        what_is_due = "to be known" if finding.status is Status.UNKNOWN else "to be fixed"
        waiting_text = (
            "no step waits for it"
            if gate is None
            else f"{what_is_due} {check_verdict.before_gate(check_page.plan, gate)}"
        )
    # For a drain finding: the nodes that it keeps from being drained, by the plan of the drain.
    is_drain_finding = finding.status is not Status.PASS and finding.code in Code.of_areas("drain")
    blocked_nodes = check_page.drain.blocked_nodes(finding) if is_drain_finding and check_page.drain is not None else ()
    link = element("a", "the replacement of the nodes", href="#drain")
    parts = [
        element("p", f"{finding.code.name} · {finding.severity.value} · {waiting_text}", class_="soft"),
        collapsible("In full", element("p", f"{name}: {finding.message}")) if has_full_text else "",
        element("p", "Missing: ", element("b", finding.missing)) if finding.missing else "",
        element("p", f"Holds up {list_names(blocked_nodes, _MAX_NODES, Appearance())}: see ", link, ".")
        if blocked_nodes
        else concat(),
        *(
            remedy_block(each.when.value, each.text, [each.command] if each.command else [])
            for when in When
            for each in finding.remedy
            if each.when is when
        ),
        collapsible(f"Evidence: {pluralize(len(finding.evidence), 'line')}", evidence),
    ]
    return element("div", html_lines(parts), id=check_page.anchors.get(finding, False))


# Unknown answers.


_MAX_ROWS = 100
"""Rows: answers with the same missing data and the same reason share one."""
_MAX_REASONS = 3
"""Rows for the reasons of one code and missing data; further reasons are counted in one more row."""


def unknown_section(check_page: CheckPage) -> Html:
    """Empty where everything is known."""
    without_aws = findings_without_aws(check_page.plan)
    without_aws_set = frozenset(without_aws)
    groups = _similar_findings(
        found for part in check_page.worst_parts_first for found in part.unknown if found not in without_aws_set
    )
    columns = as_columns("MISSING", "WHAT AND WHY", "OF", Column("CODE", drop_order=1))
    answers = html_table(columns, [_unknown_row(check_page, some) for some in groups[:_MAX_ROWS]])
    not_read = [read for read in check_page.plan.facts.cluster.reads if not read.known]
    lists = collapsible(f"{pluralize(len(not_read), 'kind')} not read completely", html_table(*rows.not_read(not_read)))
    return html_lines(
        [_aws_section(check_page, without_aws), concat(answers, omitted_note(sum(map(len, groups[_MAX_ROWS:])))), lists]
    )


def _aws_section(check_page: CheckPage, findings: Sequence[Finding]) -> Html:
    """The common reason of many unknown answers, once."""
    eks = check_page.plan.facts.eks
    if not isinstance(eks, Unknown):
        return Html("")
    missing = concat(" Missing: ", element("b", eks.missing), ".") if eks.missing else ""
    reason_line = element("p", element("b", "? Nothing of AWS is known: "), f"{eks.why}.", missing, class_="open")
    codes = element("p", ", ".join(sorted({each.code.name for each in findings})))
    return concat(
        reason_line, collapsible(f"Unknown by that: {pluralize(len(findings), 'answer')}", codes) if findings else ""
    )


def _similar_findings(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Groups by missing data, and by reason."""
    findings_by_reason: dict[tuple[str, str], dict[str, list[Finding]]] = defaultdict(lambda: defaultdict(list))
    for each in findings:
        findings_by_reason[each.code.name, each.missing][_reason_of(each)].append(each)
    groups: list[list[Finding]] = []
    for reasons in findings_by_reason.values():
        reason_groups = list(reasons.values())
        other_findings = [each for some in reason_groups[_MAX_REASONS:] for each in some]
        groups += reason_groups[:_MAX_REASONS] + ([other_findings] if other_findings else [])
    return groups


def _reason_of(finding: Finding) -> str:
    """The message without the subject's name, to compare findings about several subjects."""
    return finding.message.replace(str(finding.subject), "").replace(finding.subject.name, "")


def _unknown_row(check_page: CheckPage, findings: Sequence[Finding]) -> Row:
    first = findings[0]
    others = f" and {len(findings) - 1} more" if len(findings) > 1 else ""
    other_reasons = len(set(map(_reason_of, findings))) - 1
    reasons_text = f"; and {pluralize(other_reasons, 'other reason')} (in -o json)" if other_reasons else ""
    link = element("a", first.code.name, href=f"#{check_page.anchor_of(first)}")
    return [
        first.missing or "a fact that nothing tells",
        f"{first.message}{reasons_text}",
        f"{subject_text(first)}{others}",
        link,
    ]
