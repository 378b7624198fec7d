"""A healthy CoreDNS, and functions with which a test changes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kubectl_eksdoc.coredns_lameduck.deployed import DEPLOYMENT, PROPORTIONAL_AUTOSCALERS, CorednsPodLogs, DnsFacts
from kubectl_eksdoc.kubernetes.corefile_edits import COREDNS_CONFIG_MAP
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import Addon, AddonUpdateFacts, AddonVersionDetails
from kubectl_eksdoc.model.api_objects import Doc, with_value
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.network import Endpoint, EndpointSlice
from kubectl_eksdoc.model.nodes import Container, ContainerRunState, Node, Pod
from tests.builders import a_budget, a_cluster, a_node, a_pod

COREFILE = """\
.:53 {
    errors
    health {
        lameduck 15s
      }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
      pods insecure
      fallthrough in-addr.arpa ip6.arpa
    }
    prometheus :9153
    forward . /etc/resolv.conf
    cache 30
    loop
    reload
    loadbalance
}
"""
LABELS = {"k8s-app": "kube-dns"}
VERSION = "v1.11.4-eksbuild.14"


def lameduck(value: str) -> str:
    """The Corefile with another lameduck, "" for none."""
    if not value:
        return COREFILE.replace("    health {\n        lameduck 15s\n      }\n", "    health\n")
    return COREFILE.replace("15s", value)


def deployment(**spec: Any) -> Doc:
    """`spec`: of the pod template; `replicas` is the Deployment's."""
    replicas = spec.pop("replicas", 2)
    container = {
        "name": "coredns",
        "image": f"602401143452.dkr.ecr.eu-west-1.amazonaws.com/eks/coredns:{VERSION}",
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181}},
        "resources": {"limits": {"memory": "170Mi"}},
        **spec.pop("container", {}),
    }
    spread = [{"topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}]
    pod = {"terminationGracePeriodSeconds": 30, "topologySpreadConstraints": spread, "containers": [container], **spec}
    doc: Doc = {"metadata": {"name": "coredns"}, "spec": {"replicas": replicas}}
    return with_value(doc, ("spec", "template", "spec"), pod)


def config(text: str | None = COREFILE, manager: str = "eks") -> Doc:
    entry = {"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    fields = {"fieldsV1": {"f:data": {"f:Corefile": {}}}}
    return {"metadata": {"managedFields": [{**entry, **fields}]}, "data": {} if text is None else {"Corefile": text}}


def dns_pod(name: str, node: str, **more: Any) -> Pod:
    made: Pod = a_pod(name, "kube-system", owner="ReplicaSet/coredns-1", labels=LABELS, node=node, **more)
    return made


def a_zoned(name: str, zone: str, **labels: str) -> Node:
    told = {"topology.kubernetes.io/zone": zone, "eks.amazonaws.com/capacityType": "ON_DEMAND"}
    return a_node(name, group="", labels={**told, **labels})


NODES = (a_zoned("n-a", "a"), a_zoned("n-b", "b"))
PODS = (dns_pod("coredns-1", "n-a"), dns_pod("coredns-2", "n-b"))
READ = (kinds.NODES, kinds.PODS, kinds.BUDGETS, kinds.ENDPOINT_SLICES, kinds.AUTOSCALERS)


def slices(pods: Sequence[Pod]) -> tuple[EndpointSlice, ...]:
    return (EndpointSlice("kube-system", "kube-dns", tuple(Endpoint(pod.uid, pod.name, pod.ready) for pod in pods)),)


def a_side(values: Doc | Unknown) -> AddonUpdateFacts:
    version = AddonVersionDetails(VERSION, {}, Unknown("no schema here"))
    return AddonUpdateFacts(Addon("coredns", VERSION, "ACTIVE"), version, version, values, True, (VERSION,))


def inside_of(pods: Sequence[Pod], **container: Any) -> dict[str, CorednsPodLogs]:
    made = Container("coredns", runs=ContainerRunState.RUNNING, ready=True, **container)
    return {pod.key: CorednsPodLogs(made) for pod in pods}


def facts(
    *,
    text: str | None = COREFILE,
    manager: str = "eks",
    doc: Doc | Absent | Unknown | None = None,
    nodes: Sequence[Node] = NODES,
    pods: Sequence[Pod] = PODS,
    addon: AddonUpdateFacts | Absent | Unknown = Absent("no add-on coredns"),
    **cluster: Any,
) -> DnsFacts:
    """Facts, healthy by default. `cluster`: other fields of Cluster."""
    budgets = [a_budget("coredns", "kube-system", selector=LABELS, max_unavailable=1, expected=2)]
    given = {"budgets": budgets, "endpoint_slices": slices(pods), **cluster}
    made = a_cluster(nodes=tuple(nodes), pods=tuple(pods), **given)
    objects: dict[Any, Doc | Absent | Unknown] = {of: Absent("none") for of in PROPORTIONAL_AUTOSCALERS}
    objects[DEPLOYMENT] = deployment() if doc is None else doc
    objects[COREDNS_CONFIG_MAP] = config(text, manager)
    return DnsFacts(made, objects, addon, inside_of(pods), auto_mode=False)


def without(found: DnsFacts, **objects: Absent | Unknown) -> DnsFacts:
    """The facts without `deployment` or `config`."""
    named = {"deployment": DEPLOYMENT, "config": COREDNS_CONFIG_MAP}
    return replace(found, objects={**found.objects, **{named[key]: told for key, told in objects.items()}})
