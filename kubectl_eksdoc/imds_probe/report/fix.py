"""Report of a metadata fix, before and after it is applied, in every format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal

from kubectl_eksdoc.amazon.group_updates import Stage
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.change_journal import Became, Part
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import When
from kubectl_eksdoc.model.metadata import Act, OnClass, OnInstances, OnTemplate
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import (
    CommandReport,
    Head,
    Line,
    Lines,
    Section,
    Table,
    as_it_is,
    flush,
)
from kubectl_eksdoc.report.result import Count, Meta, Positive, Printed, Text, Texts, WholeSeconds
from kubectl_eksdoc.report.text import (
    Cell,
    Drawn,
    Tone,
    columns_of,
    counted,
    joined,
    name_column,
    text_column,
)

from .. import fix
from ..fix import Fix
from ..run import FixDone

# A fix to choose, as ``-o json`` and ``-o yaml`` print it.


def reach(blast: fix.BlastRadius) -> str:
    """``replaces 3 nodes, evicts 12 pods``."""
    found = []
    if blast.nodes:
        found.append(f"replaces {counted(blast.nodes, 'node')}")
    if blast.pods:
        found.append(f"{'evicts' if blast.nodes else 'restarts'} {counted(blast.pods, 'pod')}")
    if blast.instances:
        found.append(f"changes {counted(blast.instances, 'instance')}")
    return ", ".join(found) or "moves nothing"


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
        return cls.filled(facts, by_this_tool=facts.act is not None, way_back=facts.back)


# A fix in sentences.


def head(act: Act) -> str:
    """The action, a clause."""
    match act:
        case OnInstances(each):
            hops = sorted({one.hop_limit for one in each})
            return f"a hop limit of {' or '.join(map(str, hops))} for {counted(len(each), 'running instance')}"
        case OnTemplate() if act.to:
            return f"version {act.to} of launch template {act.id}, as before the fix, for {act.group}"
        case OnTemplate():
            return f"a hop limit of {act.hop_limit} in a new version of launch template {act.id} for {act.group}"
        case OnClass():
            limit = "no hop limit" if act.hop_limit is None else f"a hop limit of {act.hop_limit}"
            return f"{limit} in EC2NodeClass {act.name}"


def action(act: Act) -> str:
    """For the typed confirmation: ``change 3 nodes``, ``replace 3 nodes``."""
    return "change" if isinstance(act, OnInstances) else "replace"


def verdict(report: FixReport) -> str:
    """One sentence without its full stop."""
    what = head(report.act)
    what = what[:1].upper() + what[1:]
    if report.done is None:
        return f"{what}: nothing was changed{'' if report.forbidden else ' yet'}"
    return f"{what}: {_came_of(report.done)}"


def _came_of(done: FixDone) -> str:
    if done.stage in (Stage.FAILED, Stage.CANCELLED):
        return (
            f"EKS has {'not brought the update to its end' if done.stage is Stage.FAILED else 'cancelled the update'}"
        )
    counts = [f"{len(done.of(each))} {each.value}" for each in Became if done.of(each)]
    if len(counts) == 1 and done.whole:
        return "done" if done.of(Became.DONE) else counts[0]
    return joined(counts)


_TONES = {
    Became.DONE: Tone.GOOD,
    Became.AS_BEFORE: Tone.WARN,
    Became.PENDING: Tone.WARN,
    Became.OTHER: Tone.BAD,
    Became.SET_BACK: Tone.WARN,
    Became.GONE: Tone.FAINT,
    Became.UNKNOWN: Tone.UNKNOWN,
}
_MOST = 4


@frozen
class FixReport(CommandReport):
    """`fixes`: () for a resumed fix. `back`: the commands of the rollback. `tried`: results of a dry run; `forbidden`:
    why it is not started. `done` is None if nothing was requested. `journal`: path of the journal on this machine, ""
    if there is none. `from_pod`: a command that tests the result from a pod. `undoes`: the ID of the fix that it
    reverts."""

    of = "a fix"

    name: str
    act: Act
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
        yield Head(f"{verdict(self)}.")
        yield from _before(self, full) if self.done is None else _after(self, self.done, full)

    def result(self) -> object:
        return FixResult.filled(
            self,
            verdict=verdict(self),
            findings=(),
        )


def _before(report: FixReport, full: bool) -> Iterator[Section]:
    most = 0 if full else _MOST
    if isinstance(report.act, OnInstances):
        lines = [str(one) for one in report.act.each]
    else:
        lines = [f"{each.does}." for each in report.fixes]
    yield Lines("What is done", _few([Line(line) for line in lines], most * 3, 2))
    moves = dict.fromkeys(f"{reach(each.blast)}: {each.blast.how}; {each.lasts}." for each in report.fixes)
    yield Lines("What it moves", [text[:1].upper() + text[1:] for text in moves])
    yield _commands("The same by hand", [line for each in report.fixes for line in each.commands], most)
    yield _commands("Rollback", report.back, most)
    cautions = dict.fromkeys(caution for each in report.fixes for caution in each.cautions)
    yield Lines("Mind", [f"- {each}" for each in cautions])
    yield Lines("The dry run", [f"- {each}" for each in report.tried])
    yield Lines("Nothing is done", [report.forbidden] if report.forbidden else [])


def _commands(title: str, lines: Sequence[str], most: int) -> Section:
    return Lines(title, _few([as_it_is(line, 4) for line in lines], most, 4))


def _few(lines: list[Line], most: int, indent: int) -> list[Line]:
    if not most or len(lines) <= most + 1:
        return lines
    return [*lines[:most], as_it_is(f"… and {len(lines) - most} more (-o wide)", indent)]


def _after(report: FixReport, done: FixDone, full: bool) -> Iterator[Section]:
    yield Table("Result", _parts(done.parts), "parts")
    said = [f"{error.code}: {error.message}" for error in done.errors]
    left = [f"It is followed no longer: {done.left}."] if done.left else []
    yield Lines("What EKS says", [*said, *left])
    if done.nodes:
        yield Table("The nodes of the group now", _parts(done.nodes), "nodes")
    if done.proofs:
        yield Table("From pods", _parts(done.proofs), "pods")
    else:
        proof = flush("That is what AWS or the API server says of it now; no pod was asked.", 0)
        yield Lines(None, [proof, *([as_it_is(report.from_pod)] if report.from_pod else [])])
    yield _commands("Rollback", report.back, 0 if full else _MOST)
    run = [flush(f"Fix {report.run}, {duration(done.seconds)}.", 0)] if report.run else []
    journal = [as_it_is(f"Journal: {report.journal}", 0)] if report.journal else []
    yield Lines(None, [*run, *journal])


def _parts(parts: Iterable[Part]) -> Drawn:
    return columns_of(name_column("WHAT", 20), "NOW", text_column("AS", 10)), [
        [each.what, Cell(each.became.value, _TONES[each.became]), each.why or "-"] for each in parts
    ]


# As ``-o json`` and ``-o yaml`` print it.


class _Part(Printed):
    """The state of a part of the fix, or of a node."""

    what: Text
    became: Became
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
    template_version: Positive | None
    update: Text | None
    """EKS's ID of the node group update."""
    stage: Stage | None
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
