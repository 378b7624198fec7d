"""Runs a drain from its first journal entry to its end, resumes a run, watches other drains, sends dry runs, and rolls
back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubectl_eksdoc.ports import ClusterReader

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import NamedTuple

from kubectl_eksdoc.errors import ClusterError, Drifted, Stopped
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.kubernetes.updates import RequestAnswered
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import Cordon, PodChange, Release, Restore
from kubectl_eksdoc.model.baseline import AcceptedPlan
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.journal import ROLLED_BACK, IntentOutcome, NoteKind, RunPhase, Verb
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.ports import DrainLock, DryRunBackend, RunBackend

from ..new_nodes import cordoned_copy
from ..outcome import DrainTarget, TargetVerdict
from ..plan import build_plan
from ..plan_changes import check_drift
from ..policy import AUTO_ORDER, DrainPolicy
from ..result import DrainPlan
from .answers import FollowUp, action_for, interpret_response
from .engine import Engine
from .events import DrainEvent
from .journal import (
    JournalState,
    JournalWriter,
    cordon_only_nodes,
    drained_nodes,
    is_other_node,
)
from .journals import RunJournal
from .limits import RunLimits
from .loop import DrainClock, DrainRunEnd, DrainRunLoop, RunRequestState
from .other_drains import (
    TEMPORARY_BLOCKERS,
    ForeignDrainedNode,
    Replanner,
    drained_by_others,
)
from .pod_evictions import ObservedState
from .progress import Reason, RunProgress
from .result import nodes_to_restore, noted_run
from .stall_timeouts import waits_between_waves

# Resume a run that another process started: from its journal and the current cluster, on any machine.


def resumed_engine(
    cluster: Cluster,
    journal_state: JournalState,
    policy: DrainPolicy,
    limits: RunLimits = RunLimits(),
    hooks: frozenset[str] = frozenset(),
    run: str = "",
) -> Engine:
    """Build the engine for the rest of a run, with a new plan for the current cluster.

    Nodes that are drained or gone stay as they are; nodes that were left alone are tried again, because a user may have
    removed the obstacle. Requests without a response are checked before anything is requested again. A node that the
    new plan does not drain is left alone, and reported.

    A budget that allows no eviction at the moment, perhaps because of this run, stops no node: the run waits for it.
    Waves are computed again, and their numbers continue after the last wave that was started.
    """
    plan = remaining_plan(cluster, journal_state, policy)
    planned_uids = {target.node.uid for target in plan.targets}
    skipped = tuple(
        _skipped_target(node) for node in _skipped_nodes(cluster, journal_state) if node.uid not in planned_uids
    )
    engine = Engine(plan, ObservedState(cluster), limits, hooks, run, skipped)
    for target in plan.targets:
        if not target.order:
            engine.record_skipped(target.node.name, "; ".join(target.why), 0.0)
    for node in journal_state.protected:
        engine.adopt_protection(node.node, node.uid, node.confirmed)
    engine.mark_in_doubt((change.intent.uid for change in journal_state.in_doubt), 0.0)
    engine.add_replacements(_replacements(cluster, journal_state), 0.0)
    return engine


def _replacements(cluster: Cluster, journal_state: JournalState) -> Iterator[Pod]:
    """Yield the pods that replace evicted pods of this run, as far as names tell. A pod's name begins with its owner's
    name; among the pods of an owner that are on no target, the latest are new, as many as were evicted."""
    existing_uids = {pod.uid for pod in cluster.pods}
    intents = (change.intent for change in journal_state.changes if change.outcome is not IntentOutcome.REFUSED)
    removed = {each.uid: each for each in intents if each.kind == "Pod" and each.uid not in existing_uids}
    evicted = Counter((each.namespace, each.name.rpartition("-")[0]) for each in removed.values())
    targets = (
        {planned_node.node for planned_node in journal_state.started.aims}
        if journal_state.started is not None
        else set()
    )
    created = (pod for pod in cluster.pods if pod.owner is not None and pod.node not in targets)
    for pod in sorted(created, key=lambda pod: pod.created_at or cluster.observed_at, reverse=True):
        key = pod.namespace, pod.owner.name if pod.owner is not None else ""
        if evicted[key] > 0:
            evicted[key] -= 1
            yield pod


def remaining_plan(cluster: Cluster, journal_state: JournalState, policy: DrainPolicy) -> DrainPlan:
    """Plan the rest of a run; where nodes are drained in waves, nodes of started waves keep their numbers."""
    planned_nodes = journal_state.started.aims if journal_state.started is not None else ()
    ended_nodes = {node for node, note in journal_state.nodes.items() if note is not NoteKind.LEFT_ALONE}
    remaining_uids = {planned_node.uid for planned_node in planned_nodes if planned_node.node not in ended_nodes}
    order = tuple(planned_node.node for planned_node in planned_nodes)  # decided when the run started
    skipped = {node.uid for node in _skipped_nodes(cluster, journal_state)}  # no pod is scheduled onto them
    cluster = replace(cluster, stops=(*cluster.stops, *journal_state.stops))
    cluster = replace(cluster, nodes=tuple(cordoned_copy(n) if n.uid in skipped else n for n in cluster.nodes))
    remaining_policy = replace(
        policy, delete_past_budget=policy.delete_past_budget - _deleted_names(cluster, journal_state)
    )
    waiting = replace(
        remaining_policy, assume_fixed=policy.assume_fixed | TEMPORARY_BLOCKERS, order=AUTO_ORDER, order_nodes=order
    )
    plan = build_plan(cluster, [node for node in cluster.nodes if node.uid in remaining_uids], waiting)
    return replace(plan, policy=remaining_policy, targets=_renumbered_waves(plan, journal_state.last_wave))


def _skipped_nodes(cluster: Cluster, journal_state: JournalState) -> tuple[Node, ...]:
    """Return the targets that the run cordons and does not drain, except those that another client has uncordoned."""
    start = journal_state.started
    uids = (
        {planned_node.uid for planned_node in start.skipped if planned_node.node not in journal_state.uncordoned}
        if start is not None
        else set()
    )
    return tuple(node for node in cluster.nodes if node.uid in uids)


def _skipped_target(node: Node) -> DrainTarget:
    reasons = ("it was not to be drained when the run began",)
    return DrainTarget(node, TargetVerdict.SKIPPED, 0, 0, 0, 0, reasons, cordon_only=True)


def _renumbered_waves(plan: DrainPlan, last_wave: int) -> tuple[DrainTarget, ...]:
    """Continue wave numbers after `last_wave`; a plan that is a single wave stays wave 1."""
    if not last_wave or not (waits_between_waves(plan) or plan.uses_generations):
        return plan.targets
    return tuple(replace(target, wave=target.wave + last_wave) if target.wave else target for target in plan.targets)


def _deleted_names(cluster: Cluster, journal_state: JournalState) -> set[str]:
    """Return the pods (ns/name) that the user named for deletion and that this run has already deleted: a pod that has
    this name now is another one."""
    existing = {pod.key: pod.uid for pod in cluster.pods}
    deleted = (change.intent for change in journal_state.changes if change.intent.verb is Verb.DELETE)
    names = {f"{intent.namespace}/{intent.name}": intent.uid for intent in deleted}
    return {name for name, uid in names.items() if existing.get(name) != uid}


# Watch drains of other clients until their nodes are empty; nothing is changed.


SHOW_INTERVAL_S = 2.0
"""Display interval, if something has changed."""

Show = Callable[[Cluster, Sequence[ForeignDrainedNode]], object]


def attach(
    reader: ClusterReader,
    backend: RunBackend,
    clock: DrainClock,
    names: frozenset[str],
    show: Show,
    leave: Callable[[], bool],
) -> tuple[ForeignDrainedNode, ...]:
    """Watch until every node is empty, or `leave` returns True; without `names` all nodes that other clients drain.
    Returns the last state.

    Raises:
        ClusterError: the cluster cannot be read or watched.
    """
    facts = reader.read(kinds.ALL)
    observed, started_s = ObservedState(facts), clock.monotonic()
    last_facts: list[object] | None = None
    while True:
        observed_cluster = observed.as_cluster(facts, clock.monotonic() - started_s)
        nodes = drained_by_others(observed_cluster, names)
        facts_now: list[object] = [node.facts for node in nodes]
        if facts_now != last_facts:
            last_facts = facts_now
            show(observed_cluster, nodes)
        if leave() or all(node.empty for node in nodes):
            return nodes
        until_s = clock.monotonic() + SHOW_INTERVAL_S
        while (remaining_s := until_s - clock.monotonic()) > 0 and not leave():
            for update in backend.updates(remaining_s):
                observed.handle(update)


@frozen
class RunEnvironment:
    """The outside of a run. `listen` receives all events, `read_request` returns the user's current request, `show`
    receives the progress, `explain` receives the reasons every minute without an event, `on_error` receives the state
    if an error ends the run. `hooks`: for which of `actions.BEFORE_WAVE` and `AFTER_WAVE` the backend has a command.
    The lock is held and renewed by the caller. `check` raises if a plan of the current cluster must not be drained."""

    backend: RunBackend
    journal: RunJournal
    lock: DrainLock
    clock: DrainClock
    listen: Callable[[Sequence[DrainEvent]], object]
    read_request: Callable[[], RunRequestState] = RunRequestState
    limits: RunLimits = RunLimits()
    show: Callable[[RunProgress], object] = lambda standing: None
    hooks: frozenset[str] = frozenset()
    check: Callable[[Cluster, DrainPlan], object] = lambda cluster, plan: None
    explain: Callable[[Sequence[Reason], float], object] = lambda reasons, for_s: None
    on_error: Callable[[Cluster, DrainRunEnd], object] = lambda cluster, ended: None


@frozen
class RunHeader:
    """Header of a new run: its id, the digest of its plan, the tool's version, the user and host, and the arguments of
    a command line that makes the same plan."""

    run: str
    plan: str
    tool: str
    user: str
    host: str
    arguments: tuple[str, ...]


def run_plan(cluster: Cluster, plan: DrainPlan, header: RunHeader, environment: RunEnvironment) -> DrainRunEnd:
    """Drain the nodes of a plan.

    Raises:
        as `DrainRunLoop.run`, `RunJournal.start` and `RunEnvironment.check`.
    """
    environment.check(cluster, plan)
    writer = JournalWriter()
    start_entry = writer.run_started(
        header.run,
        environment.clock.now(),
        plan=header.plan,
        tool=header.tool,
        user=header.user,
        host=header.host,
        leader=environment.lock.holder,
        planned_nodes=drained_nodes(plan),
        arguments=header.arguments,
        skipped=cordon_only_nodes(plan),
        estimate=plan.estimate,
        cluster=cluster.identity.uid,
    )
    environment.journal.start(start_entry)
    return _drain(
        Engine(plan, ObservedState(cluster), environment.limits, environment.hooks, header.run),
        cluster,
        writer,
        environment,
    )


@frozen
class ResumedIntent:
    """What the user confirmed for a resumed run: its `policy`; the UIDs of the pods whose names were typed for a
    deletion past their budgets, because another pod may have such a name now; the number of the next journal entry when
    the rest was shown, and the plan that was shown. None: nothing was shown."""

    policy: DrainPolicy
    confirmed_uids: frozenset[str] = frozenset()
    shown_entry: int | None = None
    shown_plan: AcceptedPlan | None = None


def resume(
    run: str, reader: ClusterReader, intent: ResumedIntent, environment: RunEnvironment
) -> tuple[Cluster, DrainRunEnd]:
    """Adopt a run that another process started, and run it to its end. Returns the cluster as it was read after the
    adoption, and the end.

    Raises:
        Drifted: the run differs from what was shown; nothing was done.
        as `DrainRunLoop.run`, `RunJournal.adopt` and `RunEnvironment.check`; ClusterError: the cluster cannot be read.
    """
    journal_state = environment.journal.adopt(run, environment.clock.now())
    writer = JournalWriter(journal_state.next_number)
    if journal_state.rolled_back:
        environment.journal.write([writer.note(NoteKind.ENDED, environment.clock.now(), reason=ROLLED_BACK)])
        environment.journal.report_progress(RunPhase.ENDED, ROLLED_BACK)
        raise Drifted(f"run {run} was rolled back meanwhile", "Nothing was done. Begin a new run.")
    if (
        intent.shown_entry is not None and journal_state.next_number > intent.shown_entry + 1
    ):  # one entry is the adoption
        raise Drifted(f"another process handled run {run} since it was shown", f"Nothing was done. {_RESUME_AGAIN}")
    cluster = reader.read(kinds.ALL)
    engine = resumed_engine(
        cluster, journal_state, _confirmed_policy(intent, cluster), environment.limits, environment.hooks, run
    )
    environment.check(cluster, engine.plan)
    if intent.shown_plan is not None:
        check_drift(intent.shown_plan, engine.plan, f"the rest of run {run} was shown", _RESUME_AGAIN)
    if journal_state.paused or journal_state.aborted:
        environment.journal.write([writer.note(NoteKind.RESUMED, environment.clock.now())])
    now = environment.clock.now()
    planned_nodes = [
        planned_node
        for planned_node in drained_nodes(engine.plan)
        if planned_node.wave != journal_state.waves.get(planned_node.node)
    ]
    if planned_nodes:
        environment.journal.write(
            [
                writer.note(NoteKind.WAVE, now, planned_node.node, str(planned_node.wave))
                for planned_node in planned_nodes
            ]
        )
    return cluster, _drain(engine, cluster, writer, environment)


_RESUME_AGAIN = "Resume it again, and read what it says now."


def _confirmed_policy(intent: ResumedIntent, cluster: Cluster) -> DrainPolicy:
    """Return the policy without the names that belong to other pods now."""
    names = frozenset(pod.key for pod in cluster.pods if pod.uid in intent.confirmed_uids)
    return replace(intent.policy, delete_past_budget=intent.policy.delete_past_budget & names)


def _drain(engine: Engine, cluster: Cluster, writer: JournalWriter, environment: RunEnvironment) -> DrainRunEnd:
    loop = DrainRunLoop(
        engine,
        environment.backend,
        environment.journal,
        environment.lock,
        environment.clock,
        writer,
        environment.listen,
        environment.read_request,
        environment.show,
        Replanner(engine, cluster),
        environment.limits.away_s,
        environment.explain,
        records_times=cluster.identity.speed == 1.0,
    )
    try:
        return loop.run()
    except (Stopped, ClusterError) as error:
        environment.on_error(cluster, loop.end_by_error(error.message))
        raise


# Server-side dry run of the first requests of a plan.
#
# Only the first round: the server judges each eviction of a dry run as if it were the only one, so later ones prove
# nothing.


MAX_DRY_RUNS = 200
"""Maximum number of evictions in a dry run."""


class _RefusedRequest(NamedTuple):
    """`subject`: a node, or a pod (ns/name)."""

    subject: str
    reason: str


class DryRunResult(NamedTuple):
    """`requests`: number of requests; `refused`: those that the server would refuse."""

    requests: int
    refused: tuple[_RefusedRequest, ...]


def dry_run_first_round(plan: DrainPlan, backend: DryRunBackend) -> DryRunResult:
    """Dry-run all cordons and the first round, except pods that may finish by themselves first."""
    refused, requests = [], 0
    for subject, action in _first_round(plan):
        requests += 1
        if reason := _refusal(action, backend.dry_run(action)):
            refused.append(_RefusedRequest(subject, reason))
    return DryRunResult(requests, tuple(refused))


def _first_round(plan: DrainPlan) -> Iterator[tuple[str, Cordon | PodChange]]:
    for target in plan.targets:
        if target.order or target.cordon_only:
            yield target.node.name, Cordon(target.node.name, target.node.uid)
    evictions = [eviction for eviction in plan.evictions if eviction.round == 1 and not eviction.eviction_mode.waits_s]
    for eviction in sorted(evictions, key=lambda each: each.position)[:MAX_DRY_RUNS]:
        yield eviction.pod.key, action_for(eviction, plan.policy.grace_seconds)


def _refusal(action: Cordon | PodChange, response: ApiStatus | LostResponse) -> str:
    """Return why the request would be refused; "" if it would succeed, or is not needed any more."""
    if isinstance(response, LostResponse):
        return response.message
    if not isinstance(action, Cordon):
        response_meaning = interpret_response(action, response)
        return (
            ""
            if response_meaning.follow_up in (FollowUp.ACCEPTED, FollowUp.GONE)
            else response_meaning.message or response.message
        )
    return "" if 200 <= response.code < 300 else response.message


# Roll back: restore what a run changed on nodes, and nothing else. Pods are not moved back.


RollbackAction = Restore | Release

MAX_ATTEMPTS = 5
"""Attempts per node while the response is uncertain, or another writer was faster."""

WAIT_S = 1.0


@frozen
class RollbackResult:
    """`released`: nodes that are not protected from autoscalers any more. `not_restored`: nodes that could not be
    restored or released, each with the reason."""

    restored: tuple[str, ...] = ()
    released: tuple[str, ...] = ()
    not_restored: Mapping[str, str] = field(default_factory=dict)


def roll_back(run: str, environment: RunEnvironment, reader: ClusterReader, *, removed: bool = False) -> RollbackResult:
    """Adopt the run, so that no other process continues it, and restore its nodes one after the other: those of its
    journal, and other nodes that carry its notes. `removed`: its journal does not exist any more.

    Raises:
        UsageError: there is no such run.
        ClusterError: the nodes cannot be read.
        LockLost, JournalError, Unauthorized, Forbidden: at once; nodes that were restored stay so.
    """
    adopt = environment.journal.adopt_removed if removed else environment.journal.adopt
    journal_state = adopt(run, environment.clock.now())
    writer = JournalWriter(journal_state.next_number)
    not_restored: dict[str, str] = {}
    cordoned, protected = nodes_to_restore(journal_state, noted_run(reader.read((kinds.NODES,)).nodes, run))
    restored = _restore_all(
        (Restore(each.node, each.uid, not each.uncordoned_by_others) for each in cordoned),
        not_restored,
        writer,
        environment,
    )
    released = _restore_all((Release(each.node, each.uid) for each in protected), not_restored, writer, environment)
    environment.journal.write([writer.note(NoteKind.ENDED, environment.clock.now(), reason=ROLLED_BACK)])
    environment.journal.report_progress(RunPhase.ENDED, ROLLED_BACK)
    return RollbackResult(restored, released, not_restored)


def _restore_all(
    actions: Iterable[RollbackAction], not_restored: dict[str, str], writer: JournalWriter, environment: RunEnvironment
) -> tuple[str, ...]:
    """Return the nodes that were restored or released; add the others to `not_restored`, with reasons."""
    restored = []
    for action in actions:
        if reason := _restore_node(action, writer, environment):
            not_restored[action.node] = (
                f"{not_restored[action.node]}; {reason}" if action.node in not_restored else reason
            )
        else:
            restored.append(action.node)
    return tuple(restored)


def _restore_node(action: RollbackAction, writer: JournalWriter, environment: RunEnvironment) -> str:
    """Return why the node could not be restored; "" if it was, or is gone."""
    response: ApiStatus | LostResponse = LostResponse("no request was sent")
    for _ in range(MAX_ATTEMPTS):
        intent = writer.intent(action, environment.clock.now())
        environment.journal.write([intent])
        response = _response_to(action, environment)
        environment.journal.write([writer.result(intent, response, environment.clock.now())])
        if isinstance(response, ApiStatus) and (response.ok or response.code == 404 or is_other_node(response)):
            return ""
        if isinstance(response, ApiStatus) and response.code < 500 and response.code not in (409, 429):
            break
    return response.message


def _response_to(action: RollbackAction, environment: RunEnvironment) -> ApiStatus | LostResponse:
    environment.lock.must_be_held()
    environment.backend.do(action)
    while True:
        for update in environment.backend.updates(WAIT_S):
            if isinstance(update, RequestAnswered) and type(update.action) is type(action) and update.action == action:
                return update.response
