"""Report of an add-on update with --apply, before and after the request, in every format.

Also the request, its rollback and the commands to follow it, as lines for a shell.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from kubectl_eksdoc.amazon.group_updates import Stage
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.redaction import printed
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.kinds import Confidence, Unknown
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import CommandReport, Head, Line, Section, Table, as_it_is, flush
from kubectl_eksdoc.report.report import Lines as ReportLines
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
    Drawn,
    Title,
    Tone,
    columns_of,
    counted,
    joined,
    name_column,
    text_column,
)

from .. import outcome
from .. import outcome as targets
from ..fields import MissingValue, value_of
from ..guards import Guard
from ..judging import calls
from ..outcome import AddonRollback, AddonUpdateResult, FieldCheck, Verdict
from ..plan import AddonPlan
from ..prediction import Fate, Mode
from .update import (
    BLANK,
    as_json,
    named,
    sections,
    update_addon,
    update_command,
    way_out,
)


@frozen
class Sent:
    """The UpdateAddon request. `values` is None if it has none and EKS keeps the current ones. `keeps`: descriptions of
    the fields that it keeps with values that the user did not give."""

    addon: str
    before: str
    target: str
    mode: str
    values: Doc | None
    keeps: tuple[str, ...] = ()


@frozen
class WayBackText:
    """`commands`: whole lines for a shell; `caveats` are clauses, `by_hand` descriptions of fields."""

    commands: tuple[str, ...]
    caveats: tuple[str, ...] = ()
    by_hand: tuple[str, ...] = ()


_FILE = "values-of-before.json"


def way_back_text(
    back: AddonRollback | Unknown, cluster: str, region: str, file: str, reach: CommandTarget
) -> WayBackText | str:
    """`path`: the file to which the values are written with the request, "" if nothing is sent: then the command writes
    the file first."""
    if isinstance(back, Unknown):
        return back.why
    ours = ["kubectl", "eksdoc", "addon-diff", back.addon, "--to", back.version]
    ours += ["--configuration-values", file or _FILE, "--apply", *reach.ours]
    theirs = reach.of(update_command(cluster, region, back.addon, back.version, "NONE", back.values))
    commands = [shlex.join(ours), theirs]
    if not file and printed(back.values) == back.values:
        commands[0] = f"printf %s {shlex.quote(as_json(back.values))} > {_FILE} && {commands[0]}"
    elif not file:
        commands.insert(0, f"# {_FILE} is written by --apply without --dry-run; its values may be secrets")
    return WayBackText(tuple(commands), back.caveats, tuple(map(calls, back.by_hand)))


def look_again(addon: str, run: str, update: str, cluster: str, region: str, reach: CommandTarget) -> list[str]:
    """Commands to follow the update after an interruption."""
    ours = ["kubectl", "eksdoc", "addon-diff", addon, "--apply", "--resume", run, *reach.ours]
    theirs = ["aws", "eks", "describe-update", "--name", cluster, "--addon-name", addon, "--update-id", update]
    theirs += ["--region", region] if region else []
    return [shlex.join(ours), reach.of(shlex.join(theirs))]


# Result of an add-on update, as ``-o json`` and ``-o yaml`` print it.


class RefusalResult(Printed):
    """Why nothing is sent."""

    why: Text
    hint: str


class _Error(Printed):
    code: str
    message: str
    resources: Lines


class _Foretold(Printed):
    fate: Fate
    value: Any | UnsetType
    confidence: Confidence


class _Check(Printed):
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
    foretold: _Foretold | None

    @classmethod
    def of(cls, facts: outcome.FieldCheck) -> _Check:
        def shown(value: Any) -> Any:
            """A missing value is absent."""
            return UNSET if isinstance(value, MissingValue) else facts.field.printed(value)

        told = facts.foretold
        value = shown(told.value) if told is not None and told.fate is not Fate.UNKNOWN else UNSET
        return cls.filled(
            facts,
            before=shown(facts.live),
            now=UNSET if facts.verdict is outcome.Verdict.NOT_READ else shown(facts.found),
            foretold=told and _Foretold.filled(fate=told.fate, value=value, confidence=told.sure),
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


class _Targets(Printed):
    service: Text
    healthy_before: Count | None
    healthy_at_worst: Count | None
    healthy_now: Count | None
    unhealthy: Lines
    unread: Text | None

    @classmethod
    def of(cls, facts: targets.Health) -> _Targets:
        never = facts.unread and not facts.before
        return cls.filled(
            facts,
            healthy_before=None if never else facts.before,
            healthy_at_worst=None if never else facts.lowest,
            healthy_now=None if facts.unread else facts.now,
        )


class _Unread(Printed):
    object: ObjectResult
    why: Text


class OutcomeResult(Printed):
    """Result of an add-on update."""

    called = {"update": "id", "fields": "checks", "targets": "health"}

    update: Text
    stage: Stage
    seconds: WholeSeconds
    left: Text | None
    """Why following ended although the update continues; null if it has ended."""
    errors: tuple[_Error, ...]
    fields: tuple[_Check, ...]
    """The prediction compared with the live objects, by object and field."""
    rollouts: tuple[_Rollout, ...]
    not_ready: Lines
    """Pods of an unfinished rollout, each with its node and the reason."""
    targets: tuple[_Targets, ...]
    unwatched: Text | None
    unread: tuple[_Unread, ...]


# An update in sentences.


def head(sent: Sent) -> str:
    """``vpc-cni v1.19.5-eksbuild.1 → v1.20.4-eksbuild.2 with NONE``."""
    if sent.before == sent.target:
        return f"{sent.addon} {sent.target} (the same version) with {sent.mode}"
    return f"{sent.addon} {sent.before} → {sent.target} with {sent.mode}"


def verdict(report: UpdateReport) -> str:
    """One sentence without its full stop."""
    ended = report.ended
    if ended is None:
        what = "nothing is sent" if report.guards else "nothing was sent yet"
        return f"{head(report.sent)}: {what}"
    return f"{head(report.sent)}: {_came_of(ended)}"


def _came_of(ended: AddonUpdateResult) -> str:
    if ended.stage in (Stage.FAILED, Stage.CANCELLED):
        changed = len(ended.of(Verdict.OTHER))
        what = "EKS could not do it" if ended.stage is Stage.FAILED else "EKS has cancelled it"
        if changed:
            return f"{what}, and {counted(changed, 'field')} {'is' if changed == 1 else 'are'} other than before"
        rest = ", as far as it could be read" if ended.lacks else ""
        return f"{what}, and no field has changed{rest}"
    if ended.stage is not Stage.SUCCESSFUL:
        return f"{ended.stage.value}; it continues in EKS"
    done = "EKS has done it" if not ended.left else "EKS has done it, but its pods are not new everywhere"
    return f"{done}; {_compared(ended)}"


def _compared(ended: AddonUpdateResult) -> str:
    every = [check for check in ended.checks if check.foretold is not None]
    parts = []
    for verdict in (Verdict.AS_PREDICTED, Verdict.OTHER, Verdict.NOT_PREDICTED, Verdict.NOT_READ):
        count = sum(check.verdict is verdict for check in ended.checks)
        if count == len(every) and verdict is Verdict.AS_PREDICTED and count == len(ended.checks) > 0:
            return "its only field is as predicted" if count == 1 else f"all {count} fields are as predicted"
        if count:
            said = _SAID.get(verdict, verdict.value)
            parts.append(f"{counted(count, 'field')} {'is' if count == 1 else 'are'} {said}")
    return joined(parts) or "no field was to change, and none has"


_SAID = {Verdict.NOT_PREDICTED: "what could not be predicted", Verdict.NOT_READ: "not read"}


# The page: before the request the prediction, the request and the rollback; afterwards prediction and result.


_TONES = {
    Verdict.AS_PREDICTED: Tone.GOOD,
    Verdict.AS_BEFORE: Tone.GOOD,
    Verdict.OTHER: Tone.BAD,
    Verdict.NOT_PREDICTED: Tone.UNKNOWN,
    Verdict.NOT_READ: Tone.UNKNOWN,
}
_MOST = 5


@frozen
class UpdateReport(CommandReport):
    """`plan` is of the request, None for a resumed update; `changes`: number of fields that are predicted to change.
    `guards`: why it is not sent; `to_acknowledge`: findings that must be acknowledged. `rollback`: a text is the reason
    why there is none. `ended` is None if nothing was sent. `journal`: path of the journal on this machine, "" if there
    is none."""

    of = "an add-on's update"

    sent: Sent
    cluster: Cluster
    plan: AddonPlan | None = None
    changes: int = 0
    guards: tuple[Guard, ...] = ()
    weighty: tuple[Finding, ...] = ()
    back: WayBackText | str = ""
    ended: AddonUpdateResult | None = None
    run: str = ""
    journal: str = ""

    def sections(self, full: bool) -> Iterable[Section | None]:
        return _before(self, full) if self.ended is None else _after(self, self.ended, full)

    def result(self) -> object:
        return UpdateResult.filled(
            self,
            values=printed(self.sent.values),
            verdict=verdict(self),
            to_acknowledge=(each.message for each in self.weighty),
            way_back=None if isinstance(self.back, str) else self.back,
        )


def guard_lines(guards: Iterable[Guard]) -> list[Line | str]:
    """Why nothing is sent, and what to do."""
    lines: list[Line | str] = []
    for guard in guards:
        lines += [f"✗ {guard.why}", *(flush(f"→ {line}", 4) for line in guard.hint.splitlines())]
    return lines


def _before(report: UpdateReport, full: bool) -> Iterator[Section | None]:
    plan = report.plan
    if plan is not None:
        yield from sections(plan, full)
        way = plan.way_out  # if fields are still at risk
        yield way_out(plan, [] if way is None else [BLANK, as_it_is(update_addon(plan, way))])
    yield ReportLines("What is sent", [Line(f"UpdateAddon: {head(report.sent)}"), *_sent(report, full)])
    yield _back(report)
    yield ReportLines("Nothing is sent", guard_lines(report.guards))
    yield acknowledged(report.weighty, _MOST)


def acknowledged(weighty: Iterable[Finding], most: int) -> Section:
    """Findings that a user must acknowledge before the request."""
    lines = [f"- {each.severity.value}, {each.status.value}: {each.message}" for each in weighty]
    return ReportLines("To be acknowledged", _few(lines, most, "all are among the findings above"))


def _few(lines: Sequence[str], most: int, rest: str = "-o wide") -> list[str]:
    more = f": {rest}" if rest != "-o wide" else f" ({rest})"
    return [*lines[:most], *([f"- and {len(lines) - most} more{more}"] if len(lines) > most else [])]


def _sent(report: UpdateReport, full: bool) -> Iterator[Line | str]:
    sent = report.sent
    if sent.values is None:
        yield "Configuration values: none are given, so EKS keeps those of today."
    else:  # on one line: a line break would hide which spaces are sent
        yield from ("Configuration values:", as_it_is(as_json(printed(sent.values)), 4))
    if sent.keeps:
        fields = counted(len(sent.keeps), "field")
        yield f"These values were not given (--as-asked sends none): they keep {fields} as they are:"
        yield from _few([f"- {each}" for each in sent.keeps], len(sent.keeps) if full else _MOST)
    yield f"{counted(report.changes, 'field')} {'is' if report.changes == 1 else 'are'} predicted to change."


def _back(report: UpdateReport) -> Section:
    back = report.back
    if isinstance(back, str):
        return ReportLines("Rollback", [f"? {back}"] if back else [])
    lines: list[Line | str] = [as_it_is(command) for command in back.commands]
    lines += [f"- {each}" for each in back.caveats]
    if back.by_hand:
        lines.append("- no value of that version sets these again, so they are set by hand:")
        lines += [flush(f"- {each}", 4) for each in back.by_hand]
    return ReportLines(Title("Rollback", ": another update, never kubectl apply of a saved object"), lines)


def _after(report: UpdateReport, ended: AddonUpdateResult, full: bool) -> Iterator[Section]:
    yield Head(verdict(report))
    yield ReportLines("What EKS says", list(_of_eks(report, ended)))
    yield Table("Prediction and reality", _fields(ended.checks), "fields")
    rollouts = [str(each) + (f"; {each.stuck}" if each.stuck else "") for each in ended.rollouts]
    waits = [f"- {each}" for each in ended.not_ready]
    yield ReportLines("Rollout", rollouts + _few(waits, len(waits) if full else _MOST))
    health = [str(each) for each in ended.health]
    most = _MOST + 99 * full
    ill = [f"- {target}" for each in ended.health if not each.back for target in each.unhealthy[:most]]
    yield ReportLines("Targets of load balancers", health + ill)
    unknown = [*(f"{of}: {why}" for of, why in ended.unread), *([ended.unwatched] if ended.unwatched else [])]
    yield ReportLines("Not known", [f"? {each}" for each in unknown])
    if not ended.whole or ended.differs:
        yield _back(report)
    journal = [as_it_is(f"Journal: {report.journal}", 0)] if report.journal else []
    followed = flush(f"Update {ended.id}, followed for {duration(ended.seconds)}.", 0)
    yield ReportLines(None, [followed, *journal])


def _of_eks(report: UpdateReport, ended: AddonUpdateResult) -> Iterator[str]:
    for error in ended.errors:
        first, *others = error.message.splitlines() or [""]
        yield from (f"{error.code}: {first}", *(f"- {line}" for line in others))
    if ended.stage is Stage.FAILED and any(error.code == "ConfigurationConflict" for error in ended.errors):
        yield "→ look again with addon-diff: it names who has these fields, and the values that keep them"
    if report.sent.mode == Mode.PRESERVE.value and ended.whole:
        yield "No document says how PRESERVE decides: what it has kept this time is seen below."
    if ended.left:
        yield f"It is followed no longer: {ended.left}."


def _fields(checks: Sequence[FieldCheck]) -> Drawn:
    return columns_of(
        name_column("FIELD", 24),
        text_column("BEFORE", 8),
        text_column("FORETOLD", 8),
        text_column("NOW", 8),
        "VERDICT",
        Column("OF", drop=2),
        Column("SURE", drop=1),
    ), [
        [
            named(check.field),
            value_of(check.live, check.field),
            _foretold(check),
            _stands(check),
            Cell(check.verdict.value, _TONES[check.verdict]),
            ", ".join(check.owners) or "-",
            check.foretold.sure.value if check.foretold is not None else "-",
        ]
        for check in checks
    ]


def _foretold(check: FieldCheck) -> str:
    """The expected value or effect."""
    told = check.foretold
    if told is None:
        return "?" if check.verdict is Verdict.NOT_PREDICTED else "kept"
    if told.fate is Fate.UNKNOWN:
        return "?"
    if told.fate in (Fate.RESET, Fate.FOLLOWS):
        return f"→ {value_of(told.value, check.field)}"
    return str(told.fate.value)


def _stands(check: FieldCheck) -> str:
    """The current value."""
    if check.verdict is Verdict.NOT_READ:
        return "?"
    return "nothing" if isinstance(check.found, MissingValue) else value_of(check.found)


# As ``-o json`` and ``-o yaml`` print it.


class _WayBack(Printed):
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
    way_back: _WayBack | None
    outcome: OutcomeResult | None
    """Null if nothing was sent."""
    findings: tuple[FindingResult, ...]
