"""Traces of the four incidents in the demo's cluster, apart from its applications: objects of EKS add-ons, with a
Corefile with a short lameduck; earlier templates of DaemonSets; sources of AWS credentials; the NodeClass with hop
limit 1; security groups of pods."""

from __future__ import annotations

from collections.abc import Iterator

from tools.demo import aws_node
from tools.demo.meta import Json, an_object, condition, owner
from tools.demo.owners import with_owners
from tools.demo.pods import template_hash, template_of
from tools.demo.workloads import AGE as WORKLOADS_AGE
from tools.demo.world import ACCOUNT, APPS, AWS_NODE, CLUSTER, CNI_OWN, EKS_IMAGES, POD_ENI, App

_AGE = 80_000
_INSTALLED = 90_000
_K = "kube-system"

COREFILE = """\
.:53 {
    errors
    health {
        lameduck 5s
      }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
      pods insecure
      fallthrough in-addr.arpa ip6.arpa
    }
    prometheus :9153
    forward . /etc/resolv.conf
    cache 30
    loop
    reload
    loadbalance
}
"""
"""The Corefile that EKS installs."""

_PROXY = """\
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
bindAddress: 0.0.0.0
clientConnection:
  kubeconfig: /var/lib/kube-proxy/kubeconfig
clusterCIDR: ""
metricsBindAddress: 0.0.0.0:10249
mode: "iptables"
"""

WITH_ROLE = ("aws-node", "ebs-csi-controller", "karpenter")
"""These have an IAM role of their own (IRSA); other AWS clients have the role of the node, through the instance
metadata service."""


def others() -> Iterator[Json]:
    """Objects of kinds that no plan reads."""
    yield from map(with_owners, _config_maps())
    yield from (with_owners(_service_account(app)) for app in APPS if app.namespace == _K)
    yield from map(with_owners, _roles())
    yield from _revisions_of_aws_node()
    yield from (_only_revision(app) for app in APPS if app.kind == "DaemonSet" and app.daemon is None)
    yield _definition("SecurityGroupPolicy", "securitygrouppolicies", "vpcresources.k8s.aws", "v1beta1", "Namespaced")
    yield from (_security_groups(app) for app in APPS if POD_ENI in app.extended)
    yield _definition("EC2NodeClass", "ec2nodeclasses", "karpenter.k8s.aws", "v1", "Cluster")
    yield a_node_class("default", _HARDENED)


def _config_maps() -> Iterator[Json]:
    """The ConfigMaps of the EKS add-ons."""
    dns = {"eks.amazonaws.com/component": "coredns", "k8s-app": "kube-dns"}
    proxy = {"eks.amazonaws.com/component": "kube-proxy", "k8s-app": "kube-proxy"}
    for name, labels, data in (
        ("coredns", dns, {"Corefile": COREFILE}),
        ("kube-proxy-config", proxy, {"config": _PROXY}),
        ("amazon-vpc-cni", aws_node.chart_labels(), aws_node.WINDOWS),
    ):
        yield an_object("v1", "ConfigMap", name, _K, age=_INSTALLED, labels=labels, data=dict(data))


def _roles() -> Iterator[Json]:
    """The roles of the EKS add-ons: the RBAC permissions of their pods."""
    dns = {"eks.amazonaws.com/component": "coredns", "k8s-app": "kube-dns"}
    for name, account, group, resources, labels in (
        ("aws-node", "aws-node", "crd.k8s.amazonaws.com", ["eniconfigs"], aws_node.chart_labels()),
        ("system:coredns", "coredns", "", ["endpoints", "services", "pods", "namespaces"], dns),
    ):
        rules: Json = {"rules": [{"apiGroups": [group], "resources": resources, "verbs": ["list", "watch"]}]}
        own = {"kubernetes.io/bootstrapping": "rbac-defaults"} if labels is dns else {}
        yield an_object(_RBAC, "ClusterRole", name, age=_INSTALLED, labels={**labels, **own}, **rules)
        bound: Json = {
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": _K}],
        }
        notes = {"rbac.authorization.kubernetes.io/autoupdate": "true"} if labels is dns else {}
        bound_labels = {**labels, **own}
        yield an_object(
            _RBAC, "ClusterRoleBinding", name, age=_INSTALLED, labels=bound_labels, annotations=notes, **bound
        )


