"""What is shown of nodes, services, storage, configuration, autoscalers and events."""

from __future__ import annotations

from typing import Any

import pytest

from tests.embedded.api.tables.showing import CREATED, an_object, shown

Doc = dict[str, Any]


@pytest.mark.parametrize(
    ("node", "status", "roles"),
    [
        (an_object(status={"conditions": [{"type": "Ready", "status": "True"}]}), "Ready", "<none>"),
        (an_object(status={"conditions": [{"type": "Ready", "status": "Unknown"}]}), "NotReady", "<none>"),
        (an_object(spec={"unschedulable": True}), "Unknown,SchedulingDisabled", "<none>"),
        (
            an_object(
                meta={"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "infra"}},
                spec={"unschedulable": True},
                status={"conditions": [{"type": "Ready", "status": "True"}]},
            ),
            "Ready,SchedulingDisabled",
            "infra,worker",
        ),
    ],
)
def test_a_node(node: Doc, status: str, roles: str) -> None:
    said = shown("nodes.v1", node)
    assert (said["Status"], said["Roles"]) == (status, roles)
    assert (said["Internal-IP"], said["OS-Image"], said["Kernel-Version"]) == ("<none>", "<unknown>", "<unknown>")


def a_service(kind: str, ingress: list[Doc] | None = None, **spec: Any) -> Doc:
    ports = [{"port": 80, "protocol": "TCP", "nodePort": 30080}, {"port": 53, "protocol": "UDP"}]
    return an_object(
        "web",
        spec={"type": kind, "clusterIP": "10.100.0.1", "ports": ports, "selector": {"app": "web"}, **spec},
        status={"loadBalancer": {"ingress": ingress or []}},
    )


@pytest.mark.parametrize(
    ("service", "external"),
    [
        (a_service("ClusterIP"), "<none>"),
        (a_service("NodePort", externalIPs=["192.0.2.1", "192.0.2.2"]), "192.0.2.1,192.0.2.2"),
        (a_service("LoadBalancer"), "<pending>"),
        (
            a_service("LoadBalancer", [{"hostname": "b.elb.example.com"}, {"ip": "192.0.2.9"}]),
            "192.0.2.9,b.elb.example.com",
        ),
        (a_service("LoadBalancer", [{"ip": "192.0.2.9"}], externalIPs=["192.0.2.1"]), "192.0.2.9,192.0.2.1"),
        (a_service("ExternalName", externalName="db.example.com"), "db.example.com"),
    ],
)
def test_where_a_service_is_reached(service: Doc, external: str) -> None:
    assert shown("services.v1", service) == {
        "Name": "web",
        "Type": service["spec"]["type"],
        "Cluster-IP": "10.100.0.1",
        "External-IP": external,
        "Port(s)": "80:30080/TCP,53/UDP",
        "Age": "5m20s",
        "Selector": "app=web",
    }


def test_a_service_without_anything() -> None:
    said = shown("services.v1", an_object(spec={"type": "ExternalName", "externalName": "x"}))
    assert (said["Cluster-IP"], said["Port(s)"], said["Selector"]) == ("<none>", "<none>", "<none>")


def test_an_endpoint_slice() -> None:
    found = [{"addresses": [f"10.0.0.{i}"]} for i in range(5)]
    ports = [{"port": 80, "name": "http"}, {"name": "named"}, {}]
    said = shown("endpointslices.v1.discovery.k8s.io", an_object(addressType="IPv4", endpoints=found, ports=ports))
    assert (said["AddressType"], said["Ports"]) == ("IPv4", "80,named,*")
    assert said["Endpoints"] == "10.0.0.0,10.0.0.1,10.0.0.2 + 2 more..."
    empty = shown("endpointslices.v1.discovery.k8s.io", an_object(addressType="IPv4"))
    assert (empty["Ports"], empty["Endpoints"]) == ("<unset>", "<unset>")


GOING = {"deletionTimestamp": CREATED}


def test_a_volume() -> None:
    volume = an_object(
        "pv",
        spec={
            "capacity": {"storage": "20Gi"},
            "accessModes": ["ReadWriteMany", "ReadWriteOnce", "ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": "data", "name": "kafka-0"},
            "storageClassName": "gp3",
            "volumeMode": "Filesystem",
        },
        status={"phase": "Bound"},
    )
    assert shown("persistentvolumes.v1", volume) == {
        "Name": "pv",
        "Capacity": "20Gi",
        "Access Modes": "RWO,RWX",
        "Reclaim Policy": "Retain",
        "Status": "Bound",
        "Claim": "data/kafka-0",
        "StorageClass": "gp3",
        "VolumeAttributesClass": "<unset>",
        "Reason": "",
        "Age": "5m20s",
        "VolumeMode": "Filesystem",
    }
    bare = shown("persistentvolumes.v1", an_object(meta=GOING, status={"phase": "Released"}))
    assert (bare["Capacity"], bare["Status"], bare["Claim"], bare["VolumeMode"]) == ("0", "Terminating", "", "<unset>")


def test_a_claim() -> None:
    spec = {"storageClassName": "gp3", "volumeMode": "Block", "volumeName": "pv", "volumeAttributesClassName": "fast"}
    status = {"phase": "Bound", "capacity": {"storage": "20Gi"}, "accessModes": ["ReadWriteOncePod"]}
    assert shown("persistentvolumeclaims.v1", an_object("data", spec=spec, status=status)) == {
        "Name": "data",
        "Status": "Bound",
        "Volume": "pv",
        "Capacity": "20Gi",
        "Access Modes": "RWOP",
        "StorageClass": "gp3",
        "VolumeAttributesClass": "fast",
        "Age": "5m20s",
        "VolumeMode": "Block",
    }


def test_a_claim_without_a_volume() -> None:
    annotated = {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}}
    status = {"phase": "Pending", "accessModes": ["ReadWriteOnce"]}
    said = shown("persistentvolumeclaims.v1", an_object(meta=annotated, spec={"storageClassName": "x"}, status=status))
    assert (said["Volume"], said["Capacity"], said["Access Modes"], said["StorageClass"]) == ("", "", "", "old")


