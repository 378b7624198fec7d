"""Deletions of pods that the user named, as they are sent: of exactly one pod, by its UID, with its own time to stop.

Source: apimachinery meta/v1 DeleteOptions. Budgets are not asked; admission of deletions is. A grace period of 0 would
delete the object while the containers still run.
"""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.api.statuses import Lost, Status
from kubectl_eksdoc.kube.field.evictions import path_of
from kubectl_eksdoc.kube.sending import Sender


def delete(sender: Sender, pod: Pod) -> Status | Lost:
    return sender.send("DELETE", path_of(pod), {}, options(pod)).answer


def options(pod: Pod) -> dict[str, Any]:
    """The document; a pod whose own time is 0 gets a second."""
    asked: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}}
    if pod.grace_seconds <= 0:
        asked["gracePeriodSeconds"] = 1
    return asked
