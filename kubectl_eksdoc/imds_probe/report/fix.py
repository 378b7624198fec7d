"""Report of a metadata fix, before and after it is applied, in every format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal

from kubectl_eksdoc.amazon.group_updates import UpdateStage
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.change_journal import ChangePart, PartOutcome
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import When
from kubectl_eksdoc.model.metadata import InstancesFix, LaunchTemplateFix, MetadataFix, NodeClassFix
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import (
    CommandReport,
    Heading,
    Line,
    Section,
    Table,
    TextBlock,
    flush_left,
    verbatim_line,
)
from kubectl_eksdoc.report.result import Count, Meta, PositiveCount, Printed, Text, Texts, WholeSeconds
from kubectl_eksdoc.report.text import (
    Cell,
    TableData,
    Tone,
    as_columns,
    join_words,
    name_column,
    pluralize,
    text_column,
)

from .. import fix
from ..fix import Fix
from ..run import FixDone

# A fix to choose, as ``-o json`` and ``-o yaml`` print it.


def blast_text(blast: fix.BlastRadius) -> str:
    """``replaces 3 nodes, evicts 12 pods``."""
    texts = []
    if blast.nodes:
        texts.append(f"replaces {pluralize(blast.nodes, 'node')}")
    if blast.pods:
        texts.append(f"{'evicts' if blast.nodes else 'restarts'} {pluralize(blast.pods, 'pod')}")
    if blast.instances:
        texts.append(f"changes {pluralize(blast.instances, 'instance')}")
    return ", ".join(texts) or "moves nothing"


class _Blast(Printed):
    """Replaced nodes, evicted or restarted pods, and instances that are changed while they run."""

    nodes: Count
    pods: Count
    instances: Count
    how: Text


class FixChoice(Printed):
    """One fix. commands and wayBack are whole lines for a POSIX shell."""

    name: Literal[
        "instance-options",
        "controller-flags",
        "restart-pods",
        "own-role",
        "node-class",
        "template-version",
        "replace-nodes",
    ]
    when: When
    does: Text
    by_this_tool: bool
    """imds-probe --apply --fix NAME applies it."""
    commands: Texts
    way_back: Texts
    blast: _Blast
    lasts: Text
    cautions: Texts

    @classmethod
    def of(cls, facts: fix.Fix) -> FixChoice:
        return cls.from_facts(facts, by_this_tool=facts.action is not None, way_back=facts.rollback)


# A fix in sentences.


def action_text(action: MetadataFix) -> str:
    """The action, a clause."""
    match action:
        case InstancesFix(changes):
            hops = sorted({change.hop_limit for change in changes})
            return f"a hop limit of {' or '.join(map(str, hops))} for {pluralize(len(changes), 'running instance')}"
        case LaunchTemplateFix() if action.to:
            return f"version {action.to} of launch template {action.id}, as before the fix, for {action.group}"
        case LaunchTemplateFix():
            return (
                f"a hop limit of {action.hop_limit} in a new version of launch template {action.id} for {action.group}"
            )
        case NodeClassFix():
            limit = "no hop limit" if action.hop_limit is None else f"a hop limit of {action.hop_limit}"
            return f"{limit} in EC2NodeClass {action.name}"


def action_verb(fix_action: MetadataFix) -> str:
    """For the typed confirmation: ``change 3 nodes``, ``replace 3 nodes``."""
    return "change" if isinstance(fix_action, InstancesFix) else "replace"


def verdict(report: FixReport) -> str:
    """One sentence without its full stop."""
    text = action_text(report.act)
    text = text[:1].upper() + text[1:]
    if report.done is None:
        return f"{text}: nothing was changed{'' if report.forbidden else ' yet'}"
    return f"{text}: {_result_text(report.done)}"


def _result_text(done: FixDone) -> str:
    if done.stage in (UpdateStage.FAILED, UpdateStage.CANCELLED):
        return (
            "EKS has "
            f"{'not brought the update to its end' if done.stage is UpdateStage.FAILED else 'cancelled the update'}"
        )
    counts = [f"{len(done.parts_with(each))} {each.value}" for each in PartOutcome if done.parts_with(each)]
    if len(counts) == 1 and done.whole:
        return "done" if done.parts_with(PartOutcome.DONE) else counts[0]
    return join_words(counts)


_STATE_TONES = {
    PartOutcome.DONE: Tone.GOOD,
    PartOutcome.AS_BEFORE: Tone.WARN,
    PartOutcome.PENDING: Tone.WARN,
    PartOutcome.OTHER: Tone.BAD,
    PartOutcome.SET_BACK: Tone.WARN,
    PartOutcome.GONE: Tone.FAINT,
    PartOutcome.UNKNOWN: Tone.UNKNOWN,
}
_MAX_LINES = 4


@frozen
class FixReport(CommandReport):
    """`fixes`: () for a resumed fix or a rollback. `back`: the commands of the rollback. `tried`: results of a dry run;
    `forbidden`: why it is not started. `done` is None if nothing was requested. `journal`: path of the journal on this
    machine, "" if there is none. `from_pod`: a command that tests the result from a pod. `undoes`: the ID of the fix
    that it reverts."""

    noun_phrase = "a fix"

    name: str
    act: MetadataFix
    cluster: Cluster
    fixes: tuple[Fix, ...] = ()
    back: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    forbidden: str = ""
    done: FixDone | None = None
    run: str = ""
    journal: str = ""
    from_pod: str = ""
    undoes: str = ""

    def sections(self, full: bool) -> Iterable[Section | None]:
        yield Heading(f"{verdict(self)}.")
        yield from _preview_sections(self, full) if self.done is None else _result_sections(self, self.done, full)

    def result(self) -> object:
        return FixResult.from_facts(
            self,
            verdict=verdict(self),
            findings=(),
        )


def _preview_sections(report: FixReport, full: bool) -> Iterator[Section]:
    max_lines = 0 if full else _MAX_LINES
    if isinstance(report.act, InstancesFix):
        lines = [str(change) for change in report.act.each]
    else:
        lines = [f"{each.does}." for each in report.fixes]
    yield TextBlock("What is done", _first_lines([Line(line) for line in lines], max_lines * 3, 2))
    effects = dict.fromkeys(f"{blast_text(each.blast)}: {each.blast.how}; {each.lasts}." for each in report.fixes)
    yield TextBlock("What it moves", [text[:1].upper() + text[1:] for text in effects])
    yield _command_section("The same by hand", [line for each in report.fixes for line in each.commands], max_lines)
    yield _command_section("Rollback", report.back, max_lines)
    cautions = dict.fromkeys(caution for each in report.fixes for caution in each.cautions)
    yield TextBlock("Mind", [f"- {each}" for each in cautions])
    yield TextBlock("The dry run", [f"- {each}" for each in report.tried])
    yield TextBlock("Nothing is done", [report.forbidden] if report.forbidden else [])


def _command_section(title: str, lines: Sequence[str], max_lines: int) -> Section:
    return TextBlock(title, _first_lines([verbatim_line(line, 4) for line in lines], max_lines, 4))


def _first_lines(lines: list[Line], max_lines: int, indent: int) -> list[Line]:
    if not max_lines or len(lines) <= max_lines + 1:
        return lines
    return [*lines[:max_lines], verbatim_line(f"… and {len(lines) - max_lines} more (-o wide)", indent)]


def _result_sections(report: FixReport, fix_result: FixDone, full: bool) -> Iterator[Section]:
    yield Table("Result", _parts_table(fix_result.parts), "parts")
    messages = [f"{error.code}: {error.message}" for error in fix_result.errors]
    following_text = [f"It is followed no longer: {fix_result.left}."] if fix_result.left else []
    yield TextBlock("What EKS says", [*messages, *following_text])
    if fix_result.nodes:
        yield Table("The nodes of the group now", _parts_table(fix_result.nodes), "nodes")
    if fix_result.proofs:
        yield Table("From pods", _parts_table(fix_result.proofs), "pods")
    else:
        proof = flush_left("That is what AWS or the API server says of it now; no pod was asked.", 0)
        yield TextBlock(None, [proof, *([verbatim_line(report.from_pod)] if report.from_pod else [])])
    yield _command_section("Rollback", report.back, 0 if full else _MAX_LINES)
    run_line = [flush_left(f"Fix {report.run}, {format_duration(fix_result.seconds)}.", 0)] if report.run else []
    journal = [verbatim_line(f"Journal: {report.journal}", 0)] if report.journal else []
    yield TextBlock(None, [*run_line, *journal])


def _parts_table(parts: Iterable[ChangePart]) -> TableData:
    return as_columns(name_column("WHAT", 20), "NOW", text_column("AS", 10)), [
        [each.what, Cell(each.became.value, _STATE_TONES[each.became]), each.why or "-"] for each in parts
    ]


# As ``-o json`` and ``-o yaml`` print it.


class _Part(Printed):
    """The state of a part of the fix, or of a node."""

    what: Text
    became: PartOutcome
    why: Text | None


class _Error(Printed):
    code: str
    message: str


class _Outcome(Printed):
    called = {"template_version": "number"}

    whole: bool
    seconds: WholeSeconds
    left: Text | None
    """Why the fix stopped early."""
    parts: tuple[_Part, ...]
    template_version: PositiveCount | None
    update: Text | None
    """EKS's ID of the node group update."""
    stage: UpdateStage | None
    errors: tuple[_Error, ...]
    nodes: tuple[_Part, ...]
    """The nodes of the group after the fix."""
    proofs: tuple[_Part, ...]
    """Results of test pods on the nodes; empty without any."""


class FixResult(CommandResult):
    """A fix of the instance metadata service, before and after it is applied: kubectl eksdoc imds-probe --apply --fix
    NAME -o json."""

    called = {"fix": "name", "nodes": "act.nodes", "way_back": "back", "outcome": "done"}

    kind: Literal["ImdsFix"]
    recognised: Text | None
    run: Text | None
    journal: Text | None
    undoes: Text | None
    """The ID of the fix that this one reverts."""
    fix: Literal["instance-options", "node-class", "template-version"]
    verdict: Text
    nodes: Texts
    """The nodes that are changed or replaced."""
    forbidden: Text | None
    """Why it is not started."""
    tried: Texts
    """The results of a dry run."""
    way_back: Texts
    fixes: tuple[FixChoice, ...]
    outcome: _Outcome | None
    """null if nothing was requested."""
    findings: Annotated[tuple[Any, ...], Meta(max_length=0)]
