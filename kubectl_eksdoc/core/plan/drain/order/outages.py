"""Workloads without a budget whose ready pods would all be away in the same round."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from kubectl_eksdoc.core.model.commands import kubectl
from kubectl_eksdoc.core.model.findings import Finding, Subject
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.model.workloads import Workload
from kubectl_eksdoc.core.plan.drain.manners import Means
from kubectl_eksdoc.core.plan.drain.order.rounds import Order
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.plan.drain.verdicts.copies import SCALED_BY_HAND
from kubectl_eksdoc.core.plan.drain.verdicts.said import where


def outages(world: Survey, order: Order) -> Iterable[Finding]:
    """One finding for each workload of several replicas of which no ready pod is left after one round."""
    together: dict[tuple[str, int], list[Pod]] = defaultdict(list)
    tops: dict[str, Workload] = {}
    budgets = {budget.key for budget in world.cluster.budgets}
    for booking in order.bookings:
        pod, limits, *_, manner = booking.task
        # Most wait for a budget, which says enough.
        if (limits and limits[0] in budgets) or not pod.ready or world.budgets_of(pod):
            continue
        if manner.means in (Means.RESTART, Means.PATIENCE):
            continue  # never away, or not because of this drain
        top = world.top_of(pod)
        if top is not None and top.kind in SCALED_BY_HAND:
            together[(top.uid, booking.round)].append(pod)
            tops[top.uid] = top
    owners = {pod.owner.uid: uid for (uid, _), pods in together.items() for pod in pods if pod.owner is not None}
    ready = Counter(
        [
            owners[pod.owner.uid]
            for pod in (world.cluster.pods if owners else ())
            if pod.ready and pod.owner is not None and pod.owner.uid in owners and not pod.deleting
        ]
    )
    for (uid, number), pods in together.items():
        if len(pods) > 1 and len(pods) == ready[uid]:
            yield _finding(tops[uid], number, pods)


def _finding(top: Workload, number: int, pods: list[Pod]) -> Finding:
    selector = ",".join(f"{key}={value}" for key, value in sorted(top.template_labels.items()))
    return Finding.of(
        "all-replicas-at-once",
        Subject(top.kind, top.name, top.namespace),
        tuple(where(pod) for pod in pods),
        pods_count=len(pods),
        number=number,
        command=kubectl("create", "pdb", top.name, top.namespace, f"--selector={selector}", "--max-unavailable=1"),
    )
