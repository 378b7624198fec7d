"""The rights of drains: to plan them, to run them, and to look at runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from kubectl_eksdoc.amazon.upgrades.removed_apis import READ_TO
from kubectl_eksdoc.amazon.upgrades.written_kinds import OLDEST, going, gone_before
from kubectl_eksdoc.cli.rights import asked as of_aws
from kubectl_eksdoc.cli.rights.asked import NOTHING_WITHOUT, Right
from kubectl_eksdoc.model import kinds, permissions
from kubectl_eksdoc.model.aws import questions
from kubectl_eksdoc.model.aws.questions import AwsOperation
from kubectl_eksdoc.model.check_needs import FURTHER, CheckNeed
from kubectl_eksdoc.model.coredns import SYSTEM
from kubectl_eksdoc.model.kinds import (
    API_SERVICES,
    AUTOSCALERS,
    BUDGETS,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    CRON_JOBS,
    DAEMON_SETS,
    DEFINITIONS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    ENI_CONFIGS,
    EVENTS,
    JOBS,
    LEASES,
    NAMESPACES,
    NODE_CLASSES,
    NODE_POOLS,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    SECRETS,
    SECURITY_GROUP_POLICIES,
    SERVICE_ACCOUNTS,
    SERVICES,
    TARGET_GROUP_BINDINGS,
    VOLUME_ATTACHMENTS,
    Resource,
)
from kubectl_eksdoc.model.placing import PLACED, RBAC
from kubectl_eksdoc.model.quantities import Version


def _each(verbs: str, *resources: Resource, lost: str = "", **where: Any) -> tuple[Right, ...]:
    """`verbs` with a space between them, on each of `resources`; required where nothing is said to be `lost`."""
    return tuple(Right(verb, each, not lost, lost, **where) for each in resources for verb in verbs.split())


_BASIS = _each("list", *NOTHING_WITHOUT)

_LOST: Mapping[Resource, str] = {
    PRIORITY_CLASSES: "findings about preemption say priorities as numbers, without their classes",
    LEASES: "the holder of a leader election is not known, so it may go before its standbys",
    AUTOSCALERS: "advice to scale a workload says that it is not known whether an autoscaler would undo it",
    NODE_POOLS: "`--nodegroup` does not know a Karpenter NodePool that has no nodes at the moment",
    NAMESPACES: "`metadata.cluster.uid` is null",
}

DRAIN_PLAN = tuple(Right("list", r, r in NOTHING_WITHOUT, _LOST.get(r, "")) for r in kinds.ALL)

_STOPS = Right("list", CONFIG_MAPS, lost="how long pods stop is known by runs from this machine alone", journal=True)
PLAN = (*DRAIN_PLAN, _STOPS)
"""Those of a plan or a rehearsal of the live cluster."""

JOURNAL_READ = (
    Right("list", CONFIG_MAPS, True, journal=True),
    Right("get", LEASES, lost="it is unknown whether a process leads the run", journal=True),
)
ASK = (*JOURNAL_READ, Right("patch", CONFIG_MAPS, True, journal=True))
_JOURNAL = (
    Right("get", CONFIG_MAPS, True, journal=True),
    *ASK,
    *_each("create update", LEASES, journal=True),
    Right("create", CONFIG_MAPS, True, journal=True),
)
# patched: cordons, the label for load balancers, and what keeps autoscalers away
_NODES = _each("get list watch patch", NODES)
_PODS = _each("get list watch", PODS)
_EVICT = (
    Right("create", PODS, True, subresource="eviction"),
    *_each("list watch", BUDGETS),
)
_NOT_RESTARTED = "`--surge-singles` restarts nothing: the nodes of single replicas are left alone"
_NOT_DELETED = "`--delete-past-budget` deletes nothing: the nodes of those pods are left alone"
_RESTARTED = _each(
    "get patch", DEPLOYMENTS, lost=_NOT_RESTARTED, flag="--surge-singles", opt_in=permissions.PATCH_WORKLOADS
)
_DELETED = (Right("delete", PODS, lost=_NOT_DELETED, flag="--delete-past-budget", opt_in=permissions.DELETE_PODS),)
_DETACHED = "a node is done without a check of the volumes of its pods: they may still be attached to it"
READ_FOR_RUNS = tuple(
    replace(right, lost=_DETACHED) if right.resource is VOLUME_ATTACHMENTS else right
    for right in DRAIN_PLAN
    if right.resource not in (NODES, PODS, BUDGETS)
)
WATCH = _each("list watch", NODES, PODS, BUDGETS)
RUN = (*_NODES, *_PODS, *_EVICT, *_JOURNAL, *_RESTARTED, *_DELETED, *READ_FOR_RUNS)
INSIDE = tuple(each for each in RUN if each not in _DELETED)
"""Those of a run that nobody watches over: it deletes no pod past its budget."""

ROLLBACK = (*_NODES, *_PODS, *(right for right in _EVICT if not right.subresource), *_JOURNAL)
STATUS = (*JOURNAL_READ, Right("list", NODES, lost="runs whose journal is gone are not found"))
ATTACHED = (*WATCH, *READ_FOR_RUNS)

_UNOFFERED = "names are not offered"
_OFFERED = (NODES, NODE_POOLS, NAMESPACES, PODS, BUDGETS)
NAMES = (
    *_each("list", *_OFFERED, lost=_UNOFFERED),
    Right("list", CONFIG_MAPS, lost=_UNOFFERED, journal=True),
)
"""Asked for when somebody presses Tab; nothing else needs them."""


# The rights of what looks at add-ons, credentials, DNS and interruptions, and mends them.


_BALANCED = "which target groups would lose targets is unknown"
_SINGLE = "what an update changes in this object of the add-on is unknown"
_SEARCHED = "whether the add-on has such objects is unknown"
_SEARCH = _each("list", *kinds.SEARCHED, lost=_SEARCHED)
ADDON_DIFF = (
    *_BASIS,
    *_each("list", SERVICES, TARGET_GROUP_BINDINGS, lost=_BALANCED),
    Right("list", SECURITY_GROUP_POLICIES, lost="whether pods will get security groups of their own is unknown"),
    Right("list", ENI_CONFIGS, lost="whether custom networking is used is unknown, and taken to be"),
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

_NO_CLASS = "what Karpenter's next node will have is unknown"
IMDS_PROBE = (
    *_BASIS,
    *_each("list", NODE_CLASSES, NODE_POOLS, lost=_NO_CLASS),
    Right("get", PODS, lost="with what known programs were started, and which logs there are, is unknown"),
    Right("get", PODS, lost="whether pods that fail do so because of it is unknown", subresource="log"),
)

_LEFTOVERS = "what probes that were killed have left is not found"
_LEVEL = "whether the namespace allows the host's network is found out when the server refuses the pod"
IMDS_ACTIVE = (
    Right("list", NODES, True),
    Right("list", PODS, lost="`pod/NAME` is not known", flag="pod/NAME"),
    Right("get", NAMESPACES, lost=_LEVEL, probe=True),
    Right("list", CONFIG_MAPS, lost=_LEFTOVERS, probe=True),
    *_each("create delete", CONFIG_MAPS, probe=True),
    *_each("create list", PODS, probe=True),
    Right("get", PODS, True, subresource="log", probe=True),
)

_UNSEEN = "when a pod left the endpoints is not known, nor which endpoints serve"
_NO_ROLLOUT = "`--measure=rollout` restarts nothing"
_RESTART = _each(
    "get patch",
    DEPLOYMENTS,
    lost=_NO_ROLLOUT,
    namespace=SYSTEM,
    flag="--measure=rollout",
    opt_in=permissions.PATCH_WORKLOADS,
)
_EVICT_ONE = (
    Right(
        "create",
        PODS,
        lost="`--measure=eviction` evicts nothing",
        subresource="eviction",
        namespace=SYSTEM,
        flag="--measure=eviction",
    ),
)
DNS_MEASURE = (
    Right("list", NODES, True),
    Right("list", PODS, True, namespace=SYSTEM),
    Right("get", SERVICES, True, namespace=SYSTEM),
    Right("list", ENDPOINT_SLICES, lost=_UNSEEN, namespace=SYSTEM),
    *(right for right in IMDS_ACTIVE if right.probe and right.resource is not NAMESPACES),
    *_RESTART,
    *_EVICT_ONE,
)
MEASURED_WITH: Mapping[str, tuple[Right, ...]] = {"rollout": _RESTART, "eviction": _EVICT_ONE}
"""What is needed besides, in CoreDNS's own namespace, by what is to happen while DNS is measured."""

