"""What became of findings since an earlier answer, as a part of a result."""

from __future__ import annotations

from typing import Annotated, Any

from kubectl_eksdoc.baseline.changes import FindingChangeKind, FindingSince, ResultComparison
from kubectl_eksdoc.model.baseline import FindingOutline
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.report.command_result import ClusterResult
from kubectl_eksdoc.report.result import Count, Meta, Moment, Printed, SubjectResult, Text, Texts

_KEYS = {
    "new": FindingChangeKind.NEW,
    "fixed": FindingChangeKind.FIXED,
    "changed": FindingChangeKind.CHANGED,
    "not_known_any_more": FindingChangeKind.NOT_KNOWN,
    "not_judged_this_time": FindingChangeKind.NOT_JUDGED,
    "known_now": FindingChangeKind.KNOWN,
    "suppressed": FindingChangeKind.SUPPRESSED,
}


class SinceSaid(Printed):
    """What an answer says of a finding."""

    severity: Severity
    status: Status
    message: Text
    suppressed: bool
    """It does not count there."""


class SinceFinding(Printed):
    """What became of a finding. null: that answer does not say it."""

    called = {"code": "either.code", "subject": "either.subject"}

    code: Text
    subject: SubjectResult
    earlier: SinceSaid | None
    now: SinceSaid | None
    worse: bool | None
    """Whether it is worse now; null where only one answer says it, or both say the same of it."""
    why: Text | None
    """Why the answer that does not say it could not have said it; null where it could."""

    @classmethod
    def of(cls, facts: FindingSince) -> SinceFinding:
        return cls.filled(
            facts,
            earlier=_said(facts.before, facts.hidden_before),
            now=_said(facts.now, facts.hidden_now),
        )


def _said(finding: FindingOutline | None, hidden: bool) -> SinceSaid | None:
    return None if finding is None else SinceSaid.filled(finding, suppressed=hidden)


class SinceOption(Printed):
    called = {"earlier": "before"}

    option: Text
    earlier: Any
    now: Any


class SinceResult(Printed):
    """What became of findings since an earlier answer of the same command; only with --since. earlier and now are the
    two answers."""

    file: Text
    tool_version: Text
    cluster: ClusterResult
    source: Source
    observed_at: Moment
    """When the facts of the earlier answer were read, UTC."""
    same_cluster: Annotated[bool, Meta(extra_json_schema={"const": True})] | None
    """null: what is known of both does not tell; answers about two clusters are never compared."""
    asked: tuple[SinceOption, ...]
    """Options that were given differently; null: not given."""
    notes: Texts
    """What else makes the answers differ."""
    new: tuple[SinceFinding, ...]
    """Fails now, and did not fail then."""
    fixed: tuple[SinceFinding, ...]
    """Failed then; it was judged now, and passes or is not found."""
    changed: tuple[SinceFinding, ...]
    """Of another severity, or it counts again that was suppressed."""
    not_known_any_more: tuple[SinceFinding, ...]
    """Unknown now, and it was not then: what failed then is not fixed by that."""
    not_judged_this_time: tuple[SinceFinding, ...]
    """Found then, and not looked for now, so it is not fixed; why says what kept it from being judged."""
    known_now: tuple[SinceFinding, ...]
    """Unknown then; it was judged now, and passes or is not found."""
    suppressed: tuple[SinceFinding, ...]
    """Does not count now because a user suppressed it, and counted then or was not there."""
    unchanged: Count
    """How many findings that fail or are unknown are as they were."""

    @classmethod
    def of(cls, facts: ResultComparison) -> SinceResult:
        return cls.filled(
            facts.earlier,
            cluster=facts.earlier.identity,
            same_cluster=None if facts.doubt else True,
            asked=facts.asked,
            notes=facts.notes,
            unchanged=facts.unchanged,
            **{key: facts.of(became) for key, became in _KEYS.items()},
        )
