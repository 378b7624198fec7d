"""Findings that came, went or changed, by code and subject: their messages hold numbers that change by the hour."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from kubectl_eksdoc.core.model.earlier import FindingOutline
from kubectl_eksdoc.core.model.findings import Subject
from kubectl_eksdoc.core.plan.drain.comparison.changes import Change, FindingChange
from kubectl_eksdoc.core.plan.drain.comparison.sight import Sight
from kubectl_eksdoc.core.plan.since.changes import rank

_Key: TypeAlias = tuple[str, Subject]

_CHANGES = {change: place for place, change in enumerate(Change)}


def finding_changes(
    before: Iterable[FindingOutline], now: Iterable[FindingOutline], sight_then: Sight, sight_now: Sight
) -> tuple[tuple[FindingChange, ...], int]:
    """What differs, and how many findings do not. New ones first, worst first among those of one kind."""
    then, here = _worst(before), _worst(now)
    changes = []
    for key in then.keys() | here.keys():
        old, new = then.get(key), here.get(key)
        if old is not None and new is not None:
            if rank(old) != rank(new):
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
        if key not in found or rank(finding) < rank(found[key]):
            found[key] = finding
    return found


def _order(change: FindingChange) -> tuple[object, ...]:
    said = change.either
    return (_CHANGES[change.change], *rank(said), said.code, said.subject.kind, str(said.subject))
