"""aws-node as the EKS add-on installs it, and the first incident in it.

Its configuration values have ENABLE_POD_ENI; DISABLE_TCP_EARLY_DEMUX was set on the live DaemonSet by hand, an update
with OVERWRITE reset it, and a user set it by hand again. `REVISIONS` are the four templates of that history. Source:
amazon-vpc-cni-k8s, charts/aws-vpc-cni at v1.19.0 and v1.19.5; a test builds the same by the rules of the API server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tools.demo.meta import Json

NAME, INIT, AGENT = "aws-node", "aws-vpc-cni-init", "aws-eks-nodeagent"
BY_HAND = "DISABLE_TCP_EARLY_DEMUX"

WINDOWS = {
    "enable-windows-ipam": "false",
    "enable-network-policy-controller": "false",
    "enable-windows-prefix-delegation": "false",
    "warm-prefix-target": "0",
    "warm-ip-target": "1",
    "minimum-ip-target": "3",
    "branch-eni-cooldown": "60",
}
"""The data of the ConfigMap amazon-vpc-cni."""


@dataclass(frozen=True, slots=True)
class Revision:
    """One template: since `minutes` ago, from the chart `version` with its node agent, with the manually set value."""

    minutes: int
    version: str
    agent: str
    early_demux: str


REVISIONS = (
    Revision(90_000, "v1.19.0", "v1.1.5", "false"),
    Revision(70_000, "v1.19.0", "v1.1.5", "true"),
    Revision(49_000, "v1.19.5", "v1.2.1", "false"),
    Revision(48_994, "v1.19.5", "v1.2.1", "true"),
)
"""Installed, set by hand, updated with OVERWRITE, set by hand again."""

ROLLED_OUT = 48_985
"""Minutes ago: the last pod of the newest revision."""

_ENV = {
    "ADDITIONAL_ENI_TAGS": "{}",
    "AWS_VPC_CNI_NODE_PORT_SUPPORT": "true",
    "AWS_VPC_ENI_MTU": "9001",
    "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG": "false",
    "AWS_VPC_K8S_CNI_EXTERNALSNAT": "false",
    "AWS_VPC_K8S_CNI_LOGLEVEL": "DEBUG",
    "AWS_VPC_K8S_CNI_LOG_FILE": "/host/var/log/aws-routed-eni/ipamd.log",
    "AWS_VPC_K8S_CNI_RANDOMIZESNAT": "prng",
    "AWS_VPC_K8S_CNI_VETHPREFIX": "eni",
    "AWS_VPC_K8S_PLUGIN_LOG_FILE": "/var/log/aws-routed-eni/plugin.log",
    "AWS_VPC_K8S_PLUGIN_LOG_LEVEL": "DEBUG",
    "DISABLE_INTROSPECTION": "false",
    "DISABLE_METRICS": "false",
    "DISABLE_NETWORK_RESOURCE_PROVISIONING": "false",
    "ENABLE_IPv4": "true",
    "ENABLE_IPv6": "false",
    "ENABLE_POD_ENI": "true",
    "ENABLE_PREFIX_DELEGATION": "false",
    "ENABLE_SUBNET_DISCOVERY": "true",
    "NETWORK_POLICY_ENFORCING_MODE": "standard",
    "WARM_ENI_TARGET": "1",
    "WARM_PREFIX_TARGET": "1",
}

_FLAGS = (
    "--enable-ipv6=false",
    "--enable-network-policy=false",
    "--enable-cloudwatch-logs=false",
    "--enable-policy-event-logs=false",
    "--log-file=/var/log/aws-routed-eni/network-policy-agent.log",
    "--metrics-bind-addr=:8162",
    "--health-probe-bind-addr=:8163",
    "--conntrack-cache-cleanup-period=300",
)

_HOST_PATHS = (
    ("bpf-pin-path", "/sys/fs/bpf", ""),
    ("cni-bin-dir", "/opt/cni/bin", ""),
    ("cni-net-dir", "/etc/cni/net.d", ""),
    ("log-dir", "/var/log/aws-routed-eni", "DirectoryOrCreate"),
    ("run-dir", "/var/run/aws-node", "DirectoryOrCreate"),
    ("xtables-lock", "/run/xtables.lock", "FileOrCreate"),
)

_MOUNTS = (
    "/host/opt/cni/bin=cni-bin-dir",
    "/host/etc/cni/net.d=cni-net-dir",
    "/host/var/log/aws-routed-eni=log-dir",
    "/var/run/aws-node=run-dir",
    "/run/xtables.lock=xtables-lock",
)

_AGENTS_MOUNTS = (
    "/host/opt/cni/bin=cni-bin-dir",
    "/sys/fs/bpf=bpf-pin-path",
    "/var/log/aws-routed-eni=log-dir",
    "/var/run/aws-node=run-dir",
)

POD_LABELS = {"k8s-app": NAME, "app.kubernetes.io/name": NAME, "app.kubernetes.io/instance": "aws-vpc-cni"}


def chart_labels() -> dict[str, str]:
    """The labels of every object of the add-on, as in the newest revision."""
    version = REVISIONS[-1].version
    labels = {"helm.sh/chart": f"aws-vpc-cni-{version.removeprefix('v')}", "app.kubernetes.io/version": version}
    return {**POD_LABELS, **labels, "app.kubernetes.io/managed-by": "Helm"}


def template(images: str, own: Mapping[str, str], revision: Revision = REVISIONS[-1]) -> Json:
    """The pod template of `revision`, its images in the registry `images`; `own` are EKS's values for the cluster."""
    build = f"{revision.version}-eksbuild.1"
    env = {**_ENV, **own, "VPC_CNI_VERSION": revision.version}
    pod = [_of_the_pod("MY_NODE_NAME", "spec.nodeName"), _of_the_pod("MY_POD_NAME", "metadata.name")]
    init = _container(INIT, f"{images}/amazon-k8s-cni-init:{build}", "/host/opt/cni/bin=cni-bin-dir")
    init |= {"env": _env({BY_HAND: revision.early_demux, "ENABLE_IPv6": "false"})}
    init |= {"securityContext": {"privileged": True}}
    main = _container(NAME, f"{images}/amazon-k8s-cni:{build}", *_MOUNTS)
    main |= {"env": [*_env(env), *pod], "ports": [_port(61678, "metrics")]}
    main |= {"livenessProbe": _probe(60), "readinessProbe": _probe(1)}
    main |= {"securityContext": {"capabilities": {"add": ["NET_ADMIN", "NET_RAW"]}}}
    spec: Json = {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _on_linux()}},
        "containers": [main, _agent(images, revision)],
        "dnsPolicy": "ClusterFirst",
        "hostNetwork": True,
        "initContainers": [init],
        "priorityClassName": "system-node-critical",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "serviceAccountName": NAME,
        "terminationGracePeriodSeconds": 10,
        "tolerations": [{"operator": "Exists"}],
        "volumes": [_volume(*each) for each in _HOST_PATHS],
    }
    return {"metadata": {"labels": dict(POD_LABELS)}, "spec": spec}