_NO_PATCH = "`--fix node-class` cannot be carried out"
IMDS_FIX = (
    *(right for right in IMDS_PROBE if right.verb == "list"),
    *_each("get patch", NODE_CLASSES, lost=_NO_PATCH, flag="--fix=node-class"),
)
"""No pod is looked into: what is mended is of nodes."""

_NO_DEPLOYMENT = "how Karpenter is configured is unknown"
_NO_LIST = "a Karpenter without pods, and a node termination handler, are found by their pods only"
_NO_EVENTS = "a notice is known by what EC2 says of it only"
_NO_SIGN = "the messages that Karpenter has counted are no sign of life"
_OF_KARPENTER = (
    Right("get", DEPLOYMENTS, lost=_NO_DEPLOYMENT, karpenter=True),
    Right("get", CONFIG_MAPS, lost="the queue of a Karpenter before v0.33 is unknown", karpenter=True),
    Right("get", SERVICE_ACCOUNTS, lost="the role of Karpenter (IRSA) is unknown", karpenter=True),
    Right("get", PODS, lost="which log is Karpenter's is unknown", karpenter=True),
    Right(
        "get",
        PODS,
        lost="whether Karpenter says that it cannot use the queue is unknown",
        subresource="log",
        karpenter=True,
    ),
    Right("get", PODS, lost=_NO_SIGN, subresource="proxy", karpenter=True, opt_in=permissions.PROXY),
    Right("list", EVENTS, lost=_NO_EVENTS, namespace="default"),
)
"""Events of nodes are in namespace default (client-go, tools/record: what they are about has no namespace)."""
INTERRUPTION = (
    *_BASIS,
    *_each("list", DEPLOYMENTS, DAEMON_SETS, lost=_NO_LIST),
    Right("list", BUDGETS, lost="whether budgets hold up a drain within two minutes is unknown"),
    *_OF_KARPENTER,
)

