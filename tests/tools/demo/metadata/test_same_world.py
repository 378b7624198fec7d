"""The additions for imds-probe are consistent with the demo, and the demo itself stays unchanged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubectl_eksdoc.embedded.demo.reader import NOW
from kubectl_eksdoc.embedded.loading import load_documents
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource
from tests.tools.demo.aws.questions import OURS, instances
from tools.demo import incidents, objects, world
from tools.demo.aws.demo_aws import DemoAws
from tools.demo.metadata.cluster import extend
from tools.demo.metadata.world import ALL_MACHINES, ESTATE, NEW_MACHINES

Json = dict[str, Any]

AWS = DemoAws(ESTATE)
ALL = {"IncludeManagedResources": True}


@pytest.fixture(scope="module")
def held() -> dict[Resource, list[Json]]:
    found, others = objects.objects(), list(incidents.others())
    extend(found, others)
    found[kinds.NODE_CLASSES] = [each for each in others if each["kind"] == "EC2NodeClass"]
    return found


def named(items: list[Json]) -> list[str]:
    return [f"{each['metadata'].get('namespace', '')}/{each['metadata']['name']}" for each in items]


def tags(item: Json) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in item["Tags"]}


def of_ec2(held: dict[Resource, list[Json]]) -> dict[str, Json]:
    found = {node["spec"]["providerID"].rpartition("/")[2]: node for node in held[kinds.NODES]}
    return {ident: node for ident, node in found.items() if ident.startswith("i-")}


def test_all_of_the_demo_is_in_it(held: dict[Resource, list[Json]]) -> None:
    demo = objects.objects()
    for resource, several in demo.items():
        assert set(named(several)) <= set(named(held[resource]))
        changed = [each for each in several if each not in held[resource]]
        assert all(each["spec"]["serviceAccountName"] in incidents.WITH_ROLE for each in changed), resource.plural
    assert len(held[kinds.NODES]) == len(world.MACHINES) + len(NEW_MACHINES) == len(ALL_MACHINES)


def test_a_server_would_have_taken_it(held: dict[Resource, list[Json]]) -> None:
    definitions = [each for each in incidents.others() if each["kind"] == "CustomResourceDefinition"]
    objects = [each for several in held.values() for each in several]
    loaded = load_documents([*definitions, *objects], NOW)
    assert not loaded.malformed and not loaded.duplicates
    assert set(loaded.undeclared) <= {"karpenter.sh/v1 NodePool", "elbv2.k8s.aws/v1beta1 TargetGroupBinding"}


def test_every_instance_is_a_node_and_says_the_same(held: dict[Resource, list[Json]]) -> None:
    nodes = of_ec2(held)
    told = instances(AWS, **ALL)
    assert {each["InstanceId"] for each in told} == set(nodes)
    for each in told:
        node = nodes[each["InstanceId"]]
        labels, said = node["metadata"]["labels"], tags(each)
        assert each["Placement"]["AvailabilityZone"] == labels["topology.kubernetes.io/zone"]
        assert each["PrivateIpAddress"] == node["status"]["addresses"][0]["address"]
        assert (each["VpcId"], node["spec"]["providerID"].split("/")[3]) == (
            world.VPC,
            labels["topology.kubernetes.io/zone"],
        )
        assert f"{each['LaunchTime']:%Y-%m-%dT%H:%M:%SZ}" < node["metadata"]["creationTimestamp"]
        assert each["InstanceType"] == labels["node.kubernetes.io/instance-type"]
        assert said.get("eks:nodegroup-name") == labels.get("eks.amazonaws.com/nodegroup")
        assert said.get("karpenter.sh/nodepool") == labels.get("karpenter.sh/nodepool")
        assert said.get("karpenter.k8s.aws/ec2nodeclass") == labels.get("karpenter.k8s.aws/ec2nodeclass")
        assert said.get("alpha.eksctl.io/nodegroup-name") == labels.get("alpha.eksctl.io/nodegroup-name")


def test_those_of_auto_mode_are_hidden_from_who_does_not_ask_for_them() -> None:
    hidden = {each["InstanceId"] for each in instances(AWS, **ALL)} - {each["InstanceId"] for each in instances(AWS)}
    (auto,) = (each for each in instances(AWS, **ALL) if each["InstanceId"] in hidden)
    assert auto["Operator"]["Managed"] and tags(auto)["karpenter.sh/nodepool"] == "general-purpose"


def test_a_role_by_pod_identity_is_one_that_is_associated(held: dict[Resource, list[Json]]) -> None:
    (short,) = AWS.ask("eks", "ListPodIdentityAssociations", OURS)["associations"]
    asked = {**OURS, "associationId": short["associationId"]}
    told = AWS.ask("eks", "DescribePodIdentityAssociation", asked)["association"]
    assert told.items() >= short.items() and told["roleArn"].endswith("thumbnailer")
    uri = "AWS_CONTAINER_CREDENTIALS_FULL_URI"
    pods = [pod for pod in held[kinds.PODS] if uri in json.dumps(pod)]
    assert {(pod["metadata"]["namespace"], pod["spec"]["serviceAccountName"]) for pod in pods} == {
        (short["namespace"], short["serviceAccount"])
    }
