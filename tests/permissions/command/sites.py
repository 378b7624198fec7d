"""The clusters, and their resources in AWS, on which each reading command sends all requests that it may send."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kubectl_eksdoc.amazon.removed_apis import REMOVALS_READ_TO
from kubectl_eksdoc.amazon.written_kinds import kinds_with_removed_versions
from kubectl_eksdoc.cli.rights import commands
from kubectl_eksdoc.cli.rights.commands import stored_version_rights
from kubectl_eksdoc.embedded.demo.reader import NOW
from kubectl_eksdoc.embedded.loading import load_documents
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import with_value
from kubectl_eksdoc.model.kinds import MAX_UPGRADE_STEPS
from kubectl_eksdoc.model.quantities import Version
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.embedded.clients import worlds
from tests.imds_probe.command.probed import all_reach_the_service, nodes_are_instances
from tests.interruption.command.incident import QUEUE, ROLE, _instances, _placed, _role, documents
from tests.permissions.command.served_users import NAME, Site
from tools.demo.interruption.cluster import logs
from tools.demo.upgrade.old_apis import old_apis

if TYPE_CHECKING:
    from tests.aws.world.server import World


@dataclass(frozen=True)
class Line:
    """A command line that reads, and the command that needs its rights. `at`: the name of a site. `never`: rights that
    it does not use here, and why it may elsewhere; `unasked`: actions of its policy, likewise; `not_lost`: rights
    without which no fact is missing, and why. `like`: a command for which the common rights are removed already.
    `granted`: the flags of ``permissions`` by which its role is more than the command line itself says."""

    command: str
    words: str
    at: str = "rich"
    granted: str = ""
    never: Mapping[str, str] = field(default_factory=dict)
    not_lost: Mapping[str, str] = field(default_factory=dict)
    like: str = ""
    unasked: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.words

    @property
    def role(self) -> str:
        """The arguments for ``permissions``: this same command line."""
        return f"{self.words.replace(' -o json', '')} {self.granted}".strip()


_THERE = "--karpenter-namespace karpenter"
_PROXY, _ALL_OF_IT = "--with proxy", "--with proxy,helm-releases"
_WAY = "one way of versions looks at few of the kinds of which versions go: this one went with 1.22"
_IN_LISTS = {"get pods": "what is looked at of one pod is in the list of all that the file holds"}
_LOOKED_AT = {
    "list certificatesigningrequests.certificates.k8s.io": _WAY,
    "list ingressclasses.networking.k8s.io": _WAY,
    "list ingresses.networking.k8s.io": _WAY,
}
_FIRST, _LAST = Version(1, 24), Version(1, 24 + MAX_UPGRADE_STEPS)
_NEXT_WAYS = {
    right: "of ways that begin later: test_reading has them all"
    for each in stored_version_rights(Version(REMOVALS_READ_TO.major, REMOVALS_READ_TO.minor + MAX_UPGRADE_STEPS))
    if (right := str(each)) not in {*map(str, (*commands.CHECK_LISTS, *commands.ADDON_DIFF, *commands.DRAIN_PLAN))}
    if each.resource not in kinds_with_removed_versions(_FIRST, _LAST)
}
"""Of a snapshot of that version of a cluster."""
_NOTHING = "no update of the add-on comes of it here, so none of its objects is looked at"
_NO_UPDATE = {
    f"get {each}": _NOTHING
    for each in (
        "clusterrolebindings.rbac.authorization.k8s.io",
        "clusterroles.rbac.authorization.k8s.io",
        "poddisruptionbudgets.policy",
        "serviceaccounts",
        "services",
    )
}
_NO_UPDATE |= {
    right: _NOTHING
    for right in map(str, commands.COREDNS_SHOWN_CHANGE)
    if right.startswith("list ") and right in {f"list {each.full_name}" for each in kinds.SEARCHED}
    if right not in {*map(str, commands.COREDNS), "list namespaces"}
}
_OF_IDENTITY = {"eks:DescribePodIdentityAssociation": "of a Karpenter with Pod Identity: the line at that site"}
_OF_QUEUE = dict.fromkeys(
    (
        "events:ListTargetsByRule",
        "iam:GetPolicy",
        "iam:GetPolicyVersion",
        "iam:GetRolePolicy",
        "iam:ListAttachedRolePolicies",
        "iam:ListRolePolicies",
        "kms:DescribeKey",
        "kms:GetKeyPolicy",
        "sqs:GetQueueAttributes",
    ),
    "of a queue and of a role that are there: the lines of the incident",
)
_NO_QUEUE = {
    **_OF_IDENTITY,
    **_OF_QUEUE,
    "cloudwatch:GetMetricData": "of a queue that is there: the lines of the incident",
}
_OF_INSTANCES = dict.fromkeys(
    (
        "autoscaling:DescribeAutoScalingGroups",
        "autoscaling:DescribeLaunchConfigurations",
        "ec2:DescribeImages",
        "ec2:DescribeLaunchTemplateVersions",
    ),
    "of nodes that are instances: the lines of that site",
)
_OF_ALL = {**_OF_IDENTITY, **_OF_QUEUE, **_OF_INSTANCES}
LINES = (
    Line("drain plan", "drain plan --nodegroup blue -o json"),
    Line("rehearse", "rehearse --nodegroup blue -o json", like="drain plan"),
    Line("check", "check --target 1.37 -o json", granted=f"{_THERE} {_ALL_OF_IT}", never=_LOOKED_AT, unasked=_OF_ALL),
    Line(
        "check",
        "check --target 1.37 --without proxy,helm-releases -o json",
        granted=_THERE,
        never=_LOOKED_AT,
        like="check",
        unasked=_OF_ALL,
    ),
    Line("check", "check --only kubelet-skew -o json", like="check"),
    Line(
        "check --changed-since",
        "check --target 1.37 --changed-since 24h -o json",
        granted=f"{_THERE} {_ALL_OF_IT}",
        never=_LOOKED_AT,
        like="check",
        unasked=_OF_ALL,
    ),
    Line("addon-diff", "addon-diff --all -o json"),
    Line("addon-diff --after", "addon-diff --all --after -o json", like="addon-diff"),
    Line("imds-probe", "imds-probe -o json", "instances"),
    Line(
        "imds-probe --evidence",
        "imds-probe --evidence cloudwatch,cloudtrail,iam -o json",
        "instances",
        like="imds-probe",
    ),
    Line("coredns-lameduck", "coredns-lameduck -o json", granted=f"{_THERE} {_PROXY}", unasked=_NO_QUEUE),
    Line("coredns-lameduck", "coredns-lameduck -o json", "incident", _PROXY, unasked=_OF_IDENTITY),
    Line("coredns-lameduck", "coredns-lameduck --without proxy -o json", "identity", like="coredns-lameduck"),
    Line("coredns-lameduck --set", "coredns-lameduck --set lameduck=20s -o json", like="coredns-lameduck"),
    Line("coredns-lameduck --place", "coredns-lameduck --place on-demand -o json", like="coredns-lameduck --set"),
    Line(
        "coredns-lameduck --autoscale",
        "coredns-lameduck --autoscale 2:6 -o json",
        never=_NO_UPDATE,
        like="coredns-lameduck --set",
    ),
    Line("check", "check --only interruption-rights --without proxy -o json", "identity", like="check"),
    Line("check", "check --only imds-pods-broken -o json", "instances", like="check"),
    Line("interruption", "interruption -o json", "incident", _PROXY, unasked=_OF_IDENTITY),
    Line("interruption", "interruption --without proxy -o json", "identity", like="interruption"),
    Line(
        "snapshot",
        "snapshot FILE --overwrite -o json",
        "rich",
        f"{_THERE} {_ALL_OF_IT}",
        _LOOKED_AT | _NEXT_WAYS,
        _IN_LISTS,
        "check",
        _OF_ALL,
    ),
    Line("drain status", "drain status -o json"),
    Line("drain status --attach", "drain status old-1 --attach -o json", like="drain plan"),
)


def rich(aws: World) -> Site:
    """The recorded cluster, with objects of old versions and a release of Helm; AWS has a managed node group."""
    client, role = aws.client("eks"), "arn:aws:iam::111122223333:role/reader"
    client.create_nodegroup(clusterName=NAME, nodegroupName="blue", subnets=["subnet-1"], nodeRole=role)
    client.create_pod_identity_association(clusterName=NAME, namespace="shop", serviceAccount="cart", roleArn=role)
    client.update_addon(clusterName=NAME, addonName="coredns", resolveConflicts="OVERWRITE")
    client.update_nodegroup_version(clusterName=NAME, nodegroupName="blue")
    insight = {"name": "any", "category": "UPGRADE_READINESS", "kubernetesVersion": "1.25"}
    aws.eks().found(NAME, {**insight, "insightStatus": {"status": "ERROR"}})
    aws.forget_calls()
    plane = worlds.plane_of("rich", None)
    for doc in old_apis():
        plane.load(_stored(doc), [doc])
    site = Site(plane)
    tells_metrics(site)
    return site


def tells_metrics(site: Site) -> None:
    """Karpenter's Deployment names the port of its metrics, as its chart does."""
    port = {"name": "http-metrics", "containerPort": 8080}

    def named(plane: ControlPlane) -> None:
        for item in plane.store.list("deployments.apps"):
            if item.key[1] == "karpenter":
                spec = item.doc["spec"]["template"]["spec"]
                first = {**spec["containers"][0], "ports": [port]}
                path = ("spec", "template", "spec", "containers")
                plane.registry.update(item, with_value(item.doc, path, [first, *spec["containers"][1:]]))

    site.api.run_locked(named)


