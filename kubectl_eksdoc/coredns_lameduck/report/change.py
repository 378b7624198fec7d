"""Report of a change of CoreDNS, before and after it, in every format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from kubectl_eksdoc.addon_diff.guards import Guard
from kubectl_eksdoc.addon_diff.outcome import AddonUpdateResult
from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.addon_diff.prediction import Mode
from kubectl_eksdoc.addon_diff.report.outcome import (
    OutcomeResult,
    RefusalResult,
    findings_to_acknowledge,
    guard_lines,
)
from kubectl_eksdoc.amazon.group_updates import UpdateStage
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.redaction import redact_corefile, redact_value
from kubectl_eksdoc.model.api_objects import ApplyConflict, Doc
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import (
    CommandReport,
    FindingList,
    Heading,
    Line,
    Section,
    Table,
    TextBlock,
    flush_left,
    verbatim_line,
)
from kubectl_eksdoc.report.result import Count, FindingResult, Printed, Text, WholeSeconds
from kubectl_eksdoc.report.result import Lines as OthersLines
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    Row,
    Title,
    Tone,
    as_columns,
    join_words,
    name_column,
    pluralize,
    text_column,
)

from .. import change
from .. import run as dns
from ..change import COREFILE_KEY, CorednsChange
from ..lameduck import EditedCorefile
from ..placement_values import CandidateNode, CorednsPlacement
from ..run import PodVerification, ReloadState, VerificationResult
from .commands import corefile_diff, values_diff

# A change of CoreDNS in sentences.


def request_text(change: CorednsChange) -> str:
    """``lameduck 20s, no Spot nodes``."""
    request = change.wishes
    parts = [f"lameduck {request.lameduck_s}s"] if request.lameduck_s is not None else []
    if request.on_demand:
        parts.append("no Spot nodes")
    if request.scale is not None:
        parts.append(f"{request.scale.least} to {request.scale.most} replicas")
    return join_words(parts) or "the Corefile as it was before"


def method_text(change: CorednsChange) -> str:
    if change.managed:
        return f"by the configuration values of the add-on coredns {change.version}, so that its updates keep it"
    return "by a server-side apply of its ConfigMap: EKS does not manage this CoreDNS"


def verdict(report: DnsChangeReport) -> str:
    """One sentence without its full stop."""
    subject_text = f"CoreDNS: {request_text(report.change)}" if report.change is not None else "CoreDNS"
    if report.verified is not None or report.ended is not None or report.applied:
        return f"{subject_text}: {_result_text(report)}"
    if report.guards:
        return f"{subject_text}: nothing is changed"
    if report.change is not None and report.change.nothing:
        return f"{subject_text}: it is so already, and kept where it lasts"
    return f"{subject_text}: nothing was changed yet"


def _result_text(report: DnsChangeReport) -> str:
    update_result = report.ended
    if update_result is not None and update_result.stage in (UpdateStage.FAILED, UpdateStage.CANCELLED):
        return "EKS could not do it, and nothing of it holds"
    if update_result is not None and not update_result.whole:
        return "it continues in EKS"
    done_text = "EKS has done it" if update_result is not None else "it is applied" if report.applied else "it was made"
    if report.verified is not None:
        return f"{done_text}; {verification_text(report.verified)}"
    return f"{done_text}; no pod takes it up by itself" if report.after else done_text


def verification_text(verification: VerificationResult) -> str:
    if verification.unread:
        return f"which pods have taken it up is not known: {verification.unread}"
    if verification.all:
        count = len(verification.stands)
        return "its pod has taken it up" if count == 1 else f"all {count} pods have taken it up"
    parts = []
    for state, words in _STATE_WORDS.items():
        count = len(verification.in_state(state))
        if count:
            parts.append(f"{pluralize(count, 'pod')} {words[count != 1]}")
    return join_words(parts)


_STATE_WORDS = {
    ReloadState.VERIFIED: ("has taken it up", "have taken it up"),
    ReloadState.REFUSED: ("has refused it", "have refused it"),
    ReloadState.NOT_YET: ("has not yet", "have not yet"),
    ReloadState.UNKNOWN: ("is not known", "are not known"),
}


def shell_line(args: tuple[str, ...]) -> str:
    """A command line for a shell."""
    return shell(*args)


_MAX_ROWS = 8
_TONES = {
    ReloadState.VERIFIED: Tone.GOOD,
    ReloadState.NOT_YET: Tone.WARN,
    ReloadState.REFUSED: Tone.BAD,
    ReloadState.UNKNOWN: Tone.UNKNOWN,
}


@frozen
class DnsChangeReport(CommandReport):
    """The report of a change.

    `change` None: the change was sent earlier, and is checked again. `plan`: the plan of the add-on's update, None
    without one; `values` and `mode`: of the request. `resets`: fields of other managers that it resets;
    `acknowledgements`: findings to acknowledge; `changes`: number of changed values or Corefiles. `command`: the
    command that does the same without this tool; `back`: the lines of the rollback. `ended`: the result of the update;
    `applied`: the ConfigMap was changed; `tried`: the result of a dry run. `verified`: which pods have loaded the new
    Corefile, None where this was not checked.
    """

    noun_phrase = "a change of CoreDNS"

    cluster: Cluster
    change: CorednsChange | None = None
    plan: AddonPlan | None = None
    mode: str = ""
    values: Doc | None = None
    config: Doc | None = None
    resets: tuple[str, ...] = ()
    guards: tuple[Guard, ...] = ()
    conflicts: tuple[ApplyConflict, ...] = ()
    acknowledgements: tuple[Finding, ...] = ()
    changes: int = 0
    command: str = ""
    back: tuple[str, ...] = ()
    tried: str = ""
    applied: bool = False
    ended: AddonUpdateResult | None = None
    verified: VerificationResult | None = None
    after: tuple[Finding, ...] = ()
    run: str = ""
    journal: str = ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of the verification, of the change, and of the update that makes it."""
        own = self.change.findings if self.change is not None else ()
        return (*self.after, *own, *(self.plan.findings if self.plan is not None else ()))

    def sections(self, full: bool) -> Iterable[Section | None]:
        is_sent = self.ended is not None or self.applied or self.verified is not None
        return _result_sections(self, full) if is_sent else _preview_sections(self, full)

    def result(self) -> object:
        return DnsChangeResult.from_facts(
            self,
            verdict=verdict(self),
            values=redact_value(self.values),
            config=redact_value(self.config),
            to_acknowledge=(each.message for each in self.acknowledgements),
        )


