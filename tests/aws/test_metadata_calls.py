"""Requests to the metadata service without a token, as CloudWatch counts them."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.aws.machines import v1_calls
from kubectl_eksdoc.errors import AwsDenied
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import Imdsv1Requests
from tests.aws.answers import Scripted, sees
from tests.builders import NOW

METRICS = "cloudwatch:GetMetricData"


def result(ident: str, *values: float, status: str = "Complete") -> dict[str, Any]:
    return {"Id": ident, "Values": list(values), "StatusCode": status}


def told(*results: dict[str, Any], instances: tuple[str, ...] = ("i-0", "i-1")) -> dict[str, Any]:
    aws = Scripted({METRICS: {"MetricDataResults": list(results)}})
    return dict(v1_calls(sees(aws), instances, NOW))


def test_days_are_summed_and_a_metric_may_come_in_parts() -> None:
    found = told(result("a0", 3, 0, 4, status="PartialData"), result("r0"), result("a0", 1), result("r1", 2, 2))
    assert found == {"i-0": Imdsv1Requests(8, None, 4), "i-1": Imdsv1Requests(None, 4, 2)}


def test_without_figures_nothing_is_known() -> None:
    assert told(result("a0"), result("r0")) == {"i-0": Imdsv1Requests(), "i-1": Imdsv1Requests()}


@pytest.mark.parametrize("status", ["Forbidden", "InternalError"])
def test_figures_that_are_not_told_are_unknown(status: str) -> None:
    found = told(result("a0", 0), result("r0", status=status))
    assert all(isinstance(each, Unknown) for each in found.values())


def test_who_may_not_ask_is_told_the_action() -> None:
    aws = Scripted({METRICS: AwsDenied("IAM does not allow it", missing=METRICS)})
    assert dict(v1_calls(sees(aws), ("i-0",), NOW)) == {"i-0": Unknown("IAM does not allow it", METRICS)}


def test_a_thousand_instances_are_four_questions_of_whole_hours() -> None:
    aws = Scripted({METRICS: {"MetricDataResults": []}})
    assert len(v1_calls(sees(aws), [f"i-{at}" for at in range(1000)], NOW)) == 1000
    sizes = [len(asked["MetricDataQueries"]) for _, asked in aws.asked]
    assert sizes == [500] * 4
    asked = aws.asked[0][1]
    assert (asked["EndTime"] - asked["StartTime"]).days == 14 and asked["EndTime"].minute == 0
    metric = asked["MetricDataQueries"][1]["MetricStat"]
    assert metric["Metric"]["MetricName"] == "MetadataNoTokenRejected" and metric["Stat"] == "Sum"
    assert not v1_calls(sees(aws), (), NOW)
