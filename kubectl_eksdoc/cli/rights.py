"""The rights each command may use, as data: the error for a missing one, the README and the tests read this."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kubectl_eksdoc.core.model import codes, kinds
from kubectl_eksdoc.core.model.aws import questions
from kubectl_eksdoc.core.model.aws.questions import Question
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.core.model.permissions import Need, Needs, Permission
from kubectl_eksdoc.errors import Forbidden


@dataclass(frozen=True, slots=True)
class Right:
    """One RBAC rule, over all namespaces or, if `journal`, in that of the runs' journal, or, if `probe`, in that of a
    probe's pods. `required`: without it the command cannot answer at all.

    `lost` says what the answer lacks without it where no finding code does.
    """

    verb: str
    resource: Resource
    required: bool = False
    lost: str = ""
    subresource: str = ""
    journal: bool = False
    probe: bool = False

    @property
    def unknown_without(self) -> tuple[str, ...]:
        """The finding codes whose answer is unknown without this right, sorted."""
        return tuple(sorted(code.name for code in codes.ALL if self.verb == "list" and self.resource in code.needs))

    def __str__(self) -> str:
        return f"{self.verb} {self.of}"

    @property
    def is_url(self) -> bool:
        """A path of the server itself, as ``/metrics``: in RBAC under nonResourceURLs, of a ClusterRole alone."""
        return self.resource.plural.startswith("/")

    @property
    def of(self) -> str:
        """As kubectl and RBAC name it: ``poddisruptionbudgets.policy``, ``pods/eviction``, ``/metrics``."""
        return f"{self.resource.full_name}/{self.subresource}" if self.subresource else self.resource.full_name


_NOTHING_WITHOUT = (kinds.NODES, kinds.PODS)

_LOST: Mapping[Resource, str] = {
    kinds.PRIORITY_CLASSES: "findings about preemption say priorities as numbers, without their classes",
    kinds.LEASES: "the holder of a leader election is not known, so it may go before its standbys",
    kinds.AUTOSCALERS: "advice to scale a workload says that it is not known whether an autoscaler would undo it",
    kinds.NODE_POOLS: "`--nodegroup` does not know a Karpenter NodePool that has no nodes at the moment",
    kinds.NAMESPACES: "`metadata.cluster.uid` is null",
}

DRAIN_PLAN = tuple(Right("list", r, r in _NOTHING_WITHOUT, _LOST.get(r, "")) for r in kinds.ALL)


_JOURNAL_READ = (
    Right("get", kinds.CONFIG_MAPS, True, journal=True),
    Right("list", kinds.CONFIG_MAPS, True, journal=True),
    Right("get", kinds.LEASES, lost="it is not known whether somebody leads the run", journal=True),
)
_ASK = (*_JOURNAL_READ, Right("patch", kinds.CONFIG_MAPS, True, journal=True))
_JOURNAL = (
    *_ASK,
    *(Right(verb, kinds.LEASES, True, journal=True) for verb in ("create", "update")),
    Right("create", kinds.CONFIG_MAPS, True, journal=True),
)
# patched: cordons, the label for load balancers, and what keeps autoscalers away
_NODES = tuple(Right(verb, kinds.NODES, True) for verb in ("get", "list", "watch", "patch"))
_PODS = tuple(Right(verb, kinds.PODS, True) for verb in ("get", "list", "watch"))
_EVICT = (
    Right("create", kinds.PODS, True, subresource="eviction"),
    *(Right(verb, kinds.BUDGETS, True) for verb in ("list", "watch")),
)
_NOT_RESTARTED = "`--surge-singles` restarts nothing: the nodes of single replicas are left alone"
_NOT_DELETED = "`--delete-past-budget` deletes nothing: the nodes of those pods are left alone"
_CHOSEN = (
    *(Right(verb, kinds.DEPLOYMENTS, lost=_NOT_RESTARTED) for verb in ("get", "patch")),
    Right("delete", kinds.PODS, lost=_NOT_DELETED),
)
_DETACHED = "a node is done without a look at the volumes of its pods: they may still be attached to it"
_READ_FOR_RUNS = tuple(
    replace(right, lost=_DETACHED) if right.resource is kinds.VOLUME_ATTACHMENTS else right
    for right in DRAIN_PLAN
    if right.resource not in (kinds.NODES, kinds.PODS, kinds.BUDGETS)
)
_WATCH = tuple(Right(v, r, True) for r in (kinds.NODES, kinds.PODS, kinds.BUDGETS) for v in ("list", "watch"))
_RUN = (*_NODES, *_PODS, *_EVICT, *_JOURNAL, *_CHOSEN, *_READ_FOR_RUNS)

_BALANCED = "which target groups would lose targets is unknown"
_SINGLE = "what an update changes in this object of the add-on is unknown"
_ADDON_DIFF = (
    *(Right("list", resource, True) for resource in _NOTHING_WITHOUT),
    *(Right("list", resource, lost=_BALANCED) for resource in (kinds.SERVICES, kinds.TARGET_GROUP_BINDINGS)),
    Right("list", kinds.SECURITY_GROUP_POLICIES, lost="whether pods will get security groups of their own is unknown"),
    Right("list", kinds.ENI_CONFIGS, lost="whether custom networking is used is unknown, and taken to be"),
    *(Right("get", resource, lost=_SINGLE) for resource in kinds.SINGLE),
)

_EARLIER = "what a past update changed in the pod template of such an object is unknown"
_ADDON_AFTER = (*_ADDON_DIFF, *(Right("list", each, lost=_EARLIER) for each in kinds.HISTORY_OF.values()))

_NO_CLASS = "what Karpenter's next node will have is unknown"
_IMDS_PROBE = (
    *(Right("list", resource, True) for resource in _NOTHING_WITHOUT),
    *(Right("list", resource, lost=_NO_CLASS) for resource in (kinds.NODE_CLASSES, kinds.NODE_POOLS)),
    Right("get", kinds.PODS, lost="with what known programs were started, and which logs there are, is unknown"),
    Right("get", kinds.PODS, lost="whether pods that fail do so because of it is unknown", subresource="log"),
)

_LEFTOVERS = "what probes that were killed have left is not found"
_LEVEL = "whether the namespace allows the host's network is found out when the server refuses the pod"
_IMDS_ACTIVE = (
    Right("list", kinds.NODES, True),
    Right("list", kinds.PODS, lost="`pod/NAME` is not known, and what EC2 says is not held against what is measured"),
    Right("get", kinds.NAMESPACES, lost=_LEVEL),
    Right("list", kinds.CONFIG_MAPS, lost=_LEFTOVERS, probe=True),
    *(Right(verb, kinds.CONFIG_MAPS, True, probe=True) for verb in ("create", "delete")),
    *(Right(verb, kinds.PODS, True, probe=True) for verb in ("create", "list")),
    Right("get", kinds.PODS, True, subresource="log", probe=True),
)

_UNSEEN = "when a pod left the endpoints is not known, nor which endpoints serve"
_NO_ROLLOUT = "`--measure=rollout` restarts nothing"
_RESTART = tuple(Right(verb, kinds.DEPLOYMENTS, lost=_NO_ROLLOUT) for verb in ("get", "patch"))
_EVICT_ONE = (Right("create", kinds.PODS, lost="`--measure=eviction` evicts nothing", subresource="eviction"),)
_DNS_MEASURE = (
    *(Right("list", resource, True) for resource in _NOTHING_WITHOUT),
    Right("get", kinds.SERVICES, True),
    Right("list", kinds.ENDPOINT_SLICES, lost=_UNSEEN),
    *(right for right in _IMDS_ACTIVE if right.probe),
    *_RESTART,
    *_EVICT_ONE,
)
MEASURED_WITH: Mapping[str, tuple[Right, ...]] = {"rollout": _RESTART, "eviction": _EVICT_ONE}
"""What is needed besides, in CoreDNS's own namespace, by what is to happen while DNS is measured."""

