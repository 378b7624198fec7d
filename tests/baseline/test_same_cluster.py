"""Whether two plans are of one cluster, of two clusters, or whether that is unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.baseline.side import SameClusterAnswer, SameClusterVerdict, same_cluster
from kubectl_eksdoc.model.baseline import Baseline, PlanOutline
from kubectl_eksdoc.model.cluster import Identity, Source
from tests.builders import NOW, a_budget, a_cluster, a_node

SHOP = Identity("prod", "shop", "111122223333", "eu-west-1", "v1.33", "uid-1")
NAMED = replace(SHOP, uid="")
BARE = Identity()
NODE = a_node("old-0")
BUDGET = a_budget("web")


def verdict(
    saved: Identity,
    now: Identity,
    uids: tuple[str, ...] = (),
    sources: tuple[Source, ...] = (Source.LIVE,) * 2,
    **facts: Any,
) -> SameClusterVerdict:
    """The verdict on a plan that was saved with these `uids`, and the cluster as it is now."""
    outline = PlanOutline((), (), (), 0, 0, 0, 0, None)
    plan = Baseline("old.json", saved, sources[0], NOW, "1.2.3", {}, outline, frozenset(), frozenset(uids))
    return same_cluster(plan, replace(a_cluster(**facts), identity=now, source=sources[1]))


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
        found = verdict(one, other)
        assert found.answer is expected and bool(found.why) == (expected is not SameClusterAnswer.SAME)


def test_an_object_in_both_is_of_one_cluster() -> None:
    """A dump without namespaces has no namespace name and no UID. Objects that a user wrote by hand have no UID."""
    mine = (NODE.uid, "else")
    assert verdict(BARE, BARE, mine, nodes=[NODE]).answer is SameClusterAnswer.SAME
    assert verdict(BARE, BARE, mine, nodes=[a_node("another")]).answer is SameClusterAnswer.UNKNOWN
    assert verdict(BARE, BARE, (BUDGET.uid,), budgets=[BUDGET]) == SameClusterVerdict(SameClusterAnswer.SAME)
    # A name may have been given wrongly on the command line; the uid of Namespace kube-system may not.
    named, told = ([replace(BARE, **{what: of}) for of in "ab"] for what in ("cluster", "uid"))
    assert verdict(*named, mine, nodes=[NODE]).answer is SameClusterAnswer.SAME
    assert verdict(*told, mine, nodes=[NODE]).answer is SameClusterAnswer.OTHER
    assert verdict(BARE, BARE, nodes=[replace(NODE, uid="")]).answer is SameClusterAnswer.UNKNOWN


def test_the_demo_is_no_other_cluster() -> None:
    live, demo = Source.LIVE, Source.DEMO
    assert verdict(BARE, SHOP, sources=(live, demo)).answer is SameClusterAnswer.OTHER
    assert verdict(NAMED, NAMED, sources=(demo, live)).answer is SameClusterAnswer.OTHER
    assert verdict(SHOP, SHOP, sources=(demo, demo)).answer is SameClusterAnswer.SAME


def test_both_clusters_are_named() -> None:
    other = Identity("test", "blog", "", "eu-north-1", "", "uid-2")
    assert verdict(SHOP, other).why == (
        "it has cluster shop in account 111122223333 in eu-west-1 (context prod), "
        "this one has cluster blog in eu-north-1 (context test) (their uids differ)"
    )
    why = verdict(BARE, SHOP).why
    assert why.startswith("the baseline has a cluster of unknown name, this plan has cluster shop in ")
