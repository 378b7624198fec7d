"""The AWS side of the ordinary clusters of `clusters`: the answers of EKS, EC2, EventBridge, SQS and IAM for each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from kubectl_eksdoc.drain.duration.generations import learned_kubelet_times
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.session.sources import SourceChoice
from kubectl_eksdoc.wiring.stages import ServeSettings, served
from tests.aws.world.catalogue import Offer
from tests.check.command.clusters import (
    ACCOUNT,
    ADDONS,
    REGION,
    App,
    KeptCluster,
    a_dump,
    corefile,
    role_of,
)
from tests.cli.terminal_user import Somebody

if TYPE_CHECKING:
    from tests.aws.world.server import World

NODE_ROLE = f"arn:aws:iam::{ACCOUNT}:role/prod-nodes"
RELEASE = "1.33.5-20260224"
TODAY = date(2026, 3, 2)
"""1.33 and 1.34 have standard support, for long enough."""
_OFFERS = (
    ("vpc-cni", ADDONS["vpc-cni"], ("1.33", "1.34")),
    ("coredns", ADDONS["coredns"], ("1.33", "1.34")),
    ("kube-proxy", "v1.34.3-eksbuild.2", ("1.34",)),
    ("kube-proxy", ADDONS["kube-proxy"], ("1.33",)),
)
"""Add-on, version, the versions of Kubernetes for which EKS installs it by default."""
_EVENTS = (
    ("spot", "aws.ec2", "EC2 Spot Instance Interruption Warning"),
    ("rebalance", "aws.ec2", "EC2 Instance Rebalance Recommendation"),
    ("state", "aws.ec2", "EC2 Instance State-change Notification"),
    ("health", "aws.health", "AWS Health Event"),
)


@contextmanager
def somebody_at(of: KeptCluster, aws: World, folder: Path) -> Iterator[Somebody]:
    """A user with a kubeconfig of that cluster and the keys of its account."""
    dump = folder / "dump"
    dump.mkdir()
    a_dump(dump, of, an_account(aws, of))
    choice = SourceChoice(snapshot=str(dump))
    told = ServeSettings(1.0, str(folder / "config"), lambda path, url: None, lambda text: None, learned_kubelet_times)
    with served(choice, Connection(), None, told) as (path, url):
        aws.put_endpoint("prod", url)
        yield Somebody(path, aws, "check")


def an_account(aws: World, of: KeptCluster) -> Sequence[str]:
    """The account with the instances of the nodes; returns their ids."""
    subnets = _network(aws)
    service = aws.client("eks")
    service.create_cluster(
        name="prod",
        version="1.33",
        roleArn=f"arn:aws:iam::{ACCOUNT}:role/prod",
        resourcesVpcConfig={"subnetIds": subnets},
        upgradePolicy={"supportType": "STANDARD"},
        accessConfig={"authenticationMode": "API"},
        tags=dict(of.tags),
        **({"computeConfig": {"enabled": True, "nodePools": ["general-purpose"]}} if of.auto_mode else {}),
    )
    catalogue = aws.eks().catalogue
    catalogue.as_of(TODAY)
    schemas = {name: next(each.schema for each in catalogue.of(name) if each.schema) for name in ADDONS}
    catalogue.offers[:0] = [Offer(name, version, fits, fits, schemas[name]) for name, version, fits in _OFFERS]
    for code, kind in (("L-1216C47A", "Standard/OnDemand"), ("L-34B43A08", "Standard/Spot")):
        aws.set_quota("ec2", code, 256.0)
        aws.use_quota(40.0, Class=kind, Resource="vCPU", Service="EC2", Type="Resource")
    instances = _instances(aws, of, subnets)
    if not of.auto_mode:
        for app in of.apps:
            if app.addon:
                service.create_addon(clusterName="prod", addonName=app.addon, **_settings(app, of))
        service.create_nodegroup(
            clusterName="prod",
            nodegroupName="workers",
            subnets=subnets,
            nodeRole=NODE_ROLE,
            instanceTypes=["m6i.xlarge"],
            releaseVersion=RELEASE,
            scalingConfig={"minSize": 3, "maxSize": 6, "desiredSize": 3},
            tags=dict(of.tags),
        )
        path = "/aws/service/eks/optimized-ami/{}/amazon-linux-2023/x86_64/standard/recommended/release_version"
        aws.publish_parameter(path.format("1.33"), RELEASE)
        aws.publish_parameter(path.format("1.34"), "1.34.2-20260224")
    if of.with_karpenter:
        _interruption(aws, of)
    for name in ("Deprecated APIs removed in Kubernetes v1.34", "Kubelet version skew"):
        insight = {"name": name, "category": "UPGRADE_READINESS", "kubernetesVersion": "1.34"}
        aws.eks().found("prod", {**insight, "insightStatus": {"status": "PASSING", "reason": "No issues detected."}})
    aws.forget_calls()
    return instances


def _settings(app: App, of: KeptCluster) -> dict[str, str]:
    if app.role:
        return {"serviceAccountRoleArn": role_of(app)}
    if app.addon == "coredns":
        return {"configurationValues": json.dumps({"corefile": corefile(of.lameduck)})}
    return {}


def _network(aws: World) -> list[str]:
    ec2 = aws.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    made = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{16 * at}.0/20", AvailabilityZone=f"{REGION}{zone}")
        for at, zone in enumerate("abc")
    ]
    return [each["Subnet"]["SubnetId"] for each in made]


def _instances(aws: World, of: KeptCluster, subnets: list[str]) -> list[str]:
    ec2, image = aws.client("ec2"), aws.publish_image("amazon-eks-node-al2023-x86_64-standard-1.33-v20260224", "v2.0")
    return [
        ec2.run_instances(
            MinCount=1,
            MaxCount=1,
            ImageId=image,
            InstanceType="m6i.xlarge",
            SubnetId=subnets[at % 3],
            MetadataOptions={"HttpTokens": "required", "HttpPutResponseHopLimit": of.hops},
        )["Instances"][0]["InstanceId"]
        for at in range(len(of.nodes))
    ]


def _interruption(aws: World, of: KeptCluster) -> None:
    """The resources of Karpenter's CloudFormation template, and the role of its pods."""
    sqs, events, iam = (aws.client(name) for name in ("sqs", "events", "iam"))
    queue = f"arn:aws:sqs:{REGION}:{ACCOUNT}:prod"
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]},
                "Action": "sqs:SendMessage",
                "Resource": queue,
            }
        ],
    }
    settings = {"Policy": json.dumps(policy), "MessageRetentionPeriod": "300", "SqsManagedSseEnabled": "true"}
    sqs.create_queue(QueueName="prod", Attributes=settings)
    for name, source, kind in _EVENTS:
        events.put_rule(Name=f"prod-{name}", EventPattern=json.dumps({"source": [source], "detail-type": [kind]}))
        events.put_targets(Rule=f"prod-{name}", Targets=[{"Id": "KarpenterInterruptionQueueTarget", "Arn": queue}])
    (karpenter,) = (each for each in of.apps if each.name == "karpenter")
    name = role_of(karpenter).rpartition("/")[2]
    iam.create_role(RoleName=name, AssumeRolePolicyDocument="{}")
    allowed = ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"]
    statement = {"Effect": "Allow", "Action": allowed, "Resource": queue}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.put_role_policy(RoleName=name, PolicyName="controller", PolicyDocument=document)
    aws.count_fetches("prod", empty=30)
