"""Verdict of an upgrade check in sentences: what blocks which step and why, root causes, and areas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from kubectl_eksdoc.amazon.versions import in_words
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.findings import Finding, Severity, Status, in_order
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.report.report import (
    SIGNS,
    Line,
    Lines,
    Mark,
    ReportFigure,
    Section,
    as_it_is,
    flush,
)
from kubectl_eksdoc.report.text import (
    MARGIN,
    Cell,
    Drawn,
    Look,
    Title,
    Tone,
    columns_of,
    counted,
    cut,
    few,
    joined,
    more,
    number_column,
    shown,
    titled,
    wrapped,
)

from ..checking import AWS, DECIDING, Area, Gate, RootCause, listed
from ..plan import CheckPlan, JudgedFindings

if TYPE_CHECKING:
    from ..steps import UpgradeStep
    from ..symptoms import SymptomDiagnosis


def before(plan: CheckPlan, gate: Gate | None) -> str:
    """The step that waits: ``before the nodes' step``."""
    if gate is None:
        return "that no step waits for"
    if gate is Gate.BEFORE_CONTROL_PLANE and _no_upgrade(plan):
        return "before they are applied"
    if gate is Gate.BEFORE_CONTROL_PLANE:
        return f"before the control plane's {'' if plan.facts.way.steps else 'next '}step"
    return "before the nodes' step" if gate is Gate.BEFORE_NODES else "before the end of the upgrade"


def in_short(plan: CheckPlan) -> str:
    """The first lines: the upgrade path, whether the upgrade can go on, and what blocks it."""
    if plan.diagnosis is not None:
        return symptom(plan.diagnosis)
    return f"{way(plan)} {verdict(plan).text}{suppressed(plan)}{left_out(plan)}"


class Verdict(NamedTuple):
    """`headline`: the answer; `explanation`: with the punctuation before it. `is_blocked`: whether the next step is
    blocked, also if only by unknown findings."""

    head: str
    rest: str
    against: bool

    @property
    def text(self) -> str:
        return f"{self.head}{self.rest}"


def suppressed(plan: CheckPlan) -> str:
    """A sentence with a space before it; "" where nothing is suppressed."""
    return f" {counted(len(plan.suppressed), 'finding')} suppressed." if plan.suppressed else ""


def left_out(plan: CheckPlan) -> str:
    """A sentence with a space before it; "" where AWS was not left out."""
    return f" {plan.facts.eks.why}." if plan.wish.no_aws and isinstance(plan.facts.eks, Unknown) else ""


def partly(plan: CheckPlan) -> str:
    """A sentence that this is only a partial check; "" for a complete one."""
    if plan.wish.whole:
        return ""
    gate = (f"--gate {plan.wish.gate.value}",) if plan.wish.gate is not None else ()
    only = plan.wish.only
    if plan.wish.areas:
        from ..registry import codes_of

        only -= frozenset(codes_of(plan.wish.areas))
    named = {"--area": plan.wish.areas, "--only": sorted(only)}
    flags = (f"{flag} {', '.join(each)}" for flag, each in named.items() if each)
    return f"Only a part was checked ({'; '.join((*gate, *flags))}): the rest of the upgrade may have obstacles."


def symptom(found: SymptomDiagnosis) -> str:
    """Without a statement whether the cluster can be upgraded: only the data for the symptom was read."""
    unknown = f", {counted(len(found.unknown), 'answer')} not known" if found.unknown else ""
    causes = counted(len(found.suspects), "possible cause") if found.suspects else "no cause found"
    seen = any(each.now for each in found.suspects) or not found.suspects
    return f"{found.symptom.value}: {causes}{unknown}.{'' if seen else _LATENT}"


_LATENT = " Nothing shows that any of this hurts now: what has changed (--changed-since) tells whether the time fits."
"""A likely but latent cause is no proof: without the note a user might fix the wrong thing, and wait."""


