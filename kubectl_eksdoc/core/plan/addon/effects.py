"""What a field of an add-on does, and what it means when it changes: as data, each with its source.

A field that is not listed is none without effect: it is one of which nothing is known here, and that is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from kubectl_eksdoc.core.model.findings import Severity
from kubectl_eksdoc.core.plan.addon.fields import LiveField
from kubectl_eksdoc.core.rules.api.ownership.steps import field_step


class Users(Enum):
    """Who notices."""

    BRANCH_PODS = "pods with security groups of their own"
    EVERYBODY = "all pods"
    NEW_PODS = "pods that start afterwards"
    NODES = "nodes that come afterwards"


@dataclass(frozen=True, slots=True)
class Effect:
    """`does`: what follows when its value is lost, a clause. `worst`: how bad that is where somebody uses it.
    `at_once`: as the update rolls over the nodes, and not later. `of`: the only value whose loss does it, "" for any.
    `probed`: what the kubelet's probes hear is changed; `strict_only`: nothing of it happens in standard mode.
    """

    does: str
    users: Users
    worst: Severity
    source: str
    at_once: bool = True
    of: str = ""
    probed: bool = False
    strict_only: bool = False


_README = "amazon-vpc-cni-k8s README v1.23.0"
_SGP = "EKS best practices, networking/sgpp"

_VARIABLES: Mapping[str, Effect] = {
    "DISABLE_TCP_EARLY_DEMUX": Effect(
        "kubelet's TCP and HTTP probes no longer reach pods with security groups of their own (strict mode): they are "
        "taken out of their services and restarted",
        Users.BRANCH_PODS,
        Severity.CRITICAL,
        "amazon-vpc-cni-k8s #1212, cmd/aws-vpc-cni-init/main.go v1.23.0",
        of="true",
        probed=True,
        strict_only=True,
    ),
    "ENABLE_POD_ENI": Effect(
        "pods with security groups of their own that start while it is false get an address and the security group of "
        "their node, and keep them after it is set back",
        Users.BRANCH_PODS,
        Severity.CRITICAL,
        f"{_README}; amazon-vpc-cni-k8s #2268",
        of="true",
    ),
    "POD_SECURITY_GROUP_ENFORCING_MODE": Effect(
        "the traffic of pods with security groups of their own takes another way: node-local DNS, NodePort and "
        "LoadBalancer services with externalTrafficPolicy Local work in one of the modes only",
        Users.BRANCH_PODS,
        Severity.CRITICAL,
        f"{_README}; {_SGP}",
    ),
    "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG": Effect(
        "nodes that come afterwards give pods addresses of their own subnet and security groups, and not those of an "
        "ENIConfig",
        Users.NODES,
        Severity.HIGH,
        _README,
        at_once=False,
        of="true",
    ),
    "ENABLE_PREFIX_DELEGATION": Effect(
        "nodes have fewer addresses than their max-pods: pods stay in ContainerCreating",
        Users.NEW_PODS,
        Severity.HIGH,
        _README,
        of="true",
    ),
    "AWS_VPC_K8S_CNI_EXTERNALSNAT": Effect(
        "what pods send out of the VPC leaves with another source address",
        Users.EVERYBODY,
        Severity.HIGH,
        _README,
    ),
    "AWS_VPC_K8S_CNI_EXCLUDE_SNAT_CIDRS": Effect(
        "what pods send to these networks leaves with the address of the node",
        Users.EVERYBODY,
        Severity.HIGH,
        _README,
    ),
    "AWS_VPC_ENI_MTU": Effect(
        "packets may be larger than a network on the way takes", Users.NEW_PODS, Severity.HIGH, _README
    ),
    "NETWORK_POLICY_ENFORCING_MODE": Effect(
        "pods start with other traffic allowed until their network policies are there",
        Users.NEW_PODS,
        Severity.HIGH,
        _README,
    ),
    **dict.fromkeys(
        ("WARM_ENI_TARGET", "WARM_IP_TARGET", "WARM_PREFIX_TARGET", "MINIMUM_IP_TARGET", "MAX_ENI"),
        Effect("nodes hold more or fewer addresses of the subnet ready", Users.NEW_PODS, Severity.MEDIUM, _README),
    ),
    **dict.fromkeys(
        ("AWS_VPC_K8S_CNI_LOGLEVEL", "AWS_VPC_K8S_PLUGIN_LOG_LEVEL", "AWS_VPC_K8S_CNI_LOG_FILE"),
        Effect("logs change", Users.EVERYBODY, Severity.LOW, _README),
    ),
}

_COREFILE = Effect(
    "the whole Corefile is replaced: stub domains, forwarders, lameduck and whatever else somebody wrote into it",
    Users.EVERYBODY,
    Severity.CRITICAL,
    "EKS user guide, CoreDNS add-on; eksctl #1098",
)

_BY_END: Mapping[tuple[str, str], Effect] = {
    ("ConfigMap", "f:Corefile"): _COREFILE,
    ("Deployment", "f:replicas"): Effect(
        "as many pods run as the add-on says, until somebody scales it again",
        Users.EVERYBODY,
        Severity.HIGH,
        "EKS user guide, CoreDNS add-on",
    ),
    ("Deployment", "f:terminationGracePeriodSeconds"): Effect(
        "pods have another time to end in: a lameduck that is longer is cut off",
        Users.EVERYBODY,
        Severity.HIGH,
        "EKS best practices, CoreDNS lameduck",
    ),
    ("ServiceAccount", "f:eks.amazonaws.com/role-arn"): Effect(
        "the add-on's pods lose their IAM role, or get another one",
        Users.EVERYBODY,
        Severity.CRITICAL,
        "EKS user guide, IAM roles for service accounts",
    ),
}


def effect_of(field: LiveField) -> Effect | None:
    """None: nothing is known of it."""
    return _VARIABLES.get(field.variable) or _BY_END.get((field.of.kind, field.path[-1])) or _by_part(field)


def _by_part(field: LiveField) -> Effect | None:
    if field_step("resources") in field.path:
        return Effect(
            "its containers get other requests or limits", Users.EVERYBODY, Severity.MEDIUM, "Kubernetes API, resources"
        )
    placed = {field_step(name) for name in ("affinity", "nodeSelector", "tolerations", "topologySpreadConstraints")}
    if placed & set(field.path):
        return Effect("its pods may run on other nodes", Users.EVERYBODY, Severity.HIGH, "Kubernetes API, scheduling")
    return None
