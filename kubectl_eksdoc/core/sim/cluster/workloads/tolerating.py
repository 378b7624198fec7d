"""Taints and tolerations of documents.

Source: component-helpers/scheduling/corev1/helpers.go (FindMatchingUntoleratedTaint), Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.pods import Toleration

NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"


def taints_of(node: Doc, *effects: str) -> list[Doc]:
    """Those of these effects."""
    return [each for each in (node.get("spec") or {}).get("taints") or () if each.get("effect") in effects]


def tolerates(toleration: Doc, taint: Doc) -> bool:
    read = Toleration(
        toleration.get("key") or "",
        toleration.get("operator") or "Equal",
        toleration.get("value") or "",
        toleration.get("effect") or "",
    )
    return read.tolerates(taint["key"], taint.get("value") or "", taint["effect"])


def all_tolerated(taints: Iterable[Doc], tolerations: Iterable[Doc]) -> bool:
    held = list(tolerations)
    return all(any(tolerates(each, taint) for each in held) for taint in taints)
