"""A change that is carried out step by step: how each step stands, and what its journal knows of it.

A journal is a list of entries: `begun` (once, with all that a later process needs), for each step `asking` before it is
sent and `asked`, `refused` or `in-doubt` behind it, and `ended` each time it was followed to a result.
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


class Became(str, Enum):
    DONE = "done"
    AS_BEFORE = "as before"
    PENDING = "not in force yet"
    OTHER = "something else"  # neither as before nor as meant: somebody else has changed it
    SET_BACK = "set back"  # this change has made it, and another client has set it back since
    GONE = "gone"
    UNKNOWN = "not known"


@frozen
class Part:
    """`what` it is, as people name it; `why` in a clause."""

    what: str
    became: Became
    why: str = ""

    def __str__(self) -> str:
        return f"{self.what}: {self.became.value}{f' ({self.why})' if self.why else ''}"


@frozen
class Past:
    """What is known to have been done before. `taken`: steps that were accepted; `tried`: with those that may have
    been, too. `answers`: what came back, by step."""

    taken: frozenset[str] = frozenset()
    tried: frozenset[str] = frozenset()
    answers: Mapping[str, Doc] = field(default_factory=dict)

    def answer(self, step: str, key: str) -> object:
        """None where none came."""
        return self.answers.get(step, {}).get(key)


def past_of(entries: Iterable[Doc]) -> Past:
    """By the entries of its journal, in their order. What it was undone by is no part of it."""
    taken, tried, answers = set[str](), set[str](), dict[str, Doc]()
    for each in takewhile(lambda entry: entry.get("entry") != "undoing", entries):
        what, entry = str(each.get("what", "")), each.get("entry")
        if entry in ("asking", "asked"):
            tried.add(what)
        if entry == "asked":
            taken.add(what)
            answers[what] = {**answers.get(what, {}), **each}
        if entry == "refused" and what not in taken:
            tried.discard(what)
    return Past(frozenset(taken), frozenset(tried), answers)


class State(str, Enum):
    """Of a change by its journal."""

    OPEN = "open"  # something was changed, or may have been, and it was not followed to its end
    DONE = "done"
    FAILED = "failed"  # it has ended, and not all of it was carried out
    UNCHANGED = "nothing changed"  # it was refused, or stopped before anything was sent
    UNDONE = "undone"
    UNKNOWN = "not known"  # its journal cannot be read, or is not of this version


@frozen
class SavedChange:
    """A change by its journal. `what` as people name it; `at` as it was written down. `unread`: why nothing of it could
    be read, a message."""

    id: str
    entries: tuple[Doc, ...]
    unread: str = ""

    @property
    def begun(self) -> Doc:
        return next((each for each in self.entries if each.get("entry") == "begun"), {})

    def text(self, *path: str) -> str:
        """Of the first entry, "" where it has none."""
        found: object = self.begun
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        return found if isinstance(found, str) else ""

    @property
    def unknown(self) -> str:
        """Why it is not known how it stands, a message; "" where it is."""
        if self.unread or not self.begun:
            return self.unread or "its journal does not say what was begun"
        kind = self.text("kind")
        if kind in KINDS:
            return ""
        return f"this version knows no change of kind {kind!r}: list and continue it with the version that began it"

    @property
    def past(self) -> Past:
        return past_of(self.entries)

    @property
    def state(self) -> State:
        names = [each.get("entry") for each in self.entries]
        if "undone" in names:
            return State.UNDONE
        if self.unknown:
            return State.UNKNOWN
        if not self.past.tried:
            return State.UNCHANGED
        since = names.index("undoing") if "undoing" in names else 0
        ended = next((each for each in self.entries[:since:-1] if each.get("entry") == "ended"), None)
        if ended is None or ended.get("left"):
            return State.OPEN
        return State.DONE if ended.get("whole") else State.FAILED


def unfinished(changes: Sequence[SavedChange], arn: str, kind: str) -> tuple[SavedChange, ...]:
    """Those of a cluster that were cut off."""
    return tuple(
        each
        for each in changes
        if each.state is State.OPEN and (each.text("cluster", "arn"), each.text("kind")) == (arn, kind)
    )