_RBAC = "rbac.authorization.k8s.io/v1"


def _service_account(app: App) -> Json:
    role = f"arn:aws:iam::{ACCOUNT}:role/{CLUSTER}-{app.name}"
    said = {"eks.amazonaws.com/role-arn": role} if app.name in WITH_ROLE else {}
    labels = app.daemon.labels if app.daemon else app.labels
    return an_object("v1", "ServiceAccount", app.name, _K, age=_AGE, annotations=said, labels=labels)


def _revisions_of_aws_node() -> Iterator[Json]:
    """Its templates, the oldest first, as the DaemonSet controller stores them."""
    (app,) = (each for each in APPS if each.daemon == AWS_NODE)
    for number, revision in enumerate(aws_node.REVISIONS, 1):
        template = aws_node.template(EKS_IMAGES, CNI_OWN, revision)
        yield _revision(app, template, template_hash(app, number), number, revision.minutes)


def _only_revision(app: App) -> Json:
    """The revision of a DaemonSet whose template never changed."""
    return _revision(app, template_of(app), template_hash(app), 1, WORKLOADS_AGE)


def _revision(app: App, template: Json, named: str, number: int, age: int) -> Json:
    hashes = {"controller-revision-hash": named, "controller.kubernetes.io/hash": named}
    labels = {**template["metadata"]["labels"], **hashes}
    body: Json = {"data": {"spec": {"template": {**template, "$patch": "replace"}}}, "revision": number}
    owned_by = owner("apps/v1", "DaemonSet", app.namespace, app.name)
    name = f"{app.name}-{named}"
    made = an_object(
        "apps/v1", "ControllerRevision", name, app.namespace, age=age, labels=labels, owned_by=owned_by, **body
    )
    del made["metadata"]["generation"]
    return made


def _security_groups(app: App) -> Json:
    spec: Json = {
        "podSelector": {"matchLabels": app.selector},
        "securityGroups": {"groupIds": ["sg-0d3a0540f5f1e2c3b"]},
    }
    return an_object(
        "vpcresources.k8s.aws/v1beta1", "SecurityGroupPolicy", app.name, app.namespace, age=_AGE, spec=spec
    )


_HARDENED: Json = {"httpEndpoint": "enabled", "httpPutResponseHopLimit": 1, "httpTokens": "required"}
"""1 is also Karpenter's own default of the hop limit (its docs, NodeClasses, spec.metadataOptions)."""


def a_node_class(name: str, metadata: Json, role: str = f"{CLUSTER}-node") -> Json:
    """An EC2NodeClass; `metadata` are its metadataOptions, `role` is the role of its nodes."""
    spec: Json = {
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
        "metadataOptions": dict(metadata),
        "role": role,
    }
    status: Json = {"conditions": [condition("Ready", True, 900, reason="Ready", message="")]}
    return an_object("karpenter.k8s.aws/v1", "EC2NodeClass", name, age=_AGE, spec=spec, status=status)


def _definition(kind: str, plural: str, group: str, version: str, scope: str) -> Json:
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}
    spec: Json = {
        "group": group,
        "names": names,
        "scope": scope,
        "versions": [{**served, "subresources": {"status": {}}}],
    }
    conditions = [condition("NamesAccepted", True, _AGE), condition("Established", True, _AGE)]
    status: Json = {"acceptedNames": names, "conditions": conditions, "storedVersions": [version]}
    name = f"{plural}.{group}"
    api_version = "apiextensions.k8s.io/v1"
    return an_object(api_version, "CustomResourceDefinition", name, age=_AGE, spec=spec, status=status)
