"""A run from its first entry, or from where somebody else left it, to its end."""

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

# Go on with a run that somebody began: from its journal and from the cluster as it is, on any machine.


def engine_again(
    cluster: Cluster,
    journaled: Journaled,
    policy: DrainPolicy,
    limits: RunLimits = RunLimits(),
    hooks: frozenset[str] = frozenset(),
    run: str = "",
) -> Engine:
    """What is left of the run, planned anew for what is there now.

    Nodes that are done or gone stay as they are; those that were left alone are tried again, for somebody may have
    removed what was in the way. What was asked for without an answer is looked at before anything is asked for again. A
    node that the new plan does not drain is left alone, and told.

    A budget that has nothing left at the moment, perhaps since this very run used it, stops no node: it is waited for.
    Waves are made anew, and their numbers go on after the last one that was begun.
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
    """The pods that were made for those that this run has evicted, as far as names tell: a pod's begins with its
    owner's, and of the pods of an owner that are on no target, as many as were evicted of it, the latest are new."""
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
    """The plan of what is left of a run; where nodes go in waves, those that were begun keep their numbers."""
    aims = journaled.begun.aims if journaled.begun is not None else ()
    over = {node for node, how in journaled.nodes.items() if how is not JournalNote.LEFT_ALONE}
    left = {aim.uid for aim in aims if aim.node not in over}
    order = tuple(aim.node for aim in aims)  # it was decided when the run began
    skipped = {node.uid for node in _skipped_nodes(cluster, journaled)}  # nothing is scheduled onto them
    cluster = replace(cluster, stops=(*cluster.stops, *journaled.stops))
    cluster = replace(cluster, nodes=tuple(cordoned(n) if n.uid in skipped else n for n in cluster.nodes))
    meant = replace(policy, delete_past_budget=policy.delete_past_budget - _spent(cluster, journaled))
    waiting = replace(meant, assume_fixed=policy.assume_fixed | WAITED_FOR, order=AUTO, order_nodes=order)
    plan = make_plan(cluster, [node for node in cluster.nodes if node.uid in left], waiting)
    return replace(plan, policy=meant, targets=_numbered(plan, journaled.last_wave))


def _skipped_nodes(cluster: Cluster, journaled: Journaled) -> tuple[Node, ...]:
    """The targets that the run cordons and does not drain, but for those that another client has uncordoned."""
    begun = journaled.begun
    uids = {aim.uid for aim in begun.skipped if aim.node not in journaled.uncordoned} if begun is not None else set()
    return tuple(node for node in cluster.nodes if node.uid in uids)


def _skipped(node: Node) -> DrainTarget:
    why = ("it was not to be drained when the run began",)
    return DrainTarget(node, TargetVerdict.SKIPPED, 0, 0, 0, 0, why, cordon_only=True)


def _numbered(plan: DrainPlan, before: int) -> tuple[DrainTarget, ...]:
    """What is one wave as a whole stays the first one."""
    if not before or not (in_waves(plan) or plan.in_generations):
        return plan.targets
    return tuple(replace(each, wave=each.wave + before) if each.wave else each for each in plan.targets)


def _spent(cluster: Cluster, journaled: Journaled) -> set[str]:
    """The pods (ns/name) that the user named, of which this run deleted one already: what has their name now is not
    what was meant."""
    there = {pod.key: pod.uid for pod in cluster.pods}
    deleted = (change.intent for change in journaled.changes if change.intent.verb is Verb.DELETE)
    names = {f"{intent.namespace}/{intent.name}": intent.uid for intent in deleted}
    return {name for name, uid in names.items() if there.get(name) != uid}


# Watch drains that somebody else is running, until nothing of them is left; nothing is changed.


LOOK_S = 2.0
"""So often it is shown anew, if something has changed."""

Show = Callable[[Cluster, Sequence[OthersNode]], object]