_NO_PATCH = "`--fix node-class` cannot be carried out"
_IMDS_FIX = (*_IMDS_PROBE, *(Right(verb, kinds.NODE_CLASSES, lost=_NO_PATCH) for verb in ("get", "patch")))

_NO_OBJECT = "what CoreDNS is judged by is unknown: how long it answers while it ends, or who scales it"
_NO_NOTICES = "where CoreDNS is on Spot nodes of Karpenter: whether it hears of notices may be unknown"
_COREDNS = (
    *(Right("list", resource, True) for resource in _NOTHING_WITHOUT),
    Right("list", kinds.BUDGETS, lost="whether a budget keeps its pods from going all at once is unknown"),
    Right("list", kinds.ENDPOINT_SLICES, lost="which of its pods are asked is unknown"),
    Right("list", kinds.AUTOSCALERS, lost="whether somebody scales it is unknown"),
    *(Right("get", resource, lost=_NO_OBJECT) for resource in (kinds.DEPLOYMENTS, kinds.CONFIG_MAPS)),
    Right("get", kinds.PODS, lost="whether its containers restart, and why, is unknown"),
    Right("get", kinds.PODS, lost="whether it prints errors is unknown", subresource="log"),
    Right("get", kinds.SERVICE_ACCOUNTS, lost=_NO_NOTICES),
    Right("get", kinds.PODS, lost=_NO_NOTICES, subresource="proxy"),
    Right("list", kinds.EVENTS, lost=_NO_NOTICES),
)

