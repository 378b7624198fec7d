"""Reading of the facts about interruption handling: the cluster, single objects and AWS, in rounds, each once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kubectl_eksdoc.aws.queues import read_interruption_answers, unknown_interruption_answers
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import ObjectName
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.eks import arn_part, aws_partition
from kubectl_eksdoc.model.interruption import (
    AwsLocation,
    InterruptionAnswers,
    InterruptionQuery,
    KarpenterInstall,
    MetricsQuery,
    Queue,
)
from kubectl_eksdoc.model.kinds import Absent, Unknown, absent_as_unknown, merge_answers
from kubectl_eksdoc.model.nodes import LogKey
from kubectl_eksdoc.ports import InterruptionReader, ObjectReader, PodReader
from kubectl_eksdoc.session.session import ClusterNeeds, ClusterSession

from . import installs
from .delivery import candidate_rules
from .installs import InterruptionFacts, effective_setting
from .plan import InterruptionOptions, InterruptionPlan, plan_interruption, with_notes
from .rights import Role, karpenter_role
from .spot import instance_of, is_spot

KINDS = (kinds.NODES, kinds.PODS, kinds.DEPLOYMENTS, kinds.DAEMON_SETS, kinds.BUDGETS)
"""Kinds that are listed completely."""

NEEDS = ClusterNeeds("interruption", KINDS, interruptions=True)


def read_interruption(
    session: ClusterSession, options: InterruptionOptions, use_proxy: bool = True
) -> InterruptionPlan:
    """Read the facts and judge them. `use_proxy` False: no pod is asked for its metrics.

    Raises:
        AwsError: no request can be made at all.
        ClusterError: the cluster cannot be reached.
    """
    facts = interruption_facts(session, options.queue, use_proxy)
    return plan_interruption(replace(facts, cluster=with_notes(facts.cluster, facts)), options)


def interruption_facts(session: ClusterSession, queue: str = "", use_proxy: bool = True) -> InterruptionFacts:
    """`queue`: the name from the user, "" for the one that Karpenter is configured with."""
    cluster, place = session.cluster, _place(session)
    deployments = installs.karpenter_deployments(cluster)
    install = _install(cluster, session.objects, deployments[0]) if deployments else None
    spot = tuple(
        sorted({instance_id for node in cluster.nodes if is_spot(node) and (instance_id := instance_of(node))})
    )
    facts = InterruptionFacts(
        cluster,
        place=place,
        others=tuple(f"{each.namespace}/{each.name}" for each in deployments[1:]),
        events=session.interruption_reader.events() if spot else (),
    )
    if not isinstance(install, KarpenterInstall):
        if install is not None:
            facts = replace(facts, install=absent_as_unknown(install))
        return replace(facts, told=_ask_aws(session, InterruptionQuery(notices=spot)))
    setting = effective_setting(install)
    proposed = "" if isinstance(setting.state, Unknown) else install.cluster_name or place.cluster
    facts = replace(
        facts, install=install, queue=queue or setting.queue or proposed, logs=_logs(install, session.pod_reader)
    )
    facts = replace(facts, metrics=_metrics(install, session.interruption_reader) if use_proxy else {})
    return _with_aws_answers(facts, install, session, spot)


def _place(session: ClusterSession) -> AwsLocation:
    eks, identity = session.eks, session.cluster.identity
    if isinstance(eks, Unknown):
        return AwsLocation(identity.account, identity.region, aws_partition(identity.region), identity.cluster)
    return AwsLocation(eks.account, eks.region, arn_part(eks.arn, 1), eks.name, eks.auto_mode)


def _ask_aws(session: ClusterSession, keys: InterruptionQuery) -> InterruptionAnswers:
    response = session.ask(read_interruption_answers, keys)
    return unknown_interruption_answers(response, keys) if isinstance(response, Unknown) else response


def _install(
    cluster: Cluster, objects: ObjectReader, deployment_name: ObjectName
) -> KarpenterInstall | Absent | Unknown:
    deployment = objects.read_object(deployment_name)
    if not isinstance(deployment, dict):
        return deployment
    settings = objects.read_object(installs.config_map(deployment_name))
    account = objects.read_object(installs.service_account(deployment_name, deployment))
    return installs.read_install(
        deployment_name, deployment, settings, account, installs.pods_of(cluster, deployment_name)
    )


def _metrics(install: KarpenterInstall, evidence: InterruptionReader) -> Mapping[str, str | Absent | Unknown]:
    port = install.metrics_port
    return {pod: evidence.metrics(pod, port) for pod in install.pods} if port else {}


def _logs(install: KarpenterInstall, pod_reader: PodReader) -> Mapping[str, str | Absent | Unknown]:
    """Logs of each pod, also of the previous container where the current one is not Ready: up to v1.3 the previous one
    logs the reason. The log of an ended container does not matter where another one serves instead."""
    containers = pod_reader.containers(install.pods)
    requests = [
        LogKey(pod.partition("/")[0], pod.partition("/")[2], container.name, previous)
        for pod, pod_containers in containers.items()
        if isinstance(pod_containers, tuple)
        for container in pod_containers
        if container.name == install.container
        for previous in ((True, False) if container.ended_before and not container.ready else (False,))
    ]
    logs: dict[str, str | Absent | Unknown] = {
        pod: pod_containers
        for pod, pod_containers in containers.items()
        if isinstance(pod_containers, (Absent, Unknown))
    }
    for log, text in pod_reader.logs(requests).items():
        key = f"{log.namespace}/{log.pod}"
        earlier = logs.get(key)
        if isinstance(earlier, str) and isinstance(text, str):
            logs[key] = f"{earlier}\n{text}"
        elif not isinstance(earlier, str):
            logs[key] = text
    return logs


def _with_aws_answers(
    facts: InterruptionFacts, install: KarpenterInstall, session: ClusterSession, spot: tuple[str, ...]
) -> InterruptionFacts:
    """First everything with a known name, then what these answers name: targets of rules, the key, policies of the
    role."""
    account = (install.namespace, install.service_account)
    answers = _ask_aws(session, InterruptionQuery(queue=facts.queue, rules=True, identity=account, notices=spot))
    facts = replace(facts, told=answers)
    role, rules = karpenter_role(install, answers.identity), candidate_rules(facts, install.version)
    queue = answers.queue if isinstance(answers.queue, Queue) else None
    known = facts.queue if queue is not None else ""
    more_keys = InterruptionQuery(
        targets=rules,
        key=queue.key if queue is not None else "",
        policies=role.arn if isinstance(role, Role) else "",
        figures=MetricsQuery(known, rules, facts.cluster.observed_at) if known or rules else None,
    )
    return replace(facts, told=merge_answers(answers, _ask_aws(session, more_keys)))
