"""Progress of a drain: how far it is, the remaining time, what it waits for, and what is half done if it ends now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.connection import kubectl, shell
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.quantities import duration

from .answers import RunTrouble
from .engine import Engine
from .pod_evictions import PodPursuit, PodStep
from .remaining import Remaining
from .result import PendingPod
from .stall_timeouts import held_by_name, why_late
from .state import APART_S, DrainedNode, NodePhase


class PodWaits(NamedTuple):
    """A pod that is due and does not stop yet, or stops too slowly: `reason` is a clause; `budget` (ns/name) is the
    budget that it waits for, "" for other reasons."""

    pod: str
    node: str
    why: str
    budget: str = ""


@frozen
class RunProgress:
    """`at_s` since the run started. `pods`: number of pods to evict, `gone`: number that have gone; `in_flight`
    (ns/name) were requested to go, and go whatever this run does.

    Nodes: `done` ended empty or gone, `half_drained` are started and not empty, each with the number of its remaining
    pods; `cordoned` are cordoned and not started, `cordoned_only` are targets that are not drained; `left_alone` were
    left alone. `hold_reason` and `stop_reason`: why no requests are sent; `paused`: a user paused the run.
    `remaining_s`: estimated remaining time, None if unknown; `slow_remaining_s`: the same if pods of the `unmeasured`
    workloads, whose stop times were never measured, use all of their grace periods; `remaining_by_node`: remaining time
    by node, until it is drained; `planned_s`: planned total time. `budgets`: budgets that the plan uses, as they are
    now; `pending`: replacements without a node; `starting`: replacements that have a node and are not Ready, with the
    kubelet's reason, or the readiness gates (of load balancer targets) that they wait for. `unready` (ns/name):
    replacements that the run waits for once every node is drained. `reasons`: everything the run waits for, reasons for
    the whole run first.
    """

    at_s: float
    pods: int
    gone: int
    leaving: tuple[str, ...]
    nodes: int
    done: tuple[str, ...]
    half: tuple[tuple[str, int], ...]
    cordoned: tuple[str, ...]
    alone: tuple[str, ...]
    waits: tuple[PodWaits, ...] = ()
    held: str = ""
    stopped: str = ""
    left_s: float | None = None
    planned_s: float | None = None
    budgets: tuple[Budget, ...] = ()
    pending: tuple[PendingPod, ...] = ()
    paused: bool = False
    coming: tuple[PendingPod, ...] = ()
    unready: tuple[str, ...] = ()
    cordoned_only: tuple[str, ...] = ()
    slow_left_s: float | None = None
    unmeasured: int = 0
    why: tuple[Reason, ...] = ()
    left_of: tuple[tuple[str, float], ...] = ()

    @property
    def said(self) -> str:
        """``51 of 116 pods gone, 3 of 12 nodes done, about 2m left``."""
        nodes = f"{len(self.done)} of {self.nodes} nodes done"
        parts = [f"{self.gone} of {self.pods} pods gone", nodes]
        if self.alone:
            parts.append(f"{len(self.alone)} left alone")
        if self.stopped or self.held:
            parts.append(self.stopped or self.held)
        elif self.unready:
            parts.append(f"{len(self.unready)} replacements not Ready yet")
        elif self.left_s is not None:
            parts.append(f"about {self.left_said}")
        return ", ".join(parts)

    @property
    def left_said(self) -> str:
        """``2m left``, or a range with its reason."""
        left = duration(round(self.left_s or 0.0))
        if not self.is_wide:
            return f"{left} left"
        return f"{left} to {duration(round(self.slow_left_s or 0.0))} left ({self.why_wide})"

    @property
    def is_wide(self) -> bool:
        return self.slow_left_s is not None and self.slow_left_s > WIDE * (self.left_s or 0.0)

    @property
    def why_wide(self) -> str:
        """Why `slow_remaining_s` is far from `remaining_s`."""
        if not self.unmeasured:
            return "p50 to p95"
        pods = "1 workload stop" if self.unmeasured == 1 else f"{self.unmeasured} workloads stop"
        return f"how long pods of {pods} is not measured yet"


WIDE = 1.2
"""The remaining time is shown as a range if the slow case takes this many times as long."""


def standing(engine: Engine, remaining: Remaining, now_s: float) -> RunProgress:
    nodes = list(engine.nodes)
    pursuits = [pursuit for node in nodes for pursuit in node.pursuits.values()]
    gone = sum(pursuit.step is PodStep.GONE for pursuit in pursuits)
    remaining.look(engine, now_s)
    left = None if engine.stopped else remaining.left(now_s)
    soaks_s = engine.soaks_left_s(now_s)
    return RunProgress(
        at_s=now_s,
        pods=len(pursuits),
        gone=gone,
        leaving=engine.in_flight,
        nodes=len(nodes),
        done=_in(nodes, NodePhase.DONE, NodePhase.LOST),
        half=tuple((n.name, len(n.left)) for n in nodes if n.left and n.phase in (NodePhase.ACTIVE, NodePhase.GOING)),
        cordoned=_in(nodes, NodePhase.CORDONED),
        alone=_in(nodes, NodePhase.LEFT_ALONE),
        waits=tuple(waiting(engine, nodes, now_s)),
        held=engine.held,
        stopped=engine.stopped,
        left_s=None if left is None else left.seconds + soaks_s,
        slow_left_s=None if left is None else left.slow_s + soaks_s,
        unmeasured=0 if left is None else left.unmeasured,
        left_of=() if left is None or soaks_s else left.nodes,
        planned_s=remaining.planned_s,
        budgets=tuple(_in_use(engine)),
        pending=tuple(PendingPod(pod.key, pod.not_ready_because) for pod in engine.pending),
        paused=engine.is_paused,
        coming=tuple(coming(engine)),
        unready=tuple(sorted(pod.key for pod in engine.unready)) if engine.drained else (),
        cordoned_only=engine.cordoned_only,
        why=reasons(engine, now_s),
    )


def _in_use(engine: Engine) -> Iterator[Budget]:
    for headroom in engine.plan.budgets:
        budget = engine.seen.budgets.get(headroom.budget.key)
        if headroom.to_evict and budget is not None:
            yield budget


GATES = "ReadinessGatesNotReady"
"""The Ready condition's reason if only readiness gates are missing (kubernetes/pkg/kubelet/status/generate.go)."""


