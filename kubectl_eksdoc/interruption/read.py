"""Reading of the facts about interruption handling: the cluster, single objects and AWS, in rounds, each once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kubectl_eksdoc.aws.queues import interruption_told, nothing_told
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import ObjectName
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.eks import part_of, partition_of
from kubectl_eksdoc.model.interruption import (
    AwsPlace,
    FiguresOf,
    InterruptionAnswers,
    InterruptionKeys,
    KarpenterInstall,
    Queue,
)
from kubectl_eksdoc.model.kinds import Absent, Unknown, known_or_unknown, with_later
from kubectl_eksdoc.model.nodes import LogOf
from kubectl_eksdoc.ports import ObjectReader, PodReader, Signs
from kubectl_eksdoc.session.session import ClusterNeeds, ClusterSession

from . import installs
from .delivery import candidates
from .installs import InterruptionFacts, effective
from .plan import InterruptionOptions, InterruptionPlan, noted, plan_interruption
from .rights import Role, role_of
from .spot import instance_of, is_spot

KINDS = (kinds.NODES, kinds.PODS, kinds.DEPLOYMENTS, kinds.DAEMON_SETS, kinds.BUDGETS)
"""Kinds that are listed completely."""

NEEDS = ClusterNeeds("interruption", KINDS, signs=True)


def look_at_interruption(session: ClusterSession, wish: InterruptionOptions, proxied: bool = True) -> InterruptionPlan:
    """Read the facts and judge them. `use_proxy` False: no pod is asked for its metrics.

    Raises:
        AwsError: no request can be made at all.
        ClusterError: the cluster cannot be reached.
    """
    facts = interruption_facts(session, wish.queue, proxied)
    return plan_interruption(replace(facts, cluster=noted(facts.cluster, facts)), wish)


def interruption_facts(session: ClusterSession, queue: str = "", proxied: bool = True) -> InterruptionFacts:
    """`queue`: the name from the user, "" for the one that Karpenter is configured with."""
    cluster, place = session.cluster, _place(session)
    found = installs.deployments(cluster)
    install = _install(cluster, session.objects, found[0]) if found else None
    spot = tuple(sorted({ident for node in cluster.nodes if is_spot(node) and (ident := instance_of(node))}))
    facts = InterruptionFacts(
        cluster,
        place=place,
        others=tuple(f"{each.namespace}/{each.name}" for each in found[1:]),
        events=session.signs.events() if spot else (),
    )
    if not isinstance(install, KarpenterInstall):
        if install is not None:
            facts = replace(facts, install=known_or_unknown(install))
        return replace(facts, told=_tell(session, InterruptionKeys(notices=spot)))
    said = effective(install)
    proposed = "" if isinstance(said.used, Unknown) else install.cluster_name or place.cluster
    facts = replace(facts, install=install, queue=queue or said.queue or proposed, logs=_logs(install, session.inside))
    facts = replace(facts, metrics=_metrics(install, session.signs) if proxied else {})
    return _told(facts, install, session, spot)


def _place(session: ClusterSession) -> AwsPlace:
    eks, who = session.eks, session.cluster.identity
    if isinstance(eks, Unknown):
        return AwsPlace(who.account, who.region, partition_of(who.region), who.cluster)
    return AwsPlace(eks.account, eks.region, part_of(eks.arn, 1), eks.name, eks.auto_mode)


def _tell(session: ClusterSession, keys: InterruptionKeys) -> InterruptionAnswers:
    found = session.ask(interruption_told, keys)
    return nothing_told(found, keys) if isinstance(found, Unknown) else found


def _install(cluster: Cluster, objects: ObjectReader, of: ObjectName) -> KarpenterInstall | Absent | Unknown:
    deployment = objects.one(of)
    if not isinstance(deployment, dict):
        return deployment
    settings = objects.one(installs.config_map(of))
    account = objects.one(installs.service_account(of, deployment))
    return installs.installed(of, deployment, settings, account, installs.pods_of(cluster, of))


def _metrics(install: KarpenterInstall, signs: Signs) -> Mapping[str, str | Absent | Unknown]:
    port = install.metrics_port
    return {pod: signs.metrics(pod, port) for pod in install.pods} if port else {}


def _logs(install: KarpenterInstall, inside: PodReader) -> Mapping[str, str | Absent | Unknown]:
    """Logs of each pod, also of the previous container where the current one is not Ready: up to v1.3 the previous one
    logs the reason. The log of an ended container does not matter where another one serves instead."""
    containers = inside.containers(install.pods)
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
    for log, text in inside.logs(asked).items():
        key = f"{log.namespace}/{log.pod}"
        before = logs.get(key)
        if isinstance(before, str) and isinstance(text, str):
            logs[key] = f"{before}\n{text}"
        elif not isinstance(before, str):
            logs[key] = text
    return logs


def _told(
    facts: InterruptionFacts, install: KarpenterInstall, session: ClusterSession, spot: tuple[str, ...]
) -> InterruptionFacts:
    """First everything with a known name, then what these answers name: targets of rules, the key, policies of the
    role."""
    account = (install.namespace, install.service_account)
    told = _tell(session, InterruptionKeys(queue=facts.queue, rules=True, identity=account, notices=spot))
    facts = replace(facts, told=told)
    role, rules = role_of(install, told.identity), candidates(facts, install.version)
    queue = told.queue if isinstance(told.queue, Queue) else None
    known = facts.queue if queue is not None else ""
    more = InterruptionKeys(
        targets=rules,
        key=queue.key if queue is not None else "",
        policies=role.arn if isinstance(role, Role) else "",
        figures=FiguresOf(known, rules, facts.cluster.observed_at) if known or rules else None,
    )
    return replace(facts, told=with_later(told, _tell(session, more)))
