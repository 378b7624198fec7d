"""The demo as data: a shop on EKS during the upgrade from 1.32 to 1.33, with planted problems.

Node group blue is to be drained. blue-1 to blue-5 can be drained, in rounds; the pods that block a drain are on blue-6
to blue-8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from kubectl_eksdoc.embedded.demo.reader import IDENTITY
from tools.demo import aws_node
from tools.demo.meta import Json

ACCOUNT, REGION = IDENTITY.account, IDENTITY.region
CLUSTER, SERVER_VERSION = IDENTITY.cluster, IDENTITY.server_version
VPC = "vpc-0d3a0540f5f1e2c3b"
SHOP_IMAGES = f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/shop"
EKS_IMAGES = f"602401143452.dkr.ecr.{REGION}.amazonaws.com"  # the account of EKS's own images in most regions

NAMESPACES = (
    "default",
    "kube-system",
    "kube-public",
    "kube-node-lease",
    "batch",
    "data",
    "edge",
    "ops",
    "policy",
    "shop",
)
PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000, "shop-critical": 100_000}
LOCKS = {
    "karpenter-leader-election": "kube-system/karpenter",
    "aws-load-balancer-controller-leader": "kube-system/aws-load-balancer-controller",
}
"""Lease of leader election → the application whose first pod holds it."""

POD_ENI = "vpc.amazonaws.com/pod-eni"
"""Each pod with security groups of its own requests one of it."""

FARGATE = "fargate-ip-10-0-48-24"


@dataclass(frozen=True, slots=True)
class Machine:
    """One node; `pool` is its node group or NodePool ("fargate" for Fargate's), `age` in minutes; `zone` is "" outside
    AWS. `number`: its number among the addresses. `labels` of its creator, `provider` (its providerID) and `system`
    (the owner of its node image) follow from its pool where they are not set."""

    name: str
    pool: str
    zone: str
    age: int
    number: int = 0
    labels: Mapping[str, str] | None = field(default=None, hash=False)
    provider: str = ""
    system: str = ""


def _machines(pool: str, prefix: str, zones: str, age: int) -> tuple[Machine, ...]:
    return tuple(Machine(f"{prefix}-{i}", pool, REGION + z, age - 2 * i) for i, z in enumerate(zones, 1))


MACHINES = tuple(
    replace(machine, number=number)
    for number, machine in enumerate(
        (
            *_machines("blue", "blue", "abcabcab", 60_000),
            *_machines("green", "green", "abca", 95),
            *_machines("general", "spot", "ac", 700),
            Machine(FARGATE, "fargate", REGION + "c", 9_000),
        )
    )
)
INSTANCES = " ".join(m.name for m in MACHINES if m.pool != "fargate")


@dataclass(frozen=True, slots=True)
class Rule:
    """A PodDisruptionBudget; without `selector` it selects the application's own pods."""

    bound: str
    amount: int | str
    name: str = ""
    policy: str = ""
    selector: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Daemon:
    """The fields of a DaemonSet that do not come from its application: `template` builds its complete pod template, a
    new one each time.

    `revision` counts from 1, `born` is in minutes ago; `labels` are those of the DaemonSet itself.
    """

    template: Callable[[], Json]
    labels: Mapping[str, str]
    born: int
    revision: int
    max_unavailable: int | str


@dataclass(frozen=True, slots=True)
class App:
    """An application: `on` has the node of each replica. `cpu` in millicores, `memory` and `disk` in Mi and Gi.

    `unready`: how many of the first replicas crash; `service` is the Service's name if not the app's; `minutes` is the
    age of the pods, less on a younger node, 0 for the age of their node; `extended` are requests for other resources;
    `own_labels` are those of a Deployment or DaemonSet alone.
    """

    kind: str
    namespace: str
    name: str
    on: str
    cpu: int = 250
    memory: int = 512
    rules: tuple[Rule, ...] = ()
    port: int = 0
    service: str = ""
    service_type: str = "ClusterIP"
    service_annotations: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    own_labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Json, ...] = ()
    volumes: Mapping[str, Json] = field(default_factory=dict)
    disk: int = 0
    priority: str = ""
    grace: int = 30
    unready: int = 0
    minutes: int = 0
    image: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    extended: Mapping[str, str] = field(default_factory=dict)
    pod_spec: Mapping[str, Any] = field(default_factory=dict)
    container: Mapping[str, Any] = field(default_factory=dict)
    daemon: Daemon | None = None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def selector(self) -> dict[str, str]:
        """The labels by which its controller, budgets and Service select: the first of its own, else ``app``."""
        return dict([next(iter(self.labels.items()))]) if self.labels else {"app": self.name}

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(self.on.split())


