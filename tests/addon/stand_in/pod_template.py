"""Render the pod template of aws-node by chart version: charts/aws-vpc-cni/templates/daemonset.yaml."""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.model.api_objects import Doc
from tests.addon.stand_in import charts
from tests.addon.stand_in.charts import Number

INIT, MAIN, AGENT = "aws-vpc-cni-init", "aws-node", "aws-eks-nodeagent"

_BIN: Doc = {"mountPath": "/host/opt/cni/bin", "name": "cni-bin-dir"}

# The node agent's flags in their order; each is there where the chart has the value.
_FLAGS = (
    ("--enable-ipv6={}", "enableIpv6"),
    ("--enable-network-policy={}", ""),
    ("--enable-cloudwatch-logs={}", "enableCloudWatchLogs"),
    ("--enable-policy-event-logs={}", "enablePolicyEventLogs"),
    ("--log-file={}", "networkPolicyAgentLogFileLocation"),
    ("--metrics-bind-addr=:{}", "metricsBindAddr"),
    ("--health-probe-bind-addr=:{}", "healthProbeBindAddr"),
    ("--conntrack-cache-cleanup-period={}", "conntrackCacheCleanupPeriod"),
    ("--conntrack-cache-table-size={}", "conntrackCacheTableSize"),
    ("--log-level={}", "logLevel"),
)


def template(addon_version: str, number: Number, values: Doc, region: str) -> Doc:
    """The template of version `number`, rendered from all its `values`."""
    images = f"602401143452.dkr.ecr.{region}.amazonaws.com"
    agent = number >= (1, 14, 0) and _truth(values["nodeAgent"].get("enabled", True))
    containers = [_main(f"{images}/amazon-k8s-cni:{addon_version}", number, values, agent)]
    if agent:
        containers.append(_agent(images, number, values))
    spec: Doc = {
        "priorityClassName": "system-node-critical",
        "serviceAccountName": "aws-node",
        "hostNetwork": True,
        "initContainers": [_init(f"{images}/amazon-k8s-cni-init:{addon_version}", number, values)],
        "terminationGracePeriodSeconds": 10,
        "tolerations": values.get("tolerations") or ([] if number >= (1, 14, 0) else [{"operator": "Exists"}]),
        "securityContext": {},
        "containers": containers,
        "volumes": _volumes(number, values, agent),
        "affinity": values.get("affinity"),
        "nodeSelector": values.get("nodeSelector"),
    }
    labels = {"app.kubernetes.io/name": "aws-node", "app.kubernetes.io/instance": "aws-vpc-cni", "k8s-app": "aws-node"}
    metadata: Doc = {"labels": {**labels, **values.get("podLabels", {})}}
    if values.get("podAnnotations"):
        metadata["annotations"] = {key: text(value) for key, value in values["podAnnotations"].items()}
    kept = {key: value for key, value in spec.items() if key == "securityContext" or value not in (None, [], {})}
    return {"metadata": metadata, "spec": kept}


