"""What an earlier measurement shows of the lameduck that is there now."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from kubectl_eksdoc.coredns_lameduck.plan import plan_dns
from kubectl_eksdoc.kubernetes.corefile.edits import CONFIG
from kubectl_eksdoc.model.coredns import Propagation
from tests.coredns_lameduck.made import facts
from tests.coredns_lameduck.test_judging import lameduck

WHEN = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("seconds", "days", "written", "short"),
    [
        (7, 0, "2026-11-20T11:00:00Z", False),
        (7, 0, "2026-11-20T11:58:00Z", True),
        (7, 0, "2026-01-01T11:00:00Z", False),
        (15, 0, "2026-01-01T11:00:00Z", True),
        (7, 100, "2026-01-01T11:00:00Z", True),
        (7, -1, "2026-01-01T11:00:00Z", True),
    ],
)
def test_no_answer_was_lost_with_the_lameduck_that_is_still_there(
    seconds: int, days: int, written: str, short: bool
) -> None:
    """Pods were seen to answer for 7 s; that 5 s were enough is known only where the Corefile is the same as then. Pods
    that answered for 15 s were held by more than a lameduck of 5 s."""
    found = facts(text=lameduck("5s"))
    doc = found.objects[CONFIG]
    assert isinstance(doc, dict)
    doc["metadata"]["managedFields"][0]["time"] = written
    cluster = replace(found.cluster, observed_at=WHEN)
    measured = Propagation(seconds, len(cluster.nodes), WHEN - timedelta(days=days))
    plan = plan_dns(replace(found, cluster=cluster, measured=measured))
    assert ("dns-lameduck-short" in {each.code.name for each in plan.findings}) is short
