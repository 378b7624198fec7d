"""Upgrade checks: finding codes, gate, needed facts, judging function, and which of the codes depend on each other.

Also the areas of the checks, the gates of an upgrade, and root causes that findings have in common.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.amazon.removed_apis import Tables
from kubectl_eksdoc.amazon.versions import NoPath, in_words, minor_of, path
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import Issue
from kubectl_eksdoc.model.api_objects import ApiUsage
from kubectl_eksdoc.model.cluster import Cluster, no_changes
from kubectl_eksdoc.model.connection import UNNAMED, CommandTarget, shell
from kubectl_eksdoc.model.findings import (
    ClauseName,
    Code,
    CodeName,
    Finding,
    Remedy,
    Severity,
    Status,
    Subject,
    clause,
    in_order,
)
from kubectl_eksdoc.model.kinds import Absent, CheckNeed, ReadState, Resource, Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource
from kubectl_eksdoc.model.missing_rights import learned
from kubectl_eksdoc.model.quantities import Version, parse

if TYPE_CHECKING:
    from kubectl_eksdoc.drain.result import DrainPlan
    from kubectl_eksdoc.model.eks import EksCluster, UpgradeFacts
    from kubectl_eksdoc.model.interruption import ReportedChanges
    from kubectl_eksdoc.model.nodes import Node


# All facts that the checks judge by. Facts that none of the chosen checks needs are not requested, and Unknown.


@frozen
class UpgradePath:
    """`now` and `target` without patches; `steps`: the versions that the control plane goes through, none where it is
    at the target. `told_by`: the source of `now`, a clause; `assumed`: without a source, `now` is that of the nodes.
    """

    now: Version
    target: Version
    steps: tuple[Version, ...]
    told_by: str
    assumed: bool = False

    @property
    def text(self) -> str:
        """``1.31 → 1.32 → 1.33``; one version where the control plane has it already."""
        return " → ".join(in_words(each) for each in (self.now, *self.steps))

    def comes_later(self, version: Version) -> bool:
        """Whether the control plane gets `version` after its next step. The checklist does between the two steps what
        only that version requires."""
        return version > self.now and version != self.steps[0]


@frozen
class CurrentVersion:
    """The version of the control plane; `told_by` and `assumed` as in `UpgradePath`."""

    version: Version
    told_by: str
    assumed: bool = False


def where(eks: str | Unknown, server: str, nodes: Iterable[Node]) -> CurrentVersion | Unknown:
    """The version of the control plane. `eks_version`: as EKS describes it; `server_version`: as the API server
    reports it. Kubelets are never newer than the control plane, so the newest kubelet is its lowest possible version.
    """
    if not isinstance(eks, Unknown) and (told := parse(eks)) is not None:
        return CurrentVersion(minor_of(told), "as EKS describes it")
    if (said := parse(server)) is not None:
        return CurrentVersion(minor_of(said), "as the API server says")
    kubelets = [minor_of(node.kubelet) for node in nodes if node.kubelet is not None]
    if not kubelets:
        return Unknown("neither EKS nor the API server tells the control plane's version, and no kubelet its own")
    newest = max(kubelets)
    return CurrentVersion(newest, "as the newest kubelet has it: nothing tells the control plane's own", True)


def way(here: CurrentVersion, target: Version | None) -> UpgradePath | NoPath:
    """The path to `target`, or to the next minor version."""
    wanted = Version(here.version.major, here.version.minor + 1) if target is None else minor_of(target)
    steps = path(here.version, wanted)
    if isinstance(steps, NoPath):
        return steps
    return UpgradePath(here.version, wanted, steps, here.told_by, here.assumed)


NOT_ASKED = Unknown("no check that was chosen asks for it")


def _nothing_of_aws() -> UpgradeFacts:
    from kubectl_eksdoc.model.eks import UpgradeFacts

    return UpgradeFacts()


@frozen
class CheckFacts:
    """`eks` is Unknown, with the reason, where AWS could not be verified. `command_findings`: by `CheckNeed`, the
    unchanged findings of other commands. `drain`: the plan behind those of `drain plan`; None where there is no plan,
    or no node has to be replaced. `recent_changes`: requested only with --changed-since.
    `kube_proxy_config`: as `guards.configuration` returns it."""

    cluster: Cluster
    way: UpgradePath
    eks: EksCluster | Unknown = NOT_ASKED
    aws: UpgradeFacts = field(default_factory=_nothing_of_aws)
    api: ApiUsage = ApiUsage()
    summed: Mapping[CheckNeed, tuple[Finding, ...] | Unknown] = field(default_factory=dict)
    drain: DrainPlan | None = None
    past: ReportedChanges = field(default_factory=no_changes)
    tables: Tables = Tables()
    proxy: str | Absent | Unknown = NOT_ASKED

    @staticmethod
    def of_files(cluster: Cluster, way: UpgradePath, api: ApiUsage) -> CheckFacts:
        """Facts for manifests alone: AWS and changes are not requested, and their types are not even loaded."""
        nothing: Any = None
        return CheckFacts(cluster, way, aws=nothing, api=api, past=nothing)

    def offers(self, minor: Version) -> bool:
        """Whether EKS offers it; False only where EKS has listed its versions and this one is missing."""
        listed = self.aws.versions
        return isinstance(listed, Unknown) or minor in {minor_of(v) for each in listed if (v := parse(each.version))}

    @property
    def name(self) -> str:
        """The cluster's name, as EKS knows it; "" where no source names it, such as a dump."""
        told = "" if isinstance(self.eks, Unknown) else self.eks.name
        return told or self.cluster.identity.cluster