def coming(engine: Engine) -> Iterator[PendingPod]:
    """Yield replacements that have a node and are not Ready."""
    for pod in engine.unready:
        if pod.node:
            gated = pod.not_ready_because == GATES and pod.readiness_gates
            yield PendingPod(pod.key, f"waits for {', '.join(pod.readiness_gates)}" if gated else pod.not_ready_because)


def _in(nodes: list[DrainedNode], *phases: NodePhase) -> tuple[str, ...]:
    return tuple(node.name for node in nodes if node.phase in phases)


def waiting(engine: Engine, nodes: list[DrainedNode], now_s: float) -> list[PodWaits]:
    """Return the waiting pods of started nodes; of any node, overdue pods."""
    begun = [node for node in nodes if node.phase is NodePhase.ACTIVE]
    turn = [(node, pursuit) for node in begun for pursuit in (*node.turn(), *_replaced(node))]
    turn += [(node, pursuit) for node in nodes if not node.over for pursuit in _late(node)]
    return [
        PodWaits(each.pod.key, node.name, _why(engine, each, now_s), _budget(engine, each, now_s))
        for node, each in turn
    ]


def _replaced(node: DrainedNode) -> Iterator[PodPursuit]:
    return (pursuit for pursuit in node.pursuits.values() if pursuit.step is PodStep.REPLACED)


def _late(node: DrainedNode) -> Iterator[PodPursuit]:
    return (pursuit for pursuit in node.pursuits.values() if pursuit.step is PodStep.LEAVING and pursuit.late)


def _budget(engine: Engine, pursuit: PodPursuit, now_s: float) -> str:
    refused_by_it = pursuit.trouble in (RunTrouble.NONE, RunTrouble.BUDGET) and not pursuit.may_finish(now_s)
    held_by_it = refused_by_it and not _has_room(engine, pursuit.eviction.budget)
    return pursuit.eviction.budget if pursuit.step is PodStep.WAITING and held_by_it else ""


def _has_room(engine: Engine, key: str) -> bool:
    """Whether the budget allows an eviction, as observed."""
    budget = engine.seen.budgets.get(key)
    return budget is not None and budget.status.allowed > 0


