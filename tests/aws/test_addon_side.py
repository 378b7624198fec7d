"""AWS's side of one add-on's update: what is asked for it, how often, and what each refusal leaves unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kubectl_eksdoc.aws.addon_side import addon_side
from kubectl_eksdoc.aws.asking import VerifiedCluster, believed
from kubectl_eksdoc.errors import AwsDenied, AwsMissing, UsageError
from kubectl_eksdoc.model.kinds import Unknown
from tests.aws.answers import Scripted, sees
from tests.aws.test_live import CNI, NAME, live, prod

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]
NOW, TO = "v1.12.0-eksbuild.1", "v1.15.1-eksbuild.1"
"""The update to v1.12.6 of the cluster is under way: EKS tells the version of before until it is done."""


def seen(world: World) -> VerifiedCluster:
    aws = live(world)
    found = believed(aws, aws.access)
    world.forget_calls()
    return found


def test_four_questions_tell_all_of_it(prod: World) -> None:
    side = addon_side(seen(prod), "vpc-cni", TO)
    assert len(prod.calls) == 4, "and no more than five may be sent for an add-on"
    assert (side.addon.version, side.now.version, side.target.version) == (NOW, NOW, TO)
    assert isinstance(side.target.schema, dict) and isinstance(side.target.chart, dict)
    assert side.values == {} and side.steps[-1] == TO


def test_the_default_is_what_eks_marks(prod: World) -> None:
    of = seen(prod)
    assert addon_side(of, "vpc-cni", "").offered is True
    assert addon_side(of, "vpc-cni", "latest").offered is True
    assert addon_side(of, "vpc-cni", "v9.9.9-eksbuild.1").offered is False


def test_values_that_cannot_be_read_are_unknown() -> None:
    said = {"addonName": "vpc-cni", "addonVersion": NOW, "configurationValues": "- 1"}
    side = addon_side(sees(Scripted({"eks:DescribeAddon": {"addon": said}})), "vpc-cni", TO)
    assert isinstance(side.values, Unknown) and "cannot be read" in side.values.why
    assert isinstance(side.offered, Unknown) and isinstance(side.target.schema, Unknown)


@pytest.mark.parametrize("call", ["DescribeAddonVersions", "DescribeAddonConfiguration"])
def test_what_may_not_be_asked_leaves_the_rest_standing(prod: World, call: str) -> None:
    of = seen(prod)
    prod.deny(f"eks:{call}")
    side = addon_side(of, "vpc-cni", TO)
    told = {"DescribeAddonVersions": side.offered, "DescribeAddonConfiguration": side.target.schema}
    unknown = {name: answer for name, answer in told.items() if isinstance(answer, Unknown)}
    assert list(unknown) == [call] and unknown[call].missing == f"eks:{call}"
    assert side.addon.version == NOW


def test_without_versions_the_target_must_be_named(prod: World) -> None:
    of = seen(prod)
    prod.deny("eks:DescribeAddonVersions")
    with pytest.raises(UsageError, match="which version of vpc-cni is the default one for Kubernetes 1.24") as told:
        addon_side(of, "vpc-cni", "")
    assert "--to VERSION" in told.value.hint


def test_an_addon_that_is_not_there_or_may_not_be_seen(prod: World) -> None:
    of = seen(prod)
    with pytest.raises(AwsMissing, match=f"karpenter is no EKS add-on of cluster {NAME}"):
        addon_side(of, "karpenter", TO)
    prod.deny("eks:DescribeAddon")
    with pytest.raises(AwsDenied) as refused:
        addon_side(of, CNI["addonName"], TO)
    assert refused.value.missing == "eks:DescribeAddon"
