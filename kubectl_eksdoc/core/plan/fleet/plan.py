"""What the answers of a fleet come to: rows, what many clusters share, one exit code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.core.model.cluster import Source
from kubectl_eksdoc.core.model.findings import Severity, Status
from kubectl_eksdoc.core.model.fleet import Answered, Member, Outcome
from kubectl_eksdoc.core.plan.fleet.standing import Row, Standing

WORST_FIRST = (70, 3, 4, 2, 1, 5, 0)
"""Of several exit codes the first of these is the fleet's: a bug, a cluster that could not be asked, AWS that could not
be, what one cluster would not take of the command line; and only when all were judged what was found."""

_SEVERITIES = tuple(Severity)
_RIGHT = re.compile(r"(?:(?:get|list|watch) \S+|[a-z0-9-]+:[A-Z]\w+)\Z")


@dataclass(frozen=True, slots=True)
class Shared:
    """A code that several clusters have, with its worst severity; `members`: their names, sorted."""

    code: str
    title: str
    severity: Severity
    status: Status
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lacking:
    """A right of RBAC (``list leases.coordination.k8s.io``) or an action of IAM (``eks:ListInsights``) without which
    something is unknown; `members`: where, their names, sorted."""

    right: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """`rows`: the worst first; `shared` and `lacking`: what most have first; `notes`: sentences."""

    rows: tuple[Row, ...]
    shared: tuple[Shared, ...] = ()
    lacking: tuple[Lacking, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        return min((row.outcome.exit_code for row in self.rows), key=_badness, default=0)

    def standing(self, as_this: Standing) -> int:
        """How many stand so."""
        return sum(row.standing is as_this for row in self.rows)

    @property
    def observed_at(self) -> str:
        """The oldest observation, "" where nobody answered."""
        seen = (row.outcome.observed_at for row in self.rows if isinstance(row.outcome, Answered))
        return min(filter(None, seen), default="")


def summed(outcomes: Iterable[tuple[Member, Outcome]], least: Severity = Severity.INFO) -> FleetPlan:
    """The same answers are the same plan, in whatever order they came. `least`: what is less severe does not count."""
    rows = tuple(sorted((Row(member, outcome, least) for member, outcome in outcomes), key=lambda row: row.rank))
    return FleetPlan(rows, _shared(rows), _lacking(rows), _notes(rows))


def _badness(code: int) -> int:
    return WORST_FIRST.index(code) if code in WORST_FIRST else 0


def _shared(rows: Sequence[Row]) -> tuple[Shared, ...]:
    """What fails, or is unknown, in more than one of them."""
    members: dict[tuple[str, Status], set[str]] = {}
    worst: dict[tuple[str, Status], tuple[int, str]] = {}
    for row in rows:
        for each in row.findings:
            if each.status is Status.PASS:
                continue
            key = (each.code, each.status)
            members.setdefault(key, set()).add(row.member.name)
            seen = (_SEVERITIES.index(each.severity), each.title)
            worst[key] = min(worst.get(key, seen), seen)
    found = [
        Shared(code, worst[code, status][1], _SEVERITIES[worst[code, status][0]], status, tuple(sorted(names)))
        for (code, status), names in members.items()
        if len(names) > 1
    ]
    return tuple(sorted(found, key=_rank))


def _rank(shared: Shared) -> tuple[object, ...]:
    """What fails comes before what is unknown: without AWS's answers forty things are, everywhere."""
    unknown = shared.status is Status.UNKNOWN
    return (unknown, -len(shared.members), _SEVERITIES.index(shared.severity), shared.code)


def _lacking(rows: Sequence[Row]) -> tuple[Lacking, ...]:
    """Of more than one of them: who may give it once gives it to all."""
    members: dict[str, set[str]] = {}
    for row in rows:
        for each in row.findings:
            if each.status is Status.UNKNOWN and _RIGHT.match(each.missing):
                members.setdefault(each.missing, set()).add(row.member.name)
    found = (Lacking(right, tuple(sorted(names))) for right, names in members.items() if len(names) > 1)
    return tuple(sorted(found, key=lambda each: (-len(each.members), each.right)))


def _notes(rows: Sequence[Row]) -> tuple[str, ...]:
    """Members that turn out to be one cluster are counted twice; snapshots of it at other times are others."""
    same: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if isinstance(row.outcome, Answered) and row.outcome.who.uid:
            when = "" if row.outcome.source == Source.LIVE.value else row.outcome.observed_at
            same.setdefault((row.outcome.who.uid, when), []).append(row.member.name)
    alike = (sorted(names) for names in same.values() if len(names) > 1)
    return tuple(f"{', '.join(names)} are the same cluster." for names in sorted(alike))