def _preview_sections(report: DnsChangeReport, full: bool) -> Iterator[Section | None]:
    change = report.change
    assert change is not None, "nothing was done yet"
    yield Heading(verdict(report), (f"It is made {method_text(change)}.",))
    yield _corefile_section(change)
    yield _values_section(change, report)
    yield _placement_table(change.landing, bool(change.refusals), full)
    yield FindingList(report.findings)
    yield _request_section(report)
    yield _manual_section(change)
    yield _rollback_section(report)
    yield TextBlock("Nothing is changed", guard_lines(report.guards))
    yield findings_to_acknowledge(report.acknowledgements, _MAX_ROWS)


def _result_sections(report: DnsChangeReport, full: bool) -> Iterator[Section | None]:
    verifications = report.verified.stands if report.verified is not None else ()
    needs_rollback = any(each.taken is ReloadState.REFUSED for each in verifications) or (
        report.ended is not None and not report.ended.whole
    )
    lines = [f"{each.code}: {each.message}" for each in report.ended.errors] if report.ended is not None else []
    if report.ended is not None and report.ended.left:
        lines.append(f"It is followed no longer: {report.ended.left}.")
    recreates_pods = report.change is None or bool(set(report.change.changed_keys) - {COREFILE_KEY})
    rollouts = (
        [str(each) for each in report.ended.rollouts if recreates_pods or not each.done]
        if report.ended is not None
        else []
    )
    yield Heading(verdict(report))
    yield TextBlock("What EKS says", lines)
    yield TextBlock("Rollout", rollouts)
    yield Table("The new Corefile in each pod", _verification_table(verifications), "pods")
    yield FindingList(report.after)
    yield _manual_section(report.change) if report.change is not None else None
    yield _rollback_section(report) if needs_rollback or full else None
    yield TextBlock(None, list(_journal_lines(report)))


