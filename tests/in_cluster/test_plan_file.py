"""The shortened form of a plan that is too large is compared with the cluster like the whole plan."""

from __future__ import annotations

import json
from typing import Any

from kubectl_eksdoc.drain.plan import build_plan
from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.report.formats import DrainReport
from kubectl_eksdoc.drain.report.plan import given_options
from kubectl_eksdoc.host.saved import parse_baseline
from kubectl_eksdoc.in_cluster.objects import reduced_plan
from kubectl_eksdoc.report.text import Appearance
from tests.builders import a_cluster, a_node, a_pod, a_roomy_node

render = DrainReport.render


def a_document(**policy: Any) -> dict[str, Any]:
    allowed = DrainPolicy(**policy)
    nodes = [a_node("old-0"), a_node("old-1"), a_roomy_node()]
    pods = [a_pod("web-0", node="old-0"), a_pod("bare", node="old-1", owner=None)]
    cluster = a_cluster(nodes=nodes, pods=pods)
    plan = build_plan(cluster, nodes[:2], allowed)
    given = given_options(Targeting(nodegroups=("blue",)), allowed)
    found: dict[str, Any] = json.loads(render(DrainReport(plan, cluster, given), "json", Appearance()))
    return found


def test_it_promises_the_same_of_the_same_cluster() -> None:
    whole = a_document(order_nodes=("old-1",), force=True)
    left = reduced_plan(whole)
    before, after = parse_baseline(whole, "f"), parse_baseline(left, "f")
    assert after.promise == before.promise and after.promise is not None and after.promise.evicted
    assert (after.identity, after.options, after.uids, after.read) == (
        before.identity,
        before.options,
        before.uids,
        before.read,
    )


def test_what_only_people_read_is_left_out() -> None:
    whole = a_document()
    left = reduced_plan(whole)
    assert whole["left"] and left["left"] == [] and not {"handoffs", "skipped", "blockers"} & left.keys()
    assert len(json.dumps(left)) < len(json.dumps(whole)) / 2
