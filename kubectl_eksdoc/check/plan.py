"""Result of a check: the findings of each check, suppressions, root causes, and what blocks which upgrade step.

Also notes about suppressions that have expired or match nothing, and the outline of the tables behind the checks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import date, datetime, timezone
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.amazon.removed_apis import Tables
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Status, Subject, Suppression, in_order, reached
from kubectl_eksdoc.model.kinds import NoAws, NotHeld, Unknown
from kubectl_eksdoc.model.knowledge import file, subjects
from kubectl_eksdoc.model.missing_rights import as_read

from .checking import (
    AWS,
    Area,
    CheckFacts,
    Gate,
    RootCause,
    UpgradeCheck,
    among,
    asked_of,
    is_told,
    number,
    root_causes,
)

if TYPE_CHECKING:
    from .changed_since import RecentChanges
    from .steps import UpgradeStep
    from .symptoms import Symptom, SymptomDiagnosis


@frozen
class Suppressed:
    """A finding that does not count, and the suppression that says so."""

    finding: Finding
    by: Suppression


@frozen
class Sorted:
    """`counted`: the findings that count."""

    kept: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...]


def sort_out(found: Iterable[Finding], rules: Sequence[Suppression], observed: datetime) -> Sorted:
    """Suppress each finding by the first rule that is valid on the day of the observation. A passed finding is kept."""
    today = day_of(observed)
    kept: list[Finding] = []
    suppressed: list[Suppressed] = []
    for each in found:
        by = next((rule for rule in rules if rule.until >= today and matches(rule, each)), None)
        if by is None:
            kept.append(each)
        else:
            suppressed.append(Suppressed(each, by))
    return Sorted(tuple(kept), tuple(suppressed))


def notes(
    rules: Sequence[Suppression], found: Sequence[Finding], judged: Collection[str], observed: datetime
) -> Iterator[str]:
    """Sentences about rules that have expired, and about those that match none of `findings` (which includes suppressed
    ones). `codes`: the codes that were checked; whether a rule for another code is still needed is unknown."""
    today = day_of(observed)
    for rule in rules:
        if rule.code not in judged:
            continue
        hits = sum(matches(rule, each) for each in found)
        if rule.until < today:
            ago = number((today - rule.until).days, "day")
            yield f"{_called(rule)} expired on {rule.until.isoformat()} ({ago} ago): {_again(rule, hits)}"
        elif not hits:
            yield f"{_called(rule)} matches nothing: there is no such finding of {rule.code}"


def matches(rule: Suppression, finding: Finding) -> bool:
    """Whether the rule applies to the finding. Shell globs (``*``, ``?``, ``[ab]``), case-sensitive."""
    of = finding.subject
    return (
        finding.status is not Status.PASS
        and rule.code == finding.code.name
        and fnmatchcase(of.kind, rule.kind)
        and fnmatchcase(of.namespace, rule.namespace)
        and fnmatchcase(of.name, rule.name)
    )


def day_of(moment: datetime) -> date:
    """The day in UTC."""
    return (moment if moment.tzinfo is None else moment.astimezone(timezone.utc)).date()


def _again(rule: Suppression, hits: int) -> str:
    if not hits:
        return "nothing needs it any more"
    return f"1 finding of {rule.code} counts again" if hits == 1 else f"{hits} findings of {rule.code} count again"


def _called(rule: Suppression) -> str:
    return f"the suppression {rule.where}" if rule.where else f"the suppression of {rule.code}"


@frozen
class CheckWish:
    """What the user requests. `only`: finding codes, none for all, including those of `areas` as --area names them;
    `gate`: of one step, or of all. `fail_on`: less severe findings block nothing, and may be unknown. `symptom`: only
    its possible causes, likeliest first. `since`: list the changes since then, None for no list. `accepted`: codes
    that may be unknown. `no_aws`: data that only AWS has is out of scope. `tables`: rows that take precedence over
    those of the package."""

    only: frozenset[str] = frozenset()
    gate: Gate | None = None
    fail_on: Severity = Severity.LOW
    suppressions: tuple[Suppression, ...] = ()
    symptom: Symptom | None = None
    since: datetime | None = None
    accepted: frozenset[str] = frozenset()
    no_aws: bool = False
    tables: Tables = Tables()
    areas: tuple[str, ...] = ()

    def asks(self, check: UpgradeCheck, code: Code) -> bool:
        """Whether findings of that code from that check are requested."""
        return code.name in asked_of(check, self.only)

    @property
    def whole(self) -> bool:
        """Whether the complete upgrade is checked."""
        return not self.only and self.gate is None and self.symptom is None


@frozen
class JudgedFindings:
    """`findings`: in order; none where the check passes."""

    check: UpgradeCheck
    findings: tuple[Finding, ...]

    @property
    def status(self) -> Status:
        """The worst status: fail, then unknown."""
        return Status.worst(each.status for each in self.findings)


@frozen
class _Outcome:
    """Findings that count, worst first; `accepted`: unknown findings that --accept-unknown allows."""

    fails: tuple[Finding, ...]
    unknown: tuple[Finding, ...]
    accepted: tuple[Finding, ...]

    @property
    def status(self) -> Status:
        return Status.FAIL if self.fails else Status.UNKNOWN if self.unknown else Status.PASS


@frozen
class CheckPlan:
    """`judged`: without the `suppressed` findings; `notes`: sentences about outdated suppressions. `checklist`: only
    for a complete upgrade. `diagnosis`: only with a symptom; `changes`: only with a time. `causes`: of the findings
    that count and are not accepted as unknown; those that the next step waits for come first. `causes_by_gate`: for
    each gate the causes of its findings alone, so one cause may be at several gates, each time with the findings of
    that gate."""

    facts: CheckFacts
    wish: CheckWish
    judged: tuple[JudgedFindings, ...]
    suppressed: tuple[Suppressed, ...] = ()
    notes: tuple[str, ...] = ()
    checklist: tuple[UpgradeStep, ...] = ()
    diagnosis: SymptomDiagnosis | None = None
    changes: RecentChanges | None = None
    causes: tuple[RootCause, ...] = ()
    at: Mapping[Gate | None, tuple[RootCause, ...]] = field(default_factory=dict)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all checks, worst first."""
        return in_order(finding for each in self.judged for finding in each.findings)

    def counts(self, finding: Finding) -> bool:
        """Whether the finding is severe enough to count."""
        return finding.severity.rank <= self.wish.fail_on.rank

    def of(self, gate: Gate | None, status: Status) -> tuple[Finding, ...]:
        """The findings that count at a gate (None: at no gate), with that status."""
        found = (finding for each in self.judged if each.check.gate is gate for finding in each.findings)
        return in_order(finding for finding in found if finding.status is status and self.counts(finding))

    @property
    def outcome(self) -> _Outcome:
        """The findings that decide the verdict and the exit code."""
        counting = [each for each in self.findings if self.counts(each)]
        unknown = [each for each in counting if each.status is Status.UNKNOWN]
        accepted = tuple(each for each in unknown if each.code.name in self.wish.accepted)
        rest = tuple(each for each in unknown if each.code.name not in self.wish.accepted)
        return _Outcome(tuple(each for each in counting if each.status is Status.FAIL), rest, accepted)

    def waiting(self, step: UpgradeStep) -> tuple[Finding, ...]:
        """The findings that count and have to be fixed before that step."""
        found = (
            finding
            for each in self.judged
            for finding in each.findings
            if finding.status is not Status.PASS and self.counts(finding) and step.waits_for(finding, each.check.gate)
        )
        return in_order(found)

    def causes_of(self, found: Iterable[Finding]) -> tuple[RootCause, ...]:
        """The causes of some of `findings`."""
        return among(self.causes, tuple(found))

    def in_area(self, area: Area) -> tuple[JudgedFindings, ...]:
        return tuple(each for each in self.judged if each.check.area is area)


