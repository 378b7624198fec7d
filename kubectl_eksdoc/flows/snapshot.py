"""Asks all that the reading commands ask, so that whoever writes the answers down has them all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from typing import Protocol

from kubectl_eksdoc.addon_diff.facts import Asked
from kubectl_eksdoc.addon_diff.rendering import every_object
from kubectl_eksdoc.amazon.metadata_service import POD
from kubectl_eksdoc.amazon.upgrades.sourced import in_words
from kubectl_eksdoc.check.registry import ALL, chosen
from kubectl_eksdoc.check.way import Way
from kubectl_eksdoc.coredns_lameduck.deployed import OBJECTS
from kubectl_eksdoc.errors import AwsDenied, AwsMissing, UsageError
from kubectl_eksdoc.flows import addon, addon_after, dns, interruption, metadata
from kubectl_eksdoc.flows.check import looking
from kubectl_eksdoc.flows.check.around import CheckAround
from kubectl_eksdoc.flows.interruption import Around as InterruptionAround
from kubectl_eksdoc.flows.ports import Histories, InsidePods, Objects
from kubectl_eksdoc.interruption.plan import InterruptionPlan, Wish
from kubectl_eksdoc.model import coredns, kinds
from kubectl_eksdoc.model.api_objects import Named
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.aws.addons import AddonPast, AddonSide, VersionSide
from kubectl_eksdoc.model.aws.clusters import EksCluster
from kubectl_eksdoc.model.check_needs import FURTHER, Need, Wanted
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.commands import Reach
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.versions import Version

_OF_API = frozenset((Need.API_WRITTEN, Need.API_GONE))
_NOBODYS = frozenset((Need.API_REQUESTS, Need.HELM, Need.MANIFESTS, *_OF_API))
_WISHES = (None, "", "latest")


class Addons(Protocol):
    """What ``addon-diff`` asks of the world."""

    @property
    def eks(self) -> EksCluster: ...

    @property
    def objects(self) -> Objects: ...

    @property
    def histories(self) -> Histories: ...

    def names(self) -> tuple[str, ...]: ...

    def side(self, name: str, wish: str | None) -> AddonSide: ...

    def past(self, name: str, update: str) -> AddonPast: ...

    def versions(self, name: str, versions: Sequence[str]) -> tuple[VersionSide, ...]: ...

    @property
    def chart(self) -> addon_after.ChartOf: ...

    @property
    def judge(self) -> addon.JudgeBy: ...


def every_kind() -> tuple[Resource, ...]:
    """The lists that any of them reads."""
    of_all = (
        kinds.ALL,
        addon.KINDS,
        metadata.KINDS,
        dns.KINDS,
        interruption.KINDS,
        looking.kinds_for(ALL),
    )
    return tuple(dict.fromkeys(resource for read in of_all for resource in read))


def single_objects() -> tuple[Named, ...]:
    """Those that any of them looks at by name."""
    return tuple(dict.fromkeys((*every_object(), *OBJECTS)))


def ask_check(cluster: Cluster, around: CheckAround, without: Collection[str] = ()) -> None:
    """For the next version and those after it, and by each need alone: a check that is chosen asks less. `without`:
    opt-ins that are left out.

    Raises:
        UsageError: nothing tells where the control plane is.
        ClusterError, AwsError: nothing can be asked at all.
    """
    first = looking.way_to(cluster, around, None)
    looking.check_facts(cluster, around, first, chosen(without=without), Reach(), looking.OF_CHANGES)
    around.past()
    for need in Need:
        if need not in _NOBODYS:
            around.tell(_wanted(cluster, first, frozenset((need,))))
    for way in (first, *_further(cluster, around, first)):
        around.tell(_wanted(cluster, way, frozenset((Need.INSIGHTS,))))
        around.api(_wanted(cluster, way, _OF_API))


def _wanted(cluster: Cluster, way: Way, needs: frozenset[Need]) -> Wanted:
    steps = tuple(map(in_words, way.steps))
    return Wanted(needs, in_words(way.now), in_words(way.target), steps, cluster.observed_at)


def _further(cluster: Cluster, around: CheckAround, first: Way) -> Iterable[Way]:
    for more in range(1, FURTHER):
        with suppress(UsageError):  # no way leads there
            yield looking.way_to(cluster, around, Version(first.target.major, first.target.minor + more))


def ask_addons(cluster: Cluster, of: Addons, left_out: Callable[[str, str], None]) -> None:
    """Of each that EKS manages; `left_out` is told of one that cannot be.

    Raises:
        ClusterError, AwsError: nothing can be asked at all.
    """
    for name in of.names():
        for wish in _WISHES:
            try:
                side = of.side(name, wish)
            except (AwsDenied, AwsMissing, UsageError) as error:
                left_out(name, error.message)
                continue
            of.versions(name, (*side.steps, *side.between))
            addon.plan_addon(cluster, of.eks, side, of.objects, Asked(), of.judge)
        try:
            past = of.past(name, "")
        except (AwsDenied, AwsMissing) as error:
            left_out(name, error.message)
        else:
            addon_after.look_back_on(cluster, of.eks, past, of.objects, of.histories, of.chart, of.judge)


def ask_metadata(cluster: Cluster, tell: metadata.Tell, inside: InsidePods | None) -> None:
    """
    Raises:
        ClusterError, AwsError: nothing can be asked at all.
    """
    metadata.plan_imds(cluster, tell, POD, inside)


def ask_dns(
    cluster: Cluster,
    objects: Objects,
    installed: Callable[[str], AddonSide | Absent | Unknown],
    inside: InsidePods,
    notices: Callable[[], InterruptionPlan],
) -> None:
    """
    Raises:
        ClusterError, AwsError: nothing can be asked at all.
    """
    facts = dns.dns_facts(cluster, objects, installed(coredns.NAME), False)
    dns.with_pods(dns.with_notices(facts, notices), inside)


def ask_interruption(cluster: Cluster, around: InterruptionAround) -> InterruptionPlan:
    """
    Raises:
        ClusterError, AwsError: nothing can be asked at all.
    """
    return interruption.look_at_interruption(cluster, around, Wish())
