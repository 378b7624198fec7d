"""The words that the commands of the checklist share: which cluster, which version, where it is."""

from __future__ import annotations

from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.check.wording import in_region, name_of
from kubectl_eksdoc.model.commands import shell


def eks(facts: CheckFacts, verb: str, *more: str, name: str = "--cluster-name") -> str:
    """``aws eks VERB --cluster-name demo-shop --region eu-west-1 …``; `verb` may be of two words (``wait
    cluster-active``), `name` the flag by which it is told the cluster."""
    return shell("aws", "eks", *verb.split(), name, name_of(facts), *in_region(facts), *more)


def check(*more: str) -> str:
    """``kubectl eksdoc check --target 1.34``."""
    return shell("kubectl", "eksdoc", "check", *more)
