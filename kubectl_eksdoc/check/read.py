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
from kubectl_eksdoc.addon_diff.exposure import by_minors
from kubectl_eksdoc.addon_diff.judging import owned_by_eks
from kubectl_eksdoc.addon_diff.manifests import every_object
from kubectl_eksdoc.addon_diff.prediction import AddonFacts, AddonUpdateRequest
from kubectl_eksdoc.amazon import versions as skew
from kubectl_eksdoc.amazon.versions import NoPath, in_words, minor_of
from kubectl_eksdoc.amazon.written_kinds import going
from kubectl_eksdoc.aws.addon_side import installed_side
from kubectl_eksdoc.aws.eks import updates_of_addons
from kubectl_eksdoc.aws.upgrades import InsightRefresh, nothing_told, upgrade_told
from kubectl_eksdoc.coredns_lameduck import read as dns_reads
from kubectl_eksdoc.coredns_lameduck.deployed import OBJECTS
from kubectl_eksdoc.coredns_lameduck.plan import plan_dns
from kubectl_eksdoc.drain.plan import make_plan
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
from kubectl_eksdoc.model.eks import Refresh, UpgradeFacts
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Subject
from kubectl_eksdoc.model.interruption import ReportedChanges
from kubectl_eksdoc.model.kinds import NOT_ASKED, Absent, CheckNeed, Resource, Unknown, WantedVersions
from kubectl_eksdoc.model.nodes import Node, NodeOwner
from kubectl_eksdoc.model.quantities import Version, parse
from kubectl_eksdoc.session.session import AwsUse, ClusterNeeds, ClusterSession

from .checking import CheckFacts, UpgradeCheck, UpgradePath, unknown, way, where
from .plan import CheckPlan, CheckWish, plan_check
from .registry import kinds_of, needs_of


@frozen
class CheckInput:
    """Input of the checks besides the cluster and AWS. `files`: of manifests; `find_measurement`: as the parameter of
    `coredns_lameduck.read.dns_facts`; `read_metrics` False: no metrics are read from pods."""

    files: Sequence[str] = ()
    measured: dns_reads.MeasuredBefore = lambda uid, context: None
    proxied: bool = True


def needs_for(checks: Sequence[UpgradeCheck], past: bool = False, aws: bool = True) -> ClusterNeeds:
    """`changes`: also read what shows recent changes."""
    return ClusterNeeds(
        "check",
        kinds_for(checks),
        tuple(dict.fromkeys((*every_object(), *OBJECTS))),
        signs=True,
        usage=True,
        past=past,
        aws=AwsUse.OPTIONAL if aws else AwsUse.LEFT_OUT,
    )


def look(
    session: ClusterSession,
    target: Version | None,
    checks: Sequence[UpgradeCheck],
    wish: CheckWish = CheckWish(),
    reach: CommandTarget = CommandTarget(),
    given: CheckInput = CheckInput(),
) -> CheckPlan:
    """The result of the checks. `target` None: the next minor version.

    Raises:
        UsageError: there is no path to the target, or the version of the control plane is not known.
        ClusterError, AwsError: nothing can be asked at all.
    """
    more = OF_CHANGES if wish.since is not None else frozenset()
    facts = check_facts(session, way_to(session, target), checks, reach, more, given)
    if wish.since is not None:
        facts = replace(facts, past=changes_told(session))
    return plan_check(facts, checks, wish, reach)


def kinds_for(checks: Sequence[UpgradeCheck]) -> tuple[Resource, ...]:
    """The lists that the checks, and the commands that they summarize, judge by."""
    of_others = (resource for need, read in KINDS_OF.items() if need in needs_of(checks) for resource in read)
    return tuple(dict.fromkeys((*kinds_of(checks), *of_others)))


def way_to(session: ClusterSession, target: Version | None) -> UpgradePath:
    """The path from the current version to `target`. Raises UsageError: as `run_checks`."""
    cluster, eks = session.cluster, session.eks
    here = where(eks if isinstance(eks, Unknown) else eks.version, cluster.identity.server_version, cluster.nodes)
    if isinstance(here, Unknown):
        raise UsageError(f"the upgrade path is unknown: {here.why}", "Ask the live cluster.")
    found = way(here, target)
    if isinstance(found, NoPath):
        wanted = "the next version" if target is None else in_words(target)
        raise UsageError(f"there is no upgrade path to {wanted}: {found.why}", _where_it_is(here.version, eks))
    return found


