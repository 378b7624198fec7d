"""Whether DNS survives its nodes: the cluster, CoreDNS's objects, its add-on and its pods, put together and judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import text_at
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws.addons import AddonSide
from kubectl_eksdoc.core.model.cluster import Cluster, Source
from kubectl_eksdoc.core.model.dns_measure import Propagation
from kubectl_eksdoc.core.model.nodes import NodeOwner
from kubectl_eksdoc.core.plan.dns.deployed import DEPLOYMENT, OBJECTS
from kubectl_eksdoc.core.plan.dns.facts import DnsFacts, dns_pods, inside, logs_of
from kubectl_eksdoc.core.plan.dns.judging.placed import on_spot
from kubectl_eksdoc.core.plan.dns.notices import notices_of
from kubectl_eksdoc.core.plan.interruption.plan import InterruptionPlan
from kubectl_eksdoc.core.plan.interruption.unread import noted
from kubectl_eksdoc.flows.ports import InsidePods, Objects

KINDS = (kinds.NODES, kinds.PODS, kinds.BUDGETS, kinds.ENDPOINT_SLICES, kinds.AUTOSCALERS)
"""What of the cluster is read as a whole."""

MeasuredBefore = Callable[[str, str], Propagation | None]
"""By the uid of the Deployment and the context: a rehearsal of a snapshot has the uids of the real cluster."""

MOST_PODS = 20
"""Into so many is looked: two requests each, and the others tell no more."""


def dns_facts(
    cluster: Cluster,
    objects: Objects,
    addon: AddonSide | Absent | Unknown,
    auto_mode: bool | Unknown,
    measured: MeasuredBefore = lambda uid, context: None,
) -> DnsFacts:
    """Without a look into the pods. `measured`: what an earlier measurement found; a snapshot and the demo answer the
    same on every machine, so nothing that one of them keeps counts there.

    Raises:
        ClusterError: the cluster cannot be talked to.
    """
    found = {of: objects.one(of) for of in OBJECTS}
    deployment = found[DEPLOYMENT]
    known = None
    if cluster.source is Source.LIVE and isinstance(deployment, Mapping):
        known = measured(text_at(deployment, "metadata", "uid"), cluster.identity.context)
    return DnsFacts(cluster, found, addon, auto_mode=auto_mode, measured=known)


def with_notices(facts: DnsFacts, look: Callable[[], InterruptionPlan]) -> DnsFacts:
    """With who hears of Spot notices, where CoreDNS is on Spot nodes of Karpenter; elsewhere nobody looks.

    Raises:
        AwsError, ClusterError: as `flows.interruption.look_at_interruption`.
    """
    if not any(node.owner is NodeOwner.KARPENTER for _, node in on_spot(facts)):
        return facts
    plan = look()
    return replace(facts, cluster=noted(facts.cluster, plan.facts), notices=notices_of(plan))


def with_pods(facts: DnsFacts, port: InsidePods) -> DnsFacts:
    """With what is found inside the pods; those that do not run well come first.

    Raises:
        ClusterError: the cluster cannot be talked to.
    """
    pods = sorted(dns_pods(facts.cluster), key=lambda pod: (pod.ready and not pod.restarted, pod.key))[:MOST_PODS]
    containers = port.containers([pod.key for pod in pods])
    asked = {pod.key: logs_of(pod, containers[pod.key]) for pod in pods}
    logs = port.logs([log for each in asked.values() for log in each])
    return replace(
        facts,
        inside={key: inside(containers[key], {log: logs[log] for log in each}) for key, each in asked.items()},
    )
