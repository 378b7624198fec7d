"""What kubectl drain prints about the pods of a node, held against upstream's tables and recordings.

Source: staging/src/k8s.io/kubectl/pkg/drain/{drain,filters}.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.kubernetes.drain_filters import Decision, DrainFilterOutcome
from kubectl_eksdoc.model.nodes import Pod


def warning_of(decision: Decision) -> str:
    """What is printed after ``Warning:`` for this pod, "" for nothing."""
    said = decision.decisive
    return (
        said.message
        if said is not None and said.outcome in (DrainFilterOutcome.DELETE, DrainFilterOutcome.SKIP)
        else ""
    )


def error_of(decision: Decision) -> str:
    """The error for which the node is not drained, "" for none."""
    said = decision.decisive
    return said.message if said is not None and said.outcome is DrainFilterOutcome.ERROR else ""


def warning_text(decisions: Iterable[Decision]) -> str:
    """kubectl's one line of warnings (``PodDeleteList.Warnings``), groups by first pod: ``text: ns/a, ns/b; …``."""
    grouped = _grouped((warning_of(d), d.pod) for d in decisions)
    return "; ".join(f"{text}: {', '.join(keys)}" for text, keys in grouped.items())


def error_texts(decisions: Iterable[Decision]) -> tuple[str, ...]:
    """kubectl's errors; if there is any, no pod of the node is evicted (``PodDeleteList.errors``)."""
    grouped = _grouped((error_of(d), d.pod) for d in decisions)
    return tuple(
        f"{text if text.lower().startswith('cannot delete') else f'cannot delete {text}'}: {', '.join(keys)}"
        for text, keys in grouped.items()
    )


def _grouped(said: Iterable[tuple[str, Pod]]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for text, pod in said:
        if text:
            groups.setdefault(text, []).append(pod.key)
    return groups
