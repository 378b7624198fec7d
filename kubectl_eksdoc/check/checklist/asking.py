"""The words that the commands of the checklist share: which cluster, which version, where it is."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.check.checklist.steps import StepForm
from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.check.wording import in_region, name_of
from kubectl_eksdoc.model.commands import shell
from kubectl_eksdoc.model.nodes import EKSCTL_GROUP, Node


def eks(facts: CheckFacts, verb: str, *more: str, name: str = "--cluster-name") -> str:
    """``aws eks VERB --cluster-name demo-shop --region eu-west-1 …``; `verb` may be of two words (``wait
    cluster-active``), `name` the flag by which it is told the cluster."""
    return shell("aws", "eks", *verb.split(), name, name_of(facts), *in_region(facts), *more)


def terraform(resource: str, argument: str, value: str) -> StepForm:
    """Nothing in the cluster or in AWS tells whether Terraform manages it: its state does."""
    text = f'Set {argument} = "{value}" in its {resource}, or in what its module passes there: awscli would make drift.'
    return StepForm("Terraform", text, ("terraform plan -out=upgrade.tfplan", "terraform apply upgrade.tfplan"))


def by_eksctl(nodes: Iterable[Node]) -> bool:
    """Whether eksctl made one of their groups: it labels the nodes of managed ones as well."""
    return any(EKSCTL_GROUP in node.labels for node in nodes)


def eksctl(facts: CheckFacts, verb: str, *more: str, name: str = "--cluster") -> StepForm:
    """`name`: the flag by which it is told the cluster."""
    command = shell("eksctl", *verb.split(), name, name_of(facts), *in_region(facts), *more)
    return StepForm("eksctl", "It made the groups of this cluster, and keeps a stack for each.", (command,))


def check(*more: str) -> str:
    """``kubectl eksdoc check --target 1.34``."""
    return shell("kubectl", "eksdoc", "check", *more)
