"""Generate pods like those of a busy cluster: a few replicas share labels, owner and spec; always the same for a
seed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

PODS_PER_NODE = 30
_TEAMS = ("cart", "catalog", "ledger", "media", "payment", "search", "shipping", "users")
_REPLICAS = (1, 1, 2, 2, 2, 3, 3, 3, 4, 6, 8, 12, 20)
_SAFE = "bcdfghjklmnpqrstvwxz2456789"


def pods(count: int, seed: int = 7, per_node: int = PODS_PER_NODE) -> Iterator[bytes]:
    """`count` pods as compact JSON of about 6.6 KiB each, in the order an API server lists them."""
    chance = random.Random(seed)
    nodes = [f"ip-10-{i // 250 % 250}-{i % 250}-17.ec2.internal" for i in range(max(1, count // per_node))]
    made, workload = 0, 0
    while made < count:
        replicas = min(chance.choice(_REPLICAS), count - made)
        shape = _workload(workload, chance)
        for _ in range(replicas):
            yield _pod(shape, nodes[chance.randrange(len(nodes))], made, chance)
            made += 1
        workload += 1


def _digits(chance: random.Random, length: int) -> str:
    return f"{chance.getrandbits(4 * length):0{length}x}"


def _uid(chance: random.Random) -> str:
    d = _digits(chance, 32)
    return f"{d[:8]}-{d[8:12]}-4{d[13:16]}-a{d[17:20]}-{d[20:]}"


def _suffix(chance: random.Random, length: int) -> str:
    return "".join(chance.choice(_SAFE) for _ in range(length))


def _workload(number: int, chance: random.Random) -> Json:
    """The fields that all replicas of one ReplicaSet share."""
    team = chance.choice(_TEAMS)
    name, revision = f"{team}-service-{number:05d}", _suffix(chance, 10)
    labels = {
        "app": name,
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/managed-by": "Helm",
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/part-of": team,
        "app.kubernetes.io/version": f"2026.{number % 12 + 1}.{number % 28}",
        "pod-template-hash": revision,
        "team": team,
    }
    set_name = f"{name}-{revision}"
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": set_name, "uid": _uid(chance)}
    return {
        "namespace": f"{team}-{number % 5}",
        "name": set_name,
        "app": name,
        "labels": labels,
        "owner": {**owner, "controller": True, "blockOwnerDeletion": True},
        "checksum": _digits(chance, 64),
        "image": f"111122223333.dkr.ecr.us-east-1.amazonaws.com/{team}/{name}:{labels['app.kubernetes.io/version']}",
        "digest": _digits(chance, 64),
        "env": [{"name": f"SETTING_{i:02d}_OF_THE_SERVICE", "value": _digits(chance, 12)} for i in range(12)],
    }


def _pod(shape: Json, node: str, number: int, chance: random.Random) -> bytes:
    name = f"{shape['name']}-{_suffix(chance, 5)}"
    metadata = {
        "name": name,
        "generateName": f"{shape['name']}-",
        "namespace": shape["namespace"],
        "uid": _uid(chance),
        "resourceVersion": str(1_000_000 + number),
        "creationTimestamp": f"2026-11-{number % 19 + 1:02d}T0{number % 10}:00:00Z",
        "labels": shape["labels"],
        "annotations": {
            "checksum/config": shape["checksum"],
            "kubectl.kubernetes.io/restartedAt": "2026-11-01T08:00:00Z",
            "prometheus.io/path": "/metrics",
            "prometheus.io/port": "9090",
            "prometheus.io/scrape": "true",
        },
        "ownerReferences": [shape["owner"]],
        "managedFields": _managed_fields(shape),
    }
    ip = f"10.{number // 62500 % 250}.{number // 250 % 250}.{number % 250}"
    body = {"metadata": metadata, "spec": _spec(shape, node, chance), "status": _status(shape, ip, chance)}
    return json.dumps(body, separators=(",", ":")).encode()


def _spec(shape: Json, node: str, chance: random.Random) -> Json:
    token = f"kube-api-access-{_suffix(chance, 5)}"
    probe = {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10}
    container = {
        "name": "app",
        "image": shape["image"],
        "imagePullPolicy": "IfNotPresent",
        "env": shape["env"],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}},
        "livenessProbe": {**probe, "successThreshold": 1, "failureThreshold": 5},
        "readinessProbe": {**probe, "successThreshold": 1, "failureThreshold": 3},
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/service", "readOnly": True},
            {"name": token, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True},
        ],
    }
    apart = {"labelSelector": {"matchLabels": {"app": shape["app"]}}, "topologyKey": "kubernetes.io/hostname"}
    return {
        "affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": apart}]
            }
        },
        "containers": [container],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "nodeName": node,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {"fsGroup": 1000, "runAsNonRoot": True},
        "serviceAccount": shape["app"],
        "serviceAccountName": shape["app"],
        "terminationGracePeriodSeconds": 30,
        "tolerations": [
            {"effect": "NoExecute", "key": f"node.kubernetes.io/{k}", "operator": "Exists", "tolerationSeconds": 300}
            for k in ("not-ready", "unreachable")
        ],
        "volumes": [
            {"name": "config", "configMap": {"name": shape["app"], "defaultMode": 420}},
            {
                "name": token,
                "projected": {
                    "defaultMode": 420,
                    "sources": [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}],
                },
            },
        ],
    }


def _status(shape: Json, ip: str, chance: random.Random) -> Json:
    at = "2026-11-19T08:00:00Z"
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    image = shape["image"]
    container = {
        "name": "app",
        "image": image,
        "imageID": f"{image.partition(':')[0]}@sha256:{shape['digest']}",
        "containerID": f"containerd://{_digits(chance, 64)}",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": at}},
        "lastState": {},
    }
    return {
        "phase": "Running",
        "conditions": [
            {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": at} for kind in kinds
        ],
        "containerStatuses": [container],
        "hostIP": ip,
        "hostIPs": [{"ip": ip}],
        "podIP": ip,
        "podIPs": [{"ip": ip}],
        "qosClass": "Burstable",
        "startTime": at,
    }


def _managed_fields(shape: Json) -> list[Json]:
    """The managedFields that the API server returns: about a quarter of a pod."""
    leaf: Json = {}
    spec = {
        f"f:{key}": leaf
        for key in ("affinity", "dnsPolicy", "enableServiceLinks", "restartPolicy", "schedulerName", "securityContext")
    }
    app = {
        f"f:{key}": leaf
        for key in ("image", "imagePullPolicy", "livenessProbe", "name", "readinessProbe", "resources", "volumeMounts")
    }
    app["f:env"] = {f'k:{{"name":"{e["name"]}"}}': {".": leaf, "f:name": leaf, "f:value": leaf} for e in shape["env"]}
    meta = {"f:labels": {f"f:{key}": leaf for key in shape["labels"]}, "f:generateName": leaf}
    made = {"f:metadata": meta, "f:spec": {**spec, "f:containers": {'k:{"name":"app"}': app}}}
    seen = {f"f:{key}": leaf for key in ("containerStatuses", "hostIP", "phase", "podIP", "podIPs", "startTime")}
    common = {"apiVersion": "v1", "fieldsType": "FieldsV1", "operation": "Update", "time": "2026-11-19T08:00:00Z"}
    return [
        {"manager": "kube-controller-manager", **common, "fieldsV1": made},
        {"manager": "kubelet", **common, "fieldsV1": {"f:status": seen}, "subresource": "status"},
    ]
