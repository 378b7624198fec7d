"""Verdict of an upgrade check in sentences: what blocks which step and why, root causes, and areas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from kubectl_eksdoc.amazon.versions import format_version
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.findings import Finding, Severity, Status, sort_findings
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.report.report import (
    SYMBOLS,
    FindingSuffix,
    Line,
    ReportFigure,
    Section,
    TextBlock,
    flush_left,
    verbatim_line,
)
from kubectl_eksdoc.report.text import (
    MARGIN,
    Appearance,
    Cell,
    TableData,
    Title,
    Tone,
    as_columns,
    first_items,
    join_words,
    number_column,
    omitted_note,
    pluralize,
    printable,
    truncate,
    with_title,
    wrap_printable,
)

from ..checking import AWS_ACCOUNT, MAX_TOP_CAUSES, Area, Gate, RootCause, join_names
from ..plan import CheckPlan, JudgedFindings

if TYPE_CHECKING:
    from ..steps import UpgradeStep
    from ..symptoms import SymptomDiagnosis


def before_gate(plan: CheckPlan, gate: Gate | None) -> str:
    """The step that waits: ``before the nodes' step``."""
    if gate is None:
        return "that no step waits for"
    if gate is Gate.BEFORE_CONTROL_PLANE and _has_no_upgrade(plan):
        return "before they are applied"
    if gate is Gate.BEFORE_CONTROL_PLANE:
        return f"before the control plane's {'' if plan.facts.path.steps else 'next '}step"
    return "before the nodes' step" if gate is Gate.BEFORE_NODES else "before the end of the upgrade"


def summary(plan: CheckPlan) -> str:
    """The first lines: the upgrade path, whether the upgrade can go on, and what blocks it."""
    if plan.diagnosis is not None:
        return symptom_summary(plan.diagnosis)
    return f"{path_text(plan)} {build_verdict(plan).text}{suppressed_text(plan)}{left_out_text(plan)}"


class CheckVerdict(NamedTuple):
    """`headline`: the answer; `explanation`: with the punctuation before it. `is_blocked`: whether the next step is
    blocked, also if only by unknown findings."""

    headline: str
    explanation: str
    is_blocked: bool

    @property
    def text(self) -> str:
        return f"{self.headline}{self.explanation}"


def suppressed_text(plan: CheckPlan) -> str:
    """A sentence with a space before it; "" where nothing is suppressed."""
    return f" {pluralize(len(plan.suppressed), 'finding')} suppressed." if plan.suppressed else ""


def left_out_text(plan: CheckPlan) -> str:
    """A sentence with a space before it; "" where AWS was not left out."""
    return f" {plan.facts.eks.why}." if plan.scope.no_aws and isinstance(plan.facts.eks, Unknown) else ""


def partial_text(plan: CheckPlan) -> str:
    """A sentence that this is only a partial check; "" for a complete one."""
    if plan.scope.is_complete:
        return ""
    gate_flag = (f"--gate {plan.scope.gate.value}",) if plan.scope.gate is not None else ()
    only = plan.scope.only
    if plan.scope.areas:
        from ..registry import codes_of_areas

        only -= frozenset(codes_of_areas(plan.scope.areas))
    selected = {"--area": plan.scope.areas, "--only": sorted(only)}
    flags = (f"{flag} {', '.join(each)}" for flag, each in selected.items() if each)
    return f"Only a part was checked ({'; '.join((*gate_flag, *flags))}): the rest of the upgrade may have obstacles."


def symptom_summary(diagnosis: SymptomDiagnosis) -> str:
    """Without a statement whether the cluster can be upgraded: only the data for the symptom was read."""
    unknown = f", {pluralize(len(diagnosis.unknown), 'answer')} not known" if diagnosis.unknown else ""
    causes = pluralize(len(diagnosis.suspects), "possible cause") if diagnosis.suspects else "no cause found"
    is_active = any(each.active for each in diagnosis.suspects) or not diagnosis.suspects
    return f"{diagnosis.symptom.value}: {causes}{unknown}.{'' if is_active else _LATENT_NOTE}"


