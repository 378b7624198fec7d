"""Which load balancers' targets an update may make unhealthy, and how they were before, at worst, and in the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kubectl_eksdoc.addon_diff.usage import BEHIND_BALANCERS
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws.targets import TargetGroup
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.network import TargetGroupBinding

_REACHES_PODS = "vpc-cni"


def affected(addon: str, cluster: Cluster) -> tuple[TargetGroupBinding, ...] | Unknown:
    """Bindings, by namespace and name, of Services with pods that have security groups of their own (field.md 14):
    kubelet's probes reach them by aws-node's settings, and what is not Ready is no target any more. No other add-on has
    to do with that."""
    if addon != _REACHES_PODS:
        return ()
    missing = cluster.unread(kinds.PODS, *BEHIND_BALANCERS)
    if missing:
        why = "; ".join(f"{read.resource.full_name}: {read.detail}" for read in missing)
        return Unknown(f"which target groups are affected is not known: {why}", f"list {missing[0].resource.full_name}")
    branch = [pod for pod in cluster.pods if pod.branch is not None and not pod.finished]
    serving = {
        service.key
        for service in cluster.services
        if service.selector
        and any(
            pod.namespace == service.namespace
            and all(pod.labels.get(key) == value for key, value in service.selector.items())
            for pod in branch
        )
    }
    bound = (each for each in cluster.target_group_bindings if f"{each.namespace}/{each.service}" in serving)
    return tuple(sorted((each for each in bound if each.arn), key=lambda each: (each.namespace, each.name)))


@dataclass(frozen=True, slots=True)
class Health:
    """Of the targets of a Service, so many are healthy: `before` the update, at the `lowest`, and `now`. `total`: the
    targets that are registered now. `unread`: why it is not known (any more), a clause."""

    service: str
    before: int
    lowest: int
    now: int
    total: int
    unhealthy: tuple[str, ...] = ()
    unread: str = ""

    @property
    def fell(self) -> bool:
        return self.lowest < self.before

    @property
    def back(self) -> bool:
        return self.now >= self.before

    def __str__(self) -> str:
        if self.unread:
            return f"{self.service}: the health of its targets is not known: {self.unread}"
        return f"{self.service}: {self.before} healthy targets before, {self.lowest} at worst, {self.now} now"


Seen = Mapping[str, "TargetGroup | Unknown"]
"""By the ARN of the group."""


def begun(bindings: tuple[TargetGroupBinding, ...], seen: Seen) -> dict[str, Health]:
    """By the ARN of the group, as it is before the update."""
    found = {}
    for binding in bindings:
        service, group = f"{binding.namespace}/{binding.service}", seen[binding.arn]
        if isinstance(group, Unknown):
            found[binding.arn] = Health(service, 0, 0, 0, 0, unread=group.why)
        else:
            count = group.healthy
            found[binding.arn] = Health(service, count, count, count, len(group.targets), group.unhealthy)
    return found


def again(bindings: Iterable[TargetGroupBinding], health: Mapping[str, Health]) -> dict[str, Health]:
    """As it was before the update, by what was written down then; of other groups nobody knows that."""
    unknown = "how they were before the update was not written down"
    found = {each.arn: Health(f"{each.namespace}/{each.service}", 0, 0, 0, 0, unread=unknown) for each in bindings}
    return {**found, **health}


def followed(health: Mapping[str, Health], seen: Seen) -> dict[str, Health]:
    """As it is now. What could not be read once has no figure of before to be held against."""
    return {arn: _followed(each, seen[arn]) for arn, each in health.items()}


def _followed(health: Health, group: TargetGroup | Unknown) -> Health:
    if health.unread and not health.before:
        return health
    if isinstance(group, Unknown):
        return replace(health, unread=group.why)
    healthy = group.healthy
    return Health(
        health.service,
        health.before,
        min(health.lowest, healthy),
        healthy,
        len(group.targets),
        group.unhealthy,
    )
