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
from kubectl_eksdoc.model.interruption import KubernetesEvent
from kubectl_eksdoc.model.kinds import Unknown

from .checking import CheckFacts, cluster_subject, pluralize
from .checks.release_notes import group_nodes, node_names

EVENT_TTL = timedelta(hours=1)
"""--event-ttl of the API server, which EKS does not allow to change."""
_NODE_KINDS = ("Node", "NodeClaim", "NodePool", "EC2NodeClass")


@frozen
class _RecentChange:
    """`source`: who reports it."""

    at: datetime
    subject: Subject
    what: str
    source: str


@frozen
class RecentChanges:
    """`changes`: the newest first; `not_read`: clauses about changes that were not requested or could not be read."""

    since: datetime
    changes: tuple[_RecentChange, ...]
    not_read: tuple[str, ...]


def recent_changes(facts: CheckFacts, since: datetime) -> RecentChanges:
    """The changes between `since` and the observation."""
    changes = (*_node_changes(facts, since), *_template_changes(facts, since), *_addon_updates(facts, since))
    changes += (*_event_changes(facts, since), *_eks_updates(facts, since))
    by_subject = sorted(changes, key=lambda each: (each.subject.kind, str(each.subject), each.what))
    newest_first = sorted(by_subject, key=lambda each: each.at, reverse=True)
    return RecentChanges(since, tuple(newest_first), tuple(_not_read(facts, since)))


def _node_changes(facts: CheckFacts, since: datetime) -> Iterator[_RecentChange]:
    for group in group_nodes(facts.cluster.nodes):
        new_nodes = [(at, node) for node in group.nodes if (at := node.created_at) is not None and at >= since]
        if new_nodes:
            change_text = (
                f"{pluralize(len(new_nodes), 'node')} of {len(group.nodes)} came: "
                f"{node_names([node for _, node in new_nodes])}"
            )
            yield _RecentChange(max(at for at, _ in new_nodes), group.subject, change_text, "nodes")
        for node in group.nodes:
            if node.deletion_at is not None and node.deletion_at >= since:
                yield _RecentChange(node.deletion_at, Subject("Node", node.name), "it is being deleted", "nodes")


def _template_changes(facts: CheckFacts, since: datetime) -> Iterator[_RecentChange]:
    for revisions in facts.recent_changes.revisions.values():
        if isinstance(revisions, Unknown):
            continue
        for template_revision in revisions:
            if template_revision.at >= since:
                revision = f" (revision {template_revision.number})" if template_revision.number else ""
                yield _RecentChange(
                    template_revision.at,
                    template_revision.of,
                    f"it was given another pod template{revision}",
                    "revisions",
                )


def _addon_updates(facts: CheckFacts, since: datetime) -> Iterator[_RecentChange]:
    histories = facts.recent_changes.addons
    if isinstance(histories, Unknown):
        return
    for name, history in histories.items():
        if not isinstance(history, UpdateHistory):
            continue
        yield from _update_changes(Subject("Addon", name), history, since)


def _eks_updates(facts: CheckFacts, since: datetime) -> Iterator[_RecentChange]:
    """Updates of the cluster and of its node groups, as EKS lists them."""
    if isinstance(facts.aws.cluster_updates, UpdateHistory):
        yield from _update_changes(cluster_subject(facts), facts.aws.cluster_updates, since)
    if not isinstance(facts.aws.group_updates, Unknown):
        for name, history in facts.aws.group_updates.items():
            if isinstance(history, UpdateHistory):
                yield from _update_changes(Subject("Nodegroup", name), history, since)


def _update_changes(subject: Subject, history: UpdateHistory, since: datetime) -> Iterator[_RecentChange]:
    for update in history.updates:
        if isinstance(update, EksAddonUpdate) and update.begun is not None and update.begun >= since:
            yield _RecentChange(update.begun, subject, _update_text(update), "EKS")


def _update_text(update: EksAddonUpdate) -> str:
    version = update.parameter("AddonVersion") or update.parameter("ReleaseVersion") or update.parameter("Version")
    mode = update.parameter("ResolveConflicts")
    to_version = f" to {version}" if version else ""
    with_mode = f" with {mode}" if mode else ""
    errors = f": {update.errors[0].code}" if update.errors else ""
    kind = "an update" if update.type in ("", "AddonUpdate") else f"an update ({update.type})"
    return f"{kind}{to_version}{with_mode} was asked for: {update.status or 'in no known state'}{errors} ({update.id})"


