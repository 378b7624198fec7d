"""What a check asks of EKS: all of it, or why nothing of AWS is believed."""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.aws.asking import VerifiedCluster
from kubectl_eksdoc.check.read import upgrade_side
from kubectl_eksdoc.model.check_needs import CheckNeed, WantedVersions
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.session.session import Observed
from tests.aws.upgrade_account import account, sees
from tests.builders import a_cluster

UNUSED: Any = None


def session(aws: VerifiedCluster | Unknown) -> Observed:
    return Observed(a_cluster(), aws, UNUSED, live=True)


def test_what_is_wanted_is_told() -> None:
    wanted = WantedVersions(frozenset((CheckNeed.NODE_GROUPS,)), "1.33", "1.34", ("1.34",))
    told = upgrade_side(session(sees(account())), wanted)
    assert set(told.node_groups) == {"g00"}  # type: ignore[arg-type]
    why = Unknown("it is another account")
    assert upgrade_side(session(why), wanted).node_groups == why
