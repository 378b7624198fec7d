"""Findings by what they come from: one API that goes, one node group, one workload, one answer that is missing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from kubectl_eksdoc.check.checking import Gate
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.connection import CommandTarget, shell
from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Severity, Status, Subject, in_order

AWS = Subject("AWS", "account")
"""What is unknown for the one reason that nothing of AWS is known comes from that."""

DECIDING = 3
"""So many causes are told with what to do."""

_WIDE = frozenset({"Cluster", "Command"})
"""What findings are about that have nothing else in common."""

_WORKLOAD = frozenset({"Deployment", "DaemonSet", "StatefulSet", "PodDisruptionBudget", "ConfigMap"})
"""Objects of one application bear its name."""


_SAME_KIND = {"NodeGroup": "Nodegroup"}
_RIGHT = re.compile(r"((list|get|watch|create) \S+|[a-z0-9-]+:[A-Z]\w+)(, |\Z)")
_GATES = (*Gate, None)


@frozen
class RootCause:
    """`gate`: the first step that waits for one of its `findings`, None where none does. `findings`: those of that gate
    first, the worst of them first, at least one. `do`: what to do about the first of them, with a command."""

    subject: Subject
    gate: Gate | None
    findings: tuple[Finding, ...]
    do: Remedy

    @property
    def first(self) -> Finding:
        return self.findings[0]

    @property
    def status(self) -> Status:
        return self.first.status

    @property
    def severity(self) -> Severity:
        return self.first.severity

    @property
    def codes(self) -> tuple[Code, ...]:
        """That of the first finding first."""
        return tuple(dict.fromkeys(each.code for each in self.findings))


def root_causes(
    found: Iterable[tuple[Finding, Gate | None]],
    lacking: Mapping[int, Subject] = MappingProxyType({}),
    reach: CommandTarget = CommandTarget(),
) -> tuple[RootCause, ...]:
    """Of findings that count: what the next step waits for first, then the worst. `lacking`: by id of those that are
    unknown for one reason alone, what does not answer: AWS, or the snapshot that was read."""
    by_key: dict[object, list[tuple[Finding, Gate | None]]] = defaultdict(list)
    for each, gate in found:
        by_key[_key(lacking.get(id(each)) or _origin(each), each)].append((each, gate))
    return tuple(sorted((_cause(some, lacking, reach) for some in by_key.values()), key=_order))


def among(causes: Iterable[RootCause], found: Sequence[Finding]) -> tuple[RootCause, ...]:
    """Those from which one of `found` comes, which are the very findings of the plan: there may be thousands, and each
    step asks."""
    some = set(map(id, found))
    return tuple(each for each in causes if any(id(one) in some for one in each.findings))


def _cause(
    some: Sequence[tuple[Finding, Gate | None]], lacking: Mapping[int, Subject], reach: CommandTarget
) -> RootCause:
    gate = min((gate for _, gate in some), key=_GATES.index)
    here, later = (in_order(each for each, at in some if (at is gate) is now) for now in (True, False))
    first, findings = here[0], (*here, *later)
    silent = lacking.get(id(first))
    if silent == AWS:
        return RootCause(AWS, gate, findings, Remedy.of("leave-aws-out", command=_check(("--no-aws",), reach)))
    if silent is not None:
        return RootCause(silent, gate, findings, Remedy.of("snapshot-again"))
    words = ("--only", first.code.name, "-o", "wide", *_of_file(first.subject))
    return RootCause(_origin(first), gate, findings, _do(first, words, reach))


def _of_file(subject: Subject) -> tuple[str, ...]:
    if subject.kind != "File":
        return ()
    return "-f", "-" if subject.name == "standard input" else subject.name


def _do(first: Finding, words: Sequence[str], reach: CommandTarget) -> Remedy:
    """What comes first, with its command, or else with that of a check with these words, which tells more of it."""
    do = next(iter(first.remedy), None)
    if do is not None and do.command:
        return do
    text = Remedy.of("see-all").text if do is None else f"{do.text} Details:"
    return replace(do or Remedy(""), text=text, command=_check(words, reach))


def _check(words: Sequence[str], reach: CommandTarget) -> str:
    return reach.of(shell("kubectl", "eksdoc", "check", *words))


def _origin(found: Finding) -> Subject:
    if found.root_cause is not None:
        return found.root_cause
    if found.status is Status.UNKNOWN and _RIGHT.sub("", found.missing) == "" != found.missing:
        return Subject("Right", found.missing)
    return found.subject


def _key(origin: Subject, found: Finding) -> object:
    if origin.kind in _WIDE:
        return origin, found.code.name
    if origin.kind in _WORKLOAD:
        return origin.namespace, origin.name
    return _SAME_KIND.get(origin.kind, origin.kind), origin.namespace, origin.name


def _order(of: RootCause) -> tuple[object, ...]:
    first = of.subject
    return (
        _GATES.index(of.gate),
        of.status is not Status.FAIL,
        of.severity.rank,
        -len(of.findings),
        first.kind,
        first.namespace,
        first.name,
        of.first.code.name,
    )
