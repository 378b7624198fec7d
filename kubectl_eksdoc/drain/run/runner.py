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
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostAnswer
from kubectl_eksdoc.kubernetes.news import RequestAnswered
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import Cordon, OfPod, Release, Restore
from kubectl_eksdoc.model.baseline import ReadPlan
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.journal import ROLLED_BACK, IntentOutcome, JournalNote, RunPhase, Verb
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.ports import DrainLock, DryRunField, Field

from ..new_nodes import cordoned
from ..outcome import DrainTarget, TargetVerdict
from ..plan import make_plan
from ..plan_changes import check_drift
from ..policy import AUTO, DrainPolicy
from ..result import DrainPlan
from .answers import Next, act_for, meaning
from .engine import Engine
from .events import RunMoment
from .journal import (
    Journaled,
    JournalWriter,
    aims_of,
    is_another,
    skipped_by,
)
from .journals import RunJournal
from .limits import RunLimits
from .loop import DrainClock, Draining, DrainRunEnd, RunWishState
from .other_drains import (
    WAITED_FOR,
    OthersNode,
    Replanning,
    drained_by_others,
)
from .pod_evictions import ObservedState
from .progress import Reason, RunProgress
from .result import noted_of, to_give_back
from .stall_timeouts import in_waves

# Resume a run that another process started: from its journal and the current cluster, on any machine.


