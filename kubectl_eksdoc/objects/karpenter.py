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
from kubectl_eksdoc.kubernetes.schedules import parse_time
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.model.cluster import NodeClass, NodePool
from kubectl_eksdoc.model.interruption import InterruptionEvent
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.machines import DeclaredMetadataOptions

from . import network, nodes, pods, storage, workloads
from .pods import SharedValues
from .structs import LeanStruct, ObjectMeta, ObjectStruct


class ClassRef(LeanStruct):
    kind: str | None = None
    name: str | None = None


class _ClaimSpec(LeanStruct):
    node_class_ref: ClassRef | None = None


class ClaimTemplate(LeanStruct):
    spec: _ClaimSpec | None = None


class NodePoolSpec(LeanStruct):
    limits: dict[str, str | int | float] | None = None
    template: ClaimTemplate | None = None


class NodePoolObject(ObjectStruct):
    spec: NodePoolSpec | None = None


class MetadataForm(LeanStruct):
    http_endpoint: str | None = None
    http_protocol_ipv6: str | None = msgspec.field(default=None, name="httpProtocolIPv6")
    http_put_response_hop_limit: int | None = None
    http_tokens: str | None = None


class AmiTerm(LeanStruct):
    alias: str | None = None
    id: str | None = None
    name: str | None = None
    owner: str | None = None
    ssm_parameter: str | None = None
    tags: dict[str, str] | None = None


class NodeClassSpec(LeanStruct):
    ami_family: str | None = None
    ami_selector_terms: list[AmiTerm] | None = None
    metadata_options: MetadataForm | None = None


class NodeClassObject(ObjectStruct):
    spec: NodeClassSpec | None = None


def node_pool(struct: NodePoolObject, share: SharedValues) -> NodePool:
    """Build the `NodePool` fact."""
    meta, spec = struct.metadata or ObjectMeta(), struct.spec or NodePoolSpec()
    limits = tuple(sorted((share.text(k), share.text(str(v))) for k, v in (spec.limits or {}).items()))
    return NodePool(share.text(meta.name), limits, _node_class_name(spec, share))


def _node_class_name(spec: NodePoolSpec, share: SharedValues) -> str:
    """v1beta1 may omit the kind, because it has only one."""
    template = spec.template or ClaimTemplate()
    ref = (template.spec or _ClaimSpec()).node_class_ref or ClassRef()
    return share.text(ref.name) if ref.kind in (None, "", kinds.NODE_CLASSES.kind) else ""


def node_class(struct: NodeClassObject, share: SharedValues) -> NodeClass:
    """Build the `NodeClass` fact."""
    meta, spec = struct.metadata or ObjectMeta(), struct.spec or NodeClassSpec()
    amis = tuple(filter(None, (_format_ami_term(term) for term in spec.ami_selector_terms or ())))
    metadata_options = _declared_options(spec.metadata_options or MetadataForm(), share)
    return NodeClass(share.text(meta.name), metadata_options, share.text(spec.ami_family), amis)


def _declared_options(form: MetadataForm, share: SharedValues) -> DeclaredMetadataOptions:
    return DeclaredMetadataOptions(
        share.text(form.http_tokens),
        form.http_put_response_hop_limit,
        _parse_switch(form.http_endpoint),
        _parse_switch(form.http_protocol_ipv6),
    )


def _parse_switch(text: str | None) -> bool | None:
    return {"enabled": True, "disabled": False}.get(text or "")


def _format_ami_term(term: AmiTerm) -> str:
    """All fields of the term, because all of them must match."""
    fields = {
        "alias": term.alias,
        "id": term.id,
        "name": term.name,
        "owner": term.owner,
        "ssmParameter": term.ssm_parameter,
        **{f"tag:{key}": value for key, value in sorted((term.tags or {}).items())},
    }
    return ",".join(f"{key}={value}" for key, value in fields.items() if value)


# Events about interruptions of nodes. Source of the shapes: core/v1 Event; reasons: Karpenter's
# pkg/controllers/interruption/events.


INTERRUPTION_REASONS = (
    "SpotInterrupted",
    "SpotRebalanceRecommendation",
    "InstanceStopping",
    "InstanceTerminating",
    "InstanceUnhealthy",
    "TerminatingOnInterruption",
    "CapacityReservationInstanceInterrupted",
)


