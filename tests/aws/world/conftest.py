"""A cluster in the AWS of the tests, made and asked by the official client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.aws.world.server import World

ROLE = "arn:aws:iam::111122223333:role/any"


@pytest.fixture
def eks(aws: World) -> Any:
    """The official client of EKS, and a cluster `prod` of version 1.24."""
    client = aws.client("eks")
    client.create_cluster(name="prod", version="1.24", roleArn=ROLE, resourcesVpcConfig={"subnetIds": ["subnet-1"]})
    return client


@pytest.fixture
def group(eks: Any) -> str:
    """The name of a node group of `prod`."""
    made = eks.create_nodegroup(
        clusterName="prod", nodegroupName="blue", subnets=["subnet-1"], nodeRole=ROLE, version="1.24"
    )
    return str(made["nodegroup"]["nodegroupName"])
