"""The demo's cluster before the next step of its upgrade: Karpenter as the incident left it, what CoreDNS says, and
what extends the API."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.containers import LogOf
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.embedded.demo import dns_logs
from kubectl_eksdoc.embedded.demo.interruption import cluster as interruption
from kubectl_eksdoc.embedded.demo.meta import Json
from kubectl_eksdoc.embedded.demo.upgrade import extensions


def extend(held: dict[Resource, list[Json]], others: list[Json]) -> None:
    """The `reader.Extend` of this demo."""
    interruption.extend(held, others)
    extensions.extend(held, others)


def logs(cluster: Cluster) -> Mapping[LogOf, str]:
    """Of the pods that are looked into."""
    return {**interruption.logs(), **dns_logs.logs(cluster)}
