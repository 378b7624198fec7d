"""Symptoms of an incident and their possible causes: the likeliest first, with a remedy and its rollback.

The order: failures that are active now, then by severity, then as the table of the symptom has it; latent causes last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import CommandTarget, shell
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Status, Subject, When
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.nodes import EXCLUDE_FROM_LOAD_BALANCERS

from .rollback import UNDO, rollback_text


class Symptom(str, Enum):
    """A symptom, by its name on the command line."""

    DNS = "dns"
    TARGETS = "targets"
    CREDENTIALS = "credentials"
    DRAIN_STUCK = "drain-stuck"


@frozen
class _Cause:
    """A cause for findings with the `codes`. `what` ends the sentence "Most likely: …". `now`: the finding shows an
    active failure, not a possible one. `about`: names of subjects, none for any. `warned`: it counts even where it
    blocks no upgrade (PASS). `look`: the command to begin with, "" for the finding's own remedy."""

    codes: tuple[str, ...]
    what: str
    now: bool = False
    about: tuple[str, ...] = ()
    warned: bool = False
    look: str = ""


@frozen
class Suspect:
    """`do` is None where nothing is proposed; `undo` is its rollback. `active`: `active` of its `_Cause`."""

    what: str
    code: str
    severity: Severity
    status: Status
    subject: Subject
    because: str
    evidence: tuple[str, ...]
    do: Remedy | None
    undo: str
    active: bool = True


@frozen
class SymptomDiagnosis:
    """`suspects`: the likeliest first, none where nothing was found; `unknown`: answers that could not be read;
    `elsewhere`: where to look next, each a sentence with its command."""

    symptom: Symptom
    suspects: tuple[Suspect, ...]
    unknown: tuple[Finding, ...]
    elsewhere: tuple[Remedy, ...]


@frozen
class Causes:
    """The causes of a symptom; the first that matches a finding describes it. `elsewhere`: where to look next, each a
    sentence with its command."""

    symptom: Symptom
    causes: tuple[_Cause, ...]
    elsewhere: tuple[Remedy, ...]
    source: KnowledgeSource

    @property
    def by_code(self) -> tuple[tuple[str, _Cause], ...]:
        """In their order."""
        return tuple((code, cause) for cause in self.causes for code in cause.codes)


_CAUSES = records(Causes, "symptoms")


def codes_of_symptom(symptom: Symptom) -> tuple[str, ...]:
    """The codes of all possible causes; data that none of them needs is not read."""
    return tuple(dict.fromkeys(code for code, _ in _CAUSES.by("symptom")[symptom].by_code))


def diagnose(
    symptom: Symptom, findings: Sequence[Finding], cluster: Cluster, command_target: CommandTarget = CommandTarget()
) -> SymptomDiagnosis:
    """The diagnosis from `findings`, worst first."""
    suspects: list[tuple[tuple[int, int, int, int], Suspect]] = []
    root_causes: dict[Suspect, Subject] = {}
    causes = _CAUSES.by("symptom")[symptom].by_code
    for finding in findings:
        position = next((at for at, cause in enumerate(causes) if _matches(cause, finding)), None)
        if position is None or finding.severity is Severity.INFO:
            continue
        cause = causes[position][1]
        if finding.status is Status.FAIL or (finding.status is Status.PASS and cause.warned):
            rank = int(not cause.now), finding.severity.rank, position, len(suspects)
            suspects.append((rank, suspect := _build_suspect(cause, finding, cluster, command_target)))
            root_causes |= {suspect: finding.root_cause} if finding.root_cause is not None else {}
    for number, cluster_suspect in enumerate(_suspects_in_cluster(symptom, cluster, command_target)):
        suspects.append(((0, cluster_suspect.severity.rank, -1, number), cluster_suspect))
    unknown = tuple(finding for finding in findings if finding.status is Status.UNKNOWN and may_cause(symptom, finding))
    next_places = (
        (finding, command_target.add_to(finding.command)) for finding in _CAUSES.by("symptom")[symptom].elsewhere
    )
    elsewhere = tuple(
        Remedy(finding.text, command) for finding, command in next_places if command or not finding.command
    )
    ranked_suspects = [finding for _, finding in sorted(suspects, key=lambda pair: pair[0])]
    return SymptomDiagnosis(symptom, tuple(_merge_root_causes(ranked_suspects, root_causes)), unknown, elsewhere)


