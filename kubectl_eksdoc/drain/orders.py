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
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.model.workloads import Workload

from .budget_verdicts import JudgedBudget
from .course import made
from .filter_verdicts import SCALED_BY_HAND
from .judging import JudgedPod, Judgement
from .nodes import DrainContext, natural
from .outcome import Eviction, PodVerdict
from .policy import EVICTED, DrainPolicy, Means, chance
from .rounds import (
    BudgetBooking,
    EvictionOrder,
    Task,
    at_once,
    domains_of,
    task_of,
)
from .rule_results import where


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


Strategy = Callable[[Sequence[NodeTraits]], list[str]]

_LONG_AGO = "0000"


def hardest_chain(nodes: Sequence[NodeTraits]) -> list[str]:
    """Nodes that hold a pod of the longest chain first."""
    return _by(nodes, lambda n: (-n.chain_s, -n.chains_s))


def lightest(nodes: Sequence[NodeTraits]) -> list[str]:
    """Nodes whose pods need the least room first."""
    return _by(nodes, lambda n: (n.load,))


def efficient(nodes: Sequence[NodeTraits]) -> list[str]:
    """Nodes that give the most room for the room and the time they take first."""
    return _by(nodes, lambda n: (n.alone_s * n.load / max(1.0 - n.load, 0.01),))


def zone_and_age(nodes: Sequence[NodeTraits]) -> list[str]:
    """Zone by zone, the oldest nodes of each first."""
    return _by(nodes, lambda n: (n.zone, n.created_at.isoformat() if n.created_at else _LONG_AGO))


def by_name(nodes: Sequence[NodeTraits]) -> list[str]:
    return _by(nodes, lambda n: ())


def given(first: Sequence[str]) -> Strategy:
    """The nodes of `listed` in that order, then the others by name."""
    place = {name: i for i, name in enumerate(first)}

    def in_that_order(nodes: Sequence[NodeTraits]) -> list[str]:
        return sorted((n.name for n in nodes), key=lambda name: (place.get(name, len(place)), natural(name)))

    return in_that_order


