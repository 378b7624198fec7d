"""Clusters of a fleet: their choice, the standing of each, and the one exit code.

Belongs here: the choice of clusters, the order of rows, the one exit code. Never here: the check of one cluster (each
command's own plan), processes, files, layout.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from fnmatch import fnmatchcase

from kubectl_eksdoc.errors import UsageError, maybe
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import JudgedMember, Member, MemberFinding, Outcome, UnjudgedMember
from kubectl_eksdoc.model.findings import Severity, Status

# Clusters of a fleet: from the value of a flag, or from the entries of a file.


FLAG = "--fleet"
KEYS = {
    "name": "name",
    "context": "context",
    "kubeconfig": "kubeconfig",
    "cluster-name": "cluster",
    "region": "region",
    "profile": "profile",
    "snapshot": "snapshot",
}
"""Keys of an entry in a file, and the fields of a member that they fill."""

WANTED = (
    f"{FLAG} takes names of contexts with commas between them, a pattern such as 'prod-*', or a file: a list of names, "
    f"or of entries with {', '.join(KEYS)}."
)
_GLOB = re.compile(r"[*?\[]")
_SHOWN = 10


def named(text: str, contexts: Sequence[str]) -> tuple[Member, ...]:
    """Return the clusters of comma-separated contexts and patterns: ``prod-eu,prod-us``, ``prod-*``. Matches of a
    pattern are sorted; a context that several patterns match appears once. A context with commas in its name is one
    context.

    Raises:
        UsageError: nothing is named, something is named twice, or there is no such context.
    """
    names = [text] if text in contexts else [part.strip() for part in text.split(",")]
    given = [name for name in names if name]
    if not given:
        raise UsageError(f"{FLAG} names no cluster", WANTED)
    found = _Members()
    for name in given:
        if name not in contexts and not _GLOB.search(name):
            what = "no context, and no file here," if len(given) == 1 else "no context"
            raise UsageError(f"{FLAG}: {what} is called {name!r}{maybe(name, contexts)}", _known(contexts))
        found.add_text(name, FLAG, contexts)
    return found.all


def listed(entries: Sequence[object], contexts: Sequence[str], where: str) -> tuple[Member, ...]:
    """Return the clusters of the entries of a file, each a name, a pattern, or an object with `KEYS`. A context that is
    not in the kubeconfig is still a member: its row says that the cluster cannot be reached. `source`: the source for
    errors, as ``--fleet prod.yaml``.

    Raises:
        UsageError: there is no entry, a cluster is named twice, or an entry is invalid; the error names it.
    """
    found = _Members()
    for number, entry in enumerate(entries, 1):
        at = f"{where}, entry {number}"
        if isinstance(entry, str) and entry.strip():
            found.add_text(entry.strip(), at, contexts)
        elif isinstance(entry, Mapping):
            found.add(_member(entry, at), at)
        else:
            raise UsageError(f"{at} is neither a name nor an object", WANTED)
    if not found.all:
        raise UsageError(f"{where} names no cluster", WANTED)
    return found.all


class _Members:
    """Mutable: the clusters chosen so far, by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, Member] = {}
        self._matched: set[str] = set()

    @property
    def all(self) -> tuple[Member, ...]:
        return tuple(self._by_name.values())

    def add_text(self, text: str, at: str, contexts: Sequence[str]) -> None:
        """Add a context, or the matches of a pattern."""
        if text in contexts or not _GLOB.search(text):
            self.add(Member(text, text), at)
            return
        matching = sorted(name for name in contexts if fnmatchcase(name, text))
        if not matching:
            plain = re.sub(r"[*?\[\]]", "", text)
            raise UsageError(f"{at}: no context matches {text!r}{maybe(plain, contexts)}", _known(contexts))
        for name in matching:
            self._by_name.setdefault(name, Member(name, name))
        self._matched.update(matching)

    def add(self, member: Member, at: str) -> None:
        """Add a named cluster; if a pattern matches it as well, it is still one."""
        there = self._by_name.get(member.name)
        if there is not None and (there != member or member.name not in self._matched):
            raise UsageError(f"{at}: {member.name!r} is named twice", "Name it once, or give one of them another name.")
        self._by_name[member.name] = member
        self._matched.discard(member.name)


def _member(entry: Mapping[object, object], at: str) -> Member:
    strange = [str(key) for key in entry if key not in KEYS]
    if strange:
        raise UsageError(f"{at} has {strange[0][:60]!r}, which is not known{maybe(strange[0], KEYS)}", WANTED)
    fields = {field: _text(entry, key, at) for key, field in KEYS.items() if key in entry}
    if not (fields.keys() & {"context", "kubeconfig", "snapshot"}):
        raise UsageError(f"{at} says neither context nor snapshot", "Say which context of the kubeconfig it is.")
    beside = [key for key, field in KEYS.items() if field in fields and field not in ("name", "snapshot")]
    if "snapshot" in fields and beside:
        raise UsageError(f"{at} has {beside[0]} beside snapshot, and of a snapshot no cluster is asked")
    name = next(fields[key] for key in ("name", "context", "snapshot", "kubeconfig") if key in fields)
    return Member(**{"name": name, **fields})


