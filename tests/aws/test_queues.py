"""The policies of the requested role only, and what CloudWatch counts of rules."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from kubectl_eksdoc.aws.queues import read_figures, role_policies
from kubectl_eksdoc.model.interruption import DeliveryMetrics, MetricsQuery, RolePolicies
from kubectl_eksdoc.model.kinds import Absent, Unknown
from tests.aws.answers import ACCOUNT, Scripted, sees

ARN = f"arn:aws:iam::{ACCOUNT}:role/karpenter"


def an_account(arn: str = ARN) -> Scripted:
    """An account with one role, which has no policies."""
    answers: dict[str, Any] = {
        "iam:GetRole": {"Role": {"RoleName": "karpenter", "Arn": arn}},
        "iam:ListRolePolicies": {"PolicyNames": []},
        "iam:ListAttachedRolePolicies": {"AttachedPolicies": []},
    }
    return Scripted(answers)


def test_the_role_that_is_meant() -> None:
    assert role_policies(sees(an_account()), ARN) == RolePolicies(ARN)


@pytest.mark.parametrize("there", [f"arn:aws:iam::{ACCOUNT}:role/infra/karpenter"])
def test_one_of_that_name_below_another_path_is_another_one(there: str) -> None:
    found = role_policies(sees(an_account(there)), ARN)
    assert isinstance(found, Absent) and there in found.said


def test_a_role_of_another_account_is_not_taken_for_one_of_the_same_name() -> None:
    aws = an_account()
    found = role_policies(sees(aws), "arn:aws:iam::999999999999:role/karpenter")
    assert isinstance(found, Unknown) and "another account" in found.why
    assert aws.asked == []


ABOUT = MetricsQuery("", ("spot",), datetime(2026, 11, 20, 9, tzinfo=timezone.utc))


def told(code: str) -> DeliveryMetrics | Unknown:
    """A day without failures, as far as CloudWatch reports."""
    results: list[dict[str, Any]] = [
        {"Id": "m0", "StatusCode": "Complete", "Values": [3.0]},
        {"Id": "m1", "StatusCode": code, "Values": []},
    ]
    return read_figures(sees(Scripted({"cloudwatch:GetMetricData": {"MetricDataResults": results}})), ABOUT)


def test_no_figures_are_none() -> None:
    assert told("Complete") == DeliveryMetrics({"spot": 3}, {})


@pytest.mark.parametrize("code", ["Forbidden", "InternalError"])
def test_figures_that_were_not_told_are_not_none(code: str) -> None:
    found = told(code)
    assert isinstance(found, Unknown) and code in found.why
