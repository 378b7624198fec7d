"""What the results of a run and of a rehearsal share. What is not known or did not happen is null, never 0."""

from __future__ import annotations

from kubectl_eksdoc.drain.run.record import Placement
from kubectl_eksdoc.model.journal import Cause
from kubectl_eksdoc.render.drain.result_parts import Seconds, SoakResult, rounded
from kubectl_eksdoc.render.record.rows import NodeRun, RecordView, Refused
from kubectl_eksdoc.render.result import Count, Positive, Printed, Text, Texts


class RecordCause(Printed):
    cause: Cause
    seconds: float

    @classmethod
    def of(cls, facts: tuple[Cause, float]) -> RecordCause:
        return cls.filled(cause=facts[0], seconds=rounded(facts[1]))


class RecordEstimate(Printed):
    """Seconds, as in DrainPlan: in half of all cases, and in 19 of 20."""

    p50: Seconds
    p95: Seconds
    soak: SoakResult | None


class RecordPlan(Printed):
    """What the plan says that was run or rehearsed."""

    drained: Count
    """Nodes that it drains."""
    skipped: Count
    """Targets that it does not drain."""
    evictions: Count
    estimate: RecordEstimate | None
    """null: nothing is drained, or its times are not known."""

    @classmethod
    def of(cls, facts: RecordView) -> RecordPlan:
        plan, estimate = facts.plan, facts.plan.estimate
        return cls.filled(
            drained=len(facts.nodes),
            skipped=len(plan.skipped),
            evictions=len(plan.evictions),
            estimate=estimate
            and RecordEstimate.filled(p50=rounded(estimate.p50_s), p95=rounded(estimate.p95_s), soak=facts.soak),
        )


class RecordNode(Printed):
    """A node of the plan, and when it was begun, empty, and done (empty since some seconds)."""

    name: Text
    wave: Positive | None
    """The plan's wave or generation."""
    begun_seconds: Seconds | None
    """From when its first eviction might be asked for."""
    empty_seconds: Seconds | None
    """When nothing that is evicted was on it any more."""
    done_seconds: Seconds | None
    evictions: Count
    refusals: Count
    """Evictions that were asked for and refused."""
    left: Texts
    """Pods (namespace/name) that should have been evicted and were not, without those that the plan leaves."""

    @classmethod
    def of(cls, facts: NodeRun) -> RecordNode:
        return cls.filled(
            facts,
            wave=facts.target.wave or None,
            begun_seconds=rounded(facts.begun_s),
            empty_seconds=rounded(facts.empty_s),
            done_seconds=rounded(facts.done_s),
        )


class RecordPlacement(Printed):
    node: Text
    planned: Count
    scheduled: Count
    target: bool

    @classmethod
    def of(cls, facts: Placement) -> RecordPlacement:
        return cls.filled(facts, scheduled=facts.placed)


class RecordRefusal(Printed):
    """A cause that the server gave, and how often."""

    cause: Text | None
    """null: it gave none."""
    count: Positive

    @classmethod
    def of(cls, facts: Refused) -> RecordRefusal:
        return cls.filled(facts, count=facts.times)


class RecordPending(Printed):
    """A pod (namespace/name) without a node."""

    pod: Text
    why: Text | None
    """What the scheduler reported; null: nothing."""
    before: bool
    """Whether it had no node before the drain began either."""


def recorded(view: RecordView) -> dict[str, object]:
    """The fields that a run and a rehearsal share; placements are null where they were not seen."""
    record = view.record
    seen = record.placed is not None
    return {
        "plan": view,
        "ended_seconds": rounded(view.ended_s),
        "late_seconds": rounded(view.late_s),
        "nodes": view.nodes,
        "placements": record.placements if seen else None,
        "on_targets": record.on_targets if seen else None,
        "cordoned_only": record.cordoned_only,
        "refusals": view.refusals,
        "pending": view.pending,
        "re_evicted": record.re_evicted,
        "not_emptied": [node.name for node in view.not_emptied],
        "findings": view.planned.findings,
    }
