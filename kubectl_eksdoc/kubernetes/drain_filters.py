"""The pod filters of kubectl drain: which pods it deletes, skips, or refuses to drain a node for.

Source: staging/src/k8s.io/kubectl/pkg/drain/filters.go and drain.go, Kubernetes v1.36. kubectl stops at the first
filter that keeps a pod and shows only one warning; here every filter runs and all results are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from enum import Enum
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.nodes import Node, Pod, VolumeKind
from kubectl_eksdoc.model.quantities import Version, parse_version
from kubectl_eksdoc.model.selectors import Selector
from kubectl_eksdoc.model.workloads import REBOOT_LOCK_ANNOTATION

DAEMONSET_FATAL = "DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"
DAEMONSET_WARNING = "ignoring DaemonSet-managed Pods"
LOCAL_STORAGE_FATAL = "Pods with local storage (use --delete-emptydir-data to override)"
LOCAL_STORAGE_WARNING = "deleting Pods with local storage"
UNMANAGED_FATAL = "cannot delete Pods that declare no controller (use --force to override)"
UNMANAGED_WARNING = "deleting Pods that declare no controller"


class DrainFilterOutcome(str, Enum):
    """What a filter does with a pod. ERROR: the whole node is not drained; UNKNOWN: a fact is missing."""

    DELETE = "delete"
    SKIP = "skip"
    ERROR = "error"
    UNKNOWN = "unknown"


class DrainFilter(str, Enum):
    POD_SELECTOR = "pod-selector"
    SKIP_DELETED = "skip-deleted"
    DAEMON_SET = "daemonset"
    MIRROR = "mirror"
    LOCAL_STORAGE = "local-storage"
    UNREPLICATED = "unreplicated"


class DaemonSetPresence(str, Enum):
    """Whether the DaemonSet that owns a pod exists."""

    EXISTS = "exists"
    MISSING = "missing"
    UNKNOWN = "unknown"  # DaemonSets were not read


@frozen
class FilterOptions:
    """Flags of kubectl drain. `skip_deleting_after` is --skip-wait-for-delete-timeout in seconds, 0 is off."""

    ignore_daemonsets: bool = False
    delete_emptydir_data: bool = False
    force: bool = False
    skip_deleting_after: int = 0
    pod_selector: Selector | None = None


@frozen
class DrainFilterInput:
    """The input of a filter besides the pod. `daemon_set` is used only for the pod of a DaemonSet."""

    options: FilterOptions
    now: datetime
    daemon_set: DaemonSetPresence = DaemonSetPresence.UNKNOWN


@frozen
class FilterResult:
    """The result of one filter; a DELETE is a warning. `message` is kubectl's, "" if it skips without a message."""

    filter: DrainFilter
    outcome: DrainFilterOutcome
    message: str = ""


@frozen
class DrainDecision:
    """The results for one pod, in the order of the filters; filters without a result are not included."""

    pod: Pod
    results: tuple[FilterResult, ...] = ()

    @property
    def decisive(self) -> FilterResult | None:
        """The result that kubectl follows: the first that keeps the pod, else the last warning (the only one it
        shows)."""
        for result in self.results:
            if result.outcome is not DrainFilterOutcome.DELETE:
                return result
        return self.results[-1] if self.results else None

    @property
    def outcome(self) -> DrainFilterOutcome:
        return self.decisive.outcome if self.decisive is not None else DrainFilterOutcome.DELETE


def pod_selector(pod: Pod, context: DrainFilterInput) -> FilterResult | None:
    """--pod-selector is part of the list request: kubectl never reads other pods."""
    selector = context.options.pod_selector
    if selector is None or selector.matches(pod.labels):
        return None
    return FilterResult(DrainFilter.POD_SELECTOR, DrainFilterOutcome.SKIP)


def skip_deleted(pod: Pod, context: DrainFilterInput) -> FilterResult | None:
    return FilterResult(DrainFilter.SKIP_DELETED, DrainFilterOutcome.SKIP) if deleted_too_long(pod, context) else None


def deleted_too_long(pod: Pod, context: DrainFilterInput) -> bool:
    """Whether more whole seconds than --skip-wait-for-delete-timeout (if set) have passed since the pod's deletion
    deadline."""
    limit = context.options.skip_deleting_after
    if limit <= 0 or pod.deletion_deadline is None:
        return False
    return int((context.now - pod.deletion_deadline).total_seconds()) > limit


def daemon_set(pod: Pod, context: DrainFilterInput) -> FilterResult | None:
    """Only the owner's kind is checked, not its group."""
    owner = pod.owner
    if owner is None or owner.kind != "DaemonSet" or pod.finished:
        return None
    if context.daemon_set is DaemonSetPresence.UNKNOWN:
        return FilterResult(
            DrainFilter.DAEMON_SET, DrainFilterOutcome.UNKNOWN, f"whether DaemonSet {owner.name} exists was not read"
        )
    if context.daemon_set is DaemonSetPresence.MISSING:
        outcome = DrainFilterOutcome.DELETE if context.options.force else DrainFilterOutcome.ERROR
        return FilterResult(DrainFilter.DAEMON_SET, outcome, f'daemonsets.apps "{owner.name}" not found')
    if context.options.ignore_daemonsets:
        return FilterResult(DrainFilter.DAEMON_SET, DrainFilterOutcome.SKIP, DAEMONSET_WARNING)
    return FilterResult(DrainFilter.DAEMON_SET, DrainFilterOutcome.ERROR, DAEMONSET_FATAL)


