"""Result of a check: the findings of each check, suppressions, root causes, and what blocks which upgrade step.

Also notes about suppressions that have expired or match nothing, and the outline of the tables behind the checks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import date, datetime, timezone
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.amazon.removed_apis import KnowledgeTables
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.model.findings import (
    Code,
    Finding,
    Severity,
    Status,
    Subject,
    Suppression,
    for_target,
    sort_findings,
)
from kubectl_eksdoc.model.kinds import AwsUnavailable, NotInSnapshot, Unknown
from kubectl_eksdoc.model.knowledge import knowledge_file, subjects
from kubectl_eksdoc.model.missing_rights import for_source

from .checking import (
    AWS_ACCOUNT,
    Area,
    CheckFacts,
    Gate,
    RootCause,
    UpgradeCheck,
    causes_of_findings,
    is_requested,
    pluralize,
    requested_codes,
    root_causes,
)

if TYPE_CHECKING:
    from .changed_since import RecentChanges
    from .steps import UpgradeStep
    from .symptoms import Symptom, SymptomDiagnosis


@frozen
class SuppressedFinding:
    """A finding that does not count, and the suppression that says so."""

    finding: Finding
    rule: Suppression


@frozen
class SortedFindings:
    """`counted`: the findings that count."""

    counted: tuple[Finding, ...]
    suppressed: tuple[SuppressedFinding, ...]


def apply_suppressions(
    findings: Iterable[Finding], rules: Sequence[Suppression], observed_at: datetime
) -> SortedFindings:
    """Suppress each finding by the first rule that is valid on the day of the observation. A passed finding is kept."""
    today = utc_day(observed_at)
    counted: list[Finding] = []
    suppressed: list[SuppressedFinding] = []
    for finding in findings:
        matching_rule = next((rule for rule in rules if rule.until >= today and matches(rule, finding)), None)
        if matching_rule is None:
            counted.append(finding)
        else:
            suppressed.append(SuppressedFinding(finding, matching_rule))
    return SortedFindings(tuple(counted), tuple(suppressed))


def suppression_notes(
    rules: Sequence[Suppression], findings: Sequence[Finding], codes: Collection[str], observed_at: datetime
) -> Iterator[str]:
    """Sentences about rules that have expired, and about those that match none of `findings` (which includes suppressed
    ones). `codes`: the codes that were checked; whether a rule for another code is still needed is unknown."""
    today = utc_day(observed_at)
    for rule in rules:
        if rule.code not in codes:
            continue
        hits = sum(matches(rule, each) for each in findings)
        if rule.until < today:
            age = pluralize((today - rule.until).days, "day")
            yield f"{_rule_text(rule)} expired on {rule.until.isoformat()} ({age} ago): {_expiry_effect(rule, hits)}"
        elif not hits:
            yield f"{_rule_text(rule)} matches nothing: there is no such finding of {rule.code}"


def matches(rule: Suppression, finding: Finding) -> bool:
    """Whether the rule applies to the finding. Shell globs (``*``, ``?``, ``[ab]``), case-sensitive."""
    subject = finding.subject
    return (
        finding.status is not Status.PASS
        and rule.code == finding.code.name
        and fnmatchcase(subject.kind, rule.kind)
        and fnmatchcase(subject.namespace, rule.namespace)
        and fnmatchcase(subject.name, rule.name)
    )


def utc_day(moment: datetime) -> date:
    """The day in UTC."""
    return (moment if moment.tzinfo is None else moment.astimezone(timezone.utc)).date()


def _expiry_effect(rule: Suppression, hits: int) -> str:
    if not hits:
        return "nothing needs it any more"
    return f"1 finding of {rule.code} counts again" if hits == 1 else f"{hits} findings of {rule.code} count again"


def _rule_text(rule: Suppression) -> str:
    return f"the suppression {rule.where}" if rule.where else f"the suppression of {rule.code}"


@frozen
class CheckScope:
    """What the user requests. `only`: finding codes, none for all, including those of `areas` as --area names them;
    `gate`: of one step, or of all. `fail_on`: less severe findings block nothing, and may be unknown. `symptom`: only
    its possible causes, likeliest first. `since`: list the changes since then, None for no list. `accepted`: codes that
    may be unknown. `no_aws`: data that only AWS has is out of scope. `tables`: rows that take precedence over
    those of the package."""

    only: frozenset[str] = frozenset()
    gate: Gate | None = None
    fail_on: Severity = Severity.LOW
    suppressions: tuple[Suppression, ...] = ()
    symptom: Symptom | None = None
    since: datetime | None = None
    accepted: frozenset[str] = frozenset()
    no_aws: bool = False
    tables: KnowledgeTables = KnowledgeTables()
    areas: tuple[str, ...] = ()

    def is_requested(self, check: UpgradeCheck, code: Code) -> bool:
        """Whether findings of that code from that check are requested."""
        return code.name in requested_codes(check, self.only)

    @property
    def is_complete(self) -> bool:
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
    """`judged`: without the `suppressed` findings; `notes`: sentences about outdated suppressions.
    `checklist`: only for a complete upgrade. `diagnosis`: only with a symptom; `changes`: only with a time. `causes`:
    of the findings that count and are not accepted as unknown; those that the next step waits for come first.
    `causes_by_gate`: for each gate the causes of its findings alone, so one cause may be at several gates, each time
    with the findings of that gate."""

    facts: CheckFacts
    scope: CheckScope
    judged: tuple[JudgedFindings, ...]
    suppressed: tuple[SuppressedFinding, ...] = ()
    notes: tuple[str, ...] = ()
    checklist: tuple[UpgradeStep, ...] = ()
    diagnosis: SymptomDiagnosis | None = None
    changes: RecentChanges | None = None
    causes: tuple[RootCause, ...] = ()
    causes_by_gate: Mapping[Gate | None, tuple[RootCause, ...]] = field(default_factory=dict)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all checks, worst first."""
        return sort_findings(finding for each in self.judged for finding in each.findings)

    def is_counted(self, finding: Finding) -> bool:
        """Whether the finding is severe enough to count."""
        return finding.severity.rank <= self.scope.fail_on.rank

    def findings_at(self, gate: Gate | None, status: Status) -> tuple[Finding, ...]:
        """The findings that count at a gate (None: at no gate), with that status."""
        findings = (finding for each in self.judged if each.check.gate is gate for finding in each.findings)
        return sort_findings(finding for finding in findings if finding.status is status and self.is_counted(finding))

    @property
    def outcome(self) -> _Outcome:
        """The findings that decide the verdict and the exit code."""
        counted = [each for each in self.findings if self.is_counted(each)]
        unknown = [each for each in counted if each.status is Status.UNKNOWN]
        accepted = tuple(each for each in unknown if each.code.name in self.scope.accepted)
        open_unknown = tuple(each for each in unknown if each.code.name not in self.scope.accepted)
        return _Outcome(tuple(each for each in counted if each.status is Status.FAIL), open_unknown, accepted)

    def blocking_findings(self, step: UpgradeStep) -> tuple[Finding, ...]:
        """The findings that count and have to be fixed before that step."""
        findings = (
            finding
            for each in self.judged
            for finding in each.findings
            if finding.status is not Status.PASS
            and self.is_counted(finding)
            and step.waits_for(finding, each.check.gate)
        )
        return sort_findings(findings)

    def causes_of(self, findings: Iterable[Finding]) -> tuple[RootCause, ...]:
        """The causes of some of `findings`."""
        return causes_of_findings(self.causes, tuple(findings))

    def in_area(self, area: Area) -> tuple[JudgedFindings, ...]:
        return tuple(each for each in self.judged if each.check.area is area)


