"""``kubectl eksdoc drain rollback``: restore the nodes that a run cordoned, and nothing else."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from kubectl_eksdoc.cli import opening, options, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import check_writable, dry_from
from kubectl_eksdoc.errors import Locked, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.journal import RunPhase, RunSummary
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.ports import RunStore
from kubectl_eksdoc.wiring.runs import Hooks

from ..run.journal import Cordoned, Protected, replay
from ..run.journals import FoundRun
from ..run.limits import SETTLES_S, RunLimits
from ..run.result import noted_of, to_give_back
from ..run.runner import RolledBack, roll_back
from . import options as run_options
from .invocation import (
    NOT_KNOWN,
    RunAnnotations,
    RunInvocation,
    RunRequest,
    check_allowed,
    chosen,
)
from .status import asked

# Changes of a run to nodes, and their rollback. The callers, a command or the screens, show the changes and ask for
# typed confirmations.


COMMAND = "drain rollback"

WAIT_S = SETTLES_S + 30.0
"""How long to wait for a lock that another client holds: a leader that was asked to end lets requests in flight
settle."""


@frozen
class ToGiveBack:
    """The run to roll back, and its changes to nodes; `listed_run`: its entry in the list of runs, None if its journal
    is gone. `drained_count`: number of nodes that the run's plan drains, as its user counted them; from notes on nodes
    if the journal is gone."""

    run: str
    cordoned: tuple[Cordoned, ...]
    protected: tuple[Protected, ...]
    drained: int
    there: RunSummary | None = None

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(sorted({*(each.node for each in self.cordoned), *(each.node for each in self.protected)}))


def to_give_back_of(runs: RunStore, nodes: tuple[Node, ...], request: RunRequest, around: CommandContext) -> ToGiveBack:
    """Return the named run; otherwise the latest, or a run whose journal is gone if only that one has changed anything.

    Raises:
        UsageError: there is none, its journal is in another namespace, or more than one run may be meant.
        Locked: its journal is gone, and a process still leads it from another namespace.
    """
    listed = runs.all()
    kept = next((run for run in listed if request.run in ("", run.run)), None)
    latest = None
    if kept is not None:
        journaled, marked = replay(runs.entries(kept.run)), noted_of(nodes, kept.run)
        cordoned, protected = to_give_back(journaled, marked)
        drained = len(journaled.begun.aims) if journaled.begun is not None else marked.drained_of(cordoned)
        latest = ToGiveBack(kept.run, cordoned, protected, drained, kept)
    if latest is not None and request.run:
        return latest
    noted = RunAnnotations(request, around)
    names = {run.run for run in listed}
    found = [each for each in noted.found(nodes, request.run) if each.run not in names]
    lost = [each for each in found if each.gone]
    if latest is not None and (latest.nodes or not lost):
        if lost:
            named = ", ".join([latest.run, *(each.run for each in lost)])
            raise UsageError(f"{1 + len(lost)} runs have changed nodes: {named}", "Name the one you mean.")
        return latest
    if not lost:
        for each in found:
            raise noted.elsewhere(each, "rollback")
        chosen(listed, request.run, (), "there")
    if len(lost) > 1:
        named = ", ".join(each.run for each in lost)
        raise UsageError(
            f"the journals of {len(lost)} runs are gone, and nodes carry their notes: {named}", "Name one."
        )
    return _removed(lost[0], request, around)


def _removed(found: FoundRun, request: RunRequest, around: CommandContext) -> ToGiveBack:
    if found.led and found.namespace != request.namespace:
        raise Locked(
            f"the journal of run {found.run} is gone, and the lock is still held in namespace {found.namespace}",
            "Nothing was done. A run without its journal ends within a minute: try again then.",
        )
    around.note(f"the journal of run {found.run} is gone: it is taken back by the notes on its nodes. {NOT_KNOWN}")
    noted = found.noted
    return ToGiveBack(found.run, noted.cordoned, noted.protected, noted.drained)


def ask_to_end(which: ToGiveBack, runs: RunStore, request: RunRequest, around: CommandContext) -> None:
    """Abort the run if a process still leads it.

    Raises:
        JournalError: the leader does not respond.
    """
    if which.there is not None and _is_led(which, runs):
        asked(runs, which.there, RunPhase.ABORTED, request, around)


def _is_led(which: ToGiveBack, runs: RunStore) -> bool:
    return which.there is not None and runs.lock().led and which.there.phase != RunPhase.ENDED.value


def given_back(which: ToGiveBack, request: RunRequest, carrying: RunInvocation, around: CommandContext) -> RolledBack:
    """Roll back. Changes begin here.

    Raises:
        as `RunInvocation.open` and `roll_back`.
    """
    reader = request.reader(around, carrying.limits)
    with carrying.open(WAIT_S) as world:
        return roll_back(which.run, carrying.running(world), reader, removed=which.there is None)


def said_of(back: RolledBack) -> list[str]:
    """Return a sentence for each node."""
    lines = [f"{node} is as it was before" for node in back.restored]
    lines += [f"{node} is not protected from autoscalers any more" for node in back.released]
    return lines + [f"{node} is left as it is: {why}" for node, why in back.left.items()]


_THEIRS = ", but for its cordon: another client has uncordoned it since"


UNSURE = ", if its note of this run can be read"


def would_be(which: ToGiveBack, nodes: Sequence[Node]) -> list[str]:
    """Preview a rollback by the current `nodes`: a sentence for each change; no request is sent to the API server."""
    there = {node.uid: node for node in nodes}

    def said(each: Cordoned | Protected, changed: str) -> str:
        node = there.get(each.uid)
        if node is None:
            return f"{each.node} is gone: nothing of it would change"
        if node.note is None or node.note.run != which.run:
            return f"{each.node} would stay as it is: it has no note of this run any more"
        return f"{each.node} {changed}" + ("" if node.note.journal else UNSURE)

    restored = [said(each, "would be as it was before" + _THEIRS * each.theirs) for each in which.cordoned]
    return restored + [said(each, "would not be protected from autoscalers any more") for each in which.protected]


DO_NOT_MOVE_BACK = "pods that were evicted do not move back by themselves"


def run_rollback(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """Roll back a run, and return which nodes are restored.

    Raises:
        EksdocError: the command line, the cluster or the run is at fault; the error says which.
    """
    request, given = RunRequest.from_args(args, around), run_options.given_from(args)
    dry = bool(dry_from(args))
    if not dry:
        check_writable(around.environ, COMMAND)
    with opening.explaining(COMMAND):
        runs, cluster = request.runs(around), request.nodes(around)
        which = to_give_back_of(runs, cluster.nodes, request, around)
        changed = ", ".join(which.nodes) or "no node that is not given back"
        around.note(f"run {which.run} changed {changed}; its plan drains {options.NODES.said(which.drained)}")
        if not which.nodes:
            return CommandAnswer("")
        if dry:
            around.note(DO_NOT_MOVE_BACK)
            if _is_led(which, runs):
                around.note(f"run {which.run} is in progress: it would be aborted first")
            said = would_be(which, cluster.nodes)
            return _printed(said, streams.UNKNOWN if any(each.endswith(UNSURE) for each in said) else streams.CLEAN)
        check_allowed(COMMAND, request.namespace, around)
        options.confirm(cluster.identity, which.drained, "give back", given, around.ask)
        ask_to_end(which, runs, request, around)
    here = request.keeping(around, which.run)
    back = given_back(which, request, RunInvocation(COMMAND, around, here, Hooks(), {}, RunLimits()), around)
    around.note(DO_NOT_MOVE_BACK)
    return _printed(said_of(back), streams.STOPPED if back.left else streams.CLEAN)


def _printed(lines: Sequence[str], code: int = streams.CLEAN) -> CommandAnswer:
    return CommandAnswer("".join(f"{line}\n" for line in lines), code)