def _up_to(amount: int | str) -> tuple[Rule, ...]:
    return (Rule("maxUnavailable", amount),)


def _at_least(amount: int | str) -> tuple[Rule, ...]:
    return (Rule("minAvailable", amount),)


_ANYTHING: Json = {"operator": "Exists"}
_CRITICAL: Json = {"key": "CriticalAddonsOnly", "operator": "Exists"}
_ONE = _up_to(1)
_D, _S, _K = "Deployment", "StatefulSet", "kube-system"

HEALTHY = (
    App(_D, "shop", "web", "blue-1 blue-2 blue-3 blue-4 green-1 green-2", 300, 512, _up_to("25%"), port=8080),
    App(_D, "shop", "cart", "blue-1 blue-2 blue-6 green-3", 250, 512, _ONE, port=8080),
    App(_D, "shop", "checkout", "blue-1 blue-2 blue-3 blue-5 green-2 green-4", 250, 768, _at_least("67%"), port=8080,
        priority="shop-critical", grace=60),
    App(_D, "shop", "payment", "blue-2 blue-4 green-1", 200, 512, _ONE, port=8443, priority="shop-critical", grace=90,
        extended={POD_ENI: "1"}),
    App(_D, "shop", "catalog", "blue-3 blue-4 blue-5 green-3 spot-1", 300, 768, _at_least("60%"), port=8080),
    App(_D, "shop", "search", "blue-1 blue-5 green-4 spot-2", 500, 1024, _up_to("50%"), port=9200),
    App(_D, "shop", "shipping", "blue-3 blue-7 green-3", 150, 256, _ONE, port=8080),
    App(_D, "shop", "inventory", "blue-4 blue-5 green-4", 200, 512, _ONE, port=8080),
    App(_D, "shop", "reviews", "blue-2 blue-8 spot-1", 150, 256, _up_to("33%"), port=8080),
    App(_D, "shop", "recommend", "blue-4 spot-1 spot-2 spot-2", 400, 1024, port=8080),
    App(_S, "data", "postgres", "blue-1 blue-2 blue-3", 250, 3072, _ONE, port=5432, disk=100, grace=120,
        priority="shop-critical"),
    App(_S, "data", "kafka", "blue-4 blue-5 green-3", 250, 2048, _ONE, port=9092, disk=200, grace=120),
    App(_D, "shop", "receipts", FARGATE, 500, 1024, minutes=8_990,
        pod_spec={"schedulerName": "fargate-scheduler"},
        tolerations=({"key": "eks.amazonaws.com/compute-type", "value": "fargate", "effect": "NoSchedule"},)),
)  # fmt: skip

