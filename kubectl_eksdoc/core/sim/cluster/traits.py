"""What the API server must know of a kind to store it: its names, whether its spec is counted, how it is deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.core.rules.api.statuses import Named


@dataclass(frozen=True, slots=True)
class Traits:
    """`counts`: changes of the spec are counted in metadata.generation. `has_status`: status is a subresource, which
    writes of the object leave alone. `returned`: a deletion is answered with the object, not with a Status.
    """

    named: Named
    api_version: str = "v1"
    namespaced: bool = True
    counts: bool = False
    has_status: bool = False
    returned: bool = False

    @property
    def resource(self) -> str:
        """As the store names it."""
        return self.named.full_name


def of_resource(
    resource: Resource, *, counts: bool = False, has_status: bool = False, returned: bool = False
) -> Traits:
    named = Named(resource.plural, resource.group, resource.kind)
    return Traits(named, resource.api_version, resource.namespaced, counts, has_status, returned)


CRON_JOBS = Resource("CronJob", "cronjobs", "batch")
EVENTS = Resource("Event", "events")
ADMISSION_POLICIES = Resource(
    "ValidatingAdmissionPolicy", "validatingadmissionpolicies", "admissionregistration.k8s.io", namespaced=False
)
ADMISSION_BINDINGS = Resource(
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    "admissionregistration.k8s.io",
    namespaced=False,
)

_COUNTED = (
    kinds.DEPLOYMENTS,
    kinds.REPLICA_SETS,
    kinds.STATEFUL_SETS,
    kinds.DAEMON_SETS,
    kinds.REPLICATION_CONTROLLERS,
    kinds.JOBS,
    CRON_JOBS,
    kinds.BUDGETS,
)
"""Built-in kinds with a counted spec and a status subresource (their strategies' PrepareForCreate and -Update)."""

_WITH_STATUS = (kinds.NODES, kinds.AUTOSCALERS, kinds.SERVICES)
_PLAIN = (
    kinds.STORAGE_CLASSES,
    kinds.CSI_NODES,
    kinds.LEASES,
    Resource("ConfigMap", "configmaps"),
    Resource("Secret", "secrets"),
    Resource("ServiceAccount", "serviceaccounts"),
    Resource("Endpoints", "endpoints"),
    EVENTS,
    kinds.CONTROLLER_REVISIONS,
)

BUILT_IN: tuple[Traits, ...] = (
    of_resource(kinds.PODS, counts=True, has_status=True, returned=True),
    of_resource(kinds.NAMESPACES, has_status=True, returned=True),
    of_resource(kinds.VOLUMES, has_status=True, returned=True),
    of_resource(kinds.CLAIMS, has_status=True, returned=True),
    of_resource(kinds.VOLUME_ATTACHMENTS, has_status=True, returned=True),
    of_resource(kinds.ENDPOINT_SLICES, counts=True),
    of_resource(kinds.PRIORITY_CLASSES, counts=True),
    of_resource(kinds.VALIDATING_WEBHOOKS, counts=True),
    of_resource(kinds.MUTATING_WEBHOOKS, counts=True),
    of_resource(ADMISSION_POLICIES, counts=True, has_status=True),
    of_resource(ADMISSION_BINDINGS, counts=True),
    *(of_resource(resource, counts=True, has_status=True) for resource in _COUNTED),
    *(of_resource(resource, has_status=True) for resource in _WITH_STATUS),
    *(of_resource(resource) for resource in _PLAIN),
)


def by_resource(traits: Iterable[Traits] = BUILT_IN) -> Mapping[str, Traits]:
    """By the store's name; of two the last."""
    return {each.resource: each for each in traits}