def _corefile_section(change: CorednsChange) -> Section | None:
    if change.corefile is None:
        return None
    lines = _colored(corefile_diff(change.corefile))
    return TextBlock("Corefile", lines or ["its text stays; it is not in the add-on's values yet"])


def _values_section(change: CorednsChange, report: DnsChangeReport) -> Section | None:
    after = report.values if report.values is not None else change.values
    if change.before is None or after is None:
        return None
    lines: list[Line | str] = [*_colored(values_diff(change.before, after))]
    if change.affinity_source:
        lines.append(f"The affinity is given as a whole, made of that of {change.affinity_source}.")
    return TextBlock(Title("Configuration values", ": today and new, the Corefile left out"), lines)


def _colored(lines: list[str]) -> list[Line]:
    tones = {"+": Tone.GOOD, "-": Tone.BAD}
    return [Line(line, tone=tones.get(line[:1]), verbatim=True) for line in lines]


def _placement_table(placement: CorednsPlacement | None, refused: bool, full: bool) -> Section | None:
    if placement is None:
        return None
    title = (
        f": {pluralize(len(placement.fitting), 'node')} of {len(placement.seats)} in "
        f"{pluralize(len(placement.zones), 'zone')}"
    )
    columns = as_columns(
        name_column("NODE", 12),
        "ZONE",
        Column("CAPACITY", drop_order=1),
        text_column("A POD OF COREDNS", 20),
    )
    shown_nodes = (
        placement.seats
        if full
        else [*_one_of_each_zone(placement), *[seat for seat in placement.seats if not seat.fits][:_MAX_ROWS]]
    )
    rows: list[Row] = [
        [
            each.node,
            each.zone or "-",
            each.capacity or "-",
            Cell("fits", Tone.GOOD) if each.fits else Cell("; ".join(each.why), Tone.WARN if refused else None),
        ]
        for each in shown_nodes
    ]
    left_out = len(placement.seats) - len(shown_nodes)
    return Table(Title("Where it may run", title), (columns, rows), "nodes", omitted=left_out)


def _one_of_each_zone(placement: CorednsPlacement) -> list[CandidateNode]:
    return list({seat.zone: seat for seat in reversed(placement.fitting)}.values())[::-1]


def _request_section(report: DnsChangeReport) -> Section | None:
    if not report.command:
        return None
    lines: list[Line | str] = []
    if report.mode:
        lines.append(f"One UpdateAddon of coredns to the version that it has, with {report.mode}.")
        if report.mode == "OVERWRITE":
            lines.append("Another client owns what is set, so only OVERWRITE keeps it.")
        for each in report.resets:
            lines.append(f"It also resets {each}, which another client has set (--accept-reset).")
    for conflict in report.conflicts:
        lines.append(f"{conflict.field} is taken from {conflict.owner} (--force-conflicts), who may write it again.")
    verb = "becomes another" if report.changes == 1 else "become others"
    lines.append(f"{pluralize(report.changes, 'value')} {verb}. The same without this tool:")
    return TextBlock("What is sent", [*lines, verbatim_line(report.command)])


def _manual_section(change: CorednsChange) -> Section | None:
    if not change.not_done:
        return None
    note = "The Deployment of a CoreDNS that EKS does not manage is not changed here: do it where it is declared, or"
    return TextBlock("Left to you", [note, *(verbatim_line(shell_line(each)) for each in change.not_done)])


def _rollback_section(report: DnsChangeReport) -> Section:
    return TextBlock("Rollback", [verbatim_line(each) for each in report.back])


def _verification_table(verifications: tuple[PodVerification, ...]) -> tuple[list[Column], list[Row]]:
    return as_columns(
        name_column("POD", 16),
        name_column("NODE", 10, drop_order=1),
        "TAKEN UP",
        Column("BY", drop_order=2),
        text_column("WHY", 20),
    ), [
        [
            each.pod.partition("/")[2],
            each.node or "-",
            Cell(each.taken.value, _TONES[each.taken]),
            each.by or "-",
            each.why or "-",
        ]
        for each in verifications
    ]


