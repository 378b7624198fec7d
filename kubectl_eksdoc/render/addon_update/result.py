"""What an update of an add-on has done, as ``-o json`` and ``-o yaml`` print it."""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.addon_diff.merging import MissingValue
from kubectl_eksdoc.addon_diff.modes import Fate
from kubectl_eksdoc.addon_diff.run import ended, outcome, rollout, targets
from kubectl_eksdoc.drain.run.stages import Stage
from kubectl_eksdoc.model.asked import Confidence
from kubectl_eksdoc.render.result import UNSET, Count, Lines, ObjectResult, Printed, Text, UnsetType


class RefusalResult(Printed):
    """Why nothing is sent."""

    why: Text
    hint: str


class _Error(Printed):
    code: str
    message: str
    resources: Lines


class _Foretold(Printed):
    fate: Fate
    value: Any | UnsetType
    confidence: Confidence


class _Check(Printed):
    object: ObjectResult
    path: Text
    verdict: outcome.Verdict
    before: Any | UnsetType
    """What stood there before; absent for nothing."""
    now: Any | UnsetType
    """What stands there now; absent for nothing, and where it was not read."""
    owners: Lines
    """Field managers that have it now."""
    why: Text | UnsetType
    foretold: _Foretold | None

    @classmethod
    def of(cls, facts: outcome.FieldCheck) -> _Check:
        def shown(value: Any) -> Any:
            """What stands nowhere is absent."""
            return UNSET if isinstance(value, MissingValue) else facts.field.printed(value)

        told = facts.foretold
        value = shown(told.value) if told is not None and told.fate is not Fate.UNKNOWN else UNSET
        return cls.filled(
            facts,
            object=facts.field.of,
            path=str(facts.field).partition(" - ")[2],
            before=shown(facts.live),
            now=UNSET if facts.verdict is outcome.Verdict.NOT_READ else shown(facts.found),
            foretold=told and _Foretold.filled(fate=told.fate, value=value, confidence=told.sure),
        )


class _Rollout(Printed):
    object: ObjectResult
    desired: Count
    updated: Count
    available: Count
    done: bool
    by_hand: bool
    stuck: Text | None

    @classmethod
    def of(cls, facts: rollout.RolloutState) -> _Rollout:
        return cls.filled(facts, object=facts.of)


class _Targets(Printed):
    service: Text
    healthy_before: Count | None
    healthy_at_worst: Count | None
    healthy_now: Count | None
    unhealthy: Lines
    unread: Text | None

    @classmethod
    def of(cls, facts: targets.Health) -> _Targets:
        never = facts.unread and not facts.before
        return cls.filled(
            facts,
            healthy_before=None if never else facts.before,
            healthy_at_worst=None if never else facts.lowest,
            healthy_now=None if facts.unread else facts.now,
        )


class _Unread(Printed):
    object: ObjectResult
    why: Text


class OutcomeResult(Printed):
    """What an update of an add-on has done."""

    update: Text
    stage: Stage
    seconds: Count
    left: Text | None
    """Why it is followed no longer though it goes on; null where it has ended."""
    errors: tuple[_Error, ...]
    fields: tuple[_Check, ...]
    """Prediction against reality, by object and field."""
    rollouts: tuple[_Rollout, ...]
    not_ready: Lines
    targets: tuple[_Targets, ...]
    unwatched: Text | None
    unread: tuple[_Unread, ...]

    @classmethod
    def of(cls, facts: ended.AddonUpdateResult) -> OutcomeResult:
        return cls.filled(
            facts,
            update=facts.id,
            seconds=round(facts.seconds),
            fields=facts.checks,
            targets=facts.health,
            unread=(_Unread.filled(object=of, why=why) for of, why in facts.unread),
        )
