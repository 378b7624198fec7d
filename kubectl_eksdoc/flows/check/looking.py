"""One look at a cluster before its upgrade: which way, what is needed for the chosen checks, and their answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kubectl_eksdoc.amazon.upgrades.path import NoPath
from kubectl_eksdoc.amazon.upgrades.sourced import in_words
from kubectl_eksdoc.check.checking import Check
from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.check.plan import CheckPlan, Wish, plan_check
from kubectl_eksdoc.check.registry import kinds_of, needs_of
from kubectl_eksdoc.check.way import Way, way, where
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.flows.check.around import CheckAround
from kubectl_eksdoc.flows.check.summing import KINDS_OF, summed
from kubectl_eksdoc.kubernetes import kube_proxy
from kubectl_eksdoc.model.asked import NOT_ASKED, Unknown
from kubectl_eksdoc.model.check_needs import Need, Wanted
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.commands import Reach
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.versions import Version


def look(
    cluster: Cluster,
    around: CheckAround,
    target: Version | None,
    checks: Sequence[Check],
    wish: Wish = Wish(),
    reach: Reach = Reach(),
) -> CheckPlan:
    """`target` None: the next minor version.

    Raises:
        UsageError: no way leads to the target, or nothing tells where the control plane is.
        ClusterError, AwsError: nothing can be asked at all.
    """
    more = OF_CHANGES if wish.since is not None else frozenset()
    facts = check_facts(cluster, around, way_to(cluster, around, target), checks, reach, more)
    if wish.since is not None:
        facts = replace(facts, past=around.past())
    return plan_check(facts, checks, wish, reach)


def kinds_for(checks: Sequence[Check]) -> tuple[Resource, ...]:
    """The lists of the cluster that they and the commands that they sum up judge by."""
    of_others = (resource for need, read in KINDS_OF.items() if need in needs_of(checks) for resource in read)
    return tuple(dict.fromkeys((*kinds_of(checks), *of_others)))


def way_to(cluster: Cluster, around: CheckAround, target: Version | None) -> Way:
    """Raises UsageError: as `look`."""
    eks = around.eks if isinstance(around.eks, Unknown) else around.eks.version
    here = where(eks, cluster.identity.server_version, cluster.nodes)
    if isinstance(here, Unknown):
        raise UsageError(f"the way to the target is not known: {here.why}", "Ask the live cluster.")
    found = way(here, target)
    if isinstance(found, NoPath):
        wanted = "the next version" if target is None else in_words(target)
        raise UsageError(f"there is no way to {wanted}: {found.why}", _where_it_is(here.version, around.eks))
    return found


def _where_it_is(version: Version, eks: object) -> str:
    """`eks`: what EKS says of the cluster, or why it says nothing."""
    if not isinstance(eks, Unknown):
        return f"It is at {in_words(version)} now."
    said = f"It seems to be at {in_words(version)}, by what the cluster itself says; EKS could not be asked: {eks.why}"
    return f"{said} (missing: {eks.missing})" if eks.missing and eks.missing not in eks.why else said


OF_CHANGES = frozenset((Need.CLUSTER_UPDATES, Need.GROUP_UPDATES))
"""What tells of changes, whatever the checks need."""


def check_facts(
    cluster: Cluster,
    around: CheckAround,
    way: Way,
    checks: Sequence[Check],
    reach: Reach,
    more: frozenset[Need] = frozenset(),
) -> CheckFacts:
    """What the checks need, and `more`."""
    needs = needs_of(checks) | more
    if Need.PLAN_ADDONS in needs:
        needs |= {Need.ADDONS}
    steps = tuple(map(in_words, way.steps))
    wanted = Wanted(needs, in_words(way.now), in_words(way.target), steps, cluster.observed_at)
    told = around.tell(wanted)
    others = summed(cluster, way, told, around, needs, reach.ours)
    cluster = replace(cluster, notes=tuple(dict.fromkeys((*cluster.notes, *others.notes))))
    proxy = around.interruption.objects.one(kube_proxy.CONFIG) if Need.PROXY in needs else NOT_ASKED
    facts = CheckFacts(cluster, way, around.eks, told, around.api(wanted), others.findings, others.drain)
    return replace(facts, proxy=proxy)
