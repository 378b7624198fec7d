"""Add-ons of the tests' EKS, driven by the official client: what is refused, kept, changed and offered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.aws.world.server import World

VPC_CNI = {"clusterName": "prod", "addonName": "vpc-cni"}
ROLE = "arn:aws:iam::111122223333:role/cni"


def made(eks: Any, version: str = "v1.12.0-eksbuild.1", **more: Any) -> dict[str, Any]:
    return dict(eks.create_addon(**VPC_CNI, addonVersion=version, **more)["addon"])


def test_an_addon_is_created_listed_described_and_deleted(eks: Any) -> None:
    assert made(eks, tags={"team": "net"})["status"] == "CREATING"
    eks.get_waiter("addon_active").wait(**VPC_CNI)
    addon = eks.describe_addon(**VPC_CNI)["addon"]
    assert (addon["addonVersion"], addon["status"], addon["health"]) == (
        "v1.12.0-eksbuild.1",
        "ACTIVE",
        {"issues": []},
    )
    assert addon["addonArn"].startswith("arn:aws:eks:ap-northeast-2:111122223333:addon/prod/vpc-cni/")
    assert addon["tags"] == {"team": "net"}
    assert addon["createdAt"].tzinfo is not None
    assert eks.list_addons(clusterName="prod")["addons"] == ["vpc-cni"]
    assert eks.delete_addon(**VPC_CNI, preserve=True)["addon"]["status"] == "DELETING"
    eks.get_waiter("addon_deleted").wait(**VPC_CNI)
    assert eks.list_addons(clusterName="prod")["addons"] == []


def test_without_a_version_the_default_of_the_cluster_is_taken(eks: Any) -> None:
    assert eks.create_addon(**VPC_CNI)["addon"]["addonVersion"] == "v1.12.6-eksbuild.1"


def test_what_is_not_there_is_a_typed_exception(eks: Any) -> None:
    with pytest.raises(
        eks.exceptions.ResourceNotFoundException, match="No addon: vpc-cni found in cluster: prod"
    ) as it:
        eks.describe_addon(**VPC_CNI)
    assert it.value.response["addonName"] == "vpc-cni"
    assert it.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404
    for call in (eks.describe_addon, eks.update_addon, eks.delete_addon, eks.create_addon):
        with pytest.raises(eks.exceptions.ResourceNotFoundException, match="No cluster found for name: other"):
            call(clusterName="other", addonName="vpc-cni")


def test_an_addon_that_is_there_is_not_created_again(eks: Any) -> None:
    made(eks)
    with pytest.raises(eks.exceptions.ResourceInUseException, match="Addon already exists") as it:
        made(eks)
    assert it.value.response["ResponseMetadata"]["HTTPStatusCode"] == 409


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"addonVersion": "v9.9.9-eksbuild.1"}, "Addon version specified is not supported"),
        ({"addonVersion": "v1.20.1-eksbuild.3"}, "Addon version specified is not supported"),  # not for 1.24
        ({"resolveConflicts": "FORCE"}, r"enum value set: \[OVERWRITE, NONE, PRESERVE\]"),
        ({"configurationValues": "[1, 2]"}, "must be a JSON or YAML object"),
        ({"configurationValues": "{:"}, "Unable to parse"),
        (
            {"configurationValues": '{"init": {"env": {"DISABLE_TCP_EARLY_DEMUX": "true"}}}'},
            r"\[\$\.init: is not defined in the schema and the schema does not allow additional properties\]",
        ),
        (
            {"configurationValues": "env: {ENABLE_POD_ENI: true}"},
            r"\$\.env\.ENABLE_POD_ENI: boolean found, string expected",
        ),
    ],
)
def test_what_the_version_does_not_allow_is_refused(eks: Any, asked: dict[str, str], says: str) -> None:
    with pytest.raises(eks.exceptions.InvalidParameterException, match=says):
        eks.create_addon(**{**VPC_CNI, "addonVersion": "v1.12.0-eksbuild.1", **asked})
    made(eks)
    with pytest.raises(eks.exceptions.InvalidParameterException, match=says):
        eks.update_addon(**{**VPC_CNI, **asked})


def test_an_addon_nobody_offers_is_refused(eks: Any) -> None:
    with pytest.raises(eks.exceptions.InvalidParameterException, match="Addon specified is not supported"):
        eks.create_addon(clusterName="prod", addonName="weather")


def test_values_of_a_version_without_known_schema_need_only_be_an_object(eks: Any) -> None:
    made(eks, "v1.11.0-eksbuild.1", configurationValues="anything: [goes]")
    assert eks.describe_addon(**VPC_CNI)["addon"]["configurationValues"] == "anything: [goes]"


def test_an_update_changes_the_addon_only_when_it_ends(aws: World, eks: Any) -> None:
    made(eks, configurationValues='{"env": {"ENABLE_POD_ENI": "true"}}')
    values = json.dumps({"init": {"env": {"DISABLE_TCP_EARLY_DEMUX": "true"}}})
    update = eks.update_addon(
        **VPC_CNI, addonVersion="v1.15.1-eksbuild.1", resolveConflicts="PRESERVE", configurationValues=values
    )["update"]
    assert (update["status"], update["type"], update["errors"]) == ("InProgress", "AddonUpdate", [])
    assert update["params"] == [
        {"type": "AddonVersion", "value": "v1.15.1-eksbuild.1"},
        {"type": "ResolveConflicts", "value": "PRESERVE"},
        {"type": "ConfigurationValues", "value": values},
    ]
    before = eks.describe_addon(**VPC_CNI)["addon"]
    assert (before["status"], before["addonVersion"]) == ("UPDATING", "v1.12.0-eksbuild.1")

    aws.eks().finish(update["id"])
    eks.get_waiter("addon_active").wait(**VPC_CNI)
    after = eks.describe_addon(**VPC_CNI)["addon"]
    assert (after["addonVersion"], after["configurationValues"]) == ("v1.15.1-eksbuild.1", values)
    ended = eks.describe_update(name="prod", addonName="vpc-cni", updateId=update["id"])["update"]
    assert ended["status"] == "Successful"


def test_values_that_are_not_given_stay(aws: World, eks: Any) -> None:
    made(eks, configurationValues='{"env": {"ENABLE_POD_ENI": "true"}}', serviceAccountRoleArn=ROLE)
    update = eks.update_addon(**VPC_CNI, addonVersion="v1.12.6-eksbuild.1")["update"]
    aws.eks().finish(update["id"])
    addon = eks.describe_addon(**VPC_CNI)["addon"]
    assert addon["configurationValues"] == '{"env": {"ENABLE_POD_ENI": "true"}}'
    assert addon["serviceAccountRoleArn"] == ROLE


def test_an_empty_object_takes_all_values_back(aws: World, eks: Any) -> None:
    made(eks, configurationValues='{"env": {"ENABLE_POD_ENI": "true"}}')
    aws.eks().finish(eks.update_addon(**VPC_CNI, configurationValues="{}")["update"]["id"])
    assert eks.describe_addon(**VPC_CNI)["addon"]["configurationValues"] == "{}"


def test_a_failed_update_leaves_the_version_and_says_why(aws: World, eks: Any) -> None:
    made(eks)
    update = eks.update_addon(**VPC_CNI, addonVersion="v1.12.6-eksbuild.1")["update"]
    says = 'Conflicts: DaemonSet.apps aws-node - .spec.template.spec.containers[name="aws-node"].env[name="X"].value'
    aws.eks().fail(update["id"], "ConfigurationConflict", says, "aws-node")
    addon = eks.describe_addon(**VPC_CNI)["addon"]
    assert (addon["status"], addon["addonVersion"]) == ("UPDATE_FAILED", "v1.12.0-eksbuild.1")
    assert addon["health"]["issues"] == [
        {"code": "ConfigurationConflict", "message": says, "resourceIds": ["aws-node"]}
    ]
    ended = eks.describe_update(name="prod", addonName="vpc-cni", updateId=update["id"])["update"]
    assert ended["status"] == "Failed"
    assert ended["errors"] == [
        {"errorCode": "ConfigurationConflict", "errorMessage": says, "resourceIds": ["aws-node"]}
    ]


def test_one_update_at_a_time(eks: Any) -> None:
    made(eks)
    first = eks.update_addon(**VPC_CNI, addonVersion="v1.12.6-eksbuild.1")["update"]["id"]
    with pytest.raises(eks.exceptions.ResourceInUseException, match=f"currently has update {first} in progress"):
        eks.update_addon(**VPC_CNI, addonVersion="v1.12.6-eksbuild.1")


def test_an_addon_that_is_being_created_fails_its_waiter(aws: World, eks: Any) -> None:
    from botocore.exceptions import WaiterError

    aws.eks().creating = "CREATING"
    made(eks)
    assert eks.describe_addon(**VPC_CNI)["addon"]["status"] == "CREATING"
    issue = {"code": "InsufficientNumberOfReplicas", "message": "no nodes", "resourceIds": []}
    aws.eks().settle_addon("prod", "vpc-cni", "CREATE_FAILED", issue)
    with pytest.raises(WaiterError, match="CREATE_FAILED"):
        eks.get_waiter("addon_active").wait(**VPC_CNI)
    assert eks.describe_addon(**VPC_CNI)["addon"]["health"] == {"issues": [issue]}


def test_what_carries_updates_out_may_end_them(aws: World, eks: Any) -> None:
    made(eks)
    seen = []
    state = aws.eks()

    def carry_out(update: Any) -> None:
        seen.append((update.addon, update.type))
        state.finish(update.id)

    state.carry_out = carry_out
    asked = eks.update_addon(**VPC_CNI, addonVersion="v1.12.6-eksbuild.1")["update"]
    assert (asked["status"], seen) == ("InProgress", [("vpc-cni", "AddonUpdate")])
    assert eks.describe_addon(**VPC_CNI)["addon"]["addonVersion"] == "v1.12.6-eksbuild.1"


def test_identities_of_an_addon_are_its_own(aws: World, eks: Any) -> None:
    one, two = ({"serviceAccount": name, "roleArn": ROLE} for name in ("aws-node", "other"))
    addon = made(eks, podIdentityAssociations=[one])
    known = eks.list_pod_identity_associations(clusterName="prod")["associations"]
    assert [a["associationArn"] for a in known] == addon["podIdentityAssociations"]
    assert (known[0]["serviceAccount"], known[0]["ownerArn"]) == ("aws-node", addon["addonArn"])

    aws.eks().finish(eks.update_addon(**VPC_CNI, podIdentityAssociations=[two])["update"]["id"])
    known = eks.list_pod_identity_associations(clusterName="prod")["associations"]
    assert [a["serviceAccount"] for a in known] == ["other"]
    eks.delete_addon(**VPC_CNI)
    assert eks.list_pod_identity_associations(clusterName="prod")["associations"] == []


def test_versions_are_those_for_the_cluster_newest_first(eks: Any) -> None:
    (addon,) = eks.describe_addon_versions(addonName="vpc-cni", kubernetesVersion="1.24")["addons"]
    versions = addon["addonVersions"]
    assert [v["addonVersion"] for v in versions][:2] == ["v1.15.1-eksbuild.1", "v1.15.0-eksbuild.2"]
    assert all([c["clusterVersion"] for c in v["compatibilities"]] == ["1.24"] for v in versions)
    defaults = [v["addonVersion"] for v in versions if v["compatibilities"][0]["defaultVersion"]]
    assert defaults == ["v1.12.6-eksbuild.1"]
    assert (addon["owner"], addon["publisher"], addon["defaultNamespace"]) == ("aws", "eks", "kube-system")


def test_versions_are_asked_for_by_type_and_owner(eks: Any) -> None:
    names = [a["addonName"] for a in eks.describe_addon_versions(types=["networking"], owners=["aws"])["addons"]]
    assert names == ["coredns", "kube-proxy", "vpc-cni"]
    assert eks.describe_addon_versions(publishers=["other"])["addons"] == []
    assert eks.describe_addon_versions(addonName="weather")["addons"] == []


def test_real_schemas_are_served_and_more_can_be_offered(aws: World, eks: Any) -> None:
    from tests.aws.world.catalogue import Offer

    answer = eks.describe_addon_configuration(addonName="coredns", addonVersion="v1.10.1-eksbuild.11")
    assert "autoScaling" in json.loads(answer["configurationSchema"])["definitions"]["Coredns"]["properties"]
    unknown = eks.describe_addon_configuration(addonName="vpc-cni", addonVersion="v1.11.0-eksbuild.1")
    assert "configurationSchema" not in unknown
    with pytest.raises(eks.exceptions.InvalidParameterException, match="version specified is not supported"):
        eks.describe_addon_configuration(addonName="vpc-cni", addonVersion="v0")

    aws.eks().catalogue.offers.insert(0, Offer("weather", "v1", ("1.24",), ("1.24",), '{"type": "object"}'))
    assert eks.create_addon(clusterName="prod", addonName="weather")["addon"]["addonVersion"] == "v1"
