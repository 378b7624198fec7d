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

from kubectl_eksdoc.amazon.removed_apis import KnowledgeTables
from kubectl_eksdoc.amazon.versions import NoPath, format_version, minor_of, minor_steps
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import HealthIssue
from kubectl_eksdoc.model.api_objects import ApiUsage
from kubectl_eksdoc.model.cluster import Cluster, no_changes
from kubectl_eksdoc.model.connection import CLUSTER_PLACEHOLDER, CommandTarget, shell
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
    sort_findings,
)
from kubectl_eksdoc.model.kinds import Absent, CheckNeed, ReadState, Resource, Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource
from kubectl_eksdoc.model.missing_rights import remedy_for
from kubectl_eksdoc.model.quantities import Version, parse_version

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
        return " → ".join(format_version(each) for each in (self.now, *self.steps))

    def is_after_next_step(self, version: Version) -> bool:
        """Whether the control plane gets `version` after its next step. The checklist does between the two steps what
        only that version requires."""
        return version > self.now and version != self.steps[0]


@frozen
class CurrentVersion:
    """The version of the control plane; `told_by` and `assumed` as in `UpgradePath`."""

    version: Version
    told_by: str
    assumed: bool = False


def current_version(eks_version: str | Unknown, server_version: str, nodes: Iterable[Node]) -> CurrentVersion | Unknown:
    """The version of the control plane. `eks_version`: as EKS describes it; `server_version`: as the API server
    reports it. Kubelets are never newer than the control plane, so the newest kubelet is its lowest possible version.
    """
    if not isinstance(eks_version, Unknown) and (from_eks := parse_version(eks_version)) is not None:
        return CurrentVersion(minor_of(from_eks), "as EKS describes it")
    if (from_server := parse_version(server_version)) is not None:
        return CurrentVersion(minor_of(from_server), "as the API server says")
    kubelets = [minor_of(node.kubelet) for node in nodes if node.kubelet is not None]
    if not kubelets:
        return Unknown("neither EKS nor the API server tells the control plane's version, and no kubelet its own")
    newest = max(kubelets)
    return CurrentVersion(newest, "as the newest kubelet has it: nothing tells the control plane's own", True)


def upgrade_path(current: CurrentVersion, target: Version | None) -> UpgradePath | NoPath:
    """The path to `target`, or to the next minor version."""
    desired = Version(current.version.major, current.version.minor + 1) if target is None else minor_of(target)
    steps = minor_steps(current.version, desired)
    if isinstance(steps, NoPath):
        return steps
    return UpgradePath(current.version, desired, steps, current.told_by, current.assumed)


NOT_ASKED = Unknown("no check that was chosen asks for it")


def _no_upgrade_facts() -> UpgradeFacts:
    from kubectl_eksdoc.model.eks import UpgradeFacts

    return UpgradeFacts()


@frozen
class CheckFacts:
    """`eks` is Unknown, with the reason, where AWS could not be verified. `command_findings`: by `CheckNeed`, the
    unchanged findings of other commands. `drain`: the plan behind those of `drain plan`; None where there is no plan,
    or no node has to be replaced. `recent_changes`: requested only with --changed-since.
    `kube_proxy_config`: as `guards.kube_proxy_configuration` returns it."""

    cluster: Cluster
    path: UpgradePath
    eks: EksCluster | Unknown = NOT_ASKED
    aws: UpgradeFacts = field(default_factory=_no_upgrade_facts)
    api: ApiUsage = ApiUsage()
    command_findings: Mapping[CheckNeed, tuple[Finding, ...] | Unknown] = field(default_factory=dict)
    drain: DrainPlan | None = None
    recent_changes: ReportedChanges = field(default_factory=no_changes)
    tables: KnowledgeTables = KnowledgeTables()
    kube_proxy_config: str | Absent | Unknown = NOT_ASKED

    @staticmethod
    def of_files(cluster: Cluster, path: UpgradePath, api: ApiUsage) -> CheckFacts:
        """Facts for manifests alone: AWS and changes are not requested, and their types are not even loaded."""
        nothing: Any = None
        return CheckFacts(cluster, path, aws=nothing, api=api, recent_changes=nothing)

    def is_offered(self, minor: Version) -> bool:
        """Whether EKS offers it; False only where EKS has listed its versions and this one is missing."""
        versions = self.aws.versions
        return isinstance(versions, Unknown) or minor in {
            minor_of(v) for each in versions if (v := parse_version(each.version))
        }

    @property
    def cluster_name(self) -> str:
        """The cluster's name, as EKS knows it; "" where no source names it, such as a dump."""
        eks_name = "" if isinstance(self.eks, Unknown) else self.eks.name
        return eks_name or self.cluster.identity.cluster


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


