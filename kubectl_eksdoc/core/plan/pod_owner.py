"""Whose a pod is, as far as the pod itself tells."""

from __future__ import annotations

from kubectl_eksdoc.core.model.findings import Subject
from kubectl_eksdoc.core.model.pods import Pod


def owner_of(pod: Pod) -> Subject:
    """Of a pod of a Deployment that, and not its ReplicaSet; the pod itself where nothing made it."""
    if pod.deployment:
        return Subject("Deployment", pod.deployment, pod.namespace)
    if pod.owner is None:
        return Subject("Pod", pod.name, pod.namespace)
    return Subject(pod.owner.kind, pod.owner.name, pod.namespace)