def engine_again(
    cluster: Cluster,
    journaled: Journaled,
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
    plan = rest_of(cluster, journaled, policy)
    known = {target.node.uid for target in plan.targets}
    skipped = tuple(_skipped(node) for node in _skipped_nodes(cluster, journaled) if node.uid not in known)
    engine = Engine(plan, ObservedState(cluster), limits, hooks, run, skipped)
    for target in plan.targets:
        if not target.order:
            engine.skip(target.node.name, "; ".join(target.why), 0.0)
    for node in journaled.protected:
        engine.protects(node.node, node.uid, node.confirmed)
    engine.doubt((change.intent.uid for change in journaled.in_doubt), 0.0)
    engine.awaits(_replacing(cluster, journaled), 0.0)
    return engine


def _replacing(cluster: Cluster, journaled: Journaled) -> Iterator[Pod]:
    """Yield the pods that replace evicted pods of this run, as far as names tell. A pod's name begins with its owner's
    name; among the pods of an owner that are on no target, the latest are new, as many as were evicted."""
    there = {pod.uid for pod in cluster.pods}
    intents = (change.intent for change in journaled.changes if change.outcome is not IntentOutcome.REFUSED)
    gone = {each.uid: each for each in intents if each.kind == "Pod" and each.uid not in there}
    evicted = Counter((each.namespace, each.name.rpartition("-")[0]) for each in gone.values())
    targets = {aim.node for aim in journaled.begun.aims} if journaled.begun is not None else set()
    made = (pod for pod in cluster.pods if pod.owner is not None and pod.node not in targets)
    for pod in sorted(made, key=lambda pod: pod.created_at or cluster.observed_at, reverse=True):
        key = pod.namespace, pod.owner.name if pod.owner is not None else ""
        if evicted[key] > 0:
            evicted[key] -= 1
            yield pod


def rest_of(cluster: Cluster, journaled: Journaled, policy: DrainPolicy) -> DrainPlan:
    """Plan the rest of a run; where nodes are drained in waves, nodes of started waves keep their numbers."""
    aims = journaled.begun.aims if journaled.begun is not None else ()
    over = {node for node, how in journaled.nodes.items() if how is not JournalNote.LEFT_ALONE}
    left = {aim.uid for aim in aims if aim.node not in over}
    order = tuple(aim.node for aim in aims)  # decided when the run started
    skipped = {node.uid for node in _skipped_nodes(cluster, journaled)}  # no pod is scheduled onto them
    cluster = replace(cluster, stops=(*cluster.stops, *journaled.stops))
    cluster = replace(cluster, nodes=tuple(cordoned(n) if n.uid in skipped else n for n in cluster.nodes))
    meant = replace(policy, delete_past_budget=policy.delete_past_budget - _spent(cluster, journaled))
    waiting = replace(meant, assume_fixed=policy.assume_fixed | WAITED_FOR, order=AUTO, order_nodes=order)
    plan = make_plan(cluster, [node for node in cluster.nodes if node.uid in left], waiting)
    return replace(plan, policy=meant, targets=_numbered(plan, journaled.last_wave))


def _skipped_nodes(cluster: Cluster, journaled: Journaled) -> tuple[Node, ...]:
    """Return the targets that the run cordons and does not drain, except those that another client has uncordoned."""
    begun = journaled.begun
    uids = {aim.uid for aim in begun.skipped if aim.node not in journaled.uncordoned} if begun is not None else set()
    return tuple(node for node in cluster.nodes if node.uid in uids)


def _skipped(node: Node) -> DrainTarget:
    why = ("it was not to be drained when the run began",)
    return DrainTarget(node, TargetVerdict.SKIPPED, 0, 0, 0, 0, why, cordon_only=True)


def _numbered(plan: DrainPlan, before: int) -> tuple[DrainTarget, ...]:
    """Continue wave numbers after `last_wave`; a plan that is a single wave stays wave 1."""
    if not before or not (in_waves(plan) or plan.in_generations):
        return plan.targets
    return tuple(replace(each, wave=each.wave + before) if each.wave else each for each in plan.targets)


def _spent(cluster: Cluster, journaled: Journaled) -> set[str]:
    """Return the pods (ns/name) that the user named for deletion and that this run has already deleted: a pod that has
    this name now is another one."""
    there = {pod.key: pod.uid for pod in cluster.pods}
    deleted = (change.intent for change in journaled.changes if change.intent.verb is Verb.DELETE)
    names = {f"{intent.namespace}/{intent.name}": intent.uid for intent in deleted}
    return {name for name, uid in names.items() if there.get(name) != uid}


# Watch drains of other clients until their nodes are empty; nothing is changed.


LOOK_S = 2.0
"""Display interval, if something has changed."""

Show = Callable[[Cluster, Sequence[OthersNode]], object]


def attach(
    reader: ClusterReader, field: Field, clock: DrainClock, names: frozenset[str], show: Show, leave: Callable[[], bool]
) -> tuple[OthersNode, ...]:
    """Watch until every node is empty, or `leave` returns True; without `names` all nodes that other clients drain.
    Returns the last state.

    Raises:
        ClusterError: the cluster cannot be read or watched.
    """
    facts = reader.read(kinds.ALL)
    seen, begun_s = ObservedState(facts), clock.monotonic()
    shown: list[object] | None = None
    while True:
        there = seen.now(facts, clock.monotonic() - begun_s)
        nodes = drained_by_others(there, names)
        facts_now: list[object] = [node.facts for node in nodes]
        if facts_now != shown:
            shown = facts_now
            show(there, nodes)
        if leave() or all(node.empty for node in nodes):
            return nodes
        until_s = clock.monotonic() + LOOK_S
        while (left_s := until_s - clock.monotonic()) > 0 and not leave():
            for news in field.news(left_s):
                seen.take(news)


@frozen
class RunEnvironment:
    """The outside of a run. `listen` receives all events, `read_request` returns the user's current request, `show`
    receives the progress, `explain` receives the reasons every minute without an event, `on_error` receives the state
    if an error ends the run. `hooks`: for which of `actions.BEFORE_WAVE` and `AFTER_WAVE` the backend has a command.
    The lock is held and renewed by the caller. `check` raises if a plan of the current cluster must not be drained."""

    field: Field
    journal: RunJournal
    lock: DrainLock
    clock: DrainClock
    listen: Callable[[Sequence[RunMoment]], object]
    wish: Callable[[], RunWishState] = RunWishState
    limits: RunLimits = RunLimits()
    show: Callable[[RunProgress], object] = lambda standing: None
    hooks: frozenset[str] = frozenset()
    check: Callable[[Cluster, DrainPlan], object] = lambda cluster, plan: None
    explain: Callable[[Sequence[Reason], float], object] = lambda reasons, for_s: None
    left: Callable[[Cluster, DrainRunEnd], object] = lambda cluster, ended: None


@frozen
class RunHeader:
    """Header of a new run: its id, the digest of its plan, the tool's version, the user and host, and the arguments of
    a command line that makes the same plan."""

    run: str
    plan: str
    tool: str
    who: str
    host: str
    asked: tuple[str, ...]


def run_plan(cluster: Cluster, plan: DrainPlan, told: RunHeader, running: RunEnvironment) -> DrainRunEnd:
    """Drain the nodes of a plan.

    Raises:
        as `DrainRunLoop.run`, `RunJournal.start` and `RunEnvironment.check`.
    """
    running.check(cluster, plan)
    scribe = JournalWriter()
    begun = scribe.begun(
        told.run,
        running.clock.now(),
        plan=told.plan,
        tool=told.tool,
        who=told.who,
        host=told.host,
        leader=running.lock.holder,
        aims=aims_of(plan),
        asked=told.asked,
        skipped=skipped_by(plan),
        estimate=plan.estimate,
        cluster=cluster.identity.uid,
    )
    running.journal.begin(begun)
    return _drain(
        Engine(plan, ObservedState(cluster), running.limits, running.hooks, told.run), cluster, scribe, running
    )


@frozen
class ResumedIntent:
    """What the user confirmed for a resumed run: its `policy`; the UIDs of the pods whose names were typed for a
    deletion past their budgets, because another pod may have such a name now; the number of the next journal entry when
    the rest was shown, and the plan that was shown. None: nothing was shown."""

    policy: DrainPolicy
    typed: frozenset[str] = frozenset()
    shown: int | None = None
    promise: ReadPlan | None = None


def go_on(
    run: str, reader: ClusterReader, meant: ResumedIntent, running: RunEnvironment
) -> tuple[Cluster, DrainRunEnd]:
    """Adopt a run that another process started, and run it to its end. Returns the cluster as it was read after the
    adoption, and the end.

    Raises:
        Drifted: the run differs from what was shown; nothing was done.
        as `DrainRunLoop.run`, `RunJournal.adopt` and `RunEnvironment.check`; ClusterError: the cluster cannot be read.
    """
    journaled = running.journal.adopt(run, running.clock.now())
    scribe = JournalWriter(journaled.next_number)
    if journaled.rolled_back:
        running.journal.write([scribe.note(JournalNote.ENDED, running.clock.now(), why=ROLLED_BACK)])
        running.journal.tell(RunPhase.ENDED, ROLLED_BACK)
        raise Drifted(f"run {run} was rolled back meanwhile", "Nothing was done. Begin a new run.")
    if meant.shown is not None and journaled.next_number > meant.shown + 1:  # one entry is the adoption
        raise Drifted(f"another process handled run {run} since it was shown", f"Nothing was done. {_AGAIN}")
    cluster = reader.read(kinds.ALL)
    engine = engine_again(cluster, journaled, _still_meant(meant, cluster), running.limits, running.hooks, run)
    running.check(cluster, engine.plan)
    if meant.promise is not None:
        check_drift(meant.promise, engine.plan, f"the rest of run {run} was shown", _AGAIN)
    if journaled.paused or journaled.aborted:
        running.journal.write([scribe.note(JournalNote.RESUMED, running.clock.now())])
    now = running.clock.now()
    aims = [aim for aim in aims_of(engine.plan) if aim.wave != journaled.waves.get(aim.node)]
    if aims:
        running.journal.write([scribe.note(JournalNote.WAVE, now, aim.node, str(aim.wave)) for aim in aims])
    return cluster, _drain(engine, cluster, scribe, running)


_AGAIN = "Resume it again, and read what it says now."


def _still_meant(meant: ResumedIntent, cluster: Cluster) -> DrainPolicy:
    """Return the policy without the names that belong to other pods now."""
    names = frozenset(pod.key for pod in cluster.pods if pod.uid in meant.typed)
    return replace(meant.policy, delete_past_budget=meant.policy.delete_past_budget & names)


def _drain(engine: Engine, cluster: Cluster, scribe: JournalWriter, running: RunEnvironment) -> DrainRunEnd:
    made = Draining(
        engine,
        running.field,
        running.journal,
        running.lock,
        running.clock,
        scribe,
        running.listen,
        running.wish,
        running.show,
        Replanning(engine, cluster),
        running.limits.away_s,
        running.explain,
        teaches=cluster.identity.speed == 1.0,
    )
    try:
        return made.to_the_end()
    except (Stopped, ClusterError) as error:
        running.left(cluster, made.left(error.message))
        raise


# Server-side dry run of the first requests of a plan.
#
# Only the first round: the server judges each eviction of a dry run as if it were the only one, so later ones prove
# nothing.


MOST = 200
"""Maximum number of evictions in a dry run."""


class _Refused(NamedTuple):
    """`subject`: a node, or a pod (ns/name)."""

    subject: str
    why: str


class DryRunResult(NamedTuple):
    """`requests`: number of requests; `refused`: those that the server would refuse."""

    asked: int
    refused: tuple[_Refused, ...]


def try_first(plan: DrainPlan, trial: DryRunField) -> DryRunResult:
    """Dry-run all cordons and the first round, except pods that may finish by themselves first."""
    refused, asked = [], 0
    for subject, act in _first(plan):
        asked += 1
        if why := _refusal(act, trial.would(act)):
            refused.append(_Refused(subject, why))
    return DryRunResult(asked, tuple(refused))


def _first(plan: DrainPlan) -> Iterator[tuple[str, Cordon | OfPod]]:
    for target in plan.targets:
        if target.order or target.cordon_only:
            yield target.node.name, Cordon(target.node.name, target.node.uid)
    first = [eviction for eviction in plan.evictions if eviction.round == 1 and not eviction.manner.waits_s]
    for eviction in sorted(first, key=lambda each: each.position)[:MOST]:
        yield eviction.pod.key, act_for(eviction, plan.policy.grace_seconds)


def _refusal(act: Cordon | OfPod, answer: ApiStatus | LostAnswer) -> str:
    """Return why the request would be refused; "" if it would succeed, or is not needed any more."""
    if isinstance(answer, LostAnswer):
        return answer.said
    if not isinstance(act, Cordon):
        reading = meaning(act, answer)
        return "" if reading.next in (Next.LEAVES, Next.GONE) else reading.said or answer.message
    return "" if 200 <= answer.code < 300 else answer.message


# Roll back: restore what a run changed on nodes, and nothing else. Pods are not moved back.


Back = Restore | Release

TRIES = 5
"""Attempts per node while the response is uncertain, or another writer was faster."""

WAIT_S = 1.0


@frozen
class RolledBack:
    """`released`: nodes that are not protected from autoscalers any more. `not_restored`: nodes that could not be
    restored or released, each with the reason."""

    restored: tuple[str, ...] = ()
    released: tuple[str, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict)


def roll_back(run: str, running: RunEnvironment, reader: ClusterReader, *, removed: bool = False) -> RolledBack:
    """Adopt the run, so that no other process continues it, and restore its nodes one after the other: those of its
    journal, and other nodes that carry its notes. `removed`: its journal does not exist any more.

    Raises:
        UsageError: there is no such run.
        ClusterError: the nodes cannot be read.
        LockLost, JournalError, Unauthorized, Forbidden: at once; nodes that were restored stay so.
    """
    adopt = running.journal.adopt_removed if removed else running.journal.adopt
    journaled = adopt(run, running.clock.now())
    scribe = JournalWriter(journaled.next_number)
    left: dict[str, str] = {}
    cordoned, protected = to_give_back(journaled, noted_of(reader.read((kinds.NODES,)).nodes, run))
    restored = _all((Restore(each.node, each.uid, not each.theirs) for each in cordoned), left, scribe, running)
    released = _all((Release(each.node, each.uid) for each in protected), left, scribe, running)
    running.journal.write([scribe.note(JournalNote.ENDED, running.clock.now(), why=ROLLED_BACK)])
    running.journal.tell(RunPhase.ENDED, ROLLED_BACK)
    return RolledBack(restored, released, left)


def _all(acts: Iterable[Back], left: dict[str, str], scribe: JournalWriter, running: RunEnvironment) -> tuple[str, ...]:
    """Return the nodes that were restored or released; add the others to `not_restored`, with reasons."""
    done = []
    for act in acts:
        if why := _give_back(act, scribe, running):
            left[act.node] = f"{left[act.node]}; {why}" if act.node in left else why
        else:
            done.append(act.node)
    return tuple(done)


def _give_back(act: Back, scribe: JournalWriter, running: RunEnvironment) -> str:
    """Return why the node could not be restored; "" if it was, or is gone."""
    answer: ApiStatus | LostAnswer = LostAnswer("no request was sent")
    for _ in range(TRIES):
        intent = scribe.intent(act, running.clock.now())
        running.journal.write([intent])
        answer = _answer_to(act, running)
        running.journal.write([scribe.result(intent, answer, running.clock.now())])
        if isinstance(answer, ApiStatus) and (answer.ok or answer.code == 404 or is_another(answer)):
            return ""
        if isinstance(answer, ApiStatus) and answer.code < 500 and answer.code not in (409, 429):
            break
    return answer.said if isinstance(answer, LostAnswer) else answer.message


def _answer_to(act: Back, running: RunEnvironment) -> ApiStatus | LostAnswer:
    running.lock.must_be_held()
    running.field.do(act)
    while True:
        for news in running.field.news(WAIT_S):
            if isinstance(news, RequestAnswered) and type(news.act) is type(act) and news.act == act:
                return news.answer
