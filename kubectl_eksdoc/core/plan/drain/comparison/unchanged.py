"""Whether a plan of a cluster that was read anew would be the plan that there is."""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.core.model.cluster import Cluster


def unchanged(before: Cluster, after: Cluster) -> bool:
    """Whether all facts are the same that a plan may rest on: not when they were read, and not when a lock was renewed.

    While pods are being deleted, time itself is such a fact.
    """
    if _passes(before) or _passes(after) or _spared(before) != _spared(after):
        return False
    return _timeless(before, after) == after


def _timeless(before: Cluster, after: Cluster) -> Cluster:
    renewed = {(lease.namespace, lease.name): lease.renewed_at for lease in after.leases}
    leases = tuple(replace(each, renewed_at=renewed.get((each.namespace, each.name))) for each in before.leases)
    return replace(before, observed_at=after.observed_at, leases=leases)


def _passes(cluster: Cluster) -> bool:
    leaving = any(pod.deletion_deadline is not None for pod in cluster.pods)
    return leaving or any(lock.until is not None for each in cluster.workloads for lock in each.reboot_locks)


def _spared(cluster: Cluster) -> list[str]:
    """Some are to be left alone only for so long."""
    return [pod.uid for pod in cluster.pods if pod.annotations and pod.protected_at(cluster.observed_at)]
