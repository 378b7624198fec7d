"""The demo's account and the demo's cluster are of one world: nodes, images, add-ons, roles and addresses agree."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from kubectl_eksdoc.model import kinds
from tests.tools.demo.aws.questions import NAMED, OURS, instances, of_group, templates
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
    """The nodes that are instances of EC2, by the ids of these."""
    found = {node["spec"]["providerID"].rpartition("/")[2]: node for node in objects.objects()[kinds.NODES]}
    return {ident: node for ident, node in found.items() if ident.startswith("i-")}


@pytest.fixture(scope="module")
def workloads() -> dict[str, Json]:
    """The controllers of kube-system, by name."""
    held = objects.objects()
    every = (*held[kinds.DEPLOYMENTS], *held[kinds.DAEMON_SETS])
    return {o["metadata"]["name"]: o for o in every if o["metadata"]["namespace"] == "kube-system"}


def tags(item: Json) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in item["Tags"]}


def cluster() -> Json:
    return dict(AWS.ask("eks", "DescribeCluster", NAMED)["cluster"])


def node_group(name: str) -> Json:
    return dict(AWS.ask("eks", "DescribeNodegroup", {**OURS, "nodegroupName": name})["nodegroup"])


def addon(name: str) -> Json:
    return dict(AWS.ask("eks", "DescribeAddon", {**OURS, "addonName": name})["addon"])


def scaling_group(name: str) -> Json:
    groups = AWS.ask("autoscaling", "DescribeAutoScalingGroups", {})["AutoScalingGroups"]
    (group,) = (each for each in groups if each["AutoScalingGroupName"] == name)
    return dict(group)


def test_every_node_but_fargates_is_an_instance(nodes: dict[str, Json]) -> None:
    assert {each["InstanceId"] for each in instances(AWS)} == set(nodes)
    assert len(nodes) == len(world.MACHINES) - 1


def test_instances_are_where_their_nodes_say(nodes: dict[str, Json]) -> None:
    for each in instances(AWS):
        node = nodes[each["InstanceId"]]
        labels = node["metadata"]["labels"]
        addresses = {a["type"]: a["address"] for a in node["status"]["addresses"]}
        assert each["Placement"]["AvailabilityZone"] == labels["topology.kubernetes.io/zone"]
        assert node["spec"]["providerID"].split("/")[3] == each["Placement"]["AvailabilityZone"]
        assert each["InstanceType"] == labels["node.kubernetes.io/instance-type"]
        assert (each["PrivateIpAddress"], each["PrivateDnsName"]) == (addresses["InternalIP"], addresses["InternalDNS"])
        assert f"{each['LaunchTime']:%Y-%m-%dT%H:%M:%SZ}" < node["metadata"]["creationTimestamp"]
        assert each["VpcId"] == world.VPC == cluster()["resourcesVpcConfig"]["vpcId"]


def test_instances_are_of_the_pool_and_image_that_their_nodes_say(nodes: dict[str, Json]) -> None:
    for each in instances(AWS):
        labels, said = nodes[each["InstanceId"]]["metadata"]["labels"], tags(each)
        assert said.get("eks:nodegroup-name") == labels.get("eks.amazonaws.com/nodegroup")
        assert said.get("karpenter.sh/nodepool") == labels.get("karpenter.sh/nodepool")
        assert said.get("karpenter.k8s.aws/ec2nodeclass") == labels.get("karpenter.k8s.aws/ec2nodeclass")
        assert each.get("InstanceLifecycle") == labels.get("karpenter.sh/capacity-type")
        assert each["ImageId"] == labels.get("eks.amazonaws.com/nodegroup-image", each["ImageId"])
        assert said[f"kubernetes.io/cluster/{world.CLUSTER}"] == "owned"


def test_nodes_of_one_image_run_the_same(nodes: dict[str, Json]) -> None:
    run: dict[str, set[str]] = {}
    for each in instances(AWS):
        told = nodes[each["InstanceId"]]["status"]["nodeInfo"]
        run.setdefault(each["ImageId"], set()).add(f"{told['osImage']} {told['kubeletVersion']}")
    assert [len(held) for held in run.values()] == [1, 1]
    assert set(run) < {image["ImageId"] for image in AWS.ask("ec2", "DescribeImages", {})["Images"]}


def test_node_groups_are_those_of_the_nodes_labels(nodes: dict[str, Json]) -> None:
    labelled = [node["metadata"]["labels"].get("eks.amazonaws.com/nodegroup") for node in nodes.values()]
    assert set(labelled) - {None} == set(AWS.ask("eks", "ListNodegroups", OURS)["nodegroups"])
    for name in AWS.ask("eks", "ListNodegroups", OURS)["nodegroups"]:
        group = node_group(name)
        scaling = group["scalingConfig"]
        assert scaling["minSize"] <= scaling["desiredSize"] == labelled.count(name) <= scaling["maxSize"]


def test_node_groups_have_the_version_of_their_kubelets(nodes: dict[str, Json]) -> None:
    for node in nodes.values():
        if name := node["metadata"]["labels"].get("eks.amazonaws.com/nodegroup"):
            kubelet, group = node["status"]["nodeInfo"]["kubeletVersion"], node_group(name)
            assert kubelet.startswith(f"v{group['version']}.")
            assert group["releaseVersion"].partition("-")[0] == kubelet[1:].partition("-")[0]
            assert group["amiType"].partition("_")[0] == {"1.32": "AL2", "1.33": "AL2023"}[group["version"]]


def test_scaling_groups_hold_the_instances_of_their_node_group() -> None:
    for name in ("blue", "green"):
        (resource,) = node_group(name)["resources"]["autoScalingGroups"]
        group = scaling_group(resource["name"])
        wanted = of_group(AWS, name)
        assert {each["InstanceId"] for each in group["Instances"]} == {each["InstanceId"] for each in wanted}
        assert {tags(each)["aws:autoscaling:groupName"] for each in wanted} == {group["AutoScalingGroupName"]}
        sizes = {key: group[f"{key[0].upper()}{key[1:]}"] for key in ("minSize", "maxSize")}
        assert sizes | {"desiredSize": group["DesiredCapacity"]} == node_group(name)["scalingConfig"]
        assert group["VPCZoneIdentifier"].split(",") == node_group(name)["subnets"]


def test_instances_come_from_a_template_that_exists() -> None:
    known = {each["LaunchTemplateId"]: each["LaunchTemplateData"] for each in templates(AWS)}
    for each in instances(AWS):
        data = known[tags(each)["aws:ec2launchtemplate:id"]]
        assert data["ImageId"] == each["ImageId"]
        assert data["MetadataOptions"].items() <= each["MetadataOptions"].items()
        assert {"HttpTokens", "HttpPutResponseHopLimit"} <= set(data["MetadataOptions"])
        assert each["IamInstanceProfile"]["Arn"].endswith(f"/{data['IamInstanceProfile']['Name']}")
    for name in ("blue", "green"):
        group = scaling_group(node_group(name)["resources"]["autoScalingGroups"][0]["name"])
        specification = group["MixedInstancesPolicy"]["LaunchTemplate"]["LaunchTemplateSpecification"]
        assert specification["LaunchTemplateId"] in known
        assert {each["LaunchTemplate"]["LaunchTemplateId"] for each in group["Instances"]} == {
            specification["LaunchTemplateId"]
        }


def test_karpenters_template_says_what_its_class_of_nodes_says() -> None:
    (said,) = (o["spec"]["metadataOptions"] for o in incidents.others() if o["kind"] == "EC2NodeClass")
    (template,) = (each for each in templates(AWS) if each["LaunchTemplateName"].startswith("karpenter.k8s.aws/"))
    options = template["LaunchTemplateData"]["MetadataOptions"]
    assert {f"{key[0].lower()}{key[1:]}": value for key, value in options.items()}.items() >= said.items()


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


def test_whatever_runs_of_eks_is_an_addon(workloads: dict[str, Json]) -> None:
    run = {
        name
        for name, workload in workloads.items()
        if workload["spec"]["template"]["spec"]["containers"][0]["image"].startswith(world.EKS_IMAGES)
    }
    assert run == {name for names in WORKLOADS.values() for name in names}


def test_addons_have_the_roles_of_their_service_accounts() -> None:
    key = "eks.amazonaws.com/role-arn"
    roles = {
        o["metadata"]["name"]: o["metadata"].get("annotations", {}).get(key)
        for o in incidents.others()
        if o["kind"] == "ServiceAccount"
    }
    for name, (first, *_) in WORKLOADS.items():
        assert addon(name).get("serviceAccountRoleArn") == roles[first], name


def test_addons_are_offered_for_this_cluster() -> None:
    for name in WORKLOADS:
        asked = {"addonName": name, "kubernetesVersion": cluster()["version"]}
        (told,) = AWS.ask("eks", "DescribeAddonVersions", asked)["addons"]
        assert addon(name)["addonVersion"] in [build["addonVersion"] for build in told["addonVersions"]]
        assert (told["publisher"], told["owner"]) == (addon(name)["publisher"], addon(name)["owner"])


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


def test_the_nodes_have_older_releases_than_eks_recommends() -> None:
    kinds_of = {"blue": "1.32/amazon-linux-2", "green": "1.33/amazon-linux-2023/x86_64/standard"}
    for name, kind in kinds_of.items():
        top = f"/aws/service/eks/optimized-ami/{kind}/recommended"
        said = json.loads(AWS.ask("ssm", "GetParameter", {"Name": top})["Parameter"]["Value"])
        images = AWS.ask("ec2", "DescribeImages", {})["Images"]
        (newest,) = (each for each in images if each["ImageId"] == said["image_id"])
        assert newest["Name"] == said["image_name"]
        release = node_group(name)["releaseVersion"]
        assert said["release_version"].partition(".")[0] == release.partition(".")[0]
        assert said["release_version"].rpartition("-")[2] > release.rpartition("-")[2]
        group = of_group(AWS, name)
        assert said["image_id"] not in {each["ImageId"] for each in group}


def test_subnets_are_those_of_the_cluster_and_of_the_instances() -> None:
    subnets = {each["SubnetId"]: each for each in AWS.ask("ec2", "DescribeSubnets", {})["Subnets"]}
    assert list(subnets) == cluster()["resourcesVpcConfig"]["subnetIds"] == node_group("blue")["subnets"]
    assert {each["VpcId"] for each in subnets.values()} == {world.VPC}
    for each in instances(AWS):
        assert subnets[each["SubnetId"]]["AvailabilityZone"] == each["Placement"]["AvailabilityZone"]
    assert sorted(each["AvailableIpAddressCount"] > 100 for each in subnets.values()) == [False, True, True]


def test_the_account_has_no_fewer_vcpus_in_use_than_the_cluster() -> None:
    spot = sum(4 for each in instances(AWS) if each.get("InstanceLifecycle") == "spot")
    others = 4 * len(instances(AWS)) - spot
    assert {each["InstanceType"] for each in instances(AWS)} == {"m6i.xlarge"}, "of 4 vCPUs"
    for code, ours in (("L-1216C47A", others), ("L-34B43A08", spot)):
        quota = AWS.ask("service-quotas", "GetServiceQuota", {"ServiceCode": "ec2", "QuotaCode": code})["Quota"]
        named = [{"Name": key, "Value": value} for key, value in quota["UsageMetric"]["MetricDimensions"].items()]
        metric = {"Namespace": "AWS/Usage", "MetricName": quota["UsageMetric"]["MetricName"], "Dimensions": named}
        query = {"Id": "m0", "MetricStat": {"Metric": metric, "Period": 300, "Stat": "Maximum"}}
        (told,) = AWS.ask("cloudwatch", "GetMetricData", {"MetricDataQueries": [query]})["MetricDataResults"]
        assert ours <= told["Values"][0] < quota["Value"]