_NO_DEPLOYMENT = "how Karpenter is configured is unknown"
_NO_LIST = "a Karpenter without pods, and a node termination handler, are found by their pods only"
_INTERRUPTION = (
    *(Right("list", resource, True) for resource in _NOTHING_WITHOUT),
    *(Right("list", resource, lost=_NO_LIST) for resource in (kinds.DEPLOYMENTS, kinds.DAEMON_SETS)),
    Right("list", kinds.BUDGETS, lost="whether budgets hold up a drain within two minutes is unknown"),
    Right("get", kinds.DEPLOYMENTS, lost=_NO_DEPLOYMENT),
    Right("get", kinds.CONFIG_MAPS, lost="the queue of a Karpenter before v0.33 is unknown"),
    Right("get", kinds.SERVICE_ACCOUNTS, lost="the role of Karpenter (IRSA) is unknown"),
    Right("get", kinds.PODS, lost="which log is Karpenter's is unknown"),
    Right("get", kinds.PODS, lost="whether Karpenter says that it cannot use the queue is unknown", subresource="log"),
    Right("get", kinds.PODS, lost="the messages that Karpenter has counted are no sign of life", subresource="proxy"),
    Right("list", kinds.EVENTS, lost="a notice is known by what EC2 says of it only"),
)

_ASKED_OF_INTERRUPTION = (
    questions.CALLER,
    questions.CLUSTER,
    questions.QUEUE_URL,
    questions.QUEUE_ATTRIBUTES,
    questions.RULES,
    questions.RULE_TARGETS,
    questions.KEY,
    questions.KEY_POLICY,
    questions.POD_IDENTITIES,
    questions.POD_IDENTITY,
    questions.ROLE,
    questions.ROLE_POLICIES,
    questions.ROLE_POLICY,
    questions.ATTACHED_POLICIES,
    questions.POLICY,
    questions.POLICY_VERSION,
    questions.METRICS,
    questions.SPOT_REQUESTS,
)

_BY_LOG = "whether a pod has taken a new Corefile up is told by its log alone"
_BY_METRIC = "whether a pod that refuses a new Corefile, or has started since, runs it is not known"
_HAND_MADE = "a CoreDNS that EKS does not manage is not changed"
_COREDNS_CHANGE = (
    *(each for each in _COREDNS if not each.subresource and each.resource is not kinds.SERVICE_ACCOUNTS),
    *(Right("get", each, lost=_SINGLE) for each in (kinds.BUDGETS, kinds.SERVICE_ACCOUNTS)),
    Right("list", kinds.NAMESPACES, lost="where an affinity picks namespaces by their labels, nothing is placed"),
    Right("get", kinds.PODS, lost=_BY_METRIC, subresource="log"),
    Right("get", kinds.PODS, lost=_BY_LOG, subresource="proxy"),
    Right("patch", kinds.CONFIG_MAPS, lost=_HAND_MADE),
)

ASKED_OF_AWS: Mapping[str, tuple[Question, ...]] = {
    "addon-diff": (
        questions.CALLER,
        questions.CLUSTER,
        questions.ADDONS,
        questions.ADDON,
        questions.ADDON_VERSIONS,
        questions.ADDON_CONFIGURATION,
    ),
    "addon-diff --after": (questions.UPDATES, questions.UPDATE),
    "addon-diff --apply": (questions.UPDATE_ADDON, questions.UPDATE, questions.UPDATES, questions.TARGET_HEALTH),
    "imds-probe": (
        questions.CALLER,
        questions.CLUSTER,
        questions.INSTANCES,
        questions.NODE_GROUP,
        questions.SCALING_GROUPS,
        questions.TEMPLATE_VERSIONS,
        questions.IMAGES,
        questions.METADATA_DEFAULTS,
        questions.POD_IDENTITIES,
    ),
    "coredns-lameduck": (
        questions.ADDON,
        questions.ADDON_VERSIONS,
        questions.ADDON_CONFIGURATION,
        *_ASKED_OF_INTERRUPTION,
    ),
    "coredns-lameduck --apply": (questions.UPDATE_ADDON, questions.UPDATE, questions.UPDATES),
    "interruption": _ASKED_OF_INTERRUPTION,
    "imds-probe --apply": (
        questions.MODIFY_METADATA,
        questions.CREATE_TEMPLATE_VERSION,
        questions.UPDATE_NODE_GROUP,
        questions.UPDATE,
        questions.UPDATES,
    ),
}
"""The questions of each command that asks AWS, each with the IAM actions that it needs; ``--apply`` asks those of
the command without it as well."""

