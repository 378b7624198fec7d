"""Decoder of Services, EndpointSlices, TargetGroupBindings, webhooks, APIServices, CustomResourceDefinitions, and small
kinds such as Namespaces."""

from __future__ import annotations

from datetime import datetime

import msgspec

from kubectl_eksdoc.model.api_objects import ApiService, CrdVersion, CustomResourceDefinition, ServerTarget
from kubectl_eksdoc.model.cluster import EniConfig, Lease, Namespace, PriorityClass, SecurityGroupPolicy
from kubectl_eksdoc.model.network import (
    Endpoint,
    EndpointSlice,
    Service,
    TargetGroupBinding,
    Webhook,
    WebhookRule,
)
from kubectl_eksdoc.model.selectors import EVERYTHING

from .pods import SharedValues
from .structs import (
    Condition,
    LabelSelector,
    LeanStruct,
    ObjectMeta,
    ObjectStruct,
    Time,
    build_selector,
    find_condition,
)

SERVICE_OF_SLICE = "kubernetes.io/service-name"
DEFAULT_WEBHOOK_PORT = 443
"""Default port of a Service that the API server calls."""


class ServiceAnnotations(LeanStruct):
    target_type: str | None = msgspec.field(
        default=None, name="service.beta.kubernetes.io/aws-load-balancer-nlb-target-type"
    )
    balancer_type: str | None = msgspec.field(default=None, name="service.beta.kubernetes.io/aws-load-balancer-type")


class ServiceMeta(ObjectMeta):
    annotations: ServiceAnnotations | None = None


class ServicePort(LeanStruct):
    port: int


class ServiceSpec(LeanStruct):
    type: str | None = None
    ports: list[ServicePort] | None = None
    selector: dict[str, str] | None = None
    external_traffic_policy: str | None = None
    external_ips: list[str] | None = msgspec.field(default=None, name="externalIPs")


class ServiceObject(ObjectStruct):
    metadata: ServiceMeta | None = None
    spec: ServiceSpec | None = None


class _Target(LeanStruct):
    kind: str | None = None
    name: str | None = None
    uid: str | None = None


class EndpointConditions(LeanStruct):
    ready: bool | None = None


class EndpointEntry(LeanStruct):
    conditions: EndpointConditions | None = None
    target_ref: _Target | None = None


class SliceObject(ObjectStruct):
    endpoints: list[EndpointEntry] | None = None


class ServiceRef(LeanStruct):
    namespace: str | None = None
    name: str | None = None
    port: int | None = None


class BindingSpec(LeanStruct):
    service_ref: ServiceRef | None = None
    target_type: str | None = None
    target_group_arn: str | None = msgspec.field(default=None, name="targetGroupARN")


class TargetGroupBindingObject(ObjectStruct):
    spec: BindingSpec | None = None


class ClientConfig(LeanStruct):
    service: ServiceRef | None = None
    url: str | None = None


class RuleEntry(LeanStruct):
    operations: list[str] | None = None
    api_groups: list[str] | None = None
    resources: list[str] | None = None
    scope: str | None = None


class MatchCondition(LeanStruct):
    """Only its presence counts."""


class WebhookEntry(LeanStruct):
    name: str | None = None
    failure_policy: str | None = None
    client_config: ClientConfig | None = None
    rules: list[RuleEntry] | None = None
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    match_conditions: list[MatchCondition] | None = None


class WebhooksObject(ObjectStruct):
    webhooks: list[WebhookEntry] | None = None


def service(struct: ServiceObject, share: SharedValues) -> Service:
    """Build the `Service` fact."""
    meta, spec = struct.metadata or ServiceMeta(), struct.spec or ServiceSpec()
    notes = meta.annotations or ServiceAnnotations()
    kind = share.text(spec.type) or "ClusterIP"
    return Service(
        namespace=share.text(meta.namespace),
        name=share.text(meta.name),
        type=kind,
        selector={share.text(k): share.text(v) for k, v in (spec.selector or {}).items()},
        ip_targets=kind == "LoadBalancer" and _ip_targets(notes),
        local=spec.external_traffic_policy == "Local",
        external_ips=bool(spec.external_ips),
        ports=tuple(each.port for each in spec.ports or ()),
    )


