"""Progress of a drain: how far it is, the remaining time, what it waits for, and what is half done if it ends now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.connection import kubectl, shell
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.quantities import format_duration

from .answers import RunTrouble
from .engine import Engine
from .pod_evictions import PodEviction, PodStep
from .remaining import RemainingTime
from .result import PendingPod
from .stall_timeouts import overdue_reason, same_name_hold_reason
from .state import LISTING_INTERVAL_S, DrainedNode, NodePhase


class WaitingPod(NamedTuple):
    """A pod that is due and does not stop yet, or stops too slowly: `reason` is a clause; `budget` (ns/name) is the
    budget that it waits for, "" for other reasons."""

    pod: str
    node: str
    reason: str
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
    in_flight: tuple[str, ...]
    nodes: int
    done: tuple[str, ...]
    half_drained: tuple[tuple[str, int], ...]
    cordoned: tuple[str, ...]
    left_alone: tuple[str, ...]
    waiting_pods: tuple[WaitingPod, ...] = ()
    hold_reason: str = ""
    stop_reason: str = ""
    remaining_s: float | None = None
    planned_s: float | None = None
    budgets: tuple[Budget, ...] = ()
    pending: tuple[PendingPod, ...] = ()
    paused: bool = False
    starting: tuple[PendingPod, ...] = ()
    unready: tuple[str, ...] = ()
    cordoned_only: tuple[str, ...] = ()
    slow_remaining_s: float | None = None
    unmeasured: int = 0
    reasons: tuple[Reason, ...] = ()
    remaining_by_node: tuple[tuple[str, float], ...] = ()

    @property
    def summary(self) -> str:
        """``51 of 116 pods gone, 3 of 12 nodes done, about 2m left``."""
        nodes = f"{len(self.done)} of {self.nodes} nodes done"
        parts = [f"{self.gone} of {self.pods} pods gone", nodes]
        if self.left_alone:
            parts.append(f"{len(self.left_alone)} left alone")
        if self.stop_reason or self.hold_reason:
            parts.append(self.stop_reason or self.hold_reason)
        elif self.unready:
            parts.append(f"{len(self.unready)} replacements not Ready yet")
        elif self.remaining_s is not None:
            parts.append(f"about {self.remaining_text}")
        return ", ".join(parts)

    @property
    def remaining_text(self) -> str:
        """``2m left``, or a range with its reason."""
        remaining = format_duration(round(self.remaining_s or 0.0))
        if not self.is_wide:
            return f"{remaining} left"
        return f"{remaining} to {format_duration(round(self.slow_remaining_s or 0.0))} left ({self.range_reason})"

    @property
    def is_wide(self) -> bool:
        return self.slow_remaining_s is not None and self.slow_remaining_s > RANGE_FACTOR * (self.remaining_s or 0.0)

    @property
    def range_reason(self) -> str:
        """Why `slow_remaining_s` is far from `remaining_s`."""
        if not self.unmeasured:
            return "p50 to p95"
        pods = "1 workload stop" if self.unmeasured == 1 else f"{self.unmeasured} workloads stop"
        return f"how long pods of {pods} is not measured yet"


RANGE_FACTOR = 1.2
"""The remaining time is shown as a range if the slow case takes this many times as long."""


def run_progress(engine: Engine, remaining: RemainingTime, now_s: float) -> RunProgress:
    nodes = list(engine.nodes)
    evictions = [eviction for node in nodes for eviction in node.evictions.values()]
    gone = sum(eviction.step is PodStep.GONE for eviction in evictions)
    remaining.update(engine, now_s)
    remaining_time = None if engine.stop_reason else remaining.remaining(now_s)
    soaks_s = engine.remaining_soak_s(now_s)
    return RunProgress(
        at_s=now_s,
        pods=len(evictions),
        gone=gone,
        in_flight=engine.in_flight,
        nodes=len(nodes),
        done=_names_in(nodes, NodePhase.DONE, NodePhase.LOST),
        half_drained=tuple(
            (n.name, len(n.remaining_pods))
            for n in nodes
            if n.remaining_pods and n.phase in (NodePhase.ACTIVE, NodePhase.GOING)
        ),
        cordoned=_names_in(nodes, NodePhase.CORDONED),
        left_alone=_names_in(nodes, NodePhase.LEFT_ALONE),
        waiting_pods=tuple(waiting_pods(engine, nodes, now_s)),
        hold_reason=engine.hold_reason,
        stop_reason=engine.stop_reason,
        remaining_s=None if remaining_time is None else remaining_time.seconds + soaks_s,
        slow_remaining_s=None if remaining_time is None else remaining_time.slow_seconds + soaks_s,
        unmeasured=0 if remaining_time is None else remaining_time.unmeasured,
        remaining_by_node=() if remaining_time is None or soaks_s else remaining_time.nodes,
        planned_s=remaining.planned_s,
        budgets=tuple(_budgets_in_use(engine)),
        pending=tuple(PendingPod(pod.key, pod.not_ready_because) for pod in engine.pending),
        paused=engine.is_paused,
        starting=tuple(starting_pods(engine)),
        unready=tuple(sorted(pod.key for pod in engine.unready)) if engine.is_drained else (),
        cordoned_only=engine.cordoned_only,
        reasons=reasons(engine, now_s),
    )


def _budgets_in_use(engine: Engine) -> Iterator[Budget]:
    for headroom in engine.plan.budgets:
        budget = engine.observed.budgets.get(headroom.budget.key)
        if headroom.to_evict and budget is not None:
            yield budget


GATES_NOT_READY = "ReadinessGatesNotReady"
"""The Ready condition's reason if only readiness gates are missing (kubernetes/pkg/kubelet/status/generate.go)."""


