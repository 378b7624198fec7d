"""Report of an add-on update with --apply, before and after the request, in every format.

Also the request, its rollback and the commands to follow it, as lines for a shell.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from kubectl_eksdoc.amazon.group_updates import UpdateStage
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.redaction import redact_value
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.kinds import Confidence, Unknown
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import CommandReport, Heading, Line, Section, Table, flush_left, verbatim_line
from kubectl_eksdoc.report.report import TextBlock as ReportLines
from kubectl_eksdoc.report.result import (
    UNSET,
    Count,
    FindingResult,
    Lines,
    ObjectResult,
    Printed,
    Text,
    UnsetType,
    WholeSeconds,
)
from kubectl_eksdoc.report.result import Lines as OthersLines
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    TableData,
    Title,
    Tone,
    as_columns,
    join_words,
    name_column,
    pluralize,
    text_column,
)

from .. import outcome
from .. import outcome as targets
from ..fields import MissingValue, value_text
from ..guards import Guard
from ..judging import field_name
from ..outcome import AddonRollback, AddonUpdateResult, FieldCheck, Verdict
from ..plan import AddonPlan
from ..prediction import Fate, Mode
from .update import (
    BLANK,
    as_json,
    proposed_command,
    proposed_values_section,
    sections,
    short_field_name,
    update_command,
)


@frozen
class SentUpdate:
    """The UpdateAddon request. `values` is None if it has none and EKS keeps the current ones. `keeps`: descriptions of
    the fields that it keeps with values that the user did not give."""

    addon: str
    before: str
    target: str
    mode: str
    values: Doc | None
    keeps: tuple[str, ...] = ()


@frozen
class RollbackText:
    """`commands`: whole lines for a shell; `caveats` are clauses, `by_hand` descriptions of fields."""

    commands: tuple[str, ...]
    caveats: tuple[str, ...] = ()
    by_hand: tuple[str, ...] = ()


_VALUES_FILE = "values-of-before.json"


def rollback_text(
    rollback: AddonRollback | Unknown, cluster: str, region: str, path: str, target: CommandTarget
) -> RollbackText | str:
    """`path`: the file to which the values are written with the request, "" if nothing is sent: then the command writes
    the file first."""
    if isinstance(rollback, Unknown):
        return rollback.why
    command = ["kubectl", "eksdoc", "addon-diff", rollback.addon, "--to", rollback.version]
    command += ["--configuration-values", path or _VALUES_FILE, "--apply", *target.eksdoc]
    aws_command = target.add_to(
        update_command(cluster, region, rollback.addon, rollback.version, "NONE", rollback.values)
    )
    commands = [shlex.join(command), aws_command]
    if not path and redact_value(rollback.values) == rollback.values:
        commands[0] = f"printf %s {shlex.quote(as_json(rollback.values))} > {_VALUES_FILE} && {commands[0]}"
    elif not path:
        commands.insert(0, f"# {_VALUES_FILE} is written by --apply without --dry-run; its values may be secrets")
    return RollbackText(tuple(commands), rollback.caveats, tuple(map(field_name, rollback.by_hand)))


def follow_commands(
    addon: str, run_id: str, update_id: str, cluster: str, region: str, target: CommandTarget
) -> list[str]:
    """Commands to follow the update after an interruption."""
    command = ["kubectl", "eksdoc", "addon-diff", addon, "--apply", "--resume", run_id, *target.eksdoc]
    aws_command = ["aws", "eks", "describe-update", "--name", cluster, "--addon-name", addon, "--update-id", update_id]
    aws_command += ["--region", region] if region else []
    return [shlex.join(command), target.add_to(shlex.join(aws_command))]


# Result of an add-on update, as ``-o json`` and ``-o yaml`` print it.


class RefusalResult(Printed):
    """Why nothing is sent."""

    why: Text
    hint: str


class _Error(Printed):
    code: str
    message: str
    resources: Lines


class _ExpectedField(Printed):
    fate: Fate
    value: Any | UnsetType
    confidence: Confidence


class _FieldCheck(Printed):
    called = {"object": "field.of", "path": "field.said"}

    object: ObjectResult
    path: Text
    verdict: outcome.Verdict
    before: Any | UnsetType
    """The value before the update; absent for none."""
    now: Any | UnsetType
    """The current value; absent for none, and if it was not read."""
    owners: Lines
    """The current field managers."""
    why: Text | UnsetType
    foretold: _ExpectedField | None

    @classmethod
    def of(cls, facts: outcome.FieldCheck) -> _FieldCheck:
        def printed_value(value: Any) -> Any:
            """A missing value is absent."""
            return UNSET if isinstance(value, MissingValue) else facts.field.redacted(value)

        expected = facts.foretold
        value = printed_value(expected.value) if expected is not None and expected.fate is not Fate.UNKNOWN else UNSET
        return cls.from_facts(
            facts,
            before=printed_value(facts.live),
            now=UNSET if facts.verdict is outcome.Verdict.NOT_READ else printed_value(facts.found),
            foretold=expected and _ExpectedField.from_facts(fate=expected.fate, value=value, confidence=expected.sure),
        )


class _Rollout(Printed):
    called = {"object": "of"}

    object: ObjectResult
    desired: Count
    updated: Count
    available: Count
    done: bool
    by_hand: bool
    stuck: Text | None


class _TargetHealth(Printed):
    service: Text
    healthy_before: Count | None
    healthy_at_worst: Count | None
    healthy_now: Count | None
    unhealthy: Lines
    unread: Text | None

    @classmethod
    def of(cls, facts: targets.ServiceHealth) -> _TargetHealth:
        is_never_read = facts.unread and not facts.before
        return cls.from_facts(
            facts,
            healthy_before=None if is_never_read else facts.before,
            healthy_at_worst=None if is_never_read else facts.lowest,
            healthy_now=None if facts.unread else facts.now,
        )


class _UnreadObject(Printed):
    object: ObjectResult
    why: Text


class OutcomeResult(Printed):
    """Result of an add-on update."""

    called = {"update": "id", "fields": "checks", "targets": "health"}

    update: Text
    stage: UpdateStage
    seconds: WholeSeconds
    left: Text | None
    """Why following ended although the update continues; null if it has ended."""
    errors: tuple[_Error, ...]
    fields: tuple[_FieldCheck, ...]
    """The prediction compared with the live objects, by object and field."""
    rollouts: tuple[_Rollout, ...]
    not_ready: Lines
    """Pods of an unfinished rollout, each with its node and the reason."""
    targets: tuple[_TargetHealth, ...]
    unwatched: Text | None
    unread: tuple[_UnreadObject, ...]


# An update in sentences.


def update_text(update: SentUpdate) -> str:
    """``vpc-cni v1.19.5-eksbuild.1 → v1.20.4-eksbuild.2 with NONE``."""
    if update.before == update.target:
        return f"{update.addon} {update.target} (the same version) with {update.mode}"
    return f"{update.addon} {update.before} → {update.target} with {update.mode}"


def verdict(report: UpdateReport) -> str:
    """One sentence without its full stop."""
    result = report.ended
    if result is None:
        text = "nothing is sent" if report.guards else "nothing was sent yet"
        return f"{update_text(report.sent)}: {text}"
    return f"{update_text(report.sent)}: {_result_text(result)}"


def _result_text(result: AddonUpdateResult) -> str:
    if result.stage in (UpdateStage.FAILED, UpdateStage.CANCELLED):
        count = len(result.checks_with(Verdict.OTHER))
        text = "EKS could not do it" if result.stage is UpdateStage.FAILED else "EKS has cancelled it"
        if count:
            return f"{text}, and {pluralize(count, 'field')} {'is' if count == 1 else 'are'} other than before"
        limits = ", as far as it could be read" if result.has_unknowns else ""
        return f"{text}, and no field has changed{limits}"
    if result.stage is not UpdateStage.SUCCESSFUL:
        return f"{result.stage.value}; it continues in EKS"
    outcome_text = "EKS has done it" if not result.left else "EKS has done it, but its pods are not new everywhere"
    return f"{outcome_text}; {_comparison_text(result)}"


def _comparison_text(result: AddonUpdateResult) -> str:
    predicted = [check for check in result.checks if check.foretold is not None]
    parts = []
    for verdict in (Verdict.AS_PREDICTED, Verdict.OTHER, Verdict.NOT_PREDICTED, Verdict.NOT_READ):
        count = sum(check.verdict is verdict for check in result.checks)
        if count == len(predicted) and verdict is Verdict.AS_PREDICTED and count == len(result.checks) > 0:
            return "its only field is as predicted" if count == 1 else f"all {count} fields are as predicted"
        if count:
            verdict_text = _VERDICT_TEXTS.get(verdict, verdict.value)
            parts.append(f"{pluralize(count, 'field')} {'is' if count == 1 else 'are'} {verdict_text}")
    return join_words(parts) or "no field was to change, and none has"


_VERDICT_TEXTS = {Verdict.NOT_PREDICTED: "what could not be predicted", Verdict.NOT_READ: "not read"}


# The page: before the request the prediction, the request and the rollback; afterwards prediction and result.


_VERDICT_TONES = {
    Verdict.AS_PREDICTED: Tone.GOOD,
    Verdict.AS_BEFORE: Tone.GOOD,
    Verdict.OTHER: Tone.BAD,
    Verdict.NOT_PREDICTED: Tone.UNKNOWN,
    Verdict.NOT_READ: Tone.UNKNOWN,
}
_MAX_LINES = 5


@frozen
class UpdateReport(CommandReport):
    """`plan` is of the request, None for a resumed update; `changes`: number of fields that are predicted to change.
    `guards`: why it is not sent; `to_acknowledge`: findings that must be acknowledged. `rollback`: a text is the reason
    why there is none. `ended` is None if nothing was sent. `journal`: path of the journal on this machine, "" if there
    is none."""

    noun_phrase = "an add-on's update"

    sent: SentUpdate
    cluster: Cluster
    plan: AddonPlan | None = None
    changes: int = 0
    guards: tuple[Guard, ...] = ()
    to_acknowledge: tuple[Finding, ...] = ()
    rollback: RollbackText | str = ""
    ended: AddonUpdateResult | None = None
    run: str = ""
    journal: str = ""

    def sections(self, full: bool) -> Iterable[Section | None]:
        return _preview_sections(self, full) if self.ended is None else _result_sections(self, self.ended, full)

    def result(self) -> object:
        return UpdateResult.from_facts(
            self,
            values=redact_value(self.sent.values),
            verdict=verdict(self),
            to_acknowledge=(each.message for each in self.to_acknowledge),
            way_back=None if isinstance(self.rollback, str) else self.rollback,
        )


def guard_lines(guards: Iterable[Guard]) -> list[Line | str]:
    """Why nothing is sent, and what to do."""
    lines: list[Line | str] = []
    for guard in guards:
        lines += [f"✗ {guard.why}", *(flush_left(f"→ {line}", 4) for line in guard.hint.splitlines())]
    return lines


def _preview_sections(report: UpdateReport, full: bool) -> Iterator[Section | None]:
    plan = report.plan
    if plan is not None:
        yield from sections(plan, full)
        proposed = plan.way_out  # if fields are still at risk
        yield proposed_values_section(
            plan, [] if proposed is None else [BLANK, verbatim_line(proposed_command(plan, proposed))]
        )
    yield ReportLines("What is sent", [Line(f"UpdateAddon: {update_text(report.sent)}"), *_request_lines(report, full)])
    yield _rollback_section(report)
    yield ReportLines("Nothing is sent", guard_lines(report.guards))
    yield findings_to_acknowledge(report.to_acknowledge, _MAX_LINES)


def findings_to_acknowledge(findings: Iterable[Finding], max_lines: int) -> Section:
    """Findings that a user must acknowledge before the request."""
    lines = [f"- {each.severity.value}, {each.status.value}: {each.message}" for each in findings]
    return ReportLines("To be acknowledged", _first_lines(lines, max_lines, "all are among the findings above"))


def _first_lines(lines: Sequence[str], max_lines: int, rest_hint: str = "-o wide") -> list[str]:
    suffix = f": {rest_hint}" if rest_hint != "-o wide" else f" ({rest_hint})"
    return [*lines[:max_lines], *([f"- and {len(lines) - max_lines} more{suffix}"] if len(lines) > max_lines else [])]


def _request_lines(report: UpdateReport, full: bool) -> Iterator[Line | str]:
    sent = report.sent
    if sent.values is None:
        yield "Configuration values: none are given, so EKS keeps those of today."
    else:  # on one line: a line break would hide which spaces are sent
        yield from ("Configuration values:", verbatim_line(as_json(redact_value(sent.values)), 4))
    if sent.keeps:
        fields = pluralize(len(sent.keeps), "field")
        yield f"These values were not given (--as-asked sends none): they keep {fields} as they are:"
        yield from _first_lines([f"- {each}" for each in sent.keeps], len(sent.keeps) if full else _MAX_LINES)
    yield f"{pluralize(report.changes, 'field')} {'is' if report.changes == 1 else 'are'} predicted to change."


def _rollback_section(report: UpdateReport) -> Section:
    rollback = report.rollback
    if isinstance(rollback, str):
        return ReportLines("Rollback", [f"? {rollback}"] if rollback else [])
    lines: list[Line | str] = [verbatim_line(command) for command in rollback.commands]
    lines += [f"- {each}" for each in rollback.caveats]
    if rollback.by_hand:
        lines.append("- no value of that version sets these again, so they are set by hand:")
        lines += [flush_left(f"- {each}", 4) for each in rollback.by_hand]
    return ReportLines(Title("Rollback", ": another update, never kubectl apply of a saved object"), lines)


def _result_sections(report: UpdateReport, result: AddonUpdateResult, full: bool) -> Iterator[Section]:
    yield Heading(verdict(report))
    yield ReportLines("What EKS says", list(_eks_lines(report, result)))
    yield Table("Prediction and reality", _field_table(result.checks), "fields")
    rollouts = [str(each) + (f"; {each.stuck}" if each.stuck else "") for each in result.rollouts]
    not_ready = [f"- {each}" for each in result.not_ready]
    yield ReportLines("Rollout", rollouts + _first_lines(not_ready, len(not_ready) if full else _MAX_LINES))
    health = [str(each) for each in result.health]
    max_targets = _MAX_LINES + 99 * full
    unhealthy = [
        f"- {target}" for each in result.health if not each.has_recovered for target in each.unhealthy[:max_targets]
    ]
    yield ReportLines("Targets of load balancers", health + unhealthy)
    unknown = [
        *(f"{object_ref}: {reason}" for object_ref, reason in result.unread),
        *([result.unwatched] if result.unwatched else []),
    ]
    yield ReportLines("Not known", [f"? {each}" for each in unknown])
    if not result.whole or result.has_deviations:
        yield _rollback_section(report)
    journal = [verbatim_line(f"Journal: {report.journal}", 0)] if report.journal else []
    summary = flush_left(f"Update {result.id}, followed for {format_duration(result.seconds)}.", 0)
    yield ReportLines(None, [summary, *journal])


def _eks_lines(report: UpdateReport, result: AddonUpdateResult) -> Iterator[str]:
    for error in result.errors:
        first, *others = error.message.splitlines() or [""]
        yield from (f"{error.code}: {first}", *(f"- {line}" for line in others))
    if result.stage is UpdateStage.FAILED and any(error.code == "ConfigurationConflict" for error in result.errors):
        yield "→ look again with addon-diff: it names who has these fields, and the values that keep them"
    if report.sent.mode == Mode.PRESERVE.value and result.whole:
        yield "No document says how PRESERVE decides: what it has kept this time is seen below."
    if result.left:
        yield f"It is followed no longer: {result.left}."


def _field_table(checks: Sequence[FieldCheck]) -> TableData:
    return as_columns(
        name_column("FIELD", 24),
        text_column("BEFORE", 8),
        text_column("FORETOLD", 8),
        text_column("NOW", 8),
        "VERDICT",
        Column("OF", drop_order=2),
        Column("SURE", drop_order=1),
    ), [
        [
            short_field_name(check.field),
            value_text(check.live, check.field),
            _expected_text(check),
            _current_text(check),
            Cell(check.verdict.value, _VERDICT_TONES[check.verdict]),
            ", ".join(check.owners) or "-",
            check.foretold.sure.value if check.foretold is not None else "-",
        ]
        for check in checks
    ]


def _expected_text(check: FieldCheck) -> str:
    """The expected value or effect."""
    expected = check.foretold
    if expected is None:
        return "?" if check.verdict is Verdict.NOT_PREDICTED else "kept"
    if expected.fate is Fate.UNKNOWN:
        return "?"
    if expected.fate in (Fate.RESET, Fate.FOLLOWS):
        return f"→ {value_text(expected.value, check.field)}"
    return str(expected.fate.value)


def _current_text(check: FieldCheck) -> str:
    """The current value."""
    if check.verdict is Verdict.NOT_READ:
        return "?"
    return "nothing" if isinstance(check.found, MissingValue) else value_text(check.found)


# As ``-o json`` and ``-o yaml`` print it.


class _Rollback(Printed):
    """An update to the version before, with its values and the live values of the fields; null if it is unknown."""

    commands: OthersLines
    caveats: OthersLines
    by_hand: OthersLines


class UpdateResult(CommandResult):
    """An add-on update with --apply: kubectl eksdoc addon-diff --apply -o json."""

    called = {
        "addon": "sent.addon",
        "version": "sent.before",
        "target": "sent.target",
        "mode": "sent.mode",
        "keeps": "sent.keeps",
        "refusals": "guards",
        "outcome": "ended",
        "findings": "plan.findings",
    }

    kind: Literal["AddonUpdate"]
    recognised: Text | None
    run: Text | None
    journal: Text | None
    addon: Text
    version: Text
    target: Text
    mode: Mode
    """How conflicts are resolved."""
    values: dict[str, Any] | None
    """The whole document that is sent; null if none is sent and EKS keeps the current values."""
    keeps: OthersLines
    """Fields that are kept by values that the user did not give."""
    changes: Count
    """Number of fields that are predicted to change."""
    verdict: Text
    refusals: tuple[RefusalResult, ...]
    to_acknowledge: OthersLines
    way_back: _Rollback | None
    outcome: OutcomeResult | None
    """Null if nothing was sent."""
    findings: tuple[FindingResult, ...]
