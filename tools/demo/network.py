"""Services of the demo, their endpoints and target groups, and the webhooks that are called when a pod is created."""

from __future__ import annotations

from collections.abc import Sequence

from tools.demo.meta import Json, an_object, hexadecimal, owner, suffix
from tools.demo.pods import is_ready, labels_of
from tools.demo.world import ACCOUNT, MACHINES, REGION, VPC, App

_ZONES = {machine.name: machine.zone for machine in MACHINES}

_CA = {"caBundle": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="}


_SERVES = {"kube-dns": {"kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS"}}


def service_of(app: App) -> Json:
    """Its Service; headless for a StatefulSet, 172.20.0.10 for cluster DNS as on EKS."""
    name = app.service or app.name
    ip = f"172.20.{int(hexadecimal(2, name), 16)}.{1 + int(hexadecimal(1, app.key), 16)}"
    ip = "None" if app.kind == "StatefulSet" else "172.20.0.10" if name == "kube-dns" else ip
    spec: Json = {"type": app.service_type, "clusterIP": ip, "clusterIPs": [ip], "sessionAffinity": "None"}
    spec |= {"internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}
    spec |= {"selector": app.selector, "ports": [{**port, "targetPort": port["port"]} for port in _ports(app)]}
    status: Json = {"loadBalancer": {}}
    if app.service_type == "LoadBalancer":
        spec |= {"allocateLoadBalancerNodePorts": False, "loadBalancerClass": "service.k8s.aws/nlb"}
        host = f"k8s-{app.namespace}-{name}-{hexadecimal(10, 'nlb', app.key)}.elb.{REGION}.amazonaws.com"
        status["loadBalancer"] = {"ingress": [{"hostname": host}]}
    meta: Json = {"labels": {**labels_of(app), **_SERVES.get(name, {})}, "annotations": dict(app.service_annotations)}
    return an_object("v1", "Service", name, app.namespace, **meta, spec=spec, status=status)


def endpoints_of(app: App, pods: Sequence[Json]) -> Json:
    """The only EndpointSlice of its Service: every pod, ready or not."""
    name = app.service or app.name
    labels = {
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": name,
    }
    body: Json = {"addressType": "IPv4", "endpoints": [_endpoint(pod) for pod in pods], "ports": _ports(app)}
    owned_by, name = owner("v1", "Service", app.namespace, name), f"{name}-{suffix(5, 'slice', app.key)}"
    made = an_object("discovery.k8s.io/v1", "EndpointSlice", name, app.namespace, labels=labels, owned_by=owned_by)
    return made | body


def _endpoint(pod: Json) -> Json:
    meta, ready = pod["metadata"], is_ready(pod)
    return {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {"ready": ready, "serving": ready, "terminating": False},
        "nodeName": pod["spec"]["nodeName"],
        "targetRef": {"kind": "Pod", **{key: meta[key] for key in ("namespace", "name", "uid")}},
        "zone": _ZONES[pod["spec"]["nodeName"]],
    }


def target_group_of(app: App) -> Json:
    """The TargetGroupBinding of the load balancer controller: its Service and a target group of pod addresses."""
    name = f"k8s-{app.namespace}-{app.name}-{hexadecimal(10, 'group', app.key)}"
    arn = f"arn:aws:elasticloadbalancing:{REGION}:{ACCOUNT}:targetgroup/{name}/{hexadecimal(16, 'arn', app.key)}"
    labels = {"service.k8s.aws/stack-namespace": app.namespace, "service.k8s.aws/stack-name": app.name}
    spec: Json = {"ipAddressType": "ipv4", "targetType": "ip", "targetGroupARN": arn, "vpcID": VPC}
    spec |= {"serviceRef": {"name": app.name, "port": app.port}}
    body: Json = {"spec": spec, "status": {"observedGeneration": 1}}
    return an_object("elbv2.k8s.aws/v1beta1", "TargetGroupBinding", name, app.namespace, labels=labels, **body)


def validating_webhooks() -> list[Json]:
    """A policy engine that fails closed for every pod outside kube-system."""
    outside = {"matchExpressions": [_requirement("kubernetes.io/metadata.name", "NotIn", "kube-system")]}
    hook = _webhook("validate.policy.example.com", "Fail", _served("policy", "policy-webhook", "/validate"), outside)
    return [_configuration("Validating", "policy-webhook", hook)]


def mutating_webhooks() -> list[Json]:
    """EKS's pod identity webhook, and that of the load balancer controller for readiness gates, which are not
    enabled."""
    inject = {"matchExpressions": [_requirement("elbv2.k8s.aws/pod-readiness-gate-inject", "In", "enabled")]}
    client = _served("kube-system", "aws-load-balancer-webhook-service", "/mutate-v1-pod")
    gates = _webhook("mpod.elbv2.k8s.aws", "Fail", client, inject)
    identity = _webhook("iam-for-pods.amazonaws.com", "Ignore", _CA | {"url": "https://127.0.0.1:23443/mutate"}, {})
    return [
        _configuration("Mutating", "aws-load-balancer-webhook", gates),
        _configuration("Mutating", "pod-identity-webhook", identity),
    ]


def _ports(app: App) -> list[Json]:
    main: Json = {"name": "main", "port": app.port, "protocol": "TCP"}
    if app.port != 53:
        return [main]
    metrics: Json = {"name": "metrics", "port": 9153, "protocol": "TCP"}
    return [{"name": "dns", "port": 53, "protocol": "UDP"}, {**main, "name": "dns-tcp"}, metrics]


def _served(namespace: str, name: str, path: str) -> Json:
    return _CA | {"service": {"namespace": namespace, "name": name, "path": path, "port": 9443}}


def _requirement(key: str, operator: str, value: str) -> Json:
    return {"key": key, "operator": operator, "values": [value]}


def _webhook(name: str, failure: str, client: Json, namespaces: Json) -> Json:
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"], "scope": "*"}
    body: Json = {"name": name, "clientConfig": client, "failurePolicy": failure, "rules": [pods]}
    body |= {"namespaceSelector": namespaces, "objectSelector": {}, "matchPolicy": "Equivalent"}
    return body | {"sideEffects": "None", "timeoutSeconds": 10, "admissionReviewVersions": ["v1"]}


def _configuration(kind: str, name: str, webhook: Json) -> Json:
    return an_object("admissionregistration.k8s.io/v1", f"{kind}WebhookConfiguration", name, webhooks=[webhook])
