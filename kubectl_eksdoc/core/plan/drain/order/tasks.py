"""What there is to evict, node by node, and what each eviction takes a turn on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.order.rounds import Task
from kubectl_eksdoc.core.plan.drain.outcome import PodVerdict
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.plan.drain.targets import natural
from kubectl_eksdoc.core.plan.drain.verdicts.budgets import JudgedBudget
from kubectl_eksdoc.core.plan.drain.verdicts.judging import Judgement
from kubectl_eksdoc.core.rules.replacement import Replacement, replacement

NEEDED = "needed: "
"""Prefix of limits that are not budgets: one backend a round of what replacements need."""

SOFT = "soft budget of "
"""Prefix of limits that stand for a budget where a workload has none (``--soft-budget``)."""


@dataclass(frozen=True, slots=True)
class Work:
    """`tasks` by node, each node's by namespace and name; `per_round` is how many of a limit's tasks may go at once."""

    tasks: Mapping[str, tuple[Task, ...]]
    per_round: Mapping[str, int]

    @property
    def evictions(self) -> int:
        return sum(len(given) for given in self.tasks.values())


def work_of(world: Survey, judgement: Judgement) -> Work:
    """What a drain evicts, after `judgement`: the pods that can go from the nodes that are drained."""
    tasks = {}
    soft: dict[str, int] = {}
    for name, on in judgement.pods.items():
        if judgement.complete(name, world.policy.partial):
            going = [_task(world, p.pod, judgement.budgets, soft) for p in on if p.verdict is PodVerdict.EVICT]
            going.sort(key=lambda task: (task.pod.namespace, natural(task.pod.name)))
            tasks[name] = tuple(going)
    limits = {limit for given in tasks.values() for task in given for limit in task.limits}
    allowed = {key: b.per_round for key, b in judgement.budgets.items() if b.per_round} | soft
    return Work(tasks, {limit: allowed.get(limit, 1) for limit in limits})


def _task(world: Survey, pod: Pod, budgets: Mapping[str, JudgedBudget], soft: dict[str, int]) -> Task:
    guarded = [b.key for b in world.budgets_of(pod) if budgets[b.key].counts(pod)]
    limits = guarded + _softly(world, pod, soft) + [NEEDED + b.what for b in world.needed.get(pod.uid, ())]
    lease = world.leases_held.get(pod.key, "") if limits else ""
    after = replacement(pod)
    return Task(pod, tuple(limits), tuple(guarded) if after is Replacement.NEVER else (), lease, after)


def _softly(world: Survey, pod: Pod, soft: dict[str, int]) -> list[str]:
    """The limit for a pod that no budget guards, noted in `soft`: a percentage of its replicas, at least one."""
    percent = world.policy.soft_budget
    if percent is None or not pod.ready or pod.finished or pod.deleting or world.budgets_of(pod):
        return []
    top = world.top_of(pod)
    if top is None or top.kind not in _COPIES:
        return []
    limit = f"{SOFT}{top.kind}/{top.name} in {top.namespace}"
    soft[limit] = max(1, top.replicas * percent // 100)
    return [limit]


_COPIES = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController")
