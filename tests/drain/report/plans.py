"""Hand-written plans with every verdict, state and kind of finding that a renderer meets."""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.drain.outcome import BudgetVerdict, DrainTarget, Eviction, NotEvictedPod, PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.report.findings import grouped, merged_remedies
from kubectl_eksdoc.drain.report.formats import DrainReport
from kubectl_eksdoc.drain.report.verdict import next_steps
from kubectl_eksdoc.drain.result import BudgetStatus, DrainPlan, Headroom
from kubectl_eksdoc.drain.rollover import node_group_rollovers
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Identity
from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Severity, Status, Subject, When
from kubectl_eksdoc.model.kinds import KindRead, ReadState
from kubectl_eksdoc.model.nodes import COMPUTE_TYPE, NODE_POOL, Pod
from tests.builders import a_budget, a_cluster, a_node, a_pod, a_workload, ago

OPTIONS = {"nodegroup": ["blue"], "partial": True, "accept-unknown": ["only-backend"]}

DAY = 24 * 3600
EC2 = "ip-10-0-30-244.eu-central-1.compute.internal"

NODES = {
    "old-0": a_node("old-0", created_at=ago(12 * DAY)),
    "old-1": a_node("old-1", created_at=ago(5 * 3600)),
    "old-2": a_node("old-2"),
    "old-3": a_node("old-3", unschedulable=True),
    "spot-0": a_node("spot-0", group="", labels={NODE_POOL: "general", "karpenter.sh/capacity-type": "spot"}),
    "fargate-1": a_node("fargate-1", group="", labels={COMPUTE_TYPE: "fargate"}),
    "bare-1": replace(
        a_node("bare-1", group="", created_at=None, kubelet=None, kubelet_text="", os_image="", provider_id=""),
        labels={},
    ),
}

WEB = tuple(a_pod(f"web-5f7-{i}", "shop", owner="ReplicaSet/web-5f7", node=f"old-{i}") for i in range(3))
SALE = tuple(a_pod(f"sale-{i}", "shop", owner="ReplicaSet/sale", node=f"old-{2 + i}") for i in range(2))
CACHE = tuple(a_pod(f"cache-9c-{i}", "shop", owner="ReplicaSet/cache-9c", node="old-2") for i in range(9))
AGENT = a_pod("agent-x", "kube-system", owner="DaemonSet/agent", node="old-0")
SHELL = a_pod("debug-shell", "ops", owner=None, node="old-3")
SPOT = a_pod("thumbs-1", "shop", owner="ReplicaSet/thumbs", node="spot-0", grace_seconds=287)
LONE = a_pod("serverless-1", "shop", owner="ReplicaSet/serverless", node="fargate-1")
ODD = a_pod("odd-1", "ops", owner="Gremlin/odd", node="bare-1")

BUDGETS = {
    "web": a_budget("web", "shop", selector={"app": "web-5f7"}, expected=4, allowed=2),
    "sale": a_budget("sale", "shop", min_available="75%", expected=2, allowed=0, desired=2),
    "cache": a_budget("cache", "shop", selector={"app": "cache-9c"}, expected=9, allowed=1, generation=3),
    "reindex": a_budget(
        "reindex",
        "shop",
        expected=0,
        allowed=0,
        generation=1,
        observed_generation=0,
        condition_reason="SyncFailed",
    ),
    "thumbs": a_budget("thumbs", "shop", max_unavailable="30%", expected=4, current=2, allowed=0, desired=2),
}


def a_target(name: str, verdict: TargetVerdict = TargetVerdict.DRAINS, order: int = 0, **more: object) -> DrainTarget:
    fields: dict[str, object] = {"finish_round": 1 if order else 0, "evictions": 0, "left": 0} | more
    return DrainTarget(NODES[name], verdict, order, **fields)  # type: ignore[arg-type]


def a_finding(
    code: Code = Code.of("pod-unmanaged"),
    status: Status = Status.FAIL,
    subject: Subject | Pod | None = None,
    message: str = "nothing creates it again",
    severity: Severity = Severity.HIGH,
    *remedy: Remedy,
    evidence: tuple[str, ...] = (),
    missing: str = "",
) -> Finding:
    if isinstance(subject, Pod) or subject is None:
        pod = subject or SHELL
        subject = Subject("Pod", pod.name, pod.namespace)
    return Finding(code, severity, status, subject, message, evidence, remedy, missing)