def starting_pods(engine: Engine) -> Iterator[PendingPod]:
    """Yield replacements that have a node and are not Ready."""
    for pod in engine.unready:
        if pod.node:
            gated = pod.not_ready_because == GATES_NOT_READY and pod.readiness_gates
            yield PendingPod(pod.key, f"waits for {', '.join(pod.readiness_gates)}" if gated else pod.not_ready_because)


def _names_in(nodes: list[DrainedNode], *phases: NodePhase) -> tuple[str, ...]:
    return tuple(node.name for node in nodes if node.phase in phases)


def waiting_pods(engine: Engine, nodes: list[DrainedNode], now_s: float) -> list[WaitingPod]:
    """Return the waiting pods of started nodes; of any node, overdue pods."""
    started_nodes = [node for node in nodes if node.phase is NodePhase.ACTIVE]
    due = [
        (node, eviction) for node in started_nodes for eviction in (*node.due_evictions(), *_replaced_evictions(node))
    ]
    due += [(node, eviction) for node in nodes if not node.has_ended for eviction in _overdue_evictions(node)]
    return [
        WaitingPod(each.pod.key, node.name, _wait_reason(engine, each, now_s), _blocking_budget(engine, each, now_s))
        for node, each in due
    ]


def _replaced_evictions(node: DrainedNode) -> Iterator[PodEviction]:
    return (eviction for eviction in node.evictions.values() if eviction.step is PodStep.REPLACED)


def _overdue_evictions(node: DrainedNode) -> Iterator[PodEviction]:
    return (eviction for eviction in node.evictions.values() if eviction.step is PodStep.STOPPING and eviction.overdue)


def _blocking_budget(engine: Engine, eviction: PodEviction, now_s: float) -> str:
    refused_by_it = eviction.trouble in (RunTrouble.NONE, RunTrouble.BUDGET) and not eviction.may_finish(now_s)
    held_by_it = refused_by_it and not _has_room(engine, eviction.planned.budget)
    return eviction.planned.budget if eviction.step is PodStep.WAITING and held_by_it else ""


def _has_room(engine: Engine, key: str) -> bool:
    """Whether the budget allows an eviction, as observed."""
    budget = engine.observed.budgets.get(key)
    return budget is not None and budget.status.allowed > 0


def _wait_reason(engine: Engine, eviction: PodEviction, now_s: float) -> str:
    if eviction.step is PodStep.STOPPING:
        return overdue_reason(eviction, now_s)
    if eviction.step is PodStep.REPLACED:
        return "its workload was restarted: it goes when the new pod is Ready"
    if eviction.may_finish(now_s):
        consequence = "and is never evicted" if eviction.is_never_evicted else "and goes then"
        return (
            f"it may finish by itself for {format_duration(round(eviction.evictable_from_s - now_s))} more "
            f"(--wait-jobs), {consequence}"
        )
    if eviction.planned.budget and (reason := same_name_hold_reason(engine.observed, eviction.planned.budget, now_s)):
        return reason
    if eviction.message:
        return eviction.message
    if eviction.not_before_s > now_s:
        return f"it is asked for again in {eviction.not_before_s - now_s:.0f} s"
    if engine.is_paused:
        return "the run is paused"
    if eviction.planned.budget and not _has_room(engine, eviction.planned.budget):
        return f"budget {eviction.planned.budget} has no room"
    if eviction.planned.budget:
        return f"budget {eviction.planned.budget} has room: others go first"
    return f"{eviction.planned.limits[0]} has no room" if eviction.planned.limits else "others go first"


