"""A check: which codes it finds, when they count, what it needs, how it judges, which of its codes hang together.

The areas that checks are about, and the gates of an upgrade at which they count.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from enum import Enum

from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.check_needs import CheckNeed
from kubectl_eksdoc.model.findings import ClauseName, Code, CodeName, Finding, Severity, Status, Subject, clause
from kubectl_eksdoc.model.kinds import ReadState, Resource, Unknown
from kubectl_eksdoc.model.missing_rights import learned


class Area(str, Enum):
    """In the order in which they are shown."""

    SUPPORT = "support"
    CONTROL_PLANE = "control plane"
    APIS = "APIs"
    EXTENSIONS = "extensions of the API"
    ADDONS = "add-ons and controllers"
    NODES = "nodes"
    RUNTIME = "container runtime"
    CAPACITY = "addresses and quotas"
    DISRUPTION = "disruption"
    WORKLOADS = "workloads"
    CREDENTIALS = "credentials"
    DNS = "DNS"
    INTERRUPTION = "interruption"

    @property
    def flag(self) -> str:
        """What ``--area`` takes: ``control-plane``."""
        return self.name.lower().replace("_", "-")


class Gate(str, Enum):
    """A step of an upgrade, which what fails at it keeps from being done."""

    BEFORE_CONTROL_PLANE = "before-control-plane"
    BEFORE_NODES = "before-nodes"
    AFTER = "after"


AS_ONE = frozenset({CheckNeed.PLAN_DNS, CheckNeed.PLAN_INTERRUPTION, CheckNeed.INSIGHTS})
"""What judges one thing in many parts: whatever is not known of it may be why another part is not found."""

_WHOLES = frozenset(("check-drain", "check-addons", "check-imds", "check-dns", "check-interruption"))
"""Codes that stand for all that another command says."""


def asked_of(check: UpgradeCheck, only: Collection[str]) -> frozenset[str]:
    """The codes of `check` that `only` names, all where it names none: what stands for a whole command asks for all
    of it."""
    every = frozenset(code.name for code in check.codes)
    named = every & frozenset(only)
    return every if not only or named & _WHOLES else named


def is_told(finding: Finding, check: UpgradeCheck, only: Collection[str]) -> bool:
    """Whether it is asked for, or not known, so that something may be hidden that is."""
    asked = asked_of(check, only)
    code = finding.code.name
    return code in asked or (finding.status is Status.UNKNOWN and any(code in kin_of(check, each) for each in asked))


def kin_of(check: UpgradeCheck, code: str) -> frozenset[str]:
    """What stays open for that code of `check` where one of these is unknown. By itself a code hides only its own."""
    # Imported late: a single code, as of manifests alone, must not pay for the plans of other commands.
    from kubectl_eksdoc.addon_diff.plan import KIN as OF_ADDONS
    from kubectl_eksdoc.imds_probe.plan import KIN as OF_IMDS

    return _siblings(check) | OF_ADDONS.get(code, frozenset()) | OF_IMDS.get(code, frozenset())


def _siblings(check: UpgradeCheck) -> frozenset[str]:
    """DNS, interruption and insights have codes that say for others that something was not read."""
    every = frozenset(code.name for code in check.codes)
    return every if AS_ONE & set(check.needs) else every & _WHOLES


Judge = Callable[[CheckFacts], Iterable[Finding]]


@frozen
class UpgradeCheck:
    """Of one code, or of those of another command. `gate` is None where nothing has to wait for it. Nothing is found
    where nothing is wrong. `kinds`: the lists of the cluster that it judges by; `needs`: what else. `part`: another
    check of its codes says what is not known, so that it passes nothing where it finds nothing."""

    codes: tuple[Code, ...]
    area: Area
    gate: Gate | None
    judge: Judge
    kinds: tuple[Resource, ...] = ()
    needs: tuple[CheckNeed, ...] = ()
    part: bool = False

    def also(self, judge: Judge, gate: Gate | None) -> UpgradeCheck:
        """The part of it that counts at another gate."""
        return replace(self, judge=judge, gate=gate, part=True)

    @staticmethod
    def of(code: CodeName, judge: Judge, *kinds: Resource) -> UpgradeCheck:
        """As the record of its code has it. `kinds`: lists of which what is missing may be known all the same."""
        found = Code.of(code)
        gate, lists = Gate(found.gate) if found.gate else None, tuple(dict.fromkeys((*found.needs, *kinds)))
        return UpgradeCheck((found,), Area(found.area), gate, judge, lists, tuple(map(CheckNeed, found.asks)))


def cluster_of(facts: CheckFacts) -> Subject:
    """The whole cluster as a subject."""
    return Subject("Cluster", facts.name or facts.cluster.identity.name)


def unknown(
    asked: ClauseName, subject: Subject, why: Unknown, severity: Severity = Severity.MEDIUM, **values: object
) -> Finding:
    """What is asked is not known. `severity`: how bad it may be."""
    what, remedy = clause(asked, **values), (learned(why),)
    message = clause("/not-known", what=what, why=why)
    missing = why.missing or what.rstrip(",")
    return Finding(Code.of(asked), severity, Status.UNKNOWN, subject, message, (), remedy, missing, lacks=(why,))


def unread(
    facts: CheckFacts,
    asked: ClauseName,
    *resources: Resource,
    severity: Severity = Severity.MEDIUM,
    **values: object,
) -> Iterator[Finding]:
    """One finding where some of `resources`, without them of all that its code needs, were not read completely."""
    missing = facts.cluster.unread(*(resources or Code.of(asked).needs))
    if not missing:
        return
    lacks = tuple(read.lack for read in missing)
    rights = [f"list {read.resource.full_name}" for read in missing if read.state is ReadState.FORBIDDEN]
    lacking = ", ".join(rights) or ", ".join(read.resource.full_name for read in missing)
    found = unknown(asked, cluster_of(facts), Unknown("; ".join(map(str, lacks)), lacking), severity, **values)
    yield replace(found, remedy=found.remedy if rights else (learned(lacks[0]),), lacks=lacks)
