"""A run that is to be begun: planned, checked and carried out. Who shows the plan and asks for what must be typed is
somebody else: the command, or the screens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.cli.drain import PlanRequest
from kubectl_eksdoc.cli.run import options as run_options
from kubectl_eksdoc.cli.stop_times import stop_times
from kubectl_eksdoc.cli.surroundings import CommandContext
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.errors import Drifted
from kubectl_eksdoc.session.sources import Progress, SourceChoice
from kubectl_eksdoc.wiring.runs import Hooks

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.cli.run.carrying import RunInvocation
    from kubectl_eksdoc.drain.result import DrainPlan
    from kubectl_eksdoc.flows.run.draining import DrainRunEnd
    from kubectl_eksdoc.model.cluster import Cluster

COMMAND = "drain run"

PLAN_AGAIN = "Plan again, and read what it says now."


@dataclass(frozen=True, slots=True)
class NewRun:
    """What was asked for. `namespace`: of its journal."""

    plan: PlanRequest
    namespace: str
    limits: RunLimits
    hooks: Hooks = field(default_factory=Hooks)


@dataclass(frozen=True, slots=True)
class PlannedRead:
    """What was read, and the plan of it."""

    cluster: Cluster
    plan: DrainPlan

    @property
    def nodes(self) -> int:
        """So many are drained."""
        return sum(target.order > 0 for target in self.plan.targets)

    @property
    def past_budgets(self) -> tuple[str, ...]:
        """The pods (ns/name) that are deleted past their budgets: each must be typed back."""
        return tuple(eviction.pod.key for eviction in self.plan.past_budgets)


def read_and_plan(
    wanted: NewRun, around: CommandContext, progress: Progress | None = None, before: PlannedRead | None = None
) -> PlannedRead:
    """`before`: what was read and shown; how long pods took to stop in earlier runs is not read again.

    Raises:
        EksdocError: the cluster cannot be read, or what was named is not there. Forbidden says what to ask for.
    """
    from kubectl_eksdoc.flows.drain import plan_drain

    options, plan = wanted.plan.options, wanted.plan
    with rights.explaining(COMMAND):
        waiting = run_options.waiting(wanted.limits, around, answered=before is not None)
        reader = around.open_reader(SourceChoice(), options.connection, progress, waiting)
        known = stop_times(options.connection, wanted.namespace, around, lambda said: around.note(f"note: {said}"))
        stops = known if before is None else lambda _: before.cluster.stops
        return PlannedRead(*plan_drain(reader, plan.targeting, plan.policy, options.identity, stops))


def check_others(wanted: NewRun, around: CommandContext, run: str = "") -> Callable[[Cluster, DrainPlan], None]:
    """What refuses a plan while another run than ours has to do with its nodes (`RunAnnotations.check`)."""
    from kubectl_eksdoc.cli.run.noted import RunAnnotations
    from kubectl_eksdoc.cli.run.request import RunRequest

    return RunAnnotations(RunRequest(wanted.plan.options, wanted.namespace), around).check(run)


def carried_out(
    wanted: NewRun, read: PlannedRead, carrying: RunInvocation, around: CommandContext
) -> tuple[PlannedRead, DrainRunEnd]:
    """From here on things are changed: the plan is made once more, under the lock, of the cluster as it is now.

    Raises:
        Drifted: it is not any more what was shown; nothing was done.
        as `RunInvocation.open` and `run_plan`.
    """
    from kubectl_eksdoc.cli.run.again import words_of
    from kubectl_eksdoc.drain.comparison.changes import check_drift, promise_of
    from kubectl_eksdoc.flows.run.running import RunHeader, run_plan

    with carrying.open() as world:
        keeping = carrying.keeping
        fresh = read_and_plan(wanted, around, before=read)
        check_drift(promise_of(read.plan), fresh.plan, "the plan was shown", PLAN_AGAIN)
        _check_typed(read, fresh)
        asked = (*words_of(wanted.plan.given), *run_options.words_of(wanted.limits, wanted.hooks))
        told = RunHeader(keeping.run, digest(fresh), __version__, keeping.who, keeping.host, asked)
        checked = check_others(wanted, around, keeping.run)
        ended = run_plan(fresh.cluster, fresh.plan, told, carrying.running(world, checked))
    return fresh, ended


def _check_typed(read: PlannedRead, fresh: PlannedRead) -> None:
    """
    Raises:
        Drifted: a pod would be deleted past its budget that was not typed back, be it one that has the name by now.
    """
    typed = {eviction.pod.uid for eviction in read.plan.past_budgets}
    others = [eviction.pod.key for eviction in fresh.plan.past_budgets if eviction.pod.uid not in typed]
    if others:
        what = f"{', '.join(others)} would be deleted past its budget, and is not the pod whose name was typed"
        raise Drifted(what, f"Nothing was done. {PLAN_AGAIN}")


def digest(read: PlannedRead) -> str:
    """Of what goes from where, and how: two plans with the same one do the same."""
    import hashlib

    text = "\n".join(f"{each.node} {each.pod.uid} {each.manner.means.value}" for each in read.plan.evictions)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
