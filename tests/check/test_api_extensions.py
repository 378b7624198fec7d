"""APIServices that are not available, and definitions without a conversion webhook or with objects stored in old
versions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.check.checking import CheckFacts
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import ApiService, CrdVersion, CustomResourceDefinition, ServerTarget
from kubectl_eksdoc.model.findings import Severity, Status, Subject
from kubectl_eksdoc.model.network import Endpoint, EndpointSlice, Service
from tests.check.of_cluster import facts, found, only

V1, BETA = CrdVersion("v1", True), CrdVersion("v1beta1", True)
SERVED = (EndpointSlice("ops", "hook", (Endpoint("1", "hook-0"),)),)
HOOK = ServerTarget("ops", "hook")


def an_api(available: str, group: str = "metrics.k8s.io", **more: Any) -> ApiService:
    service = ServerTarget("kube-system", "metrics-server")
    return ApiService(f"v1beta1.{group}", group, "v1beta1", service, available, **more)


def a_definition(*versions: CrdVersion, **more: Any) -> CustomResourceDefinition:
    stored = more.pop("stored", ("v1",))
    return CustomResourceDefinition("backups.example.com", "Backup", versions or (V1, BETA), stored, **more)


def converted(
    *definitions: CustomResourceDefinition, slices: tuple[EndpointSlice, ...] = (), **more: Any
) -> CheckFacts:
    given = {"definitions": definitions, "services": [Service("ops", "hook")], "endpoint_slices": slices}
    return facts(**(given | more))


def test_a_group_that_is_not_available() -> None:
    down = an_api("False", reason="MissingEndpoints", message="no addresses")
    well = [an_api("True"), ApiService("v1.", "", "v1", None, "True")]
    finding = only("apiservice-down", facts(api_services=[down, *well]))
    assert (finding.status, finding.severity) == (Status.FAIL, Severity.HIGH)
    assert finding.subject == Subject("APIService", "v1beta1.metrics.k8s.io")
    assert "autoscalers by CPU or memory do not scale" in finding.message
    assert finding.evidence[0] == "MissingEndpoints: no addresses"
    assert [each.command for each in finding.remedy] == [
        "kubectl describe apiservice v1beta1.metrics.k8s.io",
        "kubectl get endpointslices -n kube-system -l kubernetes.io/service-name=metrics-server",
        "kubectl get apiservice v1beta1.metrics.k8s.io -o yaml > v1beta1.metrics.k8s.io.yaml"
        " && kubectl delete apiservice v1beta1.metrics.k8s.io",
    ]
    for said in ("", "Unknown"):
        assert only("apiservice-down", facts(api_services=[an_api(said)])).status is Status.UNKNOWN


def test_nobody_converts() -> None:
    finding = only("crd-conversion", converted(a_definition(converter=HOOK)))
    assert (finding.severity, finding.subject.name) == (Severity.HIGH, "backups.example.com")
    assert finding.message.startswith("Service ops/hook has no ready endpoint: objects of Backup")
    assert finding.evidence == ("served: v1, v1beta1", "stored: v1")
    finding = only("crd-conversion", converted(a_definition(converter=HOOK), services=[]))
    assert finding.message.startswith("there is no Service ops/hook")
    elsewhere = a_definition(converter=replace(HOOK, port=8443))
    finding = only(
        "crd-conversion", converted(elsewhere, slices=SERVED, services=[Service("ops", "hook", ports=(443,))])
    )
    assert finding.message.startswith("Service ops/hook has no port 8443")
    alone = only("crd-conversion", converted(a_definition(V1, converter=HOOK)))
    assert (alone.severity, "it is not called now" in alone.message) == (Severity.LOW, True)
    stored = a_definition(V1, converter=HOOK, stored=("v1alpha1", "v1"))
    assert only("crd-conversion", converted(stored)).severity is Severity.HIGH
    assert found("crd-conversion", converted(a_definition(converter=HOOK), slices=SERVED)) == ()


@pytest.mark.parametrize("converter", [ServerTarget(url="https://hook.example.com"), ServerTarget(), HOOK])
def test_who_converts_elsewhere_cannot_be_told(converter: ServerTarget) -> None:
    outside = [Service("ops", "hook", "ExternalName")]
    finding = only("crd-conversion", converted(a_definition(converter=converter), services=outside))
    assert (finding.status, finding.severity is Severity.INFO) == (Status.UNKNOWN, converter != HOOK)


@pytest.mark.parametrize("resource", [kinds.SERVICES, kinds.ENDPOINT_SLICES])
def test_converters_that_were_not_read(resource: kinds.Resource) -> None:
    finding = only("crd-conversion", converted(a_definition(converter=HOOK), unread=[resource]))
    assert (finding.status, finding.missing) == (Status.UNKNOWN, f"list {resource.full_name}")
    assert found("crd-conversion", converted(a_definition(), unread=[resource])) == ()
