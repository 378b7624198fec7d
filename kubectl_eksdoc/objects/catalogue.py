"""For every kind this tool reads: its struct, its projection, and the tuple of `Cluster` its facts go to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.objects import budgets, clusterwide, karpenter, network, nodes, pods, storage, workloads
from kubectl_eksdoc.objects.sharing import SharedTexts
from kubectl_eksdoc.objects.structs import Object

Projection = Callable[[Any, SharedTexts], tuple[Any, datetime | None]]
"""A struct to its fact (for webhooks: a tuple of them) and the newest time it tells, deletion aside."""


@dataclass(frozen=True, slots=True)
class _Kind:
    resource: Resource
    form: type[Object]
    project: Projection
    field: str
    several: bool = False  # one object makes a tuple of facts


def _workload(resource: Resource) -> _Kind:
    project = partial(workloads.workload, kind=resource.kind)
    return _Kind(resource, workloads.WorkloadObject, project, "workloads")


def _webhooks(resource: Resource) -> _Kind:
    project = partial(network.webhooks, kind=resource.kind)
    return _Kind(resource, network.WebhooksObject, project, "webhooks", several=True)


_KINDS: tuple[_Kind, ...] = (
    _Kind(kinds.NODES, nodes.NodeObject, nodes.node, "nodes"),
    _Kind(kinds.PODS, pods.PodObject, pods.pod, "pods"),
    _Kind(kinds.BUDGETS, budgets.BudgetObject, budgets.budget, "budgets"),
    _workload(kinds.DEPLOYMENTS),
    _workload(kinds.REPLICA_SETS),
    _workload(kinds.STATEFUL_SETS),
    _workload(kinds.DAEMON_SETS),
    _workload(kinds.REPLICATION_CONTROLLERS),
    _Kind(kinds.JOBS, workloads.JobObject, workloads.job, "jobs"),
    _Kind(kinds.VOLUMES, storage.VolumeObject, storage.volume, "volumes"),
    _Kind(kinds.CLAIMS, storage.ClaimObject, storage.claim, "claims"),
    _Kind(kinds.STORAGE_CLASSES, storage.StorageClassObject, storage.storage_class, "storage_classes"),
    _Kind(kinds.CSI_NODES, storage.CSINodeObject, storage.csi_node, "csi_nodes"),
    _Kind(kinds.VOLUME_ATTACHMENTS, storage.AttachmentObject, storage.volume_attachment, "volume_attachments"),
    _Kind(kinds.NAMESPACES, clusterwide.NamespaceObject, clusterwide.namespace, "namespaces"),
    _Kind(kinds.PRIORITY_CLASSES, clusterwide.PriorityObject, clusterwide.priority_class, "priority_classes"),
    _Kind(kinds.LEASES, clusterwide.LeaseObject, clusterwide.lease, "leases"),
    _Kind(kinds.AUTOSCALERS, workloads.AutoscalerObject, workloads.autoscaler, "autoscalers"),
    _Kind(kinds.SERVICES, network.ServiceObject, network.service, "services"),
    _Kind(kinds.ENDPOINT_SLICES, network.SliceObject, network.endpoint_slice, "endpoint_slices"),
    _webhooks(kinds.VALIDATING_WEBHOOKS),
    _webhooks(kinds.MUTATING_WEBHOOKS),
    _Kind(kinds.TARGET_GROUP_BINDINGS, network.BindingObject, network.target_group_binding, "target_group_bindings"),
    _Kind(kinds.SECURITY_GROUP_POLICIES, Object, clusterwide.security_group_policy, "security_group_policies"),
    _Kind(kinds.ENI_CONFIGS, Object, clusterwide.eni_config, "eni_configs"),
    _Kind(kinds.NODE_POOLS, karpenter.NodePoolObject, karpenter.node_pool, "node_pools"),
    _Kind(kinds.NODE_CLASSES, karpenter.NodeClassObject, karpenter.node_class, "node_classes"),
    _Kind(kinds.CRON_JOBS, workloads.CronJobObject, workloads.cron_job, "cron_jobs"),
    _Kind(kinds.API_SERVICES, clusterwide.ApiServiceObject, clusterwide.api_service, "api_services"),
    _Kind(kinds.DEFINITIONS, clusterwide.DefinitionObject, clusterwide.definition, "definitions"),
)

BY_RESOURCE: dict[Resource, _Kind] = {kind.resource: kind for kind in _KINDS}
FIELDS: tuple[str, ...] = tuple(dict.fromkeys(kind.field for kind in _KINDS))
