"""Storage, network and cluster-wide kinds become the facts they should; nothing stumbles over null."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Lease, Namespace, NodePool, PriorityClass
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.network import (
    Endpoint,
    EndpointSlice,
    Service,
    TargetGroupBinding,
    Webhook,
    WebhookRule,
)
from kubectl_eksdoc.model.placing import NodeTerm
from kubectl_eksdoc.model.selectors import Requirement, from_parts
from kubectl_eksdoc.model.storage import Claim, CSINode, PersistentVolume, StorageClass, VolumeAttachment
from kubectl_eksdoc.model.workloads import Autoscaler
from kubectl_eksdoc.objects.karpenter import BY_RESOURCE
from tests.objects.observing import T0, T0_TEXT, observed


def test_every_kind_has_a_place_and_stands_to_be_empty() -> None:
    for resource in BY_RESOURCE:
        for empty in ({}, {"spec": None, "status": None}, {"spec": {}, "status": {}}):
            cluster = observed(resource, **empty)
            fields = [getattr(cluster, name) for name in Cluster.__slots__ if name not in ("reads", "notes")]
            facts = [fact for value in fields if isinstance(value, tuple) for fact in value]
            assert len(facts) == (0 if "Webhook" in resource.kind else 1), resource.kind


def test_every_field_may_be_null() -> None:
    nothing = dict.fromkeys(("labels", "ownerReferences", "annotations", "finalizers", "creationTimestamp"))
    spec = dict.fromkeys(
        ("volumes", "tolerations", "priority", "preemptionPolicy", "nodeName", "readinessGates", "selector", "template")
    )
    status = dict.fromkeys(("conditions", "containerStatuses", "initContainerStatuses", "phase", "disruptedPods"))
    for resource in BY_RESOURCE:
        observed(resource, meta=nothing, spec=spec, status=status, endpoints=None, webhooks=None)


def terms(*expressions: tuple[str, list[str]]) -> dict[str, Any]:
    each = [{"matchExpressions": [{"key": k, "operator": "In", "values": v}]} for k, v in expressions]
    return {"required": {"nodeSelectorTerms": each}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}, "storageClassName": "gp3"},
            {"driver": "ebs.csi.aws.com", "handle": "vol-1"},
        ),
        (
            {"awsElasticBlockStore": {"volumeID": "aws://z/vol-1"}, "storageClassName": "gp3"},
            {"driver": "kubernetes.io/aws-ebs", "handle": "aws://z/vol-1"},
        ),
        ({"hostPath": {"path": "/a"}, "storageClassName": "gp3"}, {"local": True}),
        (
            {"local": {"path": "/a"}, "nodeAffinity": terms(("kubernetes.io/hostname", ["b", "a"]))},
            {"local": True, "hostnames": ("a", "b"), "storage_class": ""},
        ),
        (
            {"csi": {"driver": "d"}, "nodeAffinity": terms(("kubernetes.io/hostname", ["a"]))},
            {"local": True, "hostnames": ("a",), "driver": "d", "storage_class": ""},
        ),
        (
            {"nodeAffinity": terms(("kubernetes.io/hostname", ["a"]), ("topology.kubernetes.io/zone", ["z"]))},
            {"hostnames": ("a",), "zones": ("z",), "storage_class": ""},
        ),
    ],
)
def test_volumes(spec: dict[str, Any], expected: dict[str, Any]) -> None:
    (volume,) = observed(kinds.VOLUMES, spec=spec).volumes
    assert (volume.terms is None) is ("nodeAffinity" not in spec)
    assert replace(volume, terms=None) == PersistentVolume(
        **{"name": "x", "uid": "u", "storage_class": "gp3", **expected}
    )


def test_where_a_volume_may_be_used() -> None:
    fields = {"key": "metadata.name", "operator": "In", "values": ["n"]}
    labels = {"key": "topology.kubernetes.io/zone", "operator": "NotIn", "values": ["z"]}
    each = [{"matchExpressions": [labels], "matchFields": [fields]}, {}]
    zone = {"topology.kubernetes.io/zone": "a__b", "app": "x", "failure-domain.beta.kubernetes.io/region": ""}
    spec = {"nodeAffinity": {"required": {"nodeSelectorTerms": each}}}
    (volume,) = observed(kinds.VOLUMES, meta={"labels": zone}, spec=spec).volumes
    assert volume.terms == (
        NodeTerm(
            (Requirement("topology.kubernetes.io/zone", "NotIn", ("z",)),),
            (Requirement("metadata.name", "In", ("n",)),),
        ),
        NodeTerm(),
    )
    assert volume.zone_labels == (
        ("topology.kubernetes.io/zone", "a__b"),
        ("failure-domain.beta.kubernetes.io/region", ""),
    )
    assert observed(kinds.VOLUMES).volumes[0].terms is None
    assert observed(kinds.VOLUMES, spec={"nodeAffinity": {"required": {}}}).volumes[0].terms == ()


def test_claims_and_classes() -> None:
    spec = {"volumeName": "pv", "storageClassName": "gp3"}
    assert observed(kinds.CLAIMS, spec=spec, status={"phase": "Bound"}).claims == (Claim("shop", "x", "pv", "gp3"),)
    assert observed(kinds.CLAIMS, spec=spec, status={"phase": "Pending"}).claims == (Claim("shop", "x", "", "gp3"),)
    legacy = {"annotations": {"volume.beta.kubernetes.io/storage-class": "gp2"}}
    assert observed(kinds.CLAIMS, meta=legacy).claims == (Claim("shop", "x", "", "gp2"),)
    late = observed(kinds.STORAGE_CLASSES, provisioner="p", volumeBindingMode="WaitForFirstConsumer")
    assert late.storage_classes == (StorageClass("x", "p", "WaitForFirstConsumer"),)
    assert observed(kinds.STORAGE_CLASSES).storage_classes == (StorageClass("x", "", "Immediate"),)


def test_what_nodes_can_attach() -> None:
    drivers = [
        {"name": "ebs.csi.aws.com", "nodeID": "i-1", "allocatable": {"count": 26}},
        {"name": "none", "allocatable": {"count": 0}},
        {"name": "endless", "allocatable": {}},
        {"name": "efs.csi.aws.com", "allocatable": None},
    ]
    assert observed(kinds.CSI_NODES, spec={"drivers": drivers}).csi_nodes == (
        CSINode("x", (("ebs.csi.aws.com", 26), ("none", 0))),
    )
    assert observed(kinds.CSI_NODES, spec={"drivers": None}).csi_nodes == (CSINode("x"),)


def test_what_nodes_have_attached() -> None:
    spec = {"attacher": "ebs.csi.aws.com", "nodeName": "n", "source": {"persistentVolumeName": "pv"}}
    (found,) = observed(kinds.VOLUME_ATTACHMENTS, spec=spec).volume_attachments
    assert found == VolumeAttachment("x", "n", "ebs.csi.aws.com", "pv")
    inline = {**spec, "source": {"inlineVolumeSpec": {"awsElasticBlockStore": {"volumeID": "vol-1"}}}}
    assert observed(kinds.VOLUME_ATTACHMENTS, spec=inline).volume_attachments == (replace(found, volume=""),)


def test_namespaces() -> None:
    meta = {"labels": {"a": "b"}}
    assert observed(kinds.NAMESPACES, meta=meta).namespaces == (Namespace("x", {"a": "b"}),)
    assert observed(kinds.NAMESPACES, status={"phase": "Terminating"}).namespaces[0].terminating
    assert observed(kinds.NAMESPACES, meta={"deletionTimestamp": T0_TEXT}).namespaces[0].terminating


def test_priority_classes_leases_pools_and_autoscalers() -> None:
    never = observed(kinds.PRIORITY_CLASSES, value=-10, preemptionPolicy="Never")
    assert never.priority_classes == (PriorityClass("x", -10, preempts=False),)
    lease = observed(kinds.LEASES, spec={"holderIdentity": "h", "renewTime": "2026-11-20T08:00:00.000000Z"})
    assert lease.leases == (Lease("shop", "x", "h", T0),)
    pool = observed(kinds.NODE_POOLS, spec={"limits": {"memory": "1Ti", "cpu": 1000}})
    assert pool.node_pools == (NodePool("x", (("cpu", "1000"), ("memory", "1Ti"))),)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    scaler = observed(kinds.AUTOSCALERS, spec={"scaleTargetRef": target, "maxReplicas": 20})
    assert scaler.autoscalers == (Autoscaler("shop", "x", "Deployment", "web", 1, 20),)


TARGET_TYPE = "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type"
BALANCER_TYPE = "service.beta.kubernetes.io/aws-load-balancer-type"


@pytest.mark.parametrize(
    ("kind", "annotations", "ip_targets"),
    [
        ("LoadBalancer", {TARGET_TYPE: "ip", BALANCER_TYPE: "external"}, True),
        ("LoadBalancer", {BALANCER_TYPE: "nlb-ip"}, True),
        ("LoadBalancer", {BALANCER_TYPE: "external", TARGET_TYPE: "instance"}, False),
        ("ClusterIP", {TARGET_TYPE: "ip"}, False),
    ],
)
def test_services(kind: str, annotations: dict[str, str] | None, ip_targets: bool) -> None:
    spec = {"type": kind, "selector": {"app": "x"}}
    found = observed(kinds.SERVICES, meta={"annotations": annotations}, spec=spec).services
    assert found == (Service("shop", "x", kind, {"app": "x"}, ip_targets),)


@pytest.mark.parametrize(("policy", "local"), [("Local", True), ("Cluster", False), (None, False)])
def test_services_whose_nodes_serve_only_their_own_pods(policy: str | None, local: bool) -> None:
    (found,) = observed(kinds.SERVICES, spec={"type": "NodePort", "externalTrafficPolicy": policy}).services
    assert found.local is local


def test_endpoint_slices_and_bindings() -> None:
    endpoints = [
        {"conditions": {"ready": False}, "targetRef": {"kind": "Pod", "name": "a", "uid": "1"}},
        {"conditions": {"ready": None}, "targetRef": {"kind": "Pod", "name": "b", "uid": "2"}},
        {"conditions": {}, "targetRef": {"kind": "Node", "name": "n", "uid": "3"}},
        {"addresses": ["10.0.0.1"]},
    ]
    meta = {"labels": {"kubernetes.io/service-name": "web"}}
    assert observed(kinds.ENDPOINT_SLICES, meta=meta, endpoints=endpoints).endpoint_slices == (
        EndpointSlice("shop", "web", (Endpoint("1", "a", False), Endpoint("2", "b"), Endpoint(), Endpoint())),
    )
    spec = {"serviceRef": {"name": "web", "port": 80}, "targetType": "ip", "targetGroupARN": "arn"}
    assert observed(kinds.TARGET_GROUP_BINDINGS, spec=spec).target_group_bindings == (
        TargetGroupBinding("shop", "x", "web", "ip", "arn"),
    )


@pytest.mark.parametrize("resource", [kinds.VALIDATING_WEBHOOKS, kinds.MUTATING_WEBHOOKS])
def test_webhooks(resource: Resource) -> None:
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    hooks = [
        {
            "name": "z.example.com",
            "failurePolicy": "Fail",
            "clientConfig": {"service": {"namespace": "kube-system", "name": "hook", "port": 443}},
            "rules": [rule],
            "namespaceSelector": {"matchLabels": {"a": "b"}},
        },
        {"name": "a.example.com", "failurePolicy": "Ignore", "clientConfig": {"url": "https://x"}},
    ]
    assert observed(resource, webhooks=hooks).webhooks == (
        Webhook(
            "x",
            resource.kind,
            "z.example.com",
            fails_closed=True,
            namespace="kube-system",
            service="hook",
            rules=(WebhookRule(("CREATE",), ("",), ("pods",)),),
            namespace_selector=from_parts({"a": "b"}),
        ),
        Webhook("x", resource.kind, "a.example.com", fails_closed=False, url="https://x"),
    )
