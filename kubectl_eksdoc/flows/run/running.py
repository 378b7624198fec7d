"""A run from its first entry, or from where somebody else left it, to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kubectl_eksdoc.drain.comparison.changes import check_drift
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.run.answers import Next, act_for, meaning
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.journal import JournalWriter, aims_of, skipped_by
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.moments import RunMoment
from kubectl_eksdoc.drain.run.replanning import Replanning
from kubectl_eksdoc.drain.run.seen import ObservedState
from kubectl_eksdoc.drain.run.standing import Reason, RunProgress
from kubectl_eksdoc.errors import ClusterError, Drifted, Stopped
from kubectl_eksdoc.flows.ports import DrainLock, DryRunField, Field
from kubectl_eksdoc.flows.run.draining import DrainClock, Draining, DrainRunEnd, RunWishState
from kubectl_eksdoc.flows.run.journal import RunJournal
from kubectl_eksdoc.flows.run.resuming import engine_again
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus, LostAnswer
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.acts import Cordon, OfPod
from kubectl_eksdoc.model.baseline import ReadPlan
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.journal import ROLLED_BACK, JournalNote, RunPhase
from kubectl_eksdoc.session.ports import ClusterReader


@dataclass(frozen=True, slots=True)
class RunEnvironment:
    """What a run needs of the world. `listen` hears all that happens, `wish` says what the user wants now, `show`
    sees where it stands, `explain` is told every minute in which nothing happens why, `left` what was done if an error
    ends it; `hooks`: which of
    `acts.BEFORE_WAVE` and `AFTER_WAVE` the field has a command for. The lock is held, and kept alive, by whoever made
    this. `check` raises what forbids to drain by a plan of the cluster as it is."""

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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