def _journal_lines(report: DnsChangeReport) -> Iterator[Line]:
    if report.verified is not None:
        reason = f": {report.verified.left}" if report.verified.left else ""
        yield flush_left(f"Checked for {format_duration(report.verified.seconds)}{reason}.", 0)
    if report.journal:
        yield verbatim_line(f"Journal: {report.journal}", 0)


# A change of CoreDNS as ``-o json`` and ``-o yaml`` print it.


class _Conflict(Printed):
    field: Text
    owner: Text


class _Replicas(Printed):
    least: Count
    most: Count


class _RequestedChange(Printed):
    called = {"replicas": "scale"}

    lameduck_seconds: Count | None
    on_demand: bool
    replicas: _Replicas | None


class _Corefile(Printed):
    before: str
    after: str
    reloads: bool
    """CoreDNS reloads it by itself."""

    @classmethod
    def of(cls, facts: EditedCorefile) -> _Corefile:
        return cls.from_facts(facts, before=redact_corefile(facts.before), after=redact_corefile(facts.after))


class _Node(Printed):
    called = {"name": "node", "why_not": "why"}

    name: Text
    zone: Text | None
    capacity: Text | None
    why_not: OthersLines


class _PossiblePlacement(Printed):
    """The nodes on which a pod of CoreDNS could run."""

    called = {"nodes": "seats"}

    enough: bool
    zones: OthersLines
    nodes: tuple[_Node, ...]
    unknown: OthersLines


class _Change(Printed):
    """The request, and the resulting change."""

    called = {"addon_version": "version", "wished": "wishes"}

    managed: bool
    """EKS manages CoreDNS as an add-on."""
    addon_version: Text | None
    wished: _RequestedChange
    corefile: _Corefile | None
    values_of_today: dict[str, Any] | None
    affinity_source: Text | None
    landing: _PossiblePlacement | None
    nothing: bool
    """Nothing changes: the request is in effect already, and persists."""
    left_to_you: OthersLines

    @classmethod
    def of(cls, facts: change.CorednsChange) -> _Change:
        return cls.from_facts(
            facts,
            values_of_today=redact_value(facts.before),
            nothing=not facts.refusals and facts.nothing,
            left_to_you=map(shell_line, facts.not_done),
        )


class _Pod(Printed):
    namespace: Text
    name: Text
    node: Text | None
    taken: dns.ReloadState
    by: Text | None
    why: Text | None
    missing: OthersLines

    @classmethod
    def of(cls, facts: dns.PodVerification) -> _Pod:
        namespace, _, name = facts.pod.partition("/")
        return cls.from_facts(facts, namespace=namespace, name=name)


class _Verified(Printed):
    """Which pods run the new Corefile."""

    called = {"pods": "stands"}

    all: bool
    seconds: WholeSeconds
    left: Text | None
    unread: Text | None
    pods: tuple[_Pod, ...]


class DnsChangeResult(CommandResult):
    """A change of CoreDNS before or after it is made: kubectl eksdoc coredns-lameduck --set … -o json."""

    called = {"refusals": "guards", "way_back": "back", "outcome": "ended"}

    kind: Literal["DnsChange"]
    recognised: Text | None
    run: Text | None
    journal: Text | None
    verdict: Text
    change: _Change | None
    mode: Mode | None
    """How conflicts are resolved."""
    values: dict[str, Any] | None
    """The complete document of the request; null where EKS is not asked."""
    config: dict[str, Any] | None
    """The part of the ConfigMap that is applied; null: none."""
    resets: OthersLines
    """Fields of other managers that the request resets, too."""
    conflicts: tuple[_Conflict, ...]
    changes: Count
    """Number of changed values or Corefiles."""
    command: Text | None
    refusals: tuple[RefusalResult, ...]
    to_acknowledge: OthersLines
    way_back: OthersLines
    tried: Text | None
    applied: bool
    outcome: OutcomeResult | None
    """Null where nothing was sent."""
    verified: _Verified | None
    """Null where it was not checked."""
    findings: tuple[FindingResult, ...]
