"""Objects that are printed for kubectl: roles for rights that are missing, all of an errand, budgets to begin with."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Sequence
from types import MappingProxyType

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.permissions import Permission
from kubectl_eksdoc.model.workloads import Workload
from kubectl_eksdoc.report.encode import Json, plain_value, to_json, to_yaml
from kubectl_eksdoc.report.markdown import block
from kubectl_eksdoc.report.report import OwnFormat, Report
from kubectl_eksdoc.report.text import Look, clean

from .objects import KINDS, InClusterCommand

_API = "rbac.authorization.k8s.io/v1"


def roles(name: str, permissions: Iterable[Permission]) -> str:
    """A ClusterRole of what is needed everywhere, and a Role for each namespace of the others; "" for none. They say
    nothing of who is bound to them."""
    by_namespace: dict[str, list[Permission]] = {}
    for each in permissions:
        by_namespace.setdefault(each.namespace, []).append(each)
    return "---\n".join(to_yaml(_role(name, where, by_namespace[where])) for where in sorted(by_namespace))


def _role(name: str, namespace: str, permissions: Iterable[Permission]) -> Json:
    """One rule for all resources of a group with the same verbs."""
    verbs: dict[tuple[str, str], set[str]] = {}
    for each in permissions:
        of = f"{each.resource.plural}/{each.subresource}" if each.subresource else each.resource.plural
        verbs.setdefault((each.resource.group, of), set()).add(each.verb)
    rules: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, of), allowed in sorted(verbs.items()):
        rules.setdefault((group, tuple(sorted(allowed))), []).append(of)
    metadata: dict[str, Json] = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": _API,
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": metadata,
        "rules": [
            {"apiGroups": [group], "resources": [*of], "verbs": [*allowed]} for (group, allowed), of in rules.items()
        ],
    }


# Kubernetes objects as they are given to kubectl, below what says in words what they do and how they go away.


@frozen
class RoleStep:
    """What may be done, in a few words, and the command that does it."""

    text: str
    command: str


@frozen
class RoleManifests(Report):
    """`docs` in the order in which they are created; `about`: sentences that say what this is."""

    of = "a dry run"

    about: tuple[str, ...]
    steps: tuple[RoleStep, ...]
    docs: tuple[Doc, ...]

    @property
    def head(self) -> tuple[str, ...]:
        """Lines without what a terminal would act on, or what would end a comment."""
        about = tuple(part for each in self.about for part in _folded(_line(each)))
        return (*about, "", *self.rows) if about else ()

    @property
    def rows(self) -> tuple[str, ...]:
        """The steps alone, as such lines."""
        width = max((len(step.text) for step in self.steps), default=0)
        return tuple(_line(f"{step.text.ljust(width)}  {step.command}") for step in self.steps)

    def yaml(self, look: Look) -> str:
        head = "".join(f"# {line}".rstrip() + "\n" for line in self.head)
        texts = (to_yaml(plain_value(doc), look.ascii, blocks=True) for doc in self.docs)
        return "---\n".join((*filter(None, (head,)), *texts))

    def json(self, look: Look) -> str:
        """A List, as kubectl prints several objects: there is no place for words in it."""
        items = plain_value(self.docs)
        return to_json({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}, look.ascii)

    def markdown(self, look: Look) -> str:
        return "\n".join(block(self.yaml(look).splitlines(), "yaml")) + "\n"

    formats = MappingProxyType(
        {
            "table": OwnFormat(yaml),
            "wide": OwnFormat(yaml),
            "yaml": OwnFormat(yaml),
            "json": OwnFormat(json),
            "markdown": OwnFormat(markdown),
        }
    )


_WIDEST = 110


def _folded(line: str) -> list[str]:
    """Commands are not folded: they are rows of their own."""
    return textwrap.wrap(line, _WIDEST, break_long_words=False, break_on_hyphens=False) or [line]


def _line(text: str) -> str:
    return clean(" ".join(text.splitlines()))


def taken_away(errand: InClusterCommand, reached_by: Sequence[str]) -> str:
    """The command that deletes all objects of an errand and nothing else; the journal of a run stays."""
    return shell("kubectl", "delete", ",".join(KINDS), "-A", "-l", errand.selector, *reached_by)


MOST_PODS = 20
"""More than an errand that is done once may have, one after the other; kubectl follows five unless it is told."""


def logs(errand: InClusterCommand, reached_by: Sequence[str], follow: bool) -> str:
    """`follow`: of what runs just now. What has ended again and again has too many pods for kubectl to follow them."""
    how = ("-f", f"--max-log-requests={MOST_PODS}") if follow else ("--prefix",)
    words = ("-n", errand.namespace, "-l", errand.selector, *how, "--tail=-1")
    return shell("kubectl", "logs", *words, *reached_by)


# PodDisruptionBudgets for workloads that have none: to begin with, one pod of each may be away at a time.


def starter_budgets(workloads: Iterable[Workload], taken: Collection[str]) -> str:
    """Objects for kubectl apply, "" for none. `taken`: the names (ns/name) of budgets that are there already."""
    return "---\n".join(to_yaml(_budget(each, taken)) for each in workloads)


def _budget(workload: Workload, taken: Collection[str]) -> Json:
    name = workload.name if workload.key not in taken else f"{workload.name}-one-at-a-time"
    # In the objects' form.
    selector = workload.selector
    equal = [each for each in selector.requirements if each.operator == "In" and len(each.values) == 1]
    others = [each for each in selector.requirements if each not in equal]
    labels: dict[str, Json] = {each.key: each.values[0] for each in equal}
    if len(labels) < len(equal):  # one label twice: it has no form but this
        labels, others = {}, list(selector.requirements)
    expressions: list[Json] = [
        {"key": each.key, "operator": each.operator, **({"values": [*each.values]} if each.values else {})}
        for each in others
    ]
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": workload.namespace},
        "spec": {
            "maxUnavailable": 1,
            "selector": {
                **({"matchLabels": labels} if labels else {}),
                **({"matchExpressions": expressions} if expressions else {}),
            },
        },
    }