_NO_OBJECT = "what CoreDNS is judged by is unknown: how long it answers while it ends, or who scales it"
_NO_NOTICES = "where CoreDNS is on Spot nodes of Karpenter: whether it receives notices may be unknown"
_COREDNS = (
    *_BASIS,
    Right("list", BUDGETS, lost="whether a budget keeps its pods from going all at once is unknown"),
    Right("list", ENDPOINT_SLICES, lost="which of its pods are asked is unknown"),
    Right("list", AUTOSCALERS, lost="whether an autoscaler scales it is unknown"),
    *_each("get", DEPLOYMENTS, CONFIG_MAPS, lost=_NO_OBJECT, namespace=SYSTEM),
)
COREDNS = (
    *_COREDNS,
    Right("get", PODS, lost="whether its containers restart, and why, is unknown", namespace=SYSTEM),
    Right("get", PODS, lost="whether it prints errors is unknown", subresource="log", namespace=SYSTEM),
    *(replace(each, lost=_NO_NOTICES) for each in _OF_KARPENTER),
)

_BY_LOG = "whether a pod has loaded a new Corefile shows only in its log"
_BY_METRIC = "whether a pod that refuses a new Corefile, or has started since, runs it is not known"
_HAND_MADE = "a CoreDNS that EKS does not manage is not changed"
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
"""What is looked at to say what a change would be."""
COREDNS_CHANGE = (
    *COREDNS_WISH,
    Right("get", PODS, lost=_BY_METRIC, subresource="log", namespace=SYSTEM),
    Right("get", PODS, lost=_BY_LOG, subresource="proxy", namespace=SYSTEM, opt_in=permissions.PROXY),
    Right("patch", CONFIG_MAPS, lost=_HAND_MADE, namespace=SYSTEM),
)


# The rights of ``check``: of what it reads itself, and of the commands that it sums up.


METRICS = Resource("", "/metrics", namespaced=False)
"""No resource: a path of the server itself (RBAC, nonResourceURLs)."""

_UNCOUNTED = "whether the API server has had requests for APIs that go is unknown"
_UNWRITTEN = "in which version these objects were written is unknown, where the upgrade removes one of their versions"
_REFUSED = "whether manifests of these would be refused today is unknown"
_NO_RELEASES = "which API versions the releases of Helm use is unknown"

NEXT = Version(READ_TO.major, READ_TO.minor + 1)
"""The newest that is the next version of a cluster whose removals are all known."""


def written(target: Version) -> tuple[Right, ...]:
    """All that ways to that version look at, wherever they begin; one way looks at few of them."""
    return _each("list", *going(OLDEST, target), lost=_UNWRITTEN)


