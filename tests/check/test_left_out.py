"""``--no-aws``: what only AWS knows is left out, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.check.checking import Area, Gate, UpgradeCheck
from kubectl_eksdoc.check.plan import CheckWish, plan_check
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Status, Subject
from kubectl_eksdoc.model.kinds import NoAws, Unknown
from tests.check.healthy import healthy

LEFT_OUT = NoAws("AWS is left out (--no-aws)")
FORBIDDEN = Unknown("pods are forbidden", "list pods")
REFUSED = Unknown("IAM does not allow it", "eks:DescribeCluster")
CODE = Code.of("kubelet-skew")


@pytest.mark.parametrize(
    ("lacks", "stays"),
    [
        ((LEFT_OUT,), False),
        ((replace(LEFT_OUT, why=f"which role it has is not known: {LEFT_OUT}"),), False),
        ((LEFT_OUT, FORBIDDEN), True),
        ((FORBIDDEN,), True),
        ((REFUSED,), True),
        ((Unknown(LEFT_OUT.why),), True),
        ((), True),
    ],
)
def test_only_what_lacks_nothing_but_aws_is_left_out(lacks: tuple[Unknown, ...], stays: bool) -> None:
    message = f"who runs is not known: {LEFT_OUT}"
    found = Finding(CODE, Severity.MEDIUM, Status.UNKNOWN, Subject("Cluster", "prod"), message, lacks=lacks)
    check = UpgradeCheck((CODE,), Area.NODES, Gate.BEFORE_NODES, lambda _: (found,))
    plan = plan_check(healthy(eks=LEFT_OUT), [check], CheckWish(no_aws=True))
    assert [each for judged in plan.judged for each in judged.findings] == ([found] if stays else [])
    assert bool(plan.judged) is stays, "a check that is left with nothing was not made"


def test_of_a_check_that_asks_aws_no_other_code_is_said_to_pass() -> None:
    lacking = Finding(CODE, Severity.MEDIUM, Status.UNKNOWN, Subject("Cluster", "prod"), "it", lacks=(LEFT_OUT,))
    other = Finding(Code.of("ami-al2"), Severity.LOW, Status.FAIL, Subject("NodeGroup", "blue"), "old")
    both = UpgradeCheck((CODE, other.code), Area.NODES, None, lambda _: (lacking, other))
    (judged,) = plan_check(healthy(eks=LEFT_OUT), [both], CheckWish(no_aws=True)).judged
    assert judged.findings == (other,) and judged.check.codes == (other.code,)
    wish = CheckWish(no_aws=True, only=frozenset({"cgroup-v1"}))
    assert plan_check(healthy(eks=LEFT_OUT), [both], wish).judged == ()


def test_what_fails_stays() -> None:
    found = Finding(CODE, Severity.HIGH, Status.FAIL, Subject("Cluster", "prod"), f"it is old: {LEFT_OUT}")
    check = UpgradeCheck((CODE,), Area.NODES, Gate.BEFORE_NODES, lambda _: (found,))
    plan = plan_check(healthy(eks=LEFT_OUT), [check], CheckWish(no_aws=True))
    assert [each for judged in plan.judged for each in judged.findings] == [found]