def _merge_root_causes(suspects: Sequence[Suspect], root_causes: Mapping[Suspect, Subject]) -> Iterator[Suspect]:
    """Merge the suspects of one root cause into the likeliest of them, with the others as evidence."""
    by_root_cause: dict[Subject | int, list[Suspect]] = defaultdict(list)
    for each in suspects:
        by_root_cause[root_causes.get(each, id(each))].append(each)
    for first, *others in by_root_cause.values():
        also = (f"{each.subject.kind} {each.subject}: {each.because}" for each in others)
        yield replace(first, evidence=(*first.evidence, *also))


def _matches(code_and_cause: tuple[str, _Cause], finding: Finding) -> bool:
    code, cause = code_and_cause
    return code == finding.code.name and (not cause.about or finding.subject.name in cause.about)


def may_cause(symptom: Symptom, finding: Finding) -> bool:
    """Whether the finding may be a cause. An unknown finding about the cluster counts, too: "which add-ons there are"
    is about no single add-on."""
    is_cluster_finding = finding.subject.kind == "Cluster" and finding.code.name in codes_of_symptom(symptom)
    return is_cluster_finding or any(_matches(each, finding) for each in _CAUSES.by("symptom")[symptom].by_code)


def _build_suspect(cause: _Cause, finding: Finding, cluster: Cluster, command_target: CommandTarget) -> Suspect:
    """The suspect with the remedy that can be done now first, and with a command rather than without."""
    remedy = min(finding.remedy, key=lambda each: (not each.command, each.when is When.LATER), default=None)
    if cause.look:
        remedy = Remedy.of("look-first", command=command_target.add_to(cause.look))
    undo = _with_command_target(rollback_text("" if remedy is None else remedy.command, cluster), command_target)
    finding_fields = (
        finding.code.name,
        finding.severity,
        finding.status,
        finding.subject,
        finding.message,
        finding.evidence,
    )
    return Suspect(cause.what, *finding_fields, remedy, undo, cause.now)


def _with_command_target(undo: str, command_target: CommandTarget) -> str:
    """`undo`, its command directed to the cluster that was read."""
    return f"{UNDO}{command_target.add_to(undo.removeprefix(UNDO))}" if undo.startswith(UNDO) else undo


def _suspects_in_cluster(symptom: Symptom, cluster: Cluster, command_target: CommandTarget) -> Iterator[Suspect]:
    """Suspects that the cluster shows without findings: nodes that are excluded from load balancers."""
    excluded_nodes = [node for node in cluster.nodes if EXCLUDE_FROM_LOAD_BALANCERS in node.labels]
    if symptom is not Symptom.TARGETS or not excluded_nodes:
        return
    names = [node.name for node in excluded_nodes]
    command = command_target.add_to(shell("kubectl", "label", "node", *names[:20], f"{EXCLUDE_FROM_LOAD_BALANCERS}-"))
    value = excluded_nodes[0].labels[EXCLUDE_FROM_LOAD_BALANCERS]
    rollback = command_target.add_to(
        shell("kubectl", "label", "node", *names[:20], f"{EXCLUDE_FROM_LOAD_BALANCERS}={value}")
    )
    yield Suspect(
        "load balancers were configured to exclude nodes",
        "node-excluded",
        Severity.HIGH if len(excluded_nodes) * 2 >= len(cluster.nodes) else Severity.MEDIUM,
        Status.FAIL,
        Subject("Node", ", ".join(names[:5])),
        f"{len(excluded_nodes)} of {len(cluster.nodes)} nodes have the label {EXCLUDE_FROM_LOAD_BALANCERS}: "
        "drains and updates of node"
        " groups set it",
        (),
        Remedy.of("unlabel", command=command),
        f"{UNDO}{rollback}",
    )
