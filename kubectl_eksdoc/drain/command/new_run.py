"""A new run: planned, checked and executed. The callers, a command or the screens, show the plan and ask for typed
confirmations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import NamedTuple

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import answers
from kubectl_eksdoc.cli.context import CommandContext
from kubectl_eksdoc.cli.parser import Parser, expand_bare_flags, positional_words
from kubectl_eksdoc.errors import Drifted, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.session.sources import Progress
from kubectl_eksdoc.wiring.runs import Hooks

from ..comparison import ORDER_FILE_OPTION
from ..plan_changes import check_drift, read_plan_of
from ..policy import DrainPolicy, Targeting
from ..read import plan_drain
from ..report.plan import option_args
from ..result import DrainPlan
from ..run.limits import RunLimits
from ..run.loop import DrainRunEnd
from ..run.runner import RunHeader, run_plan
from . import options as run_options
from . import plan as drain
from .invocation import RunAnnotations, RunInvocation, RunReference
from .plan import PlanRequest
from .stop_times import stop_times

COMMAND = "drain run"

PLAN_AGAIN = "Plan again, and read what it says now."


@frozen
class NewRun:
    """The request for a new run. `namespace`: of its journal."""

    plan_request: PlanRequest
    namespace: str
    limits: RunLimits
    hooks: Hooks = field(default_factory=Hooks)


@frozen
class PlannedCluster:
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
    requested_run: NewRun,
    context: CommandContext,
    progress: Progress | None = None,
    first_read: PlannedCluster | None = None,
) -> PlannedCluster:
    """Read the cluster and plan. `first_read`: what was read and shown; stop times of earlier runs are not read again.

    Raises:
        EksdocError: the cluster cannot be read, or a named object does not exist. Forbidden names the missing right.
    """
    plan = requested_run.plan_request
    with answers.explain_forbidden(COMMAND):
        waiting = run_options.outage_limits(requested_run.limits, context, answered=first_read is not None)
        reader = context.reader(progress, waiting)
        read_stop_times = stop_times(
            context.connection, requested_run.namespace, context, lambda said: context.note(f"note: {said}")
        )
        earlier_stop_times = read_stop_times if first_read is None else lambda _: first_read.cluster.stops
        return PlannedCluster(
            *plan_drain(reader, plan.targeting, plan.policy, context.options.identity, earlier_stop_times)
        )


def check_other_runs(
    requested_run: NewRun, context: CommandContext, run: str = ""
) -> Callable[[Cluster, DrainPlan], None]:
    """Return the check that refuses a plan while another run uses its nodes (`RunAnnotations.check`)."""
    return RunAnnotations(RunReference(requested_run.namespace), context).check(run)


def execute_run(
    requested_run: NewRun, planned_cluster: PlannedCluster, invocation: RunInvocation, context: CommandContext
) -> tuple[PlannedCluster, DrainRunEnd]:
    """Execute the run. Changes begin here: the plan is made again, under the lock, for the current cluster.

    Raises:
        Drifted: the plan differs from what was shown; nothing was done.
        as `RunInvocation.open` and `run_plan`.
    """
    with invocation.open() as edges:
        location = invocation.location
        second_read = read_and_plan(requested_run, context, first_read=planned_cluster)
        check_drift(read_plan_of(planned_cluster.plan), second_read.plan, "the plan was shown", PLAN_AGAIN)
        _check_typed(planned_cluster, second_read)
        arguments = (
            *option_arguments(requested_run.plan_request.options),
            *run_options.limit_arguments(requested_run.limits, requested_run.hooks),
        )
        header = RunHeader(location.run, digest(second_read), __version__, location.user, location.host, arguments)
        check = check_other_runs(requested_run, context, location.run)
        ended = run_plan(second_read.cluster, second_read.plan, header, invocation.environment(edges, check))
    return second_read, ended


def _check_typed(planned_cluster: PlannedCluster, second_read: PlannedCluster) -> None:
    """Compare pods to delete past their budgets with those whose names were typed.

    Raises:
        Drifted: another pod would be deleted past its budget, perhaps one that has the same name now.
    """
    typed = {eviction.pod.uid for eviction in planned_cluster.plan.past_budgets}
    unconfirmed = [eviction.pod.key for eviction in second_read.plan.past_budgets if eviction.pod.uid not in typed]
    if unconfirmed:
        message = f"{', '.join(unconfirmed)} would be deleted past its budget, and is not the pod whose name was typed"
        raise Drifted(message, f"Nothing was done. {PLAN_AGAIN}")


def digest(planned_cluster: PlannedCluster) -> str:
    """Return a digest of which pods are removed from which nodes, and how: plans with equal digests do the same."""
    import hashlib

    text = "\n".join(
        f"{each.node} {each.pod.uid} {each.eviction_mode.means.value}" for each in planned_cluster.plan.evictions
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# Recorded options: from a saved plan, or from the arguments in a journal.


COMPARISON_OPTIONS = ("since", "baseline")


def option_arguments(options: Mapping[str, object]) -> tuple[str, ...]:
    """Return a command line that makes the same plan on any machine: files are left out, because the journal has the
    node order."""
    return tuple(
        option_args(
            {key: value for key, value in options.items() if key not in (ORDER_FILE_OPTION, *COMPARISON_OPTIONS)}
        )
    )


class RecordedRunOptions(NamedTuple):
    """Options of an earlier command."""

    targeting: Targeting
    policy: DrainPolicy
    limits: RunLimits
    hooks: Hooks


def parse_recorded_options(arguments: Sequence[str], origin: str) -> RecordedRunOptions:
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
        args, extras = parser.parse_known_args(expand_bare_flags(arguments, parser.flags_without_value()))
        args.words = positional_words(extras, parser)
        targeting = drain.targeting_from(args)
        policy = drain.policy_from(args)
        return RecordedRunOptions(targeting, policy, run_options.limits_from(args), run_options.hooks_from(args))
    except UsageError as error:
        hint = "It was made by another version of this tool. Plan again with this one."
        raise UsageError(f"what {origin} was asked for is not understood: {error.message}", hint) from error


def saved_plan_options(options: Mapping[str, object], file: str) -> tuple[Targeting, DrainPolicy]:
    """Return targeting and policy of a saved plan, including the nodes of its order file. Raises: as
    `parse_recorded_options`."""
    targeting, policy, _, _ = parse_recorded_options(option_arguments(options), f"the plan {file}")
    if policy.assume_budgets or policy.assume_fixed:
        raise UsageError(f"the plan {file} assumes fixes that are not made (--assume-…): it cannot be run")
    order = options.get(ORDER_FILE_OPTION)
    if isinstance(order, list):
        policy = replace(policy, order_nodes=tuple(str(node) for node in order))
    return targeting, policy
