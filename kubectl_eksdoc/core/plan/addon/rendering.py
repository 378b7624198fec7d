"""Where an add-on's chart puts each of its values: the parts of live objects that EKS applies for them.

Sources: aws/amazon-vpc-cni-k8s, charts/aws-vpc-cni (templates of v1.8 to v1.23); the add-on schemas of CoreDNS and
kube-proxy, and the objects that EKS makes. What is not listed here is not known to be rendered anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.aws.configuration import Path as ConfigPath
from kubectl_eksdoc.core.model.named import Named

_SYSTEM = "kube-system"
AWS_NODE = Named("apps/v1", "DaemonSet", _SYSTEM, "aws-node")
CNI_MAP = Named("v1", "ConfigMap", _SYSTEM, "amazon-vpc-cni")
COREDNS = Named("apps/v1", "Deployment", _SYSTEM, "coredns")
COREFILE = Named("v1", "ConfigMap", _SYSTEM, "coredns")
_COREDNS_BUDGET = Named("policy/v1", "PodDisruptionBudget", _SYSTEM, "coredns")
KUBE_PROXY = Named("apps/v1", "DaemonSet", _SYSTEM, "kube-proxy")
KUBE_DNS = Named("v1", "Service", _SYSTEM, "kube-dns")


def _access(account: str, name: str) -> tuple[Named, Named, Named]:
    api, kind = "rbac.authorization.k8s.io/v1", "ClusterRole"
    role, binding = Named(api, kind, "", name), Named(api, f"{kind}Binding", "", name)
    return Named("v1", "ServiceAccount", _SYSTEM, account), role, binding


CNI_ACCESS, DNS_ACCESS = _access("aws-node", "aws-node"), _access("coredns", "system:coredns")


@dataclass(frozen=True, slots=True)
class Rendered:
    """One value of the chart, and the part of the object `of` that it makes; `plain` is the part that a plain value
    would make in its place. `config` is () for what no configuration value makes: the role."""

    config: ConfigPath
    of: Named
    part: Doc
    plain: Doc


@dataclass(frozen=True, slots=True)
class _Rule:
    """`of` and `part` of what stands at `at`; `each`: of every key below it by itself."""

    at: ConfigPath
    of: Named
    part: Callable[[str, Any], Doc]
    each: bool = False


def rendered(addon: str, values: Doc) -> tuple[Rendered, ...]:
    """What is known to be made of `values`, by the order of the rules; nothing for an add-on without any."""
    return tuple(part for rule in _RULES.get(addon, ()) for part in _by(rule, values))


def role_rendered(addon: str, role: str) -> tuple[Rendered, ...]:
    """What EKS makes of the add-on's ``serviceAccountRoleArn``: an annotation of the service account that has it."""
    account = _WITH_ROLE.get(addon)
    if account is None or not role:
        return ()
    part, plain = ({"metadata": {"annotations": {_ROLE: value}}} for value in (role, _PLAIN))
    return (Rendered((), account, part, plain),)


def stems(addon: str, of: Named) -> tuple[tuple[ConfigPath, Doc, bool], ...]:
    """For each value that ends in that object: where it stands, what a plain value makes there, and whether it is one
    of many whose names are data (environment variables)."""
    return tuple((rule.at, rule.part(_PLAIN, _PLAIN), rule.each) for rule in _RULES.get(addon, ()) if rule.of == of)


def objects_of(addon: str) -> tuple[Named, ...]:
    """Those whose fields are looked at."""
    return _OBJECTS.get(addon, ())


_PLAIN = "x"


def knows_all(addon: str) -> bool:
    """Whether `objects_of` is all that the add-on applies."""
    return addon in _WHOLE


def every_object() -> tuple[Named, ...]:
    """Of all the add-ons of which that is known."""
    return tuple(of for each in _OBJECTS.values() for of in each)


def _by(rule: _Rule, values: Doc) -> Iterator[Rendered]:
    found: Any = values
    for key in rule.at:
        found = found.get(key) if isinstance(found, dict) else None
    if found is None or found in ({}, []):
        return  # templates leave out what is empty
    if not rule.each:
        yield Rendered(rule.at, rule.of, rule.part("", found), rule.part("", _PLAIN))
    elif isinstance(found, dict):
        for key in sorted(found):
            if found[key] is not None:
                yield Rendered((*rule.at, key), rule.of, rule.part(key, found[key]), rule.part(key, _PLAIN))


def _pod(part: Doc) -> Doc:
    return {"spec": {"template": {"spec": part}}}


def _text(value: Any) -> str:
    """As a template prints it between quotes."""
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def _env(container: str, listed: str = "containers") -> Callable[[str, Any], Doc]:
    def part(name: str, value: Any) -> Doc:
        return _pod({listed: [{"name": container, "env": [{"name": name, "value": _text(value)}]}]})

    return part


def _of_container(container: str, *where: str) -> Callable[[str, Any], Doc]:
    def part(_: str, value: Any) -> Doc:
        for key in reversed(where):
            value = {key: value}
        return _pod({"containers": [{"name": container, **value}]})

    return part


def _of_pod(key: str) -> Callable[[str, Any], Doc]:
    return lambda _, value: _pod({key: value})


def _of_template(key: str) -> Callable[[str, Any], Doc]:
    return lambda _, value: {"spec": {"template": {"metadata": {key: value}}}}


def _of_spec(key: str) -> Callable[[str, Any], Doc]:
    return lambda _, value: {"spec": {key: value}}


