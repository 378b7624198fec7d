"""The rights of each command, built from the records in knowledge/rights.json."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from kubectl_eksdoc.amazon.removed_apis import READ_TO
from kubectl_eksdoc.amazon.written_kinds import OLDEST, going
from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.model import kinds, permissions
from kubectl_eksdoc.model.aws_operations import AwsOperation
from kubectl_eksdoc.model.coredns import SYSTEM
from kubectl_eksdoc.model.kinds import (
    AUTOSCALERS,
    BUDGETS,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    CRON_JOBS,
    DAEMON_SETS,
    EVENTS,
    FURTHER,
    JOBS,
    LEASES,
    NAMESPACES,
    NODE_POOLS,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    VOLUME_ATTACHMENTS,
    CheckNeed,
    Resource,
)
from kubectl_eksdoc.model.placing import PLACED, RBAC
from kubectl_eksdoc.model.quantities import Version

from . import asked as of_aws
from .asked import NOTHING_WITHOUT, Right, rights_of


def _each(verbs: str, *resources: Resource, lost: str = "", **where: Any) -> tuple[Right, ...]:
    """`verbs`, separated by spaces, on each of `resources`; required where `lost` is ""."""
    return tuple(Right(verb, each, not lost, lost, **where) for each in resources for verb in verbs.split())


_LOST: Mapping[Resource, str] = {
    PRIORITY_CLASSES: "findings about preemption say priorities as numbers, without their classes",
    LEASES: "the holder of a leader election is not known, so it may go before its standbys",
    AUTOSCALERS: "advice to scale a workload says that it is not known whether an autoscaler would undo it",
    NODE_POOLS: "`--nodegroup` does not know a Karpenter NodePool that has no nodes at the moment",
    NAMESPACES: "`metadata.cluster.uid` is null",
}

DRAIN_PLAN = tuple(Right("list", r, r in NOTHING_WITHOUT, _LOST.get(r, "")) for r in kinds.ALL)

PLAN = (*DRAIN_PLAN, *rights_of("stops"))
"""The rights of a plan or a rehearsal of the live cluster."""

ASK = rights_of("ask")
_JOURNAL = rights_of("journal")
# patches of nodes: cordon, the label for load balancers, annotations against autoscalers
_NODES, _PODS, _EVICT = map(rights_of, ("nodes", "pods", "evict"))
_RESTARTED, _DELETED = map(rights_of, ("restarted", "deleted"))
_DETACHED = "a node is done without a check of the volumes of its pods: they may still be attached to it"
READ_FOR_RUNS = tuple(
    replace(right, lost=_DETACHED) if right.resource is VOLUME_ATTACHMENTS else right
    for right in DRAIN_PLAN
    if right.resource not in (NODES, PODS, BUDGETS)
)
WATCH = rights_of("watch")
RUN = (*_NODES, *_PODS, *_EVICT, *_JOURNAL, *_RESTARTED, *_DELETED, *READ_FOR_RUNS)
INSIDE = tuple(each for each in RUN if each not in _DELETED)
"""The rights of a run inside the cluster, without a user: it deletes no pod past its PodDisruptionBudget."""

ROLLBACK = (*_NODES, *_PODS, *(right for right in _EVICT if not right.subresource), *_JOURNAL)
STATUS = rights_of("status")
ATTACHED = (*WATCH, *READ_FOR_RUNS)

NAMES = rights_of("names")
"""Used by completion at a press of Tab; no command needs them."""


# The rights of commands that check and fix add-ons, credentials, DNS and interruptions.


_SINGLE = "what an update changes in this object of the add-on is unknown"
_SEARCHED = "whether the add-on has such objects is unknown"
_SEARCH = _each("list", *kinds.SEARCHED, lost=_SEARCHED)
ADDON_DIFF = (
    *rights_of("balanced"),
    *(
        Right("get", resource, lost=_SINGLE, namespace=SYSTEM if resource.namespaced else "")
        for resource in kinds.SINGLE
    ),
    *(each for each in _SEARCH if each.resource is not SERVICES),
)

_EARLIER = "what a past update changed in the pod template of such an object is unknown"
ADDON_AFTER = (
    *ADDON_DIFF,
    *_each("list", *kinds.HISTORY_OF.values(), lost=_EARLIER, namespace=SYSTEM),
)

IMDS_PROBE, IMDS_ACTIVE = map(rights_of, ("imds_probe", "imds_active"))

_RESTART, _EVICT_ONE = map(rights_of, ("restart", "evict_one"))
DNS_MEASURE = (
    *rights_of("measured"),
    *(right for right in IMDS_ACTIVE if right.probe and right.resource is not NAMESPACES),
    *_RESTART,
    *_EVICT_ONE,
)
MEASURED_WITH: Mapping[str, tuple[Right, ...]] = {"rollout": _RESTART, "eviction": _EVICT_ONE}
"""The rights in CoreDNS's own namespace for the disruption during a measurement of DNS, in addition."""

