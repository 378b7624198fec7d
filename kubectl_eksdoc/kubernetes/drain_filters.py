"""kubectl drain's chain of pod filters: which pods it deletes, skips, or refuses to drain a node for.

Source: staging/src/k8s.io/kubectl/pkg/drain/filters.go and drain.go, Kubernetes v1.36. kubectl stops at the
first filter that keeps a pod and shows one warning only; here every filter is asked and everything said is kept.
"""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.nodes import Pod, VolumeKind
from kubectl_eksdoc.model.selectors import Selector

DAEMONSET_FATAL = "DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"
DAEMONSET_WARNING = "ignoring DaemonSet-managed Pods"
LOCAL_STORAGE_FATAL = "Pods with local storage (use --delete-emptydir-data to override)"
LOCAL_STORAGE_WARNING = "deleting Pods with local storage"
UNMANAGED_FATAL = "cannot delete Pods that declare no controller (use --force to override)"
UNMANAGED_WARNING = "deleting Pods that declare no controller"


class DrainFilterOutcome(str, Enum):
    """What becomes of a pod. ERROR keeps the whole node from being drained; UNKNOWN: a fact is missing."""

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
    """Whether the DaemonSet that a pod names exists."""

    EXISTS = "exists"
    MISSING = "missing"
    UNKNOWN = "unknown"  # DaemonSets were not read


@frozen
class FilterOptions:
    """kubectl drain's flags. `skip_deleting_after` is --skip-wait-for-delete-timeout in seconds, 0 is off."""

    ignore_daemonsets: bool = False
    delete_emptydir_data: bool = False
    force: bool = False
    skip_deleting_after: int = 0
    pod_selector: Selector | None = None


@frozen
class DrainFilterInput:
    """All a filter may look at besides the pod. `daemon_set` matters only for a DaemonSet's pod."""

    options: FilterOptions
    now: datetime
    daemon_set: DaemonSetPresence = DaemonSetPresence.UNKNOWN


@frozen
class FilterResult:
    """What one filter said; a DELETE is a warning. `message` is kubectl's, "" where it skips silently."""

    filter: DrainFilter
    outcome: DrainFilterOutcome
    message: str = ""


@frozen
class Decision:
    """Everything said of one pod, in the order of the filters; those that had nothing to say are not in it."""

    pod: Pod
    said: tuple[FilterResult, ...] = ()

    @property
    def decisive(self) -> FilterResult | None:
        """What kubectl acts on: the first that keeps the pod, else the last warning (the only one it shows)."""
        for said in self.said:
            if said.outcome is not DrainFilterOutcome.DELETE:
                return said
        return self.said[-1] if self.said else None

    @property
    def outcome(self) -> DrainFilterOutcome:
        return self.decisive.outcome if self.decisive is not None else DrainFilterOutcome.DELETE


def pod_selector(pod: Pod, asked: DrainFilterInput) -> FilterResult | None:
    """--pod-selector goes into the list request: kubectl never sees other pods."""
    selector = asked.options.pod_selector
    if selector is None or selector.matches(pod.labels):
        return None
    return FilterResult(DrainFilter.POD_SELECTOR, DrainFilterOutcome.SKIP)


def skip_deleted(pod: Pod, asked: DrainFilterInput) -> FilterResult | None:
    return FilterResult(DrainFilter.SKIP_DELETED, DrainFilterOutcome.SKIP) if deleted_too_long(pod, asked) else None


def deleted_too_long(pod: Pod, asked: DrainFilterInput) -> bool:
    """Whole seconds past its deletion deadline are more than --skip-wait-for-delete-timeout (if that is set)."""
    limit = asked.options.skip_deleting_after
    if limit <= 0 or pod.deletion_deadline is None:
        return False
    return int((asked.now - pod.deletion_deadline).total_seconds()) > limit


def daemon_set(pod: Pod, asked: DrainFilterInput) -> FilterResult | None:
    """Only the owner's kind is looked at, not its group."""
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
    """emptyDir only, in memory or on disk; hostPath and local volumes are not looked at."""
    if pod.finished or not any(volume.kind is VolumeKind.EMPTY_DIR for volume in pod.volumes):
        return None
    if asked.options.delete_emptydir_data:
        return FilterResult(DrainFilter.LOCAL_STORAGE, DrainFilterOutcome.DELETE, LOCAL_STORAGE_WARNING)
    return FilterResult(DrainFilter.LOCAL_STORAGE, DrainFilterOutcome.ERROR, LOCAL_STORAGE_FATAL)


def unreplicated(pod: Pod, asked: DrainFilterInput) -> FilterResult | None:
    """Any controller will do, whether it exists or not."""
    if pod.finished or pod.owner is not None:
        return None
    if asked.options.force:
        return FilterResult(DrainFilter.UNREPLICATED, DrainFilterOutcome.DELETE, UNMANAGED_WARNING)
    return FilterResult(DrainFilter.UNREPLICATED, DrainFilterOutcome.ERROR, UNMANAGED_FATAL)


FILTERS = (pod_selector, skip_deleted, daemon_set, mirror, local_storage, unreplicated)
"""In kubectl's order (makeFilters); the pod selector comes before them all."""


def decide(pod: Pod, asked: DrainFilterInput) -> Decision:
    """Ask every filter, also those after the one that decides."""
    return Decision(pod, tuple(said for f in FILTERS if (said := f(pod, asked)) is not None))
