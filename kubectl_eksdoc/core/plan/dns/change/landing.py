"""Whether CoreDNS' pods find nodes under another affinity: by the scheduler's own rules, before anything is sent.

A pod that finds none stays Pending, and with it the rollout; two nodes in two zones are the least (field.md 21).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.nodes import Node, Taint
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.dns.change.affinity import node_terms
from kubectl_eksdoc.core.plan.dns.change.wishes import Refused
from kubectl_eksdoc.core.plan.dns.facts import DnsFacts
from kubectl_eksdoc.core.plan.dns.judging.placed import SPOT
from kubectl_eksdoc.core.rules.scheduling.occupancy import Occupancy
from kubectl_eksdoc.core.rules.scheduling.refusals import Filter

LEAST_NODES = LEAST_ZONES = 2
_READ = (kinds.NODES, kinds.PODS)


@dataclass(frozen=True, slots=True)
class Seat:
    """One node: why a pod of CoreDNS cannot run there, in the scheduler's words or plainer ones; () where it can."""

    node: str
    zone: str
    capacity: str
    why: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        return not self.why


@dataclass(frozen=True, slots=True)
class Landing:
    """Of every node, those that fit first, by zone and name. `unknown`: why no verdict is certain."""

    seats: tuple[Seat, ...]
    unknown: tuple[str, ...] = ()

    @property
    def fitting(self) -> tuple[Seat, ...]:
        return tuple(each for each in self.seats if each.fits)

    @property
    def zones(self) -> tuple[str, ...]:
        return tuple(sorted({each.zone for each in self.fitting if each.zone}))

    @property
    def enough(self) -> bool:
        return len(self.fitting) >= LEAST_NODES and len(self.zones) >= LEAST_ZONES


def landing(facts: DnsFacts, affinity: Doc) -> Landing | Refused:
    """Of pods like today's with another affinity, which asks the same of other pods. Today's own pods are taken off
    their nodes: the rollout replaces them."""
    cluster = facts.cluster
    missing = cluster.unread(*_READ)
    if missing:
        read = missing[0]
        return Refused(
            f"whether CoreDNS would find nodes is not known: {read.resource.full_name}: {read.detail}",
            "Nothing is sent before that is known.",
            f"list {read.resource.full_name}",
        )
    running = [pod for pod in facts.pods if not pod.deleting]
    if not running:
        return Refused(
            "whether CoreDNS would find nodes is not known: none of its pods runs, of which it could be told",
            "Mend what keeps them away first.",
            "a pod of CoreDNS",
        )
    model = min(running, key=lambda pod: (not pod.node, pod.name))
    return _landing(cluster, {pod.uid for pod in facts.pods}, _like(model, affinity))


def too_few(found: Landing) -> Refused | None:
    """Why it would end with pods that are Pending, or all in one place."""
    if found.unknown:
        return Refused(
            f"whether CoreDNS would find nodes is not certain: {'; '.join(found.unknown)}",
            "Nothing is sent before that is known.",
            "what decides where CoreDNS may run",
        )
    if found.enough:
        return None
    count, zones = len(found.fitting), len(found.zones)
    nodes = "1 node" if count == 1 else f"{count} nodes"
    names = f" ({', '.join(each.node for each in found.fitting[:3])})" if count else ""
    where = f" in {zones} zone{'' if zones == 1 else 's'}" if count else ""
    return Refused(
        f"of {len(found.seats)} nodes only {nodes}{names}{where} would take a pod of CoreDNS; at least {LEAST_NODES} "
        f"in {LEAST_ZONES} zones are needed, or it would be Pending, or all in one place",
        "Have such nodes Ready first: on-demand, in two zones, without taints that CoreDNS does not tolerate.",
    )


def _like(model: Pod, affinity: Doc) -> Pod:
    demand = replace(model.placement.nodes, terms=node_terms(affinity))
    return replace(model, placement=replace(model.placement, nodes=demand), node="", volumes=())


def _landing(cluster: Cluster, own: set[str], like: Pod) -> Landing:
    spaces = None if cluster.unread(kinds.NAMESPACES) else {each.name: each.labels for each in cluster.namespaces}
    others = [pod for pod in cluster.pods if pod.uid not in own]
    occupancy = Occupancy.of(cluster.nodes, others, spaces)
    kind = occupancy.class_of(like)
    seats = [
        Seat(node.name, node.zone, node.capacity_type, tuple(_why(node, occupancy, like))) for node in cluster.nodes
    ]
    order = sorted(seats, key=lambda seat: (not seat.fits, seat.zone, seat.node))
    return Landing(tuple(order), occupancy.unknown(kind))


def _why(node: Node, occupancy: Occupancy, like: Pod) -> Iterator[str]:
    if node.ready != "True":
        yield f"it is not Ready ({node.ready})"
    if node.deletion_at is not None:
        yield "it is being deleted"
    refusal = occupancy.refusal(occupancy.class_of(like), node.name)
    if refusal is None:
        return
    taints = [taint.key for taint in node.taints if taint.effect in _KEEP_OUT and not _tolerates(like, taint)]
    if refusal.filter is Filter.TAINT_TOLERATION and taints:
        yield f"its taint {' and '.join(taints)} is not tolerated"
    elif refusal.filter is Filter.NODE_AFFINITY and node.capacity_type == SPOT:
        yield "it is a Spot node"
    else:
        yield from refusal.reasons


_KEEP_OUT = ("NoSchedule", "NoExecute")


def _tolerates(like: Pod, taint: Taint) -> bool:
    return like.tolerates(taint.key, taint.value, taint.effect)