IMDS_FIX = (
    *(right for right in IMDS_PROBE if right.verb == "list"),
    *rights_of("node_class"),
)
"""Pods are not read: a fix changes nodes."""

_OF_KARPENTER, INTERRUPTION = map(rights_of, ("karpenter", "interruption"))
"""Events of nodes are in namespace default (client-go, tools/record: nodes have no namespace)."""
_NO_NOTICES = "where CoreDNS is on Spot nodes of Karpenter: whether it receives notices may be unknown"
_COREDNS = rights_of("coredns_objects")
COREDNS = (
    *_COREDNS,
    *rights_of("coredns_pods"),
    *(replace(each, lost=_NO_NOTICES) for each in _OF_KARPENTER),
)

_OF_ADDON = (
    BUDGETS,
    CLUSTER_ROLES,
    CLUSTER_ROLE_BINDINGS,
    SERVICE_ACCOUNTS,
    SERVICES,
)
COREDNS_WISH = (
    *_COREDNS,
    *(Right("get", each, lost=_SINGLE, namespace=SYSTEM if each.namespaced else "") for each in _OF_ADDON),
    *(each for each in _SEARCH if each.resource not in (BUDGETS, AUTOSCALERS, NAMESPACES)),
    Right("list", NAMESPACES, lost="where an affinity picks namespaces by their labels, nothing is placed"),
)
"""The rights for showing a change before it is applied."""
COREDNS_CHANGE = (
    *COREDNS_WISH,
    *rights_of("coredns_applied"),
)


# The rights of ``check``: for its own reads, and for the commands that it includes.


METRICS = Resource("", "/metrics", namespaced=False)
"""Not a resource: a path of the API server itself (RBAC, nonResourceURLs)."""

_UNCOUNTED = "whether the API server has had requests for APIs that go is unknown"
_UNWRITTEN = "in which version these objects were written is unknown, where the upgrade removes one of their versions"
_NO_RELEASES = "which API versions the releases of Helm use is unknown"

NEXT = Version(READ_TO.major, READ_TO.minor + 1)
"""The newest Kubernetes version for which the removed APIs of an upgrade are all known."""


def written(target: Version) -> tuple[Right, ...]:
    """The kinds that any upgrade to that version checks, from any version; a single upgrade checks few of them."""
    return _each("list", *going(OLDEST, target), lost=_UNWRITTEN)


OF_NEED: Mapping[CheckNeed, tuple[Right, ...]] = {
    CheckNeed.API_REQUESTS: (Right("get", METRICS, lost=_UNCOUNTED),),
    CheckNeed.API_WRITTEN: written(NEXT),
    CheckNeed.HELM: _each("get list", SECRETS, lost=_NO_RELEASES, opt_in=permissions.HELM_RELEASES),
    CheckNeed.PLAN_DRAIN: DRAIN_PLAN,
    CheckNeed.PLAN_ADDONS: ADDON_DIFF,
    CheckNeed.PLAN_IMDS: IMDS_PROBE,
    CheckNeed.PLAN_DNS: (*COREDNS, *INTERRUPTION),
    CheckNeed.PLAN_INTERRUPTION: INTERRUPTION,
    CheckNeed.PROXY: _each("get", CONFIG_MAPS, DAEMON_SETS, lost="the mode of kube-proxy is unknown", namespace=SYSTEM),
}
"""In addition to the lists that a check judges. `API_WRITTEN` has all kinds for upgrades to `NEWEST_TARGET`. A need
that is absent here needs no right in the cluster."""

_ADDONS = (questions.ADDONS, questions.ADDON, questions.ADDON_VERSIONS)
_GROUPS = (questions.NODE_GROUPS, questions.NODE_GROUP)
_UPDATES = (questions.UPDATES, questions.UPDATE)
ASKED_OF_NEED: Mapping[CheckNeed, tuple[AwsOperation, ...]] = {
    CheckNeed.VERSIONS: (questions.CLUSTER_VERSIONS,),
    CheckNeed.ADDONS: _ADDONS,
    CheckNeed.INSIGHTS: (questions.INSIGHTS, questions.INSIGHT),
    CheckNeed.CLUSTER_UPDATES: _UPDATES,
    CheckNeed.NODE_GROUPS: _GROUPS,
    CheckNeed.GROUP_UPDATES: (questions.NODE_GROUPS, *_UPDATES),
    CheckNeed.TEMPLATES: (*_GROUPS, questions.TEMPLATE_VERSIONS),
    CheckNeed.RELEASES: (*_GROUPS, questions.PARAMETER),
    CheckNeed.SUBNETS: (questions.SUBNETS,),
    CheckNeed.QUOTAS: (questions.QUOTA, questions.METRICS),
    CheckNeed.PLAN_ADDONS: (*_ADDONS, questions.ADDON_CONFIGURATION),
    CheckNeed.PLAN_IMDS: of_aws.BY_COMMAND["imds-probe"],
    CheckNeed.PLAN_DNS: of_aws.BY_COMMAND["coredns-lameduck"],
    CheckNeed.PLAN_INTERRUPTION: of_aws.BY_COMMAND["interruption"],
}
"""A need that is absent here calls no AWS operation."""
WHOSE = (questions.CALLER, questions.CLUSTER)
"""They verify that AWS describes the same cluster; without them no AWS answer is used."""


