"""The chain from EventBridge to Karpenter: each link with what is there, and the finding that it makes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Status, Subject
from kubectl_eksdoc.model.interruption import EVENTS
from kubectl_eksdoc.model.missing_rights import allow


@dataclass(frozen=True, slots=True)
class Link:
    """`status` None: nothing is wrong or right with it, as `what` says: it cannot be judged before another one is
    mended, or has no effect. `vital`: no notice of a Spot
    interruption arrives without it. `name` in a few words, `what` a clause. `made`: where it fails, a repair can make
    what it lacks; else a person must decide."""

    code: Code
    name: str
    subject: Subject
    status: Status | None
    what: str
    vital: bool = True
    evidence: tuple[str, ...] = ()
    missing: str = ""
    remedy: tuple[Remedy, ...] = ()
    made: bool = True
    lacks: tuple[Unknown, ...] = ()

    @property
    def failed(self) -> bool:
        return self.status is Status.FAIL

    def finding(self, severity: Severity) -> Finding | None:
        """None where nothing is wrong with it, or where that is another's."""
        if self.status is None or self.status is Status.PASS:
            return None
        of = self.code, severity, self.status, self.subject, self.what, self.evidence, self.remedy, self.missing
        chain = self.failed and self.code is not Code.of("interruption-karpenter")
        return Finding(*of, EVENTS if chain else None, self.lacks)


def unknown(link: Link, why: Unknown, fact: str) -> Link:
    """`link` of which it is not known; `fact`: what would tell, where no right does."""
    remedy = allow(why.missing) if why.missing else Remedy(AGAIN)
    missing = why.missing or fact
    return replace(link, status=Status.UNKNOWN, what=why.why, missing=missing, remedy=(remedy,), lacks=(why,))


AGAIN = "Ask again; --debug shows what AWS was asked."


def handled(links: Iterable[Link]) -> bool | None:
    """Whether Karpenter hears of a Spot interruption; None where it is not known."""
    vital = [each for each in links if each.vital]
    if not vital or any(each.failed for each in vital):
        return False
    return None if any(each.status is not Status.PASS for each in vital) else True
