"""What a measurement would make and do, before anything is made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kubectl_eksdoc.core.model.asked import Absent, Unknown, missing_rights
from kubectl_eksdoc.core.model.coredns import NAME, SELECTOR, SERVICE, SYSTEM
from kubectl_eksdoc.core.model.dns_measure import DnsPod, DnsService, DnsStand, DnsWorkload, Stream, Target
from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.model.probe_pods import Owner
from kubectl_eksdoc.core.plan.dns.measuring.choice import Zone, zones
from kubectl_eksdoc.core.plan.dns.measuring.manner import MOST_A_SECOND, OLD_S, Happening, Manner
from kubectl_eksdoc.core.plan.dns.measuring.targets import absent_families, targets
from kubectl_eksdoc.errors import UsageError


@dataclass(frozen=True, slots=True)
class MeasurePod:
    """One pod that is to be made."""

    zone: str
    node: str
    name: str


@dataclass(frozen=True, slots=True)
class MeasurePlan:
    """`absent`: families that do not apply, and why. `affected`: CoreDNS's pods that would be replaced or evicted.
    `stale`: left by measurements that were killed, and removed before; `others`: of some that may be running. `unread`:
    rights that were missing when it was looked for these."""

    ident: str
    manner: Manner
    zones: tuple[Zone, ...]
    pods: tuple[MeasurePod, ...]
    targets: tuple[Target, ...]
    absent: dict[str, str] = field(default_factory=dict)
    affected: tuple[DnsPod, ...] = ()
    workload: DnsWorkload | None = None
    stale: tuple[Owner, ...] = ()
    others: tuple[Owner, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def changes(self) -> int:
        """What is typed back: pods that are made, and pods of CoreDNS that go."""
        return len(self.pods) + len(self.affected)

    @property
    def streams(self) -> tuple[Stream, ...]:
        return tuple(Stream(target.name, transport) for target in self.targets for transport in target.transports)


@dataclass(frozen=True, slots=True)
class DnsFacts:
    """What a plan is made of. `workload` None: nobody asked, as it is not restarted."""

    service: DnsService | Absent
    stand: DnsStand
    workload: DnsWorkload | Absent | None = None
    owners: tuple[Owner, ...] | Unknown = ()


def plan_measure(nodes: Iterable[Node], facts: DnsFacts, ident: str, manner: Manner) -> MeasurePlan:
    """
    Raises:
        UsageError: there is no DNS to measure, or not what is to happen to it.
    """
    service, stand = facts.service, facts.stand
    where = f"Service {SERVICE} of namespace {SYSTEM}"
    if isinstance(service, Absent) or not service.addresses:
        raise UsageError(f"there is no {where} with an address: nothing can be measured", _AUTO)
    chosen = zones(nodes, {pod.node for pod in stand.pods})
    askers = [zone for zone in chosen if zone.node]
    pods = tuple(
        MeasurePod(zone.name, zone.node, f"eksdoc-dns-measure-{ident}-{place}") for place, zone in enumerate(askers)
    )
    owners = () if isinstance(facts.owners, Unknown) else facts.owners
    stale = tuple(owner for owner in owners if owner.age_s > OLD_S)
    others = tuple(owner for owner in owners if owner not in stale)
    workload = facts.workload if isinstance(facts.workload, DnsWorkload) else None
    affected = _affected(manner.happening, stand, facts.workload) if pods else ()
    asked, absent = targets(service, stand), absent_families(service)
    plan = MeasurePlan(
        ident, manner, chosen, pods, asked, absent, affected, workload, stale, others, missing_rights(facts.owners)
    )
    if manner.rate * len(plan.streams) > MOST_A_SECOND:
        raise UsageError(
            f"{manner.rate * len(plan.streams):g} questions a second from each pod are too many",
            f"At most {MOST_A_SECOND}, to {len(plan.streams)} addresses and transports: --rate N",
        )
    return plan


_LOOK = f"kubectl get pods -n {SYSTEM} -l {SELECTOR}"
_AUTO = "EKS Auto Mode runs DNS on each node: there is no CoreDNS that could be rolled out."


def _affected(happening: Happening, stand: DnsStand, workload: DnsWorkload | Absent | None) -> tuple[DnsPod, ...]:
    """
    Raises:
        UsageError: it cannot happen.
    """
    here = [pod for pod in stand.pods if pod.told_at is None and not pod.ended]
    there = tuple(sorted(here, key=lambda pod: pod.name))
    if happening is Happening.ROLLOUT:
        if not isinstance(workload, DnsWorkload):
            raise UsageError(f"there is no Deployment {NAME} in namespace {SYSTEM} to restart")
        return there
    if happening is Happening.EVICTION:
        ready = [pod for pod in there if pod.ready]
        if not ready:
            raise UsageError("no CoreDNS pod is ready: evicting one would show nothing", _LOOK)
        return (ready[0],)
    return ()
