"""What the user forces about the order must name targets, and not contradict itself."""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from kubectl_eksdoc.drain.course import made
from kubectl_eksdoc.drain.nodes import DrainContext
from kubectl_eksdoc.drain.order.rounds import BudgetBooking, EvictionOrder, at_once, domains_of
from kubectl_eksdoc.drain.order.strategies import NEEDED, SOFT
from kubectl_eksdoc.drain.outcome import Eviction
from kubectl_eksdoc.drain.policy import ALL, EVICTED, DrainPolicy, Means
from kubectl_eksdoc.drain.verdicts.budgets import JudgedBudget
from kubectl_eksdoc.drain.verdicts.filters import SCALED_BY_HAND
from kubectl_eksdoc.drain.verdicts.said import where
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.kubernetes.replacement import Replacement
from kubectl_eksdoc.model.connection import kubectl
from kubectl_eksdoc.model.findings import Finding, Subject
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.pods import Pod
from kubectl_eksdoc.model.quantities import in_words
from kubectl_eksdoc.model.workloads import Workload


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


# The evictions as the plan shows them: every position with its reason.


def evictions(
    world: DrainContext, order: EvictionOrder, budgets: Mapping[str, JudgedBudget], places: Mapping[str, str]
) -> tuple[Eviction, ...]:
    """The order as the plan shows it; `places` are the nodes reserved for replacements, by pod uid."""
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
            reason = f"{lets[budget]}: {turn} of {turns}"  # most that have a budget
        else:
            reason = _reason(world, booking, lets.get(budget, ""))
        lands_on = places.get(pod.uid, "")
        found.append(made(Eviction, (i, number, pod, node, budget, reason, lands_on, limits, tier, manner)))
    return tuple(found)


def _reason(world: DrainContext, booking: BudgetBooking, by_budget: str) -> str:
    """`by_budget`: how many its budget lets go at once, "" without one."""
    pod, task = booking.task.pod, booking.task
    parts = [f"may finish for up to {in_words(task.manner.waits_s)} first"] if task.manner.waits_s else []
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
        parts.append("no budget guards it")
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
    """One finding for each workload of several replicas of which no ready pod is left after one round."""
    found: dict[tuple[str, int], list[Pod]] = defaultdict(list)
    tops: dict[str, Workload] = {}
    known: dict[str, Workload | None] = {}  # by uid of the pods' own owners
    budgets = {budget.key for budget in world.cluster.budgets}
    for booking in order.bookings:
        task = booking.task
        # Most wait for a budget, which says enough; the others are never away, or not because of this drain.
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
