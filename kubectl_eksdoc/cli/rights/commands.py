"""The rights of each command, built from the records in knowledge/rights.json."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from kubectl_eksdoc.amazon.removed_apis import REMOVALS_READ_TO
from kubectl_eksdoc.amazon.written_kinds import OLDEST_VERSION, kinds_with_removed_versions
from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.model import kinds, permissions
from kubectl_eksdoc.model.aws_operations import AwsOperation
from kubectl_eksdoc.model.coredns import SYSTEM_NAMESPACE
from kubectl_eksdoc.model.kinds import (
    AUTOSCALERS,
    BUDGETS,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    CRON_JOBS,
    DAEMON_SETS,
    EVENTS,
    JOBS,
    LEASES,
    MAX_UPGRADE_STEPS,
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
from kubectl_eksdoc.model.placement import CREATED_KINDS, RBAC
from kubectl_eksdoc.model.quantities import Version

from . import definitions as of_aws
from .definitions import REQUIRED_LISTS, Right, read_rights


def _rights(verbs: str, *resources: Resource, lost: str = "", **scope: Any) -> tuple[Right, ...]:
    """`verbs`, separated by spaces, on each of `resources`; required where `lost` is ""."""
    return tuple(Right(verb, each, not lost, lost, **scope) for each in resources for verb in verbs.split())


_LOST: Mapping[Resource, str] = {
    PRIORITY_CLASSES: "findings about preemption say priorities as numbers, without their classes",
    LEASES: "the holder of a leader election is not known, so it may go before its standbys",
    AUTOSCALERS: "advice to scale a workload says that it is not known whether an autoscaler would undo it",
    NODE_POOLS: "`--nodegroup` does not know a Karpenter NodePool that has no nodes at the moment",
    NAMESPACES: "`metadata.cluster.uid` is null",
}

DRAIN_PLAN = tuple(Right("list", r, r in REQUIRED_LISTS, _LOST.get(r, "")) for r in kinds.ALL)

PLAN = (*DRAIN_PLAN, *read_rights("stops"))
"""The rights of a plan or a rehearsal of the live cluster."""

REQUEST_PHASE = read_rights("ask")
_JOURNAL = read_rights("journal")
# patches of nodes: cordon, the label for load balancers, annotations against autoscalers
_NODES, _PODS, _EVICT = map(read_rights, ("nodes", "pods", "evict"))
_RESTARTED, _DELETED = map(read_rights, ("restarted", "deleted"))
_DETACHED = "a node is done without a check of the volumes of its pods: they may still be attached to it"
READ_FOR_RUNS = tuple(
    replace(right, lost=_DETACHED) if right.resource is VOLUME_ATTACHMENTS else right
    for right in DRAIN_PLAN
    if right.resource not in (NODES, PODS, BUDGETS)
)
WATCH = read_rights("watch")
RUN = (*_NODES, *_PODS, *_EVICT, *_JOURNAL, *_RESTARTED, *_DELETED, *READ_FOR_RUNS)
IN_CLUSTER_RUN = tuple(each for each in RUN if each not in _DELETED)
"""The rights of a run inside the cluster, without a user: it deletes no pod past its PodDisruptionBudget."""

ROLLBACK = (*_NODES, *_PODS, *(right for right in _EVICT if not right.subresource), *_JOURNAL)
STATUS = read_rights("status")
ATTACH = (*WATCH, *READ_FOR_RUNS)

COMPLETION = read_rights("names")
"""Used by completion at a press of Tab; no command needs them."""


# The rights of commands that check and fix add-ons, credentials, DNS and interruptions.


_SINGLE = "what an update changes in this object of the add-on is unknown"
_SEARCHED = "whether the add-on has such objects is unknown"
_SEARCH = _rights("list", *kinds.SEARCHED, lost=_SEARCHED)
ADDON_DIFF = (
    *read_rights("balanced"),
    *(
        Right("get", resource, lost=_SINGLE, namespace=SYSTEM_NAMESPACE if resource.namespaced else "")
        for resource in kinds.READ_BY_NAME
    ),
    *(each for each in _SEARCH if each.resource is not SERVICES),
)

_EARLIER = "what a past update changed in the pod template of such an object is unknown"
ADDON_AFTER = (
    *ADDON_DIFF,
    *_rights("list", *kinds.HISTORY_KINDS.values(), lost=_EARLIER, namespace=SYSTEM_NAMESPACE),
)

IMDS_PROBE, IMDS_ACTIVE = map(read_rights, ("imds_probe", "imds_active"))

_RESTART, _EVICT_COREDNS = map(read_rights, ("restart", "evict_one"))
DNS_MEASURE = (
    *read_rights("measured"),
    *(right for right in IMDS_ACTIVE if right.probe and right.resource is not NAMESPACES),
    *_RESTART,
    *_EVICT_COREDNS,
)
MEASURED_WITH: Mapping[str, tuple[Right, ...]] = {"rollout": _RESTART, "eviction": _EVICT_COREDNS}
"""The rights in CoreDNS's own namespace for the disruption during a measurement of DNS, in addition."""

