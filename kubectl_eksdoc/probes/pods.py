"""Short-lived probe pods: created for one owner, waited for, and removed; and the finding about remaining ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Protocol, TypeVar

from kubectl_eksdoc.errors import ClusterError, Forbidden
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.findings import CodeName, Finding, Subject
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.placing import NotMade, PodStand, ProbeOwner
from kubectl_eksdoc.ports import ProbeNamespace


def left_finding(code: CodeName, owner: str, namespace: str, left: Sequence[str], not_removed: str) -> Finding:
    """`remaining`: names of pods; `not_removed`: why their owner could not be removed, or ""."""
    return Finding.of(
        f"{code}/not-removed" if not_removed else f"{code}/not-gone",
        Subject("ConfigMap", owner, namespace),
        tuple(left),
        owner=owner,
        namespace=namespace,
        why=not_removed,
        count=len(left),
        pods=" ".join(left),
    )


# Manifests of short-lived probe pods, and of the ConfigMap that owns them.
#
# The pods are bound to their node by spec.nodeName, as kubectl debug does, and bypass the scheduler: a pod without room
# may preempt others where a PriorityClass is the cluster's default, and may trigger an autoscaler. The kubelet instead
# rejects a pod that does not fit (OutOfcpu, OutOfpods), and no other pod is preempted. They tolerate every taint, have
# no ServiceAccount token, and meet the pod security level "restricted", except for the host network, which "baseline"
# forbids already (Pod Security Standards, Host Namespaces).


NOBODY = 65534


@frozen
class ProbePurpose:
    """The purpose of probe pods: `name` in names and labels, the label that carries its id, the namespace, and the
    longest time (the kubelet ends a pod after `deadline_s` if the tool did not remove it)."""

    name: str
    label: str
    ident: str
    namespace: str
    deadline_s: int

    @property
    def owner_name(self) -> str:
        return f"eksdoc-{self.name}-{self.ident}"

    @property
    def labels(self) -> Doc:
        name = f"eksdoc-{self.name}"
        return {"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "eksdoc", self.label: self.ident}


def owner(errand: ProbePurpose, content: Doc) -> Doc:
    """A ConfigMap that is created first and deleted at the end: the garbage collector then deletes the pods."""
    meta = {"name": errand.owner_name, "namespace": errand.namespace, "labels": errand.labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, **content}


def pod(errand: ProbePurpose, name: str, node: str, container: Doc, owner_uid: str = "", **spec: object) -> Doc:
    """`owner_uid` "": the manifest is shown before the owner exists. `spec`: further fields of the pod's spec."""
    of = {"apiVersion": "v1", "kind": "ConfigMap", "name": errand.owner_name, "uid": owner_uid}
    owners = {"ownerReferences": [of]} if owner_uid else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": errand.namespace, "labels": errand.labels, **owners},
        "spec": {
            "nodeName": node,
            **spec,
            "restartPolicy": "Never",
            "activeDeadlineSeconds": errand.deadline_s,
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "tolerations": [{"operator": "Exists"}],
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": NOBODY,
                "runAsGroup": NOBODY,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [{**container, "securityContext": _OF_CONTAINER}],
        },
    }


_OF_CONTAINER: Doc = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


# The state of a probe pod: its log can be read, it is still running, or it will not run.
#
# A pod that did not run has no result. Reasons as the kubelet names them: pkg/kubelet/lifecycle/predicate.go (OutOfcpu
# …, TaintToleration), pkg/kubelet/images/types.go, pkg/kubelet/container/sync_result.go, pkg/kubelet/active_deadline.go
# (DeadlineExceeded).


_NO_IMAGE = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable")
_NO_START = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError")
_LONGEST = 300

INTERRUPTED = Unknown("it was interrupted before the pod had told anything")


class ProbeStage(Enum):
    READ = "its log can be read"
    WAIT = "it is not yet over"


def stand_of(stand: PodStand | None) -> ProbeStage | Unknown:
    """None: the pod is no longer in the cluster."""
    if stand is None:
        return Unknown("the pod was deleted before it reported anything")
    if stand.ended is not None and stand.phase != "Failed":
        return ProbeStage.READ
    if stand.phase == "Failed":
        if stand.reason.startswith("OutOf"):
            return _unknown("the node has no room for it", stand.reason, stand.message)
        if stand.reason:
            return _unknown("the kubelet refused or ended it", stand.reason, stand.message)
        if stand.ended_by in _NO_START:
            return _unknown("its container cannot be started", stand.ended_by, stand.message)
        return ProbeStage.READ if stand.ended is not None else _unknown("it failed", stand.reason, stand.message)
    if stand.waiting in _NO_IMAGE:
        return _unknown("its image cannot be pulled", stand.waiting, stand.waiting_message)
    if stand.waiting in _NO_START:
        return _unknown("its container cannot be started", stand.waiting, stand.waiting_message)
    return ProbeStage.WAIT


def too_late(stand: PodStand | None, waited_s: float) -> Unknown:
    """Why the pod has no result after the requested wait."""
    since = f"after {waited_s:.0f} s"
    if stand is None:
        return Unknown(f"nothing was heard of it {since}")
    if stand.waiting:
        return _unknown(f"its container has not started {since}", stand.waiting, stand.waiting_message)
    if stand.phase == "Pending":
        return _unknown(f"the kubelet has not begun with it {since}", stand.reason, stand.message)
    return _unknown(f"it has not ended {since}", stand.reason, stand.message)


