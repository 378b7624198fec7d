"""Software in a cluster whose version decides an upgrade: how each is recognised, and where its version stands.

Recognised by its image first: labels differ between charts. What is not listed is not known to matter, no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.versions import Version, parse
from kubectl_eksdoc.core.rules.upgrades.images import repository, version_of


@dataclass(frozen=True, slots=True)
class Software:
    """`images`: ends of repositories, whole parts of them (``karpenter/controller``). `labels`: of its pods, any one of
    which tells it (`labelled`). `addon`: its name as an EKS add-on, "" if it
    is none. `variable`: of the container, whose value is its version instead of the tag."""

    name: str
    images: tuple[str, ...]
    labels: tuple[tuple[str, str], ...] = ()
    addon: str = ""
    variable: str = ""

    def runs(self, image: str) -> bool:
        path = repository(image)
        return any(path == end or path.endswith(f"/{end}") for end in self.images)


def _named(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple(("app.kubernetes.io/name", name) for name in names)


VPC_CNI = Software("vpc-cni", ("amazon-k8s-cni", "amazon/aws-vpc-cni"), (("k8s-app", "aws-node"),), "vpc-cni")
KUBE_PROXY = Software(
    "kube-proxy", ("eks/kube-proxy", "kube-proxy", "eks/kube-proxy-minimal"), (("k8s-app", "kube-proxy"),), "kube-proxy"
)
COREDNS = Software("coredns", ("eks/coredns", "coredns/coredns", "coredns"), (("k8s-app", "kube-dns"),), "coredns")
EBS_CSI = Software(
    "aws-ebs-csi-driver", ("aws-ebs-csi-driver",), _named("aws-ebs-csi-driver"), addon="aws-ebs-csi-driver"
)
LOAD_BALANCER_CONTROLLER = Software(
    "aws-load-balancer-controller",
    ("aws-load-balancer-controller", "aws-alb-ingress-controller"),
    _named("aws-load-balancer-controller"),
)
APP_MESH = Software("appmesh-controller", ("appmesh-controller",), _named("appmesh-controller"))
FLUENT_BIT = Software("Fluent Bit for Container Insights", ("aws-for-fluent-bit",), variable="CI_VERSION")
CLUSTER_AUTOSCALER = Software(
    "cluster-autoscaler",
    ("cluster-autoscaler",),
    (("app", "cluster-autoscaler"), *_named("cluster-autoscaler", "aws-cluster-autoscaler")),
)
KARPENTER = Software("Karpenter", ("karpenter/controller",), _named("karpenter"))
ARGO_CD = Software("Argo CD", ("argoproj/argocd",), (("app.kubernetes.io/part-of", "argocd"), *_named("argocd-server")))
CERT_MANAGER = Software("cert-manager", ("cert-manager-controller",), _named("cert-manager"))
KEDA = Software("KEDA", ("kedacore/keda", "keda"), _named("keda-operator"))
METRICS_SERVER = Software(
    "metrics-server", ("metrics-server",), (("k8s-app", "metrics-server"), *_named("metrics-server")), "metrics-server"
)
ISTIO = Software("Istio", ("istio/pilot", "istio-release/pilot"), (("app", "istiod"), *_named("istiod")))
NODE_TERMINATION_HANDLER = Software(
    "aws-node-termination-handler", ("aws-node-termination-handler",), _named("aws-node-termination-handler")
)
PROMETHEUS = Software("Prometheus", ("prometheus/prometheus", "prom/prometheus"), _named("prometheus"))

SOFTWARE = (
    VPC_CNI,
    KUBE_PROXY,
    COREDNS,
    EBS_CSI,
    LOAD_BALANCER_CONTROLLER,
    APP_MESH,
    FLUENT_BIT,
    CLUSTER_AUTOSCALER,
    KARPENTER,
    ARGO_CD,
    CERT_MANAGER,
    KEDA,
    METRICS_SERVER,
    ISTIO,
    NODE_TERMINATION_HANDLER,
    PROMETHEUS,
)


def recognised(image: str) -> Software | None:
    """Which of them a container of that image is; None where it is none, as far as the image tells."""
    return next((each for each in SOFTWARE if each.runs(image)), None)


def labelled(labels: Mapping[str, str]) -> Software | None:
    """Which of them a pod of those labels is, for one whose images tell nothing (a mirror under other names). Which of
    its containers has the version is not told: sidecars have others."""
    found = min((_BY_LABEL[pair] for pair in labels.items() if pair in _BY_LABEL), default=None)
    return None if found is None else SOFTWARE[found]


_BY_LABEL = {pair: place for place, each in reversed([*enumerate(SOFTWARE)]) for pair in each.labels}
"""The first in `SOFTWARE` with that label: every pod of a cluster is looked up here."""


def installed_version(of: Software, image: str, variables: Mapping[str, str] | None = None) -> Version | Unknown:
    """Of a container of that image, and with those variables (those of `of.variable` will do)."""
    if not of.variable:
        return version_of(image)
    value = (variables or {}).get(of.variable, "")
    if not value:
        return Unknown(f"its variable {of.variable}, which tells its version, is not known")
    return parse(value.rpartition("/")[2]) or Unknown(f'its variable {of.variable} is "{value}", no version')
