"""What comes at the end: Fargate's pods, and whether all is where it should be."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.amazon.upgrades.sourced import in_words, minor_of
from kubectl_eksdoc.check.checklist.asking import check
from kubectl_eksdoc.check.checklist.steps import Phase, UpgradeStep
from kubectl_eksdoc.check.checks.running import maker
from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.check.wording import number
from kubectl_eksdoc.model.commands import kubectl, shell
from kubectl_eksdoc.model.knowledge import KnowledgeSource
from kubectl_eksdoc.model.nodes import NodeOwner
from kubectl_eksdoc.model.versions import Version

_GUIDE = KnowledgeSource("EKS user guide, update-cluster and fargate-pod-patching")
_RESTARTED = ("Deployment", "StatefulSet")
_MOST = 10
"""Commands that one step has."""


def fargate(facts: CheckFacts) -> Iterator[UpgradeStep]:
    """The owners of the pods whose nodes are older than the target."""
    yield from restarted(facts, facts.way.target, Phase.NODES)


def restarted(facts: CheckFacts, version: Version, phase: Phase, because: str = "") -> Iterator[UpgradeStep]:
    """The owners of the pods whose nodes are older than `version`, which the control plane has then."""
    old = {
        node.name
        for node in facts.cluster.nodes
        if node.owner is NodeOwner.FARGATE and (node.kubelet is None or minor_of(node.kubelet) < version)
    }
    pods = [pod for pod in facts.cluster.pods if pod.node in old and not pod.finished]
    if not pods:
        return
    owners = sorted({maker(pod) for pod in pods}, key=lambda each: (each.namespace, each.kind, each.name))
    restarts = [
        kubectl("rollout restart", each.kind.lower(), each.name, each.namespace)
        for each in owners
        if each.kind in _RESTARTED
    ]
    others = [f"{each.kind} {each}" for each in owners if each.kind not in _RESTARTED]
    more = f" {len(restarts) - _MOST} more owners go in the same way." if len(restarts) > _MOST else ""
    by_hand = f" Pods of no such owner are deleted one by one: {', '.join(others[:_MOST])}." if others else ""
    yield UpgradeStep(
        phase,
        f"Restart the owners of {number(len(pods), 'pod')} on Fargate",
        f"{because}a Fargate node has the version that the control plane had when its pod started, and is not drained;"
        " the restart of a Deployment or StatefulSet keeps to its own rollout strategy: no PodDisruptionBudget holds it"
        f" back.{more}{by_hand}",
        tuple(restarts[:_MOST]),
        f"every Fargate node has {in_words(version)}",
        shell("kubectl", "get", "nodes", "-l", "eks.amazonaws.com/compute-type=fargate"),
        at=version,
        source=_GUIDE,
    )


def verified(facts: CheckFacts) -> Iterator[UpgradeStep]:
    target = in_words(facts.way.target)
    yield UpgradeStep(
        Phase.END,
        "See that nothing was left behind",
        "an upgrade is at its end when nodes, kube-proxy and controllers have followed, and what was held back or"
        " scaled down for it is as it was",
        (check("--target", target, "--gate", "after"), check("--target", target)),
        "both exit with 0",
        at=facts.way.target,
        codes=() if facts.way.steps else ("nodes-behind",),
    )
