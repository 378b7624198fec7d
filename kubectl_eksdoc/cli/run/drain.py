"""``kubectl eksdoc drain run``: the plan, what must be typed, and then the drain until its end."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import drain_options, exits, rights
from kubectl_eksdoc.cli.drain import PlanRequest, exit_code, tell
from kubectl_eksdoc.cli.options import LEVELS, GlobalOptions, SourceOptions
from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.cli.progress import ProgressLine
from kubectl_eksdoc.cli.run import confirming
from kubectl_eksdoc.cli.run import options as run_options
from kubectl_eksdoc.cli.run.allowed import check_allowed
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.core.plan.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.errors import Drifted, Forbidden, UsageError
from kubectl_eksdoc.wiring.runs import Hooks
from kubectl_eksdoc.wiring.sources import SourceChoice

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.core.model.baseline import Baseline
    from kubectl_eksdoc.core.model.cluster import Cluster
    from kubectl_eksdoc.core.plan.drain.result import DrainPlan
    from kubectl_eksdoc.core.run.limits import Limits
    from kubectl_eksdoc.render.drain import DrainView
    from kubectl_eksdoc.render.look import Look

COMMAND = "drain run"

_ABOUT = """\
Drain nodes of the live cluster by the plan that "drain plan" makes: the plan is shown, you type the cluster's name and
the number of nodes, and then pods are evicted as fast as their PodDisruptionBudgets allow it. Nothing is deleted past
its budget unless --delete-past-budget names that pod and you type its name back, too. Every step is written
down before it is done, on this machine and in the cluster, so that any machine can go on or take the cordons back.
The first Ctrl-C stops it and waits for what is under way, the second leaves at once.

Examples:
  %(prog)s --nodegroup blue
  %(prog)s --nodegroup blue --max-unavailable 3 --stop-pending 5m
  %(prog)s --plan read.json                 as saved by: drain plan … -o json > read.json
  %(prog)s --nodegroup blue --dry-run
  %(prog)s --nodegroup blue --yes --expect-nodes 12 -o json
"""

_EXIT_CODES = """\
Exit codes: 0 every node is empty, 1 some were left out by the plan, 5 something was unknown, 6 it stopped before its
end or a node was not emptied (resume or roll back), 7 the cluster is not as in the plan that was read; 2 usage, 3
cluster.
Global flags: kubectl eksdoc options
"""

_AGAIN = "Plan again, and read what it says now."

_PROVES_LITTLE = (
    "a dry run evicts nothing, so it does not show how budgets, replacements and the scheduler react: "
    "kubectl eksdoc rehearse tries that on a simulated cluster"
)


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "run",
        help="drain nodes: shown first, typed back, written down, and stopped by its guards",
        usage="%(prog)s [NODE…] [flags]",
        description=_ABOUT,
        epilog=_EXIT_CODES,
    )
    GlobalOptions.add_to(parser, level=LEVELS - 1)
    drain_options.add_targeting(parser)
    parser.add_argument_group("A plan that was read before").add_argument(
        "--plan",
        default=None,
        metavar="FILE",
        help="run the plan saved with -o json > FILE, or do nothing (exit code 7) if the cluster is not as it was",
    )
    run_options.add_confirmation(parser)
    run_options.add_limits(parser)
    run_options.add_between_waves(parser)
    run_options.add_journal(parser)
    drain_options.add_policy(parser, runs=True)
    run_options.add_dry_run(parser)
    parser.set_defaults(leaf=parser, command=run_drain, baseline=None)


@dataclass(frozen=True, slots=True)
class _Request:
    """`read` is the saved plan, None where there is none."""

    plan: PlanRequest
    given: confirming.Given
    namespace: str
    limits: Limits
    hooks: Hooks
    dry: str
    read: Baseline | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read, and the plan of it."""

    cluster: Cluster
    plan: DrainPlan

    @property
    def nodes(self) -> int:
        """So many are drained."""
        return sum(target.order > 0 for target in self.plan.targets)


