"""Upgrade check of a cluster: the upgrade path, the data that the checks need, plans of other commands, the result."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import TypeVar

from kubectl_eksdoc.addon_diff import read as addon_reads
from kubectl_eksdoc.addon_diff.corefile import at_later_version
from kubectl_eksdoc.addon_diff.exposure import skipped_minors_findings
from kubectl_eksdoc.addon_diff.judging import eks_ownership_evidence
from kubectl_eksdoc.addon_diff.manifests import all_objects
from kubectl_eksdoc.addon_diff.prediction import AddonFacts, AddonUpdateRequest
from kubectl_eksdoc.amazon import versions as skew
from kubectl_eksdoc.amazon.versions import NoPath, format_version, minor_of
from kubectl_eksdoc.amazon.written_kinds import kinds_with_removed_versions
from kubectl_eksdoc.aws.addon_side import installed_side
from kubectl_eksdoc.aws.eks import updates_of_addons
from kubectl_eksdoc.aws.upgrades import InsightRefresh, read_upgrade_facts, unknown_upgrade_facts
from kubectl_eksdoc.coredns_lameduck import read as dns_reads
from kubectl_eksdoc.coredns_lameduck.deployed import OBJECTS
from kubectl_eksdoc.coredns_lameduck.plan import plan_dns
from kubectl_eksdoc.drain.plan import build_plan
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.errors import AwsError, ClusterError, EksdocError, Forbidden, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.host.manifest_files import read_manifests
from kubectl_eksdoc.imds_probe import read as imds_reads
from kubectl_eksdoc.interruption import read as interruption_reads
from kubectl_eksdoc.interruption.plan import InterruptionOptions, InterruptionPlan
from kubectl_eksdoc.kubernetes import guards
from kubectl_eksdoc.model import coredns, kinds
from kubectl_eksdoc.model.addons import Addon, AddonVersions
from kubectl_eksdoc.model.api_objects import ApiUsage
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import CommandTarget, shell
from kubectl_eksdoc.model.eks import InsightsRefresh, UpgradeFacts
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Subject
from kubectl_eksdoc.model.interruption import ReportedChanges
from kubectl_eksdoc.model.kinds import NOT_REQUESTED, Absent, CheckNeed, Resource, Unknown, UpgradeQuery
from kubectl_eksdoc.model.nodes import Node, NodeOwner
from kubectl_eksdoc.model.quantities import Version, parse_version
from kubectl_eksdoc.session.session import AwsRequirement, ClusterNeeds, ClusterSession

from .checking import CheckFacts, UpgradeCheck, UpgradePath, current_version, unknown_finding, upgrade_path
from .plan import CheckPlan, CheckScope, plan_check
from .registry import kinds_of, needs_of


@frozen
class CheckInput:
    """Input of the checks besides the cluster and AWS. `files`: of manifests; `find_measurement`: as the parameter of
    `coredns_lameduck.read.dns_facts`; `read_metrics` False: no metrics are read from pods."""

    files: Sequence[str] = ()
    find_measurement: dns_reads.MeasurementLookup = lambda uid, context: None
    read_metrics: bool = True


def needs_for(checks: Sequence[UpgradeCheck], changes: bool = False, aws: bool = True) -> ClusterNeeds:
    """`changes`: also read what shows recent changes."""
    return ClusterNeeds(
        "check",
        kinds_for(checks),
        tuple(dict.fromkeys((*all_objects(), *OBJECTS))),
        interruptions=True,
        api_usage=True,
        changes=changes,
        aws=AwsRequirement.OPTIONAL if aws else AwsRequirement.LEFT_OUT,
    )


def run_checks(
    session: ClusterSession,
    target: Version | None,
    checks: Sequence[UpgradeCheck],
    scope: CheckScope = CheckScope(),
    command_target: CommandTarget = CommandTarget(),
    check_input: CheckInput = CheckInput(),
) -> CheckPlan:
    """The result of the checks. `target` None: the next minor version.

    Raises:
        UsageError: there is no path to the target, or the version of the control plane is not known.
        ClusterError, AwsError: nothing can be asked at all.
    """
    extra_needs = CHANGE_NEEDS if scope.since is not None else frozenset()
    facts = check_facts(session, find_upgrade_path(session, target), checks, command_target, extra_needs, check_input)
    if scope.since is not None:
        facts = replace(facts, recent_changes=read_recent_changes(session))
    return plan_check(facts, checks, scope, command_target)


def kinds_for(checks: Sequence[UpgradeCheck]) -> tuple[Resource, ...]:
    """The lists that the checks, and the commands that they summarize, judge by."""
    of_commands = (
        resource for need, resources in KINDS_BY_NEED.items() if need in needs_of(checks) for resource in resources
    )
    return tuple(dict.fromkeys((*kinds_of(checks), *of_commands)))


def find_upgrade_path(session: ClusterSession, target: Version | None) -> UpgradePath:
    """The path from the current version to `target`. Raises UsageError: as `run_checks`."""
    cluster, eks = session.cluster, session.eks
    current = current_version(
        eks if isinstance(eks, Unknown) else eks.version, cluster.identity.server_version, cluster.nodes
    )
    if isinstance(current, Unknown):
        raise UsageError(f"the upgrade path is unknown: {current.why}", "Ask the live cluster.")
    path = upgrade_path(current, target)
    if isinstance(path, NoPath):
        desired = "the next version" if target is None else format_version(target)
        raise UsageError(
            f"there is no upgrade path to {desired}: {path.reason}", _current_version_hint(current.version, eks)
        )
    return path


def _current_version_hint(version: Version, eks: object) -> str:
    """`eks`: the cluster as EKS describes it, or why it is unknown."""
    if not isinstance(eks, Unknown):
        return f"It is at {format_version(version)} now."
    hint = (
        f"It seems to be at {format_version(version)}, by what the cluster itself says; EKS could not be "
        f"asked: {eks.why}"
    )
    return f"{hint} (missing: {eks.missing})" if eks.missing and eks.missing not in eks.why else hint


CHANGE_NEEDS = frozenset((CheckNeed.CLUSTER_UPDATES, CheckNeed.GROUP_UPDATES))
"""Needs of the list of changes, whatever the checks need."""


def check_facts(
    session: ClusterSession,
    path: UpgradePath,
    checks: Sequence[UpgradeCheck],
    command_target: CommandTarget,
    extra_needs: frozenset[CheckNeed] = frozenset(),
    check_input: CheckInput = CheckInput(),
) -> CheckFacts:
    """The facts for the needs of the checks, and for `extra_needs`."""
    needs = needs_of(checks) | extra_needs
    if CheckNeed.PLAN_ADDONS in needs:
        needs |= {CheckNeed.ADDONS}
    wanted_versions = build_wanted_versions(session, path, needs)
    aws_facts = read_aws_facts(session, wanted_versions)
    command_findings = read_command_findings(session, path, aws_facts, needs, command_target.eksdoc, check_input)
    cluster = replace(session.cluster, notes=tuple(dict.fromkeys((*session.cluster.notes, *command_findings.notes))))
    kube_proxy_config: str | Absent | Unknown = NOT_REQUESTED
    if CheckNeed.PROXY in needs:
        kube_proxy_config = guards.kube_proxy_configuration(
            *map(session.objects.read_object, (guards.KUBE_PROXY_DAEMON_SET, guards.KUBE_PROXY_CONFIG))
        )
    facts = CheckFacts(
        cluster,
        path,
        session.eks,
        aws_facts,
        read_api_usage(session, check_input.files, wanted_versions),
        command_findings.findings,
        command_findings.drain,
    )
    return replace(facts, kube_proxy_config=kube_proxy_config)


def build_wanted_versions(session: ClusterSession, path: UpgradePath, needs: frozenset[CheckNeed]) -> UpgradeQuery:
    steps = tuple(map(format_version, path.steps))
    return UpgradeQuery(
        needs, format_version(path.now), format_version(path.target), steps, session.cluster.observed_at
    )


def read_aws_facts(session: ClusterSession, wanted_versions: UpgradeQuery) -> UpgradeFacts:
    """The AWS facts of `aws.upgrades.read_upgrade_facts`, all Unknown where AWS is."""
    aws_facts = session.ask(read_upgrade_facts, wanted_versions)
    return unknown_upgrade_facts(aws_facts) if isinstance(aws_facts, Unknown) else aws_facts


def read_recent_changes(session: ClusterSession) -> ReportedChanges:
    """What shows recent changes. Raises ClusterError, AwsError: nothing can be asked."""
    changes, updates = session.change_reader.reported_changes(), session.ask(updates_of_addons)
    return replace(changes, addons=updates)


def read_api_usage(session: ClusterSession, files: Sequence[str], wanted_versions: UpgradeQuery) -> ApiUsage:
    """Which clients and objects use which API version; only the needed parts are read.

    Raises:
        ClusterError: the cluster does not answer any more.
        UsageError: a file of manifests does not exist.
    """
    needs, usage = wanted_versions.needs, session.api_usage
    return ApiUsage(
        usage.requested() if CheckNeed.API_REQUESTS in needs else NOT_REQUESTED,
        usage.written(_kinds_with_removed_versions(wanted_versions)),
        usage.releases() if CheckNeed.HELM in needs else NOT_REQUESTED,
        read_manifests(files) if files and CheckNeed.MANIFESTS in needs else (),
    )


def _kinds_with_removed_versions(wanted_versions: UpgradeQuery) -> tuple[Resource, ...]:
    current, target = parse_version(wanted_versions.now), parse_version(wanted_versions.target)
    if current is None or target is None or CheckNeed.API_WRITTEN not in wanted_versions.needs:
        return ()
    return kinds_with_removed_versions(current, target)


# The plans of other commands for the same cluster: their findings, or why there are none.


FindingsOrUnknown = tuple[Finding, ...] | Unknown
Made = TypeVar("Made")


@frozen
class CommandFindings:
    """`drain`: the plan behind the findings of ``drain plan``, None where there is no plan or nothing to drain.
    `notes`: what could not be read and is not a finding."""

    findings: Mapping[CheckNeed, FindingsOrUnknown]
    drain: DrainPlan | None = None
    notes: tuple[str, ...] = ()


GROUP_UPDATE_POLICY = DrainPolicy(force=True, delete_emptydir_data=True, surge=1, effort=0)
"""The update of a managed node group adds nodes first, and evicts pods without a controller and with emptyDir, too
(EKS user guide, managed-node-update-behavior). No order is searched: a blocker blocks in any order."""

KINDS_BY_NEED: Mapping[CheckNeed, Sequence[Resource]] = {
    CheckNeed.PLAN_DRAIN: kinds.ALL,
    CheckNeed.PLAN_ADDONS: addon_reads.KINDS,
    CheckNeed.PLAN_IMDS: imds_reads.KINDS,
    CheckNeed.PLAN_DNS: (*dns_reads.KINDS, *interruption_reads.KINDS),
    CheckNeed.PLAN_INTERRUPTION: interruption_reads.KINDS,
}
"""The lists of the cluster that the plan behind each need reads."""


def read_command_findings(
    session: ClusterSession,
    path: UpgradePath,
    aws_facts: UpgradeFacts,
    needs: frozenset[CheckNeed],
    cluster_flags: tuple[str, ...],
    check_input: CheckInput = CheckInput(),
) -> CommandFindings:
    """The findings of the commands that are among `needs`. `cluster_flags`: flags for another command on the cluster.

    Raises:
        ClusterError: the cluster does not answer any more.
    """

    notes: list[str] = []

    @cache
    def interruption_plan() -> InterruptionPlan:
        plan = interruption_reads.read_interruption(
            session, InterruptionOptions(connection_args=cluster_flags), check_input.read_metrics
        )
        notes.extend(plan.facts.cluster.notes)
        return plan

    drain_plan = (
        _result_or_unknown(lambda: plan_node_replacement(session.cluster, path))
        if CheckNeed.PLAN_DRAIN in needs
        else None
    )
    readers: Mapping[CheckNeed, Callable[[], FindingsOrUnknown]] = {
        CheckNeed.PLAN_DRAIN: lambda: _replacement_findings(drain_plan),
        CheckNeed.PLAN_ADDONS: lambda: _addon_findings(session, path, aws_facts),
        CheckNeed.PLAN_IMDS: lambda: imds_reads.plan_imds_access(session).findings,
        CheckNeed.PLAN_DNS: lambda: (
            plan_dns(dns_reads.complete_facts(session, interruption_plan, check_input.find_measurement)).findings
        ),
        CheckNeed.PLAN_INTERRUPTION: lambda: interruption_plan().findings,
    }
    findings = {need: _result_or_unknown(make) for need, make in readers.items() if need in needs}
    return CommandFindings(findings, None if isinstance(drain_plan, Unknown) else drain_plan, tuple(notes))


def _result_or_unknown(read: Callable[[], Made]) -> Made | Unknown:
    """The result of one command, or why it is unknown: the failure of one command does not affect the others.

    Raises:
        ClusterError: nothing can be asked any more; a forbidden request is not such an error.
    """
    try:
        return read()
    except Forbidden as error:
        return Unknown(error.message, error.missing)
    except ClusterError:
        raise
    except AwsError as error:
        return Unknown(error.message, getattr(error, "missing", ""))
    except EksdocError as error:
        return Unknown(error.message)


def plan_node_replacement(cluster: Cluster, path: UpgradePath) -> DrainPlan | None:
    """The drain of all nodes older than the target, also those of EKS Auto Mode; None where there are none."""
    targets = tuple(node for node in cluster.nodes if _needs_replacement(node, path))
    return build_plan(cluster, targets, GROUP_UPDATE_POLICY, drained_by_eks=True) if targets else None


def _replacement_findings(drain_plan: DrainPlan | Unknown | None) -> FindingsOrUnknown:
    """Findings that block the replacement or delete data; without "(as --…)", because no flag allowed the deletion."""
    if isinstance(drain_plan, Unknown):
        return drain_plan
    findings = () if drain_plan is None else drain_plan.findings
    return tuple(
        replace(each, message=each.message.partition(" (as --")[0])
        for each in findings
        if each.code.name != "needs-nodes"  # the update adds them
    )


def _needs_replacement(node: Node, path: UpgradePath) -> bool:
    """A kubelet of unknown version may have to be replaced. Fargate nodes are not drained: the owners of their pods are
    restarted."""
    return node.owner is not NodeOwner.FARGATE and (node.kubelet is None or minor_of(node.kubelet) < path.target)


def _addon_findings(session: ClusterSession, path: UpgradePath, aws_facts: UpgradeFacts) -> FindingsOrUnknown:
    """The findings of the update of each EKS add-on to the default version of the target, as far as it is offered now.
    An add-on with an unknown answer does not hide the findings of the others."""
    if isinstance(aws_facts.addons, Unknown):
        return aws_facts.addons
    if isinstance(session.eks, Unknown):
        return session.eks
    all_findings: list[Finding] = []
    unknown_addons: dict[Unknown, list[str]] = defaultdict(list)
    for addon in aws_facts.addons:
        if isinstance(addon, Unknown):
            unknown_addons[addon].append("one that could not be described")
            continue
        version = _version_offered_now(addon, aws_facts, path)
        side = session.ask(installed_side, addon.name, version)
        if isinstance(side, Unknown):
            unknown_addons[side].append(addon.name)
        elif not isinstance(side, Absent):
            plan = addon_reads.plan_addon_update(session, side, AddonUpdateRequest())
            later_version = _later_version(addon, aws_facts, path, side.target.version)
            steps = tuple(
                skipped_minors_findings(plan.facts)
            )  # not findings here: the checklist has these steps one by one
            findings = (addon for addon in plan.findings if addon not in steps)
            later_findings = at_later_version(plan.facts.objects, side.values, later_version) if later_version else ()
            diff_command = shell("kubectl", "eksdoc", "addon-diff", addon.name, *(("--to", version) if version else ()))
            all_findings += [as_upgrade_finding(one, plan.facts, diff_command) for one in (*findings, *later_findings)]
    unknown_findings = (
        unknown_finding("check-addons/update", Subject("Addon", ", ".join(names)), why)
        for why, names in unknown_addons.items()
    )
    return (*all_findings, *unknown_findings)


def as_upgrade_finding(finding: Finding, facts: AddonFacts, diff_command: str) -> Finding:
    """The finding as an upgrade shows it. Where EKS alone owns the fields, an unknown manifest hides no conflict: the
    finding is shown, and blocks nothing. `diff_command`: shows the update; added to findings without a command."""
    is_whole_addon = finding.subject.kind == "Addon" and finding.code.name in (
        "addon-object-unread",
        "addon-field-unknown",
    )
    severity = Severity.INFO if is_whole_addon and any(eks_ownership_evidence(facts)) else finding.severity
    remedy = finding.remedy
    if remedy and not any(each.command for each in remedy):
        remedy = (Remedy.of("see-update", command=diff_command), *remedy)
    return replace(finding, severity=severity, remedy=remedy)


def _version_offered_now(addon: Addon, aws_facts: UpgradeFacts, path: UpgradePath) -> str | None:
    """None where it is not known, or is offered only after the upgrade of the control plane: then the changes of an
    update that keeps the version are checked."""
    offered = aws_facts.addon_versions.get(addon.name)
    version = _version_at_target(addon, aws_facts, path)
    is_offered_now = isinstance(offered, AddonVersions) and skew.is_offered(offered, format_version(path.now), version)
    return version if version and is_offered_now else None


def _version_at_target(addon: Addon, aws_facts: UpgradeFacts, path: UpgradePath) -> str:
    """The version that EKS installs by default at the target, "" where it is not known."""
    offered = aws_facts.addon_versions.get(addon.name)
    return skew.target_version(offered, format_version(path.target), "") if isinstance(offered, AddonVersions) else ""


def _later_version(addon: Addon, aws_facts: UpgradeFacts, path: UpgradePath, judged_version: str) -> str:
    """For CoreDNS, the version that comes with the target, if its update was not judged by it; "" otherwise."""
    version = _version_at_target(addon, aws_facts, path) if addon.name == coredns.NAME else ""
    return version if version != judged_version else ""


# A refresh of EKS's insights, on request: started and waited for, with a time limit. It changes nothing in the cluster.


MAX_WAIT_S = 600.0
"""A refresh takes EKS some minutes; this is the time limit in seconds."""
POLL_INTERVAL_S = 5.0

_COMPLETED, _FAILED = "COMPLETED", "FAILED"


def refresh_insights(
    refresh: InsightRefresh, now: Callable[[], datetime], sleep: Callable[[float], object], wait_s: float = MAX_WAIT_S
) -> str:
    """A sentence about how the refresh ended. In any case the insights that EKS has are judged.

    Raises:
        AwsError: it is not allowed, or nothing can be asked any more.
    """
    started = now()
    state: InsightsRefresh | Unknown = refresh.begin()
    while isinstance(state, InsightsRefresh) and state.status not in (_COMPLETED, _FAILED):
        if (now() - started).total_seconds() >= wait_s:
            return f"EKS has not refreshed its insights within {wait_s / 60:g} minutes: what follows may be older."
        sleep(POLL_INTERVAL_S)
        state = refresh.state()
    if isinstance(state, Unknown):
        return f"Whether EKS has refreshed its insights is unknown: {state.why}. What follows may be older."
    if state.status == _FAILED:
        detail = f": {state.message}" if state.message else ""
        return f"EKS could not refresh its insights{detail}. What follows is older."
    return "EKS has refreshed its insights."