def way(plan: CheckPlan) -> str:
    """The upgrade path in a sentence."""
    found = plan.facts.way
    if _no_upgrade(plan):
        return f"Nothing to upgrade: the manifests were checked against Kubernetes {in_words(found.now)}."
    assumed = f" ({found.told_by})" if found.assumed else ""
    if not found.steps:
        return f"The control plane has {in_words(found.now)}{assumed}, which is the target; the rest is to follow."
    return f"From {found.text}{assumed}."


def _no_upgrade(plan: CheckPlan) -> bool:
    """Whether only manifests are checked, for a version that may be the present one."""
    return plan.facts.cluster.source is Source.FILE and not plan.facts.way.steps


def at_gate(plan: CheckPlan, gate: Gate | None) -> str:
    """``8 causes and 1 unknown``, "" where nothing blocks the step; None: causes that block no step."""
    return causes(plan.at[gate])


def causes(found: Iterable[RootCause]) -> str:
    """The numbers of failures and of unknown answers in words."""
    fails, unknown = figures(found)
    return joined([*([counted(fails, "cause")] if fails else []), *([f"{unknown} unknown"] if unknown else [])])


def cause(of: RootCause) -> str:
    """The name of a cause: ``API policy/v1beta1``."""
    return f"{of.subject.kind} {of.subject}"


def because(plan: CheckPlan, of: RootCause) -> str:
    """The message of the cause, with the name of its object where the cause is another object."""
    if of.subject == AWS and isinstance(plan.facts.eks, Unknown):
        return f"{plan.facts.eks.why} ({counted(len(of.findings), 'answer')})"
    if of.subject.kind == "Snapshot":
        return f"it does not hold what these need: {listed([each.name for each in of.codes])}"
    first = of.first
    return first.message if first.subject == of.subject else f"{first.subject.kind} {first.subject}: {first.message}"


def figures(found: Iterable[RootCause]) -> tuple[int, int]:
    """The number of failures, and of unknown answers."""
    every = [each.status for each in found]
    return every.count(Status.FAIL), every.count(Status.UNKNOWN)


def counts(plan: CheckPlan, found: Iterable[Finding]) -> tuple[int, int]:
    """The number of failing causes that begin with one of `findings`, and the number of unknown or accepted ones."""
    every = {id(each): each for each in found}
    fails, unknown = figures(each for each in plan.causes if id(each.first) in every)
    accepted = sum(f.status is Status.UNKNOWN and f.code.name in plan.wish.accepted for f in every.values())
    return fails, unknown + accepted


def verdict(plan: CheckPlan) -> Verdict:
    """The verdict without a symptom: whether the upgrade can go on, and what blocks it."""
    accepted = len(plan.outcome.accepted)
    also = f" {accepted} unknown, accepted by --accept-unknown." if accepted else ""
    said = [f"{found} {before(plan, gate)}" for gate in Gate if (found := at_gate(plan, gate))]
    if said:
        return Verdict("Not yet", f": {'; '.join(said)}.{also}", True)
    beside = at_gate(plan, None)
    if beside:
        rest = f", but not all is as it should be: {beside}.{also}"
        return Verdict("Nothing blocks a step", rest, False)
    if accepted:
        return Verdict("Nothing blocks a step", f";{also}", False)
    slight = sum(too_slight(plan, each) for each in plan.findings)
    if slight:
        verb = "is" if slight == 1 else "are"
        rest = f": {counted(slight, 'finding')} {verb} less severe."
        return Verdict(f"Nothing counts at --fail-on {plan.wish.fail_on.value}", rest, False)
    gone = [each for each in plan.findings if each.code.name in _DELETED]
    if gone:
        rest = f"; the replacement of nodes deletes data or pods for good: {counted(len(gone), 'finding')} (-o wide)."
        return Verdict("Nothing blocks a step", rest, False)
    left = any(each.phase.value not in _OF_ANY for each in plan.checklist)
    return Verdict(
        "Nothing blocks a step" if left else "Nothing to do", ": all that was checked is as it should be.", False
    )


_OF_ANY = ("prepare", "end")
"""Phases of every checklist, also of a finished upgrade."""
_DELETED = frozenset({"pod-emptydir", "pod-unmanaged"})
"""Data and pods that are deleted with the nodes block nothing, but the verdict has to mention them."""