def plan_check(
    facts: CheckFacts, checks: Sequence[UpgradeCheck], wish: CheckWish, reach: CommandTarget = CommandTarget()
) -> CheckPlan:
    """`command_target`: the flags that direct commands to the cluster that was read. Checks at the end of an upgrade
    are left out before the upgrade has begun: nodes are always behind its target then, and the steps say what to do."""
    if wish.whole and facts.way.steps:
        checks = [check for check in checks if check.gate is not Gate.AFTER]
    facts = replace(facts, tables=wish.tables)
    seen = [(check, tuple(check.judge(facts))) for check in checks]
    found = [(check, _found(facts, check, each, wish, reach)) for check, each in seen]
    observed = facts.cluster.observed_at
    sorted_out = [(check, sort_out(each, wish.suppressions, observed)) for check, each in found]
    judged = tuple(JudgedFindings(check, each.kept) for check, each in sorted_out)
    if wish.no_aws:
        asks_aws = (any(_lacks(finding, NoAws) for finding in each) for _, each in seen)
        left = (_without_aws(each) if asks else each for each, asks in zip(judged, asks_aws, strict=True))
        judged = tuple(filter(None, left))
    judged = tuple(each for each in judged if each.findings or not each.check.part)
    every = [finding for _, each in found for finding in each]
    looked_for = {name for check in checks for name in asked_of(check, wish.only)}
    kept = in_order(finding for each in judged for finding in each.findings)
    plan = CheckPlan(
        facts,
        wish,
        judged,
        tuple(each for _, one in sorted_out for each in one.suppressed),
        tuple(notes(wish.suppressions, every, looked_for, observed)),
        _checklist(facts, reach) if wish.whole else (),
        None if wish.symptom is None else _diagnosed(wish.symptom, kept, facts, reach),
        None if wish.since is None else _changed(facts, wish.since),
    )
    return _with_causes(plan, reach)


