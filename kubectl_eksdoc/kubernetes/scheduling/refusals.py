"""What a filter says of a node it does not let a pod run on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class SchedulerFilter(str, Enum):
    """The filter plugins, in the order in which the scheduler asks them (apis/config/v1/default_plugins.go)."""

    NODE_UNSCHEDULABLE = "NodeUnschedulable"
    NODE_NAME = "NodeName"
    TAINT_TOLERATION = "TaintToleration"
    NODE_AFFINITY = "NodeAffinity"
    NODE_PORTS = "NodePorts"
    NODE_RESOURCES_FIT = "NodeResourcesFit"
    NODE_VOLUME_LIMITS = "NodeVolumeLimits"
    VOLUME_BINDING = "VolumeBinding"
    VOLUME_ZONE = "VolumeZone"
    POD_TOPOLOGY_SPREAD = "PodTopologySpread"
    INTER_POD_AFFINITY = "InterPodAffinity"


@dataclass(frozen=True, slots=True)
class SchedulingRefusal:
    """`reasons` in the scheduler's words, as its FailedScheduling events count them (one node may give several).

    `resolvable`: other pods going from the node could help (Unschedulable; otherwise UnschedulableAndUnresolvable).
    """

    filter: SchedulerFilter
    reasons: tuple[str, ...]
    resolvable: bool = False

    @property
    def code(self) -> str:
        return "Unschedulable" if self.resolvable else "UnschedulableAndUnresolvable"
