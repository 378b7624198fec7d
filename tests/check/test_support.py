"""The support period of a version, its cost, EKS's action at the end, and whether the target is available."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from kubectl_eksdoc.check.checking import CheckFacts
from kubectl_eksdoc.model.eks import ClusterVersion
from kubectl_eksdoc.model.findings import Status
from tests.builders import NOW
from tests.check.healthy import DENIED, EKS, found, healthy, with_aws


def told(
    standard_days: int, extended_days: int, status: str = "STANDARD_SUPPORT", policy: str = "EXTENDED"
) -> CheckFacts:
    ends = NOW + timedelta(days=standard_days), NOW + timedelta(days=extended_days)
    version = ClusterVersion("1.33", status, False, NOW - timedelta(days=400), *ends)
    facts = with_aws(healthy(), versions=(version, ClusterVersion("1.34", "STANDARD_SUPPORT", True)))
    return replace(facts, eks=replace(EKS, support=policy))


_BILLED = "; then extended support begins and is billed, about $365 a month more"
_EXTENDED = "medium: 1.33 is in extended support, about $365 a month more than with standard support; it ends on "
_BY_ITSELF = "EKS upgrades the control plane by itself"


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (told(91, 400), ""),
        (told(90, 400), f"medium: standard support of 1.33 ends on 2027-02-18, in 90 days{_BILLED}"),
        (told(31, 400), f"medium: standard support of 1.33 ends on 2026-12-21, in 31 days{_BILLED}"),
        (told(30, 400), f"high: standard support of 1.33 ends on 2026-12-20, in 30 days{_BILLED}"),
        (
            told(-121, 400),
            "high: standard support of 1.33 ended on 2026-07-22, 121 days ago, and EKS does not yet report it as "
            f"extended{_BILLED}",
        ),
        (told(20, 400, policy=""), "high: standard support of 1.33 ends on 2026-12-10, in 20 days"),
        (told(91, 400, policy="STANDARD"), ""),
        (
            told(31, 400, policy="STANDARD"),
            f"medium: standard support of 1.33 ends on 2026-12-21, in 31 days; then {_BY_ITSELF}; nodes stay as they "
            f"are\nhigh: {_BY_ITSELF} in 31 days, on 2026-12-21; nodes stay as they are",
        ),
        (told(-10, 91, "EXTENDED_SUPPORT"), f"{_EXTENDED}2027-02-19, in 91 days"),
        (
            told(-10, 90, "EXTENDED_SUPPORT"),
            f"{_EXTENDED}2027-02-18, in 90 days\nhigh: {_BY_ITSELF} in 90 days, on 2027-02-18; nodes stay as they are",
        ),
        (
            told(-10, 30, "EXTENDED_SUPPORT"),
            f"{_EXTENDED}2026-12-20, in 30 days\ncritical: {_BY_ITSELF} in 30 days, on 2026-12-20; nodes stay as they "
            "are",
        ),
        (
            told(-10, 0, "EXTENDED_SUPPORT"),
            f"{_EXTENDED}2026-11-20, in 0 days\ncritical: {_BY_ITSELF} at any time from now on; nodes stay as they are",
        ),
        (
            told(-10, 200, "EXTENDED_SUPPORT", "STANDARD"),
            f"{_EXTENDED}2027-06-08, in 200 days\ncritical: {_BY_ITSELF} at any time from now on; nodes stay as they "
            "are",
        ),
        (
            told(-10, 40, "EXTENDED_SUPPORT", ""),
            f"{_EXTENDED}2026-12-30, in 40 days\nmedium: what EKS does when support ends is not known: the cluster's "
            "upgrade policy (STANDARD or EXTENDED) was not told",
        ),
        (told(-400, -3, "UNSUPPORTED"), f"critical: {_BY_ITSELF} at any time from now on; nodes stay as they are"),
    ],
)
def test_until_when_a_version_is_supported_and_what_comes_then(facts: CheckFacts, said: str) -> None:
    codes = ("support-ends", "support-extended", "support-over")
    judged = [each for code in codes for each in found(facts, code)]
    assert "\n".join(f"{each.severity.value}: {each.message}" for each in judged) == said


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        (told(20, 400), "support-ends"),
        (told(-10, 200, "EXTENDED_SUPPORT"), "support-extended"),
        (told(20, 400, policy="STANDARD"), "support-over"),
    ],
)
def test_of_a_control_plane_that_may_be_newer_than_its_kubelets_it_is_not_known(facts: CheckFacts, code: str) -> None:
    (one,) = found(replace(facts, path=replace(facts.path, assumed=True)), code)
    assert one.status is Status.UNKNOWN and one.missing == "the version of the control plane"
    assert "if the control plane has 1.33, as the newest kubelet: nothing tells its version" in one.message


def test_a_table_with_a_date_stands_in() -> None:
    """According to the calendar of the user guide, 1.33 has been in extended support since 2026-07-29."""
    (one,) = found(with_aws(healthy(), versions=DENIED), "support-extended")
    assert any("dates of the table of 2026-" in each and DENIED.why in each for each in one.evidence)


def test_without_the_policy_what_comes_then_is_said_to_be_unknown() -> None:
    (one,) = found(told(20, 400, policy=""), "support-ends")
    assert one.evidence[-1] == "the cluster's upgrade policy (STANDARD or EXTENDED) was not told"


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
