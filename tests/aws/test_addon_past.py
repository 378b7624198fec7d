"""What AWS is asked of an add-on that was updated: the latest updates, one that is named, and what may not be asked."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.aws.addon_side import addon_past
from kubectl_eksdoc.errors import AwsDenied, AwsMissing
from kubectl_eksdoc.model.addons import EksAddonUpdate, UpdateHistory
from kubectl_eksdoc.model.kinds import Absent, Unknown
from tests.aws.answers import Scripted, sees
from tests.builders import NOW

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
    """The newest first, as EKS lists them so far."""
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
