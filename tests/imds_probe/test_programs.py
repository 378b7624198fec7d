"""Software that is known to use the metadata service, and the alternative for each of its needs."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.imds_probe.programs import (
    ContainerCommand,
    ImdsNeed,
    ProgramNeeds,
    is_known_not_to_ask,
    needs_of,
    never_asks,
    program_of,
    program_of_image,
    programs_by_image,
)
from kubectl_eksdoc.model.nodes import Calls, Pod
from tests.builders import a_pod

LBC = "public.ecr.aws/eks/aws-load-balancer-controller:v2.13.0"


@pytest.mark.parametrize(
    ("image", "name"),
    [
        (LBC, "aws-load-balancer-controller"),
        ("602401143452.dkr.ecr.eu-west-1.amazonaws.com/eks/aws-ebs-csi-driver:v1.44.0", "aws-ebs-csi-driver"),
        ("registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0@sha256:0123", "cluster-autoscaler"),
        ("localhost:5000/external-dns", "external-dns"),
        ("external-dns@sha256:0123", "external-dns"),
        *((image, "") for image in ("", "shop/cart:1", "cluster-autoscaler-priority-expander:1", "cart:external-dns")),
    ],
)
def test_by_the_name_of_the_image(image: str, name: str) -> None:
    found = program_of_image(image)
    assert (found.name if found else "") == name


def pod(image: str, owner: str = "ReplicaSet/p-1") -> Pod:
    return a_pod("p", calls=Calls(images=(image,)), owner=owner)


def needs(
    image: str, *arguments: str, role: bool = True, owner: str = "ReplicaSet/p-1", **more: object
) -> ProgramNeeds:
    of = pod(image, owner)
    found = program_of(of)
    assert found is not None
    return needs_of(found, of, ContainerCommand(arguments, **more), role)  # type: ignore[arg-type]


BOTH = (ImdsNeed.REGION, ImdsNeed.VPC)


def test_flags_and_variables_meet_a_need_if_they_have_a_value() -> None:
    assert needs(LBC, "--cluster-name=shop").surely == BOTH
    assert not needs(LBC, "--aws-vpc-tags=Name=shop", variables=("AWS_REGION",))
    assert needs(LBC, "--aws-region", "eu-west-1").surely == (ImdsNeed.VPC,)
    assert needs(LBC, "--aws-region=", "--aws-vpc-id=").surely == BOTH, "a template without a value"
    assert needs(LBC, "--aws-vpc-id=x", variables=("AWS_REGION",), values=(("AWS_REGION", ""),)).surely == (
        ImdsNeed.REGION,
    )


OFF, ELSEWHERE = "AWS_EC2_METADATA_DISABLED", "AWS_EC2_METADATA_SERVICE_ENDPOINT"


@pytest.mark.parametrize(
    ("name", "value", "never"),
    [
        *((OFF, value, never) for value, never in (("true", True), ("TRUE", True), ("false", False), ("", False))),
        (ELSEWHERE, "http://proxy.kube-system", True),
        (ELSEWHERE, "http://[fd00:ec2::254]", False),
        (ELSEWHERE, "http://169.254.169.254", False),
    ],
)
def test_an_sdk_that_must_not_ask(name: str, value: str, never: bool) -> None:
    assert never_asks(ContainerCommand((), (name,), False, ((name, value),))) is never
    assert not never_asks(ContainerCommand((), (name,))) and not never_asks(None), "what it is told is not known"


@pytest.mark.parametrize(
    ("arguments", "value", "given"),
    [
        (("sh", "-c", "exec /controller --region=x --v=4"), "x", True),
        (("/bin/sh", "-c", "/run.sh"), None, None),
        (("/controller",), None, False),
        (("--region=$(REGION)",), "?", True),
        (("--region=$(EMPTY)",), "", False),
        (("bash", "-c", "/controller --region $REGION"), "?", True),
    ],
)
def test_flags_within_a_command_of_a_shell(arguments: tuple[str, ...], value: str | None, given: bool | None) -> None:
    started = ContainerCommand(arguments, ("REGION", "EMPTY"), False, (("EMPTY", ""),))
    assert (started.flag("--region"), started.is_given("--region")) == (value, given)


def test_there_are_enough_of_them_and_each_can_be_left() -> None:
    asking = [each for each in programs_by_image().values() if each.asks]
    assert len({each.name for each in asking}) >= 35
    for each in asking:
        assert each.fix and each.images and each.modes and not any(map(is_known_not_to_ask, each.images)), each.name
        assert each.modes[-1].when == () or len(each.modes) > 1, each.name