def _with_causes(plan: CheckPlan, reach: CommandTarget) -> CheckPlan:
    """The plan with the causes of the findings that decide its outcome."""
    outcome = plan.outcome
    counts = set(map(id, (*outcome.fails, *outcome.unknown)))
    found = [(each, one.check.gate) for one in plan.judged for each in one.findings if id(each) in counts]
    snapshot = Subject("Snapshot", reach.ours[1] if reach.ours[:1] == ("--snapshot",) else "that was read")
    lacking = {id(each): snapshot for each in outcome.unknown if _lacks(each, NotHeld)}
    lacking |= {id(each): AWS for each in outcome.unknown if _lacks(each, NoAws)}
    at = {gate: root_causes((each for each in found if each[1] is gate), lacking, reach) for gate in (*Gate, None)}
    return replace(plan, causes=root_causes(found, lacking, reach), at=at)


def _diagnosed(symptom: Symptom, found: Sequence[Finding], facts: CheckFacts, reach: CommandTarget) -> SymptomDiagnosis:
    # Imported late, as in `_upgrade_steps`.
    from .symptoms import diagnosed

    return diagnosed(symptom, found, facts.cluster, reach)


def _changed(facts: CheckFacts, since: datetime) -> RecentChanges:
    from .changed_since import changed

    return changed(facts, since)


def _checklist(facts: CheckFacts, reach: CommandTarget) -> tuple[UpgradeStep, ...]:
    # Imported late: a check of a part of the upgrade has no checklist, and a check of manifests must start quickly.
    from .node_steps import checklist

    return checklist(facts, reach)


def _without_aws(of: JudgedFindings) -> JudgedFindings | None:
    """Of a check that asks AWS, only the findings that need no AWS data. Whether its other codes pass is unknown, and
    a check without findings counts as not made."""
    kept = tuple(each for each in of.findings if not _lacks(each, NoAws))
    codes = {each.code for each in kept}
    check = replace(of.check, codes=tuple(code for code in of.check.codes if code in codes))
    return JudgedFindings(check, kept) if kept else None