IMDS_FIX = (
    *(right for right in IMDS_PROBE if right.verb == "list"),
    *read_rights("node_class"),
)
"""Single pods and their logs are not read: a fix changes nodes."""

_KARPENTER, INTERRUPTION = map(read_rights, ("karpenter", "interruption"))
"""Events of nodes are in namespace default (client-go, tools/record: nodes have no namespace)."""
_NO_NOTICES = "where CoreDNS is on Spot nodes of Karpenter: whether it receives notices may be unknown"
_COREDNS = read_rights("coredns_objects")
COREDNS = (
    *_COREDNS,
    *read_rights("coredns_pods"),
    *(replace(each, lost=_NO_NOTICES) for each in _KARPENTER),
)

_ADDON_OBJECTS = (
    BUDGETS,
    CLUSTER_ROLES,
    CLUSTER_ROLE_BINDINGS,
    SERVICE_ACCOUNTS,
    SERVICES,
)
COREDNS_SHOWN_CHANGE = (
    *_COREDNS,
    *(
        Right("get", each, lost=_SINGLE, namespace=SYSTEM_NAMESPACE if each.namespaced else "")
        for each in _ADDON_OBJECTS
    ),
    *(each for each in _SEARCH if each.resource not in (BUDGETS, AUTOSCALERS, NAMESPACES)),
    Right("list", NAMESPACES, lost="where an affinity picks namespaces by their labels, nothing is placed"),
)
"""The rights for showing a change before it is applied."""
COREDNS_CHANGE = (
    *COREDNS_SHOWN_CHANGE,
    *read_rights("coredns_applied"),
)


# The rights of ``check``: for its own reads, and for the commands that it includes.


METRICS = Resource("", "/metrics", namespaced=False)
"""Not a resource: a path of the API server itself (RBAC, nonResourceURLs)."""

_NO_REQUEST_METRICS = "whether the API server has had requests for APIs that go is unknown"
_NO_STORED_VERSIONS = (
    "in which version these objects were written is unknown, where the upgrade removes one of their versions"
)
_NO_RELEASES = "which API versions the releases of Helm use is unknown"

NEWEST_TARGET = Version(REMOVALS_READ_TO.major, REMOVALS_READ_TO.minor + 1)
"""The newest Kubernetes version that is the next one of a cluster whose removals are all known: those of this version
itself are planned ones."""


def stored_version_rights(target: Version) -> tuple[Right, ...]:
    """The kinds that any upgrade to that version checks, from any version; a single upgrade checks few of them."""
    return _rights("list", *kinds_with_removed_versions(OLDEST_VERSION, target), lost=_NO_STORED_VERSIONS)


RIGHTS_BY_NEED: Mapping[CheckNeed, tuple[Right, ...]] = {
    CheckNeed.API_REQUESTS: (Right("get", METRICS, lost=_NO_REQUEST_METRICS),),
    CheckNeed.API_WRITTEN: stored_version_rights(NEWEST_TARGET),
    CheckNeed.HELM: _rights("get list", SECRETS, lost=_NO_RELEASES, opt_in=permissions.HELM_RELEASES),
    CheckNeed.PLAN_DRAIN: DRAIN_PLAN,
    CheckNeed.PLAN_ADDONS: ADDON_DIFF,
    CheckNeed.PLAN_IMDS: IMDS_PROBE,
    CheckNeed.PLAN_DNS: (*COREDNS, *INTERRUPTION),
    CheckNeed.PLAN_INTERRUPTION: INTERRUPTION,
    CheckNeed.PROXY: _rights(
        "get", CONFIG_MAPS, DAEMON_SETS, lost="the mode of kube-proxy is unknown", namespace=SYSTEM_NAMESPACE
    ),
}
"""In addition to the lists that a check judges. `API_WRITTEN` has all kinds for upgrades to `NEWEST_TARGET`. A need
that is absent here needs no right in the cluster."""