def _text(entry: Mapping[object, object], key: str, at: str) -> str:
    value = entry[key]
    if not isinstance(value, str) or not value.strip():
        quote = " (put it in quotes)" if isinstance(value, (int, float)) else ""
        raise UsageError(f"{at}: {key} is no text{quote}", WANTED)
    if "\0" in value:
        raise UsageError(f"{at}: {key} has a character in it that no name has (NUL)", WANTED)
    return value.strip()


def _known(contexts: Iterable[str]) -> str:
    names = sorted(contexts)
    if not names:
        return "The kubeconfig has no contexts: get one with aws eks update-kubeconfig --name CLUSTER --region REGION."
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"Contexts: {', '.join(names[:_SHOWN])}{more}"


# Standing of one cluster of a fleet.


class Standing(str, Enum):
    """The worst first: nothing is known about a cluster that could not be judged."""

    NOT_JUDGED = "not-judged"
    FAILS = "fails"
    UNKNOWN = "unknown"
    CLEAN = "clean"


_STANDING = {0: Standing.CLEAN, 1: Standing.FAILS, 5: Standing.UNKNOWN}
_STANDINGS = {each: rank for rank, each in enumerate(Standing)}
_GATES = {"before-control-plane": 0, "before-nodes": 1, "after": 2}
"""The steps of an upgrade, in their order: blockers of the first step come first."""
_NO_GATE = len(_GATES)


@frozen
class Row:
    """A cluster and the outcome of its check. `min_severity`: findings of lower severity do not count
    (``--fail-on``)."""

    member: Member
    outcome: Outcome
    least: Severity = Severity.INFO

    @property
    def standing(self) -> Standing:
        return Standing.NOT_JUDGED if isinstance(self.outcome, UnjudgedMember) else _STANDING[self.outcome.exit_code]

    @property
    def findings(self) -> tuple[MemberFinding, ...]:
        return self.outcome.findings if isinstance(self.outcome, JudgedMember) else ()

    @property
    def fails(self) -> Mapping[Severity, int]:
        """Number of failing findings by severity, including 0."""
        found = [each.severity for each in self.findings if each.status is Status.FAIL]
        return {each: found.count(each) for each in Severity}

    @property
    def unknown(self) -> int:
        return sum(each.status is Status.UNKNOWN for each in self.findings)

    @property
    def first(self) -> MemberFinding | None:
        """The first obstacle: of the findings that cause the standing, by upgrade step and severity."""
        of = {Standing.FAILS: Status.FAIL, Standing.UNKNOWN: Status.UNKNOWN}.get(self.standing)
        found = (e for e in self.findings if e.status is of and e.severity.rank <= self.least.rank)
        return min(found, key=lambda each: (_GATES.get(each.gate, _NO_GATE), each.severity.rank), default=None)

    @property
    def rank(self) -> tuple[object, ...]:
        """Sort key of rows, the worst first."""
        fails = self.fails
        return (_STANDINGS[self.standing], *(-fails[each] for each in Severity), -self.unknown, self.member.name)


# Summary of a fleet: rows, one exit code.


WORST_FIRST = (70, 3, 4, 2, 1, 5, 0)
"""The fleet's exit code is the first of these that a cluster has: a bug, a cluster or AWS that could not be reached, a
command line that one cluster did not accept; then, when all clusters were judged, the findings."""


@frozen
class FleetPlan:
    """`rows`: the worst first."""

    rows: tuple[Row, ...]

    @property
    def exit_code(self) -> int:
        return min(
            (row.outcome.exit_code for row in self.rows),
            key=lambda code: WORST_FIRST.index(code) if code in WORST_FIRST else 0,
            default=0,
        )

    def standing(self, as_this: Standing) -> int:
        """Return how many clusters have this standing."""
        return sum(row.standing is as_this for row in self.rows)

    @property
    def observed_at(self) -> str:
        """The oldest observation, "" if no cluster answered."""
        seen = (row.outcome.observed_at for row in self.rows if isinstance(row.outcome, JudgedMember))
        return min(filter(None, seen), default="")


def summed(outcomes: Iterable[tuple[Member, Outcome]], least: Severity = Severity.INFO) -> FleetPlan:
    """Return the plan of a fleet, independent of the order of `outcomes`. `min_severity`: findings of lower severity do
    not count."""
    rows = (Row(member, outcome, least) for member, outcome in outcomes)
    return FleetPlan(tuple(sorted(rows, key=lambda row: row.rank)))
