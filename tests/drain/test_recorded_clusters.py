"""Plans for clusters recorded from a real API server: every planted state is named with the right verdict."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.drain.outcome import BudgetVerdict, PodVerdict
from kubectl_eksdoc.drain.plan import build_plan
from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.read import plan_drain
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.host.dump import DumpReader
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.nodes import COMPUTE_TYPE, NODE_POOL

DATA = Path(__file__).parents[1] / "data"
EVERYWHERE = DrainPolicy(partial=True)
BLUE = {"eks.amazonaws.com/nodegroup": "blue", "karpenter.sh/capacity-type": "spot"}
ROOM = {"cpu": 10**9, "memory": 1 << 50, "ephemeral-storage": 1 << 50, "pods": 10_000, "vpc.amazonaws.com/pod-eni": 99}


@cache
def planned(archive: str, group: str = "blue") -> tuple[Cluster, DrainPlan]:
    reader = DumpReader(str(DATA / "clusters" / archive))
    return plan_drain(reader, Targeting(nodegroups=(group,)), DrainPolicy())


@cache
def planned_everywhere(archive: str = "rich.tar.gz") -> tuple[Cluster, DrainPlan]:
    """All nodes are targets, and a blocked pod does not block others: each pod shows its own verdict.

    There is room for every pod, in all zones and with all labels, so that only eviction decides.
    """
    cluster, _ = planned(archive)
    alike = {n.zone: n for n in cluster.nodes if "example.com/quorum" in n.labels and not n.unschedulable}
    labels = {k: v for n in cluster.nodes for k, v in n.labels.items() if k not in (COMPUTE_TYPE, NODE_POOL)}
    roomy = [
        replace(
            node,
            name=f"roomy-{zone}-{i}",
            labels=labels | node.labels | {"kubernetes.io/hostname": f"roomy-{zone}-{i}"} | BLUE,
            allocatable=ROOM,
        )
        for zone, node in alike.items()
        for i in range(6)
    ]
    world = replace(cluster, nodes=(*cluster.nodes, *roomy))
    return world, build_plan(world, cluster.nodes, EVERYWHERE)


def verdicts(plan: DrainPlan, namespace: str, app: str) -> Counter[tuple[str, tuple[str, ...]]]:
    """(verdict, codes) of the pods whose name begins with `app`, counted."""
    prefix = f"{app}-"
    found = Counter(
        (PodVerdict.EVICT.value, ())
        for e in plan.evictions
        if e.pod.namespace == namespace and (e.pod.name.startswith(prefix) or e.pod.name == app)
    )
    found += Counter(
        (x.verdict.value, x.codes)
        for x in plan.left
        if x.pod.namespace == namespace and (x.pod.name.startswith(prefix) or x.pod.name == app)
    )
    return found


def budget(plan: DrainPlan, key: str) -> BudgetVerdict:
    return next(b.verdict for b in plan.budgets if b.budget.key == key)


# small-traps ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("app", "count", "code"),
    [
        ("trap-zero", 2, "budget-never-allows"),
        ("trap-min-all", 3, "budget-never-allows"),
        ("trap-two-pdbs", 3, "pod-several-budgets"),
        ("trap-unready", 3, "budget-unhealthy"),
        ("trap-emptydir", 2, "pod-emptydir"),
        ("trap-bare", 1, "pod-unmanaged"),
        ("app-9", 2, "budget-never-allows"),
    ],
)
def test_small_traps_pods(app: str, count: int, code: str) -> None:
    _, plan = planned("small-traps.tar.gz")
    assert verdicts(plan, "default", app) == {("blocked", (code,)): count}
    assert any(f.code.name == code for f in plan.blockers)


def test_the_status_that_stayed_behind_is_named_as_such() -> None:
    _, plan = planned("small-traps.tar.gz")
    stale = next(b for b in plan.budgets if b.budget.name == "trap-two-pdbs-b")
    assert BudgetVerdict.DISAGREES in stale.also
    assert "its pods say 3 healthy of 3, 1 allowed; its status says 0 allowed" in stale.why


# rich ----------------------------------------------------------------------------------------

EVICT = ("evict", ())
FARGATE = ("stay", ("node-fargate",))


def blocked(*codes: str) -> tuple[str, tuple[str, ...]]:
    return ("blocked", codes)


@pytest.mark.parametrize(
    ("namespace", "app", "expected"),
    [
        ("default", "tolerates-all", {blocked("pod-returns"): 3}),
        ("default", "pinned-bare", {blocked("pod-unmanaged", "budget-never-allows"): 1}),
        ("kube-system", "kube-static-old-2", {("stay", ()): 1}),
        ("default", "quorum", {EVICT: 4}),
        ("data", "kafka", {EVICT: 4}),
        ("default", "zonal", {EVICT: 6}),
        ("default", "blue-only", {EVICT: 2}),
        ("default", "edge", {EVICT: 4}),
        ("data", "ledger", {EVICT: 2}),
        ("data", "postgres", {blocked("pod-several-budgets"): 3}),
        ("shop", "redis", {EVICT: 2}),
        ("data", "local-db", {blocked("pod-local-volume"): 1}),
        ("default", "cache-mem", {blocked("pod-emptydir"): 2}),
        ("default", "spool", {blocked("pod-emptydir"): 2}),
        ("default", "hostpath-app", {EVICT: 2}),
        ("default", "keep-karpenter", {blocked("pod-protected"): 2}),
        ("default", "keep-autoscaler", {blocked("pod-protected"): 2}),
        ("default", "pod-level", {EVICT: 2}),
        ("default", "best-effort", {EVICT: 2}),
        ("shop", "gateway", {EVICT: 2}),
        ("shop", "crashing", {EVICT: 3}),
        ("shop", "half-sick", {blocked("budget-unhealthy"): 2}),
        ("default", "twice-guarded", {blocked("pod-several-budgets"): 2}),
        ("shop", "reindex", {blocked("budget-sync-failed"): 3}),
        ("shop", "import-once", {EVICT: 1}),
        ("shop", "report", {EVICT: 1}),
        ("shop", "web", {EVICT: 3}),
        ("shop", "serverless", {FARGATE: 1}),
        ("kube-system", "coredns", {EVICT: 3}),
        ("karpenter", "karpenter", {EVICT: 2}),
        ("kube-system", "aws-load-balancer-controller", {EVICT: 2}),
        ("shop", "lonely", {blocked("budget-never-allows"): 1}),
    ],
)
def test_rich_pods(namespace: str, app: str, expected: dict[tuple[str, tuple[str, ...]], int]) -> None:
    assert verdicts(planned_everywhere()[1], namespace, app) == expected


EXPECTED_BUDGETS = {
    "serial": (
        "default/app-0 default/app-1 default/app-4 default/app-5 default/app-6 default/app-9 default/blue-only "
        "default/quorum default/zonal karpenter/karpenter kube-system/coredns kube-system/ebs-csi-controller "
        "kube-system/metrics-server shop/front-two shop/gateway shop/inventory shop/payment shop/rank shop/redis "
        "shop/render shop/shipping shop/spot-web shop/spot-worker shop/thumbs"
    ),
    "fits": "shop/coupons shop/crashing shop/relaxed",
    "blocked-forever": (
        "default/app-7 default/app-8 default/bare shop/ads shop/all-needed shop/frozen shop/lonely shop/reindex "
        "shop/sale"
    ),
    "unhealthy": "shop/half-sick",
    "several-budgets": "data/everything data/postgres default/twice-guarded default/twice-guarded-b",
}


def test_rich_budgets() -> None:
    _, plan = planned_everywhere()
    found = {b.budget.key: b.verdict.value for b in plan.budgets}
    assert found == {key: verdict for verdict, keys in EXPECTED_BUDGETS.items() for key in keys.split()}


def test_what_the_plan_evicts_the_server_would_have_let_go() -> None:
    """The recorded dry run requested each eviction alone: the server never refused a pod that the plan evicts, and
    always refused a pod that the plan's budgets block."""
    answers = {
        (a["namespace"], a["pod"]): a["status"]
        for a in map(json.loads, (DATA / "clusters" / "rich-dry-run.jsonl").read_text().splitlines())
    }
    _, plan = planned_everywhere()
    assert {answers[e.pod.namespace, e.pod.name] for e in plan.evictions} == {201}
    by_budget = {"budget-never-allows", "budget-sync-failed", "budget-unhealthy", "pod-several-budgets"}
    refused = {answers[x.pod.namespace, x.pod.name] for x in plan.left if by_budget & set(x.codes)}
    assert refused == {429, 500}
    untouched = {
        answers[x.pod.namespace, x.pod.name]
        for x in plan.left
        if x.verdict is PodVerdict.BLOCKED and not by_budget & set(x.codes)
    }
    assert untouched == {201}, "what blocks here besides budgets is what the API does not know"