def _where_it_is(version: Version, eks: object) -> str:
    """`eks`: the cluster as EKS describes it, or why it is unknown."""
    if not isinstance(eks, Unknown):
        return f"It is at {in_words(version)} now."
    said = f"It seems to be at {in_words(version)}, by what the cluster itself says; EKS could not be asked: {eks.why}"
    return f"{said} (missing: {eks.missing})" if eks.missing and eks.missing not in eks.why else said


OF_CHANGES = frozenset((CheckNeed.CLUSTER_UPDATES, CheckNeed.GROUP_UPDATES))
"""Needs of the list of changes, whatever the checks need."""


def check_facts(
    session: ClusterSession,
    way: UpgradePath,
    checks: Sequence[UpgradeCheck],
    reach: CommandTarget,
    more: frozenset[CheckNeed] = frozenset(),
    given: CheckInput = CheckInput(),
) -> CheckFacts:
    """The facts for the needs of the checks, and for `extra_needs`."""
    needs = needs_of(checks) | more
    if CheckNeed.PLAN_ADDONS in needs:
        needs |= {CheckNeed.ADDONS}
    wanted = wanted_of(session, way, needs)
    told = upgrade_side(session, wanted)
    others = summed(session, way, told, needs, reach.ours, given)
    cluster = replace(session.cluster, notes=tuple(dict.fromkeys((*session.cluster.notes, *others.notes))))
    proxy: str | Absent | Unknown = NOT_ASKED
    if CheckNeed.PROXY in needs:
        proxy = guards.configuration(*map(session.objects.one, (guards.DAEMON_SET, guards.CONFIG)))
    facts = CheckFacts(
        cluster, way, session.eks, told, api_told(session, given.files, wanted), others.findings, others.drain
    )
    return replace(facts, proxy=proxy)


def wanted_of(session: ClusterSession, way: UpgradePath, needs: frozenset[CheckNeed]) -> WantedVersions:
    steps = tuple(map(in_words, way.steps))
    return WantedVersions(needs, in_words(way.now), in_words(way.target), steps, session.cluster.observed_at)


def upgrade_side(session: ClusterSession, wanted: WantedVersions) -> UpgradeFacts:
    """The AWS facts of `aws.upgrades.read_upgrade_facts`, all Unknown where AWS is."""
    found = session.ask(upgrade_told, wanted)
    return nothing_told(found) if isinstance(found, Unknown) else found


def changes_told(session: ClusterSession) -> ReportedChanges:
    """What shows recent changes. Raises ClusterError, AwsError: nothing can be asked."""
    told, updates = session.past.told(), session.ask(updates_of_addons)
    return replace(told, addons=updates)


def api_told(session: ClusterSession, files: Sequence[str], wanted: WantedVersions) -> ApiUsage:
    """Which clients and objects use which API version; only the needed parts are read.

    Raises:
        ClusterError: the cluster does not answer any more.
        UsageError: a file of manifests does not exist.
    """
    needs, usage = wanted.needs, session.usage
    return ApiUsage(
        usage.requested() if CheckNeed.API_REQUESTS in needs else NOT_ASKED,
        usage.written(_resources(wanted)),
        usage.releases() if CheckNeed.HELM in needs else NOT_ASKED,
        read_manifests(files) if files and CheckNeed.MANIFESTS in needs else (),
    )


def _resources(wanted: WantedVersions) -> tuple[Resource, ...]:
    now, target = parse(wanted.now), parse(wanted.target)
    if now is None or target is None or CheckNeed.API_WRITTEN not in wanted.needs:
        return ()
    return going(now, target)


# The plans of other commands for the same cluster: their findings, or why there are none.


Sum = tuple[Finding, ...] | Unknown
Made = TypeVar("Made")


@frozen
class OtherFindings:
    """`drain`: the plan behind the findings of ``drain plan``, None where there is no plan or nothing to drain.
    `notes`: what could not be read and is not a finding."""

    findings: Mapping[CheckNeed, Sum]
    drain: DrainPlan | None = None
    notes: tuple[str, ...] = ()


