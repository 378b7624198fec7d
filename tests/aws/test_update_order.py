"""The latest updates, however EKS lists them: in the order of time few are described, in no order more of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from kubectl_eksdoc.aws import eks
from kubectl_eksdoc.model.addons import EksAddonUpdate, UpdateHistory
from kubectl_eksdoc.model.kinds import Absent, Unknown
from tests.aws.upgrade_account import account, count, sees

DAY = datetime(2026, 11, 1, tzinfo=timezone.utc)


def history(ids: list[int], begun: Callable[[int], Any]) -> tuple[UpdateHistory, int]:
    """Of updates that EKS lists in that order, and how many were described."""

    def described(asked: dict[str, Any]) -> Any:
        id = asked["updateId"]
        return {"update": {"id": id, "type": "VersionUpdate", "status": "Successful", "createdAt": begun(int(id))}}

    aws = account(ListUpdates={"updateIds": [str(each) for each in ids]}, DescribeUpdate=described)
    found = eks.updates(sees(aws), {}, 3)
    assert not isinstance(found, (Unknown, Absent))
    return found, count(aws)["eks:DescribeUpdate"]


def days(id: int) -> datetime:
    return DAY + timedelta(days=id)


def named(of: UpdateHistory) -> list[str]:
    return [each.id for each in of.updates if isinstance(each, EksAddonUpdate)]


def test_of_those_that_come_newest_first_the_first_are_described() -> None:
    found, asked = history([9, 8, 7, 6, 5], days)
    assert (named(found), found.unseen, asked) == (["9", "8", "7"], 2, 3)


@pytest.mark.parametrize("ids", [[5, 6, 7, 8, 9], [7, 5, 9, 6, 8]])
def test_where_they_come_in_another_order_the_latest_is_found_all_the_same(ids: list[int]) -> None:
    found, asked = history(ids, days)
    assert (named(found), found.unseen, asked) == (["9", "8", "7", "6", "5"], 0, 5)


def test_that_has_an_end() -> None:
    found, asked = history(list(range(1, 100)), days)
    assert (found.unseen, asked) == (99 - eks.MOST_SEARCHED, eks.MOST_SEARCHED)


def test_those_that_do_not_say_when_they_began_tell_no_order() -> None:
    found, asked = history([5, 6, 7, 8], lambda _: None)
    assert (found.unseen, asked) == (1, 3)
