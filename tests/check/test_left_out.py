"""``--no-aws``: what only AWS knows is left out, and nothing else is."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.check.areas import Area, Gate
from kubectl_eksdoc.check.checking import Check
from kubectl_eksdoc.check.plan import Wish, plan_check
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Finding, Severity, Status, Subject
from tests.check.healthy import healthy

LEFT_OUT = "AWS is left out (--no-aws)"
CODE = Code.of("kubelet-skew")


def unknown(message: str, missing: str) -> Finding:
    return Finding(CODE, Severity.MEDIUM, Status.UNKNOWN, Subject("Cluster", "prod"), message, missing=missing)


@pytest.mark.parametrize(
    ("message", "missing", "stays"),
    [
        (f"whether it is well is not known: {LEFT_OUT}", "whether it is well", False),
        (LEFT_OUT, "the queue", False),
        ("whether it is well is not known: nobody may ask", "eks:DescribeCluster", False),
        ("whether it is well is not known: nobody may ask", "eks:DescribeCluster, ec2:DescribeSubnets", False),
        (f"who runs is not known: pods are forbidden; {LEFT_OUT}", "list pods", True),
        (f"who runs is not known: {LEFT_OUT}", "eks:DescribeCluster, list pods", True),
        (f"who runs is not known: pods are forbidden; {LEFT_OUT}", "who runs", True),
        ("who runs is not known: pods are forbidden", "list pods", True),
        ("who runs is not known", "", True),
    ],
)
def test_only_what_lacks_nothing_but_aws_is_left_out(message: str, missing: str, stays: bool) -> None:
    found = unknown(message, missing)
    check = Check((CODE,), Area.NODES, Gate.BEFORE_NODES, lambda _: (found,))
    plan = plan_check(healthy(eks=Unknown(LEFT_OUT)), [check], Wish(no_aws=True))
    assert [each for judged in plan.judged for each in judged.findings] == ([found] if stays else [])
    assert bool(plan.judged) is stays, "a check that is left with nothing was not made"


def test_what_fails_stays() -> None:
    found = Finding(CODE, Severity.HIGH, Status.FAIL, Subject("Cluster", "prod"), f"it is old: {LEFT_OUT}")
    check = Check((CODE,), Area.NODES, Gate.BEFORE_NODES, lambda _: (found,))
    plan = plan_check(healthy(eks=Unknown(LEFT_OUT)), [check], Wish(no_aws=True))
    assert [each for judged in plan.judged for each in judged.findings] == [found]
