"""Many clusters judged together: which they are, and what their answers come to.

Belongs here: the choice of members, the order of rows, the one exit code.
Never here: how one cluster is judged (that is each command's own plan), processes, files, any layout.
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

# Which clusters a fleet has: from what was given to a flag, or from the entries of a file.


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
"""Of an entry of a file, and the fields of a member that they fill."""

WANTED = (
    f"{FLAG} takes names of contexts with commas between them, a pattern such as 'prod-*', or a file: a list of names, "
    f"or of entries with {', '.join(KEYS)}."
)
_GLOB = re.compile(r"[*?\[]")
_SHOWN = 10


def named(text: str, contexts: Sequence[str]) -> tuple[Member, ...]:
    """Contexts and patterns behind commas: ``prod-eu,prod-us``, ``prod-*``. What a pattern matches comes sorted, and
    once however many do. A context with commas in its name is itself.

    Raises:
        UsageError: nothing is named, something twice, or no context is called so.
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
    """The entries of a file, each a name, a pattern, or an object with `KEYS`. A context that the kubeconfig does not
    have is a member all the same: that it cannot be asked is what its row says. `where`: as in ``--fleet prod.yaml``.

    Raises:
        UsageError: there is none, one is named twice, an entry is not as it must be; the error names it.
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
    """Mutable: those that were chosen so far, by their names."""

    def __init__(self) -> None:
        self._by_name: dict[str, Member] = {}
        self._matched: set[str] = set()

    @property
    def all(self) -> tuple[Member, ...]:
        return tuple(self._by_name.values())

    def add_text(self, text: str, at: str, contexts: Sequence[str]) -> None:
        """A context, or what a pattern matches."""
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
        """One that was named; that a pattern matches it, too, does not make it two."""
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


# How one cluster of a fleet stands beside the others.


class Standing(str, Enum):
    """The worst first: of what could not be judged nothing is known."""

    NOT_JUDGED = "not-judged"
    FAILS = "fails"
    UNKNOWN = "unknown"
    CLEAN = "clean"


_STANDING = {0: Standing.CLEAN, 1: Standing.FAILS, 5: Standing.UNKNOWN}
_STANDINGS = {each: rank for rank, each in enumerate(Standing)}
_GATES = {"before-control-plane": 0, "before-nodes": 1, "after": 2}
"""The steps of an upgrade, in their order: what blocks the first one comes first."""
_NO_GATE = len(_GATES)


@frozen
class Row:
    """A member, and what came of asking it. `least`: what is less severe does not count (``--fail-on``)."""

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
        """How many findings fail, by their severity; each has a number."""
        found = [each.severity for each in self.findings if each.status is Status.FAIL]
        return {each: found.count(each) for each in Severity}

    @property
    def unknown(self) -> int:
        return sum(each.status is Status.UNKNOWN for each in self.findings)

    @property
    def first(self) -> MemberFinding | None:
        """What is in the way first: of what makes it stand so, by step and severity."""
        of = {Standing.FAILS: Status.FAIL, Standing.UNKNOWN: Status.UNKNOWN}.get(self.standing)
        found = (e for e in self.findings if e.status is of and e.severity.rank <= self.least.rank)
        return min(found, key=lambda each: (_GATES.get(each.gate, _NO_GATE), each.severity.rank), default=None)

    @property
    def rank(self) -> tuple[object, ...]:
        """Rows are sorted by it, the worst first."""
        fails = self.fails
        return (_STANDINGS[self.standing], *(-fails[each] for each in Severity), -self.unknown, self.member.name)


# What the answers of a fleet come to: rows, one exit code.


WORST_FIRST = (70, 3, 4, 2, 1, 5, 0)
"""Of several exit codes the first of these is the fleet's: a bug, a cluster that could not be asked, AWS that could not
be, what one cluster would not take of the command line; and only when all were judged what was found."""


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
        """How many stand so."""
        return sum(row.standing is as_this for row in self.rows)

    @property
    def observed_at(self) -> str:
        """The oldest observation, "" where nobody answered."""
        seen = (row.outcome.observed_at for row in self.rows if isinstance(row.outcome, JudgedMember))
        return min(filter(None, seen), default="")


def summed(outcomes: Iterable[tuple[Member, Outcome]], least: Severity = Severity.INFO) -> FleetPlan:
    """The same answers are the same plan, in whatever order they came. `least`: what is less severe does not count."""
    rows = (Row(member, outcome, least) for member, outcome in outcomes)
    return FleetPlan(tuple(sorted(rows, key=lambda row: row.rank)))
