"""Every object of the demo's cluster of the kinds that a plan of a drain reads."""

from __future__ import annotations

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource
from tools.demo import cluster, network, nodes, storage, workloads, world
from tools.demo.meta import Json
from tools.demo.owners import with_owners
from tools.demo.pods import Addresses, pods_of

_FIRST_VERSION = 184_001


def objects() -> dict[Resource, list[Json]]:
    """Every object of every kind of `kinds.LISTED_KINDS`, sorted by namespace and name as the API lists them.

    The caller owns the result: each call builds new objects.
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
