"""A hand-written comparison of a plan with a saved one: it has every kind of difference that a renderer meets."""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.drain.comparison import compare_plans
from kubectl_eksdoc.drain.duration.bounds import Bound, BoundKind
from kubectl_eksdoc.drain.duration.estimate import Estimate
from kubectl_eksdoc.drain.outcome import TargetVerdict
from kubectl_eksdoc.drain.report.formats import DrainReport
from kubectl_eksdoc.drain.timeline import NodeSpan
from kubectl_eksdoc.model.baseline import (
    Baseline,
    BudgetOutline,
    DurationOutline,
    FindingOutline,
    PlanOutline,
    TargetOutline,
)
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.findings import Code, Severity, Status, Subject
from tests.builders import ago
from tests.drain.report.plans import (
    CACHE,
    CLUSTER,
    EVICTIONS,
    FINDINGS,
    HEADROOM,
    a_finding,
    a_target,
    a_view,
    an_empty_plan,
)

OPTIONS = {"nodegroup": ["blue"], "max-unavailable": "1", "partial": True, "baseline": "old.json"}

CHAIN = Bound(BoundKind.BUDGET_CHAIN, 240.0, "shop/web lets 1 of its 2 pods be away at a time", "shop/web", "let 2 go")

AT_BEST = Bound(
    BoundKind.BUDGET_CHAIN, 200.0, "shop/web lets 1 of its 2 pods be away at a time", "shop/web", "let 2 go"
)

SPANS = (NodeSpan("old-1", 0.0, 140.0, 150.0), NodeSpan("old-0", 0.0, 277.0, 287.0))

NOW = an_empty_plan(
    targets=(
        a_target("old-1", TargetVerdict.DRAINS, 1, evictions=1, wave=1),
        a_target("old-0", TargetVerdict.DRAINS, 2, evictions=1, wave=2),
        a_target("old-2", TargetVerdict.SKIPPED, why=("shop/sale-0: budget shop/sale never allows an eviction",)),
        a_target("spot-0", TargetVerdict.PARTIAL, 3, evictions=1, wave=3),
    ),
    evictions=EVICTIONS,
    budgets=HEADROOM[:3],
    findings=(
        *FINDINGS[:3],
        a_finding(
            Code.of("pod-returns"), Status.UNKNOWN, Subject("Cluster", "cluster"), "cannot tell", missing="a kind"
        ),
        a_finding(Code.of("budget-disagrees"), Status.PASS, Subject("PodDisruptionBudget", "cache", "shop"), "a note",
                  Severity.INFO),
        a_finding(Code.of("single-replica"), Status.PASS, Subject("Deployment", "mailer", "shop"), "one replica"),
    ),
    estimate=Estimate(294.0, 430.5, SPANS, 4, ("a pod stops within 10 s",), (CHAIN,), 287 / 240 - 1,
                      lower_bounds=(AT_BEST,)),
)  # fmt: skip


def said(
    code: Code,
    subject: Subject,
    status: Status = Status.FAIL,
    severity: Severity = Severity.HIGH,
    message: str = "as it was",
) -> FindingOutline:
    return FindingOutline(code.name, subject, severity, status, message)


BEFORE = PlanOutline(
    targets=(
        TargetOutline("old-0", "skipped", ("shop/thumbs-1: its budget is unhealthy",)),
        TargetOutline("old-1", "drains"),
        TargetOutline("old-2", "drains"),
        TargetOutline("old-3", "refused", ("a kubelet that does not answer",)),
    ),
    budgets=(
        BudgetOutline("shop/web", "serial", 1),
        BudgetOutline("shop/cache", "serial", 1),
        BudgetOutline("shop/thumbs", "unhealthy", 0),
    ),
    findings=(
        said(Code.of("budget-unhealthy"), Subject("PodDisruptionBudget", "thumbs", "shop"), message="2 not Ready"),
        said(Code.of("pod-emptydir"), Subject("Pod", CACHE[0].name, "shop"), Status.PASS, Severity.MEDIUM),
        said(Code.of("pod-returns"), Subject("DaemonSet", "agent", "ops"), message="comes straight back"),
        said(Code.of("single-replica"), Subject("Deployment", "mailer", "shop"), Status.PASS, Severity.HIGH),
    ),
    evictions=2,
    left=14,
    rounds=3,
    waves=1,
    times=DurationOutline(318.0, 400.0, 9, 300.0, "node old-1", 310 / 300 - 1),
)

BASELINE = Baseline(
    file="old.json",
    identity=CLUSTER.identity,
    source=Source.LIVE,
    observed_at=ago(24 * 3600),
    tool_version="1.2.2",
    options={"nodegroup": ["blue", "green"], "partial": False, "accept-unknown": []},
    outline=BEFORE,
    read=frozenset(read.resource.full_name for read in CLUSTER.reads if read.known) | {"services"},
)

ELSEWHERE = replace(CLUSTER.identity, context="prod-europe", cluster="", region="")
"""What is known of it does not tell whether it is the same cluster."""


def a_compared_view(baseline: Baseline = BASELINE, **more: object) -> DrainReport:
    comparison = compare_plans(baseline, CLUSTER, NOW, OPTIONS)
    fields: dict[str, object] = {"options": OPTIONS, "comparison": comparison} | more
    return a_view(NOW, **fields)
