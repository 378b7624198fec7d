"""The policies of a role, and that they are those of the role that was meant."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.aws.queues import role_policies
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.queues import RolePolicies
from tests.aws.answers import ACCOUNT, Scripted, sees

ARN = f"arn:aws:iam::{ACCOUNT}:role/karpenter"


def an_account(arn: str = ARN) -> Scripted:
    """With one role, which has no policies."""
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