def blocking_nothing(plan: CheckPlan) -> tuple[Finding, ...]:
    """Passed findings with information, and findings below --fail-on."""
    return tuple(each for each in plan.findings if each.status is Status.PASS or not plan.counts(each))


def slight_at(plan: CheckPlan, gate: Gate) -> int:
    """The number of findings that do not count at that gate because of their severity alone."""
    return sum(too_slight(plan, each) for one in plan.judged if one.check.gate is gate for each in one.findings)


def too_slight(plan: CheckPlan, found: Finding) -> bool:
    """Whether the finding does not count because of its severity alone; advice (unknown, info) needs no fix."""
    told = found.status is Status.FAIL or (found.status is Status.UNKNOWN and found.severity is not Severity.INFO)
    return told and not plan.counts(found)


# The step that waits for a finding, and the findings that a step waits for.


GateOf = Callable[[Finding], Gate | None]


def gates(plan: CheckPlan) -> GateOf:
    """The gate of each finding; of a suppressed one by its code, because its check is not kept."""
    by_finding = {found: each.check.gate for each in plan.judged for found in each.findings}
    by_code: dict[str, Gate | None] = {}
    for each in plan.judged:
        for code in each.check.codes:
            by_code.setdefault(code.name, each.check.gate)

    def of(found: Finding) -> Gate | None:
        return by_finding[found] if found in by_finding else by_code.get(found.code.name)

    return of


def why(step: UpgradeStep) -> str:
    """The reason of a step, with its source."""
    if step.source is None:
        return f"{step.why}."
    return f"{step.why} [{', '.join(filter(None, (step.source.document, step.source.doubt)))}]"


def waits(plan: CheckPlan, step: UpgradeStep) -> str:
    """``2 causes and 1 unknown first``; "" where nothing blocks the step."""
    whole = step.gate is not None and not step.codes and not step.about
    said = at_gate(plan, step.gate) if whole else causes(plan.causes_of(plan.waiting(step)))
    return f"{said} first" if said else ""


# Root causes on a page: the top causes with their remedy, the others in a line each; and the areas as a traffic light.


MOST = 12
"""Causes of one step that a page shows in a line each."""
_LONGEST = max(len(severity) for severity in ("critical", "unknown"))
_OF_NAME = 0.38
"""The largest share of a line for the name of a cause; the rest is for its message."""


def deciding(plan: CheckPlan, mark: Mark) -> Section:
    """The causes that the next step waits for first, each with its first command."""
    found = plan.causes[:DECIDING]
    gates = {each.gate for each in found}
    one = f" {before(plan, found[0].gate)}" if len(gates) == 1 else ""
    lines: list[Line] = []
    for number, each in enumerate(found, 1):
        sign, tone = SIGNS[each.status]
        waits = "" if one else f" ({before(plan, each.gate)})"
        how = f"{each.severity.value}{mark(each.first)} {each.first.code.name}{waits}"
        said = f"{number}. {sign} {how}: {cause(each)}: {because(plan, each)}"
        rest = len(f"{number}. ")
        lines += [
            Line(said, 2, rest, tone),
            Line(f"→ {each.do.said}", rest + 2),
            as_it_is(each.do.command, rest + 4),
        ]
    return Lines(Title("Causes" if gates == {None} else "What decides", one), lines)


def others(plan: CheckPlan, mark: Mark) -> Section:
    """The other causes, by the step that waits for them."""

    def draw(look: Look, _: bool) -> list[str]:
        return [line for gate in (*Gate, None) for line in _at(plan, gate, look, mark)]

    return ReportFigure(None, draw)