def plan_check(
    facts: CheckFacts,
    checks: Sequence[UpgradeCheck],
    scope: CheckScope,
    command_target: CommandTarget = CommandTarget(),
) -> CheckPlan:
    """`command_target`: the flags that direct commands to the cluster that was read. Checks at the end of an upgrade
    are left out before the upgrade has begun: nodes are always behind its target then, and the steps say what to do."""
    if scope.is_complete and facts.path.steps:
        checks = [check for check in checks if check.gate is not Gate.AFTER]
    facts = replace(facts, tables=scope.tables)
    judged_findings = [(check, tuple(check.judge(facts))) for check in checks]
    requested = [
        (check, _requested_findings(facts, check, each, scope, command_target)) for check, each in judged_findings
    ]
    observed_at = facts.cluster.observed_at
    sorted_findings = [(check, apply_suppressions(each, scope.suppressions, observed_at)) for check, each in requested]
    judged = tuple(JudgedFindings(check, each.counted) for check, each in sorted_findings)
    if scope.no_aws:
        asks_aws = (any(_lacks_only(finding, AwsUnavailable) for finding in each) for _, each in judged_findings)
        without_aws = (_without_aws(each) if asks else each for each, asks in zip(judged, asks_aws, strict=True))
        judged = tuple(filter(None, without_aws))
    judged = tuple(each for each in judged if each.findings or not each.check.partial)
    all_findings = [finding for _, each in requested for finding in each]
    searched_codes = {name for check in checks for name in requested_codes(check, scope.only)}
    counted = sort_findings(finding for each in judged for finding in each.findings)
    plan = CheckPlan(
        facts,
        scope,
        judged,
        tuple(each for _, one in sorted_findings for each in one.suppressed),
        tuple(suppression_notes(scope.suppressions, all_findings, searched_codes, observed_at)),
        _upgrade_steps(facts, command_target) if scope.is_complete else (),
        None if scope.symptom is None else _diagnosis(scope.symptom, counted, facts, command_target),
        None if scope.since is None else _recent_changes(facts, scope.since),
    )
    return _with_causes(plan, command_target)


