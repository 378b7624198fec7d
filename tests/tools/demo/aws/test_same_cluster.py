"""The demo's account and the demo's cluster are consistent: nodes, images, add-ons, roles and addresses agree."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from kubectl_eksdoc.model import kinds
from tests.tools.demo.aws.questions import NAMED, OURS
from tools.demo import incidents, objects, world
from tools.demo.aws.demo_aws import DemoAws

Json = dict[str, Any]

AWS = DemoAws()

WORKLOADS = {
    "aws-ebs-csi-driver": ("ebs-csi-controller", "ebs-csi-node"),
    "coredns": ("coredns",),
    "kube-proxy": ("kube-proxy",),
    "metrics-server": ("metrics-server",),
    "vpc-cni": ("aws-node",),
}


@pytest.fixture(scope="module")
def nodes() -> dict[str, Json]:
    """The nodes that are EC2 instances, by instance id."""
    found = {node["spec"]["providerID"].rpartition("/")[2]: node for node in objects.objects()[kinds.NODES]}
    return {ident: node for ident, node in found.items() if ident.startswith("i-")}


@pytest.fixture(scope="module")
def workloads() -> dict[str, Json]:
    """The controllers of kube-system, by name."""
    held = objects.objects()
    every = (*held[kinds.DEPLOYMENTS], *held[kinds.DAEMON_SETS])
    return {o["metadata"]["name"]: o for o in every if o["metadata"]["namespace"] == "kube-system"}


def cluster() -> Json:
    return dict(AWS.ask("eks", "DescribeCluster", NAMED)["cluster"])


def node_group(name: str) -> Json:
    return dict(AWS.ask("eks", "DescribeNodegroup", {**OURS, "nodegroupName": name})["nodegroup"])


def addon(name: str) -> Json:
    return dict(AWS.ask("eks", "DescribeAddon", {**OURS, "addonName": name})["addon"])


def test_node_groups_are_those_of_the_nodes_labels(nodes: dict[str, Json]) -> None:
    labelled = [node["metadata"]["labels"].get("eks.amazonaws.com/nodegroup") for node in nodes.values()]
    assert set(labelled) - {None} == set(AWS.ask("eks", "ListNodegroups", OURS)["nodegroups"])
    for name in AWS.ask("eks", "ListNodegroups", OURS)["nodegroups"]:
        group = node_group(name)
        scaling = group["scalingConfig"]
        assert scaling["minSize"] <= scaling["desiredSize"] == labelled.count(name) <= scaling["maxSize"]


def test_the_cluster_is_that_of_the_demo() -> None:
    told = cluster()
    assert f"v{told['version']}" == world.SERVER_VERSION
    assert told["arn"] == f"arn:aws:eks:{world.REGION}:{world.ACCOUNT}:cluster/{world.CLUSTER}"
    assert told["endpoint"].endswith(f".{world.REGION}.eks.amazonaws.com")
    ident = told["endpoint"].removeprefix("https://").partition(".")[0]
    assert told["identity"]["oidc"]["issuer"] == f"https://oidc.eks.{world.REGION}.amazonaws.com/id/{ident}"
    assert AWS.ask("sts", "GetCallerIdentity", {})["Account"] == world.ACCOUNT
    oldest = min(o["metadata"]["creationTimestamp"] for group in objects.objects().values() for o in group)
    assert f"{told['createdAt']:%Y-%m-%dT%H:%M:%SZ}" < oldest


def test_every_addon_runs_at_its_version(workloads: dict[str, Json]) -> None:
    assert set(AWS.ask("eks", "ListAddons", OURS)["addons"]) == set(WORKLOADS)
    for name, run_by in WORKLOADS.items():
        release, _, build = addon(name)["addonVersion"].partition("-")
        for workload in run_by:
            spec = workloads[workload]["spec"]["template"]["spec"]
            for container in (*spec["containers"], *spec.get("initContainers", ())):
                if container["name"] == "aws-eks-nodeagent":
                    continue  # it counts its versions by itself
                said, _, said_build = container["image"].rpartition(":")[2].partition("-")
                assert (said, said_build or build) == (release, build), f"{name}: {container['image']}"


def test_addons_have_the_roles_of_their_service_accounts() -> None:
    key = "eks.amazonaws.com/role-arn"
    roles = {
        o["metadata"]["name"]: o["metadata"].get("annotations", {}).get(key)
        for o in incidents.others()
        if o["kind"] == "ServiceAccount"
    }
    for name, (first, *_) in WORKLOADS.items():
        assert addon(name).get("serviceAccountRoleArn") == roles[first], name


def test_one_version_of_an_addon_is_the_default() -> None:
    offered = AWS.ask("eks", "DescribeClusterVersions", {})["clusterVersions"]
    for version in (each["clusterVersion"] for each in offered):
        for told in AWS.ask("eks", "DescribeAddonVersions", {"kubernetesVersion": version})["addons"]:
            fits = [fit for build in told["addonVersions"] for fit in build["compatibilities"]]
            assert {fit["clusterVersion"] for fit in fits} == {version}
            assert [fit["defaultVersion"] for fit in fits].count(True) == 1, (told["addonName"], version)


def test_what_is_configured_is_allowed_by_the_schema() -> None:
    for name in WORKLOADS:
        asked = {"addonName": name, "addonVersion": addon(name)["addonVersion"]}
        text = AWS.ask("eks", "DescribeAddonConfiguration", asked).get("configurationSchema")
        assert (text is None) == (name in ("aws-ebs-csi-driver", "metrics-server"))
        if text:
            schema = json.loads(text)
            jsonschema.Draft6Validator.check_schema(schema)
            values = json.loads(addon(name).get("configurationValues", "{}"))
            assert list(jsonschema.Draft6Validator(schema).iter_errors(values)) == []