_LATENT_NOTE = (
    " Nothing shows that any of this hurts now: what has changed (--changed-since) tells whether the time fits."
)
"""A likely but latent cause is no proof: without the note a user might fix the wrong thing, and wait."""


def path_text(plan: CheckPlan) -> str:
    """The upgrade path in a sentence."""
    path = plan.facts.path
    if _has_no_upgrade(plan):
        return f"Nothing to upgrade: the manifests were checked against Kubernetes {format_version(path.now)}."
    assumed = f" ({path.told_by})" if path.assumed else ""
    if not path.steps:
        return f"The control plane has {format_version(path.now)}{assumed}, which is the target; the rest is to follow."
    return f"From {path.text}{assumed}."


def _has_no_upgrade(plan: CheckPlan) -> bool:
    """Whether only manifests are checked, for a version that may be the present one."""
    return plan.facts.cluster.source is Source.FILE and not plan.facts.path.steps


def causes_at_gate(plan: CheckPlan, gate: Gate | None) -> str:
    """``8 causes and 1 unknown``, "" where nothing blocks the step; None: causes that block no step."""
    return causes_text(plan.causes_by_gate[gate])


def causes_text(root_causes: Iterable[RootCause]) -> str:
    """The numbers of failures and of unknown answers in words."""
    fails, unknown = count_by_status(root_causes)
    return join_words([*([pluralize(fails, "cause")] if fails else []), *([f"{unknown} unknown"] if unknown else [])])


def cause_name(root_cause: RootCause) -> str:
    """The name of a cause: ``API policy/v1beta1``."""
    return f"{root_cause.subject.kind} {root_cause.subject}"


def cause_reason(plan: CheckPlan, root_cause: RootCause) -> str:
    """The message of the cause, with the name of its object where the cause is another object."""
    if root_cause.subject == AWS_ACCOUNT and isinstance(plan.facts.eks, Unknown):
        return f"{plan.facts.eks.why} ({pluralize(len(root_cause.findings), 'answer')})"
    if root_cause.subject.kind == "Snapshot":
        return f"it does not hold what these need: {join_names([each.name for each in root_cause.codes])}"
    top_finding = root_cause.first
    return (
        top_finding.message
        if top_finding.subject == root_cause.subject
        else f"{top_finding.subject.kind} {top_finding.subject}: {top_finding.message}"
    )


def count_by_status(root_causes: Iterable[RootCause]) -> tuple[int, int]:
    """The number of failures, and of unknown answers."""
    statuses = [each.status for each in root_causes]
    return statuses.count(Status.FAIL), statuses.count(Status.UNKNOWN)


def count_causes(plan: CheckPlan, findings: Iterable[Finding]) -> tuple[int, int]:
    """The number of failing causes that begin with one of `findings`, and the number of unknown or accepted ones."""
    findings_by_id = {id(each): each for each in findings}
    fails, unknown = count_by_status(each for each in plan.causes if id(each.first) in findings_by_id)
    accepted = sum(f.status is Status.UNKNOWN and f.code.name in plan.scope.accepted for f in findings_by_id.values())
    return fails, unknown + accepted


