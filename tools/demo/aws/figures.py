"""CloudWatch's answers: the shop's queue and rules were not used in the last day, so they have no data points; the
usage of quotas has some."""

from __future__ import annotations

from tools.demo.aws.names import Params, at
from tools.demo.aws.quotas import USAGE, used
from tools.demo.meta import Json

_COUNTED = 6
"""Minutes ago; quota usage is counted every five minutes."""


def get_metric_data(params: Params) -> Json:
    """One result for each query, most of them without values."""
    return {"MetricDataResults": [_result(each) for each in params["MetricDataQueries"]], "Messages": []}


def _result(query: Json) -> Json:
    metric = query["MetricStat"]["Metric"]
    said = {each["Name"]: each["Value"] for each in metric.get("Dimensions", ())}
    value = used(said) if metric["Namespace"] == USAGE else None
    label = {"Id": query["Id"], "Label": metric["MetricName"], "StatusCode": "Complete"}
    if value is None:
        return {**label, "Timestamps": [], "Values": []}
    return {**label, "Timestamps": [at(_COUNTED)], "Values": [value]}
