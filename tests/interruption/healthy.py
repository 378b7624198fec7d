"""Facts of a cluster in which Karpenter receives all interruption events; tests remove some of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kubectl_eksdoc.amazon import interruption
from kubectl_eksdoc.interruption.installs import InterruptionFacts
from kubectl_eksdoc.interruption.plan import InterruptionPlan, plan_interruption
from kubectl_eksdoc.interruption.repair import allow_statement, event_pattern, rights_policy
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.interruption import (
    AwsLocation,
    DeliveryMetrics,
    EventRule,
    InterruptionAnswers,
    KarpenterInstall,
    Queue,
    QueueSetting,
    RolePolicies,
    RuleTarget,
)
from kubectl_eksdoc.model.nodes import NODE_POOL, SYSTEM_CRITICAL_PRIORITY, Node, Pod
from kubectl_eksdoc.model.quantities import parse_version
from tests.builders import a_cluster, a_node, a_pod

PLACE = AwsLocation("111122223333", "eu-west-1", "aws", "prod")
ARN = PLACE.arn("sqs", "prod")
ROLE = "arn:aws:iam::111122223333:role/karpenter"
LEADER = "kube-system/karpenter-0"


def an_install(version: str = "1.5.0", **more: Any) -> KarpenterInstall:
    """An installation with its queue in the variable, and with a role by IRSA."""
    fields: dict[str, Any] = {
        "variable": QueueSetting("prod", "variable INTERRUPTION_QUEUE"),
        "container": "controller",
        "cluster_name": "prod",
        "service_account": "karpenter",
        "irsa": ROLE,
        "pods": (LEADER,),
    } | more
    return KarpenterInstall("kube-system", "karpenter", parse_version(version), version, **fields)


def a_queue(**more: Any) -> Queue:
    fields: dict[str, Any] = {"policy": {"Statement": [allow_statement(ARN)]}, "retention_s": 300} | more
    return Queue("prod", "https://sqs.eu-west-1.amazonaws.com/111122223333/prod", ARN, **fields)


def the_rules(version: str = "1.5.0") -> tuple[EventRule, ...]:
    kinds = interruption.event_kinds_of(parse_version(version))
    return tuple(
        EventRule(kind.short, PLACE.arn("events", f"rule/{kind.short}"), event_pattern(kind)) for kind in kinds
    )


def told(install: KarpenterInstall | None = None, **more: Any) -> InterruptionAnswers:
    """An AWS with all resources for `install`."""
    given = install or an_install()
    rules = the_rules(given.tag)
    fields: dict[str, Any] = {
        "queue": a_queue(),
        "rules": rules,
        "targets": {rule.name: (RuleTarget("1", ARN),) for rule in rules},
        "identity": ROLE,
        "policies": RolePolicies(ROLE, (("own", rights_policy(ARN)),)),
        "figures": DeliveryMetrics(empty=60),
        "notices": {},
    } | more
    return InterruptionAnswers(**fields)


def facts(
    install: Any = None,
    cluster: Cluster | None = None,
    logs: dict[str, Any] | None = None,
    **more: Any,
) -> InterruptionFacts:
    """The facts; `more` are facts of AWS."""
    given = an_install() if install is None else install
    aws = told(given if isinstance(given, KarpenterInstall) else None, **more)
    whole = cluster if cluster is not None else a_cluster(nodes=[a_spot_node()], pods=[])
    said = {LEADER: "started\n"} if logs is None else logs
    return InterruptionFacts(whole, given, place=PLACE, queue="prod", told=aws, logs=said)


def planned(install: Any = None, cluster: Cluster | None = None, **more: Any) -> InterruptionPlan:
    return plan_interruption(facts(install, cluster, **more))


def a_spot_node(name: str = "spot-0", **more: Any) -> Node:
    labels = {NODE_POOL: "general", "karpenter.sh/capacity-type": "spot"} | more.pop("labels", {})
    return a_node(name, group="", labels=labels, **more)


def a_dns_pod(name: str, node: str, **more: Any) -> Pod:
    more.setdefault("labels", {"k8s-app": "kube-dns", "pod-template-hash": "abc"})
    owner = "ReplicaSet/coredns-abc"
    return a_pod(name, "kube-system", owner=owner, node=node, priority=SYSTEM_CRITICAL_PRIORITY, **more)


def statuses(plan: InterruptionPlan) -> dict[str, str]:
    """The statuses of links that do not pass, by name; the missing activity of a broken chain is left out."""
    return {
        each.name: "-" if each.status is None else each.status.value
        for each in plan.links
        if (each.status is None and each.name != "sign of life") or (each.status and each.status.value != "pass")
    }


def codes_of(plan: InterruptionPlan, status: str) -> list[str]:
    return sorted({each.code.name for each in plan.findings if each.status.value == status})


def with_rule(name: str, rules: Iterable[EventRule], **more: Any) -> tuple[EventRule, ...]:
    return tuple(replace(rule, **more) if rule.name == name else rule for rule in rules)
