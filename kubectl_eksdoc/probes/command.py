"""Commands with short-lived probe pods: their clock, their rights, and the journal of the pods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from kubectl_eksdoc.changes import applying
from kubectl_eksdoc.changes.applying import SavedChangeRequest
from kubectl_eksdoc.changes.engine import ChangeKind, SentSteps, Step
from kubectl_eksdoc.cli import rights, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import require_typed
from kubectl_eksdoc.cli.rights import Right
from kubectl_eksdoc.errors import Drifted, Forbidden, LocalJournalError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import coredns, metadata
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.change_journal import TEST_PODS, ChangePart, PartOutcome
from kubectl_eksdoc.model.placement import ProbeLabels, ProbeOwner

from .pods import remaining_pods_text, remove_owner

# Probe pods as a change that cleans up: one ConfigMap owns them, and is deleted at the end.


class ProbeCleanup(Protocol):
    """`left`: names of pods that still existed at the end; `not_removed`: why they could not be removed."""

    @property
    def left(self) -> tuple[str, ...]: ...

    @property
    def not_removed(self) -> str: ...


F = TypeVar("F", bound=ProbeCleanup)


@frozen
class ProbePodsResult(Generic[F]):
    result: F

    @property
    def left(self) -> str:
        """Why pods remain, a clause."""
        return self.result.not_removed or (f"{len(self.result.left)} pods are still there" if self.result.left else "")

    @property
    def whole(self) -> bool:
        return not self.left


class OwnedPods(ChangeKind[ProbePodsResult[F]]):
    """`run` creates the ConfigMap `owner` and its pods and always removes them, or only removes them."""

    def __init__(self, owner: str, run: Callable[[], F]) -> None:
        self._owner_text, self._run = f"ConfigMap {owner}", run
        self._result: F | None = None

    def steps(self, sent_steps: SentSteps) -> Iterator[Step]:
        yield Step(self._owner_text, lambda: ChangePart(self._owner_text, PartOutcome.AS_BEFORE), self._send)

    def _send(self) -> Doc:
        self._result = self._run()
        return {}

    def result(self, sent_steps: SentSteps) -> ProbePodsResult[F]:
        assert self._result is not None, "it was run"
        return ProbePodsResult(self._result)

    def journal_record(self, result: ProbePodsResult[F]) -> Doc:
        return {"pods": list(result.result.left)}


@frozen
class ContextClock:
    """The clock of the command's context."""

    _context: CommandContext

    def monotonic(self) -> float:
        return self._context.edges.clock.monotonic()

    def sleep(self, seconds: float) -> object:
        return self._context.sleep(seconds)


def check_allowed(needed: Iterable[tuple[Right, str]], context: CommandContext) -> None:
    """`needed`: rights, each in a namespace.

    Raises:
        Forbidden: rights are missing without which the probe cannot measure or clean up; the error names all of them.
    """
    right_by_permission = {right.permission_in(namespace): str(right) for right, namespace in needed}
    missing = context.edges.denied_permissions(context.connection, tuple(right_by_permission))
    if missing:
        missing_text = "; ".join(each.scoped_right for each in missing)
        raise Forbidden(
            f"the cluster does not let you: {missing_text}", "Nothing was done.", right_by_permission[missing[0]]
        )


def note_missing_rights(missing_rights: Iterable[str], command: str, context: CommandContext) -> None:
    """Note missing rights: something was not checked before, and the probe runs anyway."""
    effects = {str(right): right.lost for right in rights.BY_COMMAND[command]}
    for missing_right in missing_rights:
        context.note(f"missing right {missing_right}: {effects.get(missing_right) or 'what it tells is unknown'}")


def check_unchanged(shown: object, current: object) -> None:
    """Raises Drifted: the pods to create are not those that were shown."""
    if shown != current:
        raise Drifted(
            "the nodes, or the pods that would be made, are not as they were when they were shown",
            "Nothing was made. Check again.",
        )


def run_as_change(
    manifest: Doc,
    probe_labels: ProbeLabels,
    change_text: str,
    context: str,
    command_context: CommandContext,
    run: Callable[[Callable[[], int]], F],
) -> F:
    """Run `run` as a change in the journal. `manifest`: of the ConfigMap that owns the pods; `run` creates them, and
    receives a function that counts how often the process was told to end.

    Raises:
        JournalError: the journal cannot be written, and nothing was created; and the errors of `run`.
    """
    journal, metadata = applying.new_journal(command_context), manifest["metadata"]
    owner = {
        "owner": metadata["name"],
        "namespace": metadata["namespace"],
        "label": probe_labels.label,
        "probe": metadata["labels"][probe_labels.label],
    }
    first_entry = applying.first_entry(TEST_PODS, change_text, journal.id, context, command_context) | owner
    with applying.open_environment(journal, 0.0, command_context) as change_world:
        pods = OwnedPods(str(metadata["name"]), lambda: run(change_world.stop_count))
        return applying.run_change(pods, first_entry, change_world, journal, command_context).result


def again(change: SavedChangeRequest, command_context: CommandContext) -> CommandAnswer:
    """Remove the pods of a process that was killed.

    Raises:
        LocalJournalError: this machine has no journal of them, or the user wants to continue them.
        Drifted: they are in another cluster.
        UsageError: the typed confirmation is wrong.
    """
    saved = change.saved
    owner, namespace, context = saved.text("owner"), saved.text("namespace"), saved.text("cluster", "context")
    if not change.undo:
        undo = f"What it left is removed by: kubectl eksdoc changes undo {change.id}"
        raise LocalJournalError(f"{saved.text('what')} is not continued: run it again", undo)
    applying.check_context(saved, command_context)
    require_typed(
        f"{change.id}", f"to delete ConfigMap {owner} in {namespace} of {context} with its pods", command_context.prompt
    )
    probe_labels = (
        coredns.LOAD_GENERATOR_LABELS
        if saved.text("label") == coredns.LOAD_GENERATOR_LABELS.label
        else metadata.PROBE_POD_LABELS
    )
    probe_namespace = command_context.edges.open_probe_namespace(command_context.connection, namespace, probe_labels)
    probe_owner = ProbeOwner(saved.text("probe"), owner, "")
    pods = OwnedPods(owner, lambda: remove_owner(probe_owner, probe_namespace, ContextClock(command_context)))
    result = applying.revert_change(pods, applying.saved_journal(change.id, command_context), command_context)
    if not result.whole:
        command_context.note(remaining_pods_text(owner, namespace, result.result.left, result.result.not_removed))
    return CommandAnswer("", streams.CLEAN if result.whole else streams.STOPPED)