def run_drain(args: argparse.Namespace, words: Sequence[str], around: Surroundings) -> Answer:
    """What came of it, in the format asked for; its events are told before.

    Raises:
        EksdocError: the command line, the cluster or the run is at fault; the error says which.
    """
    from kubectl_eksdoc.render.run.formats import FORMATS

    request = _request(args, words, around)
    FORMATS.check(request.plan.options.output)
    if not request.dry:
        confirming.check_writable(around.environ, COMMAND)
    read = _planned(request, around)
    if request.read is not None:
        _check_saved(request.read, read)
    if request.dry:
        return _dry(request, read, around)
    _show(request, read, around)
    _others(request, around)(read.cluster, read.plan)
    if not read.nodes:
        around.note("nothing is drained: no node of the plan can be")
        return Answer("", exit_code(read.plan))
    evicts_in = (each.pod.namespace for each in read.plan.evictions)
    check_allowed(COMMAND, request.plan.options.connection, request.namespace, evicts_in, around)
    also = [eviction.pod.key for eviction in read.plan.past_budgets]
    confirming.confirm(read.cluster.identity, read.nodes, "drain", request.given, around.ask, also)
    return _carried_out(request, read, around)


def _request(args: argparse.Namespace, words: Sequence[str], around: Surroundings) -> _Request:
    """
    Raises:
        UsageError: no nodes are named or selected, or what was given does not fit together.
    """
    SourceOptions.check_live(args)
    saved = None
    if args.plan is not None:
        if not args.plan:
            raise UsageError("--plan needs the path of a plan that was saved with -o json")
        if not drain_options.targeting_from(args, words).empty:
            raise UsageError("--plan says which nodes: no others can be named or selected with it")
        if drain_options.policy_from(args) != DrainPolicy():
            raise UsageError("--plan says what may be done: flags of the plan do not go with it")
        saved = around.read_baseline(args.plan)
        plan = PlanRequest(GlobalOptions.from_args(args), SourceChoice(), *_of(saved))
    else:
        plan = PlanRequest.from_args(args, words)
    dry = run_options.dry_from(args)
    given, namespace = run_options.given_from(args), run_options.namespace_from(args)
    return _Request(plan, given, namespace, run_options.limits_from(args), run_options.hooks_from(args), dry, saved)


def _of(saved: Baseline) -> tuple[Targeting, DrainPolicy]:
    from kubectl_eksdoc.cli.run.again import of_saved

    return of_saved(saved.options, saved.file)


def _planned(request: _Request, around: Surroundings) -> _Read:
    from kubectl_eksdoc.cli import look as looks
    from kubectl_eksdoc.render.identity import identity_line

    options = request.plan.options
    try:
        read = _read(request, around)
    except Forbidden as error:
        raise rights.explained(error, COMMAND) from error
    around.note(identity_line(read.cluster, around.now(), looks.decide(options, around.stderr, around.environ)))
    tell((*request.plan.notes, *drain_options.idle(read.plan)), around)
    return read


def _read(request: _Request, around: Surroundings) -> _Read:
    from kubectl_eksdoc.core.model.cluster import Identity
    from kubectl_eksdoc.flows.drain import plan_drain

    options, plan = request.plan.options, request.plan
    given = Identity(cluster=options.cluster_name, region=options.region)
    with ProgressLine(around.stderr) as progress:
        reader = around.open_reader(SourceChoice(), options.connection, progress)
        return _Read(*plan_drain(reader, plan.targeting, plan.policy, given))


def _check_saved(saved: Baseline, read: _Read) -> None:
    from kubectl_eksdoc.core.plan.drain.comparison.drift import check_drift
    from kubectl_eksdoc.core.plan.drain.comparison.same_cluster import Sameness, kinship

    akin = kinship(saved, read.cluster)
    if akin.sameness is not Sameness.SAME:
        what = "is of another cluster" if akin.sameness is Sameness.OTHER else "may be of another cluster"
        raise Drifted(f"the plan {saved.file} {what}: {akin.why}", "Nothing was done. Plan for this cluster.")
    assert saved.promise is not None, "a saved plan has what it promises"
    check_drift(saved.promise, read.plan, f"the plan {saved.file} was saved", _AGAIN)


def _check_typed(read: _Read, fresh: _Read) -> None:
    """
    Raises:
        Drifted: a pod would be deleted past its budget that was not typed back, be it one that has the name by now.
    """
    typed = {eviction.pod.uid for eviction in read.plan.past_budgets}
    others = [eviction.pod.key for eviction in fresh.plan.past_budgets if eviction.pod.uid not in typed]
    if others:
        what = f"{', '.join(others)} would be deleted past its budget, and is not the pod whose name was typed back"
        raise Drifted(what, f"Nothing was done. {_AGAIN}")


