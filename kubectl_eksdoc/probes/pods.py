"""Short-lived pods of ours: made for one owner, waited for, removed; and the finding that something of them is still
there."""

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
    """`left`: names of pods; `not_removed`: why their owner could not be removed, "" if it was."""
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


# Short-lived pods that ask something for us, as they are sent to the cluster, and the ConfigMap that owns them.
#
# They are bound to their node by spec.nodeName, as kubectl debug does it, and not by way of the scheduler: a pod that
# the scheduler finds no room for may preempt others where a PriorityClass is the default of the cluster, and may wake
# an autoscaler. The kubelet refuses instead what does not fit (OutOfcpu, OutOfpods), and nobody has to go. They
# tolerate every taint, have no service account's token, and keep to the pod security level "restricted", but for the
# host's network, which "baseline" forbids already (Pod Security Standards, Host Namespaces).


NOBODY = 65534


@frozen
class ProbePurpose:
    """What pods are made for: `name` in names and labels, the label that carries its id, where, and for how long at
    most (the kubelet ends a pod after `deadline_s` of which nobody took care)."""

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
    """A ConfigMap, which is made first and deleted at the end: the garbage collector takes the pods away with it."""
    meta = {"name": errand.owner_name, "namespace": errand.namespace, "labels": errand.labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, **content}


def pod(errand: ProbePurpose, name: str, node: str, container: Doc, owner_uid: str = "", **spec: object) -> Doc:
    """`owner_uid` "": as it is shown before there is an owner. `spec`: what it has besides."""
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


# What is to be made of a probe's pod as it stands: its log is to be read, it is to be waited for, or it will not run.
#
# A pod that did not run says nothing of what it was to ask. Reasons as the kubelet has them: pkg/kubelet/lifecycle/
# predicate.go (OutOfcpu …, TaintToleration), pkg/kubelet/images/types.go, pkg/kubelet/container/sync_result.go,
# pkg/kubelet/active_deadline.go (DeadlineExceeded).


_NO_IMAGE = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable")
_NO_START = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError")
_LONGEST = 300

INTERRUPTED = Unknown("it was interrupted before the pod had told anything")


class ProbeStage(Enum):
    READ = "its log can be read"
    WAIT = "it is not yet over"


def stand_of(stand: PodStand | None) -> ProbeStage | Unknown:
    """None: it is not in the cluster any more."""
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
    """It was waited for as long as was asked for."""
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


# Whose a pod is, as far as the pod itself tells.


def owner_of(pod: Pod) -> Subject:
    """Of a pod of a Deployment that, and not its ReplicaSet; the pod itself where nothing made it."""
    if pod.deployment:
        return Subject("Deployment", pod.deployment, pod.namespace)
    if pod.owner is None:
        return Subject("Pod", pod.name, pod.namespace)
    return Subject(pod.owner.kind, pod.owner.name, pod.namespace)


LOOK_S = 1.0


GONE_S = 30.0
"""So long the garbage collector is waited for, in the end."""


T = TypeVar("T")


class ImdsProbeClock(Protocol):
    def monotonic(self) -> float: ...

    def sleep(self, seconds: float) -> object: ...


@frozen
class Cleared:
    """How it went to remove `owner`: names of pods that are still `left`, and why it is `not_removed`, "" if it was."""

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
    """What `body` gives, to which the owner of `probe` is lent, made of `manifest`; `stale` ones are removed before.

    Raises:
        Forbidden, ClusterError: not even the owner can be made; nothing is left.
        what `body` does: all is removed nevertheless, or `tell` hears what is left.
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
    """What is left, and the command that takes it away."""
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
    """With its pods, for which the garbage collector is waited."""
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
"""A pod of which it is unknown whether it was made may still come."""


def awaited(
    pods: Mapping[str, Doc],
    probe: str,
    wait_s: float,
    ground: ProbeNamespace,
    clock: ImdsProbeClock,
    told: Callable[[], int],
    now: Callable[[str, PodStand | None], T | Unknown | None],
) -> dict[str, T | Unknown]:
    """Of each of `pods`, which are made, what `now` says (None: it is to be waited for), or why there is nothing."""
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
