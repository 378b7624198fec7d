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
    extra_a_month,
    in_words,
    minor_of,
    next_ending,
    support,
)
from kubectl_eksdoc.model import eks as told
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import EksAddonUpdate, UpdateHistory
from kubectl_eksdoc.model.findings import Finding, Severity, Status
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.nodes import Node, NodeOwner
from kubectl_eksdoc.model.quantities import Version, parse

from ..checking import (
    CheckFacts,
    Judge,
    UpgradeCheck,
    aws,
    cluster_of,
    day,
    doubted,
    issue,
    number,
    sourced,
    unknown,
    unread,
    unwell,
)
from .group_updates import IN_PROGRESS, SUCCESSFUL, begun, describe, standing
from .release_notes import named

_ACTIVE, _UPDATING = "ACTIVE", "UPDATING"
_VERSION = "VersionUpdate"


def _health(facts: CheckFacts) -> Iterator[Finding]:
    eks = facts.eks
    if isinstance(eks, Unknown):
        yield unknown("cluster-health", cluster_of(facts), eks, Severity.HIGH)
        return
    if not eks.issues and eks.status == _ACTIVE:
        return
    if not eks.status and not eks.issues:
        why = Unknown("EKS does not tell its status")
        yield unknown("cluster-health", cluster_of(facts), why, Severity.HIGH)
        return
    yield Finding.of(
        "cluster-health",
        cluster_of(facts),
        tuple(map(issue, eks.issues)),
        severity=Severity.MEDIUM if eks.status == _UPDATING and not eks.issues else Severity.HIGH,
        unwell=unwell(eks.status, (_ACTIVE,), eks.issues),
        command=aws(facts, "eks", "describe-cluster", "--name", eks.name, "--query", "cluster.[status,health]"),
    )


def _updates(facts: CheckFacts) -> Iterator[Finding]:
    history = facts.aws.cluster_updates
    if isinstance(history, Unknown):
        yield unknown("cluster-update/all", cluster_of(facts), history)
        return
    found = standing(history)
    if found.unknown is not None:
        yield unknown("cluster-update/one", cluster_of(facts), found.unknown)
    for each in found.under_way:
        yield Finding.of(
            "cluster-update/under-way",
            cluster_of(facts),
            (f"update {each.id}",),
            type=each.type,
            begun=begun(facts, each),
            command=describe(facts, each),
        )
    if found.failed is not None:
        yield _failed(facts, found.failed)


def _failed(facts: CheckFacts, each: EksAddonUpdate) -> Finding:
    return Finding.of(
        "cluster-update/failed",
        cluster_of(facts),
        (*map(issue, each.errors), f"update {each.id}"),
        severity=Severity.HIGH if each.type == _VERSION else Severity.MEDIUM,
        type=each.type,
        begun=begun(facts, each),
        command=describe(facts, each),
    )


def _rollback(facts: CheckFacts) -> Iterator[Finding]:
    history = facts.aws.cluster_updates
    upgrade = _last_upgrade(facts, history)
    if isinstance(upgrade, Unknown):
        yield unknown("rollback-window/whether", cluster_of(facts), upgrade, Severity.LOW)
        return
    if upgrade is None or upgrade.begun is None:
        return
    left = skew.rollback_left(facts.cluster.observed_at, upgrade.begun)
    if isinstance(left, Unknown):
        yield unknown("rollback-window/how-long", cluster_of(facts), left, Severity.LOW)
    elif left:
        # Nodes with a kubelet newer than the previous version block it; EKS downgrades Auto Mode nodes by itself.
        own = (each for each in facts.cluster.nodes if each.owner is not NodeOwner.AUTO_MODE)
        newer = [each for each in own if each.kubelet is not None and minor_of(each.kubelet) > _before(facts)]
        against = tuple(_in_the_way_back(facts, newer))
        yield _open(facts, upgrade.begun, against)
        yield from _given_up(facts, newer, against)


def _last_upgrade(facts: CheckFacts, history: UpdateHistory | Unknown) -> EksAddonUpdate | Unknown | None:
    """The last upgrade; None where none within a week is known."""
    if isinstance(history, Unknown):
        return history
    for each in history.updates:
        if isinstance(each, Unknown):
            return each
        if each.type == "VersionRollback" and each.status in (SUCCESSFUL, IN_PROGRESS):
            return None  # it was rolled back already
        if each.type == _VERSION and each.status == SUCCESSFUL:
            return each if each.begun is not None else Unknown("EKS does not say when the last upgrade was")
    begun = [each.begun for each in history.updates if isinstance(each, EksAddonUpdate) and each.begun is not None]
    week_ago = facts.cluster.observed_at - skew.rollback_for()
    if history.unseen and (not begun or min(begun) > week_ago):
        return Unknown(f"EKS lists {history.unseen} more updates, which were not queried")
    return None


