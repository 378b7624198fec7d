"""How the latest updates of a cluster or a node group stand."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.check.wording import ago, aws, name_of
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws.addons import Update, UpdateHistory

IN_PROGRESS, FAILED, SUCCESSFUL = "InProgress", "Failed", "Successful"
"""As EKS writes the status of an update (botocore, eks/2017-11-01, UpdateStatus)."""


@dataclass(frozen=True, slots=True)
class Standing:
    """`unknown`: one of them that could not be described; `failed`: the latest, where it did not succeed."""

    unknown: Unknown | None
    under_way: tuple[Update, ...]
    failed: Update | None


def standing(history: UpdateHistory) -> Standing:
    known = [each for each in history.updates if isinstance(each, Update)]
    unknown = next((each for each in history.updates if isinstance(each, Unknown)), None)
    failed = known[0] if known and known[0].status == FAILED else None
    return Standing(unknown, tuple(each for each in known if each.status == IN_PROGRESS), failed)


def begun(facts: CheckFacts, each: Update) -> str:
    """``, begun 5 hours ago``; "" where it is not told."""
    return "" if each.begun is None else f", begun {ago(facts.cluster.observed_at, each.begun)}"


def describe(facts: CheckFacts, each: Update, *of: str) -> str:
    """The command that shows it; `of`: the words that say whose it is, none for the cluster's own."""
    return aws(facts, "eks", "describe-update", "--name", name_of(facts), *of, "--update-id", each.id)
