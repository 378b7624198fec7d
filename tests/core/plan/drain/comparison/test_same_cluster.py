"""When two plans are of one cluster, of two, and when that cannot be told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.core.model.cluster import Identity
from kubectl_eksdoc.core.plan.drain.comparison.same_cluster import Kinship, Sameness, kinship

SHOP = Identity("prod", "shop", "111122223333", "eu-west-1", "v1.33", "uid-1")
NAMED = replace(SHOP, uid="")
BARE = Identity()


@pytest.mark.parametrize(
    ("saved", "now", "expected"),
    [
        (SHOP, SHOP, Sameness.SAME),
        # The uid decides, whatever the names are.
        (SHOP, Identity(context="renamed", cluster="other", uid="uid-1"), Sameness.SAME),
        (SHOP, replace(SHOP, uid="uid-2"), Sameness.OTHER),
        # A server that was upgraded is no other cluster, and a context has another name on another machine.
        (NAMED, replace(NAMED, server_version="v1.34", context="p"), Sameness.SAME),
        (NAMED, SHOP, Sameness.SAME),
        (NAMED, replace(NAMED, cluster="blog"), Sameness.OTHER),
        (NAMED, replace(NAMED, account="444455556666"), Sameness.OTHER),
        (NAMED, replace(NAMED, region="eu-north-1"), Sameness.OTHER),
        (NAMED, replace(NAMED, account="", context="p"), Sameness.UNKNOWN),
        (NAMED, replace(NAMED, account=""), Sameness.SAME),
        (replace(BARE, context="prod"), replace(BARE, context="prod"), Sameness.SAME),
        (replace(BARE, context="prod"), replace(BARE, context="test"), Sameness.UNKNOWN),
        (BARE, SHOP, Sameness.UNKNOWN),
        (BARE, BARE, Sameness.UNKNOWN),
    ],
)
def test_kinship(saved: Identity, now: Identity, expected: Sameness) -> None:
    assert kinship(saved, now).sameness is expected
    assert kinship(now, saved).sameness is expected
    assert bool(kinship(saved, now).why) == (expected is not Sameness.SAME)


def test_both_clusters_are_named() -> None:
    other = Identity("test", "blog", "", "eu-north-1", "", "uid-2")
    assert kinship(SHOP, other) == Kinship(
        Sameness.OTHER,
        "it has cluster shop in account 111122223333 in eu-west-1 (context prod), "
        "this one has cluster blog in eu-north-1 (context test) (their uids differ)",
    )
    assert kinship(BARE, SHOP).why.startswith("the baseline has no name, this plan has cluster shop in ")
