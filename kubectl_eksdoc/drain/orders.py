"""Orders in which nodes can be drained: which is best depends on what is scarce, so several are tried.

Where budgets are scarce, the nodes with pods of the longest chain go first, so that its turns never pause. Where room
is short, light nodes, or nodes that soon give much room, go first. Zone by zone and oldest first is what people do by
hand. Other orders are variations of the best so far.

An order or pins that the user gives must name targets, and must not contradict each other.
"""

from __future__ import annotations

import difflib
import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import NamedTuple

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.replacement import Replacement, replacement
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.connection import kubectl
from kubectl_eksdoc.model.findings import Finding, Subject
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.model.options import ALL
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.model.workloads import Workload

from .budget_verdicts import JudgedBudget
from .filter_verdicts import SCALABLE_KINDS
from .judging import JudgedPod, Judgement
from .nodes import DrainContext, natural_key
from .outcome import Eviction, PodVerdict
from .policy import PLAIN_EVICTION, DrainPolicy, EvictionMethod, random_fraction
from .rounds import (
    BudgetBooking,
    EvictionOrder,
    Task,
    build_task,
    domains_of,
    nodes_at_once,
)
from .rule_results import evidence_line
from .timeline import build_tuple


@frozen
class NodeTraits:
    """The properties of one node that orders use. `chain_s`: of the limits of its pods, the seconds that all pods of
    the longest chain take together; `chains_s`: the sum over its chains. `alone_s`: seconds that the node takes by
    itself. `load`: the share of its capacity that its evicted pods request, from 0 to 1."""

    name: str
    evictions: int
    chain_s: float
    chains_s: float
    alone_s: float
    load: float
    zone: str
    created_at: datetime | None


OrderStrategy = Callable[[Sequence[NodeTraits]], list[str]]

_UNKNOWN_DATE = "0000"


def hardest_chain(nodes: Sequence[NodeTraits]) -> list[str]:
    """Nodes that hold a pod of the longest chain first."""
    return _sorted_names(nodes, lambda n: (-n.chain_s, -n.chains_s))


def lightest(nodes: Sequence[NodeTraits]) -> list[str]:
    """Nodes whose pods need the least room first."""
    return _sorted_names(nodes, lambda n: (n.load,))


def efficient(nodes: Sequence[NodeTraits]) -> list[str]:
    """Nodes that give the most room for the room and the time they take first."""
    return _sorted_names(nodes, lambda n: (n.alone_s * n.load / max(1.0 - n.load, 0.01),))


def zone_and_age(nodes: Sequence[NodeTraits]) -> list[str]:
    """Zone by zone, the oldest nodes of each first."""
    return _sorted_names(nodes, lambda n: (n.zone, n.created_at.isoformat() if n.created_at else _UNKNOWN_DATE))


def by_name(nodes: Sequence[NodeTraits]) -> list[str]:
    return _sorted_names(nodes, lambda n: ())


def order_from_list(listed: Sequence[str]) -> OrderStrategy:
    """The nodes of `listed` in that order, then the others by name."""
    place = {name: i for i, name in enumerate(listed)}

    def in_that_order(nodes: Sequence[NodeTraits]) -> list[str]:
        return sorted((n.name for n in nodes), key=lambda name: (place.get(name, len(place)), natural_key(name)))

    return in_that_order