def text(value: Any) -> str:
    """The text that a Go template prints for a value."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _init(image: str, number: Number, values: Doc) -> Doc:
    made: Doc = {"name": INIT, "image": image, **_pulled(number), "env": _env(values["init"]["env"])}
    made |= {"securityContext": {"privileged": True}, "volumeMounts": [_BIN]}
    if number >= (1, 13, 0):
        made["resources"] = values["init"].get("resources") or values["resources"]
    return made


def _main(image: str, number: Number, values: Doc, agent: bool) -> Doc:
    skipped = "" if agent else "NETWORK_POLICY_ENFORCING_MODE"
    env = _env({name: value for name, value in values["env"].items() if name != skipped})
    env.append(_of_the_pod("MY_NODE_NAME", "spec.nodeName"))
    if number >= (1, 12, 6):
        env.append(_of_the_pod("MY_POD_NAME", "metadata.name"))
    mounts = [_BIN, {"mountPath": "/host/etc/cni/net.d", "name": "cni-net-dir"}]
    mounts.append({"mountPath": "/host/var/log/aws-routed-eni", "name": "log-dir"})
    if number < (1, 12, 0):
        name = _runtime(values)
        mounts.append({"mountPath": f"/var/run/{name}.sock", "name": name})
    mounts.append({"mountPath": "/var/run/aws-node", "name": "run-dir"})
    mounts.append({"mountPath": "/run/xtables.lock", "name": "xtables-lock"})
    added = ["NET_ADMIN"] if number < (1, 12, 0) else ["NET_ADMIN", "NET_RAW"]
    return {
        "name": MAIN,
        "image": image,
        **_pulled(number),
        "ports": [{"containerPort": 61678, "name": "metrics"}],
        "livenessProbe": _probe(number, 60, values.get("livenessProbeTimeoutSeconds")),
        "readinessProbe": _probe(number, 1, values.get("readinessProbeTimeoutSeconds")),
        "env": env,
        "resources": values["resources"],
        "securityContext": {"capabilities": {"add": added}},
        "volumeMounts": mounts,
    }


def _agent(images: str, number: Number, values: Doc) -> Doc:
    said = {**values["nodeAgent"], "": values["enableNetworkPolicy"]}
    chart = "v" + ".".join(map(str, number))
    tag = charts.table("vpc-cni-manifests")[chart]["img:aws-eks-nodeagent"].rpartition(":")[2]
    mounts = [_BIN, {"mountPath": "/sys/fs/bpf", "name": "bpf-pin-path"}]
    mounts.append({"mountPath": "/var/log/aws-routed-eni", "name": "log-dir"})
    mounts.append({"mountPath": "/var/run/aws-node", "name": "run-dir"})
    made: Doc = {
        "name": AGENT,
        "image": f"{images}/amazon/aws-network-policy-agent:{tag}-eksbuild.1",
        **_pulled(number),
        "env": [_of_the_pod("MY_NODE_NAME", "spec.nodeName")],
        "args": [flag.format(text(said[value])) for flag, value in _FLAGS if value in said],
        "resources": said.get("resources") or values["resources"],
        "securityContext": {"capabilities": {"add": ["NET_ADMIN"]}, "privileged": True},
        "volumeMounts": mounts,
    }
    if number >= (1, 19, 4):
        made["ports"] = [{"containerPort": int(said["metricsBindAddr"]), "name": "agentmetrics"}]
    return made


def _volumes(number: Number, values: Doc, agent: bool) -> list[Doc]:
    made = [_host("cni-bin-dir", "/opt/cni/bin"), _host("cni-net-dir", "/etc/cni/net.d")]
    if agent:
        made.insert(0, _host("bpf-pin-path", "/sys/fs/bpf"))
    if number < (1, 12, 0):
        path = (values.get("cri") or {}).get("hostPath")
        made.append({"name": "cri", "hostPath": path} if path else _host("dockershim", "/var/run/dockershim.sock"))
    for name, path in (("log-dir", "/var/log/aws-routed-eni"), ("run-dir", "/var/run/aws-node")):
        made.append(_host(name, path, "DirectoryOrCreate"))
    made.append(_host("xtables-lock", "/run/xtables.lock", "FileOrCreate" if number >= (1, 18, 1) else ""))
    return made


def _host(name: str, path: str, kind: str = "") -> Doc:
    return {"name": name, "hostPath": {"path": path, **({"type": kind} if kind else {})}}


def _runtime(values: Doc) -> str:
    return "cri" if (values.get("cri") or {}).get("hostPath") else "dockershim"


def _probe(number: Number, delay: int, timeout: int | None) -> Doc:
    command = ["/app/grpc-health-probe", "-addr=:50051"]
    if number >= (1, 23, 0):
        command[1] = "-addr=unix:///var/run/aws-node/ipamd.sock"
    if number >= (1, 10, 0):
        seconds = 2 if number < (1, 10, 2) else 5
        command += [f"-connect-timeout={seconds}s", f"-rpc-timeout={seconds}s"]
    made: Doc = {"exec": {"command": command}, "initialDelaySeconds": delay}
    return made if timeout is None else {**made, "timeoutSeconds": timeout}


def _pulled(number: Number) -> Doc:
    if (1, 10, 0) <= number < (1, 18, 4):
        return {}
    return {"imagePullPolicy": "Always" if number < (1, 21, 2) else "IfNotPresent"}


def _env(said: Doc) -> list[Doc]:
    """Env entries by name: a template that ranges over a map visits its keys in sorted order."""
    return [{"name": name, "value": text(said[name])} for name in sorted(said)]


def _of_the_pod(name: str, path: str) -> Doc:
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def _truth(value: Any) -> bool:
    return bool(value) and value != "false"