def test_rich_warns_of_what_the_api_lets_pass() -> None:
    _, plan = planned_everywhere()
    said = {(f.code.name, f.subject.name) for f in plan.findings}
    assert {
        ("pod-hostpath", "hostpath-app"),
        ("single-replica", "builder"),
        ("job-loses-work", "reindex"),
        ("job-loses-work", "report-29919410"),
        ("no-readiness-gate", "web-public"),
        ("budget-disagrees", "everything"),
        ("budget-disagrees", "twice-guarded-b"),
        ("node-fargate", "fargate-ip-10-0-70-21"),
    } <= said


# landing -------------------------------------------------------------------------------------


def test_exactly_the_recorded_pods_find_no_place() -> None:
    """The real scheduler left seven pods Pending: three of quorum, two of blue-only, local-db, and too-big, which is on
    no target. local-db is bound to its node before its placement is computed."""
    cluster, _ = planned("landing.tar.gz")
    blue = [n for n in cluster.nodes if n.name.startswith("old-")]
    plan = build_plan(cluster, blue, EVERYWHERE)
    homeless = Counter(x.pod.name.rsplit("-", 2)[0] for x in plan.left if {"no-place", "needs-nodes"} & set(x.codes))
    assert homeless == {"quorum": 3, "blue-only": 2}
    assert verdicts(plan, "data", "local-db") == {blocked("pod-local-volume"): 1}
    (none,) = [f for f in plan.blockers if f.code.name == "no-place" and f.subject.name == "blue-only"]
    assert "10 × node(s) didn't match Pod's node affinity/selector" in none.message
    assert "Only nodes such as old-" in none.remedy[0].text


