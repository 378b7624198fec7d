"""Pods of the demo and their templates, as the API prints them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from itertools import count

from tools.demo.meta import Json, ago, an_object, condition, hexadecimal, owner, suffix
from tools.demo.nodes import address, subnet
from tools.demo.world import MACHINES, POD_ENI, PRIORITIES, SHOP_IMAGES, App, Machine

_BY_NAME = {m.name: m for m in MACHINES}

_NODE_TROUBLE = ("not-ready", "unreachable")
_DAEMON_TAINTS = ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable", "network-unavailable")


class Addresses:
    """Assigns pod addresses, one subnet per zone, each once."""

    def __init__(self, machines: Iterable[Machine] = MACHINES, first: int = 100) -> None:
        self._next = {subnet(machine): count(first) for machine in machines}

    def take(self, machine: Machine) -> str:
        """The next free address in the machine's zone."""
        return f"{subnet(machine)}.{next(self._next[subnet(machine)])}"


def labels_of(app: App) -> dict[str, str]:
    """The labels of its template; controllers add more."""
    return dict(app.labels) or {"app": app.name}


def template_hash(app: App, revision: int = 0) -> str:
    """The hash of its newest revision, or of an older one, counting from 1."""
    newest = app.daemon is None or revision in (0, app.daemon.revision)
    return suffix(10, "template", app.key) if newest else suffix(10, "template", app.key, revision)


def template_of(app: App) -> Json:
    """The pod template of its controller; it shares no value with `app`."""
    if app.daemon is not None:
        return app.daemon.template()
    spec: Json = {"containers": [_container(app)], "dnsPolicy": "ClusterFirst", "securityContext": {}}
    spec |= {"schedulerName": "default-scheduler", "terminationGracePeriodSeconds": app.grace}
    spec["serviceAccountName"] = app.name if app.namespace == "kube-system" else "default"
    spec |= {"restartPolicy": "Never" if app.kind == "Job" else "Always", **deepcopy(dict(app.pod_spec))}
    volumes = [{"name": name, **source} for name, source in app.volumes.items()]
    given = {"tolerations": app.tolerations, "volumes": volumes}
    spec |= {key: deepcopy(list(value)) for key, value in given.items() if value}
    if app.priority:
        spec["priorityClassName"] = app.priority
    if app.kind == "DaemonSet":
        spec["affinity"] = {"nodeAffinity": _not_on_fargate()}
    metadata = {"labels": labels_of(app), "annotations": dict(app.annotations)}
    return {"metadata": {key: value for key, value in metadata.items() if value}, "spec": spec}


def _not_on_fargate() -> Json:
    """The affinity of the managed add-ons: a Fargate node has room for its one pod."""
    term = {"key": "eks.amazonaws.com/compute-type", "operator": "NotIn", "values": ["fargate"]}
    terms = [{"matchExpressions": [term]}]
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}


def pods_of(app: App, addresses: Addresses, machines: Mapping[str, Machine] = _BY_NAME, first: int = 0) -> list[Json]:
    """Its replicas, each bound to the node in `app.on`; `first`: the number of replicas that exist already."""
    return [_pod(app, i, machines[node], addresses) for i, node in enumerate(app.nodes, first)]


def is_ready(pod: Json) -> bool:
    """Whether its Ready condition is true."""
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"]["conditions"])


def _image(app: App) -> str:
    return app.image or f"{SHOP_IMAGES}/{app.name}:2026.11.3"


