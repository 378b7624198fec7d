"""Small kinds: namespaces, priority classes, leases, what vpc-cni goes by."""

from __future__ import annotations

from datetime import datetime

from kubectl_eksdoc.model.api_usage import ApiService, Callee, DefinedVersion, Definition
from kubectl_eksdoc.model.cluster import EniConfig, Lease, Namespace, PriorityClass, SecurityGroupPolicy
from kubectl_eksdoc.objects.network import ClientConfig, ServiceRef
from kubectl_eksdoc.objects.sharing import SharedTexts
from kubectl_eksdoc.objects.structs import Condition, Lean, Meta, Object, Time, condition, newest, newest_of


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


def namespace(given: NamespaceObject, share: SharedTexts) -> tuple[Namespace, datetime | None]:
    """The fact, and the newest time the object tells.

    Raises:
        RawError: a part that is decoded late has a wrong type.
    """
    meta, status = given.metadata or Meta(), given.status or NamespaceStatus()
    terminating = status.phase == "Terminating" or meta.deletion_timestamp is not None
    return Namespace(share.text(meta.name), share.labels(meta.labels), terminating), meta.creation_timestamp


def priority_class(given: PriorityObject, share: SharedTexts) -> tuple[PriorityClass, datetime | None]:
    """The fact, and the newest time the object tells."""
    meta = given.metadata or Meta()
    preempts = given.preemption_policy != "Never"
    return PriorityClass(share.text(meta.name), given.value or 0, preempts), meta.creation_timestamp


def lease(given: LeaseObject, share: SharedTexts) -> tuple[Lease, datetime | None]:
    """The fact, and the newest time the object tells."""
    meta, spec = given.metadata or Meta(), given.spec or LeaseSpec()
    holder = share.text(spec.holder_identity)
    fact = Lease(share.text(meta.namespace), share.text(meta.name), holder, spec.renew_time)
    return fact, newest(meta.creation_timestamp, spec.renew_time)


def security_group_policy(given: Object, share: SharedTexts) -> tuple[SecurityGroupPolicy, datetime | None]:
    """The fact, and the newest time the object tells."""
    meta = given.metadata or Meta()
    return SecurityGroupPolicy(share.text(meta.namespace), share.text(meta.name)), meta.creation_timestamp


def eni_config(given: Object, share: SharedTexts) -> tuple[EniConfig, datetime | None]:
    """The fact, and the newest time the object tells."""
    meta = given.metadata or Meta()
    return EniConfig(share.text(meta.name)), meta.creation_timestamp


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
    deprecated: bool | None = None


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


def api_service(given: ApiServiceObject, share: SharedTexts) -> tuple[ApiService, datetime | None]:
    """The fact, and the newest time the object tells."""
    meta, spec = given.metadata or Meta(), given.spec or ApiServiceSpec()
    conditions = given.status.conditions if given.status else None
    told, text = condition(conditions, "Available") or Condition(), share.text
    fact = ApiService(
        name=text(meta.name),
        group=text(spec.group),
        version=text(spec.version),
        service=None if spec.service is None else _callee(ClientConfig(spec.service), share),
        available=text(told.status),
        reason=text(told.reason),
        message=text(told.message),
    )
    return fact, newest_of(conditions, meta.creation_timestamp)


def definition(given: DefinitionObject, share: SharedTexts) -> tuple[Definition, datetime | None]:
    """The fact, and the newest time the object tells."""
    meta, spec, status = given.metadata or Meta(), given.spec or DefinitionSpec(), given.status or DefinitionStatus()
    text = share.text
    fact = Definition(
        name=text(meta.name),
        kind=text((spec.names or _Names()).kind),
        versions=tuple(
            DefinedVersion(text(each.name), bool(each.served), bool(each.deprecated)) for each in spec.versions or ()
        ),
        stored=share.texts(status.stored_versions),
        converter=_converter(spec.conversion, share),
    )
    return fact, newest_of(status.conditions, meta.creation_timestamp)


def _converter(given: Conversion | None, share: SharedTexts) -> Callee | None:
    if given is None or given.strategy != "Webhook":
        return None
    webhook = given.webhook or ConversionWebhook()
    return _callee(webhook.client_config or ClientConfig(), share)


def _callee(given: ClientConfig, share: SharedTexts) -> Callee:
    service = given.service or ServiceRef()
    return Callee(share.text(service.namespace), share.text(service.name), share.text(given.url))