AS_A_GROUP_UPDATES = DrainPolicy(force=True, delete_emptydir_data=True, surge=1, effort=0)
"""The update of a managed node group adds nodes first, and evicts pods without a controller and with emptyDir, too
(EKS user guide, managed-node-update-behavior). No order is searched: a blocker blocks in any order."""

KINDS_OF: Mapping[CheckNeed, Sequence[Resource]] = {
    CheckNeed.PLAN_DRAIN: kinds.ALL,
    CheckNeed.PLAN_ADDONS: addon_reads.KINDS,
    CheckNeed.PLAN_IMDS: imds_reads.KINDS,
    CheckNeed.PLAN_DNS: (*dns_reads.KINDS, *interruption_reads.KINDS),
    CheckNeed.PLAN_INTERRUPTION: interruption_reads.KINDS,
}
"""The lists of the cluster that the plan behind each need reads."""


def summed(
    session: ClusterSession,
    way: UpgradePath,
    told: UpgradeFacts,
    needs: frozenset[CheckNeed],
    again: tuple[str, ...],
    given: CheckInput = CheckInput(),
) -> OtherFindings:
    """The findings of the commands that are among `needs`. `cluster_flags`: flags for another command on the cluster.

    Raises:
        ClusterError: the cluster does not answer any more.
    """

    noted: list[str] = []

    @cache
    def notices() -> InterruptionPlan:
        plan = interruption_reads.look_at_interruption(session, InterruptionOptions(again=again), given.proxied)
        noted.extend(plan.facts.cluster.notes)
        return plan

    planned = _or_why_not(lambda: replacement(session.cluster, way)) if CheckNeed.PLAN_DRAIN in needs else None
    makers: Mapping[CheckNeed, Callable[[], Sum]] = {
        CheckNeed.PLAN_DRAIN: lambda: _holding_up(planned),
        CheckNeed.PLAN_ADDONS: lambda: _addons(session, way, told),
        CheckNeed.PLAN_IMDS: lambda: imds_reads.plan_imds(session).findings,
        CheckNeed.PLAN_DNS: lambda: plan_dns(dns_reads.whole_facts(session, notices, given.measured)).findings,
        CheckNeed.PLAN_INTERRUPTION: lambda: notices().findings,
    }
    found = {need: _or_why_not(make) for need, make in makers.items() if need in needs}
    return OtherFindings(found, None if isinstance(planned, Unknown) else planned, tuple(noted))


def _or_why_not(make: Callable[[], Made]) -> Made | Unknown:
    """The result of one command, or why it is unknown: the failure of one command does not affect the others.

    Raises:
        ClusterError: nothing can be asked any more; a forbidden request is not such an error.
    """
    try:
        return make()
    except Forbidden as error:
        return Unknown(error.message, error.missing)
    except ClusterError:
        raise
    except AwsError as error:
        return Unknown(error.message, getattr(error, "missing", ""))
    except EksdocError as error:
        return Unknown(error.message)


def replacement(cluster: Cluster, way: UpgradePath) -> DrainPlan | None:
    """The drain of all nodes older than the target, also those of EKS Auto Mode; None where there are none."""
    targets = tuple(node for node in cluster.nodes if _to_be_replaced(node, way))
    return make_plan(cluster, targets, AS_A_GROUP_UPDATES, by_eks=True) if targets else None


def _holding_up(planned: DrainPlan | Unknown | None) -> Sum:
    """Findings that block the replacement or delete data; without "(as --…)", because no flag allowed the deletion."""
    if isinstance(planned, Unknown):
        return planned
    found = () if planned is None else planned.findings
    return tuple(
        replace(each, message=each.message.partition(" (as --")[0])
        for each in found
        if each.code.name != "needs-nodes"  # the update adds them
    )


def _to_be_replaced(node: Node, way: UpgradePath) -> bool:
    """A kubelet of unknown version may have to be replaced. Fargate nodes are not drained: the owners of their pods are
    restarted."""
    return node.owner is not NodeOwner.FARGATE and (node.kubelet is None or minor_of(node.kubelet) < way.target)


