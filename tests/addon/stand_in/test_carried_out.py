"""The official client updates the add-on, and the objects of a cluster change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.addon.stand_in import hands
from tests.addon.stand_in.carried_out import carried_out
from tests.addon.stand_in.histories import installed
from tests.addon.stand_in.service import AddonService

if TYPE_CHECKING:
    from tests.aws.world.server import World

NAMES = {"clusterName": "prod", "addonName": "vpc-cni"}
OLD, NEW = "v1.12.0-eksbuild.1", "v1.15.1-eksbuild.1"


@pytest.fixture
def service() -> AddonService:
    made = installed(OLD)
    hands.sets_env(made.objects, "ENABLE_POD_ENI", "true")
    return made


@pytest.fixture
def client(aws: World, service: AddonService) -> Any:
    client, role = aws.client("eks"), "arn:aws:iam::111122223333:role/any"
    client.create_cluster(name="prod", version="1.24", roleArn=role, resourcesVpcConfig={"subnetIds": ["subnet-1"]})
    client.create_addon(**NAMES, addonVersion=OLD)
    aws.eks().carry_out = carried_out(aws.eks(), service)
    return client


def update(client: Any, **params: str) -> Any:
    begun = client.update_addon(**NAMES, addonVersion=NEW, **params)["update"]
    assert begun["status"] == "InProgress"
    return client.describe_update(name="prod", addonName="vpc-cni", updateId=begun["id"])["update"]


def pod_eni(service: AddonService) -> Any:
    doc = service.objects.get("DaemonSet", "aws-node")
    assert doc is not None
    return hands.env_of(doc)["ENABLE_POD_ENI"]


@pytest.mark.long
def test_without_force_the_update_fails_for_the_conflict(client: Any, service: AddonService) -> None:
    ended = update(client)
    assert ended["status"] == "Failed"
    (error,) = ended["errors"]
    assert error["errorCode"] == "ConfigurationConflict"
    assert 'env[name="ENABLE_POD_ENI"].value' in error["errorMessage"]
    addon = client.describe_addon(**NAMES)["addon"]
    assert (addon["status"], addon["addonVersion"], pod_eni(service)) == ("UPDATE_FAILED", OLD, "true")


def test_values_in_the_same_call_keep_it(client: Any, service: AddonService) -> None:
    ended = update(client, resolveConflicts="OVERWRITE", configurationValues='{"env":{"ENABLE_POD_ENI":"true"}}')
    assert (ended["status"], pod_eni(service)) == ("Successful", "true")