def interruption_event(doc: Doc) -> InterruptionEvent | None:
    """None if it is about another object, or is not a valid Event."""
    reason, about = doc.get("reason"), nested_field(doc, "involvedObject")
    if reason not in INTERRUPTION_REASONS or not isinstance(about, dict) or not isinstance(about.get("name"), str):
        return None
    times = (doc.get("lastTimestamp"), doc.get("eventTime"), nested_field(doc, "metadata", "creationTimestamp"))
    last_seen = next((time for text in times if (time := parse_time(text)) is not None), None)
    if about.get("kind") == "Node":
        return InterruptionEvent(reason, about["name"], last_seen)
    return InterruptionEvent(reason, "", last_seen, about["name"]) if about.get("kind") == "NodeClaim" else None


# For every kind that is read: its struct, its projection, and the field of `Cluster` for its facts.


Projection = Callable[[Any, SharedValues], Any]
"""Turns a struct into its fact (for webhooks: a tuple of facts)."""


@frozen
class _KindDecoder:
    resource: Resource
    struct: type[ObjectStruct]
    project: Projection
    field: str
    makes_tuple: bool = False  # one object makes a tuple of facts


def _workload(resource: Resource) -> _KindDecoder:
    project = partial(workloads.workload, kind=resource.kind)
    return _KindDecoder(resource, workloads.WorkloadObject, project, "workloads")


def _webhooks(resource: Resource) -> _KindDecoder:
    project = partial(network.webhooks, kind=resource.kind)
    return _KindDecoder(resource, network.WebhooksObject, project, "webhooks", makes_tuple=True)


_KINDS: tuple[_KindDecoder, ...] = (
    _KindDecoder(kinds.NODES, nodes.NodeObject, nodes.node, "nodes"),
    _KindDecoder(kinds.PODS, pods.PodObject, pods.pod, "pods"),
    _KindDecoder(kinds.BUDGETS, workloads.BudgetObject, workloads.budget, "budgets"),
    _workload(kinds.DEPLOYMENTS),
    _workload(kinds.REPLICA_SETS),
    _workload(kinds.STATEFUL_SETS),
    _workload(kinds.DAEMON_SETS),
    _workload(kinds.REPLICATION_CONTROLLERS),
    _KindDecoder(kinds.JOBS, workloads.JobObject, workloads.job, "jobs"),
    _KindDecoder(kinds.VOLUMES, storage.VolumeObject, storage.volume, "volumes"),
    _KindDecoder(kinds.CLAIMS, storage.ClaimObject, storage.claim, "claims"),
    _KindDecoder(kinds.STORAGE_CLASSES, storage.StorageClassObject, storage.storage_class, "storage_classes"),
    _KindDecoder(kinds.CSI_NODES, storage.CSINodeObject, storage.csi_node, "csi_nodes"),
    _KindDecoder(kinds.VOLUME_ATTACHMENTS, storage.AttachmentObject, storage.volume_attachment, "volume_attachments"),
    _KindDecoder(kinds.NAMESPACES, network.NamespaceObject, network.namespace, "namespaces"),
    _KindDecoder(kinds.PRIORITY_CLASSES, network.PriorityObject, network.priority_class, "priority_classes"),
    _KindDecoder(kinds.LEASES, network.LeaseObject, network.lease, "leases"),
    _KindDecoder(kinds.AUTOSCALERS, workloads.AutoscalerObject, workloads.autoscaler, "autoscalers"),
    _KindDecoder(kinds.SERVICES, network.ServiceObject, network.service, "services"),
    _KindDecoder(kinds.ENDPOINT_SLICES, network.SliceObject, network.endpoint_slice, "endpoint_slices"),
    _webhooks(kinds.VALIDATING_WEBHOOKS),
    _webhooks(kinds.MUTATING_WEBHOOKS),
    _KindDecoder(
        kinds.TARGET_GROUP_BINDINGS,
        network.TargetGroupBindingObject,
        network.target_group_binding,
        "target_group_bindings",
    ),
    _KindDecoder(kinds.SECURITY_GROUP_POLICIES, ObjectStruct, network.security_group_policy, "security_group_policies"),
    _KindDecoder(kinds.ENI_CONFIGS, ObjectStruct, network.eni_config, "eni_configs"),
    _KindDecoder(kinds.NODE_POOLS, NodePoolObject, node_pool, "node_pools"),
    _KindDecoder(kinds.NODE_CLASSES, NodeClassObject, node_class, "node_classes"),
    _KindDecoder(kinds.CRON_JOBS, workloads.CronJobObject, workloads.cron_job, "cron_jobs"),
    _KindDecoder(kinds.API_SERVICES, network.ApiServiceObject, network.api_service, "api_services"),
    _KindDecoder(kinds.DEFINITIONS, network.DefinitionObject, network.definition, "definitions"),
)

BY_RESOURCE: dict[Resource, _KindDecoder] = {kind.resource: kind for kind in _KINDS}
FIELDS: tuple[str, ...] = tuple(dict.fromkeys(kind.field for kind in _KINDS))