def _with_causes(plan: CheckPlan, command_target: CommandTarget) -> CheckPlan:
    """The plan with the causes of the findings that decide its outcome."""
    outcome = plan.outcome
    counted_ids = set(map(id, (*outcome.fails, *outcome.unknown)))
    findings_with_gates = [
        (each, one.check.gate) for one in plan.judged for each in one.findings if id(each) in counted_ids
    ]
    snapshot = Subject(
        "Snapshot", command_target.eksdoc[1] if command_target.eksdoc[:1] == ("--snapshot",) else "that was read"
    )
    missing_sources = {id(each): snapshot for each in outcome.unknown if _lacks_only(each, NotInSnapshot)}
    missing_sources |= {id(each): AWS_ACCOUNT for each in outcome.unknown if _lacks_only(each, AwsUnavailable)}
    causes_by_gate = {
        gate: root_causes((each for each in findings_with_gates if each[1] is gate), missing_sources, command_target)
        for gate in (*Gate, None)
    }
    return replace(
        plan, causes=root_causes(findings_with_gates, missing_sources, command_target), causes_by_gate=causes_by_gate
    )


def _diagnosis(
    symptom: Symptom, findings: Sequence[Finding], facts: CheckFacts, command_target: CommandTarget
) -> SymptomDiagnosis:
    # Imported late, as in `_upgrade_steps`.
    from .symptoms import diagnose

    return diagnose(symptom, findings, facts.cluster, command_target)


def _recent_changes(facts: CheckFacts, since: datetime) -> RecentChanges:
    from .changed_since import recent_changes

    return recent_changes(facts, since)


def _upgrade_steps(facts: CheckFacts, command_target: CommandTarget) -> tuple[UpgradeStep, ...]:
    # Imported late: a check of a part of the upgrade has no checklist, and a check of manifests must start quickly.
    from .node_steps import build_checklist

    return build_checklist(facts, command_target)


def _without_aws(judged: JudgedFindings) -> JudgedFindings | None:
    """Of a check that asks AWS, only the findings that need no AWS data. Whether its other codes pass is unknown, and
    a check without findings counts as not made."""
    findings = tuple(each for each in judged.findings if not _lacks_only(each, AwsUnavailable))
    codes = {each.code for each in findings}
    check = replace(judged.check, codes=tuple(code for code in judged.check.codes if code in codes))
    return JudgedFindings(check, findings) if findings else None


def _lacks_only(finding: Finding, reason_type: type[Unknown]) -> bool:
    """Whether every reason why it is unknown is of that type. With another reason too, it would be unknown anyway."""
    return (
        finding.status is Status.UNKNOWN
        and bool(finding.unknowns)
        and all(isinstance(each, reason_type) for each in finding.unknowns)
    )


def _requested_findings(
    facts: CheckFacts,
    check: UpgradeCheck,
    findings: Sequence[Finding],
    scope: CheckScope,
    command_target: CommandTarget,
) -> tuple[Finding, ...]:
    """The requested ones of `findings`, with commands for the cluster that was read."""
    requested = (each for each in findings if is_requested(each, check, scope.only))
    if scope.symptom is not None:
        from .symptoms import may_cause

        requested = (each for each in tuple(requested) if may_cause(scope.symptom, each))
    with_commands = (for_target(each, command_target) for each in sort_findings(requested))
    return for_source(with_commands, facts.cluster.source)


# Tables behind the checks: their subject, the number of their rows, and when the source of each row was read.


@frozen
class _TableRow:
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
    rows: tuple[_TableRow, ...]
    read_to: str = ""

    @property
    def oldest(self) -> date:
        return min(row.read for row in self.rows)

    @property
    def promises(self) -> str:
        """``3 supported, 3 tested``."""
        promises = [row.promise for row in self.rows if row.promise]
        return ", ".join(f"{promises.count(each)} {each}" for each in dict.fromkeys(promises))


def table_outlines() -> tuple[TableOutline, ...]:
    """All tables, each followed by its sections."""
    return tuple(each for subject in subjects() for each in _outlines_of(subject))


_SECTIONS = {
    "compatibility": "Kubernetes versions that each version of software is made for",
    "needs": "What an upgrade needs of it",
}


def _outlines_of(subject: str) -> Iterator[TableOutline]:
    document = knowledge_file(subject)
    about = document["about"][0].rstrip(".")
    rows = tuple(_table_row(each, each.get("source", {}), document["source"]) for each in document["records"])
    yield TableOutline(subject, about, rows, document.get("read_to", ""))
    for section, title in _SECTIONS.items():
        section_items = [
            (record, each) for record in document["records"] for each in _section_items(record.get(section))
        ]
        if section_items:
            parts = (
                _table_row(
                    {"name": record["name"], **each}, each.get("source", record.get("source", {})), document["source"]
                )
                for record, each in section_items
            )
            yield TableOutline(f"{subject}, {section}", title, tuple(parts))


def _section_items(section: Any) -> list[Mapping[str, Any]]:
    return section if isinstance(section, list) else [section] if section else []


_NAME_KEYS = (
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


def _table_row(record: Mapping[str, Any], source: Mapping[str, Any], head: Mapping[str, Any]) -> _TableRow:
    keys = next(each for each in _NAME_KEYS if all(key in record for key in each))
    name = " ".join(
        value if isinstance(value, str) else ", ".join(map(str, value)) for value in map(record.get, keys) if value
    )
    merged = {**head, **source}
    return _TableRow(
        name, merged["document"], date.fromisoformat(merged["read"]), merged["confidence"], record.get("promise", "")
    )
