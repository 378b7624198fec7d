"""A plan with every kind of cause and of affected pod, for the formats."""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.imds_probe.affected import PodEvidence
from kubectl_eksdoc.imds_probe.plan import MetadataPlan, plan_metadata
from kubectl_eksdoc.imds_probe.programs import ContainerCommand, read_log
from kubectl_eksdoc.imds_probe.sources import NODE_CLASS, MetadataFacts
from kubectl_eksdoc.model.cluster import Cluster, NodeClass
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import DeclaredMetadataOptions, Instance, MachineFacts, MetadataOptions, NodeGroup
from kubectl_eksdoc.model.nodes import COMPUTE_TYPE, NODE_POOL, Calls, ControllerOwner, Node, Pod, RoleSource
from tests.builders import a_cluster, a_node, a_pod, with_classes

AL2, AL2023, TWO = MetadataOptions("optional", 2), MetadataOptions("required", 1), MetadataOptions("required", 2)
LBC, AUTOSCALER = "eks/aws-load-balancer-controller:v2.13.0", "autoscaling/cluster-autoscaler:v1.33.0"
DENIED = Unknown("IAM does not allow it", "ec2:DescribeInstances")


def ident(number: int) -> str:
    return f"i-{number:08x}"


def node(number: int, group: str, **labels: str) -> Node:
    return a_node(f"n{number}", group=group, provider_id=f"aws:///eu-west-1a/{ident(number)}", labels=labels)


def pod(name: str, on: int, image: str = "shop/cart:1", role: RoleSource = RoleSource.NONE, **more: Any) -> Pod:
    calls = Calls(images=(image,), service_account=name, role=role)
    owner = ControllerOwner("ReplicaSet", f"{name.partition('-')[0]}-6f7c", f"uid-{name.partition('-')[0]}", "apps")
    labels = {"pod-template-hash": "6f7c"}
    return a_pod(name, namespace="shop", node=f"n{on}", calls=calls, owner=owner, labels=labels, **more)


def cluster() -> Cluster:
    nodes = [
        node(0, "blue"),
        node(1, "green"),
        node(2, "green"),
        node(3, "", **{NODE_POOL: "general", NODE_CLASS: "default"}),
        node(4, "hidden"),
        node(5, "changing"),
        a_node("fargate", group="", provider_id="", labels={COMPUTE_TYPE: "fargate"}),
    ]
    pods = [
        pod("controller", 1, LBC, restarted=True, ready=False),
        pod("scaler", 2, AUTOSCALER, RoleSource.IRSA),
        *(pod(f"cart-{number}", 2) for number in range(7)),
        pod("silent", 2, restarted=True, ready=False),
        pod("api", 3),
        pod("fine", 1, role=RoleSource.POD_IDENTITY),
        pod("한글", 0),
    ]
    return with_classes(a_cluster(nodes=nodes, pods=pods), NodeClass("default", DeclaredMetadataOptions("required", 1)))


def facts() -> MetadataFacts:
    options = {0: AL2, 1: AL2023, 2: AL2023, 3: TWO, 5: MetadataOptions("required", 1, pending=True)}
    told = MachineFacts(
        {ident(n): Instance(ident(n), "ami-1", options=said) for n, said in options.items()} | {ident(4): DENIED},
        {
            "blue": NodeGroup("blue", "AL2_x86_64"),
            "green": NodeGroup("green", "AL2023_x86_64_STANDARD"),
            "hidden": NodeGroup("hidden", "BOTTLEROCKET_ARM_64"),
            "changing": NodeGroup("changing", "AL2023_ARM_64_STANDARD"),
        },
        account=DeclaredMetadataOptions(),
        identities=Unknown("IAM does not allow it", "eks:ListPodIdentityAssociations"),
    )
    inside = {
        "shop/controller": PodEvidence(
            symptom=read_log("error: failed to get VPC ID: 169.254.169.254 timed out").symptom
        ),
        "shop/silent": PodEvidence(unreadable=(Unknown("not allowed", "get pods/log"),)),
        "shop/scaler": PodEvidence(ContainerCommand(("--cloud-provider=aws",), ())),
    }
    return MetadataFacts(cluster(), told, inside)


def plan(hops: int = 2) -> MetadataPlan:
    return plan_metadata(facts(), hops)