COMBINED_NEEDS = frozenset({CheckNeed.PLAN_DNS, CheckNeed.PLAN_INTERRUPTION, CheckNeed.INSIGHTS})
"""Needs whose checks judge one thing in many parts: an unknown part may hide findings of the other parts."""

_COMMAND_CODES = frozenset(("check-drain", "check-addons", "check-imds", "check-dns", "check-interruption"))
"""Codes that stand for the whole result of another command."""


def requested_codes(check: UpgradeCheck, only: Collection[str]) -> frozenset[str]:
    """The codes of `check` that `only` names, or all codes if `only` is empty. A code that stands for a whole command
    requests all codes of the check."""
    codes = frozenset(code.name for code in check.codes)
    requested = codes & frozenset(only)
    return codes if not only or requested & _COMMAND_CODES else requested


def is_requested(finding: Finding, check: UpgradeCheck, only: Collection[str]) -> bool:
    """Whether the finding is requested, or is unknown and may hide a requested finding."""
    requested = requested_codes(check, only)
    code = finding.code.name
    return code in requested or (
        finding.status is Status.UNKNOWN and any(code in related_codes(check, each) for each in requested)
    )


def related_codes(check: UpgradeCheck, code: str) -> frozenset[str]:
    """The codes whose unknown findings leave `code` of `check` open. By default a code only hides its own findings."""
    # Imported late: a check of a single code, or of manifests alone, must not load the plans of other commands.
    from kubectl_eksdoc.addon_diff.plan import RELATED_CODES as OF_ADDONS
    from kubectl_eksdoc.imds_probe.plan import RELATED_CODES as OF_IMDS

    return _sibling_codes(check) | OF_ADDONS.get(code, frozenset()) | OF_IMDS.get(code, frozenset())


def _sibling_codes(check: UpgradeCheck) -> frozenset[str]:
    """The codes of DNS, interruption and insights report for each other that something was not read."""
    codes = frozenset(code.name for code in check.codes)
    return codes if COMBINED_NEEDS & set(check.needs) else codes & _COMMAND_CODES


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
    partial: bool = False

    def at_gate(self, judge: Judge, gate: Gate | None) -> UpgradeCheck:
        """The part of the check that counts at another gate."""
        return replace(self, judge=judge, gate=gate, partial=True)

    @staticmethod
    def of(code: CodeName, judge: Judge, *kinds: Resource) -> UpgradeCheck:
        """A check from the record of its code. `kinds`: further lists it can judge without if they are missing."""
        finding_code = Code.of(code)
        gate, lists = (
            Gate(finding_code.gate) if finding_code.gate else None,
            tuple(dict.fromkeys((*finding_code.needs, *kinds))),
        )
        return UpgradeCheck(
            (finding_code,), Area(finding_code.area), gate, judge, lists, tuple(map(CheckNeed, finding_code.asks))
        )


def cluster_subject(facts: CheckFacts) -> Subject:
    """The whole cluster as a subject."""
    return Subject("Cluster", facts.cluster_name or facts.cluster.identity.name)


def unknown_finding(
    clause_name: ClauseName, subject: Subject, reason: Unknown, severity: Severity = Severity.MEDIUM, **values: object
) -> Finding:
    """A finding that the answer to a question is not known. `clause_name`: the question; `severity`: how bad the
    answer may be."""
    question, remedy = clause(clause_name, **values), (remedy_for(reason),)
    message = clause("/not-known", what=question, why=reason)
    missing = reason.missing or question.rstrip(",")
    return Finding(
        Code.of(clause_name), severity, Status.UNKNOWN, subject, message, (), remedy, missing, unknowns=(reason,)
    )


