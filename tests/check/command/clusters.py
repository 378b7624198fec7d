"""Three ordinary, well-kept clusters as dumps of ``kubectl get -o json``: nothing in them blocks an upgrade.

`MANAGED`: a managed node group over three zones without a launch template of its own (so IMDSv2, one hop), three
add-ons of EKS, AWS Load Balancer Controller and external-dns with roles, and an application of the team. `CURRENT`: the
same with current versions of common software, a volume of EBS, and Karpenter with a Spot node. `AUTO`: EKS Auto
Mode. Each has the objects of EKS (its webhooks, gp2), and those of charts (definitions, releases of Helm).

Workloads of a chart have its default replicas and budgets: cert-manager, external-dns and Argo CD one
replica, the Load Balancer Controller two and no budget. Its arguments name its region and VPC, as Amazon Linux 2023
requires. CoreDNS has a lameduck of 20 s, by the add-on's configuration values, and not the add-on's own 5 s: the EKS
best practices ask for more, and coredns-lameduck proposes that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.check.command import usual
from tests.check.command.eks_applied import applied, owned_by_eks

ACCOUNT, REGION = "111122223333", "ap-northeast-2"
IDS = tuple(f"i-0123456789abcde{at:02}" for at in range(6))
"""Of instances, where no account is at hand."""
_REGISTRY = f"602401143452.dkr.ecr.{REGION}.amazonaws.com"
Doc = dict[str, Any]


@dataclass(frozen=True)
class App:
    """A workload. `budget`: its maxUnavailable; `role`: its pods get a role by their service account; `addon`: it is an
    EKS add-on, whose manifest has the other fields; `hook`: the webhook configuration that it serves, with the
    resources; `selects`: labels of its nodes; `claim`: it has a volume of EBS; `release`: the manifest that Helm stores
    for it."""

    namespace: str
    name: str
    image: str = ""
    kind: str = "Deployment"
    replicas: int = 1
    budget: int | None = None
    role: bool = False
    addon: str = ""
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    empty_dir: bool = False
    claim: bool = False
    release: str = ""
    hook: str = ""
    selects: tuple[tuple[str, str], ...] = ()

    @property
    def by(self) -> str:
        """The controller that creates the pods."""
        return f"{self.name}-7d9c8b6f5" if self.kind == "Deployment" else self.name


@dataclass(frozen=True)
class KeptCluster:
    """`nodes`: the provisioner of each, ``group``, ``karpenter``, ``spot`` or ``auto``; `lameduck`: of CoreDNS; `hops`:
    the hop limit of the instances; `tags`: of the cluster and its node group."""

    apps: tuple[App, ...]
    nodes: tuple[str, ...] = ("group",) * 3
    lameduck: str = "20s"
    hops: int = 1
    tags: tuple[tuple[str, str], ...] = ()

    @property
    def auto_mode(self) -> bool:
        return "auto" in self.nodes

    @property
    def with_karpenter(self) -> bool:
        return any(each.name == "karpenter" for each in self.apps)

    def with_app(self, name: str, **changed: Any) -> KeptCluster:
        return replace(self, apps=tuple(replace(each, **changed) if each.name == name else each for each in self.apps))


ADDONS = {
    "vpc-cni": "v1.21.2-eksbuild.1",
    "coredns": "v1.13.2-eksbuild.4",
    "kube-proxy": "v1.33.10-eksbuild.2",
}
"""Managed by EKS, each at the version that it installs by default."""
_EXTERNAL_DNS = App("external-dns", "external-dns", "external-dns/external-dns:v0.20.0", role=True)
_OWN = App("shop", "web", f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/web:2026.2", replicas=3, budget=1)
MANAGED = KeptCluster(
    (
        App("kube-system", "aws-node", kind="DaemonSet", role=True, addon="vpc-cni"),
        App("kube-system", "kube-proxy", kind="DaemonSet", addon="kube-proxy"),
        App("kube-system", "coredns", replicas=2, budget=1, addon="coredns"),
        App(
            "kube-system",
            "aws-load-balancer-controller",
            "eks/aws-load-balancer-controller:v2.17.1",
            replicas=2,
            role=True,
            args=("--cluster-name=prod", "--ingress-class=alb", f"--aws-region={REGION}", "--aws-vpc-id=vpc-0a1b2c3d"),
            hook="MutatingWebhookConfiguration services",
        ),
        _EXTERNAL_DNS,
        _OWN,
    )
)
_KARPENTER = App(
    "kube-system",
    "karpenter",
    "karpenter/controller:1.8.2",
    replicas=2,
    budget=1,
    role=True,
    env=(("CLUSTER_NAME", "prod"), ("INTERRUPTION_QUEUE", "prod")),
)
_EBS = "ebs-csi-driver/aws-ebs-csi-driver"
CURRENT = KeptCluster(
    (
        *MANAGED.apps,
        _KARPENTER,
        App("argocd", "argocd-server", "argoproj/argocd:v3.2.3", release=usual.HELD),
        App("argocd", "argocd-repo-server", "argoproj/argocd:v3.2.3", empty_dir=True),
        App("argocd", "argocd-application-controller", "argoproj/argocd:v3.2.3", "StatefulSet"),
        App("cert-manager", "cert-manager", "jetstack/cert-manager-controller:v1.19.2", release=usual.HELD),
        App("cert-manager", "cert-manager-cainjector", "jetstack/cert-manager-cainjector:v1.19.2"),
        App(
            "cert-manager",
            "cert-manager-webhook",
            "jetstack/cert-manager-webhook:v1.19.2",
            hook="ValidatingWebhookConfiguration certificates",
        ),
        App("monitoring", "prometheus", "prometheus/prometheus:v3.8.0", "StatefulSet", claim=True, release=usual.HELD),
        App("kube-system", "metrics-server", "metrics-server/metrics-server:v0.8.0", replicas=2, budget=1),
        App("kube-system", "ebs-csi-controller", f"{_EBS}:v1.54.0", replicas=2, budget=1, role=True),
        App("kube-system", "ebs-csi-node", f"{_EBS}:v1.54.0", "DaemonSet"),
        App("logging", "fluent-bit", "aws-observability/aws-for-fluent-bit:2.34.2", "DaemonSet", role=True),
    ),
    nodes=("group", "group", "group", "karpenter", "spot"),
)
_ON_AUTO = replace(_OWN, selects=(("eks.amazonaws.com/compute-type", "auto"),))
AUTO = KeptCluster((_EXTERNAL_DNS, _ON_AUTO), nodes=("auto",) * 3)
KEPT = {"managed node groups": MANAGED, "with what many run": CURRENT, "EKS Auto Mode": AUTO}

_EMPTY = {
    "apps/v1": ("StatefulSet", "DaemonSet", "ReplicaSet", "Deployment", "ControllerRevision"),
    "batch/v1": ("Job", "CronJob"),
    "v1": (
        "PersistentVolumeClaim",
        "PersistentVolume",
        "ReplicationController",
        "Secret",
        "ServiceAccount",
        "ConfigMap",
        "Service",
    ),
    "autoscaling/v2": ("HorizontalPodAutoscaler",),
    "policy/v1": ("PodDisruptionBudget",),
    "discovery.k8s.io/v1": ("EndpointSlice",),
    "storage.k8s.io/v1": ("StorageClass", "CSINode", "VolumeAttachment"),
    "admissionregistration.k8s.io/v1": (
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ),
    "coordination.k8s.io/v1": ("Lease",),
    "scheduling.k8s.io/v1": ("PriorityClass",),
    "apiregistration.k8s.io/v1": ("APIService",),
    "apiextensions.k8s.io/v1": ("CustomResourceDefinition",),
    "networking.k8s.io/v1": ("NetworkPolicy", "IngressClass"),
    "elbv2.k8s.aws/v1beta1": ("TargetGroupBinding",),
}
_READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-02-20T08:00:00Z"}
_HASH = {"pod-template-hash": "7d9c8b6f5"}
_REVISION = "5c9f7d68b4"
_TOKEN = "/var/run/secrets/eks.amazonaws.com/serviceaccount/token"
_API = {kind: api for api, kinds in _EMPTY.items() for kind in kinds} | {"Node": "v1", "Namespace": "v1", "Pod": "v1"}


def a_dump(folder: Path, of: KeptCluster, instances: Sequence[str] = IDS) -> str:
    """The folder, with a list of each kind; `instances`: those of the nodes."""
    lists: dict[str, list[Doc]] = {kind: [] for kind in _API}
    for doc in objects(of, instances):
        lists.setdefault(doc["kind"], []).append(doc)
    for kind, items in lists.items():
        api = items[0]["apiVersion"] if items else _API[kind]
        body = {"apiVersion": api, "kind": f"{kind}List", "metadata": {}, "items": items}
        (folder / f"{kind}.json").write_text(json.dumps(body))
    return str(folder)


def objects(of: KeptCluster, instances: Sequence[str]) -> Iterable[Doc]:
    for at, by in enumerate(of.nodes):
        yield _node(at, by, instances[at])
    for name in sorted({"kube-system", "default", *(each.namespace for each in of.apps)}):
        yield {**_made("Namespace", name), "status": {"phase": "Active"}}
    yield from usual.of_eks()
    for app in of.apps:
        yield from _of_addon(app, of) if app.addon else _of_app(app, len(of.nodes))
        yield from _beside(app, of)
    if of.auto_mode or of.with_karpenter:
        yield from usual.karpenter(of.auto_mode)


def _beside(app: App, of: KeptCluster) -> Iterable[Doc]:
    if app.release:
        yield usual.release(app.name, app.namespace, app.release)
    if app.claim:
        yield from usual.claim(f"data-{app.name}-0", app.namespace, f"{REGION}a")
    if app.hook.endswith(" services"):
        yield usual.definition("elbv2.k8s.aws", "TargetGroupBinding", "v1beta1")
    if app.hook.endswith(" certificates"):
        yield usual.definition("cert-manager.io", "Certificate")
    if app.name == "metrics-server":
        yield from usual.metrics_server({"app.kubernetes.io/name": app.name})
        yield from slices(app, 10250)
    if app.name == "ebs-csi-node":
        yield from (usual.csi_node(_host(at)) for at in range(len(of.nodes)))


def _host(at: int) -> str:
    return f"ip-10-0-{at}-20.{REGION}.compute.internal"


def _of_app(app: App, nodes: int) -> Iterable[Doc]:
    labels = {"app.kubernetes.io/name": app.name}
    template = {"metadata": {"labels": labels}, "spec": _pod_spec(app, labels)}
    yield _made("ServiceAccount", app.name, app.namespace, annotations=_role(app))
    yield from _workload(app, template, nodes, labels)
    if app.hook:
        yield from _hook(app, labels)


def _of_addon(app: App, of: KeptCluster) -> Iterable[Doc]:
    """The workload as the add-on's manifest has it, with its settings applied."""
    docs = applied(app.addon, ADDONS[app.addon], _REGISTRY)
    if app.addon == "kube-proxy":  # a manifest of which the rest is not public
        docs += [_made("ServiceAccount", app.name, app.namespace), _made("ConfigMap", app.name, app.namespace)]
        config = {"config": 'mode: "iptables"\nconntrack:\n  maxPerCore: 32768\n'}
        docs.append({**_made("ConfigMap", "kube-proxy-config", app.namespace), "data": config})
    for doc in docs:
        if doc["kind"] == "ServiceAccount" and app.role:
            doc["metadata"]["annotations"] = _role(app)
        if "Corefile" in doc.get("data", {}):
            doc["data"]["Corefile"] = corefile(of.lameduck)
        if doc["kind"] == app.kind:
            template = doc["spec"]["template"]
            (container,) = (each for each in template["spec"]["containers"] if each["name"] == app.name)
            container.setdefault("image", f"{_REGISTRY}/eks/kube-proxy:{ADDONS[app.addon]}")
            made, *others = _workload(app, template, len(of.nodes), doc["spec"]["selector"]["matchLabels"])
            owned = owned_by_eks(doc)
            yield {**owned, "metadata": {**made["metadata"], **owned["metadata"]}, "status": made["status"]}
            yield from (owned_by_eks(each) if each["kind"] == "PodDisruptionBudget" else each for each in others)
        else:
            owned = owned_by_eks(doc)
            plain = _made(doc["kind"], doc["metadata"]["name"], doc["metadata"].get("namespace", ""))
            yield {**owned, "metadata": {**plain["metadata"], **owned["metadata"]}}
    if app.addon == "coredns":
        yield from slices(app, 53, "kube-dns", "UDP")


