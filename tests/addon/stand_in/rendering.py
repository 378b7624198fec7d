"""Render the objects with settings that the aws-vpc-cni chart makes from values.

Source: aws/amazon-vpc-cni-k8s, charts/aws-vpc-cni/templates, read at every version from v1.8.0 to v1.23.0. Unlike
there, the selector is the one with which EKS installs (originalMatchLabels), the label helm.sh/chart has the CNI's
version (as EKS's DaemonSets have: issue 2272 there), images are tagged with EKS's build, and a fieldRef names its
apiVersion in every version, as a server would fill it in. Not made: CustomResourceDefinitions, RBAC, ENIConfigs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kubectl_eksdoc.model.api_objects import Doc
from tests.addon.stand_in import charts
from tests.addon.stand_in.pod_template import template, text

NAMESPACE = "kube-system"
DAEMON_SET, CONFIG_MAP, SERVICE_ACCOUNT = "DaemonSet", "ConfigMap", "ServiceAccount"

# Key of the ConfigMap, value of the chart, since which version; the map itself since the first.
_WINDOWS = (
    ("enable-windows-ipam", "enableWindowsIpam", (1, 14, 0)),
    ("enable-network-policy-controller", "enableNetworkPolicy", (1, 14, 0)),
    ("enable-windows-prefix-delegation", "enableWindowsPrefixDelegation", (1, 16, 0)),
    ("warm-prefix-target", "warmWindowsPrefixTarget", (1, 16, 0)),
    ("warm-ip-target", "warmWindowsIPTarget", (1, 16, 0)),
    ("minimum-ip-target", "minimumWindowsIPTarget", (1, 16, 0)),
    ("branch-eni-cooldown", "branchENICooldown", (1, 16, 0)),
)


@dataclass(frozen=True)
class Site:
    """The cluster into which the add-on is installed. `env` is what EKS itself sets beneath the user's env in every
    version (aws-node of a real cluster has these; since which version is not known)."""

    region: str = "ap-northeast-2"
    env: Doc = field(default_factory=lambda: {"CLUSTER_NAME": "shop", "VPC_ID": "vpc-0123456789abcdef0"})
    role: str = ""


def rendered(addon_version: str, user: Doc, site: Site) -> list[Doc]:
    """ServiceAccount, ConfigMap and DaemonSet, in the order in which they are applied.

    Raises ValueError for a version whose defaults are not known.
    """
    chart = charts.chart_of(addon_version)
    number = charts.number_of(chart)
    beneath = charts.over(charts.defaults(chart), {"env": site.env})
    values = charts.over(beneath, user)
    made = [_made("v1", SERVICE_ACCOUNT, "aws-node", chart)]
    if site.role:
        made[0]["metadata"]["annotations"] = {"eks.amazonaws.com/role-arn": site.role}
    if number >= (1, 14, 0):
        data = {key: text(values[value]) for key, value, since in _WINDOWS if number >= since}
        made.append(_made("v1", CONFIG_MAP, "amazon-vpc-cni", chart, data=data))
    spec = {
        "updateStrategy": values["updateStrategy"],
        "selector": {"matchLabels": {"k8s-app": "aws-node"}},
        "template": template(addon_version, number, values, site.region),
    }
    return [*made, _made("apps/v1", DAEMON_SET, "aws-node", chart, spec=spec)]


def _made(api_version: str, kind: str, name: str, chart: str, **body: Any) -> Doc:
    labels = {
        "app.kubernetes.io/name": "aws-node",
        "helm.sh/chart": f"aws-vpc-cni-{chart.removeprefix('v')}",
        "app.kubernetes.io/instance": "aws-vpc-cni",
        "k8s-app": "aws-node",
        "app.kubernetes.io/version": chart,
        "app.kubernetes.io/managed-by": "Helm",
    }
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}
