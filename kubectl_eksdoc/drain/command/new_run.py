"""A new run: planned, checked and executed. The callers, a command or the screens, show the plan and ask for typed
confirmations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import NamedTuple

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import opening
from kubectl_eksdoc.cli.context import CommandContext
from kubectl_eksdoc.cli.parser import Parser, spelled_out, strays
from kubectl_eksdoc.errors import Drifted, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.session.sources import Progress
from kubectl_eksdoc.wiring.runs import Hooks

from ..comparison import ORDER
from ..plan_changes import check_drift, promise_of
from ..policy import DrainPolicy, Targeting
from ..read import plan_drain
from ..report.plan import option_words
from ..result import DrainPlan
from ..run.limits import RunLimits
from ..run.loop import DrainRunEnd
from ..run.runner import RunHeader, run_plan
from . import options as run_options
from . import plan as drain
from .invocation import RunAnnotations, RunInvocation, RunRequest
from .plan import PlanRequest
from .stop_times import stop_times

COMMAND = "drain run"

PLAN_AGAIN = "Plan again, and read what it says now."


@frozen
class NewRun:
    """The request for a new run. `namespace`: of its journal."""

    plan: PlanRequest
    namespace: str
    limits: RunLimits
    hooks: Hooks = field(default_factory=Hooks)


@frozen
class PlannedRead:
    """A cluster as it was read, and its plan."""

    cluster: Cluster
    plan: DrainPlan

    @property
    def nodes(self) -> int:
        """Number of nodes to drain."""
        return sum(target.order > 0 for target in self.plan.targets)

    @property
    def past_budgets(self) -> tuple[str, ...]:
        """The pods (ns/name) that are deleted past their budgets: each name must be typed."""
        return tuple(eviction.pod.key for eviction in self.plan.past_budgets)


def read_and_plan(
    wanted: NewRun, around: CommandContext, progress: Progress | None = None, before: PlannedRead | None = None
) -> PlannedRead:
    """Read the cluster and plan. `first_read`: what was read and shown; stop times of earlier runs are not read again.

    Raises:
        EksdocError: the cluster cannot be read, or a named object does not exist. Forbidden names the missing right.
    """
    plan = wanted.plan
    with opening.explaining(COMMAND):
        waiting = run_options.waiting(wanted.limits, around, answered=before is not None)
        reader = around.reader(progress, waiting)
        known = stop_times(around.connection, wanted.namespace, around, lambda said: around.note(f"note: {said}"))
        stops = known if before is None else lambda _: before.cluster.stops
        return PlannedRead(*plan_drain(reader, plan.targeting, plan.policy, around.options.identity, stops))


def check_others(wanted: NewRun, around: CommandContext, run: str = "") -> Callable[[Cluster, DrainPlan], None]:
    """Return the check that refuses a plan while another run uses its nodes (`RunAnnotations.check`)."""
    return RunAnnotations(RunRequest(wanted.namespace), around).check(run)


def carried_out(
    wanted: NewRun, read: PlannedRead, carrying: RunInvocation, around: CommandContext
) -> tuple[PlannedRead, DrainRunEnd]:
    """Execute the run. Changes begin here: the plan is made again, under the lock, for the current cluster.

    Raises:
        Drifted: the plan differs from what was shown; nothing was done.
        as `RunInvocation.open` and `run_plan`.
    """
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
    """Compare pods to delete past their budgets with those whose names were typed.

    Raises:
        Drifted: another pod would be deleted past its budget, perhaps one that has the same name now.
    """
    typed = {eviction.pod.uid for eviction in read.plan.past_budgets}
    others = [eviction.pod.key for eviction in fresh.plan.past_budgets if eviction.pod.uid not in typed]
    if others:
        what = f"{', '.join(others)} would be deleted past its budget, and is not the pod whose name was typed"
        raise Drifted(what, f"Nothing was done. {PLAN_AGAIN}")


def digest(read: PlannedRead) -> str:
    """Return a digest of which pods are removed from which nodes, and how: plans with equal digests do the same."""
    import hashlib

    text = "\n".join(f"{each.node} {each.pod.uid} {each.manner.means.value}" for each in read.plan.evictions)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# Recorded options: from a saved plan, or from the arguments in a journal.


BESIDE = ("since", "baseline")


def words_of(options: Mapping[str, object]) -> tuple[str, ...]:
    """Return a command line that makes the same plan on any machine: files are left out, because the journal has the
    node order."""
    return tuple(option_words({key: value for key, value in options.items() if key not in (ORDER, *BESIDE)}))


class RecordedRunOptions(NamedTuple):
    """Options of an earlier command."""

    targeting: Targeting
    policy: DrainPolicy
    limits: RunLimits
    hooks: Hooks


def asked_again(words: Sequence[str], whose: str) -> RecordedRunOptions:
    """Parse recorded arguments; `origin` names their origin in the error.

    Raises:
        UsageError: another version wrote them.
    """
    parser = Parser(prog="drain plan")
    parser.set_defaults(leaf=parser)
    drain.add_targeting(parser)
    drain.add_policy(parser)
    run_options.add_limits(parser)
    run_options.add_between_waves(parser)
    try:
        args, extras = parser.parse_known_args(spelled_out(words, parser.bare()))
        args.words = strays(extras, parser)
        targeting = drain.targeting_from(args)
        policy = drain.policy_from(args)
        return RecordedRunOptions(targeting, policy, run_options.limits_from(args), run_options.hooks_from(args))
    except UsageError as error:
        hint = "It was made by another version of this tool. Plan again with this one."
        raise UsageError(f"what {whose} was asked for is not understood: {error.message}", hint) from error


def of_saved(options: Mapping[str, object], file: str) -> tuple[Targeting, DrainPolicy]:
    """Return targeting and policy of a saved plan, including the nodes of its order file. Raises: as
    `parse_recorded_options`."""
    targeting, policy, _, _ = asked_again(words_of(options), f"the plan {file}")
    if policy.assume_budgets or policy.assume_fixed:
        raise UsageError(f"the plan {file} assumes fixes that are not made (--assume-…): it cannot be run")
    order = options.get(ORDER)
    if isinstance(order, list):
        policy = replace(policy, order_nodes=tuple(str(node) for node in order))
    return targeting, policy
