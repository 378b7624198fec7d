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
from kubectl_eksdoc.model.quantities import Version, parse
from kubectl_eksdoc.model.selectors import Selector
from kubectl_eksdoc.model.workloads import REBOOT_LOCK

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
class Decision:
    """The results for one pod, in the order of the filters; filters without a result are not included."""

    pod: Pod
    said: tuple[FilterResult, ...] = ()

    @property
    def decisive(self) -> FilterResult | None:
        """The result that kubectl follows: the first that keeps the pod, else the last warning (the only one it
        shows)."""
        for said in self.said:
            if said.outcome is not DrainFilterOutcome.DELETE:
                return said
        return self.said[-1] if self.said else None

    @property
    def outcome(self) -> DrainFilterOutcome:
        return self.decisive.outcome if self.decisive is not None else DrainFilterOutcome.DELETE


def pod_selector(pod: Pod, asked: DrainFilterInput) -> FilterResult | None:
    """--pod-selector is part of the list request: kubectl never reads other pods."""
    selector = asked.options.pod_selector
    if selector is None or selector.matches(pod.labels):
        return None
    return FilterResult(DrainFilter.POD_SELECTOR, DrainFilterOutcome.SKIP)


def skip_deleted(pod: Pod, asked: DrainFilterInput) -> FilterResult | None:
    return FilterResult(DrainFilter.SKIP_DELETED, DrainFilterOutcome.SKIP) if deleted_too_long(pod, asked) else None


def deleted_too_long(pod: Pod, asked: DrainFilterInput) -> bool:
    """Whether more whole seconds than --skip-wait-for-delete-timeout (if set) have passed since the pod's deletion
    deadline."""
    limit = asked.options.skip_deleting_after
    if limit <= 0 or pod.deletion_deadline is None:
        return False
    return int((asked.now - pod.deletion_deadline).total_seconds()) > limit


def daemon_set(pod: Pod, asked: DrainFilterInput) -> FilterResult | None:
    """Only the owner's kind is checked, not its group."""
    owner = pod.owner
    if owner is None or owner.kind != "DaemonSet" or pod.finished:
        return None
    if asked.daemon_set is DaemonSetPresence.UNKNOWN:
        return FilterResult(
            DrainFilter.DAEMON_SET, DrainFilterOutcome.UNKNOWN, f"whether DaemonSet {owner.name} exists was not read"
        )
    if asked.daemon_set is DaemonSetPresence.MISSING:
        outcome = DrainFilterOutcome.DELETE if asked.options.force else DrainFilterOutcome.ERROR
        return FilterResult(DrainFilter.DAEMON_SET, outcome, f'daemonsets.apps "{owner.name}" not found')
    if asked.options.ignore_daemonsets:
        return FilterResult(DrainFilter.DAEMON_SET, DrainFilterOutcome.SKIP, DAEMONSET_WARNING)
    return FilterResult(DrainFilter.DAEMON_SET, DrainFilterOutcome.ERROR, DAEMONSET_FATAL)


def mirror(pod: Pod, asked: DrainFilterInput) -> FilterResult | None:
    return FilterResult(DrainFilter.MIRROR, DrainFilterOutcome.SKIP) if pod.mirror else None


def local_storage(pod: Pod, asked: DrainFilterInput) -> FilterResult | None:
    """Only emptyDir counts, in memory or on disk; hostPath and local volumes do not."""
    if pod.finished or not any(volume.kind is VolumeKind.EMPTY_DIR for volume in pod.volumes):
        return None
    if asked.options.delete_emptydir_data:
        return FilterResult(DrainFilter.LOCAL_STORAGE, DrainFilterOutcome.DELETE, LOCAL_STORAGE_WARNING)
    return FilterResult(DrainFilter.LOCAL_STORAGE, DrainFilterOutcome.ERROR, LOCAL_STORAGE_FATAL)


