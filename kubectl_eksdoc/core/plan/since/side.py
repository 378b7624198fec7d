"""What an answer says, and what it could have said: that it lacks a finding means something only where it looked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from kubectl_eksdoc.core.model.earlier import FindingOutline
from kubectl_eksdoc.core.model.findings import Status
from kubectl_eksdoc.core.plan.since.pairing import CLUSTER, Said, about, gist

Scope: TypeAlias = frozenset[tuple[str, str]]
"""(kind, name) of what was looked at."""

_MOST_NAMES = 3

_WHOLES = frozenset({CLUSTER, "Command", "Addon", "Node", "Nodes", "NodeGroup", "Nodegroup", "NodePool"})
"""Kinds of subjects of which others are parts: what is unknown of one may hide other codes on its parts."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two answers.

    `codes` are those that were looked for, None for all. `read` are the kinds that were known completely, and `needs`
    those without which a code is not judged. `scope` is what it was narrowed to, None for the whole cluster. `kin` are
    the codes that stay open for a code: where one of them is unknown, so may that code be; by itself only its own.
    `hides`: what the other answer has found and this one could not, each with a clause on why.
    """

    findings: tuple[FindingOutline, ...] = ()
    suppressed: tuple[FindingOutline, ...] = ()
    codes: frozenset[str] | None = None
    read: frozenset[str] = frozenset()
    needs: Mapping[str, frozenset[str]] = field(default_factory=dict)
    scope: Scope | None = None
    kin: Mapping[str, frozenset[str]] = field(default_factory=dict)
    hides: Mapping[FindingOutline, str] = field(default_factory=dict)

    @property
    def said(self) -> Iterator[Said]:
        yield from (Said(each) for each in self.findings)
        yield from (Said(each, True) for each in self.suppressed)

    def not_judged(self, finding: FindingOutline, other: Side) -> str:
        """A clause on why nobody looked here for what `other` has found, "" where somebody did."""
        if self.codes is not None and finding.code not in self.codes:
            return "its check was not made"
        if not self._covers(finding, other):
            return "other objects were looked at"
        if finding in self.hides:
            return self.hides[finding]
        unread = sorted((self.needs.get(finding.code, frozenset()) & other.read) - self.read)
        if unread:
            more = f" and {len(unread) - _MOST_NAMES} more" if len(unread) > _MOST_NAMES else ""
            return f"not read: {', '.join(unread[:_MOST_NAMES])}{more}"
        return ""

    def not_known(self, finding: FindingOutline, other: Side) -> str:
        """What is unknown here that may hide what `other` has found, a message; "" where nothing is.

        What is unknown of an object hides nothing of others of its kind; what stood open in `other` as well did not
        keep it from its finding.
        """
        kin = self.kin.get(finding.code, frozenset()) | {finding.code}
        for each in self.findings:
            if each.status is not Status.UNKNOWN or each.code not in kin:
                continue
            if about(each.subject) == about(finding.subject) or (_wider(each, finding) and not other.leaves_open(each)):
                return each.message
        return ""

    def leaves_open(self, finding: FindingOutline) -> bool:
        """True where the same is unknown here for the same reason."""
        return any(
            each.status is Status.UNKNOWN
            and each.code == finding.code
            and about(each.subject) == about(finding.subject)
            and gist(each.message) == gist(finding.message)
            for each in self.findings
        )

    def _covers(self, finding: FindingOutline, other: Side) -> bool:
        if self.scope is None:
            return True
        if finding.subject.kind in {kind for kind, _ in self.scope}:
            return (finding.subject.kind, str(finding.subject)) in self.scope
        return other.scope is not None and other.scope <= self.scope


def _wider(unknown: FindingOutline, finding: FindingOutline) -> bool:
    """Whether it may be about more than its own subject."""
    kind, other = unknown.subject.kind, finding.subject.kind
    return kind == CLUSTER or (kind != other and (unknown.code == finding.code or kind in _WHOLES))