def _lacks(found: Finding, what: type[Unknown]) -> bool:
    """Whether every reason why it is unknown is of that type. With another reason too, it would be unknown anyway."""
    return found.status is Status.UNKNOWN and bool(found.lacks) and all(isinstance(each, what) for each in found.lacks)


def _found(
    facts: CheckFacts, check: UpgradeCheck, found: Sequence[Finding], wish: CheckWish, reach: CommandTarget
) -> tuple[Finding, ...]:
    """The requested ones of `findings`, with commands for the cluster that was read."""
    asked = (each for each in found if is_told(each, check, wish.only))
    if wish.symptom is not None:
        from .symptoms import concerns

        asked = (each for each in tuple(asked) if concerns(wish.symptom, each))
    told = (reached(each, reach) for each in in_order(asked))
    return as_read(told, facts.cluster.source)


# Tables behind the checks: their subject, the number of their rows, and when the source of each row was read.


@frozen
class _Row:
    """`name` is unique in its table; `promise`: the vendor's statement about a version, "" where it does not matter."""

    name: str
    document: str
    read: date
    confidence: str
    promise: str = ""


@frozen
class TableOutline:
    """`read_to`: the last Kubernetes version whose documents were read for it, "" where it does not matter. A section
    of a table, such as the compatibility of software, is a table of its own."""

    name: str
    about: str
    rows: tuple[_Row, ...]
    read_to: str = ""

    @property
    def oldest(self) -> date:
        return min(row.read for row in self.rows)

    @property
    def promises(self) -> str:
        """``3 supported, 3 tested``."""
        said = [row.promise for row in self.rows if row.promise]
        return ", ".join(f"{said.count(each)} {each}" for each in dict.fromkeys(said))


def tables() -> tuple[TableOutline, ...]:
    """All tables, each followed by its sections."""
    return tuple(each for subject in subjects() for each in _of(subject))


_SECTIONS = {
    "compatibility": "Kubernetes versions that each version of software is made for",
    "needs": "What an upgrade needs of it",
}


def _of(subject: str) -> Iterator[TableOutline]:
    told = file(subject)
    about = told["about"][0].rstrip(".")
    rows = tuple(_row(each, each.get("source", {}), told["source"]) for each in told["records"])
    yield TableOutline(subject, about, rows, told.get("read_to", ""))
    for section, what in _SECTIONS.items():
        found = [(record, each) for record in told["records"] for each in _parts(record.get(section))]
        if found:
            parts = (
                _row({"name": record["name"], **each}, each.get("source", record.get("source", {})), told["source"])
                for record, each in found
            )
            yield TableOutline(f"{subject}, {section}", what, tuple(parts))


def _parts(section: Any) -> list[Mapping[str, Any]]:
    return section if isinstance(section, list) else [section] if section else []


_KEYS = (
    ("api_version", "kind"),
    ("api_version", "kinds"),
    ("kinds", "api_versions"),
    ("addon", "version"),
    ("addon", "name"),
    ("name",),
    ("id",),
    ("version",),
    ("family",),
    ("symptom",),
    ("service",),
    ("fields",),
    ("text",),
    ("parts",),
    ("mark", "key"),
    *((each,) for each in ["rule", "clause", "form", "managers", "object", "runtime", "tool", "trait", "what"]),
)


def _row(record: Mapping[str, Any], source: Mapping[str, Any], head: Mapping[str, Any]) -> _Row:
    keys = next(each for each in _KEYS if all(key in record for key in each))
    name = " ".join(
        value if isinstance(value, str) else ", ".join(map(str, value)) for value in map(record.get, keys) if value
    )
    told = {**head, **source}
    return _Row(name, told["document"], date.fromisoformat(told["read"]), told["confidence"], record.get("promise", ""))
