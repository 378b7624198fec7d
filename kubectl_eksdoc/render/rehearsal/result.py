"""The rehearsal as ``-o json`` and ``-o yaml`` print it. What is not known or did not happen is null, never 0."""

from __future__ import annotations

from typing import Literal

from kubectl_eksdoc.drain.run import moments
from kubectl_eksdoc.drain.run.moments import Happened
from kubectl_eksdoc.render.command_result import CommandResult, metadata
from kubectl_eksdoc.render.drain.estimate_result import Seconds
from kubectl_eksdoc.render.record.result import (
    RecordNode,
    RecordPending,
    RecordPlacement,
    RecordPlan,
    RecordRefusal,
    recorded,
    seconds,
)
from kubectl_eksdoc.render.record.view import RecordView
from kubectl_eksdoc.render.rehearsal import table
from kubectl_eksdoc.render.result import Count, FindingResult, Printed, Text, Texts


class _Moment(Printed):
    """One thing that happened."""

    at_seconds: Seconds
    what: Happened
    subject: Text
    """A node, or a pod (namespace/name); of a fault also the control plane, or how many pods."""
    node: Text | None
    """The pod's; null where the subject is a node."""
    why: Text | None
    """Of a refusal the server's cause, or its message; of a fault its effect on the subject."""

    @classmethod
    def of(cls, facts: moments.Moment) -> _Moment:
        return cls.filled(facts, at_seconds=seconds(facts.at_s))


class RehearsalResult(CommandResult):
    """The result of a drain that was tried in virtual time: kubectl eksdoc drain rehearse -o json. All seconds count
    from the start of the drain. Lists are sorted; null is not known or did not happen, never 0."""

    kind: Literal["DrainRehearsal"]
    plan: RecordPlan
    ended_seconds: Seconds
    """When the last node was done, or nothing happened any more."""
    late_seconds: float | None
    """How much longer than the plan's p50; negative: sooner. null where one of both has no end."""
    nodes: tuple[RecordNode, ...]
    """Those that the plan drains, in its order."""
    moments: tuple[_Moment, ...]
    """All that happened, by time."""
    placements: tuple[RecordPlacement, ...] | None
    """Onto which nodes replacements were to be and were scheduled, targets first; null where that was not seen."""
    on_targets: Count | None
    """How many replacements were scheduled onto targets."""
    cordoned_only: Texts
    """Targets that are not drained and were cordoned."""
    refusals: tuple[RecordRefusal, ...]
    """The most frequent cause first."""
    pending: tuple[RecordPending, ...]
    """Pods without a node at the end: those that the drain leaves without one first, then those that had none
    before."""
    re_evicted: Texts
    """Pods (namespace/name) that were evicted more than once: by name, which only those keep that have one of their
    own."""
    not_emptied: Texts
    """Nodes that the plan drains and the rehearsal did not empty, in the plan's order."""
    differences: Texts
    """Where rehearsal and plan disagree, in sentences, or one that says that nothing differs. Empty where no node is
    drained."""
    not_shown: Texts
    """What no rehearsal can tell."""
    findings: tuple[FindingResult, ...]
    """The plan's."""

    @classmethod
    def of(cls, facts: RecordView) -> RehearsalResult:
        return cls.filled(
            facts,
            metadata=metadata(facts.cluster, facts),
            differences=table.differences(facts),
            not_shown=table.NOT_SHOWN,
            **recorded(facts),
        )
