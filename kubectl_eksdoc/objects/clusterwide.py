"""Small kinds: namespaces, priority classes, leases, what vpc-cni goes by."""

from __future__ import annotations

from datetime import datetime

from kubectl_eksdoc.core.model.cluster import (
    EniConfig,
    Lease,
    Namespace,
    PriorityClass,
    SecurityGroupPolicy,
)
from kubectl_eksdoc.objects.common import newest
from kubectl_eksdoc.objects.sharing import Sharing
from kubectl_eksdoc.objects.structs import Lean, Meta, Object, Time


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


def namespace(given: NamespaceObject, share: Sharing) -> tuple[Namespace, datetime | None]:
    """The fact, and the newest time the object tells.

    Raises:
        RawError: a part that is decoded late has a wrong type.
    """
    meta, status = given.metadata or Meta(), given.status or NamespaceStatus()
    terminating = status.phase == "Terminating" or meta.deletion_timestamp is not None
    return Namespace(share.text(meta.name), share.labels(meta.labels), terminating), meta.creation_timestamp


def priority_class(given: PriorityObject, share: Sharing) -> tuple[PriorityClass, datetime | None]:
    """The fact, and the newest time the object tells."""
    meta = given.metadata or Meta()
    preempts = given.preemption_policy != "Never"
    return PriorityClass(share.text(meta.name), given.value or 0, preempts), meta.creation_timestamp


def lease(given: LeaseObject, share: Sharing) -> tuple[Lease, datetime | None]:
    """The fact, and the newest time the object tells."""
    meta, spec = given.metadata or Meta(), given.spec or LeaseSpec()
    holder = share.text(spec.holder_identity)
    fact = Lease(share.text(meta.namespace), share.text(meta.name), holder, spec.renew_time)
    return fact, newest(meta.creation_timestamp, spec.renew_time)


def security_group_policy(given: Object, share: Sharing) -> tuple[SecurityGroupPolicy, datetime | None]:
    """The fact, and the newest time the object tells."""
    meta = given.metadata or Meta()
    return SecurityGroupPolicy(share.text(meta.namespace), share.text(meta.name)), meta.creation_timestamp


def eni_config(given: Object, share: Sharing) -> tuple[EniConfig, datetime | None]:
    """The fact, and the newest time the object tells."""
    meta = given.metadata or Meta()
    return EniConfig(share.text(meta.name)), meta.creation_timestamp