# fenced-61 -----------------------------------------------------------------------------------


def owners_after(which: Callable[[dict[str, Any]], bool]) -> set[tuple[str, str]]:
    """Namespace and workload of the pods of which `which` is true, after the real scheduler had finished."""
    lines = (DATA / "clusters" / "fenced-61-after.jsonl").read_text().splitlines()
    rows = (json.loads(line) for line in lines)
    return {(row["namespace"], workload(row["owner"])) for row in rows if which(row) and row["owner"]}


def workload(owner: str) -> str:
    """``cache``, from ``ReplicaSet/cache-6df4b8b9c8`` or ``StatefulSet/cache``."""
    kind, _, name = owner.partition("/")
    return name.rpartition("-")[0] if kind == "ReplicaSet" else name


def test_what_the_real_scheduler_left_pending_is_named_and_nothing_else_for_certain() -> None:
    """First all nodes of blue were cordoned, then all pods that budgets allow were evicted."""
    reader = DumpReader(str(DATA / "clusters" / "fenced-61.tar.gz"))
    policy = DrainPolicy(partial=True, delete_emptydir_data=True, evict_protected=True, force=True)
    cluster, plan = plan_drain(reader, Targeting(nodegroups=("blue",)), policy)
    before = {
        (pod.namespace, workload(f"{pod.owner.kind}/{pod.owner.name}"))
        for pod in cluster.pods
        if not pod.node and pod.owner
    }
    left = owners_after(lambda row: row.get("node", "") is None) - before
    none = ("no-place", "pod-local-volume")
    certain = {
        (row.pod.namespace, workload(f"{row.pod.owner.kind}/{row.pod.owner.name}"))
        for row in plan.left
        if row.pod.owner and {*none, "needs-nodes"} & set(row.codes)
    }
    unsure = {(each.namespace, each.name) for each in plan.may_be_pending}
    assert certain == {("default", "blue-only"), ("default", "quorum"), ("data", "local-db")}
    assert left == certain | {("shop", "render"), ("shop", "shipping")}
    assert left - certain <= unsure, "which of those in tight room wait depends on the order"
    reason = next(text for text in plan.not_judged if text.startswith("which pods kube-scheduler places first"))
    assert "no room is left for one more pod" in reason
    new = next(f for f in plan.findings if f.code.name == "needs-nodes" and f.status is Status.PASS)
    assert new.evidence[-1].startswith("unsure which pods wait")
    returns = {subject.name for f in plan.findings if f.code.name == "pod-returns" for subject in (f.subject,)}
    assert returns == {"pinned", "tolerates-all"}, "those are rescheduled onto their own nodes"
    assert ("default", "pinned") in owners_after(lambda row: row.get("onTarget", False))


