"""The rights of what looks at add-ons, credentials, DNS and interruptions, and mends them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kubectl_eksdoc.cli.rights.right import NOTHING_WITHOUT, Right
from kubectl_eksdoc.core.model import kinds, opt_ins
from kubectl_eksdoc.core.model.coredns import SYSTEM

_BALANCED = "which target groups would lose targets is unknown"
_SINGLE = "what an update changes in this object of the add-on is unknown"
ADDON_DIFF = (
    *(Right("list", resource, True) for resource in NOTHING_WITHOUT),
    *(Right("list", resource, lost=_BALANCED) for resource in (kinds.SERVICES, kinds.TARGET_GROUP_BINDINGS)),
    Right("list", kinds.SECURITY_GROUP_POLICIES, lost="whether pods will get security groups of their own is unknown"),
    Right("list", kinds.ENI_CONFIGS, lost="whether custom networking is used is unknown, and taken to be"),
    *(
        Right("get", resource, lost=_SINGLE, namespace=SYSTEM if resource.namespaced else "")
        for resource in kinds.SINGLE
    ),
)

_EARLIER = "what a past update changed in the pod template of such an object is unknown"
ADDON_AFTER = (
    *ADDON_DIFF,
    *(Right("list", each, lost=_EARLIER, namespace=SYSTEM) for each in kinds.HISTORY_OF.values()),
)

_NO_CLASS = "what Karpenter's next node will have is unknown"
IMDS_PROBE = (
    *(Right("list", resource, True) for resource in NOTHING_WITHOUT),
    *(Right("list", resource, lost=_NO_CLASS) for resource in (kinds.NODE_CLASSES, kinds.NODE_POOLS)),
    Right("get", kinds.PODS, lost="with what known programs were started, and which logs there are, is unknown"),
    Right("get", kinds.PODS, lost="whether pods that fail do so because of it is unknown", subresource="log"),
)

_LEFTOVERS = "what probes that were killed have left is not found"
_LEVEL = "whether the namespace allows the host's network is found out when the server refuses the pod"
IMDS_ACTIVE = (
    Right("list", kinds.NODES, True),
    Right("list", kinds.PODS, lost="`pod/NAME` is not known", flag="pod/NAME"),
    Right("get", kinds.NAMESPACES, lost=_LEVEL, probe=True),
    Right("list", kinds.CONFIG_MAPS, lost=_LEFTOVERS, probe=True),
    *(Right(verb, kinds.CONFIG_MAPS, True, probe=True) for verb in ("create", "delete")),
    *(Right(verb, kinds.PODS, True, probe=True) for verb in ("create", "list")),
    Right("get", kinds.PODS, True, subresource="log", probe=True),
)

_UNSEEN = "when a pod left the endpoints is not known, nor which endpoints serve"
_NO_ROLLOUT = "`--measure=rollout` restarts nothing"
_RESTART = tuple(
    Right(
        verb,
        kinds.DEPLOYMENTS,
        lost=_NO_ROLLOUT,
        namespace=SYSTEM,
        flag="--measure=rollout",
        opt_in=opt_ins.PATCH_WORKLOADS,
    )
    for verb in ("get", "patch")
)
_EVICT_ONE = (
    Right(
        "create",
        kinds.PODS,
        lost="`--measure=eviction` evicts nothing",
        subresource="eviction",
        namespace=SYSTEM,
        flag="--measure=eviction",
    ),
)
DNS_MEASURE = (
    Right("list", kinds.NODES, True),
    Right("list", kinds.PODS, True, namespace=SYSTEM),
    Right("get", kinds.SERVICES, True, namespace=SYSTEM),
    Right("list", kinds.ENDPOINT_SLICES, lost=_UNSEEN, namespace=SYSTEM),
    *(right for right in IMDS_ACTIVE if right.probe and right.resource is not kinds.NAMESPACES),
    *_RESTART,
    *_EVICT_ONE,
)
MEASURED_WITH: Mapping[str, tuple[Right, ...]] = {"rollout": _RESTART, "eviction": _EVICT_ONE}
"""What is needed besides, in CoreDNS's own namespace, by what is to happen while DNS is measured."""

_NO_PATCH = "`--fix node-class` cannot be carried out"
IMDS_FIX = (
    *(right for right in IMDS_PROBE if right.verb == "list"),
    *(Right(verb, kinds.NODE_CLASSES, lost=_NO_PATCH, flag="--fix=node-class") for verb in ("get", "patch")),
)
"""No pod is looked into: what is mended is of nodes."""