def _stored(doc: Mapping[str, object]) -> str:
    kind, group = str(doc["kind"]), str(doc["apiVersion"]).rpartition("/")[0]
    plural = f"{kind.lower()[:-1]}ies" if kind.endswith("y") else f"{kind.lower()}s"
    return f"{plural}.{group}" if group else plural


def instances(aws: World) -> Site:
    """A cluster whose nodes are instances of the AWS stand-in."""
    site = Site(worlds.plane_of("small-traps", None))
    nodes_are_instances(site.api, aws)
    all_reach_the_service(aws)
    scaling = aws.client("autoscaling")
    image = aws.publish_image("an older AMI")
    scaling.create_launch_configuration(LaunchConfigurationName="old", ImageId=image, InstanceType="m5.large")
    made_by = {"own": {"LaunchTemplate": {"LaunchTemplateName": "own", "Version": "2"}}}
    for name, by in {**made_by, "old": {"LaunchConfigurationName": "old"}}.items():
        scaling.create_auto_scaling_group(
            AutoScalingGroupName=name, MinSize=1, MaxSize=1, AvailabilityZones=["ap-northeast-2a"], **by
        )
    launched = [each["InstanceId"] for each in scaling.describe_auto_scaling_instances()["AutoScalingInstances"]]

    def of_nobody(plane: ControlPlane) -> None:
        """Two self-managed nodes, in auto scaling groups of their owner."""
        for item, instance in zip(list(plane.store.list("nodes")), launched, strict=False):
            labels = {each: value for each, value in item.doc["metadata"]["labels"].items() if "nodegroup" not in each}
            doc = with_value(item.doc, ("metadata", "labels"), labels)
            where = f"aws:///ap-northeast-2a/{instance}"
            plane.registry.update(item, with_value(doc, ("spec", "providerID"), where))

    site.api.run_locked(of_nobody)
    aws.forget_calls()
    return site