def _at(plan: CheckPlan, gate: Gate | None, look: Look, mark: Mark) -> list[str]:
    """`gate` None: causes that no step waits for."""
    here = [each for each in plan.causes if each.gate is gate]
    told = {id(finding): each for each in plan.causes if each.gate is not gate for finding in each.findings}
    again = [each for each in plan.at[gate] if id(each.first) in told]
    worse = [each for each in again if each.severity.rank < told[id(each.first)].severity.rank]
    found = [*worse, *(each for each in plan.causes[DECIDING:] if each.gate is gate)]
    also = f", and {earlier} of those above" if (earlier := len(again) - len(worse)) else ""
    head = Title("Causes" if len(found) - len(worse) == len(here) else "More causes", f" {before(plan, gate)}{also}")
    kept = few(found, MOST)
    return titled(head, [*_lines(plan, kept, look, mark), *more(len(found) - len(kept), look)], look)


def _lines(plan: CheckPlan, found: Sequence[RootCause], look: Look, mark: Mark) -> Iterator[str]:
    """In columns: severity, name, and message."""
    room = int(look.columns * _OF_NAME)
    names = [_name(each, room, look) for each in found]
    width = max(map(len, names), default=0)
    for each, name in zip(found, names, strict=True):
        sign, tone = SIGNS[each.status]
        text = f"{mark(each.first).strip()} {because(plan, each)}".strip()
        line = f"{MARGIN}{sign} {each.severity.value:<{_LONGEST}}  {name:<{width}}  {shown(text, look)}"
        yield look.paint(cut(look.signs(line), look.columns, look), tone)


def _name(of: RootCause, room: int, look: Look) -> str:
    """Without its kind where there is not enough room."""
    whole = shown(cause(of), look)
    return whole if len(whole) <= room else cut(shown(str(of.subject), look), room, look, middle=True)


_AHEAD = frozenset({"api-in-manifest", "api-in-helm", "release-note"})
_MOST_LATER = 6


def later(plan: CheckPlan) -> Section:
    """APIs and notes that have to be handled after this upgrade."""
    told = (each for each in plan.findings if each.code.name in _AHEAD and each.status is Status.PASS)
    found = [f"! {each.subject.kind} {each.subject}: {each.message}" for each in told if each.severity is Severity.LOW]
    title = Title("Later", ": works at the target, and is to be replaced")
    return Lines(title, found[:_MOST_LATER], left_out=len(found) - _MOST_LATER)


def of_aws(plan: CheckPlan) -> tuple[Finding, ...]:
    """Findings that are unknown only because AWS is unknown."""
    return next((each.findings for each in plan.causes if each.subject == AWS), ())


def blind(plan: CheckPlan) -> Section | None:
    """All findings that are unknown without AWS, in one section."""
    eks, found = plan.facts.eks, of_aws(plan)
    if not found or not isinstance(eks, Unknown):
        return None
    codes = ", ".join(sorted({each.code.name for each in found}))
    lines = [Line(f"? {eks.why}."), flush(f"Unknown by that: {codes}.", 4)]
    if eks.missing:
        lines.append(flush(f"→ Allow {eks.missing}, or ask a person who has it.", 4))
    return Lines(Title("AWS is not known", f", and with it {counted(len(found), 'answer')}"), lines)


# The areas.


_GRAVE = (Severity.CRITICAL, Severity.HIGH)


class AreaLight(Enum):
    """The light of an area, the worst first. SERIOUS: a critical or high finding fails; NOT_COUNTED: there are only
    findings below --fail-on, or suppressed ones; NOT_CHECKED: no check of the area was made."""

    GRAVE = auto()
    FAILS = auto()
    UNKNOWN = auto()
    PASSED_OVER = auto()
    FINE = auto()
    UNSEEN = auto()