def corefile(lameduck: str) -> str:
    """The add-on's own Corefile with that lameduck."""
    (own,) = (doc for doc in applied("coredns", ADDONS["coredns"], "") if doc["kind"] == "ConfigMap")
    return str(own["data"]["Corefile"]).replace("lameduck 5s", f"lameduck {lameduck}")


def _made(kind: str, name: str, namespace: str = "", **more: Any) -> Doc:
    where = {"namespace": namespace} if namespace else {}
    own = {"name": name, "uid": f"{kind}-{namespace}-{name}".lower(), "creationTimestamp": usual.LONG_AGO}
    given = {key: value for key, value in more.items() if value}
    return {"apiVersion": _API.get(kind, "v1"), "kind": kind, "metadata": {**own, **where, **given}}


def _owner(kind: str, name: str, namespace: str) -> Doc:
    uid = f"{kind}-{namespace}-{name}".lower()
    return {"kind": kind, "name": name, "uid": uid, "controller": True, "apiVersion": "apps/v1"}


_MADE_BY = {
    "group": {"eks.amazonaws.com/nodegroup": "workers", "eks.amazonaws.com/capacityType": "ON_DEMAND"},
    "karpenter": {"karpenter.sh/nodepool": "default", "karpenter.sh/capacity-type": "on-demand"},
    "spot": {"karpenter.sh/nodepool": "default", "karpenter.sh/capacity-type": "spot"},
    "auto": {
        "eks.amazonaws.com/compute-type": "auto",
        "karpenter.sh/nodepool": "general-purpose",
        "karpenter.sh/capacity-type": "on-demand",
    },
}


