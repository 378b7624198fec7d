"""Clusters with nodes of every kind, from short descriptions: input for tests of the fix chooser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kubectl_eksdoc.imds_probe.affected import PodEvidence
from kubectl_eksdoc.imds_probe.sources import NODE_CLASS, MetadataFacts
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Identity, NodeClass
from kubectl_eksdoc.model.kinds import Absent, KindRead, ReadState, Unknown
from kubectl_eksdoc.model.machines import (
    DeclaredMetadataOptions,
    Image,
    Instance,
    MachineFacts,
    MetadataOptions,
    NodeGroup,
    ScalingGroup,
    TemplateRef,
    TemplateVersion,
)
from kubectl_eksdoc.model.nodes import COMPUTE_TYPE, EKSCTL_GROUP, MANAGED_GROUP, NODE_POOL, Calls, Node, Pod
from tests.builders import a_cluster, a_node, a_pod

ONE, TWO, OPTIONAL = MetadataOptions("required", 1), MetadataOptions("required", 2), MetadataOptions("optional", 1)
OFF = MetadataOptions("required", 2, endpoint=False)
WHO = Identity("prod", "prod", "111122223333", "eu-west-1")
OWN = TemplateRef("lt-0123456789abcdef0", "own", "3")
AMI = "ami-12345678"


def ident(number: int) -> str:
    return f"i-{number:08x}"


def node(number: int, **labels: str) -> Node:
    return a_node(f"n{number}", group="", provider_id=f"aws:///eu-west-1a/{ident(number)}", labels=labels)


LABELS: Mapping[str, Mapping[str, str]] = {
    "managed": {MANAGED_GROUP: "blue"},
    "own template": {MANAGED_GROUP: "own"},
    "by eksctl": {MANAGED_GROUP: "ctl", EKSCTL_GROUP: "ctl"},
    "eksctl": {EKSCTL_GROUP: "old"},
    "karpenter": {NODE_POOL: "general", NODE_CLASS: "default"},
    "auto": {COMPUTE_TYPE: "auto"},
    "fargate": {COMPUTE_TYPE: "fargate"},
    "self-managed": {},
}


@dataclass
class Cloud:
    """The facts of AWS and the cluster; a test can change any of them before they are read. Mutable."""

    nodes: Sequence[Node]
    instances: dict[str, Instance | Absent | Unknown]
    groups: dict[str, NodeGroup | Absent | Unknown]
    templates: dict[TemplateRef, TemplateVersion | Absent | Unknown]
    scaling: dict[str, ScalingGroup | Absent | Unknown]
    classes: dict[str, DeclaredMetadataOptions | Unknown]
    pods: Sequence[Pod] = ()

    inside: Mapping[str, PodEvidence] = field(default_factory=dict)

    def facts(self) -> MetadataFacts:
        read = tuple(KindRead(kind, ReadState.READ) for kind in (kinds.NODE_CLASSES, kinds.NODE_POOLS))
        known = {name: said for name, said in self.classes.items() if isinstance(said, DeclaredMetadataOptions)}
        cluster = replace(
            a_cluster(nodes=list(self.nodes), pods=list(self.pods)),
            identity=WHO,
            reads=read,
            node_classes=tuple(NodeClass(name, said) for name, said in sorted(known.items())),
        )
        told = MachineFacts(
            self.instances,
            self.groups,
            self.scaling,
            self.templates,
            {AMI: Image(AMI, v2=True)},
            DeclaredMetadataOptions(),
        )
        return MetadataFacts(cluster, told, evidence_by_pod=self.inside)


def cloud(*of: str, options: MetadataOptions | None = ONE, said: DeclaredMetadataOptions | None = None) -> Cloud:
    """A node of each kind; their instances have `options`, and their templates or classes have `said`."""
    said = DeclaredMetadataOptions("required", 1) if said is None else said
    nodes = [node(at, **LABELS[kind]) for at, kind in enumerate(of)]
    instances: dict[str, Instance | Absent | Unknown] = {
        ident(at): Instance(ident(at), AMI, state="running", options=options, scaling_group="asg")
        for at, _ in enumerate(of)
    }
    group: dict[str, Any] = {
        "ami_type": "AL2023_x86_64_STANDARD",
        "release": "1.30.0-20261101",
        "version": "1.30",
        "at_once": "33 %",
    }
    return Cloud(
        nodes,
        instances,
        {
            "blue": NodeGroup("blue", **group),
            "ctl": NodeGroup("ctl", **group),
            "own": NodeGroup("own", template=OWN, **group),
        },
        {OWN: TemplateVersion(OWN.id, "own", 3, said)},
        {"asg": ScalingGroup("asg", OWN)},
        {"default": said},
        pods=[a_pod(f"p{at}", node=each.name, calls=Calls()) for at, each in enumerate(nodes)],
    )