def unread_lists(
    facts: CheckFacts,
    clause_name: ClauseName,
    *resources: Resource,
    severity: Severity = Severity.MEDIUM,
    **values: object,
) -> Iterator[Finding]:
    """One finding where some of `resources` (default: all that its code needs) were not read completely."""
    missing = facts.cluster.not_read(*(resources or Code.of(clause_name).needs))
    if not missing:
        return
    lacks = tuple(read.as_unknown for read in missing)
    missing_rights = [f"list {read.resource.full_name}" for read in missing if read.state is ReadState.FORBIDDEN]
    lacking = ", ".join(missing_rights) or ", ".join(read.resource.full_name for read in missing)
    finding = unknown_finding(
        clause_name, cluster_subject(facts), Unknown("; ".join(map(str, lacks)), lacking), severity, **values
    )
    yield replace(finding, remedy=finding.remedy if missing_rights else (remedy_for(lacks[0]),), unknowns=lacks)


# Texts that several checks share: days, sources, and commands for the cluster that was read.


def with_source(text: str, source: KnowledgeSource) -> str:
    """`text` with its source, and with the confidence where that is not high."""
    return f"{text} ({', '.join(filter(None, (source.document, source.doubt)))})"


def with_confidence(text: str, source: KnowledgeSource) -> str:
    """`text` with the confidence of its source where that is not high, without the source."""
    return f"{text} ({source.doubt})" if source.doubt else text


def aws_command(facts: CheckFacts, *words: str) -> str:
    """An awscli command in the cluster's region."""
    return shell("aws", *words, *region_flags(facts))


def region_flags(facts: CheckFacts) -> tuple[str, ...]:
    """The flags for the cluster's region; none where it is not known."""
    region = facts.cluster.identity.region if isinstance(facts.eks, Unknown) else facts.eks.region
    return ("--region", region) if region else ()


def cluster_name_arg(facts: CheckFacts) -> str:
    """The cluster's name for commands, as EKS knows it; a placeholder where it is not known."""
    return facts.cluster_name or CLUSTER_PLACEHOLDER


def time_ago(now: datetime, moment: datetime) -> str:
    """``3 days ago``, ``5 hours ago``, ``just now``."""
    elapsed = now - moment
    for length, name in ((timedelta(days=1), "day"), (timedelta(hours=1), "hour"), (timedelta(minutes=1), "minute")):
        if elapsed >= length:
            return f"{pluralize(elapsed // length, name)} ago"
    return "just now"


def pluralize(count: int, name: str) -> str:
    """``1 day``, ``2 days``."""
    return f"{count} {name}{'' if count == 1 else 's'}"