class AreaPart(NamedTuple):
    """An area. `counted`: findings that fail or are unknown, and are severe enough; `others`: findings that block
    nothing. Worst first. `less_severe` and `suppressed`: numbers of findings that do not count for that reason.
    `causes`: numbers of causes that begin in the area and fail, and of unknown ones."""

    area: Area
    judged: tuple[JudgedFindings, ...]
    counting: tuple[Finding, ...]
    others: tuple[Finding, ...]
    slight: int = 0
    suppressed: int = 0
    causes: tuple[int, int] = (0, 0)

    @property
    def fails(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.counting if each.status is Status.FAIL)

    @property
    def unknown(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.counting if each.status is Status.UNKNOWN)

    @property
    def light(self) -> AreaLight:
        if not self.judged:
            return AreaLight.UNSEEN
        if self.fails:
            return AreaLight.GRAVE if any(each.severity in _GRAVE for each in self.fails) else AreaLight.FAILS
        if self.unknown:
            return AreaLight.UNKNOWN
        return AreaLight.PASSED_OVER if self.slight or self.suppressed else AreaLight.FINE

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
        elsewhere, worst = "part of causes elsewhere", self.fails[0].severity.value if self.fails else ""
        parts = (
            f"{counted(fails, 'cause') if fails else elsewhere}, worst {worst}" if worst else "",
            f"{unknown} unknown" if unknown else elsewhere if self.unknown and not worst else "",
            f"{self.slight} less severe" if self.slight else "",
            f"{self.suppressed} suppressed" if self.suppressed else "",
        )
        return "; ".join(filter(None, parts)) or "fine"

    @property
    def anchor(self) -> str:
        return f"area-{self.area.name.lower().replace('_', '-')}"


def area_parts(plan: CheckPlan) -> tuple[AreaPart, ...]:
    """All areas, in their order."""
    return tuple(_part(plan, area) for area in Area)


def _part(plan: CheckPlan, area: Area) -> AreaPart:
    judged = plan.in_area(area)
    every = in_order(found for each in judged for found in each.findings)
    counting = tuple(each for each in every if each.status is not Status.PASS and plan.counts(each))
    others = tuple(each for each in every if each.status is Status.PASS or not plan.counts(each))
    slight = sum(too_slight(plan, each) for each in others)
    codes = {code for each in judged for code in each.check.codes}
    suppressed = sum(each.finding.code in codes for each in plan.suppressed)
    return AreaPart(area, judged, counting, others, slight, suppressed, counts(plan, counting))


_SIGNS = {
    **dict.fromkeys((AreaLight.GRAVE, AreaLight.FAILS), Cell("✗", Tone.BAD)),
    AreaLight.UNKNOWN: Cell("?", Tone.UNKNOWN),
    AreaLight.PASSED_OVER: Cell("○", Tone.FAINT),  # must not look like a pass
    AreaLight.FINE: Cell("✓", Tone.GOOD),
}
_JOINED = "\N{NO-BREAK SPACE}"


def areas(plan: CheckPlan) -> Drawn:
    """The areas with checks, as a table."""
    seen = [each for each in area_parts(plan) if each.judged]
    titles = ("CHECKS", "CAUSES", "UNKNOWN", *(("LESS SEVERE",) if any(each.slight for each in seen) else ()))
    columns = columns_of("", "AREA", *(number_column(title) for title in titles))
    figures = ((each, (len(each.judged), *each.causes, each.slight)) for each in seen)
    return columns, [
        [_SIGNS[each.light], each.area.value, *(count or "-" for count in told)][: len(columns)]
        for each, told in figures
    ]


def in_line(plan: CheckPlan) -> Section:
    """``✗ APIs 1 · ✓ DNS``: the areas in a line, for small screens."""
    seen = (each for each in area_parts(plan) if each.judged)
    said = (f"{_SIGNS[each.light].text} {each.area.value}{_figures(each)}" for each in seen)
    lights = " · ".join(light.replace(" ", _JOINED) for light in said)

    def draw(look: Look, _: bool) -> list[str]:
        lines = wrapped(f"AREAS: {lights}", look, "", MARGIN) if lights else []
        return [line.replace(_JOINED, " ") for line in lines]

    return ReportFigure(None, draw)


def _figures(of: AreaPart) -> str:
    (fails, unknown), over = of.causes, of.light is AreaLight.PASSED_OVER
    parts = (
        str(fails) if fails else "",
        f"{unknown} unknown" if unknown else "",
        f"{of.slight} less severe" if of.slight and over else "",
        f"{of.suppressed} suppressed" if of.suppressed and over else "",
    )
    told = ", ".join(filter(None, parts))
    return f" {told}" if told else " (cause elsewhere)" if of.counting else ""
