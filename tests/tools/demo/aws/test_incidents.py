"""The four incidents stand in the demo's account as they stood in the real ones."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest

from kubectl_eksdoc.model import kinds
from tests.tools.demo.aws.questions import NAMED, OURS, instances, of_group, templates
from tools.demo import objects, world
from tools.demo.aws.demo_aws import DemoAws
from tools.demo.aws.refused import Refused

Json = dict[str, Any]

AWS = DemoAws()


def updates(**of: str) -> list[Json]:
    """In full, with their parameters as a mapping."""
    asked = {**NAMED, **of}
    idents = AWS.ask("eks", "ListUpdates", asked)["updateIds"]
    found = [AWS.ask("eks", "DescribeUpdate", {**asked, "updateId": each})["update"] for each in idents]
    return [{**each, "params": {p["type"]: p["value"] for p in each["params"]}} for each in found]


def test_the_network_addon_is_older_than_what_eks_would_choose() -> None:
    asked = {"addonName": "vpc-cni", "kubernetesVersion": "1.33"}
    (told,) = AWS.ask("eks", "DescribeAddonVersions", asked)["addons"]
    default = [b["addonVersion"] for b in told["addonVersions"] if b["compatibilities"][0]["defaultVersion"]]
    held = AWS.ask("eks", "DescribeAddon", {**OURS, "addonName": "vpc-cni"})["addon"]
    order = [build["addonVersion"] for build in told["addonVersions"]]
    assert default == ["v1.22.4-eksbuild.3"]
    assert order.index(held["addonVersion"]) > order.index(default[0])


def test_a_setting_that_was_made_by_hand_is_not_in_the_configuration() -> None:
    (daemons,) = (o for o in objects.objects()[kinds.DAEMON_SETS] if o["metadata"]["name"] == "aws-node")
    spec = daemons["spec"]["template"]["spec"]
    live = {each["name"]: each["value"] for each in spec["initContainers"][0]["env"]}
    held = AWS.ask("eks", "DescribeAddon", {**OURS, "addonName": "vpc-cni"})["addon"]
    assert live["DISABLE_TCP_EARLY_DEMUX"] == "true"
    assert json.loads(held["configurationValues"]) == {"env": {"ENABLE_POD_ENI": "true"}}
    asked = {"addonName": "vpc-cni", "addonVersion": held["addonVersion"]}
    schema = json.loads(AWS.ask("eks", "DescribeAddonConfiguration", asked)["configurationSchema"])
    assert "DISABLE_TCP_EARLY_DEMUX" in json.dumps(schema)


def test_the_last_update_of_the_network_addon_overwrote_what_the_one_before_had_met() -> None:
    last, before = updates(addonName="vpc-cni")
    assert (last["status"], last["params"]["ResolveConflicts"]) == ("Successful", "OVERWRITE")
    assert (before["status"], before["params"]["ResolveConflicts"]) == ("Failed", "NONE")
    assert "DISABLE_TCP_EARLY_DEMUX" in before["errors"][0]["errorMessage"]
    assert before["createdAt"] < last["createdAt"]
    held = AWS.ask("eks", "DescribeAddon", {**OURS, "addonName": "vpc-cni"})["addon"]
    assert (held["addonVersion"], held["modifiedAt"]) == (last["params"]["AddonVersion"], last["createdAt"])


def test_the_cluster_was_upgraded_before_its_new_nodes_were_made() -> None:
    (upgrade,) = updates()
    assert (upgrade["type"], upgrade["params"]["Version"]) == ("VersionUpdate", "1.33")
    groups = {
        name: AWS.ask("eks", "DescribeNodegroup", {**OURS, "nodegroupName": name})["nodegroup"]
        for name in ("blue", "green")
    }
    assert groups["blue"]["createdAt"] < upgrade["createdAt"] < groups["green"]["createdAt"]
    assert (groups["blue"]["version"], groups["green"]["version"]) == ("1.32", "1.33")


def insight(name: str) -> Json:
    found = AWS.ask("eks", "ListInsights", OURS)["insights"]
    (one,) = (each for each in found if each["name"] == name)
    return dict(AWS.ask("eks", "DescribeInsight", {**OURS, "id": one["id"]})["insight"])


def test_a_client_still_calls_an_api_that_the_next_version_lacks() -> None:
    told = insight("Deprecated APIs removed in Kubernetes v1.34")
    assert (told["insightStatus"]["status"], told["kubernetesVersion"]) == ("ERROR", "1.34")
    (called,) = told["categorySpecificSummary"]["deprecationDetails"]
    assert called["usage"] == "/apis/admissionregistration.k8s.io/v1beta1/validatingadmissionpolicies"
    assert called["stopServingVersion"] == "1.34"
    (client,) = called["clientStats"]
    name = client["userAgent"].partition("/")[0]
    assert name in [o["metadata"]["name"] for o in objects.objects()[kinds.DEPLOYMENTS]]


def test_an_addon_does_not_fit_the_next_version() -> None:
    told = insight("EKS add-on version compatibility")
    (misfit,) = told["categorySpecificSummary"]["addonCompatibilityDetails"]
    asked = {"addonName": misfit["name"], "kubernetesVersion": told["kubernetesVersion"]}
    (offered,) = AWS.ask("eks", "DescribeAddonVersions", asked)["addons"]
    assert misfit["compatibleVersions"] == [build["addonVersion"] for build in offered["addonVersions"]]
    held = AWS.ask("eks", "DescribeAddon", {**OURS, "addonName": misfit["name"]})["addon"]["addonVersion"]
    assert (misfit["name"], held in misfit["compatibleVersions"]) == ("coredns", False)


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [("Kubelet version skew", "WARNING", "v1.32."), ("Amazon Linux 2 compatibility", "ERROR", "Amazon Linux 2 ")],
)
def test_nodes_are_behind(name: str, status: str, said: str) -> None:
    told = insight(name)
    assert told["insightStatus"]["status"] == status
    behind = {
        f"nodes/{node['metadata']['name']}"
        for node in objects.objects()[kinds.NODES]
        if said in f"{node['status']['nodeInfo']['kubeletVersion']} {node['status']['nodeInfo']['osImage']} "
        and (name == "Kubelet version skew" or node["metadata"]["labels"].get("eks.amazonaws.com/nodegroup"))
    }
    assert {each["kubernetesResourceUri"] for each in told["resources"]} == behind != set()


def test_the_calendar_says_that_this_version_costs_extra() -> None:
    calendar = AWS.ask("eks", "DescribeClusterVersions", {})["clusterVersions"]
    (told,) = (each for each in calendar if each["clusterVersion"] == "1.33")
    assert (told["versionStatus"], told["status"]) == ("EXTENDED_SUPPORT", "extended-support")
    assert told["endOfStandardSupportDate"] == datetime(2026, 7, 29, tzinfo=timezone.utc)
    assert told["endOfExtendedSupportDate"] == datetime(2027, 7, 29, tzinfo=timezone.utc)


def metadata_of(group: str) -> Json:
    """The metadata options of its instances, which are all the same."""
    held = of_group(AWS, group)
    (one,) = {json.dumps(each["MetadataOptions"], sort_keys=True) for each in held}
    return dict(json.loads(one))


def test_pods_on_the_new_nodes_do_not_reach_the_instance_metadata() -> None:
    assert (metadata_of("green")["HttpTokens"], metadata_of("green")["HttpPutResponseHopLimit"]) == ("required", 1)
    assert (metadata_of("blue")["HttpTokens"], metadata_of("blue")["HttpPutResponseHopLimit"]) == ("optional", 2)
    types = [
        AWS.ask("eks", "DescribeNodegroup", {**OURS, "nodegroupName": name})["nodegroup"]["amiType"]
        for name in ("blue", "green")
    ]
    assert types == ["AL2_x86_64", "AL2023_x86_64_STANDARD"]


def test_nobody_but_eks_made_the_templates_of_the_node_groups() -> None:
    for name in ("blue", "green"):
        group = AWS.ask("eks", "DescribeNodegroup", {**OURS, "nodegroupName": name})["nodegroup"]
        assert "launchTemplate" not in group
        (first, *_) = of_group(AWS, name)
        (ident,) = (tag["Value"] for tag in first["Tags"] if tag["Key"] == "aws:ec2launchtemplate:id")
        (template,) = (each for each in templates(AWS) if each["LaunchTemplateId"] == ident)
        assert template["LaunchTemplateName"].startswith("eks-")
        assert "AWSServiceRoleForAmazonEKSNodegroup" in template["CreatedBy"]


def test_the_account_and_the_old_image_say_nothing_of_the_instance_metadata() -> None:
    defaults = AWS.ask("ec2", "GetInstanceMetadataDefaults", {})["AccountLevel"]
    assert set(defaults) <= {"ManagedBy"}
    images = AWS.ask("ec2", "DescribeImages", {})["Images"]
    assert {"al2023" in each["Name"]: each.get("ImdsSupport") for each in images} == {True: "v2.0", False: None}


def test_nothing_hears_of_spot_interruptions() -> None:
    with pytest.raises(Refused) as refused:
        AWS.ask("sqs", "GetQueueUrl", {"QueueName": world.CLUSTER})
    assert refused.value.code == "AWS.SimpleQueueService.NonExistentQueue"
    rules = AWS.ask("events", "ListRules", {})["Rules"]
    assert rules != []
    for rule in rules:
        assert not {"aws.ec2", "aws.health"} & set(json.loads(rule.get("EventPattern", "{}")).get("source", ()))
        for target in AWS.ask("events", "ListTargetsByRule", {"Rule": rule["Name"]})["Targets"]:
            assert ":sqs:" not in target["Arn"]


def test_names_are_looked_up_on_a_spot_instance() -> None:
    spot = {each["PrivateIpAddress"] for each in instances(AWS) if each.get("InstanceLifecycle") == "spot"}
    dns = [p for p in objects.objects()[kinds.PODS] if p["metadata"].get("labels", {}).get("k8s-app") == "kube-dns"]
    assert len(spot) == 2
    assert [p["status"]["hostIP"] in spot for p in dns].count(True) == 1
