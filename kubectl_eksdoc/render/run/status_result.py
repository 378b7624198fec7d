"""The runs of a cluster as ``drain status`` prints them. What is not known is null, never 0."""

from __future__ import annotations

from typing import Annotated, Literal

from kubectl_eksdoc import __version__
from kubectl_eksdoc.drain.run.account import NodeAccount, nodes_of
from kubectl_eksdoc.model.journal import Phase, RunSummary
from kubectl_eksdoc.render.drain.estimate_result import Seconds
from kubectl_eksdoc.render.record.result import RecordCause, seconds
from kubectl_eksdoc.render.result import Count, KindResult, Meta, Moment, Positive, Printed, Text, Texts
from kubectl_eksdoc.render.run.status_view import Past, StatusView, WithoutJournal


class _Summary(Printed):
    """A run in the list."""

    run: Text
    phase: Text
    """running, paused, aborted or ended, or a word of a newer version."""
    begun_at: Moment | None
    updated_at: Moment | None
    leader: Text | None
    said: Text | None
    """The progress that its leader reported last."""

    @classmethod
    def of(cls, facts: RunSummary) -> _Summary:
        return cls.filled(facts, begun_at=facts.begun, updated_at=facts.updated)


class _Node(Printed):
    """A node that the run drains, by its journal."""

    node: Text
    wave: Positive | None
    state: Literal["waiting", "cordoned", "draining", "done", "left-alone", "lost"]
    granted: Count
    """Evictions that the API server granted, restarts of a workload, and deletions past a budget."""
    gone: Count
    """Pods that were gone before their eviction was requested."""
    refused: Count
    in_doubt: Count
    """Requests without an answer."""

    @classmethod
    def of(cls, facts: NodeAccount) -> _Node:
        return cls.filled(facts, wave=facts.wave or None)


class _Run(_Summary):
    """One run in full."""

    led: bool
    """Whether a process leads it now."""
    ended: Text | None
    """Its outcome; null: it has not ended."""
    who: Text | None
    host: Text | None
    plan: Text | None
    """The digest of its plan."""
    nodes: tuple[_Node, ...]
    cordoned: Texts
    """Nodes that drain rollback would restore."""
    in_doubt: Count
    dropped: Texts
    """What of its journal was not taken into account, and why."""


def _run(view: StatusView) -> _Run | None:
    run, journaled = view.run, view.journaled
    if run is None or journaled is None:
        return None
    begun = journaled.begun
    return _Run.filled(
        journaled,
        **{name: getattr(run, name) for name in ("run", "phase", "leader", "said")},
        begun_at=run.begun,
        updated_at=run.updated,
        led=view.led and journaled.phase is not Phase.ENDED,
        who=begun and begun.who,
        host=begun and begun.host,
        plan=begun and begun.plan,
        nodes=nodes_of(journaled),
        cordoned=(each.node for each in journaled.cordoned),
        in_doubt=len(journaled.in_doubt),
    )


class _WithoutJournal(Printed):
    """A run that is known by annotations of nodes alone."""

    run: Text
    journal: Literal["gone", "elsewhere"]
    """gone: the namespace was searched, and the journal is not there any more."""
    namespace: Text
    """Where its journal is or was, as the annotations say."""
    nodes: Annotated[Texts, Meta(min_length=1)]
    """Those that carry its annotations."""
    command: Text
    """Rolls the run back, or shows it."""

    @classmethod
    def of(cls, facts: WithoutJournal) -> _WithoutJournal:
        return cls.filled(facts, journal="gone" if facts.gone else "elsewhere")


class _Past(Printed):
    """A run against its plan, in seconds without pauses. Of a resumed run the figures are of its last part. null: not
    known, as in journals of older versions or of runs that did not come to their end."""

    run: Text
    begun_at: Moment | None
    outcome: Text | None
    resumed: bool
    p50: Seconds | None
    p95: Seconds | None
    lower_bound: Seconds | None
    took: Seconds | None
    error: float | None
    """took minus p50."""
    causes: tuple[RecordCause, ...]
    """By how many seconds each made the run longer than p50, or shorter (negative)."""

    @classmethod
    def of(cls, facts: Past) -> _Past:
        timed = facts.timed
        p50_s, p95_s, bound_s = facts.predicted
        return cls.filled(
            facts,
            run=facts.run.run,
            begun_at=facts.run.begun,
            outcome=facts.journaled.ended,
            p50=seconds(p50_s),
            p95=seconds(p95_s),
            lower_bound=seconds(bound_s),
            took=timed and seconds(timed.took_s),
            error=timed and seconds(timed.error_s),
            causes=timed.causes if timed else (),
        )


class StatusResult(KindResult):
    """The runs of a cluster: kubectl eksdoc drain status -o json."""

    kind: Literal["DrainRunStatus"]
    tool_version: Text
    namespace: Text
    """Where the journals are."""
    at: Moment
    holder: Text | None
    """Who holds the lock of this cluster's drains; null where it is free, or must not be read."""
    runs: tuple[_Summary, ...]
    """The latest first."""
    run: _Run | None
    """The one that was named, or that is under way; null where all are listed."""
    without_journal: tuple[_WithoutJournal, ...]
    """Runs that have no journal in this namespace, known by annotations of nodes, by their ids."""
    history: tuple[_Past, ...] | None
    """With --history: what was predicted of each run and what happened; else null."""
    notes: Texts
    """What could not be checked."""

    @classmethod
    def of(cls, facts: StatusView) -> StatusResult:
        held = facts.held
        return cls.filled(
            facts,
            tool_version=__version__,
            at=facts.now,
            holder=held.holder if held and held.led else None,
            run=_run(facts),
            without_journal=facts.without,
        )
