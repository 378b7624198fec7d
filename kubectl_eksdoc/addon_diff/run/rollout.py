"""How far a workload's rollout is. Source: kubectl pkg/polymorphichelpers/rollout_status.go."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.model.api_objects import Doc, ObjectName, at, named
from kubectl_eksdoc.model.pods import Pod

WORKLOADS = ("DaemonSet", "Deployment")


@dataclass(frozen=True, slots=True)
class RolloutState:
    """`updated` of `desired` pods are of the newest template, `available` of them can be used. `by_hand`: pods are
    replaced when somebody deletes them. `stuck`: why the server has given it up, a clause, "" where it has not."""

    of: ObjectName
    desired: int
    updated: int
    available: int
    seen: bool  # its controller has looked at the newest template
    old: int = 0  # pods of an older template that are still there
    by_hand: bool = False
    stuck: str = ""

    @property
    def done(self) -> bool:
        if self.by_hand:
            return self.seen
        enough = self.updated >= self.desired and self.available >= self.desired
        return self.seen and enough and not self.old

    def __str__(self) -> str:
        """``DaemonSet.apps aws-node: 3 of 14 pods are new, 12 available``."""
        if not self.seen:
            return f"{self.of}: its controller has not processed it yet"
        if self.by_hand:
            return f"{self.of}: {self.updated} of {self.desired} pods are new, the others once they are deleted"
        return f"{self.of}: {self.updated} of {self.desired} pods are new, {self.available} available"


def rollout(doc: Doc) -> RolloutState | None:
    """None: it is no workload."""
    kind = doc.get("kind")
    if kind not in WORKLOADS:
        return None
    seen = _number(doc, "status", "observedGeneration") >= _number(doc, "metadata", "generation")
    return _daemon_set(doc, seen) if kind == "DaemonSet" else _deployment(doc, seen)


def _daemon_set(doc: Doc, seen: bool) -> RolloutState:
    return RolloutState(
        named(doc),
        _number(doc, "status", "desiredNumberScheduled"),
        _number(doc, "status", "updatedNumberScheduled"),
        _number(doc, "status", "numberAvailable"),
        seen,
        by_hand=at(doc, "spec", "updateStrategy", "type") == "OnDelete",
    )


def _deployment(doc: Doc, seen: bool) -> RolloutState:
    wanted = at(doc, "spec", "replicas")
    updated = _number(doc, "status", "updatedReplicas")
    stuck = ""
    for each in at(doc, "status", "conditions") or ():
        if each.get("type") == "Progressing" and each.get("reason") == "ProgressDeadlineExceeded":
            stuck = str(each.get("message") or "it has exceeded its progress deadline")
    return RolloutState(
        named(doc),
        wanted if isinstance(wanted, int) else 1,
        updated,
        _number(doc, "status", "availableReplicas"),
        seen,
        old=max(0, _number(doc, "status", "replicas") - updated),
        stuck=stuck,
    )


def _number(doc: Doc, *path: str) -> int:
    """The API leaves out what is 0."""
    found = at(doc, *path)
    return found if isinstance(found, int) else 0


def not_ready(pods: tuple[Pod, ...], of: ObjectName) -> tuple[str, ...]:
    """Pods of the workload that are not Ready, each with why, sorted: ``aws-node-x2c on node-1: CrashLoopBackOff``."""
    found = []
    for pod in pods:
        if pod.namespace != of.namespace or pod.ready or pod.finished or not _is_of(pod, of):
            continue
        where = f" on {pod.node}" if pod.node else ""
        found.append(f"{pod.name}{where}: {pod.not_ready_because or 'not Ready yet'}")
    return tuple(sorted(found))


def _is_of(pod: Pod, of: ObjectName) -> bool:
    """A Deployment's pods belong to its ReplicaSets, which are named ``deployment-hash``."""
    owner = pod.owner
    if owner is None:
        return False
    if of.kind == "Deployment":
        return owner.kind == "ReplicaSet" and owner.name.rpartition("-")[0] == of.name
    return (owner.kind, owner.name) == (of.kind, of.name)
