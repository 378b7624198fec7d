"""Decoder of Karpenter's NodePools, EC2NodeClasses and interruption Events; and the table of decoders of all kinds.

Source of the shapes: karpenter v1.14.1 and v0.37 (karpenter.sh and karpenter.k8s.aws, v1 and v1beta1, equal in the
fields read here). The older AWSNodeTemplate and Provisioner are not read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.schedules import parsed
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.cluster import NodeClass, NodePool
from kubectl_eksdoc.model.interruption import SpotEvent
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.machines import SaidOptions

from . import network, nodes, pods, storage, workloads
from .pods import SharedTexts
from .structs import Lean, Meta, Object


class ClassRef(Lean):
    kind: str | None = None
    name: str | None = None


class _ClaimSpec(Lean):
    node_class_ref: ClassRef | None = None


class ClaimTemplate(Lean):
    spec: _ClaimSpec | None = None


class NodePoolSpec(Lean):
    limits: dict[str, str | int | float] | None = None
    template: ClaimTemplate | None = None


class NodePoolObject(Object):
    spec: NodePoolSpec | None = None


class MetadataForm(Lean):
    http_endpoint: str | None = None
    http_protocol_ipv6: str | None = msgspec.field(default=None, name="httpProtocolIPv6")
    http_put_response_hop_limit: int | None = None
    http_tokens: str | None = None


class AmiTerm(Lean):
    alias: str | None = None
    id: str | None = None
    name: str | None = None
    owner: str | None = None
    ssm_parameter: str | None = None
    tags: dict[str, str] | None = None


class NodeClassSpec(Lean):
    ami_family: str | None = None
    ami_selector_terms: list[AmiTerm] | None = None
    metadata_options: MetadataForm | None = None


class NodeClassObject(Object):
    spec: NodeClassSpec | None = None


def node_pool(given: NodePoolObject, share: SharedTexts) -> NodePool:
    """Build the `NodePool` fact."""
    meta, spec = given.metadata or Meta(), given.spec or NodePoolSpec()
    limits = tuple(sorted((share.text(k), share.text(str(v))) for k, v in (spec.limits or {}).items()))
    return NodePool(share.text(meta.name), limits, _class_of(spec, share))


def _class_of(spec: NodePoolSpec, share: SharedTexts) -> str:
    """v1beta1 may omit the kind, because it has only one."""
    template = spec.template or ClaimTemplate()
    ref = (template.spec or _ClaimSpec()).node_class_ref or ClassRef()
    return share.text(ref.name) if ref.kind in (None, "", kinds.NODE_CLASSES.kind) else ""


def node_class(given: NodeClassObject, share: SharedTexts) -> NodeClass:
    """Build the `NodeClass` fact."""
    meta, spec = given.metadata or Meta(), given.spec or NodeClassSpec()
    amis = tuple(filter(None, (_ami(term) for term in spec.ami_selector_terms or ())))
    said = _said(spec.metadata_options or MetadataForm(), share)
    return NodeClass(share.text(meta.name), said, share.text(spec.ami_family), amis)


def _said(form: MetadataForm, share: SharedTexts) -> SaidOptions:
    return SaidOptions(
        share.text(form.http_tokens),
        form.http_put_response_hop_limit,
        _switch(form.http_endpoint),
        _switch(form.http_protocol_ipv6),
    )


def _switch(text: str | None) -> bool | None:
    return {"enabled": True, "disabled": False}.get(text or "")


def _ami(term: AmiTerm) -> str:
    """All fields of the term, because all of them must match."""
    said = {
        "alias": term.alias,
        "id": term.id,
        "name": term.name,
        "owner": term.owner,
        "ssmParameter": term.ssm_parameter,
        **{f"tag:{key}": value for key, value in sorted((term.tags or {}).items())},
    }
    return ",".join(f"{key}={value}" for key, value in said.items() if value)


# Events about interruptions of nodes. Source of the shapes: core/v1 Event; reasons: Karpenter's
# pkg/controllers/interruption/events.


REASONS = (
    "SpotInterrupted",
    "SpotRebalanceRecommendation",
    "InstanceStopping",
    "InstanceTerminating",
    "InstanceUnhealthy",
    "TerminatingOnInterruption",
    "CapacityReservationInstanceInterrupted",
)


def spot_event(doc: Doc) -> SpotEvent | None:
    """None if it is about another object, or is not a valid Event."""
    reason, about = doc.get("reason"), at(doc, "involvedObject")
    if reason not in REASONS or not isinstance(about, dict) or not isinstance(about.get("name"), str):
        return None
    times = (doc.get("lastTimestamp"), doc.get("eventTime"), at(doc, "metadata", "creationTimestamp"))
    when = next((found for text in times if (found := parsed(text)) is not None), None)
    if about.get("kind") == "Node":
        return SpotEvent(reason, about["name"], when)
    return SpotEvent(reason, "", when, about["name"]) if about.get("kind") == "NodeClaim" else None


# For every kind that is read: its struct, its projection, and the field of `Cluster` for its facts.


Projection = Callable[[Any, SharedTexts], Any]
"""Turns a struct into its fact (for webhooks: a tuple of facts)."""


@frozen
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
    _Kind(kinds.BUDGETS, workloads.BudgetObject, workloads.budget, "budgets"),
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
    _Kind(kinds.NAMESPACES, network.NamespaceObject, network.namespace, "namespaces"),
    _Kind(kinds.PRIORITY_CLASSES, network.PriorityObject, network.priority_class, "priority_classes"),
    _Kind(kinds.LEASES, network.LeaseObject, network.lease, "leases"),
    _Kind(kinds.AUTOSCALERS, workloads.AutoscalerObject, workloads.autoscaler, "autoscalers"),
    _Kind(kinds.SERVICES, network.ServiceObject, network.service, "services"),
    _Kind(kinds.ENDPOINT_SLICES, network.SliceObject, network.endpoint_slice, "endpoint_slices"),
    _webhooks(kinds.VALIDATING_WEBHOOKS),
    _webhooks(kinds.MUTATING_WEBHOOKS),
    _Kind(kinds.TARGET_GROUP_BINDINGS, network.BindingObject, network.target_group_binding, "target_group_bindings"),
    _Kind(kinds.SECURITY_GROUP_POLICIES, Object, network.security_group_policy, "security_group_policies"),
    _Kind(kinds.ENI_CONFIGS, Object, network.eni_config, "eni_configs"),
    _Kind(kinds.NODE_POOLS, NodePoolObject, node_pool, "node_pools"),
    _Kind(kinds.NODE_CLASSES, NodeClassObject, node_class, "node_classes"),
    _Kind(kinds.CRON_JOBS, workloads.CronJobObject, workloads.cron_job, "cron_jobs"),
    _Kind(kinds.API_SERVICES, network.ApiServiceObject, network.api_service, "api_services"),
    _Kind(kinds.DEFINITIONS, network.DefinitionObject, network.definition, "definitions"),
)

BY_RESOURCE: dict[Resource, _Kind] = {kind.resource: kind for kind in _KINDS}
FIELDS: tuple[str, ...] = tuple(dict.fromkeys(kind.field for kind in _KINDS))
