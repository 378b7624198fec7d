"""Decoder of Services, EndpointSlices, TargetGroupBindings, webhooks, APIServices, CustomResourceDefinitions, and small
kinds such as Namespaces."""

from __future__ import annotations

from datetime import datetime

import msgspec

from kubectl_eksdoc.model.api_objects import ApiService, Callee, DefinedVersion, Definition
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

from .pods import SharedTexts
from .structs import (
    Condition,
    LabelSelector,
    Lean,
    Meta,
    Object,
    Time,
    condition,
    selector,
)

SERVICE_OF_SLICE = "kubernetes.io/service-name"
HTTPS = 443
"""Default port of a Service that the API server calls."""


class ServiceAnnotations(Lean):
    target_type: str | None = msgspec.field(
        default=None, name="service.beta.kubernetes.io/aws-load-balancer-nlb-target-type"
    )
    balancer_type: str | None = msgspec.field(default=None, name="service.beta.kubernetes.io/aws-load-balancer-type")


class ServiceMeta(Meta):
    annotations: ServiceAnnotations | None = None


class ServicePort(Lean):
    port: int


class ServiceSpec(Lean):
    type: str | None = None
    ports: list[ServicePort] | None = None
    selector: dict[str, str] | None = None
    external_traffic_policy: str | None = None
    external_ips: list[str] | None = msgspec.field(default=None, name="externalIPs")


class ServiceObject(Object):
    metadata: ServiceMeta | None = None
    spec: ServiceSpec | None = None


class _Target(Lean):
    kind: str | None = None
    name: str | None = None
    uid: str | None = None


class EndpointConditions(Lean):
    ready: bool | None = None


class EndpointEntry(Lean):
    conditions: EndpointConditions | None = None
    target_ref: _Target | None = None


class SliceObject(Object):
    endpoints: list[EndpointEntry] | None = None


class ServiceRef(Lean):
    namespace: str | None = None
    name: str | None = None
    port: int | None = None


class BindingSpec(Lean):
    service_ref: ServiceRef | None = None
    target_type: str | None = None
    target_group_arn: str | None = msgspec.field(default=None, name="targetGroupARN")


class BindingObject(Object):
    spec: BindingSpec | None = None


class ClientConfig(Lean):
    service: ServiceRef | None = None
    url: str | None = None


class RuleEntry(Lean):
    operations: list[str] | None = None
    api_groups: list[str] | None = None
    resources: list[str] | None = None
    scope: str | None = None


class MatchCondition(Lean):
    """Only its presence counts."""


class WebhookEntry(Lean):
    name: str | None = None
    failure_policy: str | None = None
    client_config: ClientConfig | None = None
    rules: list[RuleEntry] | None = None
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    match_conditions: list[MatchCondition] | None = None


class WebhooksObject(Object):
    webhooks: list[WebhookEntry] | None = None


def service(given: ServiceObject, share: SharedTexts) -> Service:
    """Build the `Service` fact."""
    meta, spec = given.metadata or ServiceMeta(), given.spec or ServiceSpec()
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


def endpoint_slice(given: SliceObject, share: SharedTexts) -> EndpointSlice:
    """Build the `EndpointSlice` fact.

    A missing ready condition counts as ready (discovery.k8s.io/v1 EndpointConditions).

    Raises:
        RawError: a lazily decoded part has a wrong type.
    """
    meta = given.metadata or Meta()
    return EndpointSlice(
        namespace=share.text(meta.namespace),
        service=share.labels(meta.labels).get(SERVICE_OF_SLICE, ""),
        endpoints=tuple(_endpoint(e, share) for e in given.endpoints or ()),
    )


def _endpoint(given: EndpointEntry, share: SharedTexts) -> Endpoint:
    ready = given.conditions is None or given.conditions.ready is not False
    target = given.target_ref
    if target is None or target.kind != "Pod":
        return Endpoint(ready=ready)
    return Endpoint(target.uid or "", target.name or "", ready)


def target_group_binding(given: BindingObject, share: SharedTexts) -> TargetGroupBinding:
    """Build the `TargetGroupBinding` fact."""
    meta, spec = given.metadata or Meta(), given.spec or BindingSpec()
    return TargetGroupBinding(
        namespace=share.text(meta.namespace),
        name=share.text(meta.name),
        service=share.text(spec.service_ref.name if spec.service_ref else None),
        target_type=share.text(spec.target_type),
        arn=share.text(spec.target_group_arn),
    )


def webhooks(given: WebhooksObject, share: SharedTexts, kind: str) -> tuple[Webhook, ...]:
    """One fact per webhook of the configuration, in its order.

    A missing failurePolicy means Fail, and a missing selector matches everything (admissionregistration.k8s.io/v1).
    """
    meta, text = given.metadata or Meta(), share.text
    found = []
    for hook in given.webhooks or ():
        client = hook.client_config or ClientConfig()
        backend = client.service or ServiceRef()
        found.append(
            Webhook(
                configuration=text(meta.name),
                configuration_kind=kind,
                name=text(hook.name),
                fails_closed=hook.failure_policy != "Ignore",
                namespace=text(backend.namespace),
                service=text(backend.name),
                rules=tuple(_rule(r, share) for r in hook.rules or ()),
                namespace_selector=selector(hook.namespace_selector, EVERYTHING),
                object_selector=selector(hook.object_selector, EVERYTHING),
                url=text(client.url),
                conditional=bool(hook.match_conditions),
                port=backend.port or HTTPS,
            )
        )
    return tuple(found)