def _node(at: int, by: str, instance: str) -> Doc:
    name, zone = _host(at), f"{REGION}{'abc'[at % 3]}"
    auto = by == "auto"
    info = {
        "kubeletVersion": "v1.33.5-eks-113cf36",
        "osImage": "Bottlerocket (EKS Auto, Standard) 2026.2.20" if auto else "Amazon Linux 2023.10.20260216",
        "containerRuntimeVersion": "containerd://2.1.4",
        "operatingSystem": "linux",
        "architecture": "amd64",
        "kernelVersion": "6.12.53",
    }
    room = {"cpu": "3920m", "memory": "15Gi", "pods": "58", "ephemeral-storage": "76Gi"}
    labels = {
        **_MADE_BY[by],
        **({"karpenter.k8s.aws/ec2nodeclass": "default"} if by in ("karpenter", "spot") else {}),
        "topology.kubernetes.io/zone": zone,
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": "m6i.xlarge",
    }
    return {
        **_made("Node", name, labels=labels),
        "spec": {"providerID": f"aws:///{zone}/{instance}"},
        "status": {"nodeInfo": info, "allocatable": room, "capacity": room, "conditions": [_READY]},
    }


def _role(app: App) -> Doc:
    return {"eks.amazonaws.com/role-arn": role_of(app)} if app.role else {}