OF_NEED: Mapping[CheckNeed, tuple[Right, ...]] = {
    CheckNeed.API_REQUESTS: (Right("get", METRICS, lost=_UNCOUNTED),),
    CheckNeed.API_WRITTEN: written(NEXT),
    CheckNeed.API_GONE: _each("list", *gone_before(NEXT), lost=_REFUSED),
    CheckNeed.HELM: _each("get list", SECRETS, lost=_NO_RELEASES, opt_in=permissions.HELM_RELEASES),
    CheckNeed.PLAN_DRAIN: DRAIN_PLAN,
    CheckNeed.PLAN_ADDONS: ADDON_DIFF,
    CheckNeed.PLAN_IMDS: IMDS_PROBE,
    CheckNeed.PLAN_DNS: (*COREDNS, *INTERRUPTION),
    CheckNeed.PLAN_INTERRUPTION: INTERRUPTION,
    CheckNeed.PROXY: (Right("get", CONFIG_MAPS, lost="the mode of kube-proxy is unknown", namespace=SYSTEM),),
}
"""Besides the lists that a check judges by. Of `API_WRITTEN` and `API_GONE` all that ways to the `NEXT` version need.
What is not in here needs no right of the cluster."""

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
"""What is not in here asks AWS nothing."""
WHOSE = (questions.CALLER, questions.CLUSTER)
"""Without these nothing that AWS says is believed."""


def _each_once(rights: Iterable[Right]) -> tuple[Right, ...]:
    """By what is allowed, and where: several commands say different things of the same right."""
    found: dict[object, Right] = {}
    for right in rights:
        found.setdefault(right.what, right)
    return tuple(found.values())


_EXTENSIONS = "what extends the API, and who answers for it, is unknown"
LISTED = (
    *_BASIS,
    Right("list", CRON_JOBS, lost="the sockets of runtimes that CronJobs mount are unknown"),
    *_each("list", API_SERVICES, DEFINITIONS, lost=_EXTENSIONS),
)
"""Lists that no other command reads, or without which there is no answer."""

CHECK = _each_once((*LISTED, *(right for each in OF_NEED.values() for right in each)))
ASKED: tuple[AwsOperation, ...] = tuple(
    dict.fromkeys((*WHOSE, *(question for each in ASKED_OF_NEED.values() for question in each)))
)


def narrowed(
    kinds_read: Collection[Resource], needs: Collection[CheckNeed], target: Version = NEXT
) -> tuple[Right, ...]:
    """Those that chosen checks need, by the lists that they judge by and by what else, on ways to that version."""
    listed = {Right("list", each).what for each in kinds_read}
    of_needs = OF_NEED if target == NEXT else {**OF_NEED, CheckNeed.API_WRITTEN: written(target)}
    return _each_once(
        (
            *(each for each in CHECK if each.required or each.what in listed),
            *(right for need, each in of_needs.items() if need in needs for right in each),
        )
    )


def asked(needs: Collection[CheckNeed]) -> tuple[AwsOperation, ...]:
    """As `narrowed`, of AWS."""
    return (*WHOSE, *(question for need, each in ASKED_OF_NEED.items() if need in needs for question in each))


_CHECKS_UNSEEN = "what has changed of these since then is unknown"
CHANGED = _each("list", *kinds.HISTORY_OF.values(), EVENTS, lost=_CHECKS_UNSEEN)
ASKED_OF_CHANGES = (questions.ADDONS, questions.NODE_GROUPS, *_UPDATES)
"""Of ``--changed-since``, more."""

SNAPSHOT = _each_once((*CHECK, *ADDON_AFTER, *CHANGED, *written(Version(READ_TO.major, READ_TO.minor + FURTHER))))
"""All that is read by whichever command."""


# The rights of ``--in-cluster --apply``: to create its objects, and to have whatever these give.
#
# Source: Kubernetes, RBAC, "Privilege escalation prevention and bootstrapping": who creates a role must have its rights
# already in the same scope, or the verb escalate; and who creates a binding those of its role, or the verb bind.


_ALIKE = "whether what has one of its names already is of this tool is not said"
_NO_FILES = "`--suppressions` cannot be sent along"
_GIVEN = (
    "Kubernetes refuses the role that gives it to the Job (exit code 3): a user can only grant "
    "permissions that they have"
)


def _placing(resource: Resource, where: Right, flag: str = "") -> tuple[Right, ...]:
    """Of one that stands where `where` is needed."""
    there = replace(where, resource=resource, subresource="", flag=flag, opt_in=None)
    lost = _NO_FILES if flag else ""
    return replace(there, verb="create", required=not flag, lost=lost), replace(
        there, verb="get", required=False, lost=_ALIKE
    )


_HERE = Right("create", CONFIG_MAPS, journal=True)


def _given(rights: Iterable[Right]) -> tuple[Right, ...]:
    """They, and what creates the roles that give them: one for each namespace, and one for everywhere."""
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
    """Of a CronJob that gets the rights `held`."""
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