BY_COMMAND: Mapping[str, tuple[Right, ...]] = {
    "drain plan": DRAIN_PLAN,
    "rehearse": DRAIN_PLAN,
    "addon-diff": _ADDON_DIFF,
    "addon-diff --after": _ADDON_AFTER,
    "addon-diff --apply": _ADDON_DIFF,
    "imds-probe": _IMDS_PROBE,
    "imds-probe --apply": _IMDS_FIX,
    "imds-probe --active": _IMDS_ACTIVE,
    "coredns-lameduck": _COREDNS,
    "coredns-lameduck --apply": _COREDNS_CHANGE,
    "interruption": _INTERRUPTION,
    "coredns-lameduck --measure": _DNS_MEASURE,
    "drain run": _RUN,
    "drain resume": _RUN,
    "drain rollback": (*_NODES, *_PODS, *(right for right in _EVICT if not right.subresource), *_JOURNAL),
    "drain status": (*_JOURNAL_READ, Right("list", kinds.NODES, lost="runs whose journal is gone are not found")),
    "drain status --attach": (*_WATCH, *_READ_FOR_RUNS),
    "drain pause": _ASK,
    "drain abort": _ASK,
}


def needs(journal: str) -> Needs:
    """What a plan rests on, and what a run of it does besides that it cannot do without; `journal`: the namespace of
    the runs' journal."""
    planned = tuple(Need(_permission(right, ""), _lost(right)) for right in DRAIN_PLAN)
    for_plan = {need.permission for need in planned}
    run = (_permission(right, journal if right.journal else "") for right in _RUN if right.required)
    return Needs(planned, tuple(Need(each, "no run") for each in dict.fromkeys(run) if each not in for_plan))


def _permission(right: Right, namespace: str) -> Permission:
    return Permission(right.verb, right.resource, right.subresource, namespace)


def _lost(right: Right) -> str:
    if right.required:
        return "nothing can be said at all"
    codes_lost = right.unknown_without
    return f"unknown: {', '.join(codes_lost)}" if codes_lost else right.lost


def explained(error: Forbidden, command: str) -> Forbidden:
    """`error` with all that `command` needs, and how to allow it, where a right of the command is what is missing."""
    rights = BY_COMMAND[command]
    if error.missing not in map(str, rights):
        return error
    hint = _for_reading(rights, command) if all(right.verb == "list" for right in rights) else _for_changing(rights)
    return Forbidden(error.message, "\n".join(filter(None, (error.hint, hint))), error.missing)


def _for_reading(rights: Sequence[Right], command: str) -> str:
    served = ",".join(right.of for right in rights if not right.resource.custom)
    custom = " and ".join(right.of for right in rights if right.resource.custom)
    role = f"eksdoc-{command.replace(' ', '-')}"
    return (
        f"Without {' and '.join(str(r) for r in rights if r.required)} in all namespaces nothing can be said. "
        "An administrator can allow all that this command reads, and bind it with kubectl create clusterrolebinding:\n"
        f"    kubectl create clusterrole {role} --verb=list --resource={served}\n"
        f"Where the cluster has them, also {custom}."
    )


def _for_changing(rights: Sequence[Right]) -> str:
    needed = [right for right in rights if right.required]
    lines = [f"    everywhere: {_together(right for right in needed if not right.journal and not right.probe)}"]
    if any(right.journal for right in needed):
        lines.append(f"    in the journal's namespace: {_together(right for right in needed if right.journal)}")
    if any(right.probe for right in needed):
        lines.append(f"    in the probe's namespace: {_together(right for right in needed if right.probe)}")
    return "\n".join(["It cannot do without these rights; kubectl auth can-i tells which you have:", *lines])


def _together(rights: Iterable[Right]) -> str:
    """``get, list nodes; create pods/eviction``."""
    verbs: dict[str, list[str]] = {}
    for right in rights:
        verbs.setdefault(right.of, []).append(right.verb)
    return "; ".join(f"{', '.join(each)} {of}" for of, each in verbs.items())
