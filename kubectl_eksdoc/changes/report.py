"""Report of the changes that were started on this machine, in every format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.change_journal import TEST_PODS, SavedChange, State
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.report.report import Head, Lines, Points, Report, Section, Table, as_it_is
from kubectl_eksdoc.report.result import KindResult, Printed, Text
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    Row,
    Title,
    Tone,
    columns_of,
    counted,
    name_column,
    text_column,
)

_TONES = {State.OPEN: Tone.WARN, State.FAILED: Tone.BAD, State.DONE: Tone.GOOD, State.UNKNOWN: Tone.UNKNOWN}


@frozen
class ChangesReport(Report):
    """The latest first."""

    of = "a list of changes"

    changes: tuple[SavedChange, ...]

    def sections(self, full: bool) -> Iterator[Section]:
        waiting = [each for each in self.changes if each.state is State.OPEN]
        counts = f"{len(waiting)} of {counted(len(self.changes), 'change')}"
        unread = [each for each in self.changes if each.state is State.UNKNOWN]
        more = f"; of {len(unread)} it is not known" if unread else ""
        yield Head(f"{counts} on this machine {'is' if len(waiting) == 1 else 'are'} open{more}.")
        columns = columns_of(
            text_column("ID", 20),
            "KIND",
            name_column("CHANGE", 20),
            name_column("CLUSTER", 8),
            Column("BEGUN", drop=1),
            "STATE",
        )
        rows: list[Row] = [
            [
                each.id,
                each.text("kind") or "?",
                each.text("what") or "?",
                cluster_of(each) or "?",
                each.text("at") or "?",
                Cell(each.state.value, _TONES.get(each.state)),
            ]
            for each in self.changes
        ]
        yield Table("Changes", (columns, rows), "changes")
        lines = [line for each in waiting for line in commands(each)]
        yield Lines(Title("Open", ": continue it, or revert it"), [as_it_is(each) for each in lines])
        yield Points("Not known", [f"{each.id}: {each.unknown}" for each in unread])

    def result(self) -> object:
        return ChangesResult.filled(self)


def cluster_of(change: SavedChange) -> str:
    return change.text("cluster", "name") or change.text("cluster", "context")


def commands(change: SavedChange) -> tuple[str, ...]:
    """Return the commands that continue it, if possible, and revert it."""
    verbs = ("undo",) if change.text("kind") == TEST_PODS else ("resume", "undo")
    return tuple(shell("kubectl", "eksdoc", "changes", verb, change.id) for verb in verbs)


class _Change(Printed):
    id: Text
    kind: Text | None
    what: Text | None
    cluster: Text | None
    context: Text | None
    begun_at: Text | None
    who: Text | None
    state: State
    unread: Text | None

    @classmethod
    def of(cls, facts: SavedChange) -> _Change:
        text = facts.text
        return cls.filled(
            facts,
            kind=text("kind"),
            what=text("what"),
            cluster=text("cluster", "name"),
            context=text("cluster", "context"),
            begun_at=text("at"),
            who=text("who"),
            unread=facts.unknown,
        )


class ChangesResult(KindResult):
    """The changes that were started on this machine, the latest first: kubectl eksdoc changes -o json."""

    kind: Literal["Changes"]
    changes: tuple[_Change, ...]
