"""PodDisruptionBudgets for workloads that have none: to begin with, one pod of each may be away at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kubectl_eksdoc.core.model.selectors import Selector
from kubectl_eksdoc.core.model.workloads import Workload
from kubectl_eksdoc.render.encode import Json, to_yaml


def starter_budgets(workloads: Iterable[Workload], taken: Collection[str]) -> str:
    """Objects for kubectl apply, "" for none. `taken`: the names (ns/name) of budgets that are there already."""
    return "---\n".join(to_yaml(_budget(each, taken)) for each in workloads)


def _budget(workload: Workload, taken: Collection[str]) -> Json:
    name = workload.name if workload.key not in taken else f"{workload.name}-one-at-a-time"
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": workload.namespace},
        "spec": {"maxUnavailable": 1, "selector": _selector(workload.selector)},
    }


def _selector(selector: Selector) -> Json:
    """In the objects' form."""
    equal = [each for each in selector.requirements if each.operator == "In" and len(each.values) == 1]
    others = [each for each in selector.requirements if each not in equal]
    labels: dict[str, Json] = {each.key: each.values[0] for each in equal}
    if len(labels) < len(equal):  # one label twice: it has no form but this
        labels, others = {}, list(selector.requirements)
    expressions: list[Json] = [
        {"key": each.key, "operator": each.operator, **({"values": [*each.values]} if each.values else {})}
        for each in others
    ]
    return {**({"matchLabels": labels} if labels else {}), **({"matchExpressions": expressions} if expressions else {})}