def _before(facts: CheckFacts) -> Version:
    return Version(facts.way.now.major, facts.way.now.minor - 1)


def _open(facts: CheckFacts, upgraded: datetime, against: Sequence[str]) -> Finding:
    now, until = facts.way.now, upgraded + skew.rollback_for()
    back = in_words(_before(facts))
    onward = [f"the upgrade to {in_words(each)} ends it: it goes back by one minor" for each in facts.way.steps[:1]]
    return Finding.of(
        "rollback-window/open",
        cluster_of(facts),
        (
            *(f"in its way now: {each}" for each in against),
            *onward,
            "counted from when the upgrade began: when it ended is not told",
            *_rollback_insights(facts),
            *_conditions(),
            f"it leaves as they are: {skew.rollback_leaves()}",
            *(sourced(each.clause, each.source) for each in skew.ROLLBACK_CONDITIONS if each.doubt),
        ),
        in_words=in_words(now),
        day=day(upgraded),
        back=back,
        strftime=until.strftime("%Y-%m-%d %H:%M"),
        against=bool(against),
    )


def _conditions() -> Iterator[str]:
    """Conditions of one source document together, in the order of the list: the most certain first."""
    sure = [each for each in skew.ROLLBACK_CONDITIONS if not each.doubt]
    for source in dict.fromkeys(each.source for each in sure):
        clauses = (each.clause for each in sure if each.source == source)
        yield sourced(f"conditions: {'; '.join(clauses)}", source)


def _rollback_insights(facts: CheckFacts) -> Iterator[str]:
    found = facts.aws.other_insights
    if isinstance(found, Unknown):
        yield f"what blocks a rollback in EKS is unknown: {found.why}"
        return
    for each in found:
        if each.category == told.ROLLBACK and each.status != told.PASSING:
            yield f"EKS reports that these block a rollback: {each.name} is {each.status}: {each.reason}"


def _given_up(facts: CheckFacts, newer: Sequence[Node], against: tuple[str, ...]) -> Iterator[Finding]:
    """Nodes and upgrades that make a rollback impossible. `newer_nodes`: newer than the previous version; Fargate is
    not supported at all. With neither it is advice: a cluster that was upgraded yesterday has no fault."""
    yield from unread(facts, "rollback-window/nodes")
    back = in_words(_before(facts))
    if not _something_follows(facts):
        if newer:
            yield Finding.of("rollback-window/newer-nodes", cluster_of(facts), against, back=back)
        return
    yield Finding.of(
        "rollback-window/blocked" if against else "rollback-window/advice", cluster_of(facts), against, back=back
    )


def _in_the_way_back(facts: CheckFacts, newer: Sequence[Node]) -> Iterator[str]:
    """Known blockers of a rollback, as clauses."""
    if newer:
        yield f"{number(len(newer), 'node')} newer than {in_words(_before(facts))} already: {named(newer)}"
    fargate = [each for each in facts.cluster.nodes if each.owner is NodeOwner.FARGATE]
    if fargate:
        yield f"there are pods on Fargate, which a rollback does not support: {named(fargate)}"


def _something_follows(facts: CheckFacts) -> bool:
    """Whether further steps can still wait for the soak time; unread nodes may be behind."""
    behind = (each.kubelet is None or minor_of(each.kubelet) < facts.way.target for each in facts.cluster.nodes)
    return bool(facts.way.steps) or bool(facts.cluster.unread(kinds.NODES)) or any(behind)


CHECKS = (
    UpgradeCheck.of("cluster-health", _health),
    UpgradeCheck.of("cluster-update", _updates),
    UpgradeCheck.of("rollback-window", _rollback),
)


# End of support of the version, its price, and whether EKS offers the target.


SOON_DAYS = 90
"""An upgrade of a fleet takes weeks; EKS itself sends its notices about that long before."""
CLOSE_DAYS = 30


def _support(facts: CheckFacts) -> Support | Unknown:
    return support(facts.way.now, facts.cluster.observed_at, facts.aws.versions)


def _ends(facts: CheckFacts) -> Iterator[Finding]:
    found = _support(facts)
    if isinstance(found, Unknown):
        yield unknown("support-ends", cluster_of(facts), found, now=_now(facts))
        return
    days = found.standard_days
    if found.phase is not SupportPhase.STANDARD or days is None or days > SOON_DAYS:
        return
    ending = next_ending(found, _policy(facts))
    if isinstance(ending, Unknown):
        then, billed, evidence = "", "", (*_whence(found), ending.why)
    else:
        billed = f"{extra_a_month():.0f}" if ending.what is SupportEnd.EXTENDED_BILLING else ""
        then, evidence = ending.what.value, _evidence(found, ending)
    yield Finding.of(
        "support-ends",
        cluster_of(facts),
        evidence,
        severity=Severity.HIGH if days <= CLOSE_DAYS else Severity.MEDIUM,
        now=_now(facts),
        ends=_on(found.standard_ends),
        over=days < 0,
        days=number(abs(days), "day"),
        then=then,
        billed=billed,
    )