def vary_order(order: Sequence[str], seed: int) -> OrderStrategy:
    """`order` with one node moved (odd seeds), or with every node moved a little; the random values follow from
    `seed`."""
    names = list(order)
    if seed % 2 and len(names) > 1:
        index = int(random_fraction(seed, 0) * len(names))
        random_value = random_fraction(seed, 1)  # half of the moves are by one place, a quarter by two
        distance = next((i for i in range(1, len(names)) if random_value < 1 - 0.5**i), 1)
        name = names.pop(index)
        names.insert(max(0, index - distance) if random_fraction(seed, 2) < 0.5 else index + distance, name)
    else:
        max_shift = max(2, len(names) // (4 + seed % 5))
        sort_value = {name: i + max_shift * random_fraction(seed, i) for i, name in enumerate(names)}
        names.sort(key=sort_value.__getitem__)
    place_of = {name: i for i, name in enumerate(names)}
    return lambda nodes: sorted((n.name for n in nodes), key=place_of.__getitem__)


STRATEGIES: dict[str, OrderStrategy] = {
    "chain": hardest_chain,
    "light": lightest,
    "efficiency": efficient,
    "zone": zone_and_age,
    "name": by_name,
}
"""All of `policy.ORDERS` except ``soonest``, which needs the tasks (see `soonest_first`)."""


def _sorted_names(nodes: Sequence[NodeTraits], key: Callable[[NodeTraits], tuple[object, ...]]) -> list[str]:
    """Empty nodes come before all others: no pod moves when they are drained."""
    return [n.name for n in sorted(nodes, key=lambda n: (n.evictions > 0, key(n), natural_key(n.name)))]


# The pods to evict, by node, and the limits of each eviction.


BACKEND = "needed: "
"""Prefix of limits that are not budgets: one backend per round of a service that replacements need."""

SOFT_BUDGET = "soft budget of "
"""Prefix of limits that stand for a budget where a workload has none (``--soft-budget``)."""


@frozen
class NodeTasks:
    """The evictions of a drain. `tasks` by node, those of a node by namespace and name; `per_round`: limit → how many
    of its tasks may go at once. `partial_nodes`: nodes that keep some pods: they are emptied as far as possible, and
    stay."""

    tasks: Mapping[str, tuple[Task, ...]]
    per_round: Mapping[str, int]
    partial_nodes: frozenset[str] = frozenset()

    @property
    def contended_limits(self) -> frozenset[str]:
        """The limits that have more tasks than may go at once, or some of whose tasks must go after the others."""
        users: dict[str, int] = defaultdict(int)
        contended: set[str] = set()
        for group in self.tasks.values():
            for task in group:
                for limit in task.limits:
                    users[limit] += 1
                if task.permanent_limits or task.late_reason:
                    contended.update(task.limits)
        return frozenset(contended | {limit for limit, number in users.items() if number > self.per_round[limit]})

    @property
    def eviction_count(self) -> int:
        return sum(len(group) for group in self.tasks.values())


def build_node_tasks(context: DrainContext, judgement: Judgement) -> NodeTasks:
    """The evictions of a drain after `judgement`: the evictable pods of the nodes that are drained."""
    soft_limits: dict[str, int] = {}
    tasks = dict(_tasks_by_node(context, judgement, judgement.pods, soft_limits))
    limits = dict.fromkeys(chain.from_iterable([task[1] for group in tasks.values() for task in group]))
    allowed = {key: judged.per_round for key, judged in judgement.budgets.items() if judged.per_round} | soft_limits
    partial_nodes = (
        {name for name in tasks if not judgement.is_drained(name, partial=False)} if context.policy.partial else set()
    )
    return NodeTasks(tasks, {limit: allowed.get(limit, 1) for limit in limits}, frozenset(partial_nodes))


def update_node_tasks(
    context: DrainContext, judgement: Judgement, old_tasks: NodeTasks, nodes: Collection[str], budgets: Iterable[str]
) -> NodeTasks:
    """`old_tasks` after the verdicts on pods of `nodes` and on the `budgets` with these keys have changed."""
    soft_limits: dict[str, int] = {}
    tasks = {name: group for name, group in old_tasks.tasks.items() if name not in nodes}
    tasks.update(_tasks_by_node(context, judgement, nodes, soft_limits))
    allowed = {key: judgement.budgets[key].per_round or 1 for key in budgets} | soft_limits
    new_limits = {limit: 1 for name in nodes for task in tasks.get(name, ()) for limit in task.limits}
    return NodeTasks(tasks, new_limits | dict(old_tasks.per_round) | allowed)


def _tasks_by_node(
    context: DrainContext, judgement: Judgement, nodes: Iterable[str], soft_limits: dict[str, int]
) -> Iterator[tuple[str, tuple[Task, ...]]]:
    limits_of = _LimitFinder(context, judgement.budgets, soft_limits).for_pod
    for name in nodes:
        if judgement.is_drained(name, context.policy.partial):
            evictable = [judged for judged in judgement.pods[name] if judged[1] is PodVerdict.EVICT]
            evictable.sort(key=_pod_sort_key)
            yield name, tuple([_build_task(context, judged, *limits_of(judged)) for judged in evictable])


def _build_task(context: DrainContext, judged: JudgedPod, guarding: tuple[str, ...], limits: tuple[str, ...]) -> Task:
    pod, eviction_mode = judged.pod, judged.eviction_mode if judged.results else PLAIN_EVICTION
    if eviction_mode is not PLAIN_EVICTION and eviction_mode.means in _UNLIMITED_METHODS:
        return build_task(pod, replacement=_UNLIMITED_METHODS[eviction_mode.means], eviction_mode=eviction_mode)
    after = replacement(pod)
    lease = context.leases_held.get(pod.key, "") if limits and context.leases_held else ""
    return build_task(pod, limits, guarding if after is Replacement.NEVER else (), lease, after, eviction_mode)


_UNLIMITED_METHODS = {EvictionMethod.RESTART: Replacement.SURGE, EvictionMethod.WAIT: Replacement.NEVER}
"""Methods that make no pod unavailable, or not because of the drain: they take no turn. Value: how the pod is
replaced."""


def _pod_sort_key(judged: JudgedPod) -> tuple[str, object]:
    """StatefulSet pods sort by the number at the end of their names."""
    pod = judged.pod
    if pod.owner is not None and pod.owner.kind == "StatefulSet":
        return pod.namespace, natural_key(pod.name)
    return pod.namespace, ((1, pod.name),)


class _LimitFinder:
    """Finds the limits of evictions; soft budgets that it finds are added to `soft_limits`."""

    def __init__(self, context: DrainContext, budgets: Mapping[str, JudgedBudget], soft_limits: dict[str, int]) -> None:
        self._context = context
        self._budgets = budgets
        self._soft_limits = soft_limits
        self._has_soft_budget = context.policy.soft_budget is not None
        self._shared_budgets: dict[int, tuple[str, ...]] = {}  # by id of budgets that count all their pods

    def for_pod(self, judged: JudgedPod) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The budgets that count the pod, and all limits of its eviction."""
        pod, budgets = judged.pod, judged.budgets
        guarding = (self._shared_budgets.get(id(budgets)) or self._counting_budgets(pod, budgets)) if budgets else ()
        limits = guarding
        if self._has_soft_budget:
            limits += _soft_limits(self._context, pod, self._soft_limits)
        if self._context.needed_backends and pod.uid in self._context.needed_backends:
            limits += tuple(BACKEND + b.what for b in self._context.needed_backends[pod.uid])
        return guarding, limits

    def _counting_budgets(self, pod: Pod, budgets: tuple[Budget, ...]) -> tuple[str, ...]:
        judged = [self._budgets[budget.key] for budget in budgets]
        keys = tuple([each.budget.key for each in judged if pod.uid in each.counted_uids])
        if all(len(each.counted) == len(each.on_targets) for each in judged):
            self._shared_budgets[id(budgets)] = keys  # most pods: pods with the same budgets share the answer
        return keys


def _soft_limits(context: DrainContext, pod: Pod, soft_limits: dict[str, int]) -> tuple[str, ...]:
    """The limit of a pod without a budget, added to `soft_limits`: a percentage of its replicas, at least one."""
    percent = context.policy.soft_budget
    if percent is None or not pod.ready or pod.finished or pod.deleting or context.budgets_of(pod):
        return ()
    workload = context.top_workload(pod)
    if workload is None or workload.kind not in SCALABLE_KINDS:
        return ()
    limit = f"{SOFT_BUDGET}{workload.kind}/{workload.name} in {workload.namespace}"
    soft_limits[limit] = max(1, workload.replicas * percent // 100)
    return (limit,)


# The order "soonest": the next node is always the one that can be empty soonest after the bookings of earlier nodes.
#
# It keeps the turns of every budget going without cordoned nodes that wait long for a turn: so it is tried first.


class _LimitUse(NamedTuple):
    """One node's use of one limit; `chain`: the rounds that all tasks under the limit take together."""

    limit: str
    units: int
    chain: int


def _limit_uses(tasks: Mapping[str, Sequence[Task]], per_round: Mapping[str, int]) -> dict[str, tuple[_LimitUse, ...]]:
    """The uses of each node, longest chain first."""
    units_by_node = {node: Counter([limit for task in group for limit in task.limits]) for node, group in tasks.items()}
    totals: Counter[str] = Counter()
    for units in units_by_node.values():
        totals.update(units)
    chains = {limit: -(-total // per_round[limit]) for limit, total in totals.items()}
    node_uses = {}
    for node, units in units_by_node.items():
        uses = [_LimitUse(limit, number, chains[limit]) for limit, number in units.items()]
        node_uses[node] = tuple(sorted(uses, key=lambda need: -need.chain))
    return node_uses


def soonest_first(tasks: Mapping[str, Sequence[Task]], per_round: Mapping[str, int]) -> list[str]:
    """The next node is always the one that can be empty soonest after those before it; ties: fewest pods, then by name.

    Nodes queue with those that share their longest chain, and only the first of each queue is evaluated.
    """
    node_uses = _limit_uses(tasks, per_round)
    queues: dict[str, list[tuple[int, int, object, str]]] = defaultdict(list)
    for node, group in tasks.items():
        first_use = node_uses[node][0] if node_uses[node] else _LimitUse("", 0, 0)
        queues[first_use.limit].append((first_use.units, len(group), natural_key(node), node))
    used_units: dict[str, int] = defaultdict(int)
    heap: list[tuple[int, int, object, str, str]] = []

    def step_up(limit: str) -> None:
        if queues[limit]:
            _, size, key, node = queues[limit].pop()
            earliest = max(_earliest_round(node_uses[node], used_units, per_round), min(1, size))
            heapq.heappush(heap, (earliest, size, key, node, limit))

    for limit, queue in queues.items():
        queue.sort(reverse=True)
        step_up(limit)
    ordered: list[str] = []
    while heap:
        _, size, key, node, limit = heapq.heappop(heap)
        # Other nodes may have been chosen since this node was evaluated: it waits if it no longer comes first.
        current = (max(_earliest_round(node_uses[node], used_units, per_round), min(1, size)), size, key, node, limit)
        if heap and current > heap[0]:
            heapq.heappush(heap, current)
            continue
        ordered.append(node)
        for need in node_uses[node]:
            used_units[need.limit] += need.units
        step_up(limit)
    return ordered


def _earliest_round(uses: Iterable[_LimitUse], used_units: Mapping[str, int], per_round: Mapping[str, int]) -> int:
    """The round by which `uses` can be met after other nodes have taken `used_units`. The uses come longest chain
    first."""
    earliest = 0
    for need in uses:
        if need.chain <= earliest:
            break  # all of its tasks together do not take that long
        last_round = -(-(used_units.get(need.limit, 0) + need.units) // per_round[need.limit])
        if last_round > earliest:
            earliest = last_round
    return earliest


def check_order_options(policy: DrainPolicy, targets: Sequence[Node]) -> None:
    """
    Raises:
        UsageError: the order or a pin of `policy` names a node that is no target, or pins put more nodes into a wave
            than may be under way at once.
    """
    targets_by_name = {node.name: node for node in targets}
    for flag, names in (("--order-file", policy.order_nodes), ("--pin", [node for node, _ in policy.pins])):
        unknown_names = [name for name in names if name not in targets_by_name]
        if unknown_names:
            close = difflib.get_close_matches(unknown_names[0], targets_by_name, n=3)
            hint = f"close to it: {', '.join(close)}" if close else "leave it out, or make it a target"
            raise UsageError(
                f"{flag} names {unknown_names[0]}, which is none of the {len(targets_by_name)} targets", hint
            )
    room = nodes_at_once(policy, targets)
    pinned = Counter((wave, domain) for name, wave in policy.pins for domain in domains_of(targets_by_name[name]))
    for (wave, domain), count in sorted(pinned.items()):
        if count > room.get(domain, count):
            scope = "" if domain == ALL else f" of {domain}"
            raise UsageError(
                f"--pin puts {count} nodes{scope} into wave {wave}, and --max-unavailable lets {room[domain]} be under "
                "way at once",
                "Pin fewer of them to that wave, or let more be under way.",
            )


# The evictions as the plan lists them: every position with its reason.


NO_BUDGET = "no budget guards it"


def list_evictions(
    context: DrainContext, order: EvictionOrder, budgets: Mapping[str, JudgedBudget], places: Mapping[str, str]
) -> tuple[Eviction, ...]:
    """The order as the plan lists it; `places`: pod uid → node that is reserved for its replacement."""
    budget_texts = {key: f"budget {key} lets {budget.per_round} go at once" for key, budget in budgets.items()}
    rows = []
    for i, booking in enumerate(order.bookings, 1):
        task, node, number, turn, turns = booking
        pod, limits, _, is_late, after_eviction, tier, eviction_mode = task
        budget = ""
        for limit in limits:
            if limit in budget_texts:
                budget = limit
                break
        is_plain = eviction_mode is PLAIN_EVICTION and not (is_late or tier or after_eviction is Replacement.NEVER)
        if budget and len(limits) == 1 and is_plain:
            reason = f"{budget_texts[budget]}: {turn} of {turns}"  # most pods with a budget
        elif is_plain and not limits and pod.phase == "Running" and not context.budgets_of(pod):
            reason = NO_BUDGET  # most pods without one
        else:
            reason = _eviction_reason(context, booking, budget_texts.get(budget, ""))
        lands_on = places.get(pod.uid, "")
        rows.append(
            build_tuple(Eviction, (i, number, pod, node, budget, reason, lands_on, limits, tier, eviction_mode))
        )
    return tuple(rows)


def _eviction_reason(context: DrainContext, booking: BudgetBooking, budget_text: str) -> str:
    """`budget_text`: how many pods its budget lets go at once, "" without a budget."""
    pod, task = booking.task.pod, booking.task
    parts = (
        [f"may finish for up to {format_duration(task.eviction_mode.waits_s)} first"]
        if task.eviction_mode.waits_s
        else []
    )
    if task.eviction_mode.restarts is not None:
        parts.append(
            f"restart of Deployment {task.eviction_mode.restarts.name}: the new pod is Ready before this one stops"
        )
    elif task.eviction_mode.means is EvictionMethod.DELETE:
        parts.append("deleted past its budget, as --delete-past-budget says")
    elif task.eviction_mode.means is EvictionMethod.WAIT:
        parts.append("never evicted: its Job would fail")
    elif pod.finished:
        parts.append("finished: nothing stops when it goes")
    elif pod.phase == "Pending":
        parts.append("not started yet: budgets are not asked")
    elif budget_text:
        parts.append(f"{budget_text}: {booking.turn} of {booking.turns}")
    elif context.budgets_of(pod):
        parts.append(f"not Ready: budget {context.budgets_of(pod)[0].key} allows it without counting it")
    elif any(x.startswith(SOFT_BUDGET) for x in task.limits):
        parts.append(f"no budget guards it, --soft-budget does: {booking.turn} of {booking.turns}")
    else:
        parts.append(NO_BUDGET)
    parts += [f"one backend of {x.removeprefix(BACKEND)} at a time" for x in task.limits if x.startswith(BACKEND)]
    if task.late_reason and booking.turns > 1:
        parts.append(f"holds lease {task.late_reason}: after its standby")
    if (
        task.replacement is Replacement.NEVER
        and not pod.finished
        and task.eviction_mode.means is not EvictionMethod.WAIT
    ):
        parts.append("nothing replaces it")
    if pod.is_system_critical:
        parts.append("system-critical: after the other pods of its node")
    return "; ".join(parts)


# Workloads without a budget whose ready pods would all be away in the same round.


def outage_findings(context: DrainContext, order: EvictionOrder) -> Iterable[Finding]:
    """One finding for each workload of several replicas all of whose Ready pods are evicted in the same round."""
    pods_by_round: dict[tuple[str, int], list[Pod]] = defaultdict(list)
    workloads: dict[str, Workload] = {}
    top_workloads: dict[str, Workload | None] = {}  # by uid of the pods' own owners
    budgets = {budget.key for budget in context.cluster.budgets}
    for booking in order.bookings:
        task = booking.task
        # Most pods have a budget, which is reported anyway; these methods make no pod unavailable, or not by this
        # drain.
        if (task.limits and task.limits[0] in budgets) or task.eviction_mode.means in (
            EvictionMethod.RESTART,
            EvictionMethod.WAIT,
        ):
            continue
        pod, owner = task.pod, task.pod.owner
        if owner is None or not pod.ready:
            continue
        if owner.uid not in top_workloads:
            top_workloads[owner.uid] = context.top_workload(pod)
        workload = top_workloads[owner.uid]
        if workload is not None and workload.kind in SCALABLE_KINDS:
            pods_by_round[workload.uid, booking.round].append(pod)
            workloads[workload.uid] = workload
    together = {
        key: [p for p in pods if not context.budgets_of(p)] for key, pods in pods_by_round.items() if len(pods) > 1
    }
    owners = {pod.owner.uid: uid for (uid, _), pods in together.items() for pod in pods if pod.owner is not None}
    ready = Counter(
        [
            owners[pod.owner.uid]
            for pod in (context.cluster.pods if owners else ())
            if pod.ready and pod.owner is not None and pod.owner.uid in owners and not pod.deleting
        ]
    )
    for (uid, number), pods in together.items():
        if len(pods) > 1 and len(pods) == ready[uid]:
            yield _outage_finding(workloads[uid], number, pods)


def _outage_finding(workload: Workload, number: int, pods: list[Pod]) -> Finding:
    selector = ",".join(f"{key}={value}" for key, value in sorted(workload.template_labels.items()))
    return Finding.of(
        "all-replicas-at-once",
        Subject(workload.kind, workload.name, workload.namespace),
        tuple(evidence_line(pod) for pod in pods),
        pods_count=len(pods),
        number=number,
        command=kubectl(
            "create", "pdb", workload.name, workload.namespace, f"--selector={selector}", "--max-unavailable=1"
        ),
    )
