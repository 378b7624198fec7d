"""Invocation of a run by this process: its inputs, its output, and its advice after an error.

Also shared by the commands that manage runs: which cluster, namespace, and run.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial

from kubectl_eksdoc.cli import answers, rights, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import check_source_live
from kubectl_eksdoc.cli.rights import Right
from kubectl_eksdoc.errors import (
    ClusterError,
    Forbidden,
    JournalError,
    JournalGone,
    LocalJournalError,
    Locked,
    Stopped,
    UsageError,
)
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds, permissions
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.journal import LockState, RunPhase, RunSummary, is_run_id
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.permissions import Permission
from kubectl_eksdoc.ports import ClusterReader, RunStore
from kubectl_eksdoc.session.sources import Progress
from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE, Hooks, JournalLocation, add_events, events_file

from ..report.record import DrainResultView
from ..report.run import RunReport
from ..result import DrainPlan
from ..run.apply import RunEdges
from ..run.journals import FoundRun, blocking_runs, found_runs
from ..run.limits import RunLimits
from ..run.loop import DrainRunEnd
from ..run.result import noted_runs
from ..run.runner import RunEnvironment
from ..run.stall_timeouts import soak_time
from . import options as run_options
from .live_run import OpenDisplay, RecordingDisplay, RunDisplay, RunOutput
from .options import NAMESPACE_FLAG
from .plan import exit_code

LIST_HINT = "kubectl eksdoc drain status lists the runs of this cluster."


@frozen
class RunReference:
    """`run`: a run id, "" if the only matching run is meant."""

    namespace: str
    run: str = ""

    @staticmethod
    def from_args(args: argparse.Namespace, context: CommandContext) -> RunReference:
        """Return the run that the arguments name.

        Raises:
            UsageError: more than one run is named, or another source than the live cluster.
        """
        check_source_live(context)
        if len(args.words) > 1:
            raise UsageError(f"one run at a time, and {args.words[1]!r} is a second one", LIST_HINT)
        run = args.words[0] if args.words else ""
        return RunReference(run_options.namespace_from(args), run)

    def journal_location(self, context: CommandContext, run: str = "") -> JournalLocation:
        return context.edges.journal_location(run, self.namespace, context.environ)

    def runs(self, context: CommandContext) -> RunStore:
        return context.edges.open_runs(context.connection, self.journal_location(context))

    def reader(self, context: CommandContext, limits: RunLimits, progress: Progress | None = None) -> ClusterReader:
        """Return a cluster reader for a run with these limits."""
        return context.reader(progress, run_options.outage_limits(limits, context))

    def nodes(self, context: CommandContext) -> Cluster:
        """Read only the nodes of the cluster."""
        return context.reader().read((kinds.NODES,))


def readable_lock(runs: RunStore) -> tuple[LockState | None, tuple[str, ...]]:
    """Return the lock, and notes; None if it must not be read: then the leader is unknown, and a note says so."""
    try:
        return runs.lock(), ()
    except Forbidden as error:
        return None, (f"whether a process leads a run is unknown: {error.message} (missing right: {error.missing})",)


def active_runs(runs: Iterable[RunSummary]) -> list[RunSummary]:
    return [run for run in runs if run.phase != RunPhase.ENDED.value]


def select_run(runs: Sequence[RunSummary], name: str, candidates: Sequence[RunSummary], state_text: str) -> RunSummary:
    """Return the run called `name`, or the only one of `candidates`. `state_text` describes these for errors (``under
    way``).

    Raises:
        UsageError: there is none, or more than one.
    """
    if name:
        named_run = next((run for run in runs if run.run == name), None)
        if named_run is None:
            hint = LIST_HINT
            if is_run_id(name):
                # Its Job may exist and wait for a node or an image: a run cannot be paused before its pod starts it.
                jobs_command = shell("kubectl", "get", "jobs,pods", "-A", "-l", f"app.kubernetes.io/instance={name}")
                hint += (
                    "\nOne of --in-cluster is there once its Job's pod has begun it; until then only deleting the Job "
                    f"ends it: {jobs_command}"
                )
            raise UsageError(f"there is no run {name}", hint)
        return named_run
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        raise UsageError(f"no run is {state_text}", LIST_HINT)
    names = ", ".join(run.run for run in candidates)
    raise UsageError(f"{len(candidates)} runs are {state_text}: {names}", "Name the one you mean.")


def target_arguments(command_context: CommandContext, namespace: str, context: str = "") -> tuple[str, ...]:
    """Return the command-line arguments that select the same cluster and the namespace of its runs."""
    arguments = answers.target_flags(command_context, context)
    return arguments if namespace == JOURNAL_NAMESPACE else (*arguments, NAMESPACE_FLAG, namespace)


@dataclass(eq=False)
class RunInvocation:
    """`command`: the command as typed (``drain run``); `options`: its options by the names of flags; `resumed`: the run
    was started before. `open_display` opens the display of the run, None for lines on the streams of the process.
    Mutable: it records when the run started."""

    command: str
    context: CommandContext
    location: JournalLocation
    hooks: Hooks
    options: Mapping[str, object]
    limits: RunLimits
    resumed: bool = False
    open_display: OpenDisplay | None = None

    def __post_init__(self) -> None:
        self._started_at = self.context.now()
        self._display: RunDisplay | None = None
        self._edges: RunEdges | None = None
        self._error_end: tuple[Cluster, DrainRunEnd] | None = None
        self._is_end_recorded = False  # whether the end of the run is recorded for a replay
        self._record_error = ""  # why no more events are recorded for a replay
        self.earlier_request = ("", "")
        """The phase that was requested before this process led the run: it holds until another one is requested."""

    @contextmanager
    def open(self, wait_s: float = 0.0) -> Iterator[RunEdges]:
        """Open the run; the lock is held meanwhile. `wait_s`: how long to wait for a lock that another client holds.

        Raises:
            as `drain.run.apply.open_run`; an error within has a hint how to continue.
        """
        context, location, edges = self.context, self.location, self.context.edges
        open_display = self.open_display or partial(RunOutput, context, location.run)
        try:
            with (
                edges.stop_requests() as stop_count,
                edges.open_run(context.connection, location, wait_s, self.hooks) as run_edges,
                open_display(stop_count, lambda: self._requested_phase(run_edges)) as display,
            ):
                self._display = RecordingDisplay(display, location.run, context.now, self._record)
                self._started_at, self._edges = context.now(), run_edges
                context.note(f"run {location.run}, journal in namespace {location.namespace}")
                yield run_edges
        except Stopped as error:
            error.hint = "\n".join(filter(None, (error.hint, self._advice(error))))
            raise
        except ClusterError as error:
            explained = rights.explain_forbidden(error, self.command) if isinstance(error, Forbidden) else error
            if self._has_started:  # it was running, so it has stopped before its end
                raise Stopped(
                    explained.message, "\n".join(filter(None, (explained.hint, self._advice(None))))
                ) from error
            raise explained from (error if explained is not error else error.__cause__)
        except KeyboardInterrupt:
            state_text = "was left in the middle" if self._has_started else "was not begun"
            context.note(f"run {location.run} {state_text}. {self._advice(None)}")
            raise

    def _record(self, text: str) -> None:
        """Record events for a replay. The run continues if they cannot be written: this is reported once."""
        if not text or self._record_error or self.command == "drain rollback":
            return
        try:
            add_events(self.location, text)
        except JournalError as error:
            self._record_error = error.message
            self.context.note(f"the events of this run are not kept for a replay: {error.message}")

    def _requested_phase(self, edges: RunEdges) -> tuple[str, str]:
        request = edges.requested_phase()
        return request if request[0] else self.earlier_request

    def environment(
        self,
        edges: RunEdges,
        check: Callable[[Cluster, DrainPlan], object] = lambda cluster, plan: None,
    ) -> RunEnvironment:
        assert self._display is not None, "it is open"
        display, hooks = self._display, frozenset(self.hooks.commands)
        backend, journal, lock, clock = edges.backend, edges.journal, edges.lock, edges.clock
        callbacks = display.listen, display.current_request, self.limits, display.show
        return RunEnvironment(backend, journal, lock, clock, *callbacks, hooks, check, display.explain, self._save_end)

    def _save_end(self, cluster: Cluster, ended: DrainRunEnd) -> None:
        self._error_end = cluster, ended

    @contextmanager
    def adding_result_to_errors(self) -> Iterator[None]:
        """Add the result until then to an error that ends the run."""
        try:
            yield
        except Stopped as error:
            if self._error_end is not None:
                error.partial_answer = self.answer(*self._error_end).text
            raise

    def answer(self, cluster: Cluster, ended: DrainRunEnd) -> CommandAnswer:
        """Return the answer of the command."""
        text = answers.render_report(self.report(cluster, ended), self.context)
        blank = "\n" if self.context.options.output in ("table", "wide") else ""
        plan = ended.record.plan
        code = streams.STOPPED if not ended.is_complete else streams.FAILS if ended.record.unready else exit_code(plan)
        return CommandAnswer(blank + text, code)

    def report(self, cluster: Cluster, ended: DrainRunEnd) -> RunReport:
        context, location = self.context, self.location
        report = RunReport(
            location.run,
            DrainResultView(ended.record, cluster, self.options, soak=soak_time(ended.record.plan, self.limits.soak_s)),
            self._started_at,
            context.now(),
            location.user,
            location.host,
            ended.stop_reason,
            self.resumed,
            target_arguments(context, location.namespace, cluster.identity.context),
        )
        if not self._is_end_recorded:
            self._is_end_recorded = True
            self._record(report.render("json", answers.appearance_for(context)))
        return report

    @property
    def recorded_in(self) -> str:
        """The file with the recorded events; "" if it could not be written."""
        return "" if self._record_error else events_file(self.location)

    @property
    def _has_started(self) -> bool:
        """Whether the run exists, and may have changed something."""
        return self._edges is not None and self._edges.journal.is_started

    def _advice(self, error: Stopped | None) -> str:
        """Return what helps after `error`; None: the user interrupted."""
        if isinstance(error, JournalGone):
            # The namespace of its journal may be gone: a run without a journal can be rolled back from anywhere.
            command = self._command_line("rollback", JOURNAL_NAMESPACE)
            return f"Take back what it did, by the notes on its nodes: {command}"
        if not self._has_started and self.command == "drain run":
            return "Nothing was changed: fix that, and run it again."
        command = self._command_line("rollback" if self.command == "drain rollback" else "resume")
        if isinstance(error, LocalJournalError):
            return f"On another machine, or here with XDG_STATE_HOME set to another folder, go on: {command}"
        return f"Go on: {command}"

    def _command_line(self, verb: str, namespace: str = "") -> str:
        arguments = target_arguments(self.context, namespace or self.location.namespace)
        return shlex.join(["kubectl", "eksdoc", "drain", verb, self.location.run, *arguments])


# Runs by the notes on nodes: which ones block a drain, whose journal is gone, and what to do.


NOT_KNOWN = (
    "Not known: which pods it evicted or deleted, which workloads it restarted, whether another "
    "client uncordoned a node of it and cordoned it again since. Nodes whose annotations were "
    "removed are not found."
)
"""What is unknown about a run without a journal."""


class RunAnnotations:
    """Reads the notes of runs on nodes. `request`: its namespace is the default for journals."""

    def __init__(self, request: RunReference, context: CommandContext) -> None:
        self._context = context
        self._namespace = request.namespace
        self._runs_in = cache(lambda namespace: RunReference(namespace).runs(context))

    def check(self, own_run: str) -> Callable[[Cluster, DrainPlan], None]:
        """Return a check that refuses a plan while another run than `own_run` has not ended.

        It raises:
            Locked: it names the run, its journal, and the possible commands.
        """

        def checked(cluster: Cluster, plan: DrainPlan) -> None:
            for found_run in blocking_runs(cluster, plan, own_run, self._namespace, self._runs_in):
                remedy = (
                    f"Nothing was done. Take back what it did to nodes first: {self.command('rollback', found_run)}"
                )
                if not found_run.gone:
                    lines = ["Nothing was done. One drain at a time: check it, resume it or roll it back."]
                    lines += [f"    {self.command(verb, found_run)}" for verb in ("status", "resume", "rollback")]
                    remedy = "\n".join(lines)
                raise Locked(self._lock_reason(found_run), remedy)

        return checked

    def runs_on(self, nodes: tuple[Node, ...], name: str = "") -> tuple[FoundRun, ...]:
        """Return all runs that these nodes name, or the one called `name`."""
        noted_list = [each for each in noted_runs(nodes) if name in ("", each.run)]
        return found_runs(noted_list, self._namespace, self._runs_in)

    def other_namespace_error(self, found_run: FoundRun, verb: str) -> UsageError:
        """Return the error that the journal is in another namespace."""
        return UsageError(
            f"the journal of run {found_run.run} is in namespace {found_run.namespace}, not in {self._namespace}",
            f"{self.command(verb, found_run)}",
        )

    def command(self, verb: str, found_run: FoundRun) -> str:
        """Return a command such as ``kubectl eksdoc drain rollback RUN`` for a shell. A run without a journal can be
        rolled back from anywhere, because the namespace of its journal may be gone, too."""
        namespace = JOURNAL_NAMESPACE if found_run.gone else found_run.namespace
        return shlex.join(
            ["kubectl", "eksdoc", "drain", verb, found_run.run, *target_arguments(self._context, namespace)]
        )

    def _lock_reason(self, found_run: FoundRun) -> str:
        nodes = found_run.noted_run.nodes
        nodes_text = (
            f"node {nodes[0]} carries" if len(nodes) == 1 else f"{nodes[0]} and {len(nodes) - 1} more nodes carry"
        )
        if found_run.read_error:
            reason = f"whether it is over is unknown: its journal in namespace {found_run.namespace} cannot be read"
            return f"{nodes_text} the notes of run {found_run.run}, and {reason} ({found_run.read_error})"
        if found_run.gone:
            reason = f"its journal is not in namespace {found_run.namespace} any more: it is unknown whether it is over"
            return f"{nodes_text} the notes of run {found_run.run}, and {reason}"
        journal_text = f"journal in namespace {found_run.namespace}; {nodes_text} its notes"
        if found_run.has_leader and found_run.listed_run is not None:
            return (
                f"another drain is under way: run {found_run.run}, led by {found_run.listed_run.leader}, {journal_text}"
            )
        return f"run {found_run.run} is not over, and no process leads it; {journal_text}"


# Permission checks before a command starts: a run that fails halfway is worse than none.


def check_permissions(
    command: str,
    journal: str,
    context: CommandContext,
    plan: DrainPlan | None = None,
) -> None:
    """`journal`: the namespace of the runs' journal; `plan`: the plan to execute.

    Raises:
        Forbidden: permissions are missing; the error names all of them.
    """
    namespaces: dict[str, list[str]] = {}  # namespaces with pods to remove, by the flag that is needed for them
    if plan is not None:
        by_flag = {"": plan.evictions, "--surge-singles": plan.restarts, "--delete-past-budget": plan.past_budgets}
        namespaces = {flag: sorted({permission.pod.namespace for permission in some}) for flag, some in by_flag.items()}
    needed = [
        right for right in rights.BY_COMMAND[command] if right.required or (right.flag and namespaces.get(right.flag))
    ]
    rights_by_permission = {
        permission.permission_in(journal if permission.journal else ""): permission for permission in needed
    }
    missing: dict[Permission, Right] = {}
    for permission in context.edges.denied_permissions(context.connection, tuple(rights_by_permission)):
        right = rights_by_permission[permission]
        if right.subresource or right.flag:  # it may be allowed in the namespaces that need it
            within = tuple(permission._replace(namespace=namespace) for namespace in namespaces.get(right.flag, ()))
            missing |= dict.fromkeys(context.edges.denied_permissions(context.connection, within), right)
        else:
            missing[permission] = right
    if missing:
        message = "; ".join(permission.scoped_right for permission in missing)
        hints = dict.fromkeys(permissions.opt_in_hint(str(right), command) for right in missing.values())
        first = min(missing.values(), key=lambda right: right.opt_in is not None)
        hint = "\n".join(("Nothing was done.", *filter(None, hints)))
        raise rights.explain_forbidden(Forbidden(f"the cluster does not let you: {message}", hint, str(first)), command)
