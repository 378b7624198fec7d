"""Recent changes since a time: added and removed nodes, pod templates, add-ons, node groups, Events.

Only changes that are still visible are listed: a node that is gone, or a template that was reverted, leaves at most an
Event, and the API server usually keeps those for an hour. Data that was not read is named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import EksAddonUpdate, UpdateHistory
from kubectl_eksdoc.model.findings import Subject
from kubectl_eksdoc.model.interruption import ReportedEvent
from kubectl_eksdoc.model.kinds import Unknown

from .checking import CheckFacts, cluster_of, number
from .checks.release_notes import groups, named

EVENTS_KEPT = timedelta(hours=1)
"""--event-ttl of the API server, which EKS does not allow to change."""
_ABOUT_NODES = ("Node", "NodeClaim", "NodePool", "EC2NodeClass")


@frozen
class _Change:
    """`source`: who reports it."""

    at: datetime
    subject: Subject
    what: str
    source: str


@frozen
class RecentChanges:
    """`changes`: the newest first; `not_read`: clauses about changes that were not requested or could not be read."""

    since: datetime
    changes: tuple[_Change, ...]
    unread: tuple[str, ...]


def changed(facts: CheckFacts, since: datetime) -> RecentChanges:
    """The changes between `since` and the observation."""
    found = (*_nodes(facts, since), *_templates(facts, since), *_addons(facts, since))
    found += (*_events(facts, since), *_by_eks(facts, since))
    ordered = sorted(found, key=lambda each: (each.subject.kind, str(each.subject), each.what))
    newest_first = sorted(ordered, key=lambda each: each.at, reverse=True)
    return RecentChanges(since, tuple(newest_first), tuple(_unread(facts, since)))


def _nodes(facts: CheckFacts, since: datetime) -> Iterator[_Change]:
    for group in groups(facts.cluster.nodes):
        new = [(at, node) for node in group.nodes if (at := node.created_at) is not None and at >= since]
        if new:
            what = f"{number(len(new), 'node')} of {len(group.nodes)} came: {named([node for _, node in new])}"
            yield _Change(max(at for at, _ in new), group.subject, what, "nodes")
        for node in group.nodes:
            if node.deletion_at is not None and node.deletion_at >= since:
                yield _Change(node.deletion_at, Subject("Node", node.name), "it is being deleted", "nodes")


def _templates(facts: CheckFacts, since: datetime) -> Iterator[_Change]:
    for told in facts.past.revisions.values():
        if isinstance(told, Unknown):
            continue
        for each in told:
            if each.at >= since:
                revision = f" (revision {each.number})" if each.number else ""
                yield _Change(each.at, each.of, f"it was given another pod template{revision}", "revisions")


def _addons(facts: CheckFacts, since: datetime) -> Iterator[_Change]:
    told = facts.past.addons
    if isinstance(told, Unknown):
        return
    for name, history in told.items():
        if not isinstance(history, UpdateHistory):
            continue
        yield from _updated(Subject("Addon", name), history, since)


def _by_eks(facts: CheckFacts, since: datetime) -> Iterator[_Change]:
    """Updates of the cluster and of its node groups, as EKS lists them."""
    if isinstance(facts.aws.cluster_updates, UpdateHistory):
        yield from _updated(cluster_of(facts), facts.aws.cluster_updates, since)
    if not isinstance(facts.aws.group_updates, Unknown):
        for name, history in facts.aws.group_updates.items():
            if isinstance(history, UpdateHistory):
                yield from _updated(Subject("Nodegroup", name), history, since)


def _updated(of: Subject, history: UpdateHistory, since: datetime) -> Iterator[_Change]:
    for each in history.updates:
        if isinstance(each, EksAddonUpdate) and each.begun is not None and each.begun >= since:
            yield _Change(each.begun, of, _update(each), "EKS")


def _update(of: EksAddonUpdate) -> str:
    version = of.parameter("AddonVersion") or of.parameter("ReleaseVersion") or of.parameter("Version")
    mode = of.parameter("ResolveConflicts")
    to = f" to {version}" if version else ""
    how = f" with {mode}" if mode else ""
    errors = f": {of.errors[0].code}" if of.errors else ""
    kind = "an update" if of.type in ("", "AddonUpdate") else f"an update ({of.type})"
    return f"{kind}{to}{how} was asked for: {of.status or 'in no known state'}{errors} ({of.id})"


def _events(facts: CheckFacts, since: datetime) -> Iterator[_Change]:
    """Warnings, and all Events about nodes; Events of one kind, namespace and reason are merged."""
    told = facts.past.events
    if isinstance(told, Unknown):
        return
    alike: dict[tuple[str, str, str], list[ReportedEvent]] = defaultdict(list)
    for each in told:
        if each.at >= since and (each.warning or each.about.kind in _ABOUT_NODES):
            alike[each.about.kind, each.about.namespace, each.reason].append(each)
    for (_, _, reason), several in sorted(alike.items()):
        latest = max(several, key=lambda each: (each.at, each.about.name))
        times = sum(each.count for each in several)
        names = sorted({each.about.name for each in several})
        others = f", and of {len(names) - 1} more" if len(names) > 1 else ""
        message = f": {latest.message}" if latest.message else ""
        often = f" ({times} times{others})" if times > 1 else ""
        yield _Change(latest.at, latest.about, f"{reason}{often}{message}", "events")


def _unread(facts: CheckFacts, since: datetime) -> Iterator[str]:
    past = facts.past
    for kind, told in sorted(past.revisions.items()):
        if isinstance(told, Unknown):
            yield f"pod templates of {kind}s: {_why(told)}"
    if not past.revisions:
        yield f"pod templates: no client requested {', '.join(each.plural for each in kinds.HISTORY_OF.values())}"
    if isinstance(past.events, Unknown):
        yield f"Events: {_why(past.events)}"
    elif facts.cluster.observed_at - since > EVENTS_KEPT:
        yield "Events from more than an hour before: the API server does not keep them"
    if isinstance(past.addons, Unknown):
        yield f"updates of add-ons: {_why(past.addons)}"
    else:
        for name, history in sorted(past.addons.items()):
            if isinstance(history, Unknown):
                yield f"updates of add-on {name}: {_why(history)}"
            elif isinstance(history, UpdateHistory):
                yield from _unread_updates(f"add-on {name}", history, since)
    yield from _unread_of_eks(facts, since)
    yield "versions of launch templates: EKS and EC2 tell no times of them here"
    for read in facts.cluster.unread(kinds.NODES):
        yield f"{read.resource.plural}: {read.detail or read.state.value}"


def _unread_of_eks(facts: CheckFacts, since: datetime) -> Iterator[str]:
    cluster, by_group = facts.aws.cluster_updates, facts.aws.group_updates
    if isinstance(cluster, Unknown):
        yield f"updates of the cluster: {_why(cluster)}"
    else:
        yield from _unread_updates("the cluster", cluster, since)
    if isinstance(by_group, Unknown):
        yield f"updates of node groups: {_why(by_group)}"
        return
    for name, history in sorted(by_group.items()):
        if isinstance(history, Unknown):
            yield f"updates of node group {name}: {_why(history)}"
        else:
            yield from _unread_updates(f"node group {name}", history, since)


def _unread_updates(of: str, history: UpdateHistory, since: datetime) -> Iterator[str]:
    """Updates that could not be described, and earlier ones that may also be after `since`."""
    for each in history.updates:
        if isinstance(each, Unknown):
            yield f"an update of {of}: {_why(each)}"
    begun = [each.begun for each in history.updates if isinstance(each, EksAddonUpdate) and each.begun is not None]
    if history.unseen and all(moment >= since for moment in begun):
        yield f"{history.unseen} earlier updates of {of}: only the latest are described"


def _why(told: Unknown) -> str:
    return f"{told.why} ({told.missing})" if told.missing and told.missing not in told.why else told.why