def _unknown(why: str, reason: str, message: str) -> Unknown:
    said = " ".join(message.split())[:_LONGEST]
    return Unknown(f"{why} ({': '.join(filter(None, (reason, said)))})" if reason or said else why)


# The owner of a pod, as far as the pod itself names it.


def owner_of(pod: Pod) -> Subject:
    """The Deployment instead of its ReplicaSet for a pod of a Deployment; the pod itself if it has no owner."""
    if pod.deployment:
        return Subject("Deployment", pod.deployment, pod.namespace)
    if pod.owner is None:
        return Subject("Pod", pod.name, pod.namespace)
    return Subject(pod.owner.kind, pod.owner.name, pod.namespace)


LOOK_S = 1.0


GONE_S = 30.0
"""How long to wait for the garbage collector at the end."""


T = TypeVar("T")


class ImdsProbeClock(Protocol):
    def monotonic(self) -> float: ...

    def sleep(self, seconds: float) -> object: ...


@frozen
class Cleared:
    """The result of removing `owner`: names of pods that still exist (`left`), and why it is `not_removed`, or ""."""

    owner: str
    left: tuple[str, ...] = ()
    not_removed: str = ""


def owning(
    ground: ProbeNamespace,
    probe: str,
    manifest: Doc,
    stale: Iterable[ProbeOwner],
    clock: ImdsProbeClock,
    tell: Callable[[str], object],
    body: Callable[[ProbeOwner], T],
) -> tuple[T, Cleared]:
    """Create an owner for `probe` from `manifest`, and return what `body` returns with it. `stale` owners are removed
    before.

    Raises:
        Forbidden, ClusterError: the owner cannot be created; nothing remains.
        any error of `body`: everything is removed anyway, or `report` is called with what remains.
    """
    meta = manifest["metadata"]
    name, namespace = str(meta["name"]), str(meta["namespace"])
    for each in stale:
        refused = ground.remove(each)
        if refused is not None:
            tell(still_there(each.name, namespace, (), refused.why))
    owner = ProbeOwner(probe, name, "")
    try:
        owner = _owned(ground, manifest, namespace)
        found = body(owner)
    except BaseException:
        cleared = removed(owner, ground, clock)
        if cleared.not_removed or cleared.left:
            tell(still_there(name, namespace, cleared.left, cleared.not_removed))
        raise
    return found, removed(owner, ground, clock)


def still_there(owner: str, namespace: str, left: Sequence[str], not_removed: str) -> str:
    """What remains, and the command that removes it."""
    command = f"kubectl delete configmap {owner} -n {namespace}"
    if not_removed:
        return f"ConfigMap {owner} and its pods could not be removed ({not_removed}): {command}"
    return f"{len(left)} pods of ConfigMap {owner}, which is deleted, have not gone yet: {', '.join(left)}"


def _owned(ground: ProbeNamespace, manifest: Doc, namespace: str) -> ProbeOwner:
    made = ground.make_owner(manifest)
    if isinstance(made, ProbeOwner):
        return made
    if made.missing:
        raise Forbidden(made.why, "", made.missing)
    raise ClusterError(f"nothing can be made in namespace {namespace}: {made.why}")


def removed(owner: ProbeOwner, ground: ProbeNamespace, clock: ImdsProbeClock) -> Cleared:
    """Remove the owner, and wait until the garbage collector has deleted its pods."""
    try:
        refused = ground.remove(owner)
        if refused is not None:
            return Cleared(owner.name, (), refused.why)
        begun_s = clock.monotonic()
        while True:
            stands = ground.stands(owner.probe)
            if isinstance(stands, Unknown) and stands.missing:
                return Cleared(owner.name)
            left = () if isinstance(stands, Unknown) else tuple(sorted(stands))
            if not left and not isinstance(stands, Unknown):
                return Cleared(owner.name)
            if clock.monotonic() - begun_s >= GONE_S:
                return Cleared(owner.name, left)
            clock.sleep(LOOK_S)
    except ClusterError as error:
        return Cleared(owner.name, (), error.message)


_APPEARS_S = 5.0
"""Until then, a pod whose creation has an unknown result may still appear."""


def awaited(
    pods: Mapping[str, Doc],
    probe: str,
    wait_s: float,
    ground: ProbeNamespace,
    clock: ImdsProbeClock,
    told: Callable[[], int],
    now: Callable[[str, PodStand | None], T | Unknown | None],
) -> dict[str, T | Unknown]:
    """For each of `pods`, which are created, the result of `outcome_of` (None: wait longer), or why there is none."""
    heard: dict[str, T | Unknown] = {}
    for name, manifest in pods.items():
        if told():
            break
        refused = ground.make_pod(manifest)
        if isinstance(refused, NotMade) and not refused.maybe:
            heard[name] = Unknown(f"the pod was refused: {refused.why}", refused.missing)
    begun_s, waited_s, stands = clock.monotonic(), 0.0, dict[str, PodStand]()
    while (missing := [name for name in pods if name not in heard]) and not told():
        found = ground.stands(probe)
        waited_s = clock.monotonic() - begun_s
        if not isinstance(found, Unknown):
            stands = dict(found)
            for name in missing:
                if name in stands or waited_s >= _APPEARS_S:
                    said = now(name, stands.get(name))
                    heard |= {} if said is None else {name: said}
        elif found.missing:
            return heard | dict.fromkeys(missing, found)
        if heard.keys() >= pods.keys() or waited_s >= wait_s:
            break
        clock.sleep(LOOK_S)
    return heard | {
        name: INTERRUPTED if told() else too_late(stands.get(name), clock.monotonic() - begun_s)
        for name in pods
        if name not in heard
    }
