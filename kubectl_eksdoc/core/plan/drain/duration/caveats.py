"""What the estimate takes for granted of what it cannot see: the pace of the control plane, health of targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.core.model.durations import in_words
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.plan.drain.verdicts.pods import ungated

EVICTIONS_PER_SECOND = 8.0
"""What a control plane with default limits does, roughly.

Its controllers may make 20 requests a second each (pkg/controller/apis/config/v1alpha1/defaults.go); an eviction
costs the disruption controller about two of them and the ReplicaSet controller three. EKS' settings are not known.
"""

WORTH_SAYING = 1 / 3
"""The share of the estimate from which on the control plane's pace may decide."""


def caveats(world: Survey, pods: Sequence[Pod], p50_s: float) -> Iterator[str]:
    """Assumptions about evicting `pods` in `p50_s` seconds, each a clause."""
    least_s = len(pods) / EVICTIONS_PER_SECOND
    if least_s > WORTH_SAYING * p50_s:
        yield (
            f"the control plane keeps pace; one with default limits does about {EVICTIONS_PER_SECOND:g} evictions a "
            f"second: then it takes at least {in_words(least_s)}"
        )
    ungated_targets = _ungated_targets(world, pods)
    if ungated_targets:
        are = "pod is a target" if ungated_targets == 1 else "pods are targets"
        yield (
            f"a load balancer's target is healthy when its pod is Ready: {ungated_targets} {are} by ip without a "
            "readiness gate, and when the load balancer sends traffic to the new ones is not known"
        )


def _ungated_targets(world: Survey, pods: Sequence[Pod]) -> int:
    """How many of `pods` get traffic straight from a load balancer that no readiness gate waits for."""
    known: dict[object, bool] = {}
    count = 0
    for pod in pods:
        if pod.namespace in world.balanced:
            like = (pod.namespace, id(pod.labels), pod.readiness_gates)  # replicas share their labels
            if like not in known:
                service = ungated(world, pod)
                known[like] = service is not None and service.ip_targets
            count += known[like]
    return count
