"""EKS upgrade insights for the next versions: findings about this cluster's nodes, add-ons and clients.

It has the second incident: a client still uses an API that the next version does not serve, an add-on is not compatible
with it, nodes are behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tools.demo.aws.addons import INSTALLED
from tools.demo.aws.catalogue import OFFERED
from tools.demo.aws.names import VERSION, Params, at
from tools.demo.meta import Json, uid
from tools.demo.world import CLUSTER, MACHINES

NEXT, AFTER = "1.34", "1.35"
_PASSING, _WARNING, _ERROR = "PASSING", "WARNING", "ERROR"
_CATEGORY = "UPGRADE_READINESS"
_UG = "https://docs.aws.amazon.com/eks/latest/userguide"
_OLD_POOLS = ("blue", "fargate")
_AL2_POOLS = ("blue",)

# The only API of Kubernetes that 1.34 no longer serves (its v1 came with 1.30).
_POLICIES = "/apis/admissionregistration.k8s.io/{}/validatingadmissionpolicies"
_CLIENT = "policy-webhook/v0.9.4 (linux/amd64) kubernetes/9edcffc"


@dataclass(frozen=True, slots=True)
class Insight:
    """One check; `changed`: minutes since the last change of its status, `pools` have the nodes that it names."""

    name: str
    status: str
    reason: str
    description: str
    recommendation: str
    link: tuple[str, str]
    version: str = NEXT
    changed: int = 1_590
    pools: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return uid("Insight", CLUSTER, f"{self.name} {self.version}")


def _of_apis(version: str, status: str, reason: str) -> Insight:
    return Insight(
        f"Deprecated APIs removed in Kubernetes v{version}",
        status,
        reason,
        f"Checks for usage of deprecated APIs that are scheduled for removal in Kubernetes v{version}. Upgrading your "
        f"cluster before migrating to the updated APIs supported by v{version} could cause application impact.",
        "Update manifests and API clients to use newer Kubernetes APIs if applicable before upgrading to Kubernetes "
        f"v{version}.",
        (
            f"Kubernetes v{version} deprecation guide",
            "https://kubernetes.io/docs/reference/using-api/deprecation-guide/",
        ),
        version,
    )


_APIS = _of_apis(
    NEXT, _ERROR, f"Deprecated API usage detected within last 30 days and your cluster is on Kubernetes v{VERSION}."
)
_ADDONS = Insight(
    "EKS add-on version compatibility",
    _ERROR,
    "Installed EKS add-on versions are incompatible with next Kubernetes version.",
    "Checks version of installed EKS add-ons to ensure they are compatible with the next version of Kubernetes. ",
    "Upgrade your EKS add-ons to a version that is compatible with the next version of Kubernetes.",
    ("EKS add-on versions", f"{_UG}/managing-add-ons.html"),
)

INSIGHTS = (
    _APIS,
    _of_apis(AFTER, _PASSING, "No deprecated API usage detected within the last 30 days."),
    _ADDONS,
    Insight(
        "Kubelet version skew",
        _WARNING,
        "Node kubelet versions do not match the cluster control plane version.",
        "Checks for kubelet versions of worker nodes in the cluster to see if upgrade would cause non compliance with "
        "supported Kubernetes kubelet version skew policy.",
        "Upgrade your worker nodes to match the Kubernetes version of your cluster control plane.",
        ("Kubelet version skew policy", "https://kubernetes.io/releases/version-skew-policy/#kubelet"),
        pools=_OLD_POOLS,
    ),
    Insight(
        "kube-proxy version skew",
        _WARNING,
        "kube-proxy versions do not match the cluster control plane version.",
        "Checks version of kube-proxy in cluster to see if upgrade would cause non compliance with supported "
        "Kubernetes kube-proxy version skew policy.",
        "Upgrade kube-proxy to match the Kubernetes version of your cluster control plane.",
        ("kube-proxy version skew policy", "https://kubernetes.io/releases/version-skew-policy/#kube-proxy"),
    ),
    Insight(
        "Amazon Linux 2 compatibility",
        _ERROR,
        "Amazon Linux 2 nodes detected.",
        "Checks if any nodes in the cluster are running Amazon Linux 2. Support for Amazon Linux 2 on Amazon EKS will "
        "end on November 26, 2025. Additionally, Amazon EKS will not release Amazon Linux 2 AMIs for Kubernetes "
        "version 1.33 and higher",
        "Migrate your nodes to Amazon Linux 2023 or Bottlerocket.",
        ("Upgrade from Amazon Linux 2 to Amazon Linux 2023", f"{_UG}/al2023.html"),
        changed=86_000,
        pools=_AL2_POOLS,
    ),
    Insight(
        "Cluster health issues",
        _PASSING,
        "No cluster health issues detected.",
        "Checks for any cluster health issues that prevent successful upgrade to the next Kubernetes version on EKS.",
        "Address the cluster health issues before upgrading.",
        ("Cluster health FAQs", f"{_UG}/troubleshooting.html#cluster-health-status"),
        changed=86_000,
    ),
)


def list_insights(params: Params) -> Json:
    """The summaries of all insights."""
    return {"insights": [_in_short(each) for each in INSIGHTS]}


def describe_insight(params: Params) -> Json:
    """One insight with all details."""
    ident = params["id"]
    return {"insight": next(_in_full(each) for each in INSIGHTS if each.id == ident)}


def _status(each: Insight) -> Json:
    return {"status": each.status, "reason": each.reason}


def _in_short(each: Insight) -> Json:
    return {
        "id": each.id,
        "name": each.name,
        "category": _CATEGORY,
        "kubernetesVersion": each.version,
        "lastRefreshTime": at(310),
        "lastTransitionTime": at(each.changed),
        "description": each.description,
        "insightStatus": _status(each),
    }


def _in_full(each: Insight) -> Json:
    behind = [machine.name for machine in MACHINES if machine.pool in each.pools]
    return {
        **_in_short(each),
        "recommendation": each.recommendation,
        "additionalInfo": dict([each.link]),
        "resources": [{"insightStatus": _status(each), "kubernetesResourceUri": f"nodes/{name}"} for name in behind],
        "categorySpecificSummary": {
            "deprecationDetails": [_calls()] if each == _APIS else [],
            "addonCompatibilityDetails": list(_misfits()) if each == _ADDONS else [],
        },
    }


def _calls() -> Json:
    client = {"userAgent": _CLIENT, "numberOfRequestsLast30Days": 1_412, "lastRequestTime": at(47)}
    return {
        "usage": _POLICIES.format("v1beta1"),
        "replacedWith": _POLICIES.format("v1"),
        "stopServingVersion": NEXT,
        "startServingReplacementVersion": "1.30",
        "clientStats": [client],
    }


def _misfits() -> Iterator[Json]:
    """Installed add-ons that are not compatible with the next version, each with its compatible versions."""
    for each in INSTALLED:
        fitting = list(OFFERED[each.name].for_cluster(NEXT))
        if each.version not in fitting:
            yield {"name": each.name, "compatibleVersions": fitting}