# Reasons why a run waits: for which pod, budget or node, since when, what is typical, and what would help.
#
# For users without a screen: a log, a Job, a terminal without output for a minute.


class Reason(NamedTuple):
    """`subject` a pod (ns/name) or a node, "" for the whole run; `reason` is a clause; `for_s`: for how long, None if
    unknown. `typical`: the typical value, a clause; `remedy`: a command that shows or ends it; "" for none. `others`:
    number of others that wait for the same."""

    subject: str
    reason: str
    for_s: float | None = None
    typical: str = ""
    remedy: str = ""
    others: int = 0


def reasons(engine: Engine, now_s: float) -> tuple[Reason, ...]:
    """Return everything the run waits for now, reasons for the whole run first."""
    # Planned time from an eviction to the readiness of the replacement, by the owner's UID.
    estimate = engine.plan.estimate
    typical_s: dict[str, float] = {}
    owners = {each.pod.uid: each.pod.owner.uid for each in engine.plan.evictions if each.pod.owner is not None}
    for moved in estimate.moves if estimate is not None else ():
        if moved.uid in owners and moved.ready_s is not None:
            owner = owners[moved.uid]
            typical_s[owner] = max(typical_s.get(owner, 0.0), moved.ready_s - moved.evicted_s)
    of_pods, of_ends = _pod_reasons(engine, typical_s, now_s), _replacement_reasons(engine, typical_s, now_s)
    return (*_run_reasons(engine, now_s), *of_pods, *_node_reasons(engine, now_s), *of_ends)


def _run_reasons(engine: Engine, now_s: float) -> Iterator[Reason]:
    if reason := engine.stop_reason or engine.hold_reason:
        yield Reason("", f"{'stopping' if engine.stop_reason else 'held'}: {reason}")
    if engine.remaining_soak_s(now_s) and not any(node.phase is NodePhase.ACTIVE for node in engine.nodes):
        yield Reason("", f"the next wave is begun in {format_duration(round(engine.remaining_soak_s(now_s)))}")


def _pod_reasons(engine: Engine, typical_s: Mapping[str, float], now_s: float) -> Iterator[Reason]:
    """Yield the reasons of waiting pods; pods that wait for the same budget share one reason."""
    by_budget: dict[str, Reason] = {}
    other_reasons: list[Reason] = []
    evictions = {each.pod.key: each for node in engine.nodes for each in node.evictions.values()}
    for waiting_pod in waiting_pods(engine, list(engine.nodes), now_s):
        eviction = evictions[waiting_pod.pod]
        subject, duration_s = f"{waiting_pod.pod} on {waiting_pod.node}", engine.waiting_s(eviction, now_s)
        if waiting_pod.budget and waiting_pod.budget in by_budget:
            earlier = by_budget[waiting_pod.budget]
            max_s = max((each for each in (earlier.for_s, duration_s) if each is not None), default=None)
            by_budget[waiting_pod.budget] = earlier._replace(others=earlier.others + 1, for_s=max_s)
        elif waiting_pod.budget:
            by_budget[waiting_pod.budget] = _budget_reason(
                engine, subject, waiting_pod.budget, duration_s, typical_s, now_s
            )
        elif eviction.step is PodStep.STOPPING or engine.hold_reason or waiting_pod.reason.endswith("others go first"):
            continue  # reported below, or for the whole run, or no reason
        else:
            other_reasons.append(
                Reason(subject, waiting_pod.reason, duration_s, remedy=_describe_command(eviction.pod))
            )
    yield from by_budget.values()
    yield from other_reasons
    for node in engine.nodes:
        yield from (
            _stopping_reason(node, each, now_s) for each in node.evictions.values() if each.step is PodStep.STOPPING
        )


def _stopping_reason(node: DrainedNode, eviction: PodEviction, now_s: float) -> Reason:
    pod = eviction.pod
    typical = f"its grace period is {format_duration(pod.grace_seconds)}"
    reason = "it is stopping" + (f", with finalizers {', '.join(pod.finalizers)}" if pod.finalizers else "")
    return Reason(f"{pod.key} on {node.name}", reason, now_s - eviction.since_s, typical, _describe_command(pod))