_ADDONS = (questions.ADDONS, questions.ADDON, questions.ADDON_VERSIONS)
_GROUPS = (questions.NODE_GROUPS, questions.NODE_GROUP)
_UPDATES = (questions.UPDATES, questions.UPDATE)
OPERATIONS_BY_NEED: Mapping[CheckNeed, tuple[AwsOperation, ...]] = {
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
IDENTITY_OPERATIONS = (questions.CALLER, questions.CLUSTER)
"""They verify that AWS describes the same cluster; without them no AWS answer is used."""


def _without_duplicates(rights: Iterable[Right]) -> tuple[Right, ...]:
    """Without rights that allow the same in the same namespace: commands give different descriptions of the same
    right."""
    by_identity: dict[object, Right] = {}
    for right in rights:
        by_identity.setdefault(right.identity, right)
    return tuple(by_identity.values())


CHECK_LISTS = read_rights("extensions")
"""Lists that no other command reads, or that are required."""

CHECK = _without_duplicates((*CHECK_LISTS, *(right for each in RIGHTS_BY_NEED.values() for right in each)))
CHECK_OPERATIONS: tuple[AwsOperation, ...] = tuple(
    dict.fromkeys((*IDENTITY_OPERATIONS, *(question for each in OPERATIONS_BY_NEED.values() for question in each)))
)


def rights_of_checks(
    kinds_read: Collection[Resource], needs: Collection[CheckNeed], target: Version = NEWEST_TARGET
) -> tuple[Right, ...]:
    """The rights that chosen checks need, by the lists that they judge and by their needs, for upgrades to that
    version."""
    list_rights = {Right("list", each).identity for each in kinds_read}
    rights_by_need = (
        RIGHTS_BY_NEED
        if target == NEWEST_TARGET
        else {**RIGHTS_BY_NEED, CheckNeed.API_WRITTEN: stored_version_rights(target)}
    )
    return _without_duplicates(
        (
            *(each for each in CHECK if each.required or each.identity in list_rights),
            *(right for need, each in rights_by_need.items() if need in needs for right in each),
        )
    )


def operations_of_checks(needs: Collection[CheckNeed]) -> tuple[AwsOperation, ...]:
    """As `rights_of_checks`, for AWS operations."""
    return (
        *IDENTITY_OPERATIONS,
        *(question for need, each in OPERATIONS_BY_NEED.items() if need in needs for question in each),
    )


_NO_CHANGES = "what has changed of these since then is unknown"
CHANGED_SINCE = _rights("list", *kinds.HISTORY_KINDS.values(), EVENTS, lost=_NO_CHANGES)
CHANGED_SINCE_OPERATIONS = (questions.ADDONS, questions.NODE_GROUPS, *_UPDATES)
"""The additional operations of ``--changed-since``."""

SNAPSHOT = _without_duplicates(
    (
        *CHECK,
        *ADDON_AFTER,
        *CHANGED_SINCE,
        *stored_version_rights(Version(REMOVALS_READ_TO.major, REMOVALS_READ_TO.minor + MAX_UPGRADE_STEPS)),
    )
)
"""All that any command reads."""


# The rights of ``--in-cluster --apply``: to create its objects, and all rights that its roles grant.
#
# Source: Kubernetes, RBAC, "Privilege escalation prevention and bootstrapping": the creator of a role must have its
# rights already in the same scope, or the verb escalate; the creator of a binding those of its role, or the verb bind.


_OWNER_UNKNOWN = "whether what has one of its names already is of this tool is not said"
_NO_FILES = "`--suppressions` cannot be sent along"
_ESCALATION_REFUSED = (
    "Kubernetes refuses the role that gives it to the Job (exit code 3): a user can only grant "
    "permissions that they have"
)


def _object_rights(resource: Resource, scope: Right, flag: str = "") -> tuple[Right, ...]:
    """The rights to create and get one object in the namespace of `scope`."""
    right = replace(scope, resource=resource, subresource="", flag=flag, opt_in=None)
    lost = _NO_FILES if flag else ""
    return replace(right, verb="create", required=not flag, lost=lost), replace(
        right, verb="get", required=False, lost=_OWNER_UNKNOWN
    )


_JOURNAL_NAMESPACE = Right("create", CONFIG_MAPS, journal=True)


def _granting_rights(rights: Iterable[Right]) -> tuple[Right, ...]:
    """The rights, and those to create the roles that grant them: one role for each namespace, and one ClusterRole."""
    granted = tuple(dict.fromkeys(replace(each, required=True, lost=_ESCALATION_REFUSED) for each in rights))
    by_identity: dict[object, Right] = {}
    for right in granted:
        namespaced = right.journal or right.karpenter or bool(right.namespace)
        roles = (each for each in CREATED_KINDS if each.group == RBAC and each.namespaced is namespaced)
        for each in (each for role in roles for each in _object_rights(role, right)):
            by_identity.setdefault(each.identity, each)
    by_identity.update((each.identity, each) for each in granted)
    return tuple(by_identity.values())


def in_cluster_check_rights(granted: Iterable[Right]) -> tuple[Right, ...]:
    """The rights to create a CronJob whose role grants the rights `granted`."""
    return (
        *_object_rights(SERVICE_ACCOUNTS, _JOURNAL_NAMESPACE),
        *_object_rights(CONFIG_MAPS, _JOURNAL_NAMESPACE, "--suppressions"),
        *_object_rights(CRON_JOBS, _JOURNAL_NAMESPACE),
        *_granting_rights(granted),
    )


IN_CLUSTER_CHECK = in_cluster_check_rights(CHECK)
IN_CLUSTER_RUN_PLACEMENT = (
    *(each for kind in (SERVICE_ACCOUNTS, CONFIG_MAPS, JOBS) for each in _object_rights(kind, _JOURNAL_NAMESPACE)),
    *_granting_rights((*DRAIN_PLAN, *IN_CLUSTER_RUN)),
)
