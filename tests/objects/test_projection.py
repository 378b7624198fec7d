"""Nodes, budgets, storage and network objects, Karpenter's objects and cluster-wide kinds become facts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.budgets import Budget, BudgetStatus, IntOrPercent
from kubectl_eksdoc.model.cluster import Cluster, Lease, Namespace, NodeClass, NodePool, PriorityClass
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.machines import DeclaredMetadataOptions
from kubectl_eksdoc.model.network import (
    Endpoint,
    EndpointSlice,
    Service,
    TargetGroupBinding,
    Webhook,
    WebhookRule,
)
from kubectl_eksdoc.model.nodes import REBOOT_IN_PROGRESS, Node, RunNote, Taint
from kubectl_eksdoc.model.placement import (
    CSINode,
    NodeTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from kubectl_eksdoc.model.quantities import Version
from kubectl_eksdoc.model.selectors import EVERYTHING, NOTHING, Requirement, from_parts
from kubectl_eksdoc.model.workloads import Autoscaler
from kubectl_eksdoc.objects.collector import InvalidAnswer
from kubectl_eksdoc.objects.karpenter import BY_RESOURCE
from tests.objects.observing import T0, T0_TEXT, fact, observed


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
    volume = fact(kinds.VOLUMES, spec=spec)
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
    volume = fact(kinds.VOLUMES, meta={"labels": zone}, spec=spec)
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
    assert fact(kinds.VOLUMES).terms is None
    assert fact(kinds.VOLUMES, spec={"nodeAffinity": {"required": {}}}).terms == ()


def test_claims_and_classes() -> None:
    spec = {"volumeName": "pv", "storageClassName": "gp3"}
    assert fact(kinds.CLAIMS, spec=spec, status={"phase": "Bound"}) == PersistentVolumeClaim("shop", "x", "pv", "gp3")
    assert fact(kinds.CLAIMS, spec=spec, status={"phase": "Pending"}) == PersistentVolumeClaim("shop", "x", "", "gp3")
    legacy = {"annotations": {"volume.beta.kubernetes.io/storage-class": "gp2"}}
    assert fact(kinds.CLAIMS, meta=legacy) == PersistentVolumeClaim("shop", "x", "", "gp2")
    late = fact(kinds.STORAGE_CLASSES, provisioner="p", volumeBindingMode="WaitForFirstConsumer")
    assert late == StorageClass("x", "p", "WaitForFirstConsumer")
    assert fact(kinds.STORAGE_CLASSES) == StorageClass("x", "", "Immediate")


def test_what_nodes_can_attach() -> None:
    drivers = [
        {"name": "ebs.csi.aws.com", "nodeID": "i-1", "allocatable": {"count": 26}},
        {"name": "none", "allocatable": {"count": 0}},
        {"name": "endless", "allocatable": {}},
        {"name": "efs.csi.aws.com", "allocatable": None},
    ]
    assert fact(kinds.CSI_NODES, spec={"drivers": drivers}) == CSINode("x", (("ebs.csi.aws.com", 26), ("none", 0)))
    assert fact(kinds.CSI_NODES, spec={"drivers": None}) == CSINode("x")


def test_what_nodes_have_attached() -> None:
    spec = {"attacher": "ebs.csi.aws.com", "nodeName": "n", "source": {"persistentVolumeName": "pv"}}
    found = fact(kinds.VOLUME_ATTACHMENTS, spec=spec)
    assert found == VolumeAttachment("x", "n", "ebs.csi.aws.com", "pv")
    inline = {**spec, "source": {"inlineVolumeSpec": {"awsElasticBlockStore": {"volumeID": "vol-1"}}}}
    assert fact(kinds.VOLUME_ATTACHMENTS, spec=inline) == replace(found, volume="")


def test_namespaces() -> None:
    meta = {"labels": {"a": "b"}}
    assert fact(kinds.NAMESPACES, meta=meta) == Namespace("x", {"a": "b"})
    assert fact(kinds.NAMESPACES, status={"phase": "Terminating"}).terminating
    assert fact(kinds.NAMESPACES, meta={"deletionTimestamp": T0_TEXT}).terminating


def test_priority_classes_leases_pools_and_autoscalers() -> None:
    never = fact(kinds.PRIORITY_CLASSES, value=-10, preemptionPolicy="Never")
    assert never == PriorityClass("x", -10, preempts=False)
    lease = fact(kinds.LEASES, spec={"holderIdentity": "h", "renewTime": "2026-11-20T08:00:00.000000Z"})
    assert lease == Lease("shop", "x", "h", T0)
    pool = fact(kinds.NODE_POOLS, spec={"limits": {"memory": "1Ti", "cpu": 1000}})
    assert pool == NodePool("x", (("cpu", "1000"), ("memory", "1Ti")))
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    scaler = fact(kinds.AUTOSCALERS, spec={"scaleTargetRef": target, "maxReplicas": 20})
    assert scaler == Autoscaler("shop", "x", "Deployment", "web", 1, 20)


TARGET_TYPE = "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type"
BALANCER_TYPE = "service.beta.kubernetes.io/aws-load-balancer-type"


@pytest.mark.parametrize(
    ("kind", "annotations", "policy", "ip_targets"),
    [
        ("LoadBalancer", {TARGET_TYPE: "ip", BALANCER_TYPE: "external"}, "Local", True),
        ("LoadBalancer", {BALANCER_TYPE: "nlb-ip"}, "Cluster", True),
        ("LoadBalancer", {BALANCER_TYPE: "external", TARGET_TYPE: "instance"}, None, False),
        ("ClusterIP", {TARGET_TYPE: "ip"}, None, False),
    ],
)
def test_services(kind: str, annotations: dict[str, str], policy: str | None, ip_targets: bool) -> None:
    spec = {
        "type": kind,
        "selector": {"app": "x"},
        "ports": [{"port": 443, "targetPort": 8443}],
        "externalTrafficPolicy": policy,
    }
    found = fact(kinds.SERVICES, meta={"annotations": annotations}, spec=spec)
    assert found == Service("shop", "x", kind, {"app": "x"}, ip_targets, local=policy == "Local", ports=(443,))


def test_endpoint_slices_and_bindings() -> None:
    endpoints = [
        {"conditions": {"ready": False}, "targetRef": {"kind": "Pod", "name": "a", "uid": "1"}},
        {"conditions": {"ready": None}, "targetRef": {"kind": "Pod", "name": "b", "uid": "2"}},
        {"conditions": {}, "targetRef": {"kind": "Node", "name": "n", "uid": "3"}},
        {"addresses": ["10.0.0.1"]},
    ]
    meta = {"labels": {"kubernetes.io/service-name": "web"}}
    assert fact(kinds.ENDPOINT_SLICES, meta=meta, endpoints=endpoints) == EndpointSlice(
        "shop", "web", (Endpoint("1", "a", False), Endpoint("2", "b"), Endpoint(), Endpoint())
    )
    spec = {"serviceRef": {"name": "web", "port": 80}, "targetType": "ip", "targetGroupARN": "arn"}
    assert fact(kinds.TARGET_GROUP_BINDINGS, spec=spec) == TargetGroupBinding("shop", "x", "web", "ip", "arn")


@pytest.mark.parametrize("resource", [kinds.VALIDATING_WEBHOOKS, kinds.MUTATING_WEBHOOKS])
def test_webhooks(resource: Resource) -> None:
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "scope": "*"}
    hooks = [
        {
            "name": "z.example.com",
            "failurePolicy": "Fail",
            "clientConfig": {"service": {"namespace": "kube-system", "name": "hook", "port": 9443}},
            "rules": [rule],
            "namespaceSelector": {"matchLabels": {"a": "b"}},
            "matchConditions": [{"name": "x"}],
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
            rules=(WebhookRule(("CREATE",), ("",), ("pods",), "*"),),
            namespace_selector=from_parts({"a": "b"}),
            port=9443,
            conditional=True,
        ),
        Webhook("x", resource.kind, "a.example.com", fails_closed=False, url="https://x"),
    )


def test_a_node() -> None:
    node = fact(
        kinds.NODES,
        meta={"labels": {"a": "b"}, "creationTimestamp": T0_TEXT, "deletionTimestamp": T0_TEXT},
        spec={
            "unschedulable": True,
            "taints": [{"key": "k", "effect": "NoSchedule", "timeAdded": T0_TEXT}],
            "providerID": "aws:///a/i-1",
        },
        status={
            "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "Unknown"}],
            "nodeInfo": {"kubeletVersion": "v1.33.1-eks-1b3e656", "osImage": "Amazon Linux 2"},
            "allocatable": {"pods": "58", "cpu": "8"},
        },
    )
    assert node == Node(
        name="x",
        uid="u",
        labels={"a": "b"},
        unschedulable=True,
        taints=(Taint("k", "", "NoSchedule"),),
        ready="Unknown",
        kubelet=Version(1, 33, 1),
        kubelet_text="v1.33.1-eks-1b3e656",
        os_image="Amazon Linux 2",
        provider_id="aws:///a/i-1",
        created_at=T0,
        deletion_at=T0,
        pods_allocatable=58,
        allocatable={"pods": 58, "cpu": 8000},
    )


def test_of_a_nodes_annotations_only_those_are_kept_that_are_judged() -> None:
    notes = {"weave.works/kured-reboot-in-progress": T0_TEXT, "weave.works/kured-most-recent-reboot-needed": T0_TEXT}
    node = fact(kinds.NODES, meta={"annotations": notes})
    assert node.annotations == {REBOOT_IN_PROGRESS: T0_TEXT}
    assert not fact(kinds.NODES, meta={"annotations": None}).annotations
    assert node.ready == "Unknown", "no condition says it"


def test_a_budget() -> None:
    budget = fact(
        kinds.BUDGETS,
        meta={"generation": 3},
        spec={
            "maxUnavailable": "30%",
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {
                "matchLabels": {"app": "x"},
                "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["a", "b"]}],
            },
        },
        status={
            "currentHealthy": 4,
            "desiredHealthy": 3,
            "disruptionsAllowed": 1,
            "expectedPods": 5,
            "observedGeneration": 2,
            "disruptedPods": {"x-1": T0_TEXT},
            "conditions": [
                {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "no scale"}
            ],
        },
    )
    assert budget == Budget(
        namespace="shop",
        name="x",
        uid="u",
        selector=from_parts({"app": "x"}, (Requirement("tier", "NotIn", ("a", "b")),)),
        status=BudgetStatus(allowed=1, current=4, desired=3, expected=5),
        max_unavailable=IntOrPercent(30, percent=True),
        unhealthy_policy="AlwaysAllow",
        generation=3,
        observed_generation=2,
        condition_status="False",
        condition_reason="SyncFailed",
        condition_message="no scale",
        disrupted={"x-1": T0},
    )


def test_no_selector_matches_nothing_and_an_empty_one_everything() -> None:
    odd = {"matchExpressions": [{"key": "a", "operator": "Like", "values": ["b"]}]}
    none, empty, invalid = (fact(kinds.BUDGETS, spec={"selector": each, "minAvailable": 0}) for each in (None, {}, odd))
    assert (none.selector, empty.selector, none.min_available) == (NOTHING, EVERYTHING, IntOrPercent(0))
    assert not invalid.selector.valid


@pytest.mark.parametrize("given", ["", "1.5%", True])
def test_amounts_that_cannot_be(given: Any) -> None:
    with pytest.raises(InvalidAnswer, match=r"\$\.spec\.minAvailable"):
        observed(kinds.BUDGETS, spec={"minAvailable": given})


@pytest.mark.parametrize(
    ("run", "prior", "note"),
    [
        ("r-1", '{"journal":"ops","unschedulable":false}', RunNote("r-1", "ops")),
        ("r-1", '{"skipped":true,"unschedulable":false}', RunNote("r-1", skipped=True)),
        ("r-1", '{"protected":["a"]}', RunNote("r-1", "", drains=False, protects=True)),
        ("r-1", '{"labels":["a"],"protected":["b"],"journal":"ops"}', RunNote("r-1", "ops", protects=True)),
        ("r-1", '{"unschedulable":true,"journal":"../../secrets"}', RunNote("r-1")),
        ("No Id", '{"unschedulable":true}', None),
    ],
)
def test_what_a_run_noted_on_a_node(run: str, prior: str, note: RunNote | None) -> None:
    """Users may have written any value."""
    annotations = {"eksdoc.io/run": run, "eksdoc.io/prior": prior, "other": "x"}
    node = fact(kinds.NODES, meta={"annotations": annotations})
    assert node.note == note


OPTIONS = {
    "httpEndpoint": "enabled",
    "httpProtocolIPv6": "disabled",
    "httpPutResponseHopLimit": 1,
    "httpTokens": "required",
}


def test_a_class() -> None:
    terms = [{"alias": "al2023@v20251112"}, {"id": "ami-0123"}, {"tags": {"team": "a", "env": "b"}, "owner": "self"}]
    amis = ("alias=al2023@v20251112", "id=ami-0123", "owner=self,tag:env=b,tag:team=a")
    found = fact(kinds.NODE_CLASSES, spec={"amiSelectorTerms": terms, "metadataOptions": OPTIONS, "amiFamily": "AL2"})
    assert found == NodeClass("x", DeclaredMetadataOptions("required", 1, True, False), "AL2", amis)
    part = {"httpTokens": "optional", "httpEndpoint": "disabled"}
    assert fact(kinds.NODE_CLASSES, spec={"metadataOptions": part}).metadata == DeclaredMetadataOptions(
        "optional", None, False, None
    )
    assert fact(kinds.NODE_CLASSES, spec={"metadataOptions": {}, "amiSelectorTerms": None}).metadata.is_empty


@pytest.mark.parametrize(
    ("ref", "name"),
    [
        ({"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}, "default"),
        ({"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "name": "default"}, "default"),
        ({"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"}, ""),
        (None, ""),
    ],
)
def test_the_class_of_a_pool(ref: dict[str, Any] | None, name: str) -> None:
    spec = {"template": {"spec": {"nodeClassRef": ref}}}
    assert fact(kinds.NODE_POOLS, spec=spec) == NodePool("x", (), name)
