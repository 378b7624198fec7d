"""API extensions of the demo, and the rest of two removed applications: the APIService of KEDA, and the
CustomResourceDefinition of the operator that wrote backups.

Source of the conditions: kube-aggregator, pkg/controllers/status (reasons and messages).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource
from tools.demo.meta import Json, an_object, condition, owner, suffix

_AGE = 70_000
_GONE = 9_000
_OPS, _WEBHOOK = "ops", "backup-webhook"
_KEDA = "keda-operator-metrics-apiserver"


def extend(held: dict[Resource, list[Json]], others: list[Json]) -> None:
    """The `scenes.Extend` of this part."""
    held[kinds.SERVICES].append(_service())
    held[kinds.ENDPOINT_SLICES].append(_no_endpoints())
    others += [*_api_services(), _backups()]


def _api_services() -> Iterator[Json]:
    local = condition("Available", True, _AGE, reason="Local", message="Local APIServices are always available")
    for group, version in (("", "v1"), ("apps", "v1"), ("batch", "v1")):
        yield _api_service(group, version, None, local)
    passed = condition("Available", True, _AGE, reason="Passed", message="all checks passed")
    yield _api_service("metrics.k8s.io", "v1beta1", ("kube-system", "metrics-server"), passed)
    absent = condition(
        "Available", False, _GONE, reason="ServiceNotFound", message=f'service/{_KEDA} in "keda" is not present'
    )
    yield _api_service("external.metrics.k8s.io", "v1beta1", ("keda", _KEDA), absent)


def _api_service(group: str, version: str, service: tuple[str, str] | None, available: Json) -> Json:
    spec: Json = {"group": group, "version": version, "groupPriorityMinimum": 100, "versionPriority": 100}
    if service is None:
        spec |= {"groupPriorityMinimum": 17_800, "versionPriority": 15}
    else:
        namespace, name = service
        spec |= {"service": {"namespace": namespace, "name": name, "port": 443}, "insecureSkipTLSVerify": True}
    status: Json = {"conditions": [available]}
    return an_object(
        "apiregistration.k8s.io/v1", "APIService", f"{version}.{group}", age=_AGE, spec=spec, status=status
    )


def _backups() -> Json:
    """Its objects are stored in two versions, and their conversion webhook no longer exists."""
    names = {"kind": "Backup", "listKind": "BackupList", "plural": "backups", "singular": "backup"}
    anything = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    client = {"service": {"namespace": _OPS, "name": _WEBHOOK, "path": "/convert", "port": 443}}
    spec: Json = {
        "group": "store.example.com",
        "names": names,
        "scope": "Namespaced",
        "versions": [
            {"name": "v1alpha1", "served": True, "storage": False, "deprecated": True, "schema": anything},
            {"name": "v1", "served": True, "storage": True, "schema": anything},
        ],
        "conversion": {
            "strategy": "Webhook",
            "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
        },
    }
    conditions = [condition("NamesAccepted", True, _AGE), condition("Established", True, _AGE)]
    status: Json = {"acceptedNames": names, "conditions": conditions, "storedVersions": ["v1alpha1", "v1"]}
    return an_object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "backups.store.example.com",
        age=_AGE,
        spec=spec,
        status=status,
    )


def _service() -> Json:
    """Its pods are gone with their Deployment."""
    ip = "172.20.91.17"
    port = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": 9443}
    spec: Json = {
        "type": "ClusterIP",
        "clusterIP": ip,
        "clusterIPs": [ip],
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "ports": [port],
        "selector": {"app": "backup-operator"},
        "sessionAffinity": "None",
    }
    return an_object("v1", "Service", _WEBHOOK, _OPS, age=_AGE, spec=spec, status={"loadBalancer": {}})


def _no_endpoints() -> Json:
    """The EndpointSlice that the controller keeps where a Service selects no pod."""
    labels = {
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": _WEBHOOK,
    }
    owned_by = owner("v1", "Service", _OPS, _WEBHOOK)
    name = f"{_WEBHOOK}-{suffix(5, 'slice', _OPS, _WEBHOOK)}"
    body: Json = {"addressType": "IPv4", "endpoints": None, "ports": None}
    return an_object(
        "discovery.k8s.io/v1", "EndpointSlice", name, _OPS, age=_AGE, labels=labels, owned_by=owned_by, **body
    )