def build_verdict(plan: CheckPlan) -> CheckVerdict:
    """The verdict without a symptom: whether the upgrade can go on, and what blocks it."""
    accepted = len(plan.outcome.accepted)
    accepted_text = f" {accepted} unknown, accepted by --accept-unknown." if accepted else ""
    gate_texts = [f"{found} {before_gate(plan, gate)}" for gate in Gate if (found := causes_at_gate(plan, gate))]
    if gate_texts:
        return CheckVerdict("Not yet", f": {'; '.join(gate_texts)}.{accepted_text}", True)
    other_causes = causes_at_gate(plan, None)
    if other_causes:
        explanation = f", but not all is as it should be: {other_causes}.{accepted_text}"
        return CheckVerdict("Nothing blocks a step", explanation, False)
    if accepted:
        return CheckVerdict("Nothing blocks a step", f";{accepted_text}", False)
    less_severe = sum(is_less_severe(plan, each) for each in plan.findings)
    if less_severe:
        verb = "is" if less_severe == 1 else "are"
        explanation = f": {pluralize(less_severe, 'finding')} {verb} less severe."
        return CheckVerdict(f"Nothing counts at --fail-on {plan.scope.fail_on.value}", explanation, False)
    deletions = [each for each in plan.findings if each.code.name in _DELETION_CODES]
    if deletions:
        explanation = (
            "; the replacement of nodes deletes data or pods for good: "
            f"{pluralize(len(deletions), 'finding')} (-o wide)."
        )
        return CheckVerdict("Nothing blocks a step", explanation, False)
    has_steps = any(each.phase.value not in _COMMON_PHASES for each in plan.checklist)
    return CheckVerdict(
        "Nothing blocks a step" if has_steps else "Nothing to do", ": all that was checked is as it should be.", False
    )


_COMMON_PHASES = ("prepare", "end")
"""Phases of every checklist, also of a finished upgrade."""
_DELETION_CODES = frozenset({"pod-emptydir", "pod-unmanaged"})
"""Data and pods that are deleted with the nodes block nothing, but the verdict has to mention them."""


def non_blocking_findings(plan: CheckPlan) -> tuple[Finding, ...]:
    """Passed findings with information, and findings below --fail-on."""
    return tuple(each for each in plan.findings if each.status is Status.PASS or not plan.is_counted(each))


def less_severe_at(plan: CheckPlan, gate: Gate) -> int:
    """The number of findings that do not count at that gate because of their severity alone."""
    return sum(is_less_severe(plan, each) for one in plan.judged if one.check.gate is gate for each in one.findings)


def is_less_severe(plan: CheckPlan, finding: Finding) -> bool:
    """Whether the finding does not count because of its severity alone; advice (unknown, info) needs no fix."""
    is_problem = finding.status is Status.FAIL or (
        finding.status is Status.UNKNOWN and finding.severity is not Severity.INFO
    )
    return is_problem and not plan.is_counted(finding)


# The step that waits for a finding, and the findings that a step waits for.


GateLookup = Callable[[Finding], Gate | None]


def gate_lookup(plan: CheckPlan) -> GateLookup:
    """The gate of each finding; of a suppressed one by its code, because its check is not kept."""
    by_finding = {
        found: judged_findings.check.gate for judged_findings in plan.judged for found in judged_findings.findings
    }
    by_code: dict[str, Gate | None] = {}
    for judged_findings in plan.judged:
        for code in judged_findings.check.codes:
            by_code.setdefault(code.name, judged_findings.check.gate)

    def gate_of_finding(finding: Finding) -> Gate | None:
        return by_finding[finding] if finding in by_finding else by_code.get(finding.code.name)

    return gate_of_finding


def step_reason(step: UpgradeStep) -> str:
    """The reason of a step, with its source."""
    if step.source is None:
        return f"{step.why}."
    return f"{step.why} [{', '.join(filter(None, (step.source.document, step.source.doubt)))}]"


def waiting_text(plan: CheckPlan, step: UpgradeStep) -> str:
    """``2 causes and 1 unknown first``; "" where nothing blocks the step."""
    waits_for_gate = step.gate is not None and not step.codes and not step.about
    causes_first = (
        causes_at_gate(plan, step.gate) if waits_for_gate else causes_text(plan.causes_of(plan.blocking_findings(step)))
    )
    return f"{causes_first} first" if causes_first else ""


# Root causes on a page: the top causes with their remedy, the others in a line each; and the areas as a traffic light.


MAX_CAUSE_LINES = 12
"""Causes of one step that a page shows in a line each."""
_SEVERITY_WIDTH = max(len(severity) for severity in ("critical", "unknown"))
_NAME_SHARE = 0.38
"""The largest share of a line for the name of a cause; the rest is for its message."""