def _container(app: App) -> Json:
    resources = {"requests": {"cpu": f"{app.cpu}m", "memory": f"{app.memory}Mi"}}
    resources["limits"] = {"memory": f"{2 * app.memory}Mi", **app.extended}
    resources["requests"] |= app.extended
    body: Json = {"name": app.name, "image": _image(app), "imagePullPolicy": "IfNotPresent", "resources": resources}
    body |= {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
    mounts = [*app.volumes, "data"] if app.disk else [*app.volumes]
    given: Json = {
        "args": list(app.args),
        "env": [{"name": name, "value": value} for name, value in app.env.items()],
        "ports": [{"name": "main", "containerPort": app.port, "protocol": "TCP"}],
        "readinessProbe": {"tcpSocket": {"port": app.port}, "periodSeconds": 10, "failureThreshold": 3},
        "volumeMounts": [{"name": name, "mountPath": f"/mnt/{name}"} for name in mounts],
    }
    if not app.port:
        del given["ports"], given["readinessProbe"]
    return body | {key: value for key, value in given.items() if value} | deepcopy(dict(app.container))


def _pod(app: App, index: int, machine: Machine, addresses: Addresses) -> Json:
    name, labels, owned_by = _identity(app, index)
    age = min(app.minutes or machine.age, machine.age - 4 - index)
    spec = template_of(app)["spec"]
    spec |= {"nodeName": machine.name, "enableServiceLinks": True}
    spec |= {"priority": PRIORITIES.get(app.priority, 0), "preemptionPolicy": "PreemptLowerPriority"}
    spec["tolerations"] = [*spec.get("tolerations", ()), *_added_tolerations(app)]
    spec["volumes"] = [*spec.get("volumes", ()), *_added_volumes(app, index)]
    ip = address(machine) if app.pod_spec.get("hostNetwork") else addresses.take(machine)
    if machine.pool == "fargate":
        labels["eks.amazonaws.com/fargate-profile"] = app.name
    containers = [_container_status(app, name, age, each) for each in spec["containers"]]
    status = _status(app, name, age, machine, ip, containers, crashing=index < app.unready)
    body: Json = {"spec": spec, "status": status}
    said = {**app.annotations, **_branch_of(app, ip, index)}
    meta: Json = {"labels": labels, "annotations": said, "owned_by": owned_by}
    return an_object("v1", "Pod", name, app.namespace, age=age, **meta, **body)


def _branch_of(app: App, ip: str, index: int) -> dict[str, str]:
    """The annotation of the VPC resource controller for a pod with security groups of its own: its branch interface."""
    if POD_ENI not in app.extended:
        return {}
    interface: Json = {"eniId": f"eni-{hexadecimal(17, 'branch', ip)}", "privateIp": ip, "vlanId": index + 1}
    return {POD_ENI: json.dumps([interface], separators=(",", ":"))}


def _identity(app: App, index: int) -> tuple[str, dict[str, str], Json | None]:
    """Name, labels and controller of a replica, by the kind of its controller."""
    labels, revision = labels_of(app), template_hash(app)
    generated = f"{app.name}-{suffix(5, app.key, index)}"
    if app.kind == "Deployment":
        set_name = f"{app.name}-{revision}"
        controller = owner("apps/v1", "ReplicaSet", app.namespace, set_name)
        return f"{set_name}-{suffix(5, app.key, index)}", {**labels, "pod-template-hash": revision}, controller
    if app.kind == "StatefulSet":
        name = f"{app.name}-{index}"
        added = {"apps.kubernetes.io/pod-index": str(index), "statefulset.kubernetes.io/pod-name": name}
        revised = {"controller-revision-hash": f"{app.name}-{revision}"}
        return name, {**labels, **added, **revised}, owner("apps/v1", "StatefulSet", app.namespace, app.name)
    if app.kind == "DaemonSet":
        generation = str(app.daemon.revision if app.daemon else 1)
        added = {"controller-revision-hash": revision, "pod-template-generation": generation}
        return generated, {**labels, **added}, owner("apps/v1", "DaemonSet", app.namespace, app.name)
    if app.kind == "Job":
        controller = owner("batch/v1", "Job", app.namespace, app.name)
        added = {"batch.kubernetes.io/controller-uid": controller["uid"], "batch.kubernetes.io/job-name": app.name}
        return generated, {**labels, **added}, controller
    return app.name, labels, None


def _added_tolerations(app: App) -> list[Json]:
    """The tolerations that admission (DefaultTolerationSeconds) or the DaemonSet controller adds."""
    if app.kind != "DaemonSet":
        return [
            {"key": f"node.kubernetes.io/{k}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for k in _NODE_TROUBLE
        ]
    every = [(k, "NoExecute") for k in _NODE_TROUBLE] + [(k, "NoSchedule") for k in _DAEMON_TAINTS]
    return [{"key": f"node.kubernetes.io/{k}", "operator": "Exists", "effect": effect} for k, effect in every]


def _added_volumes(app: App, index: int) -> list[Json]:
    """The claim of a StatefulSet's replica, and the service account token of every pod."""
    source = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
    token: Json = {"name": f"kube-api-access-{suffix(5, 'token', app.key, index)}"}
    token["projected"] = {"defaultMode": 420, "sources": [source]}
    claim: Json = {"name": "data", "persistentVolumeClaim": {"claimName": f"data-{app.name}-{index}"}}
    return [claim, token] if app.disk else [token]


def _status(app: App, name: str, age: float, machine: Machine, ip: str, containers: list[Json], crashing: bool) -> Json:
    why = {"reason": "ContainersNotReady", "message": f"containers with unready status: [{app.name}]"}
    said, since = (why, 3.0) if crashing else ({}, age - 0.5)
    conditions = [condition("PodScheduled", True, age), condition("Initialized", True, age)]
    conditions += [condition(kind, not crashing, since, **said) for kind in ("ContainersReady", "Ready")]
    if crashing:
        containers = [{**each, **_crash(app, name)} for each in containers]
    status: Json = {"phase": "Running", "conditions": conditions, "containerStatuses": containers}
    status |= {"hostIP": address(machine), "podIP": ip, "podIPs": [{"ip": ip}]}
    return status | {"qosClass": "Burstable", "startTime": ago(age)}


def _container_status(app: App, name: str, age: float, container: Json) -> Json:
    image, which = container["image"], () if container["name"] == app.name else (container["name"],)
    container_id = hexadecimal(64, "container", app.namespace, name, *which)
    ids: Json = {"imageID": f"{image.rpartition(':')[0]}@sha256:{hexadecimal(64, 'image', image)}"}
    ids |= {"name": container["name"], "image": image, "containerID": f"containerd://{container_id}"}
    state: Json = {"state": {"running": {"startedAt": ago(age - 0.2)}}, "lastState": {}}
    return {**ids, "ready": True, "started": True, "restartCount": 0, **state}


def _crash(app: App, name: str) -> Json:
    back_off = f"back-off 5m0s restarting failed container={app.name} pod={name}_{app.namespace}"
    ended = {"exitCode": 1, "reason": "Error", "startedAt": ago(3.2), "finishedAt": ago(3)}
    state: Json = {"waiting": {"reason": "CrashLoopBackOff", "message": back_off}}
    return {"ready": False, "started": False, "restartCount": 14, "state": state, "lastState": {"terminated": ended}}
