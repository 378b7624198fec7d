"""What became of findings since an earlier answer, as data: the rows that every format shows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kubectl_eksdoc.core.model.earlier import Earlier, FindingOutline
from kubectl_eksdoc.core.model.findings import Finding, Severity, Status
from kubectl_eksdoc.core.plan.since.asked import Asked

_STATUSES = {Status.FAIL: 0, Status.UNKNOWN: 1, Status.PASS: 2}
_SEVERITIES = {severity: rank for rank, severity in enumerate(Severity)}


class Became(str, Enum):
    """In the order in which they are shown. What one of the answers could not say has neither come nor gone."""

    NEW = "new"  # it fails now, and did not fail then
    CHANGED = "changed"  # of another severity, or it counts again that was suppressed
    NOT_KNOWN = "not-known-any-more"  # unknown now, and it was not then
    NOT_JUDGED = "not-judged-this-time"  # it was there then, and nobody looked for it now
    SUPPRESSED = "suppressed"  # somebody has decided that it does not count
    FIXED = "fixed"  # it failed then, and passes or is gone now
    KNOWN = "known-now"  # it was unknown then, and passes or is gone now


@dataclass(frozen=True, slots=True)
class FindingSince:
    """One finding of either answer or of both. `before` or `now` is None where that answer does not say it.

    `why` is a clause that says why the answer without it could not say it, "" where it could. `hidden_before` and
    `hidden_now`: it stood or stands there as suppressed.
    """

    became: Became
    before: FindingOutline | None
    now: FindingOutline | None
    why: str = ""
    hidden_before: bool = False
    hidden_now: bool = False

    @property
    def either(self) -> FindingOutline:
        """What is said of it now, else what was said."""
        said = self.now or self.before
        assert said is not None, "a change is of something"
        return said

    @property
    def worse(self) -> bool | None:
        """None where it cannot be told which is worse."""
        if self.before is None or self.now is None or rank(self.before) == rank(self.now):
            return None
        return rank(self.now) < rank(self.before)


@dataclass(frozen=True, slots=True)
class Since:
    """This answer against `earlier`. `doubt` says why it may be of another cluster, "" when it is of this one.

    `changes` in the order of `Became`, worst first among those of one kind; `unchanged` is how many findings that fail
    or are unknown are as they were. `notes` are sentences on what else makes the answers differ.
    """

    earlier: Earlier
    doubt: str = ""
    asked: tuple[Asked, ...] = ()
    changes: tuple[FindingSince, ...] = ()
    unchanged: int = 0
    notes: tuple[str, ...] = ()

    def of(self, became: Became) -> tuple[FindingSince, ...]:
        return tuple(each for each in self.changes if each.became is became)

    def marks(self) -> dict[FindingOutline, FindingSince]:
        """What became of those of this answer that are not as they were."""
        return {each.now: each for each in self.changes if each.now is not None}


def outline_of(finding: Finding) -> FindingOutline:
    """As its own document is read."""
    return FindingOutline(finding.code.name, finding.subject, finding.severity, finding.status, finding.message)


def rank(finding: FindingOutline) -> tuple[int, int]:
    """Less is worse."""
    return (_STATUSES[finding.status], _SEVERITIES[finding.severity])
