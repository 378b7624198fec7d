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

from kubectl_eksdoc.cli import opening, rights, streams
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
from kubectl_eksdoc.model.journal import HeldLock, RunPhase, RunSummary, is_run_id
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.permissions import Permission
from kubectl_eksdoc.ports import ClusterReader, RunStore
from kubectl_eksdoc.session.sources import Progress
from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE, Hooks, JournalLocation, add_events, events_file

from ..report.record import RecordView
from ..report.run import RunReport
from ..result import DrainPlan
from ..run.apply import RunEdges
from ..run.journals import FoundRun, found_runs, in_the_way
from ..run.limits import RunLimits
from ..run.loop import DrainRunEnd
from ..run.result import noted_runs
from ..run.runner import RunEnvironment
from ..run.stall_timeouts import soak_of
from . import options as run_options
from .live_run import FaceOf, RecordingFace, RunFace, RunOutput
from .options import NAMESPACE_FLAG
from .plan import exit_code

LIST = "kubectl eksdoc drain status lists the runs of this cluster."


@frozen
class RunRequest:
    """`run`: a run id, "" if the only matching run is meant."""

    namespace: str
    run: str = ""

    @staticmethod
    def from_args(args: argparse.Namespace, around: CommandContext) -> RunRequest:
        """Return the run that the arguments name.

        Raises:
            UsageError: more than one run is named, or another source than the live cluster.
        """
        check_source_live(around)
        if len(args.words) > 1:
            raise UsageError(f"one run at a time, and {args.words[1]!r} is a second one", LIST)
        run = args.words[0] if args.words else ""
        return RunRequest(run_options.namespace_from(args), run)

    def keeping(self, around: CommandContext, run: str = "") -> JournalLocation:
        return around.edges.keeping(run, self.namespace, around.environ)

    def runs(self, around: CommandContext) -> RunStore:
        return around.edges.open_runs(around.connection, self.keeping(around))

    def reader(self, around: CommandContext, limits: RunLimits, progress: Progress | None = None) -> ClusterReader:
        """Return a cluster reader for a run with these limits."""
        return around.reader(progress, run_options.waiting(limits, around))

    def nodes(self, around: CommandContext) -> Cluster:
        """Read only the nodes of the cluster."""
        return around.reader().read((kinds.NODES,))


def held_lock(runs: RunStore) -> tuple[HeldLock | None, tuple[str, ...]]:
    """Return the lock, and notes; None if it must not be read: then the leader is unknown, and a note says so."""
    try:
        return runs.lock(), ()
    except Forbidden as error:
        return None, (f"whether a process leads a run is unknown: {error.message} (missing right: {error.missing})",)


def under_way(runs: Iterable[RunSummary]) -> list[RunSummary]:
    return [run for run in runs if run.phase != RunPhase.ENDED.value]


def chosen(runs: Sequence[RunSummary], name: str, among: Sequence[RunSummary], what: str) -> RunSummary:
    """Return the run called `name`, or the only one of `candidates`. `state_text` describes these for errors (``under
    way``).

    Raises:
        UsageError: there is none, or more than one.
    """
    if name:
        found = next((run for run in runs if run.run == name), None)
        if found is None:
            hint = LIST
            if is_run_id(name):
                # Its Job may exist and wait for a node or an image: a run cannot be paused before its pod starts it.
                look = shell("kubectl", "get", "jobs,pods", "-A", "-l", f"app.kubernetes.io/instance={name}")
                hint += (
                    "\nOne of --in-cluster is there once its Job's pod has begun it; until then only deleting the Job "
                    f"ends it: {look}"
                )
            raise UsageError(f"there is no run {name}", hint)
        return found
    if len(among) == 1:
        return among[0]
    if not among:
        raise UsageError(f"no run is {what}", LIST)
    names = ", ".join(run.run for run in among)
    raise UsageError(f"{len(among)} runs are {what}: {names}", "Name the one you mean.")


def reached_by(around: CommandContext, namespace: str, context: str = "") -> tuple[str, ...]:
    """Return the command-line arguments that select the same cluster and the namespace of its runs."""
    words = opening.words(around, context)
    return words if namespace == JOURNAL_NAMESPACE else (*words, NAMESPACE_FLAG, namespace)