def top_causes_section(plan: CheckPlan, mark: FindingSuffix) -> Section:
    """The causes that the next step waits for first, each with its first command."""
    top_causes = plan.causes[:MAX_TOP_CAUSES]
    gates = {root_cause.gate for root_cause in top_causes}
    common_gate = f" {before_gate(plan, top_causes[0].gate)}" if len(gates) == 1 else ""
    lines: list[Line] = []
    for number, root_cause in enumerate(top_causes, 1):
        sign, tone = SYMBOLS[root_cause.status]
        waiting = "" if common_gate else f" ({before_gate(plan, root_cause.gate)})"
        heading = f"{root_cause.severity.value}{mark(root_cause.first)} {root_cause.first.code.name}{waiting}"
        text = f"{number}. {sign} {heading}: {cause_name(root_cause)}: {cause_reason(plan, root_cause)}"
        indent = len(f"{number}. ")
        lines += [
            Line(text, 2, indent, tone),
            Line(f"→ {root_cause.do.dated_text}", indent + 2),
            verbatim_line(root_cause.do.command, indent + 4),
        ]
    return TextBlock(Title("Causes" if gates == {None} else "What decides", common_gate), lines)


def other_causes_section(plan: CheckPlan, mark: FindingSuffix) -> Section:
    """The other causes, by the step that waits for them."""

    def draw(appearance: Appearance, _: bool) -> list[str]:
        return [line for gate in (*Gate, None) for line in _gate_lines(plan, gate, appearance, mark)]

    return ReportFigure(None, draw)


def _gate_lines(plan: CheckPlan, gate: Gate | None, appearance: Appearance, mark: FindingSuffix) -> list[str]:
    """`gate` None: causes that no step waits for."""
    causes_at_gate_only = [each for each in plan.causes if each.gate is gate]
    causes_elsewhere = {id(finding): each for each in plan.causes if each.gate is not gate for finding in each.findings}
    repeated = [each for each in plan.causes_by_gate[gate] if id(each.first) in causes_elsewhere]
    repeated_worse = [each for each in repeated if each.severity.rank < causes_elsewhere[id(each.first)].severity.rank]
    listed_causes = [*repeated_worse, *(each for each in plan.causes[MAX_TOP_CAUSES:] if each.gate is gate)]
    repeated_text = f", and {earlier} of those above" if (earlier := len(repeated) - len(repeated_worse)) else ""
    title = Title(
        "Causes" if len(listed_causes) - len(repeated_worse) == len(causes_at_gate_only) else "More causes",
        f" {before_gate(plan, gate)}{repeated_text}",
    )
    shown_causes = first_items(listed_causes, MAX_CAUSE_LINES)
    return with_title(
        title,
        [
            *_cause_lines(plan, shown_causes, appearance, mark),
            *omitted_note(len(listed_causes) - len(shown_causes), appearance),
        ],
        appearance,
    )


def _cause_lines(
    plan: CheckPlan, root_causes: Sequence[RootCause], appearance: Appearance, mark: FindingSuffix
) -> Iterator[str]:
    """In columns: severity, name, and message."""
    room = int(appearance.columns * _NAME_SHARE)
    names = [_cause_label(root_cause, room, appearance) for root_cause in root_causes]
    width = max(map(len, names), default=0)
    for root_cause, name in zip(root_causes, names, strict=True):
        sign, tone = SYMBOLS[root_cause.status]
        text = f"{mark(root_cause.first).strip()} {cause_reason(plan, root_cause)}".strip()
        line = (
            f"{MARGIN}{sign} {root_cause.severity.value:<{_SEVERITY_WIDTH}}  {name:<{width}}  "
            f"{printable(text, appearance)}"
        )
        yield appearance.paint(truncate(appearance.transliterate(line), appearance.columns, appearance), tone)


