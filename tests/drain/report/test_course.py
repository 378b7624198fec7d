"""The course of a drain in words, and a plan with new nodes; `tests.drain.report.test_formats` covers every format."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.drain.choice import MAX_VARIATIONS, SOONEST_ORDER, USER_ORDER, TriedOrder
from kubectl_eksdoc.drain.duration.estimate import Estimate
from kubectl_eksdoc.drain.orders import STRATEGIES
from kubectl_eksdoc.drain.outcome import Eviction, TargetVerdict
from kubectl_eksdoc.drain.policy import AUTO_ORDER, ORDERS, DrainPolicy, Targeting
from kubectl_eksdoc.drain.read import plan_drain
from kubectl_eksdoc.drain.report.formats import DrainReport
from kubectl_eksdoc.drain.report.result import PlanResult
from kubectl_eksdoc.drain.report.verdict import order_summary
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.rollover import node_group_rollovers
from kubectl_eksdoc.drain.timeline import NodeSpan, ReplacedPod
from kubectl_eksdoc.embedded.demo.reader import DemoReader
from kubectl_eksdoc.model.budgets import IntOrPercent
from kubectl_eksdoc.model.options import ALL, NODEGROUP, ZONE
from kubectl_eksdoc.report.text import Appearance
from tests.drain.report.plans import CLUSTER, HEADROOM, SPOT, WEB, a_target, a_view, an_empty_plan
from tests.report.golden import complaints
from tests.yaml_reader import printed

render = DrainReport.render


POLICY = DrainPolicy(surge=1)
OPTIONS = {"nodes": ["old-0", "old-1", "spot-0"], "surge": "1"}
TRIED = (TriedOrder("light~2", 130.0, 0), TriedOrder("light", 144.0, 0), TriedOrder("chain", 90.0, 1))

TARGETS = (
    a_target("old-1", TargetVerdict.DRAINS, 1, evictions=1, finish_round=1, wave=1),
    a_target("old-0", TargetVerdict.DRAINS, 2, evictions=1, finish_round=2, wave=2, needs=("old-1",)),
    a_target("spot-0", TargetVerdict.DRAINS, 3, evictions=1, finish_round=2, wave=2),
)
EVICTIONS = (
    Eviction(1, 1, WEB[1], "old-1", "shop/web", "budget shop/web lets 1 go at once: 1 of 2", "old-0 (surge 1)"),
    Eviction(2, 2, WEB[0], "old-0", "shop/web", "budget shop/web lets 1 go at once: 2 of 2", "old-1 (new)"),
    Eviction(3, 2, SPOT, "spot-0", "", "no budget guards it"),
)
SPANS = (NodeSpan("old-1", 0, 10, 20), NodeSpan("old-0", 140, 150, 160), NodeSpan("spot-0", 0, 10, 20))
PLAN = DrainPlan(
    POLICY,
    TARGETS,
    EVICTIONS,
    (),
    HEADROOM[:1],
    (),
    estimate=Estimate(
        160.0,
        350.0,
        SPANS,
        1,
        ("a new node is Ready 120 s after it is asked for",),
        moves=(
            ReplacedPod(WEB[1].uid, "old-1", 0.0, 10.0, 40.0),
            ReplacedPod(WEB[0].uid, "old-0", 140.0, 150.0, 180.5),
        ),
    ),
    handoffs=node_group_rollovers(CLUSTER, TARGETS, (), EVICTIONS, POLICY),
    tried_orders=TRIED,
)


GOLDENS = {
    "table-120.txt": ("table", Appearance()),
    "table-80.txt": ("table", Appearance(width=80)),
    "wide.txt": ("wide", Appearance()),
    "wide-80.txt": ("wide", Appearance(width=80)),
    "wide-ascii.txt": ("wide", Appearance(width=80, ascii=True)),
    "markdown.md": ("markdown", Appearance()),
    "page.html": ("html", Appearance()),
    "plan.json": ("json", Appearance()),
    "plan.yaml": ("yaml", Appearance()),
    "name.txt": ("name", Appearance()),
}


POLICIES = (
    DrainPolicy(surge=1, max_unavailable=((ZONE, IntOrPercent(1)),)),
    DrainPolicy(max_unavailable=((ALL, IntOrPercent(50, percent=True)), (NODEGROUP, IntOrPercent(1))), soft_budget=1),
    DrainPolicy(order_nodes=("green-2", "blue-1"), partial=True, surge=0),
)


def demo(policy: DrainPolicy) -> DrainReport:
    cluster, plan = plan_drain(DemoReader(), Targeting(nodegroups=("blue", "green")), policy)
    return DrainReport(plan, cluster, {"nodegroup": ["blue", "green"]})


def document(view: DrainReport) -> Any:
    return printed(PlanResult.of(view))


def surging(**more: object) -> DrainReport:
    return a_view(replace(PLAN, **more), options=OPTIONS)  # type: ignore[arg-type]


REPLACED = "each drained node is replaced by a new one"


@pytest.mark.parametrize(
    ("policy", "tried", "said"),
    [
        ({}, (), ""),
        ({}, (TriedOrder("soonest", 60.0, 0),), ""),
        ({}, TRIED[1:], "2 orders were tried, the best is light: nodes whose pods need the least room go first."),
        ({}, TRIED, "3 orders were tried, the best is a variation of light: nodes whose pods need the least room go "
         "first."),
        ({"order": "zone"}, (TriedOrder("zone", 60.0, 0),),
         "The order is zone, as asked: nodes go zone by zone, in each the oldest first."),
        ({"order_nodes": ("old-0", "old-1", "spot-0")}, (), "The order is that of --order-file."),
        ({"order_nodes": ("old-0",)}, (), "The order is that of --order-file; other nodes follow, by name."),
        ({"surge": 1}, (), f"1 new node joins first, and {REPLACED}: 2 generations, a node begins when those its pods "
         "land on have joined."),
        ({"surge": 0}, (), f"No node joins first, but {REPLACED}: 2 generations, a node begins when those its pods "
         "land on have joined."),
        ({"surge": 2, "pins": (("old-0", 1),)}, (), f"2 new nodes join first, and {REPLACED}."),
        ({"surge": 2, "max_unavailable": ((ALL, IntOrPercent(1)),)}, (), f"2 new nodes join first, and {REPLACED}."),
        ({"surge": 1, "order": "name"}, (), "The order is name, as asked: nodes go in the order of their names. 1 new "
         f"node joins first, and {REPLACED}: 2 generations, a node begins when those its pods land on have joined."),
    ],
)  # fmt: skip
def test_how_it_goes_in_words(policy: dict[str, Any], tried: tuple[TriedOrder, ...], said: str) -> None:
    view = surging(policy=DrainPolicy(**policy), tried_orders=tried)
    assert order_summary(view) == said
    summary, _, _ = render(view, "wide", Appearance(width=200)).partition("\n\n")
    assert " ".join(summary.splitlines()[1:]) == said
    brief, _, _ = render(view, "table", Appearance(width=200)).partition("\n\n")
    joins = " ".join(brief.splitlines()[1:])
    assert said.endswith(joins) and bool(joins) == (policy.get("surge") is not None and bool(said))


def test_targets_stand_in_the_order_of_the_file_where_there_is_one() -> None:
    """The plan's order is the order in which the typical run empties the nodes. With other stop times another node may
    be done first, as the DONE column shows."""
    given = surging(policy=DrainPolicy(order_nodes=("old-1",)))
    for fmt in ("table", "wide", "markdown", "html"):
        assert "targets, in the order of --order-file" in render(given, fmt, Appearance()).lower()
        assert "targets, in the order of the plan" in render(surging(), fmt, Appearance()).lower()


def test_one_generation_waits_for_nothing() -> None:
    view = surging(targets=tuple(replace(t, wave=1, needs=()) for t in TARGETS), tried_orders=())
    assert order_summary(view) == f"1 new node joins first, and {REPLACED}: no drain has to wait for one of those."
    assert "GENERATION" not in render(view, "wide", Appearance()) and "WAITS FOR" not in render(
        view, "wide", Appearance()
    )


def test_a_plan_that_drains_nothing_says_nothing_of_orders() -> None:
    nothing = an_empty_plan(policy=POLICY, targets=(a_target("old-0", TargetVerdict.SKIPPED),), tried_orders=TRIED)
    assert order_summary(a_view(nothing)) == ""


def test_every_order_has_words_and_fits_the_schema() -> None:
    assert set(ORDERS) == {SOONEST_ORDER, *STRATEGIES}
    for order in ORDERS:
        assert order_summary(surging(policy=DrainPolicy(order=order), tried_orders=())).startswith(
            f"The order is {order}, as asked: "
        )
        for name in (order, USER_ORDER, f"{order}~1", f"{order}~{MAX_VARIATIONS}"):
            assert (
                complaints(document(surging(policy=DrainPolicy(order=order), tried_orders=(TriedOrder(name, 1.0, 0),))))
                == []
            )
    assert complaints(document(surging(tried_orders=(TriedOrder("guess", 1.0, 0),)))) != []
    assert order_summary(surging(policy=DrainPolicy(order=AUTO_ORDER), tried_orders=())) == ""
