"""Findings that came, went or changed, by code and subject: their messages hold numbers that change by the hour."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from kubectl_eksdoc.core.model.baseline import FindingOutline
from kubectl_eksdoc.core.model.findings import Severity, Status, Subject
from kubectl_eksdoc.core.plan.drain.comparison.changes import Change, FindingChange
from kubectl_eksdoc.core.plan.drain.comparison.sight import Sight

_Key: TypeAlias = tuple[str, Subject]

_STATUSES = {Status.FAIL: 0, Status.UNKNOWN: 1, Status.PASS: 2}
_SEVERITIES = {severity: rank for rank, severity in enumerate(Severity)}
_CHANGES = {change: rank for rank, change in enumerate(Change)}


def finding_changes(
    before: Iterable[FindingOutline], now: Iterable[FindingOutline], sight_then: Sight, sight_now: Sight
) -> tuple[tuple[FindingChange, ...], int]:
    """What differs, and how many findings do not. New ones first, worst first among those of one kind."""
    then, here = _worst(before), _worst(now)
    changes = []
    for key in then.keys() | here.keys():
        old, new = then.get(key), here.get(key)
        if old is not None and new is not None:
            if _rank(old) != _rank(new):
                changes.append(FindingChange(Change.CHANGED, old, new))
        elif new is not None:
            unseen = sight_then.lacks(new, sight_now)
            changes.append(FindingChange(Change.NOT_JUDGED_BEFORE if unseen else Change.NEW, None, new))
        elif old is not None:
            unseen = sight_now.lacks(old, sight_then)
            changes.append(FindingChange(Change.NOT_JUDGED_NOW if unseen else Change.GONE, old, None))
    return tuple(sorted(changes, key=_order)), len(then.keys() | here.keys()) - len(changes)


def _worst(findings: Iterable[FindingOutline]) -> dict[_Key, FindingOutline]:
    """One finding for each code and subject: of several the worst."""
    found: dict[_Key, FindingOutline] = {}
    for finding in findings:
        key = (finding.code, finding.subject)
        if key not in found or _rank(finding) < _rank(found[key]):
            found[key] = finding
    return found


def _rank(finding: FindingOutline) -> tuple[int, int]:
    return (_STATUSES[finding.status], _SEVERITIES[finding.severity])


def _order(change: FindingChange) -> tuple[object, ...]:
    said = change.either
    return (_CHANGES[change.change], *_rank(said), said.code, said.subject.kind, str(said.subject))
