"""What a probe would make, before anything is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.core.model.asked import Unknown, missing_rights
from kubectl_eksdoc.core.model.metadata_probe import Network
from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.model.probe_pods import Owner
from kubectl_eksdoc.core.plan.metadata.probing.choice import Likes, likes
from kubectl_eksdoc.core.plan.metadata.probing.pods import Manner, ProbePod, probe_pods

_NO_HOST_NETWORK = ("baseline", "restricted")


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """`no_host`: why nothing runs on the network of a host, "" if it does. `stale`: left by probes that were killed,
    and removed before; `others`: of probes that may be running, and left alone. `unread`: rights
    that were missing when it was looked where it may run."""

    probe: str
    manner: Manner
    likes: tuple[Likes, ...]
    pods: tuple[ProbePod, ...]
    no_host: str = ""
    stale: tuple[Owner, ...] = ()
    others: tuple[Owner, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(pod.node for pod in self.pods))

    def likes_of(self, node: str) -> Likes:
        """Those that a node stands for."""
        return next(each for each in self.likes if node in each.nodes)


def plan_probe(
    nodes: Iterable[Node],
    level: str | Unknown,
    owners: Iterable[Owner] | Unknown,
    probe: str,
    manner: Manner,
    named: Sequence[str] = (),
    every: bool = False,
) -> ProbePlan:
    """`level` of pod security in its namespace, "" for none; `owners`: of all probes that are there. What is not known
    of them is found out when the pods are made.

    Raises:
        UsageError: a node that is `named` is not there.
    """
    alike = likes(nodes, named, every)
    no_host = ""
    if level in _NO_HOST_NETWORK:
        no_host = f"namespace {manner.namespace} enforces pod security {level}, which allows no host network"
    networks = (Network.OWN,) if no_host else (Network.OWN, Network.HOST)
    chosen = [node for each in alike for node in each.chosen]
    there = () if isinstance(owners, Unknown) else tuple(owners)
    stale = tuple(owner for owner in there if owner.age_s > manner.deadline_s)
    others = tuple(owner for owner in there if owner not in stale)
    unread = missing_rights(level, owners)
    return ProbePlan(probe, manner, alike, probe_pods(probe, chosen, networks), no_host, stale, others, unread)