def a_view(plan: DrainPlan | None = None, cluster: Cluster | None = None, **more: object) -> DrainReport:
    """The whole hand-written plan unless arguments replace parts of it; its tool version never changes."""
    fields: dict[str, object] = {"options": OPTIONS, "tool_version": "1.2.3"} | more
    return DrainReport(plan or PLAN, cluster or CLUSTER, **fields)  # type: ignore[arg-type]


def an_empty_plan(**more: object) -> DrainPlan:
    nothing: dict[str, object] = {
        "policy": DrainPolicy(),
        "targets": (),
        "evictions": (),
        "left": (),
        "budgets": (),
        "findings": (),
    }
    return DrainPlan(**(nothing | more))  # type: ignore[arg-type]


TARGETS = (
    a_target("old-2", TargetVerdict.SKIPPED, left=10, why=("shop/sale-0: budget shop/sale never allows an eviction",)),
    a_target("spot-0", TargetVerdict.DRAINS, 3, evictions=1, finish_round=2),
    a_target("old-1", TargetVerdict.DRAINS, 1, evictions=1),
    a_target("old-0", TargetVerdict.PARTIAL, 2, evictions=1, left=1, finish_round=2, why=("a pod stays: agent-x",)),
    a_target("old-3", TargetVerdict.SKIPPED, left=2, why=("ops/debug-shell: nothing creates it again",)),
    a_target("fargate-1", TargetVerdict.REFUSED, left=1, why=("a Fargate node exists for its one pod",)),
    a_target("bare-1", TargetVerdict.UNKNOWN, left=1, why=("its Gremlin was not read",)),
)

EVICTIONS = (
    Eviction(2, 2, WEB[0], "old-0", "shop/web", "the second of shop/web's four"),
    Eviction(1, 1, WEB[1], "old-1", "shop/web", "the budget has room for it"),
    Eviction(3, 2, SPOT, "spot-0", "", "no budget counts it"),
)

LEFT = (
    NotEvictedPod(WEB[2], "old-2", PodVerdict.HELD, (), "could go, but its node is skipped"),
    *(
        NotEvictedPod(p, "old-2", PodVerdict.BLOCKED, ("pod-emptydir",), "its emptyDir data would be deleted")
        for p in CACHE
    ),
    *(NotEvictedPod(p, p.node, PodVerdict.BLOCKED, ("budget-never-allows",), "its budget allows none") for p in SALE),
    NotEvictedPod(AGENT, "old-0", PodVerdict.STAY, ("pod-daemonset",), "its DaemonSet brings it straight back"),
    NotEvictedPod(SHELL, "old-3", PodVerdict.BLOCKED, ("pod-unmanaged",), "nothing creates it again"),
    NotEvictedPod(LONE, "fargate-1", PodVerdict.HELD, ("node-fargate",), "its node is not drained"),
    NotEvictedPod(ODD, "bare-1", PodVerdict.UNKNOWN, ("pod-returns",), "its owner was not read"),
)

HEADROOM = (
    Headroom(BUDGETS["web"], BudgetVerdict.FITS, (), 3, 2, 2, 1, None, "Deployment/web", "2 of 4 may go"),
    Headroom(BUDGETS["sale"], BudgetVerdict.BLOCKED_FOREVER, (), 2, 0, 0, 0, None, "Deployment/sale", "75% of 2 is 2"),
    Headroom(
        BUDGETS["cache"],
        BudgetVerdict.SERIAL,
        (BudgetVerdict.DISAGREES,),
        9,
        9,
        1,
        9,
        BudgetStatus(2, 9, 7, 9),
        "Deployment/cache",
        "1 of 9 may go at once",
        ((0.0, 0), (90.0, 1), (120.0, 0), (600.0, 1)),
    ),
    Headroom(
        BUDGETS["reindex"], BudgetVerdict.BLOCKED_NOW, (), 1, 0, 0, 0, None, "", "the controller cannot compute it"
    ),
    Headroom(BUDGETS["thumbs"], BudgetVerdict.UNHEALTHY, (), 1, 0, 0, 0, None, "ReplicaSet/thumbs", "2 not Ready"),
)