class Area(str, Enum):
    """Subject area of a check; in the order in which areas are shown."""

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
        """The value for ``--area``: ``control-plane``."""
        return self.name.lower().replace("_", "-")


class Gate(str, Enum):
    """A step of an upgrade that waits for the findings at it."""

    BEFORE_CONTROL_PLANE = "before-control-plane"
    BEFORE_NODES = "before-nodes"
    AFTER = "after"


AS_ONE = frozenset({CheckNeed.PLAN_DNS, CheckNeed.PLAN_INTERRUPTION, CheckNeed.INSIGHTS})
"""Needs whose checks judge one thing in many parts: an unknown part may hide findings of the other parts."""

_WHOLES = frozenset(("check-drain", "check-addons", "check-imds", "check-dns", "check-interruption"))
"""Codes that stand for the whole result of another command."""


def asked_of(check: UpgradeCheck, only: Collection[str]) -> frozenset[str]:
    """The codes of `check` that `only` names, or all codes if `only` is empty. A code that stands for a whole command
    requests all codes of the check."""
    every = frozenset(code.name for code in check.codes)
    named = every & frozenset(only)
    return every if not only or named & _WHOLES else named


def is_told(finding: Finding, check: UpgradeCheck, only: Collection[str]) -> bool:
    """Whether the finding is requested, or is unknown and may hide a requested finding."""
    asked = asked_of(check, only)
    code = finding.code.name
    return code in asked or (finding.status is Status.UNKNOWN and any(code in kin_of(check, each) for each in asked))


def kin_of(check: UpgradeCheck, code: str) -> frozenset[str]:
    """The codes whose unknown findings leave `code` of `check` open. By default a code only hides its own findings."""
    # Imported late: a check of a single code, or of manifests alone, must not load the plans of other commands.
    from kubectl_eksdoc.addon_diff.plan import KIN as OF_ADDONS
    from kubectl_eksdoc.imds_probe.plan import KIN as OF_IMDS

    return _siblings(check) | OF_ADDONS.get(code, frozenset()) | OF_IMDS.get(code, frozenset())


def _siblings(check: UpgradeCheck) -> frozenset[str]:
    """The codes of DNS, interruption and insights report for each other that something was not read."""
    every = frozenset(code.name for code in check.codes)
    return every if AS_ONE & set(check.needs) else every & _WHOLES


Judge = Callable[[CheckFacts], Iterable[Finding]]


@frozen
class UpgradeCheck:
    """A check of one code, or of the codes of another command. `gate` is None where no step waits for it. `judge`
    returns findings only for problems. `kinds`: the lists of the cluster that it judges by; `needs`: other facts.
    `partial`: another check of the same codes reports unknown facts, so no findings of this one is not a pass."""

    codes: tuple[Code, ...]
    area: Area
    gate: Gate | None
    judge: Judge
    kinds: tuple[Resource, ...] = ()
    needs: tuple[CheckNeed, ...] = ()
    part: bool = False

    def also(self, judge: Judge, gate: Gate | None) -> UpgradeCheck:
        """The part of the check that counts at another gate."""
        return replace(self, judge=judge, gate=gate, part=True)

    @staticmethod
    def of(code: CodeName, judge: Judge, *kinds: Resource) -> UpgradeCheck:
        """A check from the record of its code. `kinds`: further lists it can judge without if they are missing."""
        found = Code.of(code)
        gate, lists = Gate(found.gate) if found.gate else None, tuple(dict.fromkeys((*found.needs, *kinds)))
        return UpgradeCheck((found,), Area(found.area), gate, judge, lists, tuple(map(CheckNeed, found.asks)))


def cluster_of(facts: CheckFacts) -> Subject:
    """The whole cluster as a subject."""
    return Subject("Cluster", facts.name or facts.cluster.identity.name)


def unknown(
    asked: ClauseName, subject: Subject, why: Unknown, severity: Severity = Severity.MEDIUM, **values: object
) -> Finding:
    """A finding that the answer to a question is not known. `clause_name`: the question; `severity`: how bad the
    answer may be."""
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
    """One finding where some of `resources` (default: all that its code needs) were not read completely."""
    missing = facts.cluster.unread(*(resources or Code.of(asked).needs))
    if not missing:
        return
    lacks = tuple(read.lack for read in missing)
    rights = [f"list {read.resource.full_name}" for read in missing if read.state is ReadState.FORBIDDEN]
    lacking = ", ".join(rights) or ", ".join(read.resource.full_name for read in missing)
    found = unknown(asked, cluster_of(facts), Unknown("; ".join(map(str, lacks)), lacking), severity, **values)
    yield replace(found, remedy=found.remedy if rights else (learned(lacks[0]),), lacks=lacks)


