"""The words that the commands of the checklist share: which cluster, which version, where it is."""

from __future__ import annotations

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.commands import shell
from kubectl_eksdoc.core.plan.check.facts import CheckFacts
from kubectl_eksdoc.core.plan.check.wording import name_of


def eks(facts: CheckFacts, verb: str, *more: str, name: str = "--cluster-name") -> str:
    """``aws eks VERB --cluster-name demo-shop --region eu-west-1 …``; `verb` may be of two words (``wait
    cluster-active``), `name` the flag by which it is told the cluster."""
    region = facts.cluster.identity.region if isinstance(facts.eks, Unknown) else facts.eks.region
    where = ("--region", region) if region else ()
    return shell("aws", "eks", *verb.split(), name, name_of(facts), *where, *more)


def check(*more: str) -> str:
    """``kubectl eksdoc check --target 1.34``."""
    return shell("kubectl", "eksdoc", "check", *more)
