"""What there is to evict, node by node, and what each eviction takes a turn on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from kubectl_eksdoc.core.model.budgets import Budget
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.manners import EVICTED, Means
from kubectl_eksdoc.core.plan.drain.order.rounds import Task, task_of
from kubectl_eksdoc.core.plan.drain.outcome import PodVerdict
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.plan.drain.targets import natural
from kubectl_eksdoc.core.plan.drain.verdicts.budgets import JudgedBudget
from kubectl_eksdoc.core.plan.drain.verdicts.copies import SCALED_BY_HAND
from kubectl_eksdoc.core.plan.drain.verdicts.judging import JudgedPod, Judgement
from kubectl_eksdoc.core.rules.replacement import Replacement, replacement

NEEDED = "needed: "
"""Prefix of limits that are not budgets: one backend a round of what replacements need."""

SOFT = "soft budget of "
"""Prefix of limits that stand for a budget where a workload has none (``--soft-budget``)."""


@dataclass(frozen=True, slots=True)
class Work:
    """`tasks` by node, each node's by namespace and name; `per_round` is how many of a limit's tasks may go at once.

    `partly` are the nodes on which something is held back: they are emptied as far as possible, and stay.
    """

    tasks: Mapping[str, tuple[Task, ...]]
    per_round: Mapping[str, int]
    partly: frozenset[str] = frozenset()

    @property
    def crowded(self) -> frozenset[str]:
        """The limits that more tasks use than may go at once, or under which some must go after the others."""
        users: dict[str, int] = defaultdict(int)
        found: set[str] = set()
        for given in self.tasks.values():
            for _, limits, for_good, late, *_ in given:
                for limit in limits:
                    users[limit] += 1
                if for_good or late:
                    found.update(limits)
        return frozenset(found | {limit for limit, number in users.items() if number > self.per_round[limit]})

    @property
    def evictions(self) -> int:
        return sum(len(given) for given in self.tasks.values())


def work_of(world: Survey, judgement: Judgement) -> Work:
    """What a drain evicts, after `judgement`: the pods that can go from the nodes that are drained."""
    soft: dict[str, int] = {}
    tasks = dict(_tasks(world, judgement, judgement.pods, soft))
    limits = {limit for given in tasks.values() for task in given for limit in task.limits}
    allowed = {key: b.per_round for key, b in judgement.budgets.items() if b.per_round} | soft
    partly = {name for name in tasks if not judgement.complete(name, partial=False)} if world.policy.partial else set()
    return Work(tasks, {limit: allowed.get(limit, 1) for limit in limits}, frozenset(partly))


def work_again(world: Survey, judgement: Judgement, work: Work, nodes: Collection[str], budgets: Iterable[str]) -> Work:
    """`work` where the verdicts on pods of `nodes` and on the `budgets` of those keys are new."""
    soft: dict[str, int] = {}
    tasks = {name: given for name, given in work.tasks.items() if name not in nodes}
    tasks.update(_tasks(world, judgement, nodes, soft))
    allowed = {key: judgement.budgets[key].per_round or 1 for key in budgets} | soft
    new = {limit: 1 for name in nodes for task in tasks.get(name, ()) for limit in task.limits}
    return Work(tasks, new | dict(work.per_round) | allowed)


def _tasks(
    world: Survey, judgement: Judgement, nodes: Iterable[str], soft: dict[str, int]
) -> Iterator[tuple[str, tuple[Task, ...]]]:
    limits_of = _Limits(world, judgement.budgets, soft).of
    for name in nodes:
        if judgement.complete(name, world.policy.partial):
            going = [judged for judged in judgement.pods[name] if judged[1] is PodVerdict.EVICT]
            going.sort(key=_by_name)
            yield name, tuple([_task(world, judged, *limits_of(judged)) for judged in going])


def _task(world: Survey, judged: JudgedPod, guarded: tuple[str, ...], limits: tuple[str, ...]) -> Task:
    pod, manner = judged.pod, judged.manner if judged.said else EVICTED
    if manner is not EVICTED and manner.means in _WITHOUT_LIMITS:
        return task_of(pod, after=_WITHOUT_LIMITS[manner.means], manner=manner)
    after = replacement(pod)
    lease = world.leases_held.get(pod.key, "") if limits and world.leases_held else ""
    return task_of(pod, limits, guarded if after is Replacement.NEVER else (), lease, after, manner)


_WITHOUT_LIMITS = {Means.RESTART: Replacement.FIRST, Means.PATIENCE: Replacement.NEVER}
"""What is never away, or not because of us, takes no turn: and what comes after it."""


def _by_name(judged: JudgedPod) -> tuple[str, object]:
    """Numbers count where names end in one."""
    pod = judged.pod
    if pod.owner is not None and pod.owner.kind == "StatefulSet":
        return pod.namespace, natural(pod.name)
    return pod.namespace, ((1, pod.name),)


class _Limits:
    """What evictions take a turn on; what soft budgets there are is noted in `soft`."""

    def __init__(self, world: Survey, budgets: Mapping[str, JudgedBudget], soft: dict[str, int]) -> None:
        self._world = world
        self._budgets = budgets
        self._soft = soft
        self._asks_more = world.policy.soft_budget is not None
        self._alike: dict[int, tuple[str, ...]] = {}  # by id of guards that count all pods they select on targets

    def of(self, judged: JudgedPod) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The budgets that count the pod, and all that limits its eviction."""
        pod, guards = judged.pod, judged.guards
        guarded = (self._alike.get(id(guards)) or self._counting(pod, guards)) if guards else ()
        limits = guarded
        if self._asks_more:
            limits += _softly(self._world, pod, self._soft)
        if self._world.needed and pod.uid in self._world.needed:
            limits += tuple(NEEDED + b.what for b in self._world.needed[pod.uid])
        return guarded, limits

    def _counting(self, pod: Pod, guards: tuple[Budget, ...]) -> tuple[str, ...]:
        judged = [self._budgets[b.key] for b in guards]
        found = tuple([each.budget.key for each in judged if pod.uid in each.counted_uids])
        if all(len(each.counted) == len(each.on_targets) for each in judged):
            self._alike[id(guards)] = found  # most pods: those that share their guards share the answer, too
        return found


def _softly(world: Survey, pod: Pod, soft: dict[str, int]) -> tuple[str, ...]:
    """The limit for a pod that no budget guards, noted in `soft`: a percentage of its replicas, at least one."""
    percent = world.policy.soft_budget
    if percent is None or not pod.ready or pod.finished or pod.deleting or world.budgets_of(pod):
        return ()
    top = world.top_of(pod)
    if top is None or top.kind not in SCALED_BY_HAND:
        return ()
    limit = f"{SOFT}{top.kind}/{top.name} in {top.namespace}"
    soft[limit] = max(1, top.replicas * percent // 100)
    return (limit,)