def join_names(names: Sequence[str], limit: int = 5) -> str:
    """``a, b and 6 more``."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"{', '.join(names[:limit])}{more}"


def format_day(moment: datetime) -> str:
    """``2026-11-22``."""
    return moment.date().isoformat()


def format_issue(health_issue: HealthIssue, limit: int = 5) -> str:
    """``PodEvictionFailure: Reached max retries … (ip-10-0-1-2.ec2.internal)``."""
    more = " …" if len(health_issue.resources) > limit else ""
    resources = f" ({', '.join(health_issue.resources[:limit])}{more})" if health_issue.resources else ""
    return (
        f"{health_issue.code or 'an issue without a code'}"
        f"{f': {health_issue.message}' if health_issue.message else ''}{resources}"
    )


def health_problems(status: str, healthy_statuses: Collection[str], issues: Sequence[HealthIssue]) -> str:
    """``its status is DEGRADED and EKS sees 2 health issues in it``; "" for a healthy status without issues."""
    problems = [f"its status is {status}"] if status and status not in healthy_statuses else []
    problems += [f"EKS sees {pluralize(len(issues), 'health issue')} in it"] if issues else []
    return " and ".join(problems)


# Root causes of findings: one removed API, one node group, one workload, one missing answer.


AWS_ACCOUNT = Subject("AWS", "account")
"""The root cause of findings that are unknown only because AWS is unknown."""

MAX_TOP_CAUSES = 3
"""Causes that are shown with their remedy."""

_UNSPECIFIC_KINDS = frozenset({"Cluster", "Command"})
"""Kinds of subjects too general to group findings of different codes."""

_WORKLOAD_KINDS = frozenset({"Deployment", "DaemonSet", "StatefulSet", "PodDisruptionBudget", "ConfigMap"})
"""Kinds of objects of one application, which have its name."""


_SAME_KIND = {"NodeGroup": "Nodegroup"}
_RIGHTS_PATTERN = re.compile(r"((list|get|watch|create) \S+|[a-z0-9-]+:[A-Z]\w+)(, |\Z)")
_GATE_ORDER = (*Gate, None)


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
    findings_with_gates: Iterable[tuple[Finding, Gate | None]],
    missing_sources: Mapping[int, Subject] = MappingProxyType({}),
    command_target: CommandTarget = CommandTarget(),
) -> tuple[RootCause, ...]:
    """Root causes of findings that count: those that the next step waits for first, then the worst.
    `missing_sources`: by the id of a finding that is unknown for one reason alone, the source without an answer: AWS,
    or the snapshot that was read."""
    by_key: dict[object, list[tuple[Finding, Gate | None]]] = defaultdict(list)
    for each, gate in findings_with_gates:
        by_key[_cause_key(missing_sources.get(id(each)) or _cause_subject(each), each)].append((each, gate))
    return tuple(
        sorted((_build_cause(some, missing_sources, command_target) for some in by_key.values()), key=_cause_order)
    )


def causes_of_findings(causes: Iterable[RootCause], findings: Sequence[Finding]) -> tuple[RootCause, ...]:
    """The causes of `findings`, which have to be the same objects as those of the plan: there may be thousands, and
    each step asks."""
    finding_ids = set(map(id, findings))
    return tuple(each for each in causes if any(id(one) in finding_ids for one in each.findings))


def _build_cause(
    findings_with_gates: Sequence[tuple[Finding, Gate | None]],
    missing_sources: Mapping[int, Subject],
    command_target: CommandTarget,
) -> RootCause:
    gate = min((gate for _, gate in findings_with_gates), key=_GATE_ORDER.index)
    at_first_gate, at_later_gates = (
        sort_findings(each for each, at in findings_with_gates if (at is gate) is now) for now in (True, False)
    )
    first, findings = at_first_gate[0], (*at_first_gate, *at_later_gates)
    source = missing_sources.get(id(first))
    if source == AWS_ACCOUNT:
        return RootCause(
            AWS_ACCOUNT,
            gate,
            findings,
            Remedy.of("leave-aws-out", command=_check_command(("--no-aws",), command_target)),
        )
    if source is not None:
        return RootCause(source, gate, findings, Remedy.of("snapshot-again"))
    flags = ("--only", first.code.name, "-o", "wide", *_file_flags(first.subject))
    return RootCause(_cause_subject(first), gate, findings, _top_remedy(first, flags, command_target))


def _file_flags(subject: Subject) -> tuple[str, ...]:
    if subject.kind != "File":
        return ()
    return "-f", "-" if subject.name == "standard input" else subject.name


def _top_remedy(first: Finding, flags: Sequence[str], command_target: CommandTarget) -> Remedy:
    """The first remedy with its command, or else with the command of a more detailed check with `flags`."""
    remedy = next(iter(first.remedy), None)
    if remedy is not None and remedy.command:
        return remedy
    text = Remedy.of("see-all").text if remedy is None else f"{remedy.text} Details:"
    return replace(remedy or Remedy(""), text=text, command=_check_command(flags, command_target))


def _check_command(flags: Sequence[str], command_target: CommandTarget) -> str:
    return command_target.add_to(shell("kubectl", "eksdoc", "check", *flags))


def _cause_subject(finding: Finding) -> Subject:
    if finding.root_cause is not None:
        return finding.root_cause
    if finding.status is Status.UNKNOWN and _RIGHTS_PATTERN.sub("", finding.missing) == "" != finding.missing:
        return Subject("Right", finding.missing)
    return finding.subject


def _cause_key(subject: Subject, finding: Finding) -> object:
    if subject.kind in _UNSPECIFIC_KINDS:
        return subject, finding.code.name
    if subject.kind in _WORKLOAD_KINDS:
        return subject.namespace, subject.name
    return _SAME_KIND.get(subject.kind, subject.kind), subject.namespace, subject.name


def _cause_order(cause: RootCause) -> tuple[object, ...]:
    subject = cause.subject
    return (
        _GATE_ORDER.index(cause.gate),
        cause.status is not Status.FAIL,
        cause.severity.rank,
        -len(cause.findings),
        subject.kind,
        subject.namespace,
        subject.name,
        cause.first.code.name,
    )
