"""Pods with security groups of their own: the branch interface of each, and what the kubelet asks it over the network.

Sources: amazon-vpc-resource-controller-k8s (annotation ``vpc.amazonaws.com/pod-eni``, a JSON list of interfaces; its
webhook adds the extended resource of the same name to pods that a SecurityGroupPolicy selects), core/v1 Probe.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kubectl_eksdoc.core.model.placement import Requests

POD_ENI = "vpc.amazonaws.com/pod-eni"
"""The extended resource that such a pod asks for, and the annotation that says what it got."""


class Asks(str, Enum):
    """What the kubelet does over the answer of a probe."""

    READINESS = "readiness"  # takes the pod out of its services
    LIVENESS = "liveness"  # restarts the container
    STARTUP = "startup"  # restarts the container, until it has answered once


@dataclass(frozen=True, slots=True)
class Probe:
    """One that goes over the network, by ``httpGet``, ``tcpSocket`` or ``grpc``; those that run in the container do
    not come here."""

    container: str
    asks: Asks
    by: str
    period_s: int = 10
    failures: int = 3

    @property
    def gives_up_after_s(self) -> int:
        """Seconds of silence after which the kubelet acts, timeouts aside."""
        return self.period_s * self.failures


@dataclass(frozen=True, slots=True)
class Branch:
    """`address` is the pod's own; `interface` that of its branch interface, "" where none was noted for it."""

    address: str = ""
    interface: str = ""
    probes: tuple[Probe, ...] = ()

    @property
    def astray(self) -> bool:
        """It started without its interface: with an address, and so the security groups, of its node. Needs both."""
        return bool(self.address and self.interface and self.address != self.interface)


def asks_for_branch(asked: Requests) -> bool:
    return any(name == POD_ENI for name, _ in asked.others)
