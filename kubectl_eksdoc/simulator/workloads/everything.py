"""All workload controllers of a cluster, in the order in which they start."""

from __future__ import annotations

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.simulator.controllers import Controller
from kubectl_eksdoc.simulator.registry import Registry
from kubectl_eksdoc.simulator.workloads.daemon_sets import DaemonSets
from kubectl_eksdoc.simulator.workloads.deployments import Deployments
from kubectl_eksdoc.simulator.workloads.endpoint_slices import EndpointSlices
from kubectl_eksdoc.simulator.workloads.garbage import (
    ClaimProtection,
    DetachController,
    Garbage,
    Namespaces,
    PodGarbage,
)
from kubectl_eksdoc.simulator.workloads.jobs import Jobs
from kubectl_eksdoc.simulator.workloads.owning import Index
from kubectl_eksdoc.simulator.workloads.replica_sets import OtherControllers, ReplicaSets
from kubectl_eksdoc.simulator.workloads.stateful_sets import StatefulSets
from kubectl_eksdoc.simulator.workloads.taints import NodeTaints, TaintEvictions


def every_controller(registry: Registry, index: Index | None = None) -> tuple[Controller, ...]:
    """Make them when the store holds what it is to begin with, and run each in a `Loop`, in this order.

    Replica sets come before deployments: a deployment then sees one step done before it takes the next, as real ones
    mostly do. `index` may be shared with others that ask what belongs to what.
    """
    index = Index(registry.store) if index is None else index
    return (
        ReplicaSets(registry, index),
        ReplicaSets(registry, index, kinds.REPLICATION_CONTROLLERS),
        Deployments(registry, index),
        StatefulSets(registry, index),
        DaemonSets(registry, index),
        Jobs(registry, index),
        OtherControllers(registry, index),
        EndpointSlices(registry, index),
        NodeTaints(registry, index),
        TaintEvictions(registry, index),
        PodGarbage(registry, index),
        ClaimProtection(registry, index),
        DetachController(registry, index),
        Namespaces(registry),
        Garbage(registry, index),
    )
