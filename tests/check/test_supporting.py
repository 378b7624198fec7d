"""How long a version is supported, what it costs, what EKS does at the end, and whether the target can be had."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.model.eks import ClusterVersion
from kubectl_eksdoc.model.findings import Severity, Status
from tests.builders import NOW
from tests.check.healthy import DENIED, EKS, found, healthy, statuses, with_aws


def told(
    standard_days: int, extended_days: int, status: str = "STANDARD_SUPPORT", policy: str = "EXTENDED"
) -> CheckFacts:
    ends = NOW + timedelta(days=standard_days), NOW + timedelta(days=extended_days)
    version = ClusterVersion("1.33", status, False, NOW - timedelta(days=400), *ends)
    facts = with_aws(healthy(), versions=(version, ClusterVersion("1.34", "STANDARD_SUPPORT", True)))
    return replace(facts, eks=replace(EKS, support=policy))


_MEDIUM, _HIGH = Severity.MEDIUM, Severity.HIGH


@pytest.mark.parametrize(("days", "severity"), [(90, _MEDIUM), (31, _MEDIUM), (30, _HIGH), (1, _HIGH)])
def test_standard_support_ends_soon(days: int, severity: Severity) -> None:
    (one,) = found(told(days, 400), "support-ends")
    assert one.severity is severity
    assert f"in {days} day" in one.message
    assert "extended support begins and is billed, about $365 a month more" in one.message
    assert "Upgrade to a version with standard support" in one.remedy[0].text


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        (told(20, 400), "support-ends"),
        (told(-10, 200, "EXTENDED_SUPPORT"), "support-extended"),
        (told(20, 400, policy="STANDARD"), "support-over"),
    ],
)
def test_of_a_control_plane_that_may_be_newer_than_its_kubelets_it_is_not_known(facts: CheckFacts, code: str) -> None:
    (one,) = found(replace(facts, way=replace(facts.way, assumed=True)), code)
    assert one.status is Status.UNKNOWN and one.missing == "the version of the control plane"
    assert "if the control plane has 1.33, as the newest kubelet: nothing tells its version" in one.message


def test_a_day_more_is_not_soon() -> None:
    assert statuses(told(91, 400), "support-ends") == []


def test_with_a_standard_policy_eks_upgrades() -> None:
    (one,) = found(told(20, 400, policy="STANDARD"), "support-ends")
    assert "EKS upgrades the control plane by itself" in one.message
    (over,) = found(told(20, 400, policy="STANDARD"), "support-over")
    assert over.severity is Severity.CRITICAL


def test_extended_support_is_billed_whatever_the_policy_says() -> None:
    (one,) = found(told(-10, 200, "EXTENDED_SUPPORT", "STANDARD"), "support-extended")
    assert "about $365 a month more" in one.message and "in 200 days" in one.message


def test_an_end_that_has_passed_is_at_any_time() -> None:
    (one,) = found(told(-400, -3, "UNSUPPORTED"), "support-over")
    assert one.severity is Severity.CRITICAL and "at any time from now on" in one.message


def test_without_the_policy_what_eks_does_is_not_known() -> None:
    assert statuses(told(-10, 40, "EXTENDED_SUPPORT", ""), "support-over") == ["unknown"]


def test_a_day_that_is_over_is_not_in_some_days() -> None:
    """EKS lists a version with the old status for a while."""
    (one,) = found(told(-121, 400), "support-ends")
    assert "121 days ago" in one.message and "in -" not in one.message
    assert one.severity is Severity.HIGH


def test_a_table_with_a_date_stands_in() -> None:
    """1.33 has been in extended support since 2026-07-29 by the user guide's calendar."""
    (one,) = found(with_aws(healthy(), versions=DENIED), "support-extended")
    assert any("dates of the table of 2026-" in each and DENIED.why in each for each in one.evidence)


def test_a_version_that_nobody_lists() -> None:
    facts = with_aws(healthy(now="1.50", target="1.51"), versions=DENIED)
    (one,) = found(facts, "support-ends")
    assert (one.status.value, one.missing) == ("unknown", DENIED.missing)


def test_a_target_that_is_not_offered() -> None:
    (one,) = found(healthy(target="1.35"), "target-version")
    assert one.status.value == "fail" and "the newest that it lists is 1.34" in one.message


def test_a_target_of_which_nobody_tells() -> None:
    (one,) = found(with_aws(healthy(), versions=DENIED), "target-version")
    assert (one.status.value, one.missing) == ("unknown", DENIED.missing)