# Texts that several checks share: days, sources, and commands for the cluster that was read.


def sourced(text: str, source: KnowledgeSource) -> str:
    """`text` with its source, and with the confidence where that is not high."""
    return f"{text} ({', '.join(filter(None, (source.document, source.doubt)))})"


def doubted(text: str, source: KnowledgeSource) -> str:
    """`text` with the confidence of its source where that is not high, without the source."""
    return f"{text} ({source.doubt})" if source.doubt else text


def aws(facts: CheckFacts, *words: str) -> str:
    """An awscli command in the cluster's region."""
    return shell("aws", *words, *in_region(facts))


def in_region(facts: CheckFacts) -> tuple[str, ...]:
    """The flags for the cluster's region; none where it is not known."""
    region = facts.cluster.identity.region if isinstance(facts.eks, Unknown) else facts.eks.region
    return ("--region", region) if region else ()


def name_of(facts: CheckFacts) -> str:
    """The cluster's name for commands, as EKS knows it; a placeholder where it is not known."""
    return facts.name or UNNAMED


def ago(now: datetime, then: datetime) -> str:
    """``3 days ago``, ``5 hours ago``, ``just now``."""
    gone = now - then
    for length, name in ((timedelta(days=1), "day"), (timedelta(hours=1), "hour"), (timedelta(minutes=1), "minute")):
        if gone >= length:
            return f"{number(gone // length, name)} ago"
    return "just now"


def number(count: int, name: str) -> str:
    """``1 day``, ``2 days``."""
    return f"{count} {name}{'' if count == 1 else 's'}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """``a, b and 6 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def day(moment: datetime) -> str:
    """``2026-11-22``."""
    return moment.date().isoformat()


def issue(each: Issue, most: int = 5) -> str:
    """``PodEvictionFailure: Reached max retries … (ip-10-0-1-2.ec2.internal)``."""
    more = " …" if len(each.resources) > most else ""
    where = f" ({', '.join(each.resources[:most])}{more})" if each.resources else ""
    return f"{each.code or 'an issue without a code'}{f': {each.message}' if each.message else ''}{where}"


def unwell(status: str, well: Collection[str], issues: Sequence[Issue]) -> str:
    """``its status is DEGRADED and EKS sees 2 health issues in it``; "" for a healthy status without issues."""
    said = [f"its status is {status}"] if status and status not in well else []
    said += [f"EKS sees {number(len(issues), 'health issue')} in it"] if issues else []
    return " and ".join(said)


# Root causes of findings: one removed API, one node group, one workload, one missing answer.


AWS = Subject("AWS", "account")
"""The root cause of findings that are unknown only because AWS is unknown."""

DECIDING = 3
"""Causes that are shown with their remedy."""

_WIDE = frozenset({"Cluster", "Command"})
"""Kinds of subjects too general to group findings of different codes."""

_WORKLOAD = frozenset({"Deployment", "DaemonSet", "StatefulSet", "PodDisruptionBudget", "ConfigMap"})
"""Kinds of objects of one application, which have its name."""


_SAME_KIND = {"NodeGroup": "Nodegroup"}
_RIGHT = re.compile(r"((list|get|watch|create) \S+|[a-z0-9-]+:[A-Z]\w+)(, |\Z)")
_GATES = (*Gate, None)


@frozen
class RootCause:
    """`gate`: the first step that waits for one of its `findings`, None where none does. `findings`: those of that gate
    first, the worst of them first, at least one. `do`: the remedy of the first of them, with a command."""

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
        """All codes; the code of the first finding comes first."""
        return tuple(dict.fromkeys(each.code for each in self.findings))


def root_causes(
    found: Iterable[tuple[Finding, Gate | None]],
    lacking: Mapping[int, Subject] = MappingProxyType({}),
    reach: CommandTarget = CommandTarget(),
) -> tuple[RootCause, ...]:
    """Root causes of findings that count: those that the next step waits for first, then the worst.
    `missing_sources`: by the id of a finding that is unknown for one reason alone, the source without an answer: AWS,
    or the snapshot that was read."""
    by_key: dict[object, list[tuple[Finding, Gate | None]]] = defaultdict(list)
    for each, gate in found:
        by_key[_key(lacking.get(id(each)) or _origin(each), each)].append((each, gate))
    return tuple(sorted((_cause(some, lacking, reach) for some in by_key.values()), key=_order))


def among(causes: Iterable[RootCause], found: Sequence[Finding]) -> tuple[RootCause, ...]:
    """The causes of `findings`, which have to be the same objects as those of the plan: there may be thousands, and
    each step asks."""
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
    """The first remedy with its command, or else with the command of a more detailed check with `flags`."""
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
