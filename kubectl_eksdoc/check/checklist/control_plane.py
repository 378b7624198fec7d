"""The control plane's own steps: what is looked at again before each, the update, and the week after it."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.amazon.upgrades.path import FREE_ADDRESSES, ONE_AT_A_TIME, ROLLBACK_FOR
from kubectl_eksdoc.amazon.upgrades.sourced import in_words
from kubectl_eksdoc.check.areas import Gate
from kubectl_eksdoc.check.checklist.asking import by_eksctl, check, eks, eksctl, terraform
from kubectl_eksdoc.check.checklist.steps import Phase, UpgradeStep
from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.check.wording import aws
from kubectl_eksdoc.model.asked import Confidence
from kubectl_eksdoc.model.commands import shell
from kubectl_eksdoc.model.knowledge import KnowledgeSource
from kubectl_eksdoc.model.versions import Version

_ROLLBACK = KnowledgeSource("EKS user guide, rollback-cluster; botocore eks, RollbackConfig", Confidence.MEDIUM)


_OF_EKSCTL = ("upgrade cluster", "--approve", "--version")


def looked_at(facts: CheckFacts, step: Version, first: bool) -> UpgradeStep:
    """What is found now, for the whole way, stands before the first step; before each other it is looked at anew."""
    gate = Gate.BEFORE_CONTROL_PLANE
    return UpgradeStep(
        Phase.BEFORE_CONTROL_PLANE,
        f"Fix what blocks {in_words(step)}" if first else f"Look again before {in_words(step)}",
        "what is broken now is not better found in the middle of an upgrade"
        if first
        else "weeks may be between two versions, and the cluster changes",
        (check("--target", in_words(step), "--gate", gate.value),),
        "it exits with 0",
        at=step,
        gate=gate if first else None,
    )


def update(facts: CheckFacts, step: Version) -> Iterator[UpgradeStep]:
    version = in_words(step)
    if not facts.offers(step):
        yield UpgradeStep(
            Phase.CONTROL_PLANE,
            f"Upgrade the control plane to {version}",
            f"EKS does not offer {version}, so no command updates to it yet; wait until EKS lists it",
            done_when=f"EKS says ACTIVE and {version}",
            verify=aws(facts, "eks", "describe-cluster-versions"),
            at=step,
            source=ONE_AT_A_TIME,
        )
        return
    yield UpgradeStep(
        Phase.CONTROL_PLANE,
        f"Upgrade the control plane to {version}",
        f"one minor version at a time; it needs up to {FREE_ADDRESSES} free addresses in the cluster's subnets, and the"
        " API server may be away for moments",
        (
            eks(facts, "update-cluster-version", "--kubernetes-version", version, name="--name"),
            eks(facts, "wait cluster-active", name="--name"),
        ),
        f"EKS says ACTIVE and {version}",
        eks(facts, "describe-cluster", "--query", "cluster.[status,version]", "--output", "text", name="--name"),
        at=step,
        source=ONE_AT_A_TIME,
        forms=(
            *((eksctl(facts, *_OF_EKSCTL, version, name="--name"),) if by_eksctl(facts.cluster.nodes) else ()),
            terraform("aws_eks_cluster", "version", version),
        ),
    )


def soak(facts: CheckFacts, before: Version, step: Version) -> UpgradeStep:
    """Only the latest step can be taken back, by one minor, and only while nothing newer runs below it."""
    days = ROLLBACK_FOR.days
    back = eks(facts, "update-cluster-version", "--kubernetes-version", in_words(before), name="--name")
    return UpgradeStep(
        Phase.AFTER_CONTROL_PLANE,
        f"Let it run with {in_words(step)} for some days, before anything follows it",
        (
            f"for {days} days EKS takes the control plane back to {in_words(before)}, as long as no node is newer and "
            "no pod is on Fargate; downgrade add-ons that were upgraded first, and objects stay as they are. "
            "After the next version no rollback to it is possible. Rollback: "
            f"{back}"
        ),
        done_when="errors of the API server, of controllers and of applications are as before",
        verify=shell("kubectl", "get", "--raw", "/readyz?verbose"),
        at=step,
        source=_ROLLBACK,
    )