@dataclass(eq=False)
class RunInvocation:
    """`command`: the command as typed (``drain run``); `options`: its options by the names of flags; `resumed`: the run
    was started before. `open_display` opens the display of the run, None for lines on the streams of the process.
    Mutable: it records when the run started."""

    command: str
    around: CommandContext
    keeping: JournalLocation
    hooks: Hooks
    given: Mapping[str, object]
    limits: RunLimits
    resumed: bool = False
    face_of: FaceOf | None = None

    def __post_init__(self) -> None:
        self._began = self.around.now()
        self._face: RunFace | None = None
        self._world: RunEdges | None = None
        self._left: tuple[Cluster, DrainRunEnd] | None = None
        self._is_told = False  # whether the end of the run is recorded for a replay
        self._unrecorded = ""  # why no more events are recorded for a replay
        self.asked_before = ("", "")
        """The phase that was requested before this process led the run: it holds until another one is requested."""

    @contextmanager
    def open(self, wait_s: float = 0.0) -> Iterator[RunEdges]:
        """Open the run; the lock is held meanwhile. `wait_s`: how long to wait for a lock that another client holds.

        Raises:
            as `drain.run.apply.open_run`; an error within has a hint how to continue.
        """
        around, keeping, edges = self.around, self.keeping, self.around.edges
        make = self.face_of or partial(RunOutput, around, keeping.run)
        try:
            with (
                edges.told_to_stop() as told,
                edges.open_run(around.connection, keeping, wait_s, self.hooks) as world,
                make(told, lambda: self._wanted(world)) as face,
            ):
                self._face = RecordingFace(face, keeping.run, around.now, self._record)
                self._began, self._world = around.now(), world
                around.note(f"run {keeping.run}, journal in namespace {keeping.namespace}")
                yield world
        except Stopped as error:
            error.hint = "\n".join(filter(None, (error.hint, self._advice(error))))
            raise
        except ClusterError as error:
            whole = rights.explained(error, self.command) if isinstance(error, Forbidden) else error
            if self._stands:  # it was running, so it has stopped before its end
                raise Stopped(whole.message, "\n".join(filter(None, (whole.hint, self._advice(None))))) from error
            raise whole from (error if whole is not error else error.__cause__)
        except KeyboardInterrupt:
            left = "was left in the middle" if self._stands else "was not begun"
            around.note(f"run {keeping.run} {left}. {self._advice(None)}")
            raise

    def _record(self, text: str) -> None:
        """Record events for a replay. The run continues if they cannot be written: this is reported once."""
        if not text or self._unrecorded or self.command == "drain rollback":
            return
        try:
            add_events(self.keeping, text)
        except JournalError as error:
            self._unrecorded = error.message
            self.around.note(f"the events of this run are not kept for a replay: {error.message}")

    def _wanted(self, world: RunEdges) -> tuple[str, str]:
        asked = world.wanted()
        return asked if asked[0] else self.asked_before

    def running(
        self,
        world: RunEdges,
        check: Callable[[Cluster, DrainPlan], object] = lambda cluster, plan: None,
    ) -> RunEnvironment:
        assert self._face is not None, "it is open"
        face, hooks = self._face, frozenset(self.hooks.commands)
        field, journal, lock, clock = world.field, world.journal, world.lock, world.clock
        told = face.listen, face.wished, self.limits, face.show
        return RunEnvironment(field, journal, lock, clock, *told, hooks, check, face.explain, self._leave)

    def _leave(self, cluster: Cluster, ended: DrainRunEnd) -> None:
        self._left = cluster, ended

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Add the result until then to an error that ends the run."""
        try:
            yield
        except Stopped as error:
            if self._left is not None:
                error.answer = self.answer(*self._left).text
            raise

    def answer(self, cluster: Cluster, ended: DrainRunEnd) -> CommandAnswer:
        """Return the answer of the command."""
        text = opening.answered(self.report(cluster, ended), self.around)
        blank = "\n" if self.around.options.output in ("table", "wide") else ""
        plan = ended.record.plan
        code = streams.STOPPED if not ended.whole else streams.FAILS if ended.record.unready else exit_code(plan)
        return CommandAnswer(blank + text, code)

    def report(self, cluster: Cluster, ended: DrainRunEnd) -> RunReport:
        around, keeping = self.around, self.keeping
        report = RunReport(
            keeping.run,
            RecordView(ended.record, cluster, self.given, soak=soak_of(ended.record.plan, self.limits.soak_s)),
            self._began,
            around.now(),
            keeping.who,
            keeping.host,
            ended.stopped,
            self.resumed,
            reached_by(around, keeping.namespace, cluster.identity.context),
        )
        if not self._is_told:
            self._is_told = True
            self._record(report.render("json", opening.decide(around)))
        return report

    @property
    def recorded_in(self) -> str:
        """The file with the recorded events; "" if it could not be written."""
        return "" if self._unrecorded else events_file(self.keeping)

    @property
    def _stands(self) -> bool:
        """Whether the run exists, and may have changed something."""
        return self._world is not None and self._world.journal.stands

    def _advice(self, error: Stopped | None) -> str:
        """Return what helps after `error`; None: the user interrupted."""
        if isinstance(error, JournalGone):
            # The namespace of its journal may be gone: a run without a journal can be rolled back from anywhere.
            again = self._again("rollback", JOURNAL_NAMESPACE)
            return f"Take back what it did, by the notes on its nodes: {again}"
        if not self._stands and self.command == "drain run":
            return "Nothing was changed: fix that, and run it again."
        again = self._again("rollback" if self.command == "drain rollback" else "resume")
        if isinstance(error, LocalJournalError):
            return f"On another machine, or here with XDG_STATE_HOME set to another folder, go on: {again}"
        return f"Go on: {again}"

    def _again(self, verb: str, namespace: str = "") -> str:
        words = reached_by(self.around, namespace or self.keeping.namespace)
        return shlex.join(["kubectl", "eksdoc", "drain", verb, self.keeping.run, *words])


# Runs by the notes on nodes: which ones block a drain, whose journal is gone, and what to do.


NOT_KNOWN = (
    "Not known: which pods it evicted or deleted, which workloads it restarted, whether another "
    "client uncordoned a node of it and cordoned it again since. Nodes whose annotations were "
    "removed are not found."
)
"""What is unknown about a run without a journal."""


class RunAnnotations:
    """Reads the notes of runs on nodes. `request`: its namespace is the default for journals."""

    def __init__(self, request: RunRequest, around: CommandContext) -> None:
        self._around = around
        self._namespace = request.namespace
        self._runs_in = cache(lambda namespace: RunRequest(namespace).runs(around))

    def check(self, own: str) -> Callable[[Cluster, DrainPlan], None]:
        """Return a check that refuses a plan while another run than `own_run` has not ended.

        It raises:
            Locked: it names the run, its journal, and the possible commands.
        """

        def checked(cluster: Cluster, plan: DrainPlan) -> None:
            for found in in_the_way(cluster, plan, own, self._namespace, self._runs_in):
                remedy = f"Nothing was done. Take back what it did to nodes first: {self.command('rollback', found)}"
                if not found.gone:
                    lines = ["Nothing was done. One drain at a time: check it, resume it or roll it back."]
                    lines += [f"    {self.command(verb, found)}" for verb in ("status", "resume", "rollback")]
                    remedy = "\n".join(lines)
                raise Locked(self._why(found), remedy)

        return checked

    def found(self, nodes: tuple[Node, ...], name: str = "") -> tuple[FoundRun, ...]:
        """Return all runs that these nodes name, or the one called `name`."""
        noted = [each for each in noted_runs(nodes) if name in ("", each.run)]
        return found_runs(noted, self._namespace, self._runs_in)

    def elsewhere(self, found: FoundRun, verb: str) -> UsageError:
        """Return the error that the journal is in another namespace."""
        return UsageError(
            f"the journal of run {found.run} is in namespace {found.namespace}, not in {self._namespace}",
            f"{self.command(verb, found)}",
        )

    def command(self, verb: str, found: FoundRun) -> str:
        """Return a command such as ``kubectl eksdoc drain rollback RUN`` for a shell. A run without a journal can be
        rolled back from anywhere, because the namespace of its journal may be gone, too."""
        namespace = JOURNAL_NAMESPACE if found.gone else found.namespace
        return shlex.join(["kubectl", "eksdoc", "drain", verb, found.run, *reached_by(self._around, namespace)])

    def _why(self, found: FoundRun) -> str:
        nodes = found.noted.nodes
        carry = f"node {nodes[0]} carries" if len(nodes) == 1 else f"{nodes[0]} and {len(nodes) - 1} more nodes carry"
        if found.unread:
            why = f"whether it is over is unknown: its journal in namespace {found.namespace} cannot be read"
            return f"{carry} the notes of run {found.run}, and {why} ({found.unread})"
        if found.gone:
            why = f"its journal is not in namespace {found.namespace} any more: it is unknown whether it is over"
            return f"{carry} the notes of run {found.run}, and {why}"
        where = f"journal in namespace {found.namespace}; {carry} its notes"
        if found.led and found.there is not None:
            return f"another drain is under way: run {found.run}, led by {found.there.leader}, {where}"
        return f"run {found.run} is not over, and no process leads it; {where}"


# Permission checks before a command starts: a run that fails halfway is worse than none.


def check_allowed(
    command: str,
    journal: str,
    around: CommandContext,
    plan: DrainPlan | None = None,
) -> None:
    """`journal`: the namespace of the runs' journal; `plan`: the plan to execute.

    Raises:
        Forbidden: permissions are missing; the error names all of them.
    """
    where: dict[str, list[str]] = {}  # namespaces with pods to remove, by the flag that is needed for them
    if plan is not None:
        by_flag = {"": plan.evictions, "--surge-singles": plan.restarts, "--delete-past-budget": plan.past_budgets}
        where = {flag: sorted({each.pod.namespace for each in some}) for flag, some in by_flag.items()}
    needed = [right for right in rights.BY_COMMAND[command] if right.required or (right.flag and where.get(right.flag))]
    everywhere = {each.at(journal if each.journal else ""): each for each in needed}
    missing: dict[Permission, Right] = {}
    for each in around.edges.denied(around.connection, tuple(everywhere)):
        right = everywhere[each]
        if right.subresource or right.flag:  # it may be allowed in the namespaces that need it
            within = tuple(each._replace(namespace=namespace) for namespace in where.get(right.flag, ()))
            missing |= dict.fromkeys(around.edges.denied(around.connection, within), right)
        else:
            missing[each] = right
    if missing:
        said = "; ".join(each.said for each in missing)
        hints = dict.fromkeys(permissions.how_to(str(right), command) for right in missing.values())
        first = min(missing.values(), key=lambda right: right.opt_in is not None)
        hint = "\n".join(("Nothing was done.", *filter(None, hints)))
        raise rights.explained(Forbidden(f"the cluster does not let you: {said}", hint, str(first)), command)
