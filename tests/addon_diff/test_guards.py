"""What forbids to send an update, what must be acknowledged, what is sent, and the way back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.addon_diff.guards import acknowledgement, refusals, sending, to_acknowledge
from kubectl_eksdoc.addon_diff.outcome import AddonRollback, way_back
from kubectl_eksdoc.addon_diff.plan import AddonPlan, plan_update
from kubectl_eksdoc.addon_diff.prediction import AddonFacts, AddonUpdateRequest, Mode
from kubectl_eksdoc.addon_diff.usage import Usage
from kubectl_eksdoc.model.addons import Addon
from kubectl_eksdoc.model.eks import EksCluster
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.nodes import Asks, Branch, Probe
from tests.addon_diff.incident import a_persons, version
from tests.builders import a_pod

CLUSTER = EksCluster("shop", "arn", "1.24", "", "ACTIVE", "", "")


def planned(
    asked: AddonUpdateRequest = AddonUpdateRequest(), status: str = "ACTIVE", to: str = "v1.15.1", **facts: Any
) -> AddonPlan:
    """The incident: two variables are set by a person, and pods have security groups."""
    now = facts.pop("now", version("v1.12.0"))
    target = version(to) if to != now.version else now
    usual = AddonFacts(
        CLUSTER,
        Addon("vpc-cni", now.version, status),
        now,
        target,
        {},
        (a_persons(),),
        (),
        Usage((a_pod("payment", "shop", branch=Branch(probes=(Probe("app", Asks.READINESS, "tcpSocket"),))),)),
        True,
        (target.version,),
    )
    return plan_update(replace(usual, **facts), asked, lambda values: ())


def whys(plan: AddonPlan, on_purpose: bool = True) -> str:
    return "; ".join(guard.why for guard in refusals(plan, on_purpose))


OVERWRITE = AddonUpdateRequest(Mode.OVERWRITE)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"status": "UPDATING"}, "another update of vpc-cni is in progress"),
        ({"status": "CREATE_FAILED"}, "vpc-cni is CREATE_FAILED"),
        ({"to": "v1.12.6", "offered": False}, "EKS does not offer v1.12.6-eksbuild.1 for Kubernetes 1.24"),
    ],
)
def test_what_forbids_it(facts: dict[str, Any], said: str) -> None:
    plan = planned(OVERWRITE, **facts)
    assert said in whys(plan)


def test_nothing_forbids_a_step_of_a_minor_and_a_failed_one_may_be_mended() -> None:
    for status in ("", "ACTIVE", "UPDATE_FAILED", "DEGRADED"):
        plan = planned(OVERWRITE, status, to="v1.12.6")
        assert refusals(plan, True) == ()
        named = {each.code.name for each in to_acknowledge(plan)}
        assert ("addon-not-active" in named) is (status in ("UPDATE_FAILED", "DEGRADED"))


def test_a_conflict_is_not_asked_for_and_a_loss_only_on_purpose() -> None:
    (guard,) = refusals(planned(to="v1.12.6"), True)
    assert guard.why == (
        "with NONE it would fail for a conflict with ENABLE_POD_ENI of container aws-node, DISABLE_TCP_EARLY_DEMUX of"
        " init container aws-vpc-cni-init"
    )
    lost = planned(OVERWRITE, to="v1.12.6")
    assert whys(lost) == "" and "with OVERWRITE it would take" in whys(lost, on_purpose=False)
    assert whys(planned(AddonUpdateRequest(Mode.PRESERVE), to="v1.12.6"), on_purpose=False) == ""


def test_what_is_critical_or_unknown_or_taken_away_is_acknowledged() -> None:
    plan = planned(OVERWRITE, to="v1.12.6")
    assert {each.severity.value for each in to_acknowledge(plan)} == {"critical"}
    assert acknowledgement(plan) == "vpc-cni v1.12.6-eksbuild.1"
    unknown = planned(
        AddonUpdateRequest(Mode.PRESERVE), to="v1.12.6", offered=Unknown("denied", "eks:DescribeAddonVersions")
    )
    assert any(each.status is Status.UNKNOWN for each in to_acknowledge(unknown))
    values = {"env": {"ENABLE_POD_ENI": "true"}}
    dropped = planned(AddonUpdateRequest(Mode.PRESERVE, {}), to="v1.12.6", values=values)
    assert "addon-values-dropped" in {each.code.name for each in to_acknowledge(dropped)}


def test_what_is_sent() -> None:
    plan = planned(OVERWRITE, to="v1.15.1")
    kept = sending(plan, as_asked=False)
    assert kept.asked.mode is Mode.OVERWRITE and not kept.on_purpose
    assert kept.asked.values == {
        "env": {"ENABLE_POD_ENI": "true"},
        "init": {"env": {"DISABLE_TCP_EARLY_DEMUX": "true"}},
    }
    assert len(kept.keeps) == 2
    assert sending(plan, as_asked=True).asked == OVERWRITE
    given = AddonUpdateRequest(Mode.OVERWRITE, {"env": {}})
    assert sending(planned(given), as_asked=False).asked == given
    nothing = planned(AddonUpdateRequest(Mode.NONE), values=Unknown("not JSON"))
    assert sending(nothing, as_asked=False).asked.values is None, "what is not known is not replaced"


def test_the_way_back_sets_what_the_old_version_lets_be_set() -> None:
    back = way_back(planned(OVERWRITE, to="v1.12.6", values={"env": {"MY_OWN": "1"}}))
    assert isinstance(back, AddonRollback) and back.version == "v1.12.0-eksbuild.1"
    assert back.values == {"env": {"MY_OWN": "1", "ENABLE_POD_ENI": "true"}}
    assert [field.variable for field in back.by_hand] == ["DISABLE_TCP_EARLY_DEMUX"], "v1.12.0 knows no init"
    far = way_back(planned(OVERWRITE, to="v1.15.1"))
    assert isinstance(far, AddonRollback) and any("one minor" in caveat for caveat in far.caveats)
    assert isinstance(way_back(planned(values=Unknown("not JSON"))), Unknown)