def _why(engine: Engine, pursuit: PodPursuit, now_s: float) -> str:
    if pursuit.step is PodStep.LEAVING:
        return why_late(pursuit, now_s)
    if pursuit.step is PodStep.REPLACED:
        return "its workload was restarted: it goes when the new pod is Ready"
    if pursuit.may_finish(now_s):
        then = "and is never evicted" if pursuit.spared else "and goes then"
        return f"it may finish by itself for {duration(round(pursuit.begun_s - now_s))} more (--wait-jobs), {then}"
    if pursuit.eviction.budget and (why := held_by_name(engine.seen, pursuit.eviction.budget, now_s)):
        return why
    if pursuit.said:
        return pursuit.said
    if pursuit.not_before_s > now_s:
        return f"it is asked for again in {pursuit.not_before_s - now_s:.0f} s"
    if engine.is_paused:
        return "the run is paused"
    if pursuit.eviction.budget and not _has_room(engine, pursuit.eviction.budget):
        return f"budget {pursuit.eviction.budget} has no room"
    if pursuit.eviction.budget:
        return f"budget {pursuit.eviction.budget} has room: others go first"
    return f"{pursuit.eviction.limits[0]} has no room" if pursuit.eviction.limits else "others go first"


# Reasons why a run waits: for which pod, budget or node, since when, what is typical, and what would help.
#
# For users without a screen: a log, a Job, a terminal without output for a minute.


class Reason(NamedTuple):
    """`subject` a pod (ns/name) or a node, "" for the whole run; `reason` is a clause; `for_s`: for how long, None if
    unknown. `typical`: the typical value, a clause; `remedy`: a command that shows or ends it; "" for none. `others`:
    number of others that wait for the same."""

    of: str
    why: str
    for_s: float | None = None
    usual: str = ""
    remedy: str = ""
    more: int = 0


def reasons(engine: Engine, now_s: float) -> tuple[Reason, ...]:
    """Return everything the run waits for now, reasons for the whole run first."""
    # Planned time from an eviction to the readiness of the replacement, by the owner's UID.
    estimate = engine.plan.estimate
    usual: dict[str, float] = {}
    owners = {each.pod.uid: each.pod.owner.uid for each in engine.plan.evictions if each.pod.owner is not None}
    for moved in estimate.moves if estimate is not None else ():
        if moved.uid in owners and moved.ready_s is not None:
            owner = owners[moved.uid]
            usual[owner] = max(usual.get(owner, 0.0), moved.ready_s - moved.evicted_s)
    of_pods, of_ends = _of_pods(engine, usual, now_s), _of_ends(engine, usual, now_s)
    return (*_of_run(engine, now_s), *of_pods, *_of_nodes(engine, now_s), *of_ends)


def _of_run(engine: Engine, now_s: float) -> Iterator[Reason]:
    if why := engine.stopped or engine.held:
        yield Reason("", f"{'stopping' if engine.stopped else 'held'}: {why}")
    if engine.soaks_left_s(now_s) and not any(node.phase is NodePhase.ACTIVE for node in engine.nodes):
        yield Reason("", f"the next wave is begun in {duration(round(engine.soaks_left_s(now_s)))}")


def _of_pods(engine: Engine, usual: Mapping[str, float], now_s: float) -> Iterator[Reason]:
    """Yield the reasons of waiting pods; pods that wait for the same budget share one reason."""
    of_budgets: dict[str, Reason] = {}
    others: list[Reason] = []
    pursuits = {each.pod.key: each for node in engine.nodes for each in node.pursuits.values()}
    for waits in waiting(engine, list(engine.nodes), now_s):
        pursuit = pursuits[waits.pod]
        of, for_s = f"{waits.pod} on {waits.node}", engine.refused_s(pursuit, now_s)
        if waits.budget and waits.budget in of_budgets:
            before = of_budgets[waits.budget]
            longest_s = max((each for each in (before.for_s, for_s) if each is not None), default=None)
            of_budgets[waits.budget] = before._replace(more=before.more + 1, for_s=longest_s)
        elif waits.budget:
            of_budgets[waits.budget] = _of_budget(engine, of, waits.budget, for_s, usual, now_s)
        elif pursuit.step is PodStep.LEAVING or engine.held or waits.why.endswith("others go first"):
            continue  # reported below, or for the whole run, or no reason
        else:
            others.append(Reason(of, waits.why, for_s, remedy=_describe(pursuit.pod)))
    yield from of_budgets.values()
    yield from others
    for node in engine.nodes:
        yield from (_leaving(node, each, now_s) for each in node.pursuits.values() if each.step is PodStep.LEAVING)


def _leaving(node: DrainedNode, pursuit: PodPursuit, now_s: float) -> Reason:
    pod = pursuit.pod
    usual = f"its grace period is {duration(pod.grace_seconds)}"
    why = "it is stopping" + (f", with finalizers {', '.join(pod.finalizers)}" if pod.finalizers else "")
    return Reason(f"{pod.key} on {node.name}", why, now_s - pursuit.since_s, usual, _describe(pod))