@pytest.mark.parametrize(("value", "name"), [("true", "gp3 (default)"), ("false", "gp3")])
def test_a_storage_class(value: str, name: str) -> None:
    annotated = {"annotations": {"storageclass.kubernetes.io/is-default-class": value}}
    assert shown(
        "storageclasses.v1.storage.k8s.io", an_object("gp3", meta=annotated, provisioner="ebs.csi.aws.com")
    ) == {
        "Name": name,
        "Provisioner": "ebs.csi.aws.com",
        "ReclaimPolicy": "Delete",
        "VolumeBindingMode": "Immediate",
        "AllowVolumeExpansion": False,
        "Age": "5m20s",
    }


def test_what_the_csi_keeps() -> None:
    node = an_object(spec={"drivers": [{"name": "a"}, {"name": "b"}]})
    assert shown("csinodes.v1.storage.k8s.io", node)["Drivers"] == 2
    source = {"persistentVolumeName": "pv"}
    spec = {"attacher": "ebs.csi.aws.com", "nodeName": "old-0", "source": source}
    attachment = shown("volumeattachments.v1.storage.k8s.io", an_object(spec=spec, status={"attached": True}))
    assert attachment == {
        "Name": "one",
        "Attacher": "ebs.csi.aws.com",
        "PV": "pv",
        "Node": "old-0",
        "Attached": True,
        "Age": "5m20s",
    }


@pytest.mark.parametrize(
    ("resource", "parts", "cells"),
    [
        ("namespaces.v1", {"status": {"phase": "Active"}}, {"Status": "Active"}),
        ("configmaps.v1", {"data": {"a": "1", "b": "2"}, "binaryData": {"c": "eA=="}}, {"Data": 3}),
        ("serviceaccounts.v1", {}, {}),
        ("leases.v1.coordination.k8s.io", {"spec": {"holderIdentity": "node-1"}}, {"Holder": "node-1"}),
        ("leases.v1.coordination.k8s.io", {"spec": {}}, {"Holder": ""}),
        (
            "priorityclasses.v1.scheduling.k8s.io",
            {"value": 100, "globalDefault": True, "preemptionPolicy": "Never"},
            {"Value": 100, "Global-Default": True, "PreemptionPolicy": "Never"},
        ),
        (
            "validatingwebhookconfigurations.v1.admissionregistration.k8s.io",
            {"webhooks": [{}, {}]},
            {"Webhooks": 2},
        ),
        ("mutatingwebhookconfigurations.v1.admissionregistration.k8s.io", {}, {"Webhooks": 0}),
    ],
)
def test_name_age_and_little_else(resource: str, parts: Doc, cells: Doc) -> None:
    assert shown(resource, an_object(**parts)) == {"Name": "one", "Age": "5m20s", **cells}


@pytest.mark.parametrize(
    "resource",
    [
        "roles.v1.rbac.authorization.k8s.io",
        "clusterroles.v1.rbac.authorization.k8s.io",
        "customresourcedefinitions.v1.apiextensions.k8s.io",
        "limitranges.v1",
    ],
)
def test_what_has_no_columns_of_its_own(resource: str) -> None:
    assert shown(resource, an_object()) == {"Name": "one", "Created At": CREATED}


