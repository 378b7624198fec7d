"""The pods of a probe, as they are sent to the cluster, and the object that owns them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.metadata_probe import CONTAINER, PROBE_LABEL, Network
from kubectl_eksdoc.core.plan.metadata.probing.script import LONGEST_S, SCRIPT, SETTLE_S
from kubectl_eksdoc.core.plan.probe_manifests import Errand, owner, pod

IMAGE = "public.ecr.aws/amazonlinux/amazonlinux:2023"
"""Has a shell and curl (Amazon Linux 2023 user guide, "Package changes for curl and libcurl"), and every node of EKS in
a region of the public partition can pull it without credentials."""

NAMESPACE = "default"

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
    return _errand(probe, Manner()).owner_name


def _errand(probe: str, manner: Manner) -> Errand:
    return Errand("imds-probe", PROBE_LABEL, probe, manner.namespace, manner.deadline_s)


def owner_manifest(probe: str, manner: Manner) -> Doc:
    about = "kubectl eksdoc imds-probe --active owns its pods by this; both go when it is deleted"
    return owner(_errand(probe, manner), {"data": {"about": about}})


def pod_manifest(made: ProbePod, probe: str, manner: Manner, owner_uid: str = "") -> Doc:
    """`owner_uid` "": as it is shown before there is an owner."""
    network = {"hostNetwork": True} if made.network is Network.HOST else {}
    return pod(_errand(probe, manner), made.name, made.node, _container(manner), owner_uid, **network)


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
    }


def manifests(probe: str, pods: Sequence[ProbePod], manner: Manner) -> tuple[Doc, ...]:
    """All that would be made, in its order; whose the pods are is known once their owner is made."""
    made = (pod_manifest(each, probe, manner) for each in pods)
    return (owner_manifest(probe, manner), *made)