TRAPS = (
    # Rounds up to all of its pods, so it never allows an eviction.
    App(_D, "shop", "sale", "blue-6 blue-7", 200, 256, _at_least("75%"), port=8080),
    # Two teams created a budget each; the eviction API refuses a pod that matches both.
    App(_D, "shop", "loyalty", "blue-7 blue-8", 200, 256, port=8080, labels={"app": "loyalty", "team": "rewards"},
        rules=(Rule("maxUnavailable", 1), Rule("minAvailable", 1, "team-rewards", selector={"team": "rewards"}))),
    # Two of three crash: the budget protects pods that are already broken.
    App(_D, "shop", "thumbnails", "blue-6 blue-8 green-3", 200, 512, unready=2, minutes=55,
        rules=(Rule("minAvailable", 2, policy="IfHealthyBudget"),)),
    App(_D, "shop", "session-cache", "blue-6 green-4", 200, 1024, _ONE, port=6379,
        volumes={"sessions": {"emptyDir": {"medium": "Memory", "sizeLimit": "512Mi"}}}),
    App(_D, "shop", "mailer", "blue-5", 100, 256),
    App(_D, "edge", "gateway", "blue-2 blue-4 green-1 green-2", 300, 512, _ONE, port=8443, service_type="LoadBalancer",
        service_annotations={
            "service.beta.kubernetes.io/aws-load-balancer-type": "external",
            "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type": "ip",
            "service.beta.kubernetes.io/aws-load-balancer-scheme": "internet-facing",
        }),
    App(_D, "batch", "ledger-worker", "blue-8 spot-2", 500, 1024,
        annotations={"karpenter.sh/do-not-disrupt": "true"}, grace=300),
    App("Job", "batch", "reindex", "blue-7", 500, 1024, minutes=26, grace=60),
    App(_D, "ops", "log-relay", "blue-8 green-2", 100, 128, tolerations=(_ANYTHING,),
        volumes={"docker": {"hostPath": {"path": "/var/run/docker.sock", "type": ""}}}),
    App("Pod", "ops", "debug-shell", "blue-7", 50, 64, minutes=12_000),
    App(_D, "policy", "policy-webhook", "blue-3 blue-5", 150, 256, port=9443),
)  # fmt: skip

CNI_OWN = {"CLUSTER_NAME": CLUSTER, "VPC_ID": VPC}
"""The environment variables that EKS itself sets in aws-node."""

AWS_NODE = Daemon(
    partial(aws_node.template, EKS_IMAGES, CNI_OWN),
    aws_node.chart_labels(),
    born=aws_node.REVISIONS[0].minutes,
    revision=len(aws_node.REVISIONS),
    max_unavailable="10%",
)

_ON_LINUX: Json = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]},
        ]
    }
}
_COREFILE: Json = {"key": "Corefile", "path": "Corefile"}
_APART: Json = {
    "preferredDuringSchedulingIgnoredDuringExecution": [
        {
            "podAffinityTerm": {
                "labelSelector": {"matchExpressions": [{"key": "k8s-app", "operator": "In", "values": ["kube-dns"]}]},
                "topologyKey": "kubernetes.io/hostname",
            },
            "weight": 100,
        }
    ]
}
_DNS: Json = {
    "ports": [
        {"name": "dns", "containerPort": 53, "protocol": "UDP"},
        {"name": "dns-tcp", "containerPort": 53, "protocol": "TCP"},
        {"name": "metrics", "containerPort": 9153, "protocol": "TCP"},
    ],
    "livenessProbe": {"httpGet": {"path": "/health", "port": 8080}, "failureThreshold": 5, "initialDelaySeconds": 60},
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    },
    "volumeMounts": [{"name": "config-volume", "mountPath": "/etc/coredns", "readOnly": True}],
}

_PROXY: Json = {
    "command": [
        "kube-proxy",
        "--v=2",
        "--config=/var/lib/kube-proxy-config/config",
        "--hostname-override=$(NODE_NAME)",
    ],
    "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}}],
    "securityContext": {"privileged": True},
    "volumeMounts": [
        {"name": "varlog", "mountPath": "/var/log"},
        {"name": "xtables-lock", "mountPath": "/run/xtables.lock"},
        {"name": "lib-modules", "mountPath": "/lib/modules", "readOnly": True},
        {"name": "kubeconfig", "mountPath": "/var/lib/kube-proxy/"},
        {"name": "config", "mountPath": "/var/lib/kube-proxy-config/"},
    ],
}

