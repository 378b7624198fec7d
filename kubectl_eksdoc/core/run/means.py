"""By what a pod is asked to go, and what the answers to that mean where it is no eviction."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.core.model import opt_ins
from kubectl_eksdoc.core.model.acts import Delete, Evict, OfPod, Restart
from kubectl_eksdoc.core.model.pods import Owner
from kubectl_eksdoc.core.plan.drain.manners import Means
from kubectl_eksdoc.core.plan.drain.outcome import Eviction
from kubectl_eksdoc.core.rules.api.statuses import Lost, Status
from kubectl_eksdoc.core.run.answers import Next, Reading, read
from kubectl_eksdoc.core.run.moments import Happened

ACCEPTED: Mapping[Means, Happened] = {
    Means.EVICTION: Happened.EVICTED,
    Means.RESTART: Happened.RESTARTED,
    Means.DELETION: Happened.DELETED,
}


def act_for(eviction: Eviction, grace_s: int | None) -> OfPod:
    """`grace_s`: how long pods get to stop, None for each its own."""
    pod, manner = eviction.pod, eviction.manner
    assert manner.means is not Means.PATIENCE, "it is never asked for"
    if manner.restarts is not None:
        of = manner.restarts
        return Restart(of.namespace, of.name, of.uid, of.kind, pod)
    return Delete(pod) if manner.means is Means.DELETION else Evict(pod, grace_s)


def meaning(act: OfPod, answer: Status | Lost) -> Reading:
    """What an answer means for the pod. One whose workload is gone, or another by now, is waited for: it goes too."""
    reading = read(answer)
    if isinstance(act, Restart) and reading.next is Next.GONE:
        return Reading(Next.LEAVES, said=reading.said)
    return reading


def right_for(eviction: Eviction) -> str:
    """What RBAC calls the right by which this pod is asked to go."""
    return f"{_RIGHTS[eviction.manner.means]} in namespace {eviction.pod.namespace}"


_RIGHTS: Mapping[Means, str] = {
    Means.EVICTION: "create pods/eviction",
    Means.RESTART: f"get and patch deployments.apps (opt-in {opt_ins.PATCH_WORKLOADS.name})",
    Means.DELETION: f"delete pods (opt-in {opt_ins.DELETE_PODS.name})",
}


def made_for(replica_set: Owner) -> str:
    """The Deployment for which a ReplicaSet was made: it has its name, and a hash of its template behind it."""
    return replica_set.name.rpartition("-")[0]