def incident(aws: World) -> Site:
    """The demo's incident: Karpenter, and Spot nodes that are Spot instances. The queue exists, with a key."""
    plane: ControlPlane = load_documents(map(_placed(_instances(aws)), documents()), NOW).plane
    site = Site(plane)
    for log, text in logs().items():
        site.api.logs.store(log.namespace, log.pod, log.container, text, log.previous)
    tells_metrics(site)
    _role(aws)
    key = aws.client("kms").create_key()["KeyMetadata"]["KeyId"]
    aws.client("sqs").create_queue(QueueName=QUEUE, Attributes={"KmsMasterKeyId": key})
    aws.client("events").put_rule(Name=QUEUE, EventPattern='{"source": ["aws.ec2"]}')
    target = {"Id": "1", "Arn": f"arn:aws:sqs:ap-northeast-2:111122223333:{QUEUE}"}
    aws.client("events").put_targets(Rule=QUEUE, Targets=[target])
    allowed = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}]}'
    policy = aws.client("iam").create_policy(PolicyName="own", PolicyDocument=allowed)["Policy"]["Arn"]
    aws.client("iam").attach_role_policy(RoleName=ROLE, PolicyArn=policy)
    aws.forget_calls()
    return site


def identity(aws: World) -> Site:
    """The incident, with a Karpenter that has its role by EKS Pod Identity."""
    site = incident(aws)

    def without_irsa(plane: ControlPlane) -> list[tuple[str, str]]:
        path, found = ("metadata", "annotations"), []
        for item in plane.store.list("serviceaccounts"):
            if "eks.amazonaws.com/role-arn" in (item.doc["metadata"].get("annotations") or {}):
                plane.registry.update(item, with_value(item.doc, path, {}))
                found.append(item.key)
        return found

    for namespace, name in site.api.run_locked(without_irsa):
        role = f"arn:aws:iam::111122223333:role/{ROLE}"
        of = {"clusterName": NAME, "namespace": namespace, "serviceAccount": name}
        aws.client("eks").create_pod_identity_association(**of, roleArn=role)
    aws.forget_calls()
    return site


def of_version(version: str) -> Callable[[World], Site]:
    """A small cluster for which EKS returns that version."""

    def made(aws: World) -> Site:
        aws.reset()
        role = "arn:aws:iam::111122223333:role/reader"
        aws.client("eks").create_cluster(
            name=NAME, version=version, roleArn=role, resourcesVpcConfig={"subnetIds": ["subnet-1"]}
        )
        return Site(worlds.plane_of("small-traps", None))

    return made


MADE: Mapping[str, Callable[[World], Site]] = {
    "rich": rich,
    "instances": instances,
    "incident": incident,
    "identity": identity,
}