def _addons(session: ClusterSession, way: UpgradePath, told: UpgradeFacts) -> Sum:
    """The findings of the update of each EKS add-on to the default version of the target, as far as it is offered now.
    An add-on with an unknown answer does not hide the findings of the others."""
    if isinstance(told.addons, Unknown):
        return told.addons
    if isinstance(session.eks, Unknown):
        return session.eks
    found: list[Finding] = []
    untold: dict[Unknown, list[str]] = defaultdict(list)
    for each in told.addons:
        if isinstance(each, Unknown):
            untold[each].append("one that could not be described")
            continue
        wanted = _default(each, told, way)
        side = session.ask(installed_side, each.name, wanted)
        if isinstance(side, Unknown):
            untold[side].append(each.name)
        elif not isinstance(side, Absent):
            plan = addon_reads.plan_addon(session, side, AddonUpdateRequest())
            later = _later(each, told, way, side.target.version)
            steps = tuple(by_minors(plan.facts))  # not findings here: the checklist has these steps one by one
            findings = (each for each in plan.findings if each not in steps)
            later_on = at_later_version(plan.facts.objects, side.values, later) if later else ()
            look = shell("kubectl", "eksdoc", "addon-diff", each.name, *(("--to", wanted) if wanted else ()))
            found += [of_update(one, plan.facts, look) for one in (*findings, *later_on)]
    lost = (unknown("check-addons/update", Subject("Addon", ", ".join(names)), why) for why, names in untold.items())
    return (*found, *lost)


def of_update(finding: Finding, facts: AddonFacts, look: str) -> Finding:
    """The finding as an upgrade shows it. Where EKS alone owns the fields, an unknown manifest hides no conflict: the
    finding is shown, and blocks nothing. `diff_command`: shows the update; added to findings without a command."""
    whole = finding.subject.kind == "Addon" and finding.code.name in ("addon-object-unread", "addon-field-unknown")
    severity = Severity.INFO if whole and any(owned_by_eks(facts)) else finding.severity
    said = finding.remedy
    if said and not any(each.command for each in said):
        said = (Remedy.of("see-update", command=look), *said)
    return replace(finding, severity=severity, remedy=said)


def _default(of: Addon, told: UpgradeFacts, way: UpgradePath) -> str | None:
    """None where it is not known, or is offered only after the upgrade of the control plane: then the changes of an
    update that keeps the version are checked."""
    offered = told.addon_versions.get(of.name)
    found = _at_target(of, told, way)
    now = isinstance(offered, AddonVersions) and skew.is_offered(offered, in_words(way.now), found)
    return found if found and now else None


def _at_target(of: Addon, told: UpgradeFacts, way: UpgradePath) -> str:
    """The version that EKS installs by default at the target, "" where it is not known."""
    offered = told.addon_versions.get(of.name)
    return skew.target(offered, in_words(way.target), "") if isinstance(offered, AddonVersions) else ""


def _later(of: Addon, told: UpgradeFacts, way: UpgradePath, judged: str) -> str:
    """For CoreDNS, the version that comes with the target, if its update was not judged by it; "" otherwise."""
    found = _at_target(of, told, way) if of.name == coredns.NAME else ""
    return found if found != judged else ""


# A refresh of EKS's insights, on request: started and waited for, with a time limit. It changes nothing in the cluster.


WAIT_S = 600.0
"""A refresh takes EKS some minutes; this is the time limit in seconds."""
PAUSE_S = 5.0

_COMPLETED, _FAILED = "COMPLETED", "FAILED"


def refreshed(
    of: InsightRefresh, now: Callable[[], datetime], sleep: Callable[[float], object], wait_s: float = WAIT_S
) -> str:
    """A sentence about how the refresh ended. In any case the insights that EKS has are judged.

    Raises:
        AwsError: it is not allowed, or nothing can be asked any more.
    """
    begun = now()
    state: Refresh | Unknown = of.begin()
    while isinstance(state, Refresh) and state.status not in (_COMPLETED, _FAILED):
        if (now() - begun).total_seconds() >= wait_s:
            return f"EKS has not refreshed its insights within {wait_s / 60:g} minutes: what follows may be older."
        sleep(PAUSE_S)
        state = of.state()
    if isinstance(state, Unknown):
        return f"Whether EKS has refreshed its insights is unknown: {state.why}. What follows may be older."
    if state.status == _FAILED:
        said = f": {state.said}" if state.said else ""
        return f"EKS could not refresh its insights{said}. What follows is older."
    return "EKS has refreshed its insights."