SYSTEM = (
    App(_D, _K, "coredns", "blue-2 spot-1", 100, 70, _ONE, port=53, service="kube-dns", tolerations=(_CRITICAL,),
        labels={"k8s-app": "kube-dns", "eks.amazonaws.com/component": "coredns"},
        own_labels={"kubernetes.io/name": "CoreDNS"}, priority="system-cluster-critical",
        image=f"{EKS_IMAGES}/eks/coredns:v1.11.4-eksbuild.2", args=("-conf", "/etc/coredns/Corefile"),
        volumes={"config-volume": {"configMap": {"name": "coredns", "items": [_COREFILE], "defaultMode": 420}}},
        pod_spec={"dnsPolicy": "Default", "affinity": {"nodeAffinity": _ON_LINUX, "podAntiAffinity": _APART}},
        container=_DNS,
        service_annotations={"prometheus.io/port": "9153", "prometheus.io/scrape": "true"}),
    App(_D, _K, "karpenter", "blue-1 blue-3", 1000, 1024, _ONE, port=8080, tolerations=(_CRITICAL,),
        labels={"app.kubernetes.io/name": "karpenter"}, priority="system-cluster-critical",
        image="public.ecr.aws/karpenter/controller:1.5.0",
        env={"CLUSTER_NAME": CLUSTER, "DISABLE_LEADER_ELECTION": "false", "LOG_LEVEL": "info"}),
    App(_D, _K, "aws-load-balancer-controller", "blue-1 blue-4", 100, 200, port=9443,
        labels={"app.kubernetes.io/name": "aws-load-balancer-controller"}, priority="system-cluster-critical",
        service="aws-load-balancer-webhook-service", image="public.ecr.aws/eks/aws-load-balancer-controller:v2.13.2",
        args=(f"--cluster-name={CLUSTER}", "--ingress-class=alb"), grace=10),
    App(_D, _K, "metrics-server", "blue-6", 100, 200, port=10250, labels={"app.kubernetes.io/name": "metrics-server"},
        image=f"{EKS_IMAGES}/eks/metrics-server:v0.7.2-eksbuild.3", priority="system-cluster-critical",
        volumes={"tmp-dir": {"emptyDir": {}}}),
    App(_D, _K, "ebs-csi-controller", "green-1 green-4", 60, 240, _ONE, labels={"app": "ebs-csi-controller"},
        image=f"{EKS_IMAGES}/eks/aws-ebs-csi-driver:v1.44.0", priority="system-cluster-critical",
        volumes={"socket-dir": {"emptyDir": {}}}),
    App("DaemonSet", _K, aws_node.NAME, INSTANCES, labels=aws_node.POD_LABELS, grace=10,
        priority="system-node-critical", tolerations=(_ANYTHING,), minutes=aws_node.ROLLED_OUT,
        pod_spec={"hostNetwork": True}, daemon=AWS_NODE),
    App("DaemonSet", _K, "kube-proxy", INSTANCES, 100, 64, labels={"k8s-app": "kube-proxy"},
        own_labels={"eks.amazonaws.com/component": "kube-proxy"},
        priority="system-node-critical", tolerations=(_ANYTHING,), pod_spec={"hostNetwork": True},
        image=f"{EKS_IMAGES}/eks/kube-proxy:v1.32.3-eksbuild.7", container=_PROXY,
        volumes={"varlog": {"hostPath": {"path": "/var/log", "type": ""}},
                 "xtables-lock": {"hostPath": {"path": "/run/xtables.lock", "type": "FileOrCreate"}},
                 "lib-modules": {"hostPath": {"path": "/lib/modules", "type": ""}},
                 "kubeconfig": {"configMap": {"name": "kube-proxy", "defaultMode": 420}},
                 "config": {"configMap": {"name": "kube-proxy-config", "defaultMode": 420}}}),
    App("DaemonSet", _K, "ebs-csi-node", INSTANCES, 30, 120, labels={"app": "ebs-csi-node"},
        priority="system-node-critical", tolerations=(_ANYTHING,),
        image=f"{EKS_IMAGES}/eks/aws-ebs-csi-driver:v1.44.0",
        volumes={"kubelet-dir": {"hostPath": {"path": "/var/lib/kubelet", "type": "Directory"}},
                 "probe-dir": {"emptyDir": {}}}),
)  # fmt: skip

APPS = (*HEALTHY, *TRAPS, *SYSTEM)
