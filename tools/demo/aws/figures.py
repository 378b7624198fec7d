"""CloudWatch's answers: nobody has used the shop's queue or rules in the last day, so it has no figures of any; what is
in use of the account's quotas it counts."""

from __future__ import annotations

from tools.demo.aws.names import Params, at
from tools.demo.aws.quotas import USAGE, used
from tools.demo.meta import Json

_COUNTED = 6
"""Minutes ago; it counts every five."""


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
