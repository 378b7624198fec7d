"""When two plans are of one cluster, of two, and when that cannot be told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.baseline.side import SameClusterAnswer, SameClusterVerdict, kinship
from kubectl_eksdoc.model.baseline import Baseline, PlanOutline
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from tests.builders import NOW, a_budget, a_cluster, a_node

SHOP = Identity("prod", "shop", "111122223333", "eu-west-1", "v1.33", "uid-1")
NAMED = replace(SHOP, uid="")
BARE = Identity()
NODE = a_node("old-0")
BUDGET = a_budget("web")


def a_baseline(who: Identity, uids: frozenset[str] = frozenset()) -> Baseline:
    return Baseline(
        "old.json", who, Source.LIVE, NOW, "1.2.3", {}, PlanOutline((), (), (), 0, 0, 0, 0, None), frozenset(), uids
    )


def observed(who: Identity, **facts: Any) -> Cluster:
    return replace(a_cluster(**facts), identity=who, source=Source.LIVE)


@pytest.mark.parametrize(
    ("saved", "now", "expected"),
    [
        (SHOP, SHOP, SameClusterAnswer.SAME),
        # The uid decides, whatever the names are.
        (SHOP, Identity(context="renamed", cluster="other", uid="uid-1"), SameClusterAnswer.SAME),
        (SHOP, replace(SHOP, uid="uid-2"), SameClusterAnswer.OTHER),
        # A server that was upgraded is no other cluster, and a context has another name on another machine.
        (NAMED, replace(NAMED, server_version="v1.34", context="p"), SameClusterAnswer.SAME),
        (NAMED, replace(NAMED, cluster="blog"), SameClusterAnswer.OTHER),
        (NAMED, replace(NAMED, account="", context="p"), SameClusterAnswer.UNKNOWN),
        (NAMED, replace(NAMED, account=""), SameClusterAnswer.SAME),
        (replace(BARE, context="prod"), replace(BARE, context="prod"), SameClusterAnswer.SAME),
        (replace(BARE, context="prod"), replace(BARE, context="test"), SameClusterAnswer.UNKNOWN),
        (BARE, BARE, SameClusterAnswer.UNKNOWN),
    ],
)
def test_the_names(saved: Identity, now: Identity, expected: SameClusterAnswer) -> None:
    for one, other in ((saved, now), (now, saved)):
        found = kinship(a_baseline(one), observed(other))
        assert found.sameness is expected
        assert bool(found.why) == (expected is not SameClusterAnswer.SAME)


def test_an_object_in_both_is_of_one_cluster() -> None:
    """A dump without namespaces has neither names nor the uid of one."""
    mine = a_baseline(BARE, uids=frozenset({NODE.uid, "else"}))
    assert kinship(mine, observed(BARE, nodes=[NODE])).sameness is SameClusterAnswer.SAME
    assert kinship(mine, observed(BARE, nodes=[a_node("another")])).sameness is SameClusterAnswer.UNKNOWN
    assert kinship(
        a_baseline(BARE, uids=frozenset({BUDGET.uid})), observed(BARE, budgets=[BUDGET])
    ) == SameClusterVerdict(SameClusterAnswer.SAME)
    # A name may have been given wrongly on the command line; the uid of Namespace kube-system may not.
    named = replace(BARE, cluster="a"), replace(BARE, cluster="b")
    assert (
        kinship(a_baseline(named[0], uids=mine.uids), observed(named[1], nodes=[NODE])).sameness
        is SameClusterAnswer.SAME
    )
    told = replace(BARE, uid="uid-1"), replace(BARE, uid="uid-2")
    assert (
        kinship(a_baseline(told[0], uids=mine.uids), observed(told[1], nodes=[NODE])).sameness
        is SameClusterAnswer.OTHER
    )


def test_what_has_no_uid_is_in_no_other_plan() -> None:
    """Objects that were written by hand may have none."""
    assert (
        kinship(a_baseline(BARE), observed(BARE, nodes=[replace(NODE, uid="")])).sameness is SameClusterAnswer.UNKNOWN
    )


def test_the_demo_is_no_other_cluster() -> None:
    demo = replace(observed(SHOP), source=Source.DEMO)
    assert kinship(a_baseline(BARE), demo).sameness is SameClusterAnswer.OTHER
    assert kinship(replace(a_baseline(NAMED), source=Source.DEMO), observed(NAMED)).sameness is SameClusterAnswer.OTHER
    assert kinship(replace(a_baseline(SHOP), source=Source.DEMO), demo).sameness is SameClusterAnswer.SAME


def test_both_clusters_are_named() -> None:
    other = Identity("test", "blog", "", "eu-north-1", "", "uid-2")
    assert kinship(a_baseline(SHOP), observed(other)).why == (
        "it has cluster shop in account 111122223333 in eu-west-1 (context prod), "
        "this one has cluster blog in eu-north-1 (context test) (their uids differ)"
    )
    why = kinship(a_baseline(BARE), observed(SHOP)).why
    assert why.startswith("the baseline has a cluster of unknown name, this plan has cluster shop in ")
