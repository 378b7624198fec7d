"""What an ARN and the name of a region tell."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.model.eks import part_of, partition_of


@pytest.mark.parametrize(
    ("region", "partition"),
    [
        ("eu-west-1", "aws"),
        ("us-east-1", "aws"),
        ("cn-north-1", "aws-cn"),
        ("us-gov-west-1", "aws-us-gov"),
        ("us-iso-east-1", "aws-iso"),
        ("us-isob-east-1", "aws-iso-b"),
        ("", "aws"),
    ],
)
def test_the_partition_of_a_region(region: str, partition: str) -> None:
    assert partition_of(region) == partition


def test_a_part_that_is_not_there_is_empty() -> None:
    assert part_of("arn:aws-cn:eks:cn-north-1:1:cluster/a", 1) == "aws-cn" and part_of("prod", 3) == ""
