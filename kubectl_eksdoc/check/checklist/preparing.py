"""What comes before everything: what is tried elsewhere, read and rehearsed."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.amazon.upgrades.path import ROLLBACK_LEAVES
from kubectl_eksdoc.amazon.upgrades.sourced import in_words
from kubectl_eksdoc.check.checklist.asking import check, eks
from kubectl_eksdoc.check.checklist.steps import Phase, UpgradeStep
from kubectl_eksdoc.check.checks.programs import installed
from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.model.asked import Confidence
from kubectl_eksdoc.model.commands import shell
from kubectl_eksdoc.model.knowledge import KnowledgeSource

_BEST = KnowledgeSource("EKS best practices, cluster-upgrades", Confidence.MEDIUM)
_INSIGHTS = KnowledgeSource("EKS user guide, cluster-insights")
_ROLLBACK = KnowledgeSource("EKS user guide, rollback-cluster", Confidence.MEDIUM)


def preparing(facts: CheckFacts) -> Iterator[UpgradeStep]:
    """In this order: what takes longest first."""
    target = in_words(facts.way.target)
    yield from _elsewhere(target)
    yield from _read(facts, target)
    yield from _rehearsed(facts, target)


def _elsewhere(target: str) -> Iterator[UpgradeStep]:
    yield UpgradeStep(
        Phase.PREPARE,
        "Go this way on a cluster that is not production first",
        "what no table knows is found there: applications, operators and pipelines of your own",
        done_when=f"that cluster is at {target} and its checklist is at its end",
        source=_BEST,
    )
    yield UpgradeStep(
        Phase.PREPARE,
        "Test the applications there",
        "a cluster that is well says nothing of what runs in it",
        done_when="their own tests pass on the new version, with nodes being replaced meanwhile",
        source=_BEST,
    )


def _read(facts: CheckFacts, target: str) -> Iterator[UpgradeStep]:
    yield UpgradeStep(
        Phase.PREPARE,
        "Check the manifests that are deployed from outside",
        "an object is served in every version of its API: what pipelines, charts and Git hold is not seen in the"
        " cluster, and fails at the next deployment",
        (check("--target", target, "-f", "manifests/"),),
        "no manifest uses an API that the target does not serve",
        source=_INSIGHTS,
    )
    yield UpgradeStep(
        Phase.PREPARE,
        "Read what the release notes on the way warn of",
        "some warnings concern what nothing here can see",
        (check("--target", target, "--only", "release-note", "-o", "wide"),),
        "each was read by the people it concerns",
        codes=("release-note",),
    )
    yield UpgradeStep(
        Phase.PREPARE,
        "Refresh the EKS upgrade insights",
        "EKS sees who asked for removed APIs in the last 30 days; it looks once a day by itself",
        (eks(facts, "start-insights-refresh"),),
        "no insight for the target is an ERROR",
        eks(facts, "list-insights", "--filter", f"categories=UPGRADE_READINESS,kubernetesVersions={target}"),
        source=_INSIGHTS,
    )


def _rehearsed(facts: CheckFacts, target: str) -> Iterator[UpgradeStep]:
    yield UpgradeStep(
        Phase.PREPARE,
        "Have a copy of all objects outside of the cluster",
        f"a rollback of the control plane leaves as they are: {', '.join(ROLLBACK_LEAVES)}",
        done_when="Git, or a backup that was restored once for a trial, has what the cluster has",
        source=_ROLLBACK,
    )
    if facts.cluster.nodes:
        yield UpgradeStep(
            Phase.PREPARE,
            "Rehearse the replacement of the nodes",
            "budgets and places that hold it up are fixed during working hours",
            (shell("kubectl", "eksdoc", "rehearse", "--older-than", f"v{target}"),),
            "the rehearsal ends with every node empty",
        )
    if installed(facts):
        yield UpgradeStep(
            Phase.PREPARE,
            "See what the update of each add-on would change",
            "an update resets fields that were set by hand; with configuration values they stay",
            (shell("kubectl", "eksdoc", "addon-diff", "--all"),),
            "what is to stay is in the configuration values",
        )