def _budget_reason(
    engine: Engine, subject: str, key: str, duration_s: float | None, typical_s: Mapping[str, float], now_s: float
) -> Reason:
    """Describe why the budget allows no eviction, and which pods it waits for."""
    namespace, _, name = key.partition("/")
    budget = engine.observed.budgets.get(key)
    if budget is None:
        return Reason(subject, f"budget {key} has no room", duration_s)
    if reason := same_name_hold_reason(engine.observed, key, now_s):
        return Reason(subject, reason, duration_s)
    status = budget.status
    reason = f"budget {key} allows no eviction: {status.current} healthy, {status.desired} needed"
    unready = [
        pod
        for pod in engine.observed.pods()
        if pod.namespace == namespace and not (pod.ready or pod.finished) and budget.selector.matches(pod.labels)
    ]
    starting = [pod for pod in unready if not pod.deleting]
    for pod in sorted(starting, key=lambda each: each.key)[:1]:
        others_text = f" (and {len(starting) - 1} more)" if len(starting) > 1 else ""
        reason = f"{reason}; {_replacement_text(engine, pod, now_s)}{others_text}"
        return Reason(subject, reason, duration_s, _typical_text(pod, typical_s), _describe_command(pod))
    if unready:
        return Reason(
            subject, f"{reason}; {unready[0].key} is stopping", duration_s, remedy=_describe_command(unready[0])
        )
    return Reason(subject, reason, duration_s, "", kubectl("describe", "pdb", name, namespace))


def _node_reasons(engine: Engine, now_s: float) -> Iterator[Reason]:
    texts = {
        NodePhase.OPEN: "it is not seen cordoned yet",
        NodePhase.DETACHING: "it is empty; volumes of its pods are still attached",
        NodePhase.GOING: "another client drains it, or it is gone: its pods are waited for",
    }
    for node in engine.nodes:
        if node.phase in texts:
            yield Reason(
                node.name, texts[node.phase], now_s - node.since_s, remedy=kubectl("describe", "node", node.name)
            )
        elif (
            node.phase is NodePhase.EMPTY
            and not node.empty_listings
            and now_s - node.empty_since_s > 2 * LISTING_INTERVAL_S
        ):
            unexpected = (pod for pod in engine.observed.pods() if pod.node == node.name and node.is_unexpected(pod))
            for pod in sorted(unexpected, key=lambda each: each.key)[:1]:
                state_text = "is stopping" if pod.deleting else "came to it"
                yield Reason(
                    node.name,
                    f"it is empty, but {pod.key} {state_text}",
                    now_s - node.empty_since_s,
                    remedy=_describe_command(pod),
                )
        elif node.phase is NodePhase.CORDONED and (needs := engine.required_nodes(node.name)):
            yield Reason(node.name, f"it waits for new nodes that replace {', '.join(needs)}")


def _replacement_reasons(engine: Engine, typical_s: Mapping[str, float], now_s: float) -> Iterator[Reason]:
    """Yield replacements that are not Ready, if the run waits only for those; replacements without a node in any
    case."""
    pods = engine.unready if engine.is_drained else engine.pending
    for pod in sorted(pods, key=lambda each: each.key):
        yield Reason(
            "", _replacement_text(engine, pod, now_s), None, _typical_text(pod, typical_s), _describe_command(pod)
        )


def _replacement_text(engine: Engine, pod: Pod, now_s: float) -> str:
    """``replacement shop/web-x on green-1 is not Ready (ContainersNotReady), seen for 1 min 40 s``."""
    node_text = f" on {pod.node}" if pod.node else ""
    not_ready_reason = pod.not_ready_because
    gates = (
        f"waits for {', '.join(pod.readiness_gates)}"
        if pod.readiness_gates and not_ready_reason == GATES_NOT_READY
        else ""
    )
    state_text = "is not Ready" if pod.node else "has no node"
    message = f"replacement {pod.key}{node_text} {state_text} ({gates or not_ready_reason or pod.phase})"
    arrival = engine.arrivals.get(pod.uid)  # by this machine's clock: the cluster's may differ
    return message if arrival is None else f"{message}{SEEN_FOR}{format_duration(round(now_s - arrival.since_s))}"


SEEN_FOR = ", seen for "
"""The text after it changes with every check."""


def _typical_text(pod: Pod, typical_s: Mapping[str, float]) -> str:
    ready_s = typical_s.get(pod.owner.uid) if pod.owner is not None else None
    return f"usually Ready {format_duration(round(ready_s))} after the eviction" if ready_s else ""


def _describe_command(pod: Pod) -> str:
    if pod.restarted and not pod.ready:
        return shell("kubectl", "logs", f"pod/{pod.name}", "-n", pod.namespace, "--previous")
    return kubectl("describe", "pod", pod.name, pod.namespace)
