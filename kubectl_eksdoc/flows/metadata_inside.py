"""A look into the pods that are worth it: with what they were started, and what they printed last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from kubectl_eksdoc.core.model.aws.asked import Absent, Unknown
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.metadata.inside import Inside, inside, logs_of
from kubectl_eksdoc.flows.ports import InsidePods


def look_inside(pods: Sequence[Pod], within: InsidePods, now: datetime) -> Mapping[str, Inside]:
    """By ``namespace/name``; `now` is when the cluster was observed.

    Raises:
        ClusterError: the cluster cannot be talked to.
    """
    unread = Unknown("it was not asked for")
    found = within.containers([pod.key for pod in pods])
    containers = {pod.key: found.get(pod.key, unread) for pod in pods}
    asked = {
        pod.key: () if isinstance(made, (Absent, Unknown)) else logs_of(pod, made, now)
        for pod, made in zip(pods, containers.values(), strict=True)
    }
    logs = within.logs([log for several in asked.values() for log in several])
    return {key: inside(containers[key], asked[key], logs) for key in containers}
