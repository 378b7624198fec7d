"""What ``drain status`` shows: the runs of a cluster, and what nodes say of runs that have no journal there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from kubectl_eksdoc.drain.run.journal import Journaled
from kubectl_eksdoc.model.journal import Held, RunSummary, Timed
from kubectl_eksdoc.render.drain.rows import NONE
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.record.rows import because
from kubectl_eksdoc.render.tables import Column, Title, drawn
from kubectl_eksdoc.render.text import counted, duration, listing, shown, wrap

# Predicted against actual: what the plans of past runs said, and what happened.


@dataclass(frozen=True, slots=True)
class Past:
    """A run and what stands in its journal. `timed`: of its last part that came to its end."""

    run: RunSummary
    journaled: Journaled

    @property
    def timed(self) -> Timed | None:
        return self.journaled.timed[-1] if self.journaled.timed else None

    @property
    def resumed(self) -> bool:
        begun = self.journaled.begun
        return begun is not None and self.journaled.leader != begun.leader

    @property
    def predicted(self) -> tuple[float | None, float | None, float | None]:
        """p50, p95 and the lower bound of what `timed` tells of, or of the whole run."""
        timed, begun = self.timed, self.journaled.begun
        if timed is not None:
            return timed.p50_s, timed.p95_s, timed.bound_s
        return (begun.p50_s, begun.p95_s, begun.bound_s) if begun is not None else (None, None, None)


def table(history: Sequence[Past], look: Look) -> list[str]:
    columns = [Column("RUN"), *(Column(each, right=True) for each in ("BOUND", "P50", "P95", "TOOK", "ERROR"))]
    columns += [Column("OUTCOME", drop=2), Column("THE DIFFERENCE", floor=24, lines=2, drop=1)]
    return [*drawn(Title(""), (columns, [_row(past) for past in history]), look, False)[1:], *_summary(history, look)]


def _row(past: Past) -> list[str]:
    timed = past.timed
    p50_s, p95_s, bound_s = past.predicted
    took = error = NONE
    why = "its last part alone: it was resumed" if past.resumed and timed is not None else NONE
    if timed is not None:
        took = duration(timed.took_s)
        error = f"{timed.error_s / timed.p50_s:+.0%}" if timed.p50_s else NONE
        causes = because(dict(timed.causes))
        why = "; ".join(each for each in (causes, why if past.resumed else "") if each) or NONE
    elif p50_s is None:
        why = "its journal has no prediction"
    return [past.run.run, _told(bound_s), _told(p50_s), _told(p95_s), took, error, past.journaled.ended or NONE, why]


def _told(value: float | None) -> str:
    return NONE if value is None else duration(value)


def _summary(history: Sequence[Past], look: Look) -> list[str]:
    """How good the predictions were, so that one knows how far to trust the next one."""
    timed = [past.timed for past in history if past.timed is not None and past.timed.p50_s]
    if not timed:
        return ["", "No run of these came to its end with a prediction."]
    within = sum(each.took_s <= each.p95_s for each in timed)
    error = median(abs(each.error_s) / each.p50_s for each in timed)
    text = f"{counted(len(timed), 'run')} with a prediction: {within} within p95, median error {error:.0%} of p50."
    return ["", *wrap(shown(text, look), look.columns)]


_MOST_NAMES = 6


@dataclass(frozen=True, slots=True)
class WithoutJournal:
    """A run that is known by what `nodes` say of it alone. `gone`: its journal is not in `namespace` any more; else it
    may be there, in another namespace than was asked for. `command` takes it back, or shows it."""

    run: str
    nodes: tuple[str, ...]
    namespace: str
    gone: bool
    command: str

    @property
    def said(self) -> str:
        carry = f"{counted(len(self.nodes), 'node')} {'carry' if len(self.nodes) > 1 else 'carries'} its notes"
        what = "its journal is gone" if self.gone else f"its journal is in namespace {self.namespace}"
        return f"run {self.run}: {what}; {carry} ({listing(self.nodes, _MOST_NAMES, Look())})"


@dataclass(frozen=True, slots=True)
class StatusView:
    """`run` is one of `runs` in full, None where only the list is asked for; `held` is the lock, None where it must
    not be read. `without`: runs that are known by nodes alone; `notes`: what could not be checked; `history`: the
    runs against their plans, None where that was not asked for."""

    namespace: str
    now: datetime
    runs: Sequence[RunSummary]
    held: Held | None
    run: RunSummary | None = None
    journaled: Journaled | None = None
    without: tuple[WithoutJournal, ...] = ()
    notes: tuple[str, ...] = ()
    history: tuple[Past, ...] | None = None

    @property
    def led(self) -> bool:
        return self.held is None or self.held.led
