"""The pods of a probe, as they are sent to the cluster, and the object that owns them.

They are bound to their node by spec.nodeName, as kubectl debug does it, and not by way of the scheduler: a pod that the
scheduler finds no room for may preempt others where a PriorityClass is the default of the cluster, and may wake an
autoscaler. The kubelet refuses instead what does not fit (OutOfcpu, OutOfpods), and nobody has to go. They tolerate
every taint, have no service account's token, and keep to the pod security level "restricted", but for the host's
network, which "baseline" forbids already (Pod Security Standards, Host Namespaces).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.metadata_probe import CONTAINER, PROBE_LABEL, Network
from kubectl_eksdoc.core.plan.metadata.probing.script import LONGEST_S, SCRIPT, SETTLE_S

IMAGE = "public.ecr.aws/amazonlinux/amazonlinux:2023"
"""Has a shell and curl (Amazon Linux 2023 user guide, "Package changes for curl and libcurl"), and every node of EKS in
a region of the public partition can pull it without credentials."""

NAMESPACE = "default"

_NOBODY = 65534
_MARGIN_S = 30


@dataclass(frozen=True, slots=True)
class Manner:
    """`wait_s`: so long the pods are waited for, images that are pulled included."""

    image: str = IMAGE
    namespace: str = NAMESPACE
    wait_s: float = 90.0

    @property
    def deadline_s(self) -> int:
        """After so long the kubelet ends a pod of which nobody took care."""
        return int(self.wait_s) + SETTLE_S + LONGEST_S + _MARGIN_S


@dataclass(frozen=True, slots=True)
class ProbePod:
    """One pod that is to be made, and what it is to tell."""

    node: str
    network: Network
    name: str


def probe_pods(probe: str, nodes: Sequence[str], networks: Sequence[Network]) -> tuple[ProbePod, ...]:
    """Named by the probe's id and their place: a node's name may be too long for a pod's."""
    return tuple(
        ProbePod(node, network, f"{owner_name(probe)}-{place}-{network.value}")
        for place, node in enumerate(nodes)
        for network in networks
    )


def owner_name(probe: str) -> str:
    return f"eksdoc-imds-probe-{probe}"


def owner_manifest(probe: str, manner: Manner) -> Doc:
    """A ConfigMap, which is made first and deleted at the end: the garbage collector takes the pods away with it."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": owner_name(probe), "namespace": manner.namespace, "labels": _labels(probe)},
        "data": {"about": "kubectl eksdoc imds-probe --active owns its pods by this; both go when it is deleted"},
    }


def pod_manifest(pod: ProbePod, probe: str, manner: Manner, owner_uid: str = "") -> Doc:
    """`owner_uid` "": as it is shown before there is an owner."""
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner_name(probe), "uid": owner_uid}
    owners = {"ownerReferences": [owner]} if owner_uid else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": pod.name,
            "namespace": manner.namespace,
            "labels": _labels(probe),
            **owners,
        },
        "spec": {
            "nodeName": pod.node,
            **({"hostNetwork": True} if pod.network is Network.HOST else {}),
            "restartPolicy": "Never",
            "activeDeadlineSeconds": manner.deadline_s,
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "tolerations": [{"operator": "Exists"}],
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": _NOBODY,
                "runAsGroup": _NOBODY,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [_container(manner)],
        },
    }


def _container(manner: Manner) -> Doc:
    return {
        "name": CONTAINER,
        "image": manner.image,
        "command": ["sh", "-c", SCRIPT],
        "env": [{"name": "SETTLE_S", "value": str(SETTLE_S)}],
        "resources": {
            "requests": {"cpu": "5m", "memory": "16Mi"},
            "limits": {"cpu": "100m", "memory": "64Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def _labels(probe: str) -> Doc:
    return {"app.kubernetes.io/name": "eksdoc-imds-probe", "app.kubernetes.io/managed-by": "eksdoc", PROBE_LABEL: probe}


def manifests(probe: str, pods: Sequence[ProbePod], manner: Manner) -> tuple[Doc, ...]:
    """All that would be made, in its order; whose the pods are is known once their owner is made."""
    made = (pod_manifest(pod, probe, manner) for pod in pods)
    return (owner_manifest(probe, manner), *made)