def _cause_label(root_cause: RootCause, room: int, appearance: Appearance) -> str:
    """Without its kind where there is not enough room."""
    full_name = printable(cause_name(root_cause), appearance)
    return (
        full_name
        if len(full_name) <= room
        else truncate(printable(str(root_cause.subject), appearance), room, appearance, in_middle=True)
    )


_LATER_CODES = frozenset({"api-in-manifest", "api-in-helm", "release-note"})
_MAX_LATER = 6


def later_section(plan: CheckPlan) -> Section:
    """APIs and notes that have to be handled after this upgrade."""
    passed = (each for each in plan.findings if each.code.name in _LATER_CODES and each.status is Status.PASS)
    lines = [
        f"! {each.subject.kind} {each.subject}: {each.message}" for each in passed if each.severity is Severity.LOW
    ]
    title = Title("Later", ": works at the target, and is to be replaced")
    return TextBlock(title, lines[:_MAX_LATER], omitted=len(lines) - _MAX_LATER)


def findings_without_aws(plan: CheckPlan) -> tuple[Finding, ...]:
    """Findings that are unknown only because AWS is unknown."""
    return next((each.findings for each in plan.causes if each.subject == AWS_ACCOUNT), ())


def aws_unknown_section(plan: CheckPlan) -> Section | None:
    """All findings that are unknown without AWS, in one section."""
    eks, findings = plan.facts.eks, findings_without_aws(plan)
    if not findings or not isinstance(eks, Unknown):
        return None
    codes = ", ".join(sorted({each.code.name for each in findings}))
    lines = [Line(f"? {eks.why}."), flush_left(f"Unknown by that: {codes}.", 4)]
    if eks.missing:
        lines.append(flush_left(f"→ Allow {eks.missing}, or ask a person who has it.", 4))
    return TextBlock(Title("AWS is not known", f", and with it {pluralize(len(findings), 'answer')}"), lines)


# The areas.


_SERIOUS = (Severity.CRITICAL, Severity.HIGH)


class AreaLight(Enum):
    """The light of an area, the worst first. SERIOUS: a critical or high finding fails; NOT_COUNTED: there are only
    findings below --fail-on, or suppressed ones; NOT_CHECKED: no check of the area was made."""

    SERIOUS = auto()
    FAILS = auto()
    UNKNOWN = auto()
    NOT_COUNTED = auto()
    FINE = auto()
    NOT_CHECKED = auto()


class AreaPart(NamedTuple):
    """An area. `counted`: findings that fail or are unknown, and are severe enough; `others`: findings
    that block nothing. Worst first. `less_severe` and `suppressed`: numbers of findings that do not count for that
    reason. `causes`: numbers of causes that begin in the area and fail, and of unknown ones."""

    area: Area
    judged: tuple[JudgedFindings, ...]
    counted: tuple[Finding, ...]
    others: tuple[Finding, ...]
    less_severe: int = 0
    suppressed: int = 0
    causes: tuple[int, int] = (0, 0)

    @property
    def fails(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.counted if each.status is Status.FAIL)

    @property
    def unknown(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.counted if each.status is Status.UNKNOWN)

    @property
    def light(self) -> AreaLight:
        if not self.judged:
            return AreaLight.NOT_CHECKED
        if self.fails:
            return AreaLight.SERIOUS if any(each.severity in _SERIOUS for each in self.fails) else AreaLight.FAILS
        if self.unknown:
            return AreaLight.UNKNOWN
        return AreaLight.NOT_COUNTED if self.less_severe or self.suppressed else AreaLight.FINE

    @property
    def title(self) -> str:
        """The name with a capital letter."""
        name = self.area.value
        return f"{name[:1].upper()}{name[1:]}"

    @property
    def figures(self) -> str:
        """``6 causes, worst high; 1 unknown``, and findings that do not count. A cause counts in one area only."""
        if not self.judged:
            return "not checked"
        fails, unknown = self.causes
        elsewhere_text, worst = "part of causes elsewhere", self.fails[0].severity.value if self.fails else ""
        parts = (
            f"{pluralize(fails, 'cause') if fails else elsewhere_text}, worst {worst}" if worst else "",
            f"{unknown} unknown" if unknown else elsewhere_text if self.unknown and not worst else "",
            f"{self.less_severe} less severe" if self.less_severe else "",
            f"{self.suppressed} suppressed" if self.suppressed else "",
        )
        return "; ".join(filter(None, parts)) or "fine"

    @property
    def anchor(self) -> str:
        return f"area-{self.area.name.lower().replace('_', '-')}"