def _show(request: _Request, read: _Read, around: Surroundings) -> None:
    """The plan, before anything is asked; it is no answer, so it goes to stderr."""
    from kubectl_eksdoc.cli import look as looks
    from kubectl_eksdoc.cli.streams import say

    look = looks.decide(request.plan.options, around.stderr, around.environ)
    say(around.stderr, f"{_page(request, read, look)}\n")


def _page(request: _Request, read: _Read, look: Look) -> str:
    from kubectl_eksdoc.render.drain.table import preview

    return preview(_view(request, read), look, request.plan.options.output == "wide")


def _view(request: _Request, read: _Read) -> DrainView:
    from kubectl_eksdoc.cli import reaching
    from kubectl_eksdoc.core.run.baking import bake_of
    from kubectl_eksdoc.render.drain import DrainView

    reached_by = reaching.words(SourceChoice(), request.plan.options, read.cluster.identity.context)
    bake = bake_of(read.plan, request.limits.bake_s)
    return DrainView(read.plan, read.cluster, _as_given(request), reached_by=reached_by, bake=bake)


def _as_given(request: _Request) -> dict[str, object]:
    from kubectl_eksdoc.render.drain.given import as_given

    plan = request.plan
    return as_given(plan.targeting, plan.policy, "", plan.order_file)


def _dry(request: _Request, read: _Read, around: Surroundings) -> Answer:
    from kubectl_eksdoc.cli import look as looks
    from kubectl_eksdoc.render.drain import render

    options = request.plan.options
    look = looks.decide(options, around.stdout, around.environ)
    on_screen = options.output in ("table", "wide")
    text = _page(request, read, look) if on_screen else render(_view(request, read), options.output, look)
    refused = request.dry == "server" and _server_refuses(options, read, around)
    tell((_PROVES_LITTLE,), around)
    return Answer(text, exits.FAILS if refused else exit_code(read.plan))


def _server_refuses(options: GlobalOptions, read: _Read, around: Surroundings) -> bool:
    """Anything of the first round; all of it is told."""
    from kubectl_eksdoc.flows.run.trying import try_first

    tried = try_first(read.plan, around.edges.open_trial(options.connection))
    for each in tried.refused:
        around.note(f"the server would refuse {each.subject}: {each.why}")
    accepted = tried.asked - len(tried.refused)
    around.note(
        f"the server would do {accepted} of {tried.asked} cordons and first evictions, each asked for by itself"
    )
    return bool(tried.refused)


def _others(request: _Request, around: Surroundings, run: str = "") -> Callable[[Cluster, DrainPlan], None]:
    """What refuses a plan while another run than ours has to do with its nodes."""
    from kubectl_eksdoc.cli.run.noted import Noted

    return Noted(request.plan.options, request.namespace, around).check(run)


def _carried_out(request: _Request, read: _Read, around: Surroundings) -> Answer:
    """From here on things are changed: the plan is made once more, under the lock, of the cluster as it is now."""
    from kubectl_eksdoc import __version__
    from kubectl_eksdoc.cli.run.again import words_of
    from kubectl_eksdoc.cli.run.carrying import Carrying
    from kubectl_eksdoc.core.plan.drain.comparison.drift import check_drift, promise_of
    from kubectl_eksdoc.flows.run.running import Told, run_plan

    edges, options = around.edges, request.plan.options
    run = edges.new_run_id(around.now())
    keeping = edges.keeping(run, request.namespace, around.environ)
    carrying = Carrying(COMMAND, around, options, keeping, request.hooks)
    with carrying.open() as world:
        fresh = _read(request, around)
        check_drift(promise_of(read.plan), fresh.plan, "the plan was shown", _AGAIN)
        _check_typed(read, fresh)
        asked = (*words_of(_as_given(request)), *run_options.words_of(request.limits, request.hooks))
        told = Told(run, digest(fresh), __version__, keeping.who, keeping.host, asked)
        ended = run_plan(
            fresh.cluster, fresh.plan, told, carrying.running(world, request.limits, _others(request, around, run))
        )
    return carrying.answer(fresh.cluster, ended, _as_given(request), request.limits)


def digest(read: _Read) -> str:
    """Of what goes from where, and how: two plans with the same one do the same."""
    import hashlib

    text = "\n".join(f"{each.node} {each.pod.uid} {each.manner.means.value}" for each in read.plan.evictions)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
