"""What a check asks of EKS besides: a refresh of insights, of a live cluster alone."""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.aws.believing import Believed
from kubectl_eksdoc.aws.insights import InsightRefresh
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.check_needs import Need, Wanted
from kubectl_eksdoc.wiring.checks import CheckWorld
from tests.aws.upgrade_account import account, sees
from tests.builders import a_cluster

UNUSED: Any = None


def world(aws: Believed | Unknown, live: bool) -> CheckWorld:
    return CheckWorld(a_cluster(), aws, UNUSED, UNUSED, live=live)


def test_only_a_live_cluster_is_looked_at_anew() -> None:
    assert isinstance(world(sees(account()), live=True).refreshes, InsightRefresh)
    assert world(sees(account()), live=False).refreshes == Unknown("only EKS itself can refresh them")
    why = Unknown("it is another account")
    assert world(why, live=True).refreshes == why


def test_what_is_wanted_is_told() -> None:
    wanted = Wanted(frozenset((Need.NODE_GROUPS,)), "1.33", "1.34", ("1.34",))
    told = world(sees(account()), live=True).tell(wanted)
    assert set(told.node_groups) == {"g00"}  # type: ignore[arg-type]
    why = Unknown("it is another account")
    assert world(why, live=True).tell(wanted).node_groups == why
