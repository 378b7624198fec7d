"""Clusters of a fleet: their choice, the standing of each, and the one exit code.

Belongs here: the choice of clusters, the order of rows, the one exit code. Never here: the check of one cluster (each
command's own plan), processes, files, layout.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from fnmatch import fnmatchcase

from kubectl_eksdoc.errors import UsageError, did_you_mean
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import FleetMember, JudgedMember, MemberFinding, MemberOutcome, UnjudgedMember
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

VALUE_HINT = (
    f"{FLAG} takes names of contexts with commas between them, a pattern such as 'prod-*', or a file: a list of names, "
    f"or of entries with {', '.join(KEYS)}."
)
_GLOB = re.compile(r"[*?\[]")
_MAX_SHOWN = 10


def members_by_name(text: str, contexts: Sequence[str]) -> tuple[FleetMember, ...]:
    """Return the clusters of comma-separated contexts and patterns: ``prod-eu,prod-us``, ``prod-*``. Matches of a
    pattern are sorted; a context that several patterns match appears once. A context with commas in its name is one
    context.

    Raises:
        UsageError: nothing is named, something is named twice, or there is no such context.
    """
    names = [text] if text in contexts else [part.strip() for part in text.split(",")]
    values = [name for name in names if name]
    if not values:
        raise UsageError(f"{FLAG} names no cluster", VALUE_HINT)
    members = _ChosenMembers()
    for name in values:
        if name not in contexts and not _GLOB.search(name):
            problem = "no context, and no file here," if len(values) == 1 else "no context"
            raise UsageError(
                f"{FLAG}: {problem} is called {name!r}{did_you_mean(name, contexts)}", _contexts_hint(contexts)
            )
        members.add_text(name, FLAG, contexts)
    return members.members


def members_from_entries(entries: Sequence[object], contexts: Sequence[str], source: str) -> tuple[FleetMember, ...]:
    """Return the clusters of the entries of a file, each a name, a pattern, or an object with `KEYS`. A context that is
    not in the kubeconfig is still a member: its row says that the cluster cannot be reached. `source`: the source for
    errors, as ``--fleet prod.yaml``.

    Raises:
        UsageError: there is no entry, a cluster is named twice, or an entry is invalid; the error names it.
    """
    members = _ChosenMembers()
    for number, entry in enumerate(entries, 1):
        location = f"{source}, entry {number}"
        if isinstance(entry, str) and entry.strip():
            members.add_text(entry.strip(), location, contexts)
        elif isinstance(entry, Mapping):
            members.add(_member(entry, location), location)
        else:
            raise UsageError(f"{location} is neither a name nor an object", VALUE_HINT)
    if not members.members:
        raise UsageError(f"{source} names no cluster", VALUE_HINT)
    return members.members


class _ChosenMembers:
    """Mutable: the clusters chosen so far, by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, FleetMember] = {}
        self._matched: set[str] = set()

    @property
    def members(self) -> tuple[FleetMember, ...]:
        return tuple(self._by_name.values())

    def add_text(self, text: str, location: str, contexts: Sequence[str]) -> None:
        """Add a context, or the matches of a pattern."""
        if text in contexts or not _GLOB.search(text):
            self.add(FleetMember(text, text), location)
            return
        matching = sorted(name for name in contexts if fnmatchcase(name, text))
        if not matching:
            plain = re.sub(r"[*?\[\]]", "", text)
            raise UsageError(
                f"{location}: no context matches {text!r}{did_you_mean(plain, contexts)}", _contexts_hint(contexts)
            )
        for name in matching:
            self._by_name.setdefault(name, FleetMember(name, name))
        self._matched.update(matching)

    def add(self, member: FleetMember, location: str) -> None:
        """Add a named cluster; if a pattern matches it as well, it is still one."""
        existing = self._by_name.get(member.name)
        if existing is not None and (existing != member or member.name not in self._matched):
            raise UsageError(
                f"{location}: {member.name!r} is named twice", "Name it once, or give one of them another name."
            )
        self._by_name[member.name] = member
        self._matched.discard(member.name)


