"""What Karpenter makes nodes by: its NodePools, and their EC2NodeClasses.

Source of the shapes: karpenter v1.14.1 and v0.37 (karpenter.sh and karpenter.k8s.aws, v1 and v1beta1, alike in what is
read here). AWSNodeTemplate and Provisioner, which came before, are not read.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.aws.machines import SaidOptions
from kubectl_eksdoc.model.cluster import NodeClass, NodePool
from kubectl_eksdoc.model.interruption import SpotEvent
from kubectl_eksdoc.objects.sharing import SharedTexts
from kubectl_eksdoc.objects.structs import Lean, Meta, Object, moment


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


def node_pool(given: NodePoolObject, share: SharedTexts) -> tuple[NodePool, datetime | None]:
    """The fact, and the newest time the object tells."""
    meta, spec = given.metadata or Meta(), given.spec or NodePoolSpec()
    limits = tuple(sorted((share.text(k), share.text(str(v))) for k, v in (spec.limits or {}).items()))
    return NodePool(share.text(meta.name), limits, _class_of(spec, share)), meta.creation_timestamp


def _class_of(spec: NodePoolSpec, share: SharedTexts) -> str:
    """v1beta1 may leave out the kind: it knows one only."""
    template = spec.template or ClaimTemplate()
    ref = (template.spec or _ClaimSpec()).node_class_ref or ClassRef()
    return share.text(ref.name) if ref.kind in (None, "", kinds.NODE_CLASSES.kind) else ""


def node_class(given: NodeClassObject, share: SharedTexts) -> tuple[NodeClass, datetime | None]:
    """The fact, and the newest time the object tells."""
    meta, spec = given.metadata or Meta(), given.spec or NodeClassSpec()
    amis = tuple(filter(None, (_ami(term) for term in spec.ami_selector_terms or ())))
    said = _said(spec.metadata_options or MetadataForm(), share)
    return NodeClass(share.text(meta.name), said, share.text(spec.ami_family), amis), meta.creation_timestamp


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
    """All that it says, since all of it must hold."""
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
    """None where it is about something else, or not written as an Event."""
    reason, about = doc.get("reason"), at(doc, "involvedObject")
    if reason not in REASONS or not isinstance(about, dict) or not isinstance(about.get("name"), str):
        return None
    times = (doc.get("lastTimestamp"), doc.get("eventTime"), at(doc, "metadata", "creationTimestamp"))
    when = next((found for text in times if (found := moment(text)) is not None), None)
    if about.get("kind") == "Node":
        return SpotEvent(reason, about["name"], when)
    return SpotEvent(reason, "", when, about["name"]) if about.get("kind") == "NodeClaim" else None