def mirror(pod: Pod, context: DrainFilterInput) -> FilterResult | None:
    return FilterResult(DrainFilter.MIRROR, DrainFilterOutcome.SKIP) if pod.is_mirror else None


def local_storage(pod: Pod, context: DrainFilterInput) -> FilterResult | None:
    """Only emptyDir counts, in memory or on disk; hostPath and local volumes do not."""
    if pod.finished or not any(volume.kind is VolumeKind.EMPTY_DIR for volume in pod.volumes):
        return None
    if context.options.delete_emptydir_data:
        return FilterResult(DrainFilter.LOCAL_STORAGE, DrainFilterOutcome.DELETE, LOCAL_STORAGE_WARNING)
    return FilterResult(DrainFilter.LOCAL_STORAGE, DrainFilterOutcome.ERROR, LOCAL_STORAGE_FATAL)


def unreplicated(pod: Pod, context: DrainFilterInput) -> FilterResult | None:
    """Any controller counts, even one that does not exist."""
    if pod.finished or pod.owner is not None:
        return None
    if context.options.force:
        return FilterResult(DrainFilter.UNREPLICATED, DrainFilterOutcome.DELETE, UNMANAGED_WARNING)
    return FilterResult(DrainFilter.UNREPLICATED, DrainFilterOutcome.ERROR, UNMANAGED_FATAL)


FILTERS = (pod_selector, skip_deleted, daemon_set, mirror, local_storage, unreplicated)
"""In kubectl's order (makeFilters); the pod selector comes first."""


def run_filters(pod: Pod, context: DrainFilterInput) -> DrainDecision:
    """Run every filter, also those after the decisive one."""
    return DrainDecision(pod, tuple(result for f in FILTERS if (result := f(pod, context)) is not None))


# Drains by other tools, detected by their marks on a node; and the time until a node counts as NotReady.


TERMINATION_TAINTS = "aws-node-termination-handler/"
"""Prefix of the taints that the AWS Node Termination Handler sets on nodes (its --taint-node option)."""


class MarkKind(str, Enum):
    TAINT = "taint"
    ANNOTATION = "annotation"


@frozen
class CordonMark:
    """The key of a taint or annotation: the tool that sets it, what the tool does, and why, if that is known."""

    mark: MarkKind
    key: str
    who: str
    source: KnowledgeSource
    does: str = "is draining it"
    why: str = ""


CORDON_MARKS = records(CordonMark, "cordon_marks")


class ForeignDrain(NamedTuple):
    """Another tool, `who`, drains the node. `evidence`: the mark that shows it; `message`: a sentence without its full
    stop."""

    who: str
    evidence: str
    message: str


def drains_by_lock(cluster: Cluster) -> dict[str, ForeignDrain]:
    """Drains by other tools that are not marked on the nodes, by node name: those with a kured lock that has not
    expired."""
    drain_by_node = {}
    for workload in cluster.workloads:
        for lock in workload.reboot_locks:
            if lock.until is None or cluster.observed_at < lock.until:
                evidence = f"annotation {REBOOT_LOCK_ANNOTATION} of {workload.kind} {workload.key}"
                drain_by_node[lock.node] = ForeignDrain(
                    "kured", evidence, f"kured is draining and rebooting it ({evidence})"
                )
    return drain_by_node


def foreign_drain(node: Node) -> ForeignDrain | None:
    """The drain that the first mark on the node shows, None without one. The deletion of a node is not a drain."""
    cordon_mark = next(_marks_on(node), None)
    if cordon_mark is None:
        return None
    evidence = f"{cordon_mark.mark.value} {cordon_mark.key}"
    return ForeignDrain(
        cordon_mark.who,
        evidence,
        f"{cordon_mark.who} {cordon_mark.does} ({evidence}{f': {cordon_mark.why}' if cordon_mark.why else ''})",
    )


def without_foreign_marks(node: Node) -> Node:
    """The node without the marks of other tools."""
    mark_keys = {cordon_mark.key for cordon_mark in _marks_on(node)}
    return replace(
        node,
        taints=tuple(taint for taint in node.taints if taint.key not in mark_keys),
        annotations={key: value for key, value in node.annotations.items() if key not in mark_keys},
    )


def _marks_on(node: Node) -> Iterator[CordonMark]:
    known = CORDON_MARKS.by("mark", "key")
    node_marks = (
        *((MarkKind.TAINT, each.key) for each in node.taints),
        *((MarkKind.ANNOTATION, key) for key in node.annotations),
    )
    return (known[mark] for mark in node_marks if mark in known)


# The time until a node that does not answer counts as NotReady, and the endpoints of its pods are removed.
#
# Source: kube-controller-manager's --node-monitor-grace-period, 40 s before Kubernetes 1.32 and 50 s since (its
# changelog); EKS may use another value (confidence: medium).


_LONGER_GRACE_SINCE = Version(1, 32)


def not_ready_after_s(server_version: str) -> int:
    """Seconds; the longer time if the server's version is not known."""
    version = parse_version(server_version)
    return 40 if version is not None and version.older_than(_LONGER_GRACE_SINCE) else 50