@pytest.mark.parametrize(
    ("key", "verdict"),
    [
        ("default/trap-zero", BudgetVerdict.BLOCKED_FOREVER),
        ("default/trap-min-all", BudgetVerdict.BLOCKED_FOREVER),
        ("default/trap-two-pdbs", BudgetVerdict.SEVERAL_BUDGETS),
        ("default/trap-two-pdbs-b", BudgetVerdict.SEVERAL_BUDGETS),
        ("default/trap-unready", BudgetVerdict.UNHEALTHY),
        ("default/app-9", BudgetVerdict.BLOCKED_FOREVER),
    ],
)
def test_small_traps_budgets(key: str, verdict: BudgetVerdict) -> None:
    assert budget(planned("small-traps.tar.gz")[1], key) is verdict


def test_everything_else_of_small_traps_can_go() -> None:
    _, plan = planned("small-traps.tar.gz")
    assert {b.verdict for b in plan.budgets if "trap" not in b.budget.name and b.budget.name != "app-9"} <= {
        BudgetVerdict.SERIAL,
        BudgetVerdict.FITS,
    }
    assert len(plan.blockers) == 7


def test_the_pod_pinned_by_its_template_is_told_from_the_bare_one() -> None:
    _, plan = planned_everywhere()
    (pinned,) = [x for x in plan.left if x.pod.name.startswith("pinned-") and x.pod.name != "pinned-bare"]
    assert pinned.codes == ("pod-returns",)
    assert "spec.nodeName old-5" in pinned.reason


def test_a_pod_that_fits_nowhere_is_on_no_target_and_named_all_the_same() -> None:
    _, plan = planned_everywhere()
    assert verdicts(plan, "default", "too-big") == {}
    (found,) = [f for f in plan.findings if f.code.name == "pod-pending"]
    assert found.subject.name == "too-big"
    assert "0/18 nodes are available" in found.message


def test_two_backends_of_what_replacements_need_never_share_a_round() -> None:
    _, plan = planned_everywhere()
    for name in ("karpenter", "aws-load-balancer-controller", "ebs-csi-controller", "coredns"):
        rounds = [e.round for e in plan.evictions if e.pod.name.startswith(f"{name}-")]
        assert len(rounds) == len(set(rounds)) >= 2, name


def test_no_budget_is_exceeded_and_the_longest_chain_sets_the_rounds() -> None:
    for _, plan in (planned("medium.tar.gz"), planned_everywhere(), planned("landing.tar.gz")):
        used = Counter((e.budget, e.round) for e in plan.evictions if e.budget)
        allowed = {b.budget.key: b.budget.status.allowed for b in plan.budgets}
        assert all(n <= allowed[key] for (key, _), n in used.items())


def test_medium_blocks_exactly_where_a_percentage_rounds_up_to_everything() -> None:
    _, plan = planned("medium.tar.gz")
    forever = [b for b in plan.budgets if b.verdict is BudgetVerdict.BLOCKED_FOREVER]
    assert len(forever) == 23
    assert all(b.budget.status.allowed == 0 for b in forever)


@pytest.mark.long
def test_where_room_is_short_the_plan_says_what_is_missing() -> None:
    """In rich about half of blue does not fit on green; Karpenter's pool can make room for most of it."""
    cluster, _ = planned("rich.tar.gz")
    blue = [n for n in cluster.nodes if n.name.startswith("old-")]
    plan = build_plan(cluster, blue, EVERYWHERE)
    (missing,) = [f for f in plan.findings if f.code.name == "needs-nodes" and f.status.value == "pass"]
    assert "such as spot-" in missing.message
    assert any(f.code.name == "no-place" and f.subject.name == "blue-only" for f in plan.blockers)
    assert Counter(e.pod.name.split("-")[0] for e in plan.evictions)["thumbs"] == 34
