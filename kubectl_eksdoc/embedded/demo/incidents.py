"""What the four incidents left to be seen in the demo's cluster, besides its applications: the Corefile with a short
lameduck, who gets AWS credentials from where, the class of nodes with one hop to the metadata, security groups of pods.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.embedded.demo.meta import Json, an_object, condition
from kubectl_eksdoc.embedded.demo.world import ACCOUNT, APPS, CLUSTER, POD_ENI, App

_AGE = 80_000
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
"""As EKS installs it."""

_WITH_ROLE = ("aws-node", "ebs-csi-controller", "karpenter")
"""These have an IAM role of their own (IRSA); what else calls AWS has the node's, through the instance metadata."""


def others() -> Iterator[Json]:
    """Objects of kinds that no plan reads."""
    yield _corefile()
    yield from (_service_account(app) for app in APPS if app.namespace == _K)
    yield _definition("SecurityGroupPolicy", "securitygrouppolicies", "vpcresources.k8s.aws", "v1beta1", "Namespaced")
    yield from (_security_groups(app) for app in APPS if POD_ENI in app.extended)
    yield _definition("EC2NodeClass", "ec2nodeclasses", "karpenter.k8s.aws", "v1", "Cluster")
    yield _node_class()


def _corefile() -> Json:
    labels = {"eks.amazonaws.com/component": "coredns", "k8s-app": "kube-dns"}
    return an_object("v1", "ConfigMap", "coredns", _K, age=_AGE, labels=labels, data={"Corefile": COREFILE})


def _service_account(app: App) -> Json:
    role = f"arn:aws:iam::{ACCOUNT}:role/{CLUSTER}-{app.name}"
    said = {"eks.amazonaws.com/role-arn": role} if app.name in _WITH_ROLE else {}
    return an_object("v1", "ServiceAccount", app.name, _K, age=_AGE, annotations=said)


def _security_groups(app: App) -> Json:
    spec: Json = {
        "podSelector": {"matchLabels": app.selector},
        "securityGroups": {"groupIds": ["sg-0d3a0540f5f1e2c3b"]},
    }
    return an_object(
        "vpcresources.k8s.aws/v1beta1", "SecurityGroupPolicy", app.name, app.namespace, age=_AGE, spec=spec
    )


def _node_class() -> Json:
    """Karpenter's own default of the hop limit is 1, too (its docs, NodeClasses, spec.metadataOptions)."""
    metadata = {"httpEndpoint": "enabled", "httpPutResponseHopLimit": 1, "httpTokens": "required"}
    spec: Json = {
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
        "metadataOptions": metadata,
        "role": f"{CLUSTER}-node",
    }
    status: Json = {"conditions": [condition("Ready", True, 900, reason="Ready", message="")]}
    return an_object("karpenter.k8s.aws/v1", "EC2NodeClass", "default", age=_AGE, spec=spec, status=status)


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
