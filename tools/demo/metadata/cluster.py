"""Additions to the demo's cluster: nodes, pods, a NodePool and its NodeClass; and the logs of crashing containers."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.nodes import LogKey
from tools.demo import cluster, incidents
from tools.demo.meta import Json
from tools.demo.metadata.applications import irsa, pods
from tools.demo.metadata.world import NEW_MACHINES, REPORTS, REPORTS_CLASS
from tools.demo.nodes import a_node

_FIRST_VERSION = 186_001


def extend(held: dict[Resource, list[Json]], others: list[Json]) -> None:
    """The `scenes.Extend` of this demo."""
    added: dict[Resource, list[Json]] = {
        kinds.NODES: [a_node(machine) for machine in NEW_MACHINES],
        kinds.PODS: [pod for _, made in pods() for pod in made],
        kinds.NODE_POOLS: [cluster.a_node_pool("reports", 64, "reports")],
    }
    for version, made in enumerate((each for several in added.values() for each in several), _FIRST_VERSION):
        made["metadata"]["resourceVersion"] = str(version)
    for pod in held[kinds.PODS]:
        with_role(pod)
    for resource, several in added.items():
        held[resource] += several
        held[resource].sort(key=lambda each: (each["metadata"].get("namespace", ""), each["metadata"]["name"]))
    others.append(incidents.a_node_class("reports", REPORTS_CLASS, REPORTS.role))


def with_role(pod: Json) -> None:
    """With the changes of EKS's webhook, which the demo's own pods do not need: no other command reads them."""
    account = pod["spec"].get("serviceAccountName", "")
    if pod["metadata"]["namespace"] != "kube-system" or account not in incidents.WITH_ROLE:
        return
    for container in pod["spec"]["containers"]:
        given = [{"name": name, "value": value} for name, value in irsa(account).items()]
        container["env"] = [*container.get("env", ()), *given]


def logs() -> Mapping[LogKey, str]:
    """The output of containers before they ended."""
    return {
        LogKey(pod["metadata"]["namespace"], pod["metadata"]["name"], each.app.name, previous=True): each.log
        for each, made in pods()
        if each.log
        for pod in made
    }
