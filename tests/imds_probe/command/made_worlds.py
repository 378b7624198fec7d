"""A served cluster and an AWS stand-in with the nodes and pods of `tests/data/metadata_worlds.jsonl`.

Each row is one row of the table of worlds. A node: its provisioner (`by`), the options of its launch template or
EC2NodeClass (`template`), of the template's newer version (`newer`), those of its instance (`now`), and the verdicts
for pods now and on the next node (`truth`). A pod, on a node of hop limit 1 unless `node` names another: how it runs,
and how it is affected (`truth`, "" for not at all; `why` for programs of row 29), Ready for so many `hours`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.embedded.loading import StoredFacts
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import ManualTime, SimulatedApiServer, serving
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.embedded.clients import worlds
from tools.demo.incidents import others

if TYPE_CHECKING:
    from tests.aws.world.server import World

Row = Mapping[str, Any]
ROWS: tuple[Row, ...] = tuple(
    json.loads(line) for line in (Path(__file__).parents[2] / "data/metadata_worlds.jsonl").read_text().splitlines()
)
CUT = "al2023"
ROLE = "arn:aws:iam::111122223333:role/any"
ZONE = "ap-northeast-2a"
_FIELDS = ("HttpTokens", "HttpPutResponseHopLimit", "HttpEndpoint")
_ROLES = {"irsa": "AWS_WEB_IDENTITY_TOKEN_FILE", "pod-identity": "AWS_CONTAINER_CREDENTIALS_FULL_URI"}
_EARLIER = "2026-11-20T08:00:00Z"


def accounts() -> Sequence[Mapping[str, Any]]:
    """The defaults of the accounts in the table, each once."""
    found = [row["account"] if isinstance(row.get("account"), dict) else {} for row in ROWS]
    return [each for at, each in enumerate(found) if each not in found[:at]]


def rows_of(account: Mapping[str, Any], what: str) -> list[Row]:
    """The nodes or the pods of an account."""
    if what == "pod":
        return [row for row in ROWS if "pod" in row and not account]
    return [row for row in ROWS if "node" in row and "pod" not in row and row.get("account", {}) == account]


class Estate:
    """The AWS side. Mutable: instances are launched."""

    def __init__(self, aws: World) -> None:
        self._aws = aws
        self._clients = {name: aws.client(name) for name in ("ec2", "eks", "autoscaling")}
        self._groups: set[str] = set()

    @cached_property
    def _images(self) -> Mapping[str, str]:
        return {"": self._aws.publish_image("older"), "v2.0": self._aws.publish_image("newer", "v2.0")}

    def provider_id(self, row: Row) -> str:
        """The provider id of the node of a row; its instance is launched by the group that owns it, if any."""
        by, name = row["by"], row["node"]
        if by == "none":
            return f"eks-hybrid:///ap-northeast-2/prod/{name}" if name == "hybrid" else f"aws:///x/fargate-{name}"
        if by == "gone":
            return f"aws:///{ZONE}/i-00000000000000001"
        if by == "managed":
            self._managed(row.get("group", name), row)
        if by in ("asg", "mixed", "configuration"):
            ident = self._scaled(name, row)
        else:
            asked = {"MinCount": 1, "MaxCount": 1, "ImageId": self._image(row), "InstanceType": "m5.large"}
            ident = self._clients["ec2"].run_instances(**asked)["Instances"][0]["InstanceId"]
        if by == "pending":
            self._aws.hold_metadata()
        options = dict(zip(_FIELDS, row["now"], strict=False))
        self._clients["ec2"].modify_instance_metadata_options(InstanceId=ident, **options)
        return f"aws:///{ZONE}/{ident}"

    def _image(self, row: Row) -> str:
        return self._images[row.get("image", "")]

    def _template(self, name: str, row: Row) -> str:
        """The launch template, with its newer version if there is one."""
        ec2, ident = self._clients["ec2"], ""
        for options in filter(lambda each: each is not None, (row["template"], row.get("newer"))):
            data = {"InstanceType": "m5.large"} | ({"MetadataOptions": options} if options else {})
            if "template_image" in row or row["by"] != "managed":
                data["ImageId"] = row.get("template_image", self._image(row))
            if not ident:
                made = ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)
                ident = made["LaunchTemplate"]["LaunchTemplateId"]
            else:
                ec2.create_launch_template_version(LaunchTemplateName=name, LaunchTemplateData=data)
        return str(ident)

    def _managed(self, group: str, row: Row) -> None:
        if group in self._groups:
            return
        self._groups.add(group)
        asked: dict[str, Any] = {"clusterName": "prod", "subnets": ["subnet-1"], "nodeRole": ROLE}
        asked |= {"nodegroupName": group, "amiType": row.get("ami", "AL2023_x86_64_STANDARD")}
        if "template" in row:
            asked["launchTemplate"] = {"id": self._template(group, row), "version": "1"}
        self._clients["eks"].create_nodegroup(**asked)

    def _scaled(self, name: str, row: Row) -> str:
        scaling = self._clients["autoscaling"]
        asked: dict[str, Any] = {"AutoScalingGroupName": name, "AvailabilityZones": [ZONE]}
        asked |= {"MinSize": 1, "MaxSize": 1, "DesiredCapacity": 1}
        if row["by"] == "configuration":
            scaling.create_launch_configuration(
                LaunchConfigurationName=name,
                ImageId=self._image(row),
                InstanceType="m5.large",
                MetadataOptions=row["template"],
            )
            asked["LaunchConfigurationName"] = name
        elif row["by"] == "asg":
            asked["LaunchTemplate"] = {"LaunchTemplateId": self._template(name, row), "Version": "1"}
        else:
            of = {"LaunchTemplateId": self._template(name, row)}
            other = {"InstanceType": "m6i.large", "LaunchTemplateSpecification": {**of, "Version": "2"}}
            base = {"LaunchTemplateSpecification": {**of, "Version": "1"}}
            specified = {**base, "Overrides": [{"InstanceType": "m5.large"}, other]}
            asked["MixedInstancesPolicy"] = {"LaunchTemplate": specified}
        scaling.create_auto_scaling_group(**asked)
        (made,) = scaling.describe_auto_scaling_groups(AutoScalingGroupNames=[name])["AutoScalingGroups"]
        return str(made["Instances"][0]["InstanceId"])


def _meta(kind: str, name: str, **more: object) -> dict[str, Any]:
    return {"name": name, "uid": f"{kind}-{name}", "creationTimestamp": _EARLIER, **more}


def _node(row: Row, provider_id: str) -> dict[str, Any]:
    name, labels = row["node"], {"kubernetes.io/os": row.get("os", "linux"), **row.get("labels", {})}
    if row["by"] == "managed":
        labels["eks.amazonaws.com/nodegroup"] = row.get("group", name)
    if row["by"] == "karpenter":
        labels |= {"karpenter.sh/nodepool": name, "karpenter.k8s.aws/ec2nodeclass": name}
    ready = {"type": "Ready", "status": "True" if row.get("ready", True) else "False"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _meta("node", name, labels=labels),
        "spec": {"providerID": provider_id},
        "status": {"conditions": [ready], "nodeInfo": {"kubeletVersion": "v1.33.1-eks-1"}},
    }


def _pod(row: Row) -> dict[str, Any]:
    name, kind = row["pod"], row.get("kind", "ReplicaSet")
    variables = [{"name": each, "value": value} for each, value in row.get("env", {}).items()]
    if row.get("role"):
        variables.append({"name": _ROLES[row["role"]], "value": "x"})
    container: dict[str, Any] = {"name": "c", "image": row["image"], "args": row.get("args", []), "env": variables}
    if row.get("from"):
        container["envFrom"] = [{row["from"]: {"name": "more"}}]
    ready = row.get("ready", True)
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": _owner(row), "uid": f"owner-{name}", "controller": True}
    labels = {"pod-template-hash": "1"} if kind == "ReplicaSet" else {}
    state = {"running": {"startedAt": _EARLIER}}
    status = {"name": "c", "image": row["image"], "imageID": "", "ready": ready, "restartCount": 0, "state": state}
    since = (datetime.now(timezone.utc) - timedelta(hours=row.get("hours", 1))).strftime("%Y-%m-%dT%H:%M:%SZ")
    known = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": since}
    spec: dict[str, Any] = {"nodeName": row.get("node", CUT), "containers": [container], "restartPolicy": "Always"}
    spec |= {"serviceAccountName": row.get("account", "default"), "hostNetwork": bool(row.get("host"))}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _meta("pod", name, namespace="default", labels=labels, ownerReferences=[owner]),
        "spec": spec,
        "status": {"phase": "Running", "startTime": _EARLIER, "conditions": [known], "containerStatuses": [status]},
    }


def _owner(row: Row) -> str:
    return str(row["pod"]) if row.get("kind") else f"{row['pod']}-1"


def _node_class(row: Row) -> dict[str, Any]:
    options = {"metadataOptions": row["template"]} if row["template"] else {}
    meta = _meta("class", row["node"])
    return {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": meta, "spec": options}


@contextmanager
def served(aws: World, account: Mapping[str, Any]) -> Iterator[SimulatedApiServer]:
    """A served cluster with the rows of one account."""
    if account:
        aws.client("ec2").modify_instance_metadata_defaults(**account)
    nodes = sorted(rows_of(account, "node"), key=lambda row: bool(row["by"] == "pending"))  # it holds what follows
    estate, pods = Estate(aws), rows_of(account, "pod")
    late = {"clusterName": "prod", "namespace": "default", "serviceAccount": "late", "roleArn": ROLE}
    aws.client("eks").create_pod_identity_association(**late)
    plane = ControlPlane(worlds.START, StoredFacts(), seed=7)
    plane.load("namespaces", [worlds.namespace("default")])
    defined = [doc for doc in others() if doc["kind"] == "CustomResourceDefinition"]
    plane.load("customresourcedefinitions.apiextensions.k8s.io", defined)
    classes = [_node_class(row) for row in nodes if row["by"] == "karpenter"]
    plane.load("ec2nodeclasses.karpenter.k8s.aws", classes)
    plane.load("nodes", [_node(row, estate.provider_id(row)) for row in nodes])
    plane.load("pods", [_pod(row) for row in pods])
    aws.forget_calls()
    api = Api(plane, worlds.SETUP, ManualTime())
    for row in pods:
        if "log" in row:
            api.logs.store("default", row["pod"], "c", f"{row['log']}\n")
    with serving(api) as server:
        yield server
    assert list(api.internal_errors) == []
