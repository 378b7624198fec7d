"""Whether anybody answers behind a Service that the API server calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.commands import shell
from kubectl_eksdoc.model.network import Service

KINDS = (kinds.SERVICES, kinds.ENDPOINT_SLICES)


@dataclass(frozen=True, slots=True)
class Backends:
    """`ready`: Service → how many endpoints are. `blind`: not all of `KINDS` was read, which is to be said once."""

    services: Mapping[str, Service]
    ready: Mapping[str, int]
    blind: bool

    def why_down(self, namespace: str, service: str) -> str | Unknown | None:
        """A clause; None where somebody answers."""
        key = f"{namespace}/{service}"
        if self.ready.get(key):
            return None
        if self.blind:
            return Unknown("Services or their endpoints were not read")
        found = self.services.get(key)
        if found is None:
            return f"there is no Service {key}"
        if found.type == "ExternalName":
            return Unknown(f"Service {key} is a name of something outside the cluster")
        return f"Service {key} has no ready endpoint"


def backends(cluster: Cluster) -> Backends:
    ready: Counter[str] = Counter()
    for each in cluster.endpoint_slices:
        ready[f"{each.namespace}/{each.service}"] += sum(endpoint.ready for endpoint in each.endpoints)
    return Backends({each.key: each for each in cluster.services}, ready, bool(cluster.unread(*KINDS)))


def endpoints_of(namespace: str, service: str) -> str:
    """The command that shows them."""
    label = f"kubernetes.io/service-name={service}"
    return shell("kubectl", "get", "endpointslices", "-n", namespace, "-l", label)
