"""Report of the changes that were started on this machine, in every format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.change_journal import TEST_PODS, ChangeState, SavedChange
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.report.report import BulletList, Heading, Report, Section, Table, TextBlock, verbatim_line
from kubectl_eksdoc.report.result import KindResult, Printed, Text
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    Row,
    Title,
    Tone,
    as_columns,
    name_column,
    pluralize,
    text_column,
)

_TONES = {
    ChangeState.OPEN: Tone.WARN,
    ChangeState.FAILED: Tone.BAD,
    ChangeState.DONE: Tone.GOOD,
    ChangeState.UNKNOWN: Tone.UNKNOWN,
}


@frozen
class ChangesReport(Report):
    """The latest first."""

    noun_phrase = "a list of changes"

    changes: tuple[SavedChange, ...]

    def sections(self, full: bool) -> Iterator[Section]:
        waiting = [each for each in self.changes if each.state is ChangeState.OPEN]
        counts = f"{len(waiting)} of {pluralize(len(self.changes), 'change')}"
        unread = [each for each in self.changes if each.state is ChangeState.UNKNOWN]
        unread_text = f"; of {len(unread)} it is not known" if unread else ""
        yield Heading(f"{counts} on this machine {'is' if len(waiting) == 1 else 'are'} open{unread_text}.")
        columns = as_columns(
            text_column("ID", 20),
            "KIND",
            name_column("CHANGE", 20),
            name_column("CLUSTER", 8),
            Column("BEGUN", drop_order=1),
            "STATE",
        )
        rows: list[Row] = [
            [
                each.id,
                each.text("kind") or "?",
                each.text("what") or "?",
                cluster_name(each) or "?",
                each.text("at") or "?",
                Cell(each.state.value, _TONES.get(each.state)),
            ]
            for each in self.changes
        ]
        yield Table("Changes", (columns, rows), "changes")
        lines = [line for each in waiting for line in change_commands(each)]
        yield TextBlock(Title("Open", ": continue it, or revert it"), [verbatim_line(each) for each in lines])
        yield BulletList("Not known", [f"{each.id}: {each.unknown_reason}" for each in unread])

    def result(self) -> object:
        return ChangesResult.from_facts(self)


def cluster_name(change: SavedChange) -> str:
    return change.text("cluster", "name") or change.text("cluster", "context")


def change_commands(change: SavedChange) -> tuple[str, ...]:
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
    state: ChangeState
    unread: Text | None

    @classmethod
    def of(cls, facts: SavedChange) -> _Change:
        text = facts.text
        return cls.from_facts(
            facts,
            kind=text("kind"),
            what=text("what"),
            cluster=text("cluster", "name"),
            context=text("cluster", "context"),
            begun_at=text("at"),
            who=text("who"),
            unread=facts.unknown_reason,
        )


class ChangesResult(KindResult):
    """The changes that were started on this machine, the latest first: kubectl eksdoc changes -o json."""

    kind: Literal["Changes"]
    changes: tuple[_Change, ...]