def _data(key: str) -> Callable[[str, Any], Doc]:
    return lambda _, value: {"data": {key: _text(value)}}


_CNI_DATA = {
    "branchENICooldown": "branch-eni-cooldown",
    "enableNetworkPolicy": "enable-network-policy-controller",
    "enableWindowsIpam": "enable-windows-ipam",
    "enableWindowsPrefixDelegation": "enable-windows-prefix-delegation",
    "minimumWindowsIPTarget": "minimum-ip-target",
    "warmWindowsIPTarget": "warm-ip-target",
    "warmWindowsPrefixTarget": "warm-prefix-target",
}
"""Value → key of the ConfigMap amazon-vpc-cni."""

_RULES: Mapping[str, tuple[_Rule, ...]] = {
    "vpc-cni": (
        _Rule(("env",), AWS_NODE, _env("aws-node"), each=True),
        _Rule(("init", "env"), AWS_NODE, _env("aws-vpc-cni-init", "initContainers"), each=True),
        _Rule(("resources",), AWS_NODE, _of_container("aws-node", "resources")),
        _Rule(("livenessProbeTimeoutSeconds",), AWS_NODE, _of_container("aws-node", "livenessProbe", "timeoutSeconds")),
        _Rule(
            ("readinessProbeTimeoutSeconds",), AWS_NODE, _of_container("aws-node", "readinessProbe", "timeoutSeconds")
        ),
        _Rule(("tolerations",), AWS_NODE, _of_pod("tolerations")),
        _Rule(("affinity",), AWS_NODE, _of_pod("affinity")),
        _Rule(("updateStrategy",), AWS_NODE, _of_spec("updateStrategy")),
        *(_Rule((value,), CNI_MAP, _data(key)) for value, key in _CNI_DATA.items()),
    ),
    "coredns": (
        _Rule(("corefile",), COREFILE, _data("Corefile")),
        _Rule(("replicaCount",), COREDNS, _of_spec("replicas")),
        _Rule(("resources",), COREDNS, _of_container("coredns", "resources")),
        *(
            _Rule((key,), COREDNS, _of_pod(key))
            for key in ("affinity", "nodeSelector", "tolerations", "topologySpreadConstraints")
        ),
        _Rule(("podAnnotations",), COREDNS, _of_template("annotations")),
        _Rule(("podLabels",), COREDNS, _of_template("labels")),
        _Rule(("podDisruptionBudget", "maxUnavailable"), _COREDNS_BUDGET, _of_spec("maxUnavailable")),
        _Rule(("podDisruptionBudget", "minAvailable"), _COREDNS_BUDGET, _of_spec("minAvailable")),
    ),
    "kube-proxy": (
        _Rule(("resources",), KUBE_PROXY, _of_container("kube-proxy", "resources")),
        _Rule(("podAnnotations",), KUBE_PROXY, _of_template("annotations")),
        _Rule(("podLabels",), KUBE_PROXY, _of_template("labels")),
    ),
}

_ROLE = "eks.amazonaws.com/role-arn"
_WITH_ROLE: Mapping[str, Named] = {
    "vpc-cni": Named("v1", "ServiceAccount", _SYSTEM, "aws-node"),
    "aws-ebs-csi-driver": Named("v1", "ServiceAccount", _SYSTEM, "ebs-csi-controller-sa"),
}
"""Whose pods call AWS with the add-on's role (EKS user guide, IAM roles for add-ons)."""


_CNI_KINDS = (
    "eniconfigs.crd.k8s.amazonaws.com",
    "policyendpoints.networking.k8s.aws",
    "applicationnetworkpolicies.networking.k8s.aws",
    "clusternetworkpolicies.networking.k8s.aws",
    "clusterpolicyendpoints.networking.k8s.aws",
)
_OBJECTS: Mapping[str, tuple[Named, ...]] = {
    "vpc-cni": (
        AWS_NODE,
        CNI_MAP,
        *CNI_ACCESS,
        *(Named("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", each) for each in _CNI_KINDS),
    ),
    "coredns": (
        COREDNS,
        COREFILE,
        _COREDNS_BUDGET,
        KUBE_DNS,
        *DNS_ACCESS,
    ),
    "kube-proxy": (
        KUBE_PROXY,
        Named("v1", "ConfigMap", _SYSTEM, "kube-proxy"),
        Named("v1", "ConfigMap", _SYSTEM, "kube-proxy-config"),
        Named("v1", "ServiceAccount", _SYSTEM, "kube-proxy"),
        _access("", "eks:kube-proxy")[-1],
    ),
    "aws-ebs-csi-driver": (
        Named("apps/v1", "Deployment", _SYSTEM, "ebs-csi-controller"),
        Named("apps/v1", "DaemonSet", _SYSTEM, "ebs-csi-node"),
        Named("v1", "ServiceAccount", _SYSTEM, "ebs-csi-controller-sa"),
        Named("v1", "ServiceAccount", _SYSTEM, "ebs-csi-node-sa"),
    ),
    "eks-pod-identity-agent": (Named("apps/v1", "DaemonSet", _SYSTEM, "eks-pod-identity-agent"),),
    "metrics-server": (Named("apps/v1", "Deployment", _SYSTEM, "metrics-server"),),
}
"""What EKS's own add-ons are made of; of those that are not in `_WHOLE`, as far as users write to it."""

_WHOLE = frozenset(("vpc-cni", "coredns", "kube-proxy"))
