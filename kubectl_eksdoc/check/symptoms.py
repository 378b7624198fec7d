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
from kubectl_eksdoc.model.nodes import EXCLUDED_FROM_BALANCERS

from .rollback import UNDO, way_back


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
    """`do` is None where nothing is proposed; `undo` is its rollback. `active`: `now` of its `_Cause`."""

    what: str
    code: str
    severity: Severity
    status: Status
    subject: Subject
    because: str
    evidence: tuple[str, ...]
    do: Remedy | None
    undo: str
    now: bool = True


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


_OF = records(Causes, "symptoms")


def codes_of(symptom: Symptom) -> tuple[str, ...]:
    """The codes of all possible causes; data that none of them needs is not read."""
    return tuple(dict.fromkeys(code for code, _ in _OF.by("symptom")[symptom].by_code))


def diagnosed(
    symptom: Symptom, found: Sequence[Finding], cluster: Cluster, reach: CommandTarget = CommandTarget()
) -> SymptomDiagnosis:
    """The diagnosis from `findings`, worst first."""
    suspects: list[tuple[tuple[int, int, int, int], Suspect]] = []
    origins: dict[Suspect, Subject] = {}
    causes = _OF.by("symptom")[symptom].by_code
    for each in found:
        place = next((at for at, cause in enumerate(causes) if _is(cause, each)), None)
        if place is None or each.severity is Severity.INFO:
            continue
        cause = causes[place][1]
        if each.status is Status.FAIL or (each.status is Status.PASS and cause.warned):
            rank = int(not cause.now), each.severity.rank, place, len(suspects)
            suspects.append((rank, suspect := _suspect(cause, each, cluster, reach)))
            origins |= {suspect: each.root_cause} if each.root_cause is not None else {}
    for number, sign in enumerate(_signs(symptom, cluster, reach)):
        suspects.append(((0, sign.severity.rank, -1, number), sign))
    unknown = tuple(each for each in found if each.status is Status.UNKNOWN and concerns(symptom, each))
    found_elsewhere = ((each, reach.of(each.command)) for each in _OF.by("symptom")[symptom].elsewhere)
    elsewhere = tuple(Remedy(each.text, command) for each, command in found_elsewhere if command or not each.command)
    ordered = [each for _, each in sorted(suspects, key=lambda pair: pair[0])]
    return SymptomDiagnosis(symptom, tuple(_by_origin(ordered, origins)), unknown, elsewhere)


def _by_origin(ordered: Sequence[Suspect], origins: Mapping[Suspect, Subject]) -> Iterator[Suspect]:
    """Merge the suspects of one root cause into the likeliest of them, with the others as evidence."""
    alike: dict[Subject | int, list[Suspect]] = defaultdict(list)
    for each in ordered:
        alike[origins.get(each, id(each))].append(each)
    for first, *others in alike.values():
        also = (f"{each.subject.kind} {each.subject}: {each.because}" for each in others)
        yield replace(first, evidence=(*first.evidence, *also))


def _is(of: tuple[str, _Cause], finding: Finding) -> bool:
    code, cause = of
    return code == finding.code.name and (not cause.about or finding.subject.name in cause.about)


def concerns(symptom: Symptom, finding: Finding) -> bool:
    """Whether the finding may be a cause. An unknown finding about the cluster counts, too: "which add-ons there are"
    is about no single add-on."""
    whole = finding.subject.kind == "Cluster" and finding.code.name in codes_of(symptom)
    return whole or any(_is(each, finding) for each in _OF.by("symptom")[symptom].by_code)


def _suspect(cause: _Cause, found: Finding, cluster: Cluster, reach: CommandTarget) -> Suspect:
    """The suspect with the remedy that can be done now first, and with a command rather than without."""
    remedy = min(found.remedy, key=lambda each: (not each.command, each.when is When.LATER), default=None)
    if cause.look:
        remedy = Remedy.of("look-first", command=reach.of(cause.look))
    undo = _reached(way_back("" if remedy is None else remedy.command, cluster), reach)
    told = found.code.name, found.severity, found.status, found.subject, found.message, found.evidence
    return Suspect(cause.what, *told, remedy, undo, cause.now)


def _reached(undo: str, reach: CommandTarget) -> str:
    """`undo`, its command directed to the cluster that was read."""
    return f"{UNDO}{reach.of(undo.removeprefix(UNDO))}" if undo.startswith(UNDO) else undo


def _signs(symptom: Symptom, cluster: Cluster, reach: CommandTarget) -> Iterator[Suspect]:
    """Suspects that the cluster shows without findings: nodes that are excluded from load balancers."""
    out = [node for node in cluster.nodes if EXCLUDED_FROM_BALANCERS in node.labels]
    if symptom is not Symptom.TARGETS or not out:
        return
    names = [node.name for node in out]
    command = reach.of(shell("kubectl", "label", "node", *names[:20], f"{EXCLUDED_FROM_BALANCERS}-"))
    value = out[0].labels[EXCLUDED_FROM_BALANCERS]
    back = reach.of(shell("kubectl", "label", "node", *names[:20], f"{EXCLUDED_FROM_BALANCERS}={value}"))
    yield Suspect(
        "load balancers were configured to exclude nodes",
        "node-excluded",
        Severity.HIGH if len(out) * 2 >= len(cluster.nodes) else Severity.MEDIUM,
        Status.FAIL,
        Subject("Node", ", ".join(names[:5])),
        f"{len(out)} of {len(cluster.nodes)} nodes have the label {EXCLUDED_FROM_BALANCERS}: drains and updates of node"
        " groups set it",
        (),
        Remedy.of("unlabel", command=command),
        f"{UNDO}{back}",
    )