def unreplicated(pod: Pod, asked: DrainFilterInput) -> FilterResult | None:
    """Any controller counts, even one that does not exist."""
    if pod.finished or pod.owner is not None:
        return None
    if asked.options.force:
        return FilterResult(DrainFilter.UNREPLICATED, DrainFilterOutcome.DELETE, UNMANAGED_WARNING)
    return FilterResult(DrainFilter.UNREPLICATED, DrainFilterOutcome.ERROR, UNMANAGED_FATAL)


FILTERS = (pod_selector, skip_deleted, daemon_set, mirror, local_storage, unreplicated)
"""In kubectl's order (makeFilters); the pod selector comes first."""


def decide(pod: Pod, asked: DrainFilterInput) -> Decision:
    """Run every filter, also those after the decisive one."""
    return Decision(pod, tuple(said for f in FILTERS if (said := f(pod, asked)) is not None))


# Drains by other tools, detected by their marks on a node; and the time until a node counts as NotReady.


TERMINATION_TAINTS = "aws-node-termination-handler/"
"""Prefix of the taints that the AWS Node Termination Handler sets on nodes (its --taint-node option)."""


class Mark(str, Enum):
    TAINT = "taint"
    ANNOTATION = "annotation"


@frozen
class CordonMark:
    """The key of a taint or annotation: the tool that sets it, what the tool does, and why, if that is known."""

    mark: Mark
    key: str
    who: str
    source: KnowledgeSource
    does: str = "is draining it"
    why: str = ""


SIGNS = records(CordonMark, "cordon_marks")


class ForeignDrain(NamedTuple):
    """Another tool, `who`, drains the node. `evidence`: the mark that shows it; `message`: a sentence without its full
    stop."""

    who: str
    sign: str
    said: str


def by_locks(cluster: Cluster) -> dict[str, ForeignDrain]:
    """Drains by other tools that are not marked on the nodes, by node name: those with a kured lock that has not
    expired."""
    found = {}
    for workload in cluster.workloads:
        for lock in workload.reboot_locks:
            if lock.until is None or cluster.observed_at < lock.until:
                mark = f"annotation {REBOOT_LOCK} of {workload.kind} {workload.key}"
                found[lock.node] = ForeignDrain("kured", mark, f"kured is draining and rebooting it ({mark})")
    return found


def foreign_drain(node: Node) -> ForeignDrain | None:
    """The drain that the first mark on the node shows, None without one. The deletion of a node is not a drain."""
    sign = next(_signs_on(node), None)
    if sign is None:
        return None
    mark = f"{sign.mark.value} {sign.key}"
    return ForeignDrain(sign.who, mark, f"{sign.who} {sign.does} ({mark}{f': {sign.why}' if sign.why else ''})")


def as_nobodys(node: Node) -> Node:
    """The node without the marks of other tools."""
    signs = {sign.key for sign in _signs_on(node)}
    return replace(
        node,
        taints=tuple(taint for taint in node.taints if taint.key not in signs),
        annotations={key: value for key, value in node.annotations.items() if key not in signs},
    )


def _signs_on(node: Node) -> Iterator[CordonMark]:
    known = SIGNS.by("mark", "key")
    marks = (*((Mark.TAINT, each.key) for each in node.taints), *((Mark.ANNOTATION, key) for key in node.annotations))
    return (known[mark] for mark in marks if mark in known)


# The time until a node that does not answer counts as NotReady, and the endpoints of its pods are removed.
#
# Source: kube-controller-manager's --node-monitor-grace-period, 40 s before Kubernetes 1.32 and 50 s since (its
# changelog); EKS may use another value (confidence: medium).


_LONGER_FROM = Version(1, 32)


def not_ready_after_s(server_version: str) -> int:
    """Seconds; the longer time if the server's version is not known."""
    version = parse(server_version)
    return 40 if version is not None and version.older_than(_LONGER_FROM) else 50
