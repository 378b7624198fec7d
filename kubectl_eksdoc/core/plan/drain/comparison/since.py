"""The findings of two plans as every command tells them: what is new, what is fixed."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.core.model.baseline import Baseline, Outline
from kubectl_eksdoc.core.model.codes import Code
from kubectl_eksdoc.core.model.earlier import Earlier, FindingOutline
from kubectl_eksdoc.core.plan.drain.comparison.sight import Sight
from kubectl_eksdoc.core.plan.drain.outcome import TargetVerdict
from kubectl_eksdoc.core.plan.since.changes import Asked, Since
from kubectl_eksdoc.core.plan.since.comparing import findings_since
from kubectl_eksdoc.core.plan.since.side import Scope, Side

_CHOOSING = frozenset({"nodes", "selector", "nodegroup", "older-than"})
"""Options that say which nodes are meant."""


def findings_since_then(
    baseline: Baseline, now: Outline, sights: tuple[Sight, Sight], asked: Sequence[Asked], doubt: str
) -> Since:
    """`sights` are what the baseline and this plan could judge. Of the same choice of nodes, what went with a node is
    gone; another choice has not judged what only the other one has."""
    before, (then, here) = baseline.outline, sights
    alike = not any(each.option in _CHOOSING for each in asked)
    first = Side(
        before.findings, read=then.read, scope=None if alike else _scope(before), hides=_hidden(now, then, here)
    )
    second = Side(
        now.findings,
        codes=frozenset(code.name for code in Code.of_area("drain")),
        read=here.read,
        scope=None if alike else _scope(now),
        hides=_hidden(before, here, then),
    )
    changes, unchanged = findings_since(first, second)
    return Since(_earlier(baseline), doubt, tuple(asked), changes, unchanged)


def _scope(plan: Outline) -> Scope:
    return frozenset(("Node", each.name) for each in plan.targets if each.verdict != TargetVerdict.UNKNOWN.value)


def _hidden(other: Outline, sight: Sight, of_other: Sight) -> dict[FindingOutline, str]:
    return {each: "what it rests on was not read" for each in other.findings if sight.lacks(each, of_other)}


def _earlier(baseline: Baseline) -> Earlier:
    return Earlier(
        baseline.file,
        baseline.identity,
        baseline.source,
        baseline.observed_at,
        baseline.tool_version,
        baseline.options,
        baseline.read,
        baseline.outline.findings,
        uids=baseline.uids,
    )
