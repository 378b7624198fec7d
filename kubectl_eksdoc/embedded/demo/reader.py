"""The demo cluster behind the reader's port: the same bytes each time, from no network and no clock."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.core.model.kinds import ReadState, Resource
from kubectl_eksdoc.embedded.demo import cluster, incidents, network, nodes, storage, workloads, world
from kubectl_eksdoc.embedded.demo.meta import NOW, Json
from kubectl_eksdoc.embedded.demo.owners import with_owners
from kubectl_eksdoc.embedded.demo.pods import Addresses, pods_of
from kubectl_eksdoc.objects.collector import Collector
from kubectl_eksdoc.objects.raw_objects import RawObjects

DEFAULT_NODEGROUP = "blue"
"""The node group that the demo's upgrade wants to empty."""

IDENTITY = Identity("demo", world.CLUSTER, world.ACCOUNT, world.REGION, world.SERVER_VERSION)

_FIRST_VERSION = 184_001

Extend = Callable[[dict[Resource, list[Json]], list[Json]], None]


class DemoReader:
    """The demo cluster as a `flows.ports.ClusterReader`; `raw` gets the objects. `extend` adds to what it is given: the
    objects that a plan reads, and the others."""

    def __init__(self, raw: RawObjects | None = None, extend: Extend | None = None) -> None:
        self._raw = raw
        self._extend = extend

    def read(self, resources: Sequence[Resource]) -> Cluster:
        """All of `resources`: nothing is ever refused here."""
        collector = Collector(Source.DEMO, self._raw)
        held = objects()
        others = list(incidents.others())
        if self._extend is not None:
            self._extend(held, others)
        for resource in resources:
            if resource not in held:  # what no plan of a drain reads
                held[resource] = [made for made in others if made["kind"] == resource.kind]
                others = [made for made in others if made["kind"] != resource.kind]
            collector.add_page(resource, a_list(resource, held[resource]), "the demo")
            collector.mark(resource, ReadState.READ)
        if self._raw is not None:
            unasked = (made for resource, group in held.items() if resource not in resources for made in group)
            for made in (*unasked, *others):
                self._raw.add_other(made["kind"], made["apiVersion"], json.dumps(made).encode())
        return collector.cluster(IDENTITY, NOW)


def objects() -> dict[Resource, list[Json]]:
    """Every object of every kind of `kinds.ALL`, sorted by namespace and name as the API lists them.

    The caller owns what it gets: each call builds anew.
    """
    pods = _pods()
    held: dict[Resource, list[Json]] = {resource: [] for resource in kinds.ALL}
    by_kind = {resource.kind: resource for resource in kinds.ALL}
    for made in (*_cluster_wide(pods), *_applications(pods)):
        held[by_kind[made["kind"]]].append(made)
    for group in held.values():
        group.sort(key=lambda o: (o["metadata"].get("namespace", ""), o["metadata"]["name"]))
    for version, made in enumerate((o for group in held.values() for o in group), _FIRST_VERSION):
        made["metadata"]["resourceVersion"] = str(version)
    return held


def a_list(resource: Resource, items: Sequence[Json]) -> bytes:
    """`items` as the answer to a list request."""
    body = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version}
    return json.dumps({**body, "metadata": {"resourceVersion": "190000"}, "items": items}).encode()


def _pods() -> dict[str, list[Json]]:
    addresses = Addresses()
    return {app.key: pods_of(app, addresses) for app in world.APPS}


def _applications(pods: dict[str, list[Json]]) -> list[Json]:
    made: list[Json] = []
    for app in world.APPS:
        own = pods[app.key]
        made += own
        made += map(with_owners, workloads.controllers_of(app, own))
        made += map(with_owners, workloads.budgets_of(app, own))
        if app.port:
            made += [with_owners(network.service_of(app)), network.endpoints_of(app, own)]
        if app.service_type == "LoadBalancer":
            made.append(network.target_group_of(app))
        if app.name == "web":
            made.append(workloads.an_autoscaler(app, 4, 20))
        made += storage.claims_and_volumes(app)
    return made


def _cluster_wide(pods: dict[str, list[Json]]) -> list[Json]:
    return [
        *map(nodes.a_node, world.MACHINES),
        *map(nodes.a_node_lease, world.MACHINES),
        *map(cluster.a_namespace, world.NAMESPACES),
        *cluster.priority_classes(),
        storage.a_storage_class("gp2", "kubernetes.io/aws-ebs"),
        storage.a_storage_class("gp3", storage.EBS),
        *map(storage.a_csi_node, world.MACHINES),
        *(cluster.a_lock(name, pods[app][0]) for name, app in world.LOCKS.items()),
        cluster.a_node_pool("general", 200),
        *network.validating_webhooks(),
        *network.mutating_webhooks(),
    ]
