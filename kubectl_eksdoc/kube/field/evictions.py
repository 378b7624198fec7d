"""Evictions as they are sent: of exactly one pod, by its UID, and never without time to stop.

Source: policy/v1 Eviction; apimachinery meta/v1 DeleteOptions. Without the UID a pod that has come in its place
would be evicted (kubernetes#138229); a grace period of 0 deletes the object while the containers still run.
"""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.api.statuses import Lost, Status
from kubectl_eksdoc.kube.field.swapping import path_to
from kubectl_eksdoc.kube.sending import Sender


def evict(sender: Sender, pod: Pod, grace_s: int | None) -> Status | Lost:
    return sender.send("POST", f"{path_of(pod)}/eviction", {}, eviction(pod, grace_s)).answer


def eviction(pod: Pod, grace_s: int | None) -> dict[str, Any]:
    """The document; `grace_s` None: the pod has its own time to stop, else a second at least."""
    options: dict[str, Any] = {"preconditions": {"uid": pod.uid}}
    if grace_s is not None:
        options["gracePeriodSeconds"] = max(1, grace_s)
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": options,
    }


def path_of(pod: Pod) -> str:
    return path_to(kinds.PODS, pod.namespace, pod.name)
