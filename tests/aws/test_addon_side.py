"""The AWS side of a future or past update of one add-on: the requests, how often each is sent, and what each refusal
leaves unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kubectl_eksdoc.aws.addon_side import addon_past, addon_side
from kubectl_eksdoc.aws.asking import VerifiedCluster, verify_cluster
from kubectl_eksdoc.errors import AwsDenied, AwsMissing, UsageError
from kubectl_eksdoc.model.addons import EksAddonUpdate, UpdateHistory
from kubectl_eksdoc.model.kinds import Absent, Unknown
from tests.aws.answers import Scripted, sees
from tests.aws.test_live import CNI, NAME, live, prod
from tests.builders import NOW

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]
INSTALLED, TO = "v1.12.0-eksbuild.1", "v1.15.1-eksbuild.1"
"""The update to v1.12.6 of the cluster is under way: EKS tells the version of before until it is done."""


def seen(world: World) -> VerifiedCluster:
    aws = live(world)
    found = verify_cluster(aws, aws.access)
    world.forget_calls()
    return found


def test_four_questions_tell_all_of_it(prod: World) -> None:
    side = addon_side(seen(prod), "vpc-cni", TO)
    assert len(prod.calls) == 4, "and no more than five may be sent for an add-on"
    assert (side.addon.version, side.now.version, side.target.version) == (INSTALLED, INSTALLED, TO)
    assert isinstance(side.target.schema, dict) and isinstance(side.target.chart, dict)
    assert side.values == {} and side.steps[-1] == TO


def test_the_default_is_what_eks_marks(prod: World) -> None:
    of = seen(prod)
    assert addon_side(of, "vpc-cni", "").offered is True
    assert addon_side(of, "vpc-cni", "latest").offered is True
    assert addon_side(of, "vpc-cni", "v9.9.9-eksbuild.1").offered is False


def test_values_that_cannot_be_read_are_unknown() -> None:
    said = {"addonName": "vpc-cni", "addonVersion": INSTALLED, "configurationValues": "- 1"}
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
    assert side.addon.version == INSTALLED


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


DENIED = AwsDenied("IAM does not allow it", "", "eks:ListUpdates")
ADDON = {"addon": {"addonName": "vpc-cni", "addonVersion": "v1.19.5-eksbuild.1", "status": "ACTIVE"}}


def update(asked: dict[str, Any]) -> Any:
    name = asked["updateId"]
    if name == "none":
        return AwsMissing("no such update")
    params = [{"type": "ConfigurationValues", "value": "env: {A: '1'}"}] if name == "u3" else []
    moment = NOW.replace(day=int(name[1:]))
    said = {"id": name, "type": "AddonUpdate", "status": "Successful", "createdAt": moment, "params": params}
    return {"update": said}


def aws(**more: Any) -> Scripted:
    """Updates, the newest first, as EKS has listed them so far."""
    said = {"eks:DescribeAddon": ADDON, "eks:ListUpdates": {"updateIds": [f"u{day}" for day in range(8, 0, -1)]}}
    return Scripted({**said, "eks:DescribeUpdate": update, "eks:DescribeAddonConfiguration": {}, **more})


def test_the_first_few_that_are_listed_are_described_and_the_rest_counted() -> None:
    asked = aws()
    past = addon_past(sees(asked, "shop"), "vpc-cni", "")
    assert isinstance(past.history, UpdateHistory) and past.history.unseen == 3
    assert isinstance(past.update, EksAddonUpdate) and past.update.id == "u8"
    assert past.history.values == {}
    assert sum(name == "eks:DescribeUpdate" for name, _ in asked.asked) == 5
    assert len(asked.asked) <= 5 + 5


def test_an_update_that_is_named_is_asked_for_where_it_is_not_among_them() -> None:
    past = addon_past(sees(aws(), "shop"), "vpc-cni", "u1")
    assert isinstance(past.update, EksAddonUpdate) and past.update.id == "u1"
    with pytest.raises(AwsMissing, match="none is no update of add-on vpc-cni in cluster shop"):
        addon_past(sees(aws(), "shop"), "vpc-cni", "none")


def test_no_update_is_absent_and_none_that_may_be_listed_unknown() -> None:
    none = addon_past(sees(aws(**{"eks:ListUpdates": {"updateIds": []}}), "shop"), "vpc-cni", "")
    assert isinstance(none.update, Absent)
    denied = addon_past(sees(aws(**{"eks:ListUpdates": DENIED}), "shop"), "vpc-cni", "")
    assert isinstance(denied.update, Unknown) and denied.update.missing == "eks:ListUpdates"


def test_one_that_may_not_be_described_may_be_the_latest() -> None:
    def some(asked: dict[str, Any]) -> Any:
        return AwsDenied("no", "", "eks:DescribeUpdate") if asked["updateId"] == "u7" else update(asked)

    past = addon_past(sees(aws(**{"eks:DescribeUpdate": some}), "shop"), "vpc-cni", "")
    assert isinstance(past.update, Unknown) and past.update.missing == "eks:DescribeUpdate"