def _member(entry: Mapping[object, object], location: str) -> FleetMember:
    unknown_keys = [str(key) for key in entry if key not in KEYS]
    if unknown_keys:
        raise UsageError(
            f"{location} has {unknown_keys[0][:60]!r}, which is not known{did_you_mean(unknown_keys[0], KEYS)}",
            VALUE_HINT,
        )
    fields = {field: _text(entry, key, location) for key, field in KEYS.items() if key in entry}
    if not (fields.keys() & {"context", "kubeconfig", "snapshot"}):
        raise UsageError(f"{location} says neither context nor snapshot", "Say which context of the kubeconfig it is.")
    conflicting = [key for key, field in KEYS.items() if field in fields and field not in ("name", "snapshot")]
    if "snapshot" in fields and conflicting:
        raise UsageError(f"{location} has {conflicting[0]} beside snapshot, and of a snapshot no cluster is asked")
    name = next(fields[key] for key in ("name", "context", "snapshot", "kubeconfig") if key in fields)
    return FleetMember(**{"name": name, **fields})


def _text(entry: Mapping[object, object], key: str, location: str) -> str:
    value = entry[key]
    if not isinstance(value, str) or not value.strip():
        quote = " (put it in quotes)" if isinstance(value, (int, float)) else ""
        raise UsageError(f"{location}: {key} is no text{quote}", VALUE_HINT)
    if "\0" in value:
        raise UsageError(f"{location}: {key} has a character in it that no name has (NUL)", VALUE_HINT)
    return value.strip()


def _contexts_hint(contexts: Iterable[str]) -> str:
    names = sorted(contexts)
    if not names:
        return "The kubeconfig has no contexts: get one with aws eks update-kubeconfig --name CLUSTER --region REGION."
    more_text = f" and {len(names) - _MAX_SHOWN} more" if len(names) > _MAX_SHOWN else ""
    return f"Contexts: {', '.join(names[:_MAX_SHOWN])}{more_text}"


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
_LAST_GATE = len(_GATES)


@frozen
class Row:
    """A cluster and the outcome of its check. `min_severity`: findings of lower severity do not count
    (``--fail-on``)."""

    member: FleetMember
    outcome: MemberOutcome
    min_severity: Severity = Severity.INFO

    @property
    def standing(self) -> Standing:
        return Standing.NOT_JUDGED if isinstance(self.outcome, UnjudgedMember) else _STANDING[self.outcome.exit_code]

    @property
    def findings(self) -> tuple[MemberFinding, ...]:
        return self.outcome.findings if isinstance(self.outcome, JudgedMember) else ()

    @property
    def fails(self) -> Mapping[Severity, int]:
        """Number of failing findings by severity, including 0."""
        severities = [each.severity for each in self.findings if each.status is Status.FAIL]
        return {each: severities.count(each) for each in Severity}

    @property
    def unknown(self) -> int:
        return sum(each.status is Status.UNKNOWN for each in self.findings)

    @property
    def first_obstacle(self) -> MemberFinding | None:
        """The first obstacle: of the findings that cause the standing, by upgrade step and severity."""
        decisive_status = {Standing.FAILS: Status.FAIL, Standing.UNKNOWN: Status.UNKNOWN}.get(self.standing)
        candidates = (
            e for e in self.findings if e.status is decisive_status and e.severity.rank <= self.min_severity.rank
        )
        return min(candidates, key=lambda each: (_GATES.get(each.gate, _LAST_GATE), each.severity.rank), default=None)

    @property
    def sort_key(self) -> tuple[object, ...]:
        """Sort key of rows, the worst first."""
        fails = self.fails
        return (_STANDINGS[self.standing], *(-fails[each] for each in Severity), -self.unknown, self.member.name)


# Summary of a fleet: rows, one exit code.


EXIT_CODE_ORDER = (70, 3, 4, 2, 1, 5, 0)
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
            key=lambda code: EXIT_CODE_ORDER.index(code) if code in EXIT_CODE_ORDER else 0,
            default=0,
        )

    def standing_count(self, standing: Standing) -> int:
        """Return how many clusters have this standing."""
        return sum(row.standing is standing for row in self.rows)

    @property
    def observed_at(self) -> str:
        """The oldest observation, "" if no cluster answered."""
        observed = (row.outcome.observed_at for row in self.rows if isinstance(row.outcome, JudgedMember))
        return min(filter(None, observed), default="")


def summarize(
    outcomes: Iterable[tuple[FleetMember, MemberOutcome]], min_severity: Severity = Severity.INFO
) -> FleetPlan:
    """Return the plan of a fleet, independent of the order of `outcomes`. `min_severity`: findings of lower severity do
    not count."""
    rows = (Row(member, outcome, min_severity) for member, outcome in outcomes)
    return FleetPlan(tuple(sorted(rows, key=lambda row: row.sort_key)))