def _extended(facts: CheckFacts) -> Iterator[Finding]:
    found = _support(facts)
    if isinstance(found, Unknown):
        yield unknown("support-extended", cluster_of(facts), found, now=_now(facts))
        return
    if found.phase is not SupportPhase.EXTENDED:
        return
    days = found.extended_days
    yield Finding.of(
        "support-extended",
        cluster_of(facts),
        (*_whence(found), "billed by versionStatus, whatever the cluster's upgrade policy says"),
        now=_now(facts),
        cost=found.extra_a_month,
        ends="" if days is None else _on(found.extended_ends),
        days=number(days or 0, "day"),
    )


def _over(facts: CheckFacts) -> Iterator[Finding]:
    found = _support(facts)
    if isinstance(found, Unknown):
        yield unknown("support-over", cluster_of(facts), found)
        return
    ending = next_ending(found, _policy(facts))
    if isinstance(ending, Unknown):
        ending = facts.eks if isinstance(facts.eks, Unknown) else ending
        if found.phase is SupportPhase.EXTENDED:
            yield unknown("support-over", cluster_of(facts), ending)
        return
    if ending.what is not SupportEnd.AUTO_UPGRADE:
        return
    days = None if ending.on is None else (ending.on - found.today).days
    if days is not None and days > SOON_DAYS:
        return
    overdue = found.phase is SupportPhase.ENDED
    ahead = days is not None and days > 0
    yield Finding.of(
        "support-over",
        cluster_of(facts),
        _evidence(found, ending),
        severity=Severity.CRITICAL if overdue or (days is not None and days <= CLOSE_DAYS) else Severity.HIGH,
        days=number(days or 0, "day") if ahead else "",
        day=_on(ending.on) if ahead else "",
    )


def _target(facts: CheckFacts) -> Iterator[Finding]:
    target, offered = facts.way.target, facts.aws.versions
    if not facts.way.steps:
        return
    subject = cluster_of(facts)
    if isinstance(offered, Unknown):
        yield unknown("target-version/offered", subject, offered, target=in_words(target))
    elif not facts.offers(target):
        newest = max((each.version for each in offered), key=_sorted, default="")
        yield Finding.of(
            "target-version",
            subject,
            in_words=in_words(target),
            value=newest or "none",
            command=aws(facts, "eks", "describe-cluster-versions"),
        )
    for beyond in filter(None, (removed_apis.unread(target), amis.unread(target))):
        yield unknown("target-version/changes", subject, beyond, target=in_words(target))


def _sorted(text: str) -> Version:
    return parse(text) or Version(0, 0)


def _policy(facts: CheckFacts) -> str:
    return "" if isinstance(facts.eks, Unknown) else facts.eks.support


def _now(facts: CheckFacts) -> str:
    return in_words(facts.way.now)


def _on(day: date | None) -> str:
    return "an unknown day" if day is None else day.isoformat()


def _evidence(found: Support, ending: SupportEnding) -> tuple[str, ...]:
    return (*_whence(found), doubted(ending.why, ending.source))


def _whence(found: Support) -> tuple[str, ...]:
    if found.as_of is None:
        return ("dates as EKS tells them (DescribeClusterVersions)",)
    sure = f", {found.source.doubt}" if found.source.doubt else ""
    return (f"dates of the table of {found.as_of.isoformat()}{sure}: {found.instead}",)


def _if_so(judge: Judge) -> Judge:
    """`judge`, with its failures unknown where the version is assumed: a control plane newer than all kubelets is
    supported for longer."""

    def judged(facts: CheckFacts) -> Iterator[Finding]:
        for each in judge(facts):
            if facts.way.assumed and each.status is Status.FAIL:
                only_if = f"if the control plane has {_now(facts)}, as the newest kubelet: nothing tells its version"
                missing = "the version of the control plane"
                each = replace(each, status=Status.UNKNOWN, message=f"{each.message}, {only_if}", missing=missing)
            yield each

    return judged


SUPPORT_CHECKS = (
    UpgradeCheck.of("support-ends", _if_so(_ends)),
    UpgradeCheck.of("support-extended", _if_so(_extended)),
    UpgradeCheck.of("support-over", _if_so(_over)),
    UpgradeCheck.of("target-version", _target),
)