def attach(
    reader: ClusterReader, field: Field, clock: DrainClock, names: frozenset[str], show: Show, leave: Callable[[], bool]
) -> tuple[OthersNode, ...]:
    """Until every node is empty, or `leave` says so; `names` none: all nodes that somebody drains. How it stands then.

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
    """What a run needs of the world. `listen` hears all that happens, `wish` says what the user wants now, `show`
    sees where it stands, `explain` is told every minute in which nothing happens why, `left` what was done if an error
    ends it; `hooks`: for which of `actions.BEFORE_WAVE` and `AFTER_WAVE` the field has a command. The lock is held, and
    kept alive, by whoever made this. `check` raises what forbids to drain by a plan of the cluster as it is."""

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
    """What is noted of a new run: its id, the digest of its plan, the tool's version, who runs it on which host, and
    the words of a command line that plans it again."""

    run: str
    plan: str
    tool: str
    who: str
    host: str
    asked: tuple[str, ...]


def run_plan(cluster: Cluster, plan: DrainPlan, told: RunHeader, running: RunEnvironment) -> DrainRunEnd:
    """Drain what the plan drains.

    Raises:
        as `Draining.to_the_end`, `RunJournal.begin` and `RunEnvironment.check`.
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
    """What whoever goes on with a run means, by what was shown: its `policy`; the UIDs that were `typed` back of pods
    that go past their budgets, since what has such a name by now may be another one; the number of the next entry of
    the journal as it was shown, and what was promised of the rest. None: nothing was shown."""

    policy: DrainPolicy
    typed: frozenset[str] = frozenset()
    shown: int | None = None
    promise: ReadPlan | None = None


def go_on(
    run: str, reader: ClusterReader, meant: ResumedIntent, running: RunEnvironment
) -> tuple[Cluster, DrainRunEnd]:
    """Adopt a run that somebody began, and bring it to its end; the cluster, as it was read once the run was ours.

    Raises:
        Drifted: it is not any more what was shown; nothing was done.
        as `Draining.to_the_end`, `RunJournal.adopt` and `RunEnvironment.check`; ClusterError: it cannot be read.
    """
    journaled = running.journal.adopt(run, running.clock.now())
    scribe = JournalWriter(journaled.next_number)
    if journaled.rolled_back:
        running.journal.write([scribe.note(JournalNote.ENDED, running.clock.now(), why=ROLLED_BACK)])
        running.journal.tell(RunPhase.ENDED, ROLLED_BACK)
        raise Drifted(f"run {run} was rolled back meanwhile", "Nothing was done. Begin a new run.")
    if meant.shown is not None and journaled.next_number > meant.shown + 1:  # one is that we lead it
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
    """Without the names that belong to other pods by now."""
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


# Ask the API server what it would say to the first of a plan, and change nothing.
#
# Only to the first: each eviction of a dry run is judged as if it were the only one, so that later ones prove nothing.


MOST = 200
"""So many evictions are asked for at the most."""


class _Refused(NamedTuple):
    """`subject`: a node, or a pod (ns/name)."""

    subject: str
    why: str


class DryRunResult(NamedTuple):
    """`asked`: so many questions; `refused`: those of them that the server would not do."""

    asked: int
    refused: tuple[_Refused, ...]


def try_first(plan: DrainPlan, trial: DryRunField) -> DryRunResult:
    """All cordons and the first round, but for pods that may end by themselves first."""
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
    """Empty if it would be done, or there is nothing to do any more."""
    if isinstance(answer, LostAnswer):
        return answer.said
    if not isinstance(act, Cordon):
        reading = meaning(act, answer)
        return "" if reading.next in (Next.LEAVES, Next.GONE) else reading.said or answer.message
    return "" if 200 <= answer.code < 300 else answer.message


# Give back what a run changed of nodes, and nothing else: each becomes what it was before. Pods do not move back.


Back = Restore | Release

TRIES = 5
"""So often a node is asked for while its answer tells nothing, or another writer was faster."""

WAIT_S = 1.0


@frozen
class RolledBack:
    """`released`: nodes that are not protected from autoscalers any more. `left`: nodes that could not be given back
    or released, each with the reason."""

    restored: tuple[str, ...] = ()
    released: tuple[str, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict)


def roll_back(run: str, running: RunEnvironment, reader: ClusterReader, *, removed: bool = False) -> RolledBack:
    """Adopt the run, so that nobody goes on with it, and give its nodes back one after the other: those of its journal,
    and whatever other node carries its notes. `removed`: it has no journal any more.

    Raises:
        UsageError: there is no such run.
        ClusterError: the nodes cannot be read.
        LockLost, JournalError, Unauthorized, Forbidden: at once; what was given back stays so.
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
    """The nodes that are what they were; the others go to `left`."""
    done = []
    for act in acts:
        if why := _give_back(act, scribe, running):
            left[act.node] = f"{left[act.node]}; {why}" if act.node in left else why
        else:
            done.append(act.node)
    return tuple(done)


def _give_back(act: Back, scribe: JournalWriter, running: RunEnvironment) -> str:
    """Why it is not what it was; "" if it is, or is gone."""
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