def _ip_targets(notes: ServiceAnnotations) -> bool:
    """As the AWS Load Balancer Controller reads the annotations (docs/guide/service/annotations.md)."""
    return notes.target_type == "ip" or notes.balancer_type == "nlb-ip"


def endpoint_slice(struct: SliceObject, share: SharedValues) -> EndpointSlice:
    """Build the `EndpointSlice` fact.

    A missing ready condition counts as ready (discovery.k8s.io/v1 EndpointConditions).

    Raises:
        RawError: a lazily decoded part has a wrong type.
    """
    meta = struct.metadata or ObjectMeta()
    return EndpointSlice(
        namespace=share.text(meta.namespace),
        service=share.labels(meta.labels).get(SERVICE_OF_SLICE, ""),
        endpoints=tuple(_endpoint(e, share) for e in struct.endpoints or ()),
    )


def _endpoint(entry: EndpointEntry, share: SharedValues) -> Endpoint:
    ready = entry.conditions is None or entry.conditions.ready is not False
    target = entry.target_ref
    if target is None or target.kind != "Pod":
        return Endpoint(ready=ready)
    return Endpoint(target.uid or "", target.name or "", ready)


def target_group_binding(struct: TargetGroupBindingObject, share: SharedValues) -> TargetGroupBinding:
    """Build the `TargetGroupBinding` fact."""
    meta, spec = struct.metadata or ObjectMeta(), struct.spec or BindingSpec()
    return TargetGroupBinding(
        namespace=share.text(meta.namespace),
        name=share.text(meta.name),
        service=share.text(spec.service_ref.name if spec.service_ref else None),
        target_type=share.text(spec.target_type),
        arn=share.text(spec.target_group_arn),
    )


def webhooks(struct: WebhooksObject, share: SharedValues, kind: str) -> tuple[Webhook, ...]:
    """One fact per webhook of the configuration, in its order.

    A missing failurePolicy means Fail, and a missing selector matches everything (admissionregistration.k8s.io/v1).
    """
    meta, text = struct.metadata or ObjectMeta(), share.text
    facts = []
    for hook in struct.webhooks or ():
        client = hook.client_config or ClientConfig()
        backend = client.service or ServiceRef()
        facts.append(
            Webhook(
                configuration=text(meta.name),
                configuration_kind=kind,
                name=text(hook.name),
                fails_closed=hook.failure_policy != "Ignore",
                namespace=text(backend.namespace),
                service=text(backend.name),
                rules=tuple(_rule(r, share) for r in hook.rules or ()),
                namespace_selector=build_selector(hook.namespace_selector, EVERYTHING),
                object_selector=build_selector(hook.object_selector, EVERYTHING),
                url=text(client.url),
                conditional=bool(hook.match_conditions),
                port=backend.port or DEFAULT_WEBHOOK_PORT,
            )
        )
    return tuple(facts)


def _rule(entry: RuleEntry, share: SharedValues) -> WebhookRule:
    operations, groups = share.texts(entry.operations), share.texts(entry.api_groups)
    return WebhookRule(operations, groups, share.texts(entry.resources), share.text(entry.scope) or "*")


# Small kinds: Namespaces, PriorityClasses, Leases, and configuration of vpc-cni.


class NamespaceStatus(LeanStruct):
    phase: str | None = None


class NamespaceObject(ObjectStruct):
    status: NamespaceStatus | None = None


class PriorityObject(ObjectStruct):
    value: int | None = None
    preemption_policy: str | None = None


class LeaseSpec(LeanStruct):
    holder_identity: str | None = None
    renew_time: Time | None = None


class LeaseObject(ObjectStruct):
    spec: LeaseSpec | None = None

    def newest_time(self) -> datetime | None:
        times = super().newest_time(), self.spec.renew_time if self.spec else None
        return max((each for each in times if each is not None), default=None)


def namespace(struct: NamespaceObject, share: SharedValues) -> Namespace:
    """Build the `Namespace` fact.

    Raises:
        RawError: a part that is decoded late has a wrong type.
    """
    meta, status = struct.metadata or ObjectMeta(), struct.status or NamespaceStatus()
    terminating = status.phase == "Terminating" or meta.deletion_timestamp is not None
    return Namespace(share.text(meta.name), share.labels(meta.labels), terminating)


