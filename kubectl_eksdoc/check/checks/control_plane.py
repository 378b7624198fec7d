"""EKS control plane: its health, updates under way or failed, rollback of the last upgrade, and end of support."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime

from kubectl_eksdoc.amazon import amis, removed_apis
from kubectl_eksdoc.amazon import versions as skew
from kubectl_eksdoc.amazon.versions import (
    Support,
    SupportEnd,
    SupportEnding,
    SupportPhase,
    extended_cost_per_month,
    format_version,
    minor_of,
    next_support_end,
    support_status,
)
from kubectl_eksdoc.model import eks as told
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import EksAddonUpdate, UpdateHistory
from kubectl_eksdoc.model.findings import Finding, Severity, Status
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.nodes import Node, NodeOwner
from kubectl_eksdoc.model.quantities import Version, parse_version

from ..checking import (
    CheckFacts,
    Judge,
    UpgradeCheck,
    aws_command,
    cluster_subject,
    format_day,
    format_issue,
    health_problems,
    pluralize,
    unknown_finding,
    unread_lists,
    with_confidence,
    with_source,
)
from .group_updates import IN_PROGRESS, SUCCESSFUL, describe_command, started_text, update_state
from .release_notes import node_names

_ACTIVE_STATUS, _UPDATING = "ACTIVE", "UPDATING"
_VERSION_UPDATE = "VersionUpdate"


def _check_cluster_health(facts: CheckFacts) -> Iterator[Finding]:
    eks = facts.eks
    if isinstance(eks, Unknown):
        yield unknown_finding("cluster-health", cluster_subject(facts), eks, Severity.HIGH)
        return
    if not eks.issues and eks.status == _ACTIVE_STATUS:
        return
    if not eks.status and not eks.issues:
        reason = Unknown("EKS does not tell its status")
        yield unknown_finding("cluster-health", cluster_subject(facts), reason, Severity.HIGH)
        return
    yield Finding.of(
        "cluster-health",
        cluster_subject(facts),
        tuple(map(format_issue, eks.issues)),
        severity=Severity.MEDIUM if eks.status == _UPDATING and not eks.issues else Severity.HIGH,
        unwell=health_problems(eks.status, (_ACTIVE_STATUS,), eks.issues),
        command=aws_command(facts, "eks", "describe-cluster", "--name", eks.name, "--query", "cluster.[status,health]"),
    )


def _check_cluster_updates(facts: CheckFacts) -> Iterator[Finding]:
    history = facts.aws.cluster_updates
    if isinstance(history, Unknown):
        yield unknown_finding("cluster-update/all", cluster_subject(facts), history)
        return
    state = update_state(history)
    if state.unknown is not None:
        yield unknown_finding("cluster-update/one", cluster_subject(facts), state.unknown)
    for update in state.in_progress:
        yield Finding.of(
            "cluster-update/under-way",
            cluster_subject(facts),
            (f"update {update.id}",),
            type=update.type,
            begun=started_text(facts, update),
            command=describe_command(facts, update),
        )
    if state.failed is not None:
        yield _failed_update(facts, state.failed)


def _failed_update(facts: CheckFacts, update: EksAddonUpdate) -> Finding:
    return Finding.of(
        "cluster-update/failed",
        cluster_subject(facts),
        (*map(format_issue, update.errors), f"update {update.id}"),
        severity=Severity.HIGH if update.type == _VERSION_UPDATE else Severity.MEDIUM,
        type=update.type,
        begun=started_text(facts, update),
        command=describe_command(facts, update),
    )


def _check_rollback(facts: CheckFacts) -> Iterator[Finding]:
    history = facts.aws.cluster_updates
    upgrade = _last_upgrade(facts, history)
    if isinstance(upgrade, Unknown):
        yield unknown_finding("rollback-window/whether", cluster_subject(facts), upgrade, Severity.LOW)
        return
    if upgrade is None or upgrade.begun is None:
        return
    time_left = skew.rollback_time_left(facts.cluster.observed_at, upgrade.begun)
    if isinstance(time_left, Unknown):
        yield unknown_finding("rollback-window/how-long", cluster_subject(facts), time_left, Severity.LOW)
    elif time_left:
        # Nodes with a kubelet newer than the previous version block it; EKS downgrades Auto Mode nodes by itself.
        customer_nodes = (each for each in facts.cluster.nodes if each.owner is not NodeOwner.AUTO_MODE)
        newer_nodes = [
            each
            for each in customer_nodes
            if each.kubelet is not None and minor_of(each.kubelet) > _previous_version(facts)
        ]
        blockers = tuple(_rollback_blockers(facts, newer_nodes))
        yield _open_window(facts, upgrade.begun, blockers)
        yield from _what_ends_rollback(facts, newer_nodes, blockers)


def _last_upgrade(facts: CheckFacts, history: UpdateHistory | Unknown) -> EksAddonUpdate | Unknown | None:
    """The last upgrade; None where it is known that there was none within a week, or that it was rolled back."""
    if isinstance(history, Unknown):
        return history
    for update in history.updates:
        if isinstance(update, Unknown):
            return update
        if update.type == "VersionRollback" and update.status in (SUCCESSFUL, IN_PROGRESS):
            return None  # it was rolled back already
        if update.type == _VERSION_UPDATE and update.status == SUCCESSFUL:
            return update if update.begun is not None else Unknown("EKS does not say when the last upgrade was")
    started_times = [
        update.begun for update in history.updates if isinstance(update, EksAddonUpdate) and update.begun is not None
    ]
    week_ago = facts.cluster.observed_at - skew.rollback_window()
    if history.unseen and (not started_times or min(started_times) > week_ago):
        return Unknown(f"EKS lists {history.unseen} more updates, which were not queried")
    return None


def _previous_version(facts: CheckFacts) -> Version:
    return Version(facts.path.now.major, facts.path.now.minor - 1)


def _open_window(facts: CheckFacts, upgraded_at: datetime, blockers: Sequence[str]) -> Finding:
    current, ends_at = facts.path.now, upgraded_at + skew.rollback_window()
    previous = format_version(_previous_version(facts))
    next_upgrade = [
        f"the upgrade to {format_version(each)} ends it: it goes back by one minor" for each in facts.path.steps[:1]
    ]
    return Finding.of(
        "rollback-window/open",
        cluster_subject(facts),
        (
            *(f"in its way now: {each}" for each in blockers),
            *next_upgrade,
            "counted from when the upgrade began: when it ended is not told",
            *_rollback_insights(facts),
            *_rollback_conditions(),
            f"it leaves as they are: {skew.unchanged_by_rollback()}",
            *(with_source(each.clause, each.source) for each in skew.ROLLBACK_CONDITIONS if each.doubt),
        ),
        in_words=format_version(current),
        day=format_day(upgraded_at),
        back=previous,
        strftime=ends_at.strftime("%Y-%m-%d %H:%M"),
        against=bool(blockers),
    )


def _rollback_conditions() -> Iterator[str]:
    """Conditions of one source document together, in the order of the list: the most certain first."""
    undisputed = [each for each in skew.ROLLBACK_CONDITIONS if not each.doubt]
    for source in dict.fromkeys(each.source for each in undisputed):
        clauses = (each.clause for each in undisputed if each.source == source)
        yield with_source(f"conditions: {'; '.join(clauses)}", source)


def _rollback_insights(facts: CheckFacts) -> Iterator[str]:
    insights = facts.aws.other_insights
    if isinstance(insights, Unknown):
        yield f"what blocks a rollback in EKS is unknown: {insights.why}"
        return
    for insight in insights:
        if insight.category == told.ROLLBACK and insight.status != told.PASSING:
            yield f"EKS reports that these block a rollback: {insight.name} is {insight.status}: {insight.reason}"


def _what_ends_rollback(facts: CheckFacts, newer_nodes: Sequence[Node], blockers: tuple[str, ...]) -> Iterator[Finding]:
    """Nodes and upgrades that make a rollback impossible. `newer_nodes`: newer than the previous version; Fargate is
    not supported at all. With neither it is advice: a cluster that was upgraded yesterday has no fault."""
    yield from unread_lists(facts, "rollback-window/nodes")
    previous = format_version(_previous_version(facts))
    if not _has_further_steps(facts):
        if newer_nodes:
            yield Finding.of("rollback-window/newer-nodes", cluster_subject(facts), blockers, back=previous)
        return
    yield Finding.of(
        "rollback-window/blocked" if blockers else "rollback-window/advice",
        cluster_subject(facts),
        blockers,
        back=previous,
    )


def _rollback_blockers(facts: CheckFacts, newer_nodes: Sequence[Node]) -> Iterator[str]:
    """Known blockers of a rollback, as clauses."""
    if newer_nodes:
        yield (
            f"{pluralize(len(newer_nodes), 'node')} newer than {format_version(_previous_version(facts))} "
            f"already: {node_names(newer_nodes)}"
        )
    fargate_nodes = [each for each in facts.cluster.nodes if each.owner is NodeOwner.FARGATE]
    if fargate_nodes:
        yield f"there are pods on Fargate, which a rollback does not support: {node_names(fargate_nodes)}"


def _has_further_steps(facts: CheckFacts) -> bool:
    """Whether further steps can still wait for the soak time; unread nodes may be behind."""
    behind_target = (each.kubelet is None or minor_of(each.kubelet) < facts.path.target for each in facts.cluster.nodes)
    return bool(facts.path.steps) or bool(facts.cluster.not_read(kinds.NODES)) or any(behind_target)


CHECKS = (
    UpgradeCheck.of("cluster-health", _check_cluster_health),
    UpgradeCheck.of("cluster-update", _check_cluster_updates),
    UpgradeCheck.of("rollback-window", _check_rollback),
)


# End of support of the version, its price, and whether EKS offers the target.


NOTICE_DAYS = 90
"""An upgrade of a fleet takes weeks; EKS itself sends its notices about that long before."""
URGENT_DAYS = 30


def _support_status(facts: CheckFacts) -> Support | Unknown:
    return support_status(facts.path.now, facts.cluster.observed_at, facts.aws.versions)


def _check_standard_end(facts: CheckFacts) -> Iterator[Finding]:
    status = _support_status(facts)
    if isinstance(status, Unknown):
        yield unknown_finding("support-ends", cluster_subject(facts), status, now=_current_version(facts))
        return
    days_left = status.standard_days
    if status.phase is not SupportPhase.STANDARD or days_left is None or days_left > NOTICE_DAYS:
        return
    ending = next_support_end(status, _upgrade_policy(facts))
    if isinstance(ending, Unknown):
        effect, extra_cost, evidence = "", "", (*_date_evidence(status), ending.why)
    else:
        extra_cost = f"{extended_cost_per_month():.0f}" if ending.effect is SupportEnd.EXTENDED_BILLING else ""
        effect, evidence = ending.effect.value, _support_evidence(status, ending)
    yield Finding.of(
        "support-ends",
        cluster_subject(facts),
        evidence,
        severity=Severity.HIGH if days_left <= URGENT_DAYS else Severity.MEDIUM,
        now=_current_version(facts),
        ends=_day_text(status.standard_ends),
        over=days_left < 0,
        days=pluralize(abs(days_left), "day"),
        then=effect,
        billed=extra_cost,
    )


def _check_extended_support(facts: CheckFacts) -> Iterator[Finding]:
    status = _support_status(facts)
    if isinstance(status, Unknown):
        yield unknown_finding("support-extended", cluster_subject(facts), status, now=_current_version(facts))
        return
    if status.phase is not SupportPhase.EXTENDED:
        return
    days_left = status.extended_days
    yield Finding.of(
        "support-extended",
        cluster_subject(facts),
        (*_date_evidence(status), "billed by versionStatus, whatever the cluster's upgrade policy says"),
        now=_current_version(facts),
        cost=status.extra_cost_per_month,
        ends="" if days_left is None else _day_text(status.extended_ends),
        days=pluralize(days_left or 0, "day"),
    )


def _check_support_end(facts: CheckFacts) -> Iterator[Finding]:
    status = _support_status(facts)
    if isinstance(status, Unknown):
        yield unknown_finding("support-over", cluster_subject(facts), status)
        return
    ending = next_support_end(status, _upgrade_policy(facts))
    if isinstance(ending, Unknown):
        ending = facts.eks if isinstance(facts.eks, Unknown) else ending
        if status.phase is SupportPhase.EXTENDED:
            yield unknown_finding("support-over", cluster_subject(facts), ending)
        return
    if ending.effect is not SupportEnd.AUTO_UPGRADE:
        return
    days_left = None if ending.from_day is None else (ending.from_day - status.today).days
    if days_left is not None and days_left > NOTICE_DAYS:
        return
    has_ended = status.phase is SupportPhase.ENDED
    in_future = days_left is not None and days_left > 0
    yield Finding.of(
        "support-over",
        cluster_subject(facts),
        _support_evidence(status, ending),
        severity=Severity.CRITICAL
        if has_ended or (days_left is not None and days_left <= URGENT_DAYS)
        else Severity.HIGH,
        days=pluralize(days_left or 0, "day") if in_future else "",
        day=_day_text(ending.from_day) if in_future else "",
    )


def _check_target_version(facts: CheckFacts) -> Iterator[Finding]:
    target, offered = facts.path.target, facts.aws.versions
    if not facts.path.steps:
        return
    subject = cluster_subject(facts)
    if isinstance(offered, Unknown):
        yield unknown_finding("target-version/offered", subject, offered, target=format_version(target))
    elif not facts.is_offered(target):
        newest = max((each.version for each in offered), key=_version_key, default="")
        yield Finding.of(
            "target-version",
            subject,
            in_words=format_version(target),
            value=newest or "none",
            command=aws_command(facts, "eks", "describe-cluster-versions"),
        )
    for table_end in filter(None, (removed_apis.removals_not_read(target), amis.notes_not_read(target))):
        yield unknown_finding("target-version/changes", subject, table_end, target=format_version(target))


def _version_key(text: str) -> Version:
    return parse_version(text) or Version(0, 0)


def _upgrade_policy(facts: CheckFacts) -> str:
    return "" if isinstance(facts.eks, Unknown) else facts.eks.support


def _current_version(facts: CheckFacts) -> str:
    return format_version(facts.path.now)


def _day_text(day: date | None) -> str:
    return "an unknown day" if day is None else day.isoformat()


def _support_evidence(status: Support, ending: SupportEnding) -> tuple[str, ...]:
    return (*_date_evidence(status), with_confidence(ending.reason, ending.source))


def _date_evidence(status: Support) -> tuple[str, ...]:
    if status.as_of is None:
        return ("dates as EKS tells them (DescribeClusterVersions)",)
    confidence = f", {status.source.doubt}" if status.source.doubt else ""
    return (f"dates of the table of {status.as_of.isoformat()}{confidence}: {status.table_reason}",)


def _only_if_assumed(judge: Judge) -> Judge:
    """`judge`, with its failures unknown where the version is assumed: a control plane newer than all kubelets is
    supported for longer."""

    def judge_assumed(facts: CheckFacts) -> Iterator[Finding]:
        for finding in judge(facts):
            if facts.path.assumed and finding.status is Status.FAIL:
                condition = (
                    f"if the control plane has {_current_version(facts)}, as the newest kubelet: "
                    "nothing tells its version"
                )
                missing = "the version of the control plane"
                finding = replace(
                    finding, status=Status.UNKNOWN, message=f"{finding.message}, {condition}", missing=missing
                )
            yield finding

    return judge_assumed


SUPPORT_CHECKS = (
    UpgradeCheck.of("support-ends", _only_if_assumed(_check_standard_end)),
    UpgradeCheck.of("support-extended", _only_if_assumed(_check_extended_support)),
    UpgradeCheck.of("support-over", _only_if_assumed(_check_support_end)),
    UpgradeCheck.of("target-version", _check_target_version),
)