FINDINGS = (
    a_finding(
        Code.of("budget-never-allows"),
        Status.FAIL,
        Subject("PodDisruptionBudget", "sale", "shop"),
        "allows no eviction, ever: minAvailable 75% of 2 rounds up to 2",
        Severity.CRITICAL,
        Remedy("Scale it to 4 for the drain.", "kubectl scale deployment sale -n shop --replicas=4"),
        Remedy(
            "Have its owners loosen the budget.",
            "kubectl patch pdb sale -n shop --type merge "
            '-p \'{"spec": {"minAvailable": null, "maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"}}\'',
            When.LATER,
        ),
        evidence=("guards shop/sale-0 on old-2", "guards shop/sale-1 on old-3"),
    ),
    *(
        a_finding(
            Code.of("pod-emptydir"),
            Status.FAIL,
            pod,
            f"the data of {pod.key} is deleted with it",
            Severity.HIGH,
            Remedy("Save the data first.", f"kubectl exec -n {pod.namespace} {pod.name} -- tar c /data > {pod.name}"),
            evidence=(f"volume scratch of {pod.key}",),
        )
        for pod in CACHE
    ),
    a_finding(Code.of("pod-unmanaged"), Status.FAIL, SHELL),
    a_finding(
        Code.of("node-fargate"),
        Status.FAIL,
        Subject("Node", "fargate-1"),
        "a Fargate node is not drained",
        Severity.MEDIUM,
        Remedy("Restart the pod's owner."),
    ),
    a_finding(
        Code.of("pod-returns"),
        Status.UNKNOWN,
        Subject("Cluster", "cluster"),
        "cannot tell whether pods come back to their node",
        Severity.MEDIUM,
        Remedy("Get the right to list deployments.apps.", "kubectl auth can-i list deployments.apps -A"),
        missing="permission to list deployments.apps",
    ),
    a_finding(
        Code.of("only-backend"),
        Status.UNKNOWN,
        Subject("Cluster", "cluster"),
        "cannot tell what a webhook calls",
        Severity.MEDIUM,
        missing="services (not-held)",
    ),
    a_finding(
        Code.of("single-replica"),
        Status.PASS,
        Subject("Deployment", "mailer", "shop"),
        "its only replica is evicted: downtime until the replacement is Ready",
        Severity.LOW,
        Remedy("Scale it to 2 for the drain.", "kubectl scale deployment mailer -n shop --replicas=2"),
    ),
    a_finding(
        Code.of("budget-disagrees"),
        Status.PASS,
        Subject("PodDisruptionBudget", "cache", "shop"),
        "lets 1 of 9 pods go at once: 9 rounds",
        Severity.INFO,
    ),
)

CLUSTER = replace(
    a_cluster(
        unread=(
            KindRead(kinds.DEPLOYMENTS, ReadState.FORBIDDEN, detail='deployments.apps is forbidden: User "on-call"'),
            KindRead(kinds.SERVICES, ReadState.NOT_HELD, detail="the dump has no services"),
            KindRead(kinds.NODE_POOLS, ReadState.NOT_SERVED),
        ),
        nodes=NODES.values(),
        budgets=BUDGETS.values(),
        workloads=(
            a_workload("ReplicaSet/web-5f7", "shop", owner="Deployment/web"),
            a_workload("ReplicaSet/cache-9c", "shop", owner="Deployment/cache"),
        ),
    ),
    identity=Identity("prod-eu", "shop", "", "eu-central-1", "v1.33.1-eks-1b3e656"),
    notes=("pod shop/web-5f7-0 is in two files; the newer one is used",),
)

POLICY = DrainPolicy(partial=True, accept_unknown=frozenset({"only-backend"}))

PLAN = DrainPlan(
    POLICY,
    TARGETS,
    EVICTIONS,
    LEFT,
    HEADROOM,
    FINDINGS,
    handoffs=node_group_rollovers(CLUSTER, TARGETS, LEFT, EVICTIONS, POLICY),
)


def commands(view: DrainReport) -> set[str]:
    """All texts of the plan that a user copies: each must stay on one line, however long it is."""
    found = {remedy.command for finding in view.plan.findings for remedy in finding.remedy}
    found |= {c for each in view.plan.handoffs for step in (*each.arrive, *each.leave) for c in step.commands}
    found |= {step.command for step in next_steps(view)}
    return found | {
        c for group in grouped(view.unknowns, view) for _, each in merged_remedies(group, view) for c in each
    }


def with_long_names() -> DrainReport:
    """Nodes with names as EC2 gives them, in a node group with a long name."""
    targets = tuple(
        replace(
            target,
            node=replace(
                target.node,
                name=f"{target.node.name}-{EC2}",
                labels=dict(target.node.labels) | {"eks.amazonaws.com/nodegroup": "general-purpose-on-demand-blue"},
            ),
        )
        for target in PLAN.targets
    )
    budgets = tuple(
        replace(
            h, budget=replace(h.budget, name=f"{h.budget.name}-{'long-' * 12}", namespace="team-checkout-and-payment")
        )
        for h in PLAN.budgets
    )
    return a_view(replace(PLAN, targets=targets, budgets=budgets))