def _of_budget(
    engine: Engine, of: str, key: str, for_s: float | None, usual: Mapping[str, float], now_s: float
) -> Reason:
    """Describe why the budget allows no eviction, and which pods it waits for."""
    namespace, _, name = key.partition("/")
    budget = engine.seen.budgets.get(key)
    if budget is None:
        return Reason(of, f"budget {key} has no room", for_s)
    if why := held_by_name(engine.seen, key, now_s):
        return Reason(of, why, for_s)
    status = budget.status
    why = f"budget {key} allows no eviction: {status.current} healthy, {status.desired} needed"
    unready = [
        pod
        for pod in engine.seen.pods()
        if pod.namespace == namespace and not (pod.ready or pod.finished) and budget.selector.matches(pod.labels)
    ]
    starting = [pod for pod in unready if not pod.deleting]
    for pod in sorted(starting, key=lambda each: each.key)[:1]:
        more = f" (and {len(starting) - 1} more)" if len(starting) > 1 else ""
        why = f"{why}; {_state(engine, pod, now_s)}{more}"
        return Reason(of, why, for_s, _usually(pod, usual), _describe(pod))
    if unready:
        return Reason(of, f"{why}; {unready[0].key} is stopping", for_s, remedy=_describe(unready[0]))
    return Reason(of, why, for_s, "", kubectl("describe", "pdb", name, namespace))


def _of_nodes(engine: Engine, now_s: float) -> Iterator[Reason]:
    said = {
        NodePhase.OPEN: "it is not seen cordoned yet",
        NodePhase.DETACHING: "it is empty; volumes of its pods are still attached",
        NodePhase.GOING: "another client drains it, or it is gone: its pods are waited for",
    }
    for node in engine.nodes:
        if node.phase in said:
            yield Reason(
                node.name, said[node.phase], now_s - node.since_s, remedy=kubectl("describe", "node", node.name)
            )
        elif node.phase is NodePhase.EMPTY and not node.listed and now_s - node.empty_s > 2 * APART_S:
            strange = (pod for pod in engine.seen.pods() if pod.node == node.name and node.is_strange(pod))
            for pod in sorted(strange, key=lambda each: each.key)[:1]:
                what = "is stopping" if pod.deleting else "came to it"
                yield Reason(
                    node.name, f"it is empty, but {pod.key} {what}", now_s - node.empty_s, remedy=_describe(pod)
                )
        elif node.phase is NodePhase.CORDONED and (needs := engine.needs(node.name)):
            yield Reason(node.name, f"it waits for new nodes that replace {', '.join(needs)}")


def _of_ends(engine: Engine, usual: Mapping[str, float], now_s: float) -> Iterator[Reason]:
    """Yield replacements that are not Ready, if the run waits only for those; replacements without a node in any
    case."""
    pods = engine.unready if engine.drained else engine.pending
    for pod in sorted(pods, key=lambda each: each.key):
        yield Reason("", _state(engine, pod, now_s), None, _usually(pod, usual), _describe(pod))


def _state(engine: Engine, pod: Pod, now_s: float) -> str:
    """``replacement shop/web-x on green-1 is not Ready (ContainersNotReady), seen for 1 min 40 s``."""
    where = f" on {pod.node}" if pod.node else ""
    because = pod.not_ready_because
    gates = f"waits for {', '.join(pod.readiness_gates)}" if pod.readiness_gates and because == GATES else ""
    what = "is not Ready" if pod.node else "has no node"
    said = f"replacement {pod.key}{where} {what} ({gates or because or pod.phase})"
    arrival = engine.arrivals.get(pod.uid)  # by this machine's clock: the cluster's may differ
    return said if arrival is None else f"{said}{SEEN_FOR}{duration(round(now_s - arrival.since_s))}"


SEEN_FOR = ", seen for "
"""The text after it changes with every check."""


def _usually(pod: Pod, usual: Mapping[str, float]) -> str:
    ready_s = usual.get(pod.owner.uid) if pod.owner is not None else None
    return f"usually Ready {duration(round(ready_s))} after the eviction" if ready_s else ""


def _describe(pod: Pod) -> str:
    if pod.restarted and not pod.ready:
        return shell("kubectl", "logs", f"pod/{pod.name}", "-n", pod.namespace, "--previous")
    return kubectl("describe", "pod", pod.name, pod.namespace)
