"""Whether Karpenter hears of interruptions: the cluster, single objects of it, and AWS's side, in rounds, each once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from kubectl_eksdoc.flows.ports import InsidePods, Objects
from kubectl_eksdoc.interruption import installs
from kubectl_eksdoc.interruption.delivery import candidates
from kubectl_eksdoc.interruption.installs import InterruptionFacts, effective
from kubectl_eksdoc.interruption.plan import InterruptionPlan, Wish, noted, plan_interruption
from kubectl_eksdoc.interruption.rights import Role, role_of
from kubectl_eksdoc.interruption.spot import instance_of, is_spot
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Named
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.aws.queues import FiguresOf, InterruptionKeys, InterruptionTold, Queue
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.interruption import KarpenterInstall, Place, SpotEvent
from kubectl_eksdoc.model.pods import LogOf

KINDS = (kinds.NODES, kinds.PODS, kinds.DEPLOYMENTS, kinds.DAEMON_SETS, kinds.BUDGETS)
"""What of the cluster is read as a whole."""

Tell = Callable[[InterruptionKeys], InterruptionTold]
"""AWS: each answer, or why there is none."""


class Signs(Protocol):
    """What a cluster says of interruptions besides its objects; a dump of one has little of it."""

    def events(self) -> tuple[SpotEvent, ...] | Unknown:
        """Those of Karpenter, and of the node termination handler, about interruptions.

        Raises:
            ClusterError: the cluster cannot be talked to.
        """
        ...

    def metrics(self, pod: str, port: int) -> str | Absent | Unknown:
        """What a pod (``namespace/name``) counts, in the format of Prometheus. Raises: as `events`."""
        ...


@dataclass(frozen=True, slots=True)
class Around:
    """Whoever answers what is asked beside the lists of the cluster. `proxied` False: no pod is asked for what it
    counts."""

    objects: Objects
    inside: InsidePods
    signs: Signs
    tell: Tell
    place: Place = Place()
    proxied: bool = True


def look_at_interruption(cluster: Cluster, around: Around, wish: Wish) -> InterruptionPlan:
    """
    Raises:
        AwsError: nothing can be asked at all.
        ClusterError: the cluster cannot be talked to.
    """
    facts = interruption_facts(cluster, around, wish.queue)
    return plan_interruption(replace(facts, cluster=noted(facts.cluster, facts)), wish)


def interruption_facts(cluster: Cluster, around: Around, queue: str = "") -> InterruptionFacts:
    """`queue`: the name that is asked for, "" for the one that Karpenter is configured with."""
    found = installs.deployments(cluster)
    install = _install(cluster, around.objects, found[0]) if found else None
    spot = tuple(sorted({ident for node in cluster.nodes if is_spot(node) and (ident := instance_of(node))}))
    facts = InterruptionFacts(
        cluster,
        place=around.place,
        others=tuple(f"{each.namespace}/{each.name}" for each in found[1:]),
        events=around.signs.events() if spot else (),
    )
    if install is None:
        return replace(facts, told=around.tell(InterruptionKeys(instances=spot)))
    if not isinstance(install, KarpenterInstall):
        unknown = install if isinstance(install, Unknown) else Unknown(install.said)
        return replace(facts, install=unknown, told=around.tell(InterruptionKeys(instances=spot)))
    said = effective(install)
    proposed = "" if isinstance(said.used, Unknown) else install.cluster_name or around.place.cluster
    name = queue or said.queue or proposed
    facts = replace(facts, install=install, queue=name, logs=_logs(install, around), metrics=_metrics(install, around))
    return _told(facts, install, around.tell, spot)


def _install(cluster: Cluster, objects: Objects, of: Named) -> KarpenterInstall | Absent | Unknown:
    deployment = objects.one(of)
    if not isinstance(deployment, dict):
        return deployment
    settings = objects.one(installs.config_map(of))
    account = objects.one(installs.service_account(of, deployment))
    return installs.installed(of, deployment, settings, account, installs.pods_of(cluster, of))


def _metrics(install: KarpenterInstall, around: Around) -> Mapping[str, str | Absent | Unknown]:
    port = install.metrics_port if around.proxied else None
    return {pod: around.signs.metrics(pod, port) for pod in install.pods} if port else {}


def _logs(install: KarpenterInstall, around: Around) -> Mapping[str, str | Absent | Unknown]:
    """Logs of those that ended before as well, where the one after is not ready: up to v1.3 that is where it says why.
    What a container that ended has said is over where another one serves in its place."""
    containers = around.inside.containers(install.pods)
    asked = [
        LogOf(pod.partition("/")[0], pod.partition("/")[2], container.name, previous)
        for pod, said in containers.items()
        if isinstance(said, tuple)
        for container in said
        if container.name == install.container
        for previous in ((True, False) if container.ended_before and not container.ready else (False,))
    ]
    logs: dict[str, str | Absent | Unknown] = {
        pod: said for pod, said in containers.items() if isinstance(said, (Absent, Unknown))
    }
    for log, text in around.inside.logs(asked).items():
        key = f"{log.namespace}/{log.pod}"
        before = logs.get(key)
        if isinstance(before, str) and isinstance(text, str):
            logs[key] = f"{before}\n{text}"
        elif not isinstance(before, str):
            logs[key] = text
    return logs


def _told(facts: InterruptionFacts, install: KarpenterInstall, tell: Tell, spot: tuple[str, ...]) -> InterruptionFacts:
    """First whatever has a name, then what these answers name: targets of rules, the key, the role's policies."""
    account = (install.namespace, install.service_account)
    told = tell(InterruptionKeys(queue=facts.queue, rules=True, account=account, instances=spot))
    facts = replace(facts, told=told)
    role, rules = role_of(install, told.identity), candidates(facts, install.version)
    queue = told.queue if isinstance(told.queue, Queue) else None
    known = facts.queue if queue is not None else ""
    more = InterruptionKeys(
        targets=rules,
        key=queue.key if queue is not None else "",
        role=role.arn if isinstance(role, Role) else "",
        figures=FiguresOf(known, rules, facts.cluster.observed_at) if known or rules else None,
    )
    return replace(facts, told=told.and_also(tell(more)))