def a_target(type_: str, source: str, wanted: Doc, measured: Doc | None = None, **named: str) -> tuple[Doc, Doc]:
    """A metric's spec and its status."""
    status = {} if measured is None else {"type": type_, source: {"current": measured}}
    return {"type": type_, source: {"target": wanted, **named}}, status


CPU = a_target("Resource", "resource", {"averageUtilization": 70}, {"averageUtilization": 35}, name="cpu")


@pytest.mark.parametrize(
    ("targets", "text"),
    [
        ([], "<none>"),
        ([CPU], "cpu: 35%/70%"),
        ([a_target("Resource", "resource", {"averageUtilization": 70}, name="cpu")], "cpu: <unknown>/70%"),
        ([a_target("Resource", "resource", {}, name="cpu")], "cpu: <unknown>/<auto>"),
        (
            [
                a_target(
                    "ContainerResource",
                    "containerResource",
                    {"averageValue": "1Gi"},
                    {"averageValue": "2Gi"},
                    name="memory",
                )
            ],
            "memory: 2Gi/1Gi",
        ),
        ([a_target("Pods", "pods", {"averageValue": "10"}, {"averageValue": "4"})], "4/10"),
        ([a_target("Object", "object", {"value": "10"})], "<unknown>/10"),
        ([a_target("External", "external", {"averageValue": "10"}, {"averageValue": "7"})], "7/10 (avg)"),
        ([a_target("Strange", "strange", {})], "<unknown type>"),
        ([CPU, CPU, CPU, CPU], "cpu: 35%/70%, cpu: 35%/70% + 2 more..."),
    ],
)
def test_an_autoscaler(targets: list[tuple[Doc, Doc]], text: str) -> None:
    reference = {"kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": reference, "minReplicas": 2, "maxReplicas": 9, "metrics": [t[0] for t in targets]}
    status = {"currentReplicas": 3, "currentMetrics": [t[1] for t in targets]}
    assert shown("horizontalpodautoscalers.v2.autoscaling", an_object("web", spec=spec, status=status)) == {
        "Name": "web",
        "Reference": "Deployment/web",
        "Targets": text,
        "MinPods": "2",
        "MaxPods": 9,
        "Replicas": 3,
        "Age": "5m20s",
    }


EVENT = {
    "type": "Warning",
    "reason": "BackOff",
    "message": " Back-off restarting failed container\n",
    "involvedObject": {"kind": "Pod", "name": "web-1", "fieldPath": "spec.containers{app}"},
    "source": {"component": "kubelet", "host": "old-0"},
    "firstTimestamp": "2026-11-20T08:00:00Z",
    "lastTimestamp": "2026-11-20T08:59:30Z",
    "count": 12,
}
EVENT_SHOWN = {
    "Last Seen": "30s",
    "Type": "Warning",
    "Reason": "BackOff",
    "Object": "pod/web-1",
    "Subobject": "spec.containers{app}",
    "Source": "kubelet, old-0",
    "Message": "Back-off restarting failed container",
    "First Seen": "60m",
    "Count": 12,
    "Name": "one",
}


def test_an_event() -> None:
    assert shown("events.v1", an_object(**EVENT)) == EVENT_SHOWN


@pytest.mark.parametrize(
    ("parts", "first", "last", "count"),
    [
        (
            {"firstTimestamp": None, "lastTimestamp": None, "eventTime": "2026-11-20T08:50:00.123456Z"},
            "9m59s",
            "9m59s",
            12,
        ),
        ({"count": 0}, "60m", "30s", 1),
        ({"series": {"count": 7, "lastObservedTime": "2026-11-20T08:58:00.000000Z"}}, "60m", "2m", 7),
        ({"firstTimestamp": None, "lastTimestamp": None}, "<unknown>", "<unknown>", 12),
    ],
)
def test_how_often_an_event_was_seen(parts: Doc, first: str, last: str, count: int) -> None:
    said = shown("events.v1", an_object(**{**EVENT, **parts}))
    assert (said["First Seen"], said["Last Seen"], said["Count"]) == (first, last, count)


def test_who_reports_an_event() -> None:
    parts = {**EVENT, "source": {}, "reportingComponent": "scheduler", "involvedObject": {"kind": "Node"}}
    said = shown("events.v1", an_object(**parts))
    assert (said["Source"], said["Object"]) == ("scheduler", "node")
