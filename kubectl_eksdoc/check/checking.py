"""A check: which codes it finds, when they count, what it needs, and how it judges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from kubectl_eksdoc.check.areas import Area, Gate
from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.check_needs import Need
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Finding, Severity, Status, Subject
from kubectl_eksdoc.model.kinds import KindRead, ReadState, Resource
from kubectl_eksdoc.model.missing_rights import allow

Judge = Callable[[CheckFacts], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Check:
    """Of one code, or of those of another command. `gate` is None where nothing has to wait for it. Nothing is found
    where nothing is wrong. `kinds`: the lists of the cluster that it judges by; `needs`: what else."""

    codes: tuple[Code, ...]
    area: Area
    gate: Gate | None
    judge: Judge
    kinds: tuple[Resource, ...] = ()
    needs: tuple[Need, ...] = ()


def cluster_of(facts: CheckFacts) -> Subject:
    """The whole cluster as a subject."""
    return Subject("Cluster", facts.name or facts.cluster.identity.name)


def unknown(code: Code, subject: Subject, what: str, why: Unknown, severity: Severity = Severity.MEDIUM) -> Finding:
    """`what` is not known, a clause as ``which add-ons there are``. `severity`: how bad it may be."""
    remedy = (allow(why.missing),) if why.missing else ()
    message = f"{what} is not known: {why.why}"
    return Finding(
        code, severity, Status.UNKNOWN, subject, message, remedy=remedy, missing=why.missing or what.rstrip(",")
    )


def unread(
    facts: CheckFacts, code: Code, what: str, *resources: Resource, severity: Severity = Severity.MEDIUM
) -> Iterator[Finding]:
    """One finding where some of `resources` were not read completely, none where all were."""
    missing = facts.cluster.unread(*resources)
    if not missing:
        return
    why = "; ".join(map(_unread_for, missing))
    rights = [f"list {read.resource.full_name}" for read in missing if read.state is ReadState.FORBIDDEN]
    lacking = ", ".join(rights) or ", ".join(read.resource.full_name for read in missing)
    remedy = (allow(lacking),) if rights else ()
    message = f"{what} is not known: {why}"
    yield Finding(code, severity, Status.UNKNOWN, cluster_of(facts), message, remedy=remedy, missing=lacking)


def _unread_for(read: KindRead) -> str:
    """Of what it was, unless the reason says that itself."""
    why = read.detail or read.state.value
    return why if read.resource.plural in why else f"{read.resource.plural}: {why}"
