"""Recognising software by its image, and reading its version from a tag or a variable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.amazon.addon_needs import (
    BY_NAME,
    VPC_CNI,
    installed_version,
    labelled,
    recognised,
    repository,
    tag_of,
    version_of,
)
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.quantities import Version

ECR = "602401143452.dkr.ecr.eu-west-1.amazonaws.com"


@pytest.mark.parametrize(
    ("image", "path", "tag"),
    [
        ("nginx", "nginx", ""),
        ("localhost/a/b:1", "a/b", "1"),
        ("registry:5000/a/b", "a/b", ""),
        ("registry:5000/a/b:v1.2.3@sha256:0123", "a/b", "v1.2.3"),
        ("public.ecr.aws/karpenter/controller@sha256:ab", "karpenter/controller", ""),
        ("", "", ""),
    ],
)
def test_parts_of_an_image(image: str, path: str, tag: str) -> None:
    assert (repository(image), tag_of(image)) == (path, tag)


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("x:v1.12.6-eksbuild.1", Version(1, 12, 6)),
        ("x:1.9", Version(1, 9)),
        ("x:v0.61.0-debian-11-r1@sha256:00", Version(0, 61, 0)),
    ],
)
def test_versions_of_tags(image: str, version: Version) -> None:
    assert version_of(image) == version


@pytest.mark.parametrize("image", ["x", "x:latest", "x:3", "x:1.2.3.4", "x:v1.x", ""])
def test_tags_that_tell_none(image: str) -> None:
    assert isinstance(version_of(image), Unknown)


@given(st.integers(0, 9999), st.integers(0, 9999), st.integers(0, 9999), st.sampled_from(["", "-eksbuild.1", "-rc.1"]))
def test_every_version_is_read_back(major: int, minor: int, patch: int, ending: str) -> None:
    assert version_of(f"{ECR}/eks/x:v{major}.{minor}.{patch}{ending}") == Version(major, minor, patch)


@pytest.mark.parametrize(
    ("image", "name"),
    [
        (f"{ECR}/amazon-k8s-cni:v1.12.6-eksbuild.1", "vpc-cni"),
        ("public.ecr.aws/eks/aws-load-balancer-controller:v2.7.1", "aws-load-balancer-controller"),
        ("registry.k8s.io/autoscaling/cluster-autoscaler:v1.30.0", "cluster-autoscaler"),
        ("public.ecr.aws/karpenter/controller:1.1.0@sha256:00", "Karpenter"),
        ("quay.io/jetstack/cert-manager-controller:v1.18.2", "cert-manager"),
        ("docker.io/istio/pilot:1.26.0-distroless", "Istio"),
    ],
)
def test_each_is_recognised_by_its_image(image: str, name: str) -> None:
    found = recognised(image)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    "image",
    [
        f"{ECR}/amazon-k8s-cni-init:v1.12.6",
        f"{ECR}/amazon/aws-network-policy-agent:v1.1.0",
        "my.registry/controller:1.0",
        "my.registry/not-karpenter/controller:1.0",
        "quay.io/jetstack/cert-manager-webhook:v1.18.2",
        "web:1",
    ],
)
def test_others_are_not(image: str) -> None:
    assert recognised(image) is None


def test_labels_tell_it_where_images_do_not() -> None:
    assert labelled({"k8s-app": "aws-node"}) == VPC_CNI
    assert labelled({"app.kubernetes.io/name": "karpenter"}) == BY_NAME["Karpenter"]
    assert labelled({"app": "web"}) is None


def test_the_version_of_fluent_bit_is_a_variable() -> None:
    fluent_bit, image = (
        BY_NAME["aws-for-fluent-bit"],
        "public.ecr.aws/aws-observability/aws-for-fluent-bit:2.32.0",
    )
    assert installed_version(fluent_bit, image, {"CI_VERSION": "k8s/1.3.36"}) == Version(1, 3, 36)
    assert isinstance(installed_version(fluent_bit, image), Unknown)
    assert isinstance(installed_version(fluent_bit, image, {"CI_VERSION": "k8s/new"}), Unknown)
    assert installed_version(VPC_CNI, "amazon-k8s-cni:v1.12.6", {"CI_VERSION": "k8s/1.0.0"}) == Version(1, 12, 6)
