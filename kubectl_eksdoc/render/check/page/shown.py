"""What of a check its page shows, in which order, and under which anchors: thousands of equal findings are counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from typing import NamedTuple

from kubectl_eksdoc.check.areas import Area
from kubectl_eksdoc.check.plan import CheckPlan, JudgedFindings
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Finding, Severity, Status, in_order
from kubectl_eksdoc.render.check.verdict import GateOf, counts, gates, too_slight
from kubectl_eksdoc.render.drain.plan import DrainView
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.text import counted, cut

MOST_ALIKE = 12
"""Findings of one code and status in an area that the page shows; of more than these nobody reads each."""

LONGEST_NAME = 120
"""Characters of what a finding is about: some are about hundreds of nodes."""

_GRAVE = (Severity.CRITICAL, Severity.HIGH)


class AreaLight(Enum):
    """Of an area, the worst first. GRAVE: something critical or high fails; PASSED_OVER: nothing
    counts, but for --fail-on or a suppression alone; UNSEEN: nobody looked."""

    GRAVE = auto()
    FAILS = auto()
    UNKNOWN = auto()
    PASSED_OVER = auto()
    FINE = auto()
    UNSEEN = auto()


class AreaPart(NamedTuple):
    """An area: `counting` fails or is not known and is severe enough; `others` block nothing. Worst first. Of what
    does not count, so many are `slight`, which is less severe than asked for, and `suppressed`. `causes` begin in it:
    so many fail, and so many are not known."""

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
        """As it stands at the beginning of a line."""
        name = self.area.value
        return f"{name[:1].upper()}{name[1:]}"

    @property
    def figures(self) -> str:
        """``6 causes, worst high; 1 unknown``, and what does not count. A cause counts in one area."""
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


class CountedFindings(NamedTuple):
    """Findings of one code and status that are only counted."""

    code: Code
    status: Status
    left: int


@dataclass(frozen=True)
class CheckPage:
    """Without slots, because what is found out of the plan is found out once."""

    plan: CheckPlan
    options: Mapping[str, object]
    tool_version: str

    @cached_property
    def parts(self) -> tuple[AreaPart, ...]:
        """In the order of the areas."""
        return tuple(self._part(area) for area in Area)

    @cached_property
    def worst_first(self) -> tuple[AreaPart, ...]:
        """Those in which something was looked at."""
        seen = (part for part in self.parts if part.judged)
        return tuple(sorted(seen, key=lambda part: (part.light.value, _rank(part))))

    @cached_property
    def gate_of(self) -> GateOf:
        return gates(self.plan)

    @cached_property
    def anchors(self) -> Mapping[Finding, str]:
        """Of the findings that are shown."""
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
        """Of the node groups that the drain's section speaks of; nodes without one have the name ""."""
        if self.drain is None:
            return {}
        names = dict.fromkeys(target.node.group for target in self.drain.targets)
        return {name: f"drain-{number}" for number, name in enumerate(names, 1)}

    def link(self, found: Finding) -> str:
        """The anchor of what tells of `found`: itself, or its area where it is only counted."""
        return self.anchors.get(found) or next(
            (part.anchor for part in self.worst_first if found in part.counting), "findings"
        )

    def _part(self, area: Area) -> AreaPart:
        judged = self.plan.in_area(area)
        every = in_order(found for each in judged for found in each.findings)
        counting = tuple(each for each in every if each.status is not Status.PASS and self.plan.counts(each))
        others = tuple(each for each in every if each.status is Status.PASS or not self.plan.counts(each))
        slight = sum(too_slight(self.plan, each) for each in others)
        codes = {code for each in judged for code in each.check.codes}
        suppressed = sum(each.finding.code in codes for each in self.plan.suppressed)
        return AreaPart(area, judged, counting, others, slight, suppressed, counts(self.plan, counting))


def about(found: Finding) -> str:
    """What it is about, in a line however many names that has."""
    return cut(f"{found.subject.kind} {found.subject}", LONGEST_NAME, Look())


def few(found: Iterable[Finding], most: int = MOST_ALIKE) -> tuple[list[Finding], list[CountedFindings]]:
    """The first `most` of each code and status, and how many more there are; one more is shown rather than counted."""
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
    """Smaller for worse: by the worst severity, and by how much of it there is."""
    severities = Counter(each.severity for each in part.fails or part.unknown)
    return [-severities[severity] for severity in Severity]