_NO_DEPLOYMENT = "how Karpenter is configured is unknown"
_NO_LIST = "a Karpenter without pods, and a node termination handler, are found by their pods only"
_NO_EVENTS = "a notice is known by what EC2 says of it only"
_NO_SIGN = "the messages that Karpenter has counted are no sign of life"
_OF_KARPENTER = (
    Right("get", kinds.DEPLOYMENTS, lost=_NO_DEPLOYMENT, karpenter=True),
    Right("get", kinds.CONFIG_MAPS, lost="the queue of a Karpenter before v0.33 is unknown", karpenter=True),
    Right("get", kinds.SERVICE_ACCOUNTS, lost="the role of Karpenter (IRSA) is unknown", karpenter=True),
    Right("get", kinds.PODS, lost="which log is Karpenter's is unknown", karpenter=True),
    Right(
        "get",
        kinds.PODS,
        lost="whether Karpenter says that it cannot use the queue is unknown",
        subresource="log",
        karpenter=True,
    ),
    Right("get", kinds.PODS, lost=_NO_SIGN, subresource="proxy", karpenter=True, opt_in=opt_ins.PROXY),
    Right("list", kinds.EVENTS, lost=_NO_EVENTS, namespace="default"),
)
"""Events of nodes are in namespace default (client-go, tools/record: what they are about has no namespace)."""
INTERRUPTION = (
    *(Right("list", resource, True) for resource in NOTHING_WITHOUT),
    *(Right("list", resource, lost=_NO_LIST) for resource in (kinds.DEPLOYMENTS, kinds.DAEMON_SETS)),
    Right("list", kinds.BUDGETS, lost="whether budgets hold up a drain within two minutes is unknown"),
    *_OF_KARPENTER,
)

_NO_OBJECT = "what CoreDNS is judged by is unknown: how long it answers while it ends, or who scales it"
_NO_NOTICES = "where CoreDNS is on Spot nodes of Karpenter: whether it hears of notices may be unknown"
_COREDNS = (
    *(Right("list", resource, True) for resource in NOTHING_WITHOUT),
    Right("list", kinds.BUDGETS, lost="whether a budget keeps its pods from going all at once is unknown"),
    Right("list", kinds.ENDPOINT_SLICES, lost="which of its pods are asked is unknown"),
    Right("list", kinds.AUTOSCALERS, lost="whether somebody scales it is unknown"),
    *(Right("get", resource, lost=_NO_OBJECT, namespace=SYSTEM) for resource in (kinds.DEPLOYMENTS, kinds.CONFIG_MAPS)),
)
COREDNS = (
    *_COREDNS,
    Right("get", kinds.PODS, lost="whether its containers restart, and why, is unknown", namespace=SYSTEM),
    Right("get", kinds.PODS, lost="whether it prints errors is unknown", subresource="log", namespace=SYSTEM),
    *(replace(each, lost=_NO_NOTICES) for each in _OF_KARPENTER),
)

_BY_LOG = "whether a pod has taken a new Corefile up is told by its log alone"
_BY_METRIC = "whether a pod that refuses a new Corefile, or has started since, runs it is not known"
_HAND_MADE = "a CoreDNS that EKS does not manage is not changed"
_OF_ADDON = (
    kinds.BUDGETS,
    kinds.CLUSTER_ROLES,
    kinds.CLUSTER_ROLE_BINDINGS,
    kinds.SERVICE_ACCOUNTS,
    kinds.SERVICES,
)
COREDNS_WISH = (
    *_COREDNS,
    *(Right("get", each, lost=_SINGLE, namespace=SYSTEM if each.namespaced else "") for each in _OF_ADDON),
    Right("list", kinds.NAMESPACES, lost="where an affinity picks namespaces by their labels, nothing is placed"),
)
"""What is looked at to say what a change would be."""
COREDNS_CHANGE = (
    *COREDNS_WISH,
    Right("get", kinds.PODS, lost=_BY_METRIC, subresource="log", namespace=SYSTEM),
    Right("get", kinds.PODS, lost=_BY_LOG, subresource="proxy", namespace=SYSTEM, opt_in=opt_ins.PROXY),
    Right("patch", kinds.CONFIG_MAPS, lost=_HAND_MADE, namespace=SYSTEM),
)