def _agent(images: str, revision: Revision) -> Json:
    """The chart has its port since v1.19.4."""
    made = _container(AGENT, f"{images}/amazon/aws-network-policy-agent:{revision.agent}-eksbuild.1", *_AGENTS_MOUNTS)
    made |= {"args": list(_FLAGS), "env": [_of_the_pod("MY_NODE_NAME", "spec.nodeName")]}
    made |= {"securityContext": {"capabilities": {"add": ["NET_ADMIN"]}, "privileged": True}}
    if revision.version != REVISIONS[0].version:
        made["ports"] = [_port(8162, "agentmetrics")]
    return made


def _container(name: str, image: str, *mounts: str) -> Json:
    """`mounts` as PATH=VOLUME."""
    pairs = [mount.split("=") for mount in mounts]
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": "Always",
        "resources": {"requests": {"cpu": "25m"}},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [{"mountPath": path, "name": volume} for path, volume in pairs],
    }


def _env(said: Mapping[str, str]) -> list[Json]:
    return [{"name": name, "value": said[name]} for name in sorted(said)]


def _of_the_pod(name: str, path: str) -> Json:
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def _port(number: int, name: str) -> Json:
    return {"containerPort": number, "name": name, "protocol": "TCP"}


def _probe(delay: int) -> Json:
    command = ["/app/grpc-health-probe", "-addr=:50051", "-connect-timeout=5s", "-rpc-timeout=5s"]
    return {"exec": {"command": command}, "initialDelaySeconds": delay, "timeoutSeconds": 10}


def _volume(name: str, path: str, kind: str) -> Json:
    return {"name": name, "hostPath": {"path": path, **({"type": kind} if kind else {})}}


def _on_linux() -> Json:
    wants = (
        ("kubernetes.io/os", "In", ["linux"]),
        ("kubernetes.io/arch", "In", ["amd64", "arm64"]),
        ("eks.amazonaws.com/compute-type", "NotIn", ["fargate", "hybrid", "auto"]),
    )
    expressions = [{"key": key, "operator": operator, "values": values} for key, operator, values in wants]
    return {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
