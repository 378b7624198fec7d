"""Journal of a change that is carried out step by step: the state of each step, and what the journal records of it.

A journal is a list of entries: `begun` (once, with everything a later process needs), for each step `asking` before its
request and `asked`, `refused` or `in-doubt` after it, and `ended` each time the change was followed to a result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from itertools import takewhile

from kubectl_eksdoc.frozen import frozen

from .api_objects import Doc

ADDON_UPDATE, DNS_CHANGE, METADATA_FIX = "addon-update", "dns-change", "metadata-fix"
PLACEMENT, TEST_PODS = "in-cluster", "test-pods"
KINDS = (ADDON_UPDATE, DNS_CHANGE, METADATA_FIX, PLACEMENT, TEST_PODS)
"""The kinds of changes, as journals name them."""


class PartOutcome(str, Enum):
    DONE = "done"
    AS_BEFORE = "as before"
    PENDING = "not in force yet"
    OTHER = "something else"  # neither the old nor the intended state: another client has changed it
    SET_BACK = "set back"  # this change was made, and another client has reverted it
    GONE = "gone"
    UNKNOWN = "not known"


@frozen
class ChangePart:
    """A part of a change and its outcome. `what`: its name for users; `why` in a clause."""

    what: str
    became: PartOutcome
    why: str = ""

    def __str__(self) -> str:
        return f"{self.what}: {self.became.value}{f' ({self.why})' if self.why else ''}"


@frozen
class ChangeProgress:
    """Steps that earlier processes have done. `accepted`: steps that the server accepted; `attempted`: also those that
    may have been accepted. `answers`: the answers, by step."""

    accepted: frozenset[str] = frozenset()
    attempted: frozenset[str] = frozenset()
    answers: Mapping[str, Doc] = field(default_factory=dict)

    def answer(self, step: str, key: str) -> object:
        """A value of the answer to a step, None if there is none."""
        return self.answers.get(step, {}).get(key)


def progress_of(entries: Iterable[Doc]) -> ChangeProgress:
    """The progress by the entries of the journal, in their order. Entries of an undo are not included."""
    accepted, attempted, answers = set[str](), set[str](), dict[str, Doc]()
    for each in takewhile(lambda entry_kind: entry_kind.get("entry") != "undoing", entries):
        step, entry_kind = str(each.get("what", "")), each.get("entry")
        if entry_kind in ("asking", "asked"):
            attempted.add(step)
        if entry_kind == "asked":
            accepted.add(step)
            answers[step] = {**answers.get(step, {}), **each}
        if entry_kind == "refused" and step not in accepted:
            attempted.discard(step)
    return ChangeProgress(frozenset(accepted), frozenset(attempted), answers)


class ChangeState(str, Enum):
    """State of a change by its journal."""

    OPEN = "open"  # something was changed, or may have been, and the change was not followed to its end
    DONE = "done"
    FAILED = "failed"  # it has ended, and some steps were not carried out
    UNCHANGED = "nothing changed"  # it was refused, or stopped before anything was sent
    UNDONE = "undone"
    UNKNOWN = "not known"  # its journal cannot be read, or belongs to another version


@frozen
class SavedChange:
    """A change by its journal. `unread`: why the journal could not be read, a message."""

    id: str
    entries: tuple[Doc, ...]
    unread: str = ""

    @property
    def first_entry(self) -> Doc:
        return next((each for each in self.entries if each.get("entry") == "begun"), {})

    def text(self, *path: str) -> str:
        """A text in the first entry, "" if it has none."""
        value: object = self.first_entry
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value if isinstance(value, str) else ""

    @property
    def unknown_reason(self) -> str:
        """Why its state is not known, a message; "" if it is known."""
        if self.unread or not self.first_entry:
            return self.unread or "its journal does not say what was begun"
        kind = self.text("kind")
        if kind in KINDS:
            return ""
        return f"this version knows no change of kind {kind!r}: list and continue it with the version that began it"

    @property
    def progress(self) -> ChangeProgress:
        return progress_of(self.entries)

    @property
    def state(self) -> ChangeState:
        names = [each.get("entry") for each in self.entries]
        if "undone" in names:
            return ChangeState.UNDONE
        if self.unknown_reason:
            return ChangeState.UNKNOWN
        if not self.progress.attempted:
            return ChangeState.UNCHANGED
        since = names.index("undoing") if "undoing" in names else 0
        ended = next((each for each in self.entries[:since:-1] if each.get("entry") == "ended"), None)
        if ended is None or ended.get("left"):
            return ChangeState.OPEN
        return ChangeState.DONE if ended.get("whole") else ChangeState.FAILED


def unfinished_changes(changes: Sequence[SavedChange], arn: str, kind: str) -> tuple[SavedChange, ...]:
    """The interrupted changes of a cluster."""
    return tuple(
        each
        for each in changes
        if each.state is ChangeState.OPEN and (each.text("cluster", "arn"), each.text("kind")) == (arn, kind)
    )