def area_parts(plan: CheckPlan) -> tuple[AreaPart, ...]:
    """All areas, in their order."""
    return tuple(_area_part(plan, area) for area in Area)


def _area_part(plan: CheckPlan, area: Area) -> AreaPart:
    judged = plan.in_area(area)
    findings = sort_findings(found for each in judged for found in each.findings)
    counted = tuple(each for each in findings if each.status is not Status.PASS and plan.is_counted(each))
    others = tuple(each for each in findings if each.status is Status.PASS or not plan.is_counted(each))
    less_severe = sum(is_less_severe(plan, each) for each in others)
    codes = {code for each in judged for code in each.check.codes}
    suppressed = sum(each.finding.code in codes for each in plan.suppressed)
    return AreaPart(area, judged, counted, others, less_severe, suppressed, count_causes(plan, counted))


_LIGHT_SYMBOLS = {
    **dict.fromkeys((AreaLight.SERIOUS, AreaLight.FAILS), Cell("✗", Tone.BAD)),
    AreaLight.UNKNOWN: Cell("?", Tone.UNKNOWN),
    AreaLight.NOT_COUNTED: Cell("○", Tone.FAINT),  # must not look like a pass
    AreaLight.FINE: Cell("✓", Tone.GOOD),
}
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"


def areas_table(plan: CheckPlan) -> TableData:
    """The areas with checks, as a table."""
    checked_areas = [each for each in area_parts(plan) if each.judged]
    titles = (
        "CHECKS",
        "CAUSES",
        "UNKNOWN",
        *(("LESS SEVERE",) if any(each.less_severe for each in checked_areas) else ()),
    )
    columns = as_columns("", "AREA", *(number_column(title) for title in titles))
    figures = ((each, (len(each.judged), *each.causes, each.less_severe)) for each in checked_areas)
    return columns, [
        [_LIGHT_SYMBOLS[each.light], each.area.value, *(count or "-" for count in numbers)][: len(columns)]
        for each, numbers in figures
    ]


def areas_line(plan: CheckPlan) -> Section:
    """``✗ APIs 1 · ✓ DNS``: the areas in a line, for small screens."""
    checked_areas = (each for each in area_parts(plan) if each.judged)
    area_texts = (f"{_LIGHT_SYMBOLS[each.light].text} {each.area.value}{_area_figures(each)}" for each in checked_areas)
    lights = " · ".join(light.replace(" ", _NO_BREAK_SPACE) for light in area_texts)

    def draw(appearance: Appearance, _: bool) -> list[str]:
        lines = wrap_printable(f"AREAS: {lights}", appearance, "", MARGIN) if lights else []
        return [line.replace(_NO_BREAK_SPACE, " ") for line in lines]

    return ReportFigure(None, draw)


def _area_figures(part: AreaPart) -> str:
    (fails, unknown), is_not_counted = part.causes, part.light is AreaLight.NOT_COUNTED
    parts = (
        str(fails) if fails else "",
        f"{unknown} unknown" if unknown else "",
        f"{part.less_severe} less severe" if part.less_severe and is_not_counted else "",
        f"{part.suppressed} suppressed" if part.suppressed and is_not_counted else "",
    )
    text = ", ".join(filter(None, parts))
    return f" {text}" if text else " (cause elsewhere)" if part.counted else ""
