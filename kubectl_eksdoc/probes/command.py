"""Commands with short-lived probe pods: their clock, their rights, and the journal of the pods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from kubectl_eksdoc.changes import applying
from kubectl_eksdoc.changes.applying import Again
from kubectl_eksdoc.changes.engine import Kind, Sent, Step
from kubectl_eksdoc.cli import rights, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import typed_back
from kubectl_eksdoc.cli.rights import Right
from kubectl_eksdoc.errors import Drifted, Forbidden, LocalJournalError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import coredns, metadata
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.change_journal import TEST_PODS, Became, Part
from kubectl_eksdoc.model.placing import ProbeLabels, ProbeOwner

from .pods import removed, still_there

# Probe pods as a change that cleans up: one ConfigMap owns them, and is deleted at the end.


class Cleaned(Protocol):
    """`left`: names of pods that still existed at the end; `not_removed`: why they could not be removed."""

    @property
    def left(self) -> tuple[str, ...]: ...

    @property
    def not_removed(self) -> str: ...


F = TypeVar("F", bound=Cleaned)


@frozen
class PodsDone(Generic[F]):
    found: F

    @property
    def left(self) -> str:
        """Why pods remain, a clause."""
        return self.found.not_removed or (f"{len(self.found.left)} pods are still there" if self.found.left else "")

    @property
    def whole(self) -> bool:
        return not self.left


class OwnedPods(Kind[PodsDone[F]]):
    """`run` creates the ConfigMap `owner` and its pods and always removes them, or only removes them."""

    def __init__(self, owner: str, run: Callable[[], F]) -> None:
        self._what, self._run = f"ConfigMap {owner}", run
        self._found: F | None = None

    def steps(self, sent: Sent) -> Iterator[Step]:
        yield Step(self._what, lambda: Part(self._what, Became.AS_BEFORE), self._send)

    def _send(self) -> Doc:
        self._found = self._run()
        return {}

    def result(self, sent: Sent) -> PodsDone[F]:
        assert self._found is not None, "it was run"
        return PodsDone(self._found)

    def kept(self, result: PodsDone[F]) -> Doc:
        return {"pods": list(result.found.left)}


@frozen
class ClockAround:
    """The clock of the command's context."""

    _around: CommandContext

    def monotonic(self) -> float:
        return self._around.edges.clock.monotonic()

    def sleep(self, seconds: float) -> object:
        return self._around.sleep(seconds)


def check_allowed(needed: Iterable[tuple[Right, str]], around: CommandContext) -> None:
    """`needed`: rights, each in a namespace.

    Raises:
        Forbidden: rights are missing without which the probe cannot measure or clean up; the error names all of them.
    """
    asked = {right.at(where): str(right) for right, where in needed}
    missing = around.edges.denied(around.connection, tuple(asked))
    if missing:
        said = "; ".join(each.said for each in missing)
        raise Forbidden(f"the cluster does not let you: {said}", "Nothing was done.", asked[missing[0]])


def tell_unread(unread: Iterable[str], command: str, around: CommandContext) -> None:
    """Note missing rights: something was not checked before, and the probe runs anyway."""
    lost = {str(right): right.lost for right in rights.BY_COMMAND[command]}
    for each in unread:
        around.note(f"missing right {each}: {lost.get(each) or 'what it tells is unknown'}")


def check_same(then: object, now: object) -> None:
    """Raises Drifted: the pods to create are not those that were shown."""
    if then != now:
        raise Drifted(
            "the nodes, or the pods that would be made, are not as they were when they were shown",
            "Nothing was made. Check again.",
        )


def owned(
    manifest: Doc,
    marks: ProbeLabels,
    what: str,
    context: str,
    around: CommandContext,
    run: Callable[[Callable[[], int]], F],
) -> F:
    """Run `run` as a change in the journal. `manifest`: of the ConfigMap that owns the pods; `run` creates them, and
    receives a function that counts how often the process was told to end.

    Raises:
        JournalError: the journal cannot be written, and nothing was created; and the errors of `run`.
    """
    written, meta = applying.new_journal(around), manifest["metadata"]
    owner = {
        "owner": meta["name"],
        "namespace": meta["namespace"],
        "label": marks.label,
        "probe": meta["labels"][marks.label],
    }
    first = applying.first_line(TEST_PODS, what, written.id, context, around) | owner
    with applying.world(written, 0.0, around) as world:
        pods = OwnedPods(str(meta["name"]), lambda: run(world.told))
        return applying.carried(pods, first, world, written, around).found


def again(change: Again, around: CommandContext) -> CommandAnswer:
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
    applying.check_context(saved, around)
    typed_back(f"{change.id}", f"to delete ConfigMap {owner} in {namespace} of {context} with its pods", around.ask)
    marks = coredns.MARKS if saved.text("label") == coredns.MARKS.label else metadata.MARKS
    ground = around.edges.open_ground(around.connection, namespace, marks)
    gone = ProbeOwner(saved.text("probe"), owner, "")
    pods = OwnedPods(owner, lambda: removed(gone, ground, ClockAround(around)))
    done = applying.reverted(pods, applying.journal(change.id, around), around)
    if not done.whole:
        around.note(still_there(owner, namespace, done.found.left, done.found.not_removed))
    return CommandAnswer("", streams.CLEAN if done.whole else streams.STOPPED)