def _event_changes(facts: CheckFacts, since: datetime) -> Iterator[_RecentChange]:
    """Warnings, and all Events about nodes; Events of one kind, namespace and reason are merged."""
    events = facts.recent_changes.events
    if isinstance(events, Unknown):
        return
    similar_events: dict[tuple[str, str, str], list[KubernetesEvent]] = defaultdict(list)
    for event in events:
        if event.at >= since and (event.warning or event.about.kind in _NODE_KINDS):
            similar_events[event.about.kind, event.about.namespace, event.reason].append(event)
    for (_, _, reason), same_events in sorted(similar_events.items()):
        latest = max(same_events, key=lambda event: (event.at, event.about.name))
        times = sum(event.count for event in same_events)
        names = sorted({event.about.name for event in same_events})
        others = f", and of {len(names) - 1} more" if len(names) > 1 else ""
        message = f": {latest.message}" if latest.message else ""
        count_text = f" ({times} times{others})" if times > 1 else ""
        yield _RecentChange(latest.at, latest.about, f"{reason}{count_text}{message}", "events")


def _not_read(facts: CheckFacts, since: datetime) -> Iterator[str]:
    changes = facts.recent_changes
    for kind, revisions in sorted(changes.revisions.items()):
        if isinstance(revisions, Unknown):
            yield f"pod templates of {kind}s: {_reason_text(revisions)}"
    if not changes.revisions:
        yield f"pod templates: no client requested {', '.join(each.plural for each in kinds.HISTORY_KINDS.values())}"
    if isinstance(changes.events, Unknown):
        yield f"Events: {_reason_text(changes.events)}"
    elif facts.cluster.observed_at - since > EVENT_TTL:
        yield "Events from more than an hour before: the API server does not keep them"
    if isinstance(changes.addons, Unknown):
        yield f"updates of add-ons: {_reason_text(changes.addons)}"
    else:
        for name, history in sorted(changes.addons.items()):
            if isinstance(history, Unknown):
                yield f"updates of add-on {name}: {_reason_text(history)}"
            elif isinstance(history, UpdateHistory):
                yield from _updates_not_read(f"add-on {name}", history, since)
    yield from _eks_updates_not_read(facts, since)
    yield "versions of launch templates: EKS and EC2 tell no times of them here"
    for read in facts.cluster.not_read(kinds.NODES):
        yield f"{read.resource.plural}: {read.detail or read.state.value}"


def _eks_updates_not_read(facts: CheckFacts, since: datetime) -> Iterator[str]:
    cluster_history, group_histories = facts.aws.cluster_updates, facts.aws.group_updates
    if isinstance(cluster_history, Unknown):
        yield f"updates of the cluster: {_reason_text(cluster_history)}"
    else:
        yield from _updates_not_read("the cluster", cluster_history, since)
    if isinstance(group_histories, Unknown):
        yield f"updates of node groups: {_reason_text(group_histories)}"
        return
    for name, history in sorted(group_histories.items()):
        if isinstance(history, Unknown):
            yield f"updates of node group {name}: {_reason_text(history)}"
        else:
            yield from _updates_not_read(f"node group {name}", history, since)


def _updates_not_read(owner: str, history: UpdateHistory, since: datetime) -> Iterator[str]:
    """Updates that could not be described, and earlier ones that may also be after `since`."""
    for each in history.updates:
        if isinstance(each, Unknown):
            yield f"an update of {owner}: {_reason_text(each)}"
    started = [each.begun for each in history.updates if isinstance(each, EksAddonUpdate) and each.begun is not None]
    if history.unseen and all(moment >= since for moment in started):
        yield f"{history.unseen} earlier updates of {owner}: only the latest are described"


def _reason_text(unknown: Unknown) -> str:
    return (
        f"{unknown.why} ({unknown.missing})" if unknown.missing and unknown.missing not in unknown.why else unknown.why
    )
