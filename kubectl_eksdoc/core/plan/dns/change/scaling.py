"""Why the add-on's autoscaler cannot have CoreDNS, and how few replicas are few.

Sources: EKS user guide, autoscaling of CoreDNS (versions, the formula); the add-on's schemas.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.core.model import dns_codes, kinds
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.coredns import NAME, SYSTEM
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, Subject
from kubectl_eksdoc.core.model.versions import parse
from kubectl_eksdoc.core.plan.addon.schema.allowed import SchemaPaths
from kubectl_eksdoc.core.plan.dns.change.wishes import Refused, Scale
from kubectl_eksdoc.core.plan.dns.facts import DnsFacts
from kubectl_eksdoc.core.plan.dns.judging.placed import wanted_replicas

KEY = "autoScaling"
_FIRST_MINOR = 25
_FROM = "v1.9.3-eksbuild.15 (1.25, 1.26), v1.10.1-eksbuild.11 (1.27, 1.28), v1.11.1-eksbuild.9 (from 1.29 on)"


def not_scaled(facts: DnsFacts, kubernetes: str, version: str, schema: SchemaPaths | None) -> Iterator[Refused]:
    """`version` of the add-on, whose schema it is, None where that is not known."""
    minor = parse(kubernetes)
    if minor is not None and (minor.major, minor.minor) < (1, _FIRST_MINOR):
        yield Refused(
            f"Kubernetes {kubernetes} has no autoscaler of the add-on: EKS has it from 1.{_FIRST_MINOR} on",
            "Set replicaCount in the add-on's values.",
        )
    if schema is not None and schema.of((KEY,)) is None:
        yield Refused(
            f"the schema of coredns {version} has no {KEY}: EKS would refuse it",
            f"EKS has it from {_FROM} on: update the add-on first (kubectl eksdoc addon-diff coredns).",
        )
    yield from _others(facts)


def _others(facts: DnsFacts) -> Iterator[Refused]:
    """Whoever scales it already."""
    cluster = facts.cluster
    read = cluster.read_of(kinds.AUTOSCALERS)
    if not read.known:
        yield Refused(
            f"whether somebody scales CoreDNS already is not known: {read.resource.full_name}: {read.detail}",
            "Two autoscalers would undo each other's work.",
            f"list {read.resource.full_name}",
        )
    for each in cluster.autoscalers:
        if (each.namespace, each.target_kind, each.target_name) == (SYSTEM, "Deployment", NAME):
            yield Refused(
                f"HorizontalPodAutoscaler {each.name} scales CoreDNS already, between {each.minimum} and "
                f"{each.maximum}: the two would undo each other's work",
                f"Take it away first: kubectl delete horizontalpodautoscaler {each.name} -n {SYSTEM}",
            )
    if facts.proportional:
        yield Refused(
            f"Deployment {facts.proportional} (cluster-proportional-autoscaler) scales CoreDNS already: the two would "
            "undo each other's work",
            f"Take it away first: kubectl delete deployment {facts.proportional} -n {SYSTEM}",
        )


def few(cluster: Cluster, scale: Scale) -> Iterator[Finding]:
    """Where the autoscaler will have more at once, or may not have as many as it should."""
    if not cluster.read_of(kinds.NODES).known:
        return
    found = wanted_replicas(cluster.nodes)
    if found <= scale.least:
        return
    capped = found > scale.most
    yield Finding(
        dns_codes.TOO_FEW,
        Severity.MEDIUM if capped else Severity.LOW,
        Status.FAIL if capped else Status.PASS,
        Subject("Deployment", NAME, SYSTEM),
        f"EKS' formula wants {found} replicas for {len(cluster.nodes)} nodes, and "
        + (f"{scale} allows {scale.most} at the most" if capped else f"{scale} starts with {scale.least}"),
        ("max(nodes/16, cores/256), EKS user guide",),
        (Remedy(f"give --autoscale {found}:{max(scale.most, found * 2)}"),),
    )
