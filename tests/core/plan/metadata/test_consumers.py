"""Who is known to ask the metadata service, and what makes it free of that."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.core.plan.metadata.consumers import CONSUMERS, Started, consumer_of

LBC = "public.ecr.aws/eks/aws-load-balancer-controller:v2.13.0"


@pytest.mark.parametrize(
    ("image", "name"),
    [
        (LBC, "aws-load-balancer-controller"),
        ("602401143452.dkr.ecr.eu-west-1.amazonaws.com/eks/aws-ebs-csi-driver:v1.44.0", "aws-ebs-csi-driver"),
        ("registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0@sha256:0123", "cluster-autoscaler"),
        ("localhost:5000/external-dns", "external-dns"),
        ("external-dns@sha256:0123", "external-dns"),
    ],
)
def test_by_the_name_of_the_image(image: str, name: str) -> None:
    found = consumer_of(image)
    assert found is not None and found.name == name


@pytest.mark.parametrize("image", ["", "shop/cart:1", "cluster-autoscaler-priority-expander:1", "cart:external-dns"])
def test_others_are_not_known(image: str) -> None:
    assert consumer_of(image) is None


def test_the_load_balancer_controller_wants_region_and_vpc() -> None:
    found = consumer_of(LBC)
    assert found is not None
    assert [need.what for need in found.lacks(Started(["--cluster-name=shop"], []))] == [
        "its region",
        "the id of its VPC",
    ]
    assert [need.what for need in found.lacks(Started(["--aws-vpc-tags=Name=shop"], ["AWS_REGION"]))] == []
    assert [need.what for need in found.lacks(Started(["--aws-region", "eu-west-1"], []))] == ["the id of its VPC"]


@given(some.text())
def test_any_name_of_an_image_can_be_looked_at(image: str) -> None:
    consumer_of(image)


def test_each_has_its_source_and_its_way_out() -> None:
    assert all(each.images and bool(each.way_out) is each.asks for each in CONSUMERS)
    names = [image for each in CONSUMERS for image in each.images]
    assert len(set(names)) == len(names)
