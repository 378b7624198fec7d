"""The finding that something which short-lived pods of ours needed is still there."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.findings import CodeName, Finding, Subject
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.placing import PodStand


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
