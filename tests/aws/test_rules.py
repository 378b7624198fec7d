"""What EventBridge and CloudWatch say of rules, as it is read."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from kubectl_eksdoc.aws.queues import figures
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.queues import Figures, FiguresOf
from tests.aws.answers import Scripted, sees

ABOUT = FiguresOf("", ("spot",), datetime(2026, 11, 20, 9, tzinfo=timezone.utc))


def told(code: str) -> Figures | Unknown:
    """Of a day in which nothing failed, as far as CloudWatch says."""
    results: list[dict[str, Any]] = [
        {"Id": "m0", "StatusCode": "Complete", "Values": [3.0]},
        {"Id": "m1", "StatusCode": code, "Values": []},
    ]
    return figures(sees(Scripted({"cloudwatch:GetMetricData": {"MetricDataResults": results}})), ABOUT)


def test_no_figures_are_none() -> None:
    assert told("Complete") == Figures({"spot": 3}, {})


@pytest.mark.parametrize("code", ["Forbidden", "InternalError"])
def test_figures_that_were_not_told_are_not_none(code: str) -> None:
    found = told(code)
    assert isinstance(found, Unknown) and code in found.why
