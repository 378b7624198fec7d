"""``imds-probe --apply`` at a terminal: the nodes' instances are those of the AWS stand-in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.aws.asking import verify_cluster
from kubectl_eksdoc.imds_probe.sources import NODE_CLASS
from kubectl_eksdoc.model.cluster import Cluster, Identity, NodeClass
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.machines import DeclaredMetadataOptions
from kubectl_eksdoc.model.nodes import MANAGED_GROUP, NODE_POOL, Calls, Node
from kubectl_eksdoc.ports import ClusterReader
from kubectl_eksdoc.session.session import ClusterNeeds, ClusterSession, ObservedSession, SessionRequest
from kubectl_eksdoc.session.sources import Progress, SourceChoice
from tests.aws.test_live import live
from tests.builders import a_cluster, a_node, a_pod, with_classes
from tests.cli import terminal_user
from tests.cli.running import Ran
from tests.sessions import Nowhere

if TYPE_CHECKING:
    from tests.aws.world.server import World

ONE = {"HttpTokens": "required", "HttpPutResponseHopLimit": 1, "InstanceMetadataTags": "enabled"}
WHO = Identity("lab", "prod", "111122223333", "ap-northeast-2")
PINNED = "1.24.7-20221101"


@dataclass
class Desk(terminal_user.Desk):
    """A user and the cluster with `nodes`; `hop_limit`: the value in the EC2NodeClass."""

    nodes: list[Node] = field(kw_only=True)
    template: str = field(kw_only=True)
    hop_limit: int = 1
    who: Identity = WHO

    def fix(self, name: str, *argv: str) -> Ran:
        return self.run("--apply", "--fix", name, *argv)

    @property
    def limits(self) -> list[int]:
        """The hop limits of the nodes' instances."""
        ids = [node.provider_id.rpartition("/")[2] for node in self.nodes]
        told = self.aws.client("ec2").describe_instances(InstanceIds=ids)
        by_id = {each["InstanceId"]: each for said in told["Reservations"] for each in said["Instances"]}
        return [int(by_id[ident]["MetadataOptions"]["HttpPutResponseHopLimit"]) for ident in ids]

    def read(self, resources: Sequence[Resource]) -> Cluster:
        """The facts, as a reader returns them."""
        calls = Calls(images=("eks/aws-load-balancer-controller:v2.13.0",))
        pods = [a_pod(f"p{at}", node=each.name, calls=calls) for at, each in enumerate(self.nodes)]
        known = NodeClass("default", DeclaredMetadataOptions("required", self.hop_limit))
        return replace(with_classes(a_cluster(nodes=self.nodes, pods=pods), known), identity=self.who)

    def around(self) -> dict[str, Any]:
        return {**super().around(), "open_reader": self._reader, "open_session": self._opened}

    def _reader(
        self, source: SourceChoice, connection: Connection, progress: Progress | None = None, waiting: object = None
    ) -> ClusterReader:
        return self

    def _opened(self, request: SessionRequest) -> ClusterSession:
        return Session(self, request.needs)


class Session(ObservedSession):
    """A session with the desk's nodes, as they are when it is created."""

    def __init__(self, desk: Desk, needs: ClusterNeeds) -> None:
        aws = live(desk.aws)
        super().__init__(desk.read(needs.kinds), verify_cluster(aws, aws.access), Nowhere())  # type: ignore[arg-type]
        self._desk, self._needs = desk, needs

    def reobserve(self, needs: ClusterNeeds | None = None) -> ClusterSession:
        return Session(self._desk, needs or self._needs)


def desk(home: Path, aws: World, config: str) -> Desk:
    """Two nodes of group blue with a template of EKS; two self-managed ones; one of Karpenter's class default."""
    machines, service, role = aws.client("ec2"), aws.client("eks"), "arn:aws:iam::111122223333:role/any"
    service.create_cluster(name="prod", version="1.24", roleArn=role, resourcesVpcConfig={"subnetIds": ["subnet-1"]})
    data = {"InstanceType": "m5.large", "MetadataOptions": ONE}
    made = machines.create_launch_template(LaunchTemplateName="own", LaunchTemplateData=data)
    template = str(made["LaunchTemplate"]["LaunchTemplateId"])
    group: dict[str, Any] = {"clusterName": "prod", "subnets": ["subnet-1"], "nodeRole": role, "version": "1.24"}
    service.create_nodegroup(nodegroupName="blue", amiType="AL2023_x86_64_STANDARD", **group)
    own = {"launchTemplate": {"id": template, "version": "1"}, "releaseVersion": PINNED}
    service.create_nodegroup(nodegroupName="own", **own, **group)
    labels = [
        {MANAGED_GROUP: "blue"},
        {MANAGED_GROUP: "blue"},
        {MANAGED_GROUP: "own"},
        {MANAGED_GROUP: "own"},
        {NODE_POOL: "general", NODE_CLASS: "default"},
    ]
    asked = {"ImageId": "ami-12345678", "MinCount": len(labels), "MaxCount": len(labels), "MetadataOptions": ONE}
    ids = [each["InstanceId"] for each in machines.run_instances(**asked)["Instances"]]
    nodes = [
        a_node(f"n{at}", group="", provider_id=f"aws:///ap-northeast-2a/{ident}", labels=said)
        for at, (ident, said) in enumerate(zip(ids, labels, strict=True))
    ]
    home.mkdir()
    aws.forget_calls()
    return Desk(config, aws, "imds-probe", home=home, speed=100.0, nodes=nodes, template=template)
