"""Objects printed for kubectl: roles for missing rights, the objects of an in-cluster command, first budgets."""

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
from kubectl_eksdoc.report.markdown import code_block
from kubectl_eksdoc.report.report import CustomBackend, Report
from kubectl_eksdoc.report.text import Appearance, clean

from .objects import KINDS, InClusterCommand

_API = "rbac.authorization.k8s.io/v1"


def missing_rights_yaml(name: str, permissions: Iterable[Permission]) -> str:
    """A ClusterRole for the rights in all namespaces and a Role for each other namespace as YAML, or "".

    It has no bindings.
    """
    by_namespace: dict[str, list[Permission]] = {}
    for each in permissions:
        by_namespace.setdefault(each.namespace, []).append(each)
    return "---\n".join(to_yaml(_role(name, namespace, by_namespace[namespace])) for namespace in sorted(by_namespace))


def _role(name: str, namespace: str, permissions: Iterable[Permission]) -> Json:
    """The role; resources of a group with the same verbs share a rule."""
    verbs: dict[tuple[str, str], set[str]] = {}
    for each in permissions:
        resource = f"{each.resource.plural}/{each.subresource}" if each.subresource else each.resource.plural
        verbs.setdefault((each.resource.group, resource), set()).add(each.verb)
    rules: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, resource), sorted_verbs in sorted(verbs.items()):
        rules.setdefault((group, tuple(sorted(sorted_verbs))), []).append(resource)
    metadata: dict[str, Json] = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": _API,
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": metadata,
        "rules": [
            {"apiGroups": [group], "resources": [*resource], "verbs": [*sorted_verbs]}
            for (group, sorted_verbs), resource in rules.items()
        ],
    }


# Kubernetes objects for kubectl, below comments on what they do and how to delete them.


@frozen
class ManifestStep:
    """A possible step in a few words, and its command."""

    text: str
    command: str


@frozen
class ManifestReport(Report):
    """`docs` in the order of creation; `about`: sentences that describe them."""

    noun_phrase = "a dry run"

    about: tuple[str, ...]
    steps: tuple[ManifestStep, ...]
    docs: tuple[Doc, ...]

    @property
    def comment_lines(self) -> tuple[str, ...]:
        """Comment lines without terminal control characters and line breaks."""
        about = tuple(part for each in self.about for part in _wrapped(_clean_line(each)))
        return (*about, "", *self.step_lines) if about else ()

    @property
    def step_lines(self) -> tuple[str, ...]:
        """The steps only, as such lines."""
        width = max((len(step.text) for step in self.steps), default=0)
        return tuple(_clean_line(f"{step.text.ljust(width)}  {step.command}") for step in self.steps)

    def yaml(self, appearance: Appearance) -> str:
        head = "".join(f"# {line}".rstrip() + "\n" for line in self.comment_lines)
        texts = (to_yaml(plain_value(doc), appearance.ascii, blocks=True) for doc in self.docs)
        return "---\n".join((*filter(None, (head,)), *texts))

    def json(self, appearance: Appearance) -> str:
        """A List, as kubectl prints several objects; JSON has no comments."""
        items = plain_value(self.docs)
        return to_json({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}, appearance.ascii)

    def markdown(self, appearance: Appearance) -> str:
        return "\n".join(code_block(self.yaml(appearance).splitlines(), "yaml")) + "\n"

    formats = MappingProxyType(
        {
            "table": CustomBackend(yaml),
            "wide": CustomBackend(yaml),
            "yaml": CustomBackend(yaml),
            "json": CustomBackend(json),
            "markdown": CustomBackend(markdown),
        }
    )


_MAX_WIDTH = 110


def _wrapped(line: str) -> list[str]:
    """`line` wrapped; commands are separate rows, which are not wrapped."""
    return textwrap.wrap(line, _MAX_WIDTH, break_long_words=False, break_on_hyphens=False) or [line]


def _clean_line(text: str) -> str:
    return clean(" ".join(text.splitlines()))


def delete_command(command: InClusterCommand, kubectl_args: Sequence[str]) -> str:
    """The command that deletes exactly the objects of a command; the journal of a run is kept."""
    return shell("kubectl", "delete", ",".join(KINDS), "-A", "-l", command.selector, *kubectl_args)


MAX_LOG_PODS = 20
"""More pods than a command that runs once can have, one after the other; kubectl follows five by default."""


def logs_command(command: InClusterCommand, kubectl_args: Sequence[str], follow: bool) -> str:
    """`follow`: for a running command. A command that was retried often has too many pods to follow."""
    follow_args = ("-f", f"--max-log-requests={MAX_LOG_PODS}") if follow else ("--prefix",)
    args = ("-n", command.namespace, "-l", command.selector, *follow_args, "--tail=-1")
    return shell("kubectl", "logs", *args, *kubectl_args)


# PodDisruptionBudgets for workloads without one: one pod of each may be unavailable at a time.


def starter_budgets(workloads: Iterable[Workload], existing_names: Collection[str]) -> str:
    """YAML for kubectl apply, or "". `existing_names`: the names (namespace/name) of existing budgets."""
    return "---\n".join(to_yaml(_budget(each, existing_names)) for each in workloads)


def _budget(workload: Workload, existing_names: Collection[str]) -> Json:
    name = workload.name if workload.key not in existing_names else f"{workload.name}-one-at-a-time"
    # The selector as API objects write it.
    selector = workload.selector
    single_values = [each for each in selector.requirements if each.operator == "In" and len(each.values) == 1]
    others = [each for each in selector.requirements if each not in single_values]
    labels: dict[str, Json] = {each.key: each.values[0] for each in single_values}
    if len(labels) < len(single_values):  # the same label twice: only matchExpressions can express it
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