def priority_class(struct: PriorityObject, share: SharedValues) -> PriorityClass:
    """Build the `PriorityClass` fact."""
    meta = struct.metadata or ObjectMeta()
    preempts = struct.preemption_policy != "Never"
    return PriorityClass(share.text(meta.name), struct.value or 0, preempts)


def lease(struct: LeaseObject, share: SharedValues) -> Lease:
    """Build the `Lease` fact."""
    meta, spec = struct.metadata or ObjectMeta(), struct.spec or LeaseSpec()
    holder = share.text(spec.holder_identity)
    return Lease(share.text(meta.namespace), share.text(meta.name), holder, spec.renew_time)


def security_group_policy(struct: ObjectStruct, share: SharedValues) -> SecurityGroupPolicy:
    """Build the `SecurityGroupPolicy` fact."""
    meta = struct.metadata or ObjectMeta()
    return SecurityGroupPolicy(share.text(meta.namespace), share.text(meta.name))


def eni_config(struct: ObjectStruct, share: SharedValues) -> EniConfig:
    """Build the `EniConfig` fact."""
    meta = struct.metadata or ObjectMeta()
    return EniConfig(share.text(meta.name))


# APIServices and CustomResourceDefinitions.
#
# Source of the shapes: apiregistration.k8s.io/v1 and apiextensions.k8s.io/v1 (Kubernetes 1.33).


class ApiServiceSpec(LeanStruct):
    group: str | None = None
    version: str | None = None
    service: ServiceRef | None = None


class Conditions(LeanStruct):
    conditions: list[Condition] | None = None


class ApiServiceObject(ObjectStruct):
    spec: ApiServiceSpec | None = None
    status: Conditions | None = None


class _Names(LeanStruct):
    kind: str | None = None


class VersionEntry(LeanStruct):
    name: str | None = None
    served: bool | None = None


class ConversionWebhook(LeanStruct):
    client_config: ClientConfig | None = None


class Conversion(LeanStruct):
    strategy: str | None = None
    webhook: ConversionWebhook | None = None


class DefinitionSpec(LeanStruct):
    names: _Names | None = None
    versions: list[VersionEntry] | None = None
    conversion: Conversion | None = None


class DefinitionStatus(Conditions):
    stored_versions: list[str] | None = None


class DefinitionObject(ObjectStruct):
    spec: DefinitionSpec | None = None
    status: DefinitionStatus | None = None


def api_service(struct: ApiServiceObject, share: SharedValues) -> ApiService:
    """Build the `ApiService` fact."""
    meta, spec = struct.metadata or ObjectMeta(), struct.spec or ApiServiceSpec()
    conditions = struct.status.conditions if struct.status else None
    available, text = find_condition(conditions, "Available") or Condition(), share.text
    return ApiService(
        name=text(meta.name),
        group=text(spec.group),
        version=text(spec.version),
        service=None if spec.service is None else _server_target(ClientConfig(spec.service), share),
        available=text(available.status),
        reason=text(available.reason),
        message=text(available.message),
    )


def definition(struct: DefinitionObject, share: SharedValues) -> CustomResourceDefinition:
    """Build the `CustomResourceDefinition` fact."""
    meta, spec, status = (
        struct.metadata or ObjectMeta(),
        struct.spec or DefinitionSpec(),
        struct.status or DefinitionStatus(),
    )
    text = share.text
    return CustomResourceDefinition(
        name=text(meta.name),
        kind=text((spec.names or _Names()).kind),
        versions=tuple(CrdVersion(text(each.name), bool(each.served)) for each in spec.versions or ()),
        stored=share.texts(status.stored_versions),
        converter=_converter(spec.conversion, share),
    )


def _converter(conversion: Conversion | None, share: SharedValues) -> ServerTarget | None:
    if conversion is None or conversion.strategy != "Webhook":
        return None
    webhook = conversion.webhook or ConversionWebhook()
    return _server_target(webhook.client_config or ClientConfig(), share)


def _server_target(client_config: ClientConfig, share: SharedValues) -> ServerTarget:
    service = client_config.service or ServiceRef()
    target = share.text(service.namespace), share.text(service.name), share.text(client_config.url)
    return ServerTarget(*target, service.port or DEFAULT_WEBHOOK_PORT)