def _each_once(rights: Iterable[Right]) -> tuple[Right, ...]:
    """Without rights that allow the same in the same namespace: commands give different descriptions of the same
    right."""
    found: dict[object, Right] = {}
    for right in rights:
        found.setdefault(right.what, right)
    return tuple(found.values())


LISTED = rights_of("extensions")
"""Lists that no other command reads, or that are required."""

CHECK = _each_once((*LISTED, *(right for each in OF_NEED.values() for right in each)))
ASKED: tuple[AwsOperation, ...] = tuple(
    dict.fromkeys((*WHOSE, *(question for each in ASKED_OF_NEED.values() for question in each)))
)


def narrowed(
    kinds_read: Collection[Resource], needs: Collection[CheckNeed], target: Version = NEXT
) -> tuple[Right, ...]:
    """The rights that chosen checks need, by the lists that they judge and by their needs, for upgrades to that
    version."""
    listed = {Right("list", each).what for each in kinds_read}
    of_needs = OF_NEED if target == NEXT else {**OF_NEED, CheckNeed.API_WRITTEN: written(target)}
    return _each_once(
        (
            *(each for each in CHECK if each.required or each.what in listed),
            *(right for need, each in of_needs.items() if need in needs for right in each),
        )
    )


def asked(needs: Collection[CheckNeed]) -> tuple[AwsOperation, ...]:
    """As `rights_of_checks`, for AWS operations."""
    return (*WHOSE, *(question for need, each in ASKED_OF_NEED.items() if need in needs for question in each))


_CHECKS_UNSEEN = "what has changed of these since then is unknown"
CHANGED = _each("list", *kinds.HISTORY_OF.values(), EVENTS, lost=_CHECKS_UNSEEN)
ASKED_OF_CHANGES = (questions.ADDONS, questions.NODE_GROUPS, *_UPDATES)
"""The additional operations of ``--changed-since``."""

SNAPSHOT = _each_once((*CHECK, *ADDON_AFTER, *CHANGED, *written(Version(READ_TO.major, READ_TO.minor + FURTHER))))
"""All that any command reads."""


# The rights of ``--in-cluster --apply``: to create its objects, and all rights that its roles grant.
#
# Source: Kubernetes, RBAC, "Privilege escalation prevention and bootstrapping": the creator of a role must have its
# rights already in the same scope, or the verb escalate; the creator of a binding those of its role, or the verb bind.


_ALIKE = "whether what has one of its names already is of this tool is not said"
_NO_FILES = "`--suppressions` cannot be sent along"
_GIVEN = (
    "Kubernetes refuses the role that gives it to the Job (exit code 3): a user can only grant "
    "permissions that they have"
)


def _placing(resource: Resource, where: Right, flag: str = "") -> tuple[Right, ...]:
    """The rights to create and get one object in the namespace of `scope`."""
    there = replace(where, resource=resource, subresource="", flag=flag, opt_in=None)
    lost = _NO_FILES if flag else ""
    return replace(there, verb="create", required=not flag, lost=lost), replace(
        there, verb="get", required=False, lost=_ALIKE
    )


_HERE = Right("create", CONFIG_MAPS, journal=True)


def _given(rights: Iterable[Right]) -> tuple[Right, ...]:
    """The rights, and those to create the roles that grant them: one role for each namespace, and one ClusterRole."""
    given = tuple(dict.fromkeys(replace(each, required=True, lost=_GIVEN) for each in rights))
    found: dict[object, Right] = {}
    for right in given:
        namespaced = right.journal or right.karpenter or bool(right.namespace)
        roles = (each for each in PLACED if each.group == RBAC and each.namespaced is namespaced)
        for each in (each for role in roles for each in _placing(role, right)):
            found.setdefault(each.what, each)
    found.update((each.what, each) for each in given)
    return tuple(found.values())


def of_check(held: Iterable[Right]) -> tuple[Right, ...]:
    """The rights to create a CronJob whose role grants the rights `granted`."""
    return (
        *_placing(SERVICE_ACCOUNTS, _HERE),
        *_placing(CONFIG_MAPS, _HERE, "--suppressions"),
        *_placing(CRON_JOBS, _HERE),
        *_given(held),
    )


PLACING_CHECK = of_check(CHECK)
PLACING_RUN = (
    *(each for kind in (SERVICE_ACCOUNTS, CONFIG_MAPS, JOBS) for each in _placing(kind, _HERE)),
    *_given((*DRAIN_PLAN, *INSIDE)),
)