def role_of(app: App) -> str:
    return f"arn:aws:iam::{ACCOUNT}:role/prod-{app.name}"


def _pod_spec(app: App, labels: Doc) -> Doc:
    spec: Doc = {"serviceAccountName": app.name, "containers": [_container(app)]}
    if app.kind == "DaemonSet":
        spec["tolerations"] = [{"operator": "Exists"}]
    if app.selects:
        spec["nodeSelector"] = dict(app.selects)
    if app.empty_dir:
        spec["volumes"] = [{"name": "data", "emptyDir": {}}]
    if app.claim:
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{app.name}-0"}}]
    if app.replicas > 1:
        zone = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}
        spec["topologySpreadConstraints"] = [{**zone, "labelSelector": {"matchLabels": labels}}]
    return spec


def _container(app: App) -> Doc:
    image = app.image if "amazonaws" in app.image else f"{_REGISTRY}/{app.image}"
    return {
        "name": "controller" if app.name == "karpenter" else app.name,
        "image": image,
        "args": list(app.args),
        "env": [{"name": name, "value": value} for name, value in app.env],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": 8081}},
    }


def _workload(app: App, template: Doc, nodes: int, labels: Doc) -> Iterable[Doc]:
    """The workload with the objects that it creates, and its budget."""
    count = nodes if app.kind == "DaemonSet" else app.replicas
    made = _made(app.kind, app.name, app.namespace, generation=1, labels=labels)
    spec: Doc = {"selector": {"matchLabels": labels}, "template": template}
    if app.kind == "DaemonSet":
        counts = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "numberAvailable")
        status: Doc = {**dict.fromkeys((*counts, "updatedNumberScheduled"), count), "numberMisscheduled": 0}
    else:
        spec |= {"replicas": count, **({"serviceName": app.name} if app.kind == "StatefulSet" else {})}
        status = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas", "updatedReplicas"), count)
        if app.kind == "StatefulSet":
            revision = f"{app.name}-{_REVISION}"
            status |= {"currentReplicas": count, "currentRevision": revision, "updateRevision": revision}
    whole = {**made, "spec": spec, "status": {**status, "observedGeneration": 1}}
    yield whole
    kind = app.kind
    if kind != "Deployment":
        held = {"spec": {"template": {**template, "$patch": "replace"}}}
        of = {"labels": {**labels, "controller-revision-hash": _REVISION}}
        of["ownerReferences"] = [_owner(kind, app.name, app.namespace)]
        yield {
            **_made("ControllerRevision", f"{app.name}-{_REVISION}", app.namespace, **of),
            "revision": 1,
            "data": held,
        }
    else:
        kind, owner = "ReplicaSet", _owner("Deployment", app.name, app.namespace)
        hashed = {**labels, **_HASH}
        owned = _made("ReplicaSet", app.by, app.namespace, generation=1, labels=hashed, ownerReferences=[owner])
        meta = {"labels": {**template["metadata"]["labels"], **_HASH}}
        of_hash = {"selector": {"matchLabels": hashed}, "template": {**template, "metadata": meta}}
        yield {**whole, **owned, "spec": {**spec, **of_hash}}
    for at in range(count):
        yield _pod(app, template, kind, at)
    if app.budget is not None:
        budget = _made("PodDisruptionBudget", app.name, app.namespace, generation=1)
        wanted = {"disruptionsAllowed": app.budget, "desiredHealthy": count - app.budget}
        wanted |= {"currentHealthy": count, "expectedPods": count}
        rule = {"maxUnavailable": app.budget, "selector": {"matchLabels": labels}}
        yield {**budget, "spec": rule, "status": {**wanted, "observedGeneration": 1}}