def varied(order: Sequence[str], seed: int) -> Strategy:
    """`order` with one node moved (odd seeds), or with every node moved a little; the random values follow from
    `seed`."""
    names = list(order)
    if seed % 2 and len(names) > 1:
        which = int(chance(seed, 0) * len(names))
        drawn = chance(seed, 1)  # half of the moves are by one place, a quarter by two
        far = next((i for i in range(1, len(names)) if drawn < 1 - 0.5**i), 1)
        name = names.pop(which)
        names.insert(max(0, which - far) if chance(seed, 2) < 0.5 else which + far, name)
    else:
        reach = max(2, len(names) // (4 + seed % 5))
        place = {name: i + reach * chance(seed, i) for i, name in enumerate(names)}
        names.sort(key=place.__getitem__)
    place_of = {name: i for i, name in enumerate(names)}
    return lambda nodes: sorted((n.name for n in nodes), key=place_of.__getitem__)


BY_NAME: dict[str, Strategy] = {
    "chain": hardest_chain,
    "light": lightest,
    "efficiency": efficient,
    "zone": zone_and_age,
    "name": by_name,
}
"""All of `policy.ORDERS` except ``soonest``, which needs the tasks (see `soonest_first`)."""


def _by(nodes: Sequence[NodeTraits], key: Callable[[NodeTraits], tuple[object, ...]]) -> list[str]:
    """Empty nodes come before all others: no pod moves when they are drained."""
    return [n.name for n in sorted(nodes, key=lambda n: (n.evictions > 0, key(n), natural(n.name)))]


# The pods to evict, by node, and the limits of each eviction.


NEEDED = "needed: "
"""Prefix of limits that are not budgets: one backend per round of a service that replacements need."""

SOFT = "soft budget of "
"""Prefix of limits that stand for a budget where a workload has none (``--soft-budget``)."""


@frozen
class NodeTasks:
    """The evictions of a drain. `tasks` by node, those of a node by namespace and name; `per_round`: limit → how many
    of its tasks may go at once. `partial_nodes`: nodes that keep some pods: they are emptied as far as possible, and
    stay."""

    tasks: Mapping[str, tuple[Task, ...]]
    per_round: Mapping[str, int]
    partly: frozenset[str] = frozenset()

    @property
    def crowded(self) -> frozenset[str]:
        """The limits that have more tasks than may go at once, or some of whose tasks must go after the others."""
        users: dict[str, int] = defaultdict(int)
        found: set[str] = set()
        for given in self.tasks.values():
            for task in given:
                for limit in task.limits:
                    users[limit] += 1
                if task.for_good or task.late:
                    found.update(task.limits)
        return frozenset(found | {limit for limit, number in users.items() if number > self.per_round[limit]})

    @property
    def evictions(self) -> int:
        return sum(len(given) for given in self.tasks.values())


def work_of(world: DrainContext, judgement: Judgement) -> NodeTasks:
    """The evictions of a drain after `judgement`: the evictable pods of the nodes that are drained."""
    soft: dict[str, int] = {}
    tasks = dict(_tasks(world, judgement, judgement.pods, soft))
    limits = dict.fromkeys(chain.from_iterable([task[1] for given in tasks.values() for task in given]))
    allowed = {key: b.per_round for key, b in judgement.budgets.items() if b.per_round} | soft
    partly = {name for name in tasks if not judgement.complete(name, partial=False)} if world.policy.partial else set()
    return NodeTasks(tasks, {limit: allowed.get(limit, 1) for limit in limits}, frozenset(partly))


def work_again(
    world: DrainContext, judgement: Judgement, work: NodeTasks, nodes: Collection[str], budgets: Iterable[str]
) -> NodeTasks:
    """`old_tasks` after the verdicts on pods of `nodes` and on the `budgets` with these keys have changed."""
    soft: dict[str, int] = {}
    tasks = {name: given for name, given in work.tasks.items() if name not in nodes}
    tasks.update(_tasks(world, judgement, nodes, soft))
    allowed = {key: judgement.budgets[key].per_round or 1 for key in budgets} | soft
    new = {limit: 1 for name in nodes for task in tasks.get(name, ()) for limit in task.limits}
    return NodeTasks(tasks, new | dict(work.per_round) | allowed)


def _tasks(
    world: DrainContext, judgement: Judgement, nodes: Iterable[str], soft: dict[str, int]
) -> Iterator[tuple[str, tuple[Task, ...]]]:
    limits_of = _Limits(world, judgement.budgets, soft).of
    for name in nodes:
        if judgement.complete(name, world.policy.partial):
            going = [judged for judged in judgement.pods[name] if judged[1] is PodVerdict.EVICT]
            going.sort(key=_by_name)
            yield name, tuple([_task(world, judged, *limits_of(judged)) for judged in going])


def _task(world: DrainContext, judged: JudgedPod, guarded: tuple[str, ...], limits: tuple[str, ...]) -> Task:
    pod, manner = judged.pod, judged.manner if judged.said else EVICTED
    if manner is not EVICTED and manner.means in _WITHOUT_LIMITS:
        return task_of(pod, after=_WITHOUT_LIMITS[manner.means], manner=manner)
    after = replacement(pod)
    lease = world.leases_held.get(pod.key, "") if limits and world.leases_held else ""
    return task_of(pod, limits, guarded if after is Replacement.NEVER else (), lease, after, manner)


_WITHOUT_LIMITS = {Means.RESTART: Replacement.FIRST, Means.PATIENCE: Replacement.NEVER}
"""Methods that make no pod unavailable, or not because of the drain: they take no turn. Value: how the pod is
replaced."""


def _by_name(judged: JudgedPod) -> tuple[str, object]:
    """StatefulSet pods sort by the number at the end of their names."""
    pod = judged.pod
    if pod.owner is not None and pod.owner.kind == "StatefulSet":
        return pod.namespace, natural(pod.name)
    return pod.namespace, ((1, pod.name),)


class _Limits:
    """Finds the limits of evictions; soft budgets that it finds are added to `soft_limits`."""

    def __init__(self, world: DrainContext, budgets: Mapping[str, JudgedBudget], soft: dict[str, int]) -> None:
        self._world = world
        self._budgets = budgets
        self._soft = soft
        self._asks_more = world.policy.soft_budget is not None
        self._alike: dict[int, tuple[str, ...]] = {}  # by id of the tuple of budgets

    def of(self, judged: JudgedPod) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The budgets that count the pod, and all limits of its eviction."""
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
            self._alike[id(guards)] = found  # most pods: pods with the same budgets share the answer
        return found


def _softly(world: DrainContext, pod: Pod, soft: dict[str, int]) -> tuple[str, ...]:
    """The limit of a pod without a budget, added to `soft_limits`: a percentage of its replicas, at least one."""
    percent = world.policy.soft_budget
    if percent is None or not pod.ready or pod.finished or pod.deleting or world.budgets_of(pod):
        return ()
    top = world.top_of(pod)
    if top is None or top.kind not in SCALED_BY_HAND:
        return ()
    limit = f"{SOFT}{top.kind}/{top.name} in {top.namespace}"
    soft[limit] = max(1, top.replicas * percent // 100)
    return (limit,)


# The order "soonest": the next node is always the one that can be empty soonest after the bookings of earlier nodes.
#
# It keeps the turns of every budget going without cordoned nodes that wait long for a turn: so it is tried first.


class _Need(NamedTuple):
    """One node's use of one limit; `chain`: the rounds that all tasks under the limit take together."""

    limit: str
    units: int
    chain: int


def _needs(todo: Mapping[str, Sequence[Task]], per_round: Mapping[str, int]) -> dict[str, tuple[_Need, ...]]:
    """The uses of each node, longest chain first."""
    used = {node: Counter([limit for task in given for limit in task.limits]) for node, given in todo.items()}
    totals: Counter[str] = Counter()
    for units in used.values():
        totals.update(units)
    chains = {limit: -(-total // per_round[limit]) for limit, total in totals.items()}
    needs = {}
    for node, units in used.items():
        found = [_Need(limit, number, chains[limit]) for limit, number in units.items()]
        needs[node] = tuple(sorted(found, key=lambda need: -need.chain))
    return needs


def soonest_first(todo: Mapping[str, Sequence[Task]], per_round: Mapping[str, int]) -> list[str]:
    """The next node is always the one that can be empty soonest after those before it; ties: fewest pods, then by name.

    Nodes queue with those that share their longest chain, and only the first of each queue is evaluated.
    """
    needs = _needs(todo, per_round)
    lines: dict[str, list[tuple[int, int, object, str]]] = defaultdict(list)
    for node, given in todo.items():
        first = needs[node][0] if needs[node] else _Need("", 0, 0)
        lines[first.limit].append((first.units, len(given), natural(node), node))
    taken: dict[str, int] = defaultdict(int)
    heap: list[tuple[int, int, object, str, str]] = []

    def step_up(limit: str) -> None:
        if lines[limit]:
            _, size, key, node = lines[limit].pop()
            soonest = max(_soonest(needs[node], taken, per_round), min(1, size))
            heapq.heappush(heap, (soonest, size, key, node, limit))

    for limit, line in lines.items():
        line.sort(reverse=True)
        step_up(limit)
    nodes: list[str] = []
    while heap:
        _, size, key, node, limit = heapq.heappop(heap)
        # Other nodes may have been chosen since this node was evaluated: it waits if it no longer comes first.
        now = (max(_soonest(needs[node], taken, per_round), min(1, size)), size, key, node, limit)
        if heap and now > heap[0]:
            heapq.heappush(heap, now)
            continue
        nodes.append(node)
        for need in needs[node]:
            taken[need.limit] += need.units
        step_up(limit)
    return nodes


def _soonest(needs: Iterable[_Need], taken: Mapping[str, int], per_round: Mapping[str, int]) -> int:
    """The round by which `uses` can be met after other nodes have taken `used_units`. The uses come longest chain
    first."""
    soonest = 0
    for need in needs:
        if need.chain <= soonest:
            break  # all of its tasks together do not take that long
        last = -(-(taken.get(need.limit, 0) + need.units) // per_round[need.limit])
        if last > soonest:
            soonest = last
    return soonest


def check_named(policy: DrainPolicy, targets: Sequence[Node]) -> None:
    """
    Raises:
        UsageError: the order or a pin of `policy` names a node that is no target, or pins put more nodes into a wave
            than may be under way at once.
    """
    known = {node.name: node for node in targets}
    for flag, named in (("--order-file", policy.order_nodes), ("--pin", [node for node, _ in policy.pins])):
        strange = [name for name in named if name not in known]
        if strange:
            close = difflib.get_close_matches(strange[0], known, n=3)
            hint = f"close to it: {', '.join(close)}" if close else "leave it out, or make it a target"
            raise UsageError(f"{flag} names {strange[0]}, which is none of the {len(known)} targets", hint)
    room = at_once(policy, targets)
    together = Counter((wave, domain) for name, wave in policy.pins for domain in domains_of(known[name]))
    for (wave, domain), count in sorted(together.items()):
        if count > room.get(domain, count):
            words = "" if domain == ALL else f" of {domain}"
            raise UsageError(
                f"--pin puts {count} nodes{words} into wave {wave}, and --max-unavailable lets {room[domain]} be under "
                "way at once",
                "Pin fewer of them to that wave, or let more be under way.",
            )


# The evictions as the plan lists them: every position with its reason.


NO_BUDGET = "no budget guards it"


def evictions(
    world: DrainContext, order: EvictionOrder, budgets: Mapping[str, JudgedBudget], places: Mapping[str, str]
) -> tuple[Eviction, ...]:
    """The order as the plan lists it; `places`: pod uid → node that is reserved for its replacement."""
    lets = {key: f"budget {key} lets {budget.per_round} go at once" for key, budget in budgets.items()}
    found = []
    for i, booking in enumerate(order.bookings, 1):
        task, node, number, turn, turns = booking
        pod, limits, _, late, after, tier, manner = task
        budget = ""
        for limit in limits:
            if limit in lets:
                budget = limit
                break
        plain = manner is EVICTED and not (late or tier or after is Replacement.NEVER)
        if budget and len(limits) == 1 and plain:
            reason = f"{lets[budget]}: {turn} of {turns}"  # most pods with a budget
        elif plain and not limits and pod.phase == "Running" and not world.budgets_of(pod):
            reason = NO_BUDGET  # most pods without one
        else:
            reason = _reason(world, booking, lets.get(budget, ""))
        lands_on = places.get(pod.uid, "")
        found.append(made(Eviction, (i, number, pod, node, budget, reason, lands_on, limits, tier, manner)))
    return tuple(found)


def _reason(world: DrainContext, booking: BudgetBooking, by_budget: str) -> str:
    """`budget_text`: how many pods its budget lets go at once, "" without a budget."""
    pod, task = booking.task.pod, booking.task
    parts = [f"may finish for up to {duration(task.manner.waits_s)} first"] if task.manner.waits_s else []
    if task.manner.restarts is not None:
        parts.append(f"restart of Deployment {task.manner.restarts.name}: the new pod is Ready before this one stops")
    elif task.manner.means is Means.DELETION:
        parts.append("deleted past its budget, as --delete-past-budget says")
    elif task.manner.means is Means.PATIENCE:
        parts.append("never evicted: its Job would fail")
    elif pod.finished:
        parts.append("finished: nothing stops when it goes")
    elif pod.phase == "Pending":
        parts.append("not started yet: budgets are not asked")
    elif by_budget:
        parts.append(f"{by_budget}: {booking.turn} of {booking.turns}")
    elif world.budgets_of(pod):
        parts.append(f"not Ready: budget {world.budgets_of(pod)[0].key} allows it without counting it")
    elif any(x.startswith(SOFT) for x in task.limits):
        parts.append(f"no budget guards it, --soft-budget does: {booking.turn} of {booking.turns}")
    else:
        parts.append(NO_BUDGET)
    parts += [f"one backend of {x.removeprefix(NEEDED)} at a time" for x in task.limits if x.startswith(NEEDED)]
    if task.late and booking.turns > 1:
        parts.append(f"holds lease {task.late}: after its standby")
    if task.after is Replacement.NEVER and not pod.finished and task.manner.means is not Means.PATIENCE:
        parts.append("nothing replaces it")
    if pod.system_critical:
        parts.append("system-critical: after the other pods of its node")
    return "; ".join(parts)


# Workloads without a budget whose ready pods would all be away in the same round.


def outages(world: DrainContext, order: EvictionOrder) -> Iterable[Finding]:
    """One finding for each workload of several replicas all of whose Ready pods are evicted in the same round."""
    found: dict[tuple[str, int], list[Pod]] = defaultdict(list)
    tops: dict[str, Workload] = {}
    known: dict[str, Workload | None] = {}  # by uid of the pods' own owners
    budgets = {budget.key for budget in world.cluster.budgets}
    for booking in order.bookings:
        task = booking.task
        # Most pods have a budget, which is reported anyway; these methods make no pod unavailable, or not by this
        # drain.
        if (task.limits and task.limits[0] in budgets) or task.manner.means in (Means.RESTART, Means.PATIENCE):
            continue
        pod, owner = task.pod, task.pod.owner
        if owner is None or not pod.ready:
            continue
        if owner.uid not in known:
            known[owner.uid] = world.top_of(pod)
        top = known[owner.uid]
        if top is not None and top.kind in SCALED_BY_HAND:
            found[top.uid, booking.round].append(pod)
            tops[top.uid] = top
    together = {key: [p for p in pods if not world.budgets_of(p)] for key, pods in found.items() if len(pods) > 1}
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
