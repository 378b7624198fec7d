"""Findings that came, went or changed, by code and subject: their messages hold numbers that change by the hour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from kubectl_eksdoc.core.model.baseline import FindingOutline
from kubectl_eksdoc.core.model.findings import Severity, Status, Subject
from kubectl_eksdoc.core.plan.drain.comparison.changes import Change, FindingChange

_Key: TypeAlias = tuple[str, Subject]

_CLUSTER = "Cluster"
"""The kind of subject of a question that could not be answered for any object."""

_STATUSES = {Status.FAIL: 0, Status.UNKNOWN: 1, Status.PASS: 2}
_SEVERITIES = {severity: rank for rank, severity in enumerate(Severity)}
_CHANGES = {change: rank for rank, change in enumerate(Change)}


def finding_changes(
    before: Iterable[FindingOutline], now: Iterable[FindingOutline]
) -> tuple[tuple[FindingChange, ...], int]:
    """What differs, and how many findings do not. New ones first, worst first among those of one kind."""
    then, here = _worst(before), _worst(now)
    unanswered_then, unanswered_now = _unanswered(then), _unanswered(here)
    changes = []
    for key in then.keys() | here.keys():
        old, new, code = then.get(key), here.get(key), key[0]
        if old is None:
            changes.append(FindingChange(_of(Change.NEW, key, code in unanswered_then), None, new))
        elif new is None:
            changes.append(FindingChange(_of(Change.GONE, key, code in unanswered_now), old, None))
        elif _rank(old) != _rank(new):
            changes.append(FindingChange(Change.CHANGED, old, new))
    return tuple(sorted(changes, key=_order)), len(then.keys() | here.keys()) - len(changes)


def _of(change: Change, key: _Key, unanswered: bool) -> Change:
    """`change`, unless the plan that lacks the finding could not answer its question."""
    if not unanswered or key[1].kind == _CLUSTER:
        return change
    return Change.NOT_JUDGED_BEFORE if change is Change.NEW else Change.NOT_JUDGED_NOW


def _worst(findings: Iterable[FindingOutline]) -> dict[_Key, FindingOutline]:
    """One finding for each code and subject: of several the worst."""
    found: dict[_Key, FindingOutline] = {}
    for finding in findings:
        key = (finding.code, finding.subject)
        if key not in found or _rank(finding) < _rank(found[key]):
            found[key] = finding
    return found


def _unanswered(findings: Mapping[_Key, FindingOutline]) -> frozenset[str]:
    """The codes whose question was not answered for the whole cluster."""
    return frozenset(
        code
        for (code, subject), finding in findings.items()
        if finding.status is Status.UNKNOWN and subject.kind == _CLUSTER
    )


def _rank(finding: FindingOutline) -> tuple[int, int]:
    return (_STATUSES[finding.status], _SEVERITIES[finding.severity])


def _order(change: FindingChange) -> tuple[object, ...]:
    said = change.either
    return (_CHANGES[change.change], *_rank(said), said.code, said.subject.kind, str(said.subject))