def _rule(given: RuleEntry, share: SharedTexts) -> WebhookRule:
    operations, groups = share.texts(given.operations), share.texts(given.api_groups)
    return WebhookRule(operations, groups, share.texts(given.resources), share.text(given.scope) or "*")


# Small kinds: Namespaces, PriorityClasses, Leases, and configuration of vpc-cni.


class NamespaceStatus(Lean):
    phase: str | None = None


class NamespaceObject(Object):
    status: NamespaceStatus | None = None


class PriorityObject(Object):
    value: int | None = None
    preemption_policy: str | None = None


class LeaseSpec(Lean):
    holder_identity: str | None = None
    renew_time: Time | None = None


class LeaseObject(Object):
    spec: LeaseSpec | None = None

    def newest(self) -> datetime | None:
        times = super().newest(), self.spec.renew_time if self.spec else None
        return max((each for each in times if each is not None), default=None)


def namespace(given: NamespaceObject, share: SharedTexts) -> Namespace:
    """Build the `Namespace` fact.

    Raises:
        RawError: a part that is decoded late has a wrong type.
    """
    meta, status = given.metadata or Meta(), given.status or NamespaceStatus()
    terminating = status.phase == "Terminating" or meta.deletion_timestamp is not None
    return Namespace(share.text(meta.name), share.labels(meta.labels), terminating)


def priority_class(given: PriorityObject, share: SharedTexts) -> PriorityClass:
    """Build the `PriorityClass` fact."""
    meta = given.metadata or Meta()
    preempts = given.preemption_policy != "Never"
    return PriorityClass(share.text(meta.name), given.value or 0, preempts)


def lease(given: LeaseObject, share: SharedTexts) -> Lease:
    """Build the `Lease` fact."""
    meta, spec = given.metadata or Meta(), given.spec or LeaseSpec()
    holder = share.text(spec.holder_identity)
    return Lease(share.text(meta.namespace), share.text(meta.name), holder, spec.renew_time)


def security_group_policy(given: Object, share: SharedTexts) -> SecurityGroupPolicy:
    """Build the `SecurityGroupPolicy` fact."""
    meta = given.metadata or Meta()
    return SecurityGroupPolicy(share.text(meta.namespace), share.text(meta.name))


def eni_config(given: Object, share: SharedTexts) -> EniConfig:
    """Build the `EniConfig` fact."""
    meta = given.metadata or Meta()
    return EniConfig(share.text(meta.name))


# APIServices and CustomResourceDefinitions.
#
# Source of the shapes: apiregistration.k8s.io/v1 and apiextensions.k8s.io/v1 (Kubernetes 1.33).


class ApiServiceSpec(Lean):
    group: str | None = None
    version: str | None = None
    service: ServiceRef | None = None


class Conditions(Lean):
    conditions: list[Condition] | None = None


class ApiServiceObject(Object):
    spec: ApiServiceSpec | None = None
    status: Conditions | None = None


class _Names(Lean):
    kind: str | None = None


class VersionEntry(Lean):
    name: str | None = None
    served: bool | None = None


class ConversionWebhook(Lean):
    client_config: ClientConfig | None = None


class Conversion(Lean):
    strategy: str | None = None
    webhook: ConversionWebhook | None = None


class DefinitionSpec(Lean):
    names: _Names | None = None
    versions: list[VersionEntry] | None = None
    conversion: Conversion | None = None


class DefinitionStatus(Conditions):
    stored_versions: list[str] | None = None


class DefinitionObject(Object):
    spec: DefinitionSpec | None = None
    status: DefinitionStatus | None = None


def api_service(given: ApiServiceObject, share: SharedTexts) -> ApiService:
    """Build the `ApiService` fact."""
    meta, spec = given.metadata or Meta(), given.spec or ApiServiceSpec()
    conditions = given.status.conditions if given.status else None
    told, text = condition(conditions, "Available") or Condition(), share.text
    return ApiService(
        name=text(meta.name),
        group=text(spec.group),
        version=text(spec.version),
        service=None if spec.service is None else _callee(ClientConfig(spec.service), share),
        available=text(told.status),
        reason=text(told.reason),
        message=text(told.message),
    )


def definition(given: DefinitionObject, share: SharedTexts) -> Definition:
    """Build the `CustomResourceDefinition` fact."""
    meta, spec, status = given.metadata or Meta(), given.spec or DefinitionSpec(), given.status or DefinitionStatus()
    text = share.text
    return Definition(
        name=text(meta.name),
        kind=text((spec.names or _Names()).kind),
        versions=tuple(DefinedVersion(text(each.name), bool(each.served)) for each in spec.versions or ()),
        stored=share.texts(status.stored_versions),
        converter=_converter(spec.conversion, share),
    )


def _converter(given: Conversion | None, share: SharedTexts) -> Callee | None:
    if given is None or given.strategy != "Webhook":
        return None
    webhook = given.webhook or ConversionWebhook()
    return _callee(webhook.client_config or ClientConfig(), share)


def _callee(given: ClientConfig, share: SharedTexts) -> Callee:
    service = given.service or ServiceRef()
    of = share.text(service.namespace), share.text(service.name), share.text(given.url)
    return Callee(*of, service.port or HTTPS)
