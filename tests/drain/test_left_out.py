"""Pods and nodes that are not valid were left out: nothing that hangs on them passes."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.drain.outcome import TargetVerdict
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, LeftOut
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.kinds import Resource
from tests.builders import a_budget, a_cluster, a_node, pods
from tests.drain.planning import WEB, codes, plan_of, target

SAID = "dump.json: Pod default/odd: Expected `int | null`, got `str` - at `$.spec.priority`"


def without(resource: Resource, node: str | None, **facts: object) -> Cluster:
    held = {"nodes": [a_node("old-0"), a_node("old-1")], "pods": pods(3), "workloads": WEB, **facts}
    return a_cluster(**held).leaving_out([LeftOut(resource, SAID, node)])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("node", "unknown"), [("old-1", ("old-1",)), ("elsewhere", ()), ("", ()), (None, ("old-0", "old-1"))]
)
def test_a_node_that_a_pod_may_be_on_that_is_not_valid_is_not_drained(
    node: str | None, unknown: tuple[str, ...]
) -> None:
    plan = plan_of(without(kinds.PODS, node))
    for name in ("old-0", "old-1"):
        wanted = TargetVerdict.UNKNOWN if name in unknown else TargetVerdict.DRAINS
        assert target(plan, name).verdict is wanted
    assert {e.node for e in plan.evictions}.isdisjoint(unknown)


@pytest.mark.parametrize("resource", [kinds.NODES, kinds.PODS])
def test_whatever_it_was_something_is_unknown_and_it_is_named(resource: Resource) -> None:
    found = [each for each in plan_of(without(resource, "")).findings if each.code.name == "objects-invalid"]
    assert [each.status for each in found] == [Status.UNKNOWN]
    assert SAID in found[0].evidence and found[0].missing == f"{resource.full_name} (invalid)"
    assert found[0].remedy[0].text.startswith("Make the dump again")


def test_a_budget_is_not_said_to_disagree_with_pods_that_are_not_known() -> None:
    budget = a_budget(expected=4, allowed=1, current=4, desired=3)
    whole = a_cluster(nodes=[a_node("old-0")], pods=pods(3), workloads=WEB, budgets=[budget])
    assert "budget-disagrees" in codes(plan_of(whole))
    plan = plan_of(whole.leaving_out([LeftOut(kinds.PODS, SAID, "")]))
    assert [each.status for each in plan.findings if each.code.name == "budget-disagrees"] == [Status.UNKNOWN]
