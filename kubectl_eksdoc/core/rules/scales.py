"""How many pods a pod's controller wants: the lookup by which a budget's percentage gets its base.

The order of the finders and what each of them accepts are those of the disruption controller
(pkg/controller/disruption/disruption.go: finders, getPodReplicaSet, getPodDeployment …, getScaleController).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kubectl_eksdoc.core.model.kinds import KindRead
from kubectl_eksdoc.core.model.pods import Owner
from kubectl_eksdoc.core.model.workloads import Workload

_APPS = ("apps", "extensions")

# Kinds the API server serves without a scale subresource, as the controller's error names them.
_WITHOUT_SCALE = {
    ("batch", "Job"): "jobs.batch",
    ("batch", "CronJob"): "cronjobs.batch",
    ("apps", "DaemonSet"): "daemonsets.apps",
    ("", "Node"): "nodes",
    ("", "Pod"): "pods",
}
_WITH_SCALE = frozenset({("apps", "ReplicaSet"), ("apps", "Deployment"), ("apps", "StatefulSet")}) | {
    ("", "ReplicationController")
}


@dataclass(frozen=True, slots=True)
class Scale:
    """A controller that counts (`uid`: a Deployment counts once for all its ReplicaSets) and what it wants."""

    uid: str
    replicas: int
    kind: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class NoScale:
    """The controller answers with this error, and fails to sync the budget."""

    error: str


@dataclass(frozen=True, slots=True)
class ScaleNotRead:
    """The facts do not tell: `missing` is the resource that was not read or a kind that is never read."""

    missing: str
    because: str


Found = Scale | NoScale | ScaleNotRead


@dataclass(frozen=True, slots=True)
class Scales:
    """An index of workloads by what an owner reference says. Build it with `Scales.of`.

    `unread` maps a kind to why its objects are not (all) known. With `complete`, `workloads` is all there
    is in the world: an owner that is not among them does not exist, or has no scale.
    """

    by_name: Mapping[tuple[str, str, str], Workload]
    unread: Mapping[str, KindRead]
    complete: bool = False

    @classmethod
    def of(cls, workloads: Iterable[Workload], unread: Iterable[KindRead] = (), *, complete: bool = False) -> Scales:
        return cls(
            {(w.kind, w.namespace, w.name): w for w in workloads},
            {read.resource.kind: read for read in unread},
            complete,
        )

    def find(self, owner: Owner, namespace: str) -> Found | None:
        """The scale behind a controllerRef; None where the controller finds no such object."""
        for finder in (self.replication_controller, self.deployment, self.replica_set, self.stateful_set):
            found = finder(owner, namespace)
            if found is not None:
                return found
        return self.unknown_because_unread(owner, namespace) or self.scale_subresource(owner, namespace)

    def replication_controller(self, owner: Owner, namespace: str) -> Scale | None:
        return _scale(self._get(owner, namespace, "ReplicationController", ("",)))

    def deployment(self, owner: Owner, namespace: str) -> Scale | None:
        """Of a ReplicaSet's pod: the Deployment behind the ReplicaSet."""
        replica_set = self._get(owner, namespace, "ReplicaSet", _APPS)
        if replica_set is None or replica_set.owner is None:
            return None
        return _scale(self._get(replica_set.owner, namespace, "Deployment", _APPS))

    def replica_set(self, owner: Owner, namespace: str) -> Scale | None:
        """A ReplicaSet that no Deployment controls; whose Deployment, in which group, is not asked."""
        replica_set = self._get(owner, namespace, "ReplicaSet", _APPS)
        if replica_set is None or (replica_set.owner is not None and replica_set.owner.kind == "Deployment"):
            return None
        return _scale(replica_set)

    def stateful_set(self, owner: Owner, namespace: str) -> Scale | None:
        return _scale(self._get(owner, namespace, "StatefulSet", ("apps",)))

    def scale_subresource(self, owner: Owner, namespace: str) -> Found | None:
        """What GET …/scale of the owner says, as far as facts can tell."""
        error = _WITHOUT_SCALE.get((owner.group, owner.kind))
        if error is not None:
            return NoScale(f"{error} does not implement the scale subresource")
        workload = self.by_name.get((owner.kind, namespace, owner.name))
        if workload is not None and workload.uid == owner.uid:
            return _scale(workload)
        if (owner.group, owner.kind) in _WITH_SCALE:
            return None
        if self.complete:
            return NoScale(f'no matches for kind "{owner.kind}" in group "{owner.group}"')
        return ScaleNotRead(_resource_of(owner), f"the scale of {owner.kind} {owner.name} is not among the facts")

    def unknown_because_unread(self, owner: Owner, namespace: str) -> ScaleNotRead | None:
        """Whether a kind that decides about this owner was not read."""
        if (owner.group, owner.kind) not in _WITH_SCALE:
            return None
        held = self.by_name.get((owner.kind, namespace, owner.name))
        if held is None:
            return self._not_read(owner.kind)
        if held.uid == owner.uid and held.owner is not None and held.owner.kind == "Deployment":
            return self._not_read("Deployment")
        return None

    def _not_read(self, kind: str) -> ScaleNotRead | None:
        read = self.unread.get(kind)
        if read is None:
            return None
        return ScaleNotRead(read.resource.full_name, f"{read.resource.plural} were not read ({read.state.value})")

    def _get(self, owner: Owner, namespace: str, kind: str, groups: tuple[str, ...]) -> Workload | None:
        """The object the reference means; another one of the same name (by UID) does not count."""
        if owner.kind != kind or owner.group not in groups:
            return None
        workload = self.by_name.get((kind, namespace, owner.name))
        return workload if workload is not None and workload.uid == owner.uid else None


def _scale(workload: Workload | None) -> Scale | None:
    if workload is None:
        return None
    return Scale(workload.uid, workload.replicas, workload.kind, workload.name)


def _resource_of(owner: Owner) -> str:
    return f"{owner.kind}.{owner.group}" if owner.group else owner.kind
