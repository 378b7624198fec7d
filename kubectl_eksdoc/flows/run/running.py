"""A run from its first entry, or from where somebody else left it, to its end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.journal import Noted
from kubectl_eksdoc.core.plan.drain.policy import DrainPolicy
from kubectl_eksdoc.core.plan.drain.result import DrainPlan
from kubectl_eksdoc.core.run.engine import Engine
from kubectl_eksdoc.core.run.limits import Limits
from kubectl_eksdoc.core.run.moments import Moment
from kubectl_eksdoc.core.run.replanning import Replanning
from kubectl_eksdoc.core.run.scribe import Scribe, aims_of
from kubectl_eksdoc.core.run.seen import Seen
from kubectl_eksdoc.core.run.standing import Standing
from kubectl_eksdoc.flows.ports import ClusterReader, DrainLock, Field
from kubectl_eksdoc.flows.run.draining import Clock, Draining, Ended, Wished
from kubectl_eksdoc.flows.run.journal import RunJournal
from kubectl_eksdoc.flows.run.resuming import engine_again


@dataclass(frozen=True, slots=True)
class Running:
    """What a run needs of the world. `listen` hears all that happens, `wish` says what the user wants now, `show`
    sees where it stands; `hooks`: which of `acts.BEFORE_WAVE` and `AFTER_WAVE` the field has a command for. The lock is
    held, and kept alive, by whoever made this."""

    field: Field
    journal: RunJournal
    lock: DrainLock
    clock: Clock
    listen: Callable[[Sequence[Moment]], object]
    wish: Callable[[], Wished] = Wished
    limits: Limits = Limits()
    show: Callable[[Standing], object] = lambda standing: None
    hooks: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Told:
    """What is noted of a new run: its id, the digest of its plan, the tool's version, who runs it on which host, and
    the words of a command line that plans it again."""

    run: str
    plan: str
    tool: str
    who: str
    host: str
    asked: tuple[str, ...]


def run_plan(cluster: Cluster, plan: DrainPlan, told: Told, running: Running) -> Ended:
    """Drain what the plan drains.

    Raises:
        as `Draining.to_the_end` and `RunJournal.begin`.
    """
    scribe = Scribe()
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
    )
    running.journal.begin(begun)
    return _drain(Engine(plan, Seen(cluster), running.limits, running.hooks), cluster, scribe, running)


def go_on(
    run: str, reader: ClusterReader, policy: DrainPolicy, running: Running, typed: Collection[str] = ()
) -> tuple[Cluster, Ended]:
    """Adopt a run that somebody began, and bring it to its end; the cluster, as it was read once the run was ours.

    Of the pods that `policy` names to be deleted past their budgets only those are whose UIDs were `typed` back, by
    their names: what has such a name by now may be another one.

    Raises:
        as `Draining.to_the_end` and `RunJournal.adopt`; ClusterError: it cannot be read.
    """
    journaled = running.journal.adopt(run, running.clock.now())
    scribe = Scribe(journaled.next_number)
    if journaled.paused or journaled.aborted:
        running.journal.write([scribe.note(Noted.RESUMED, running.clock.now())])
    cluster = reader.read(kinds.ALL)
    meant = frozenset(pod.key for pod in cluster.pods if pod.uid in typed)
    policy = replace(policy, delete_past_budget=policy.delete_past_budget & meant)
    engine = engine_again(cluster, journaled, policy, running.limits, running.hooks)
    return cluster, _drain(engine, cluster, scribe, running)


def _drain(engine: Engine, cluster: Cluster, scribe: Scribe, running: Running) -> Ended:
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
    )
    return made.to_the_end()