def _pod(app: App, template: Doc, kind: str, at: int) -> Doc:
    """The pod with the fields that the webhook of EKS adds for a role."""
    spec: Doc = json.loads(json.dumps(template["spec"]))
    given = (("AWS_ROLE_ARN", role_of(app)), ("AWS_WEB_IDENTITY_TOKEN_FILE", _TOKEN), ("AWS_REGION", REGION))
    for container in spec["containers"] if app.role else ():
        container.setdefault("env", []).extend({"name": name, "value": value} for name, value in given)
    hashed = (
        _HASH
        if kind == "ReplicaSet"
        else {"controller-revision-hash": f"{app.name}-{_REVISION}" if kind == "StatefulSet" else _REVISION}
    )
    labels = {**template["metadata"]["labels"], **hashed}
    made = _made("Pod", f"{app.by}-{at}", app.namespace, labels=labels)
    made["metadata"]["ownerReferences"] = [_owner(kind, app.by, app.namespace)]
    states = [
        {"name": each["name"], "ready": True, "restartCount": 0, "image": each["image"], "state": {"running": {}}}
        for each in spec["containers"]
    ]
    told = {"phase": "Running", "podIP": f"10.0.{at}.{_ip(app)}", "conditions": [_READY], "containerStatuses": states}
    return {**made, "spec": {**spec, "nodeName": _host(at)}, "status": told}


def _ip(app: App) -> int:
    return 30 + sum(app.name.encode()) % 200


def _hook(app: App, labels: Doc) -> Iterable[Doc]:
    kind, resource = app.hook.split(" ")
    ports = [{"name": "webhook", "protocol": "TCP", "port": 443, "targetPort": 9443}]
    spec = {"selector": labels, "clusterIP": f"172.20.0.{_ip(app)}", "type": "ClusterIP", "ports": ports}
    yield {**_made("Service", app.name, app.namespace), "spec": spec}
    yield from slices(app, 9443)
    rule = {
        "apiGroups": ["cert-manager.io" if resource == "certificates" else ""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": [resource],
        "scope": "*",
    }
    hook = {
        "name": f"{resource}.{app.name}.io",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": app.name, "namespace": app.namespace, "port": 443}, "caBundle": "Q0E="},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "matchPolicy": "Equivalent",
        "timeoutSeconds": 10,
        "rules": [rule],
    }
    yield {**_made(kind, app.name), "webhooks": [hook]}


def slices(app: App, port: int, service: str = "", protocol: str = "TCP") -> Iterable[Doc]:
    """The EndpointSlices of its Service."""
    name = service or app.name
    made = _made("EndpointSlice", f"{name}-x7k2p", app.namespace, labels={"kubernetes.io/service-name": name})
    endpoints = [
        {
            "addresses": [f"10.0.{at}.{_ip(app)}"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "nodeName": _host(at),
            "zone": f"{REGION}{'abc'[at % 3]}",
            "targetRef": {
                "kind": "Pod",
                "name": f"{app.by}-{at}",
                "namespace": app.namespace,
                "uid": f"pod-{app.namespace}-{app.by}-{at}",
            },
        }
        for at in range(app.replicas)
    ]
    ports = [{"name": "", "protocol": protocol, "port": port}]
    yield {**made, "addressType": "IPv4", "ports": ports, "endpoints": endpoints}
