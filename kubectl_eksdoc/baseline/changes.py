"""Changes of findings since an earlier result, as data: the rows that every format shows."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum
from typing import TypeAlias

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.baseline import FindingOutline, SavedResult
from kubectl_eksdoc.model.findings import Finding, Subject, text_of

# Two results of the same command: the options that differ.


BESIDE = frozenset({"since", "baseline"})
"""Options of the comparison itself, which only one of the results can have."""

JUDGED_ALIKE = frozenset({"accept-unknown", "fail-on", "strict", "suppressions", "each-step", "since-when"})
"""Options that change which findings count or what else is printed, but not which findings are found."""


@frozen
class ChangedOption:
    """An option that differs, as JSON values; None where it was not given."""

    option: str
    before: object
    now: object


def asked_differently(
    before: Mapping[str, object], now: Mapping[str, object], beside: Collection[str] = BESIDE
) -> Iterator[ChangedOption]:
    """The options that differ. An option that is off or empty counts as not given: another version may not write it."""
    for option in sorted((before.keys() | now.keys()) - set(beside)):
        if (before.get(option) or None) != (now.get(option) or None):
            yield ChangedOption(option, before.get(option), now.get(option))


def other_question(asked: Iterable[ChangedOption], narrowing: Collection[str]) -> str:
    """A clause that names the options because of which the results are not comparable, or "". With such an option a
    finding that is gone may still be true.

    Every option counts, except `NEUTRAL_OPTIONS` and the `narrowing` ones, which select codes or objects: the two
    `ResultSide` objects know what those leave out.
    """
    found = [f"--{each.option}" for each in asked if each.option not in JUDGED_ALIKE.union(narrowing)]
    return f"asked differently: {', '.join(found)}" if found else ""


class FindingChangeKind(str, Enum):
    """The kind of a change, in the order in which they are shown. A finding that one result could not have has neither
    appeared nor disappeared."""

    NEW = "new"  # it fails now, and did not fail then
    CHANGED = "changed"  # another severity, or it was suppressed and counts again
    NOT_KNOWN = "not-known-any-more"  # unknown now, and not unknown then
    NOT_JUDGED = "not-judged-this-time"  # it was found then, and not checked now
    SUPPRESSED = "suppressed"  # a user decided that it does not count
    FIXED = "fixed"  # it failed then, and passes or is gone now
    KNOWN = "known-now"  # it was unknown then, and passes or is gone now


@frozen
class FindingSince:
    """A finding of one or both results. `before` or `now` is None where that result does not have it.

    `why` is a clause that says why the result without it could not have had it, or "". `suppressed_before` and
    `suppressed_now`: whether it was or is suppressed.
    """

    became: FindingChangeKind
    before: FindingOutline | None
    now: FindingOutline | None
    why: str = ""
    hidden_before: bool = False
    hidden_now: bool = False

    @property
    def either(self) -> FindingOutline:
        """The finding of the current result, or else of the earlier one."""
        said = self.now or self.before
        assert said is not None, "a change is of something"
        return said

    @property
    def worse(self) -> bool | None:
        """None where neither is worse."""
        if self.before is None or self.now is None or rank(self.before) == rank(self.now):
            return None
        return rank(self.now) < rank(self.before)


@frozen
class ResultComparison:
    """This result compared with `earlier`. `cluster_doubt` says why it may be of another cluster, "" for the same one.

    `changes` are in the order of `FindingChangeKind`, worst first within a kind; `unchanged` is the number of failing
    or unknown findings that did not change. `notes` are sentences on other reasons why the results differ.
    """

    earlier: SavedResult
    doubt: str = ""
    asked: tuple[ChangedOption, ...] = ()
    changes: tuple[FindingSince, ...] = ()
    unchanged: int = 0
    notes: tuple[str, ...] = ()

    def of(self, became: FindingChangeKind) -> tuple[FindingSince, ...]:
        return tuple(each for each in self.changes if each.became is became)

    def marks(self) -> dict[FindingOutline, FindingSince]:
        """The changes of this result's findings."""
        return {each.now: each for each in self.changes if each.now is not None}


def outline_of(finding: Finding) -> FindingOutline:
    """The outline that would be read from a saved document."""
    return FindingOutline(finding.code.name, finding.subject, finding.severity, finding.status, finding.message)


def rank(finding: FindingOutline) -> tuple[int, int]:
    """Lower is worse."""
    return (finding.status.rank, finding.severity.rank)


# Pairing of findings: the same code on the same subject.
#
# Messages contain numbers that change by the hour, so they distinguish findings only where a code has several findings
# on one subject, such as two manifests of a Helm release. Findings of some codes are about a part of their subject,
# such as a field: those are paired only if they are about the same part.


CLUSTER = "Cluster"
"""The kind of subject of findings about the whole cluster: its name may be unknown to one of the results."""

_NUMBER = re.compile(r"\d+")
_SOURCE = re.compile(r"the snapshot \S+|the demo\b")
"""The source, as messages about missing data name it."""


@frozen
class ResultFinding:
    """`suppressed`: a user decided that it does not count."""

    finding: FindingOutline
    hidden: bool = False


Pair: TypeAlias = tuple[ResultFinding | None, ResultFinding | None]


def pairs(before: Iterable[ResultFinding], now: Iterable[ResultFinding], apart: Collection[str] = ()) -> Iterator[Pair]:
    """Pairs of (earlier, current), None where one result has no such finding. Swapping the results swaps each pair.

    `per_part_codes`: codes about parts of a subject; their messages name the part before the first comma.
    """
    then, here = _by_key(before), _by_key(now)
    for key in sorted(then.keys() | here.keys()):
        yield from _matched(then[key], here[key], key[0] in apart)


def about(subject: Subject) -> tuple[str, str, str]:
    """The key that is equal for equal subjects."""
    return (subject.kind, subject.namespace, "" if subject.kind == CLUSTER else subject.name)


def gist(message: str) -> str:
    """`message` without its numbers and its source, so that messages about missing data of two snapshots are equal."""
    return _NUMBER.sub("#", _SOURCE.sub("the source", message))


def numbers(message: str) -> tuple[tuple[int, str], ...]:
    """The numbers that the pattern lacks, in order, in a form that compares as numbers of any length do."""
    found = (digits.lstrip("0") for digits in _NUMBER.findall(_SOURCE.sub("the source", message)))
    return tuple((len(digits), digits) for digits in found)


def _by_key(said: Iterable[ResultFinding]) -> defaultdict[tuple[str, ...], list[ResultFinding]]:
    found: defaultdict[tuple[str, ...], list[ResultFinding]] = defaultdict(list)
    for each in sorted(said, key=_order):
        key = (each.finding.code, *about(each.finding.subject))
        found[key].append(each)
    return found


def _order(said: ResultFinding) -> tuple[object, ...]:
    return (*rank(said.finding), said.finding.message, said.hidden)


def _matched(then: list[ResultFinding], here: list[ResultFinding], apart: bool) -> Iterator[Pair]:
    """Match by equal messages, then by equal patterns, then the worst with the worst, unless their texts differ.
    `per_part`: only if they are about the same part of the subject."""

    def part(said: ResultFinding) -> str:
        return said.finding.message.partition(",")[0] if apart else ""

    same: tuple[Callable[[ResultFinding], object], ...] = (
        lambda said: (said.finding.message, said.hidden),
        lambda said: said.finding.message,
        lambda said: (part(said), gist(said.finding.message)),
        part,
    )
    for told_by in same:
        if not then or not here:
            break
        waiting: defaultdict[object, deque[ResultFinding]] = defaultdict(deque)
        for each in here:
            waiting[told_by(each)].append(each)
        left: list[ResultFinding] = []
        for old in then:
            found = waiting[told_by(old)]
            new = next((each for each in found if not _of_two_texts(old, each)), None)
            if new is None:
                left.append(old)
            else:
                found.remove(new)
                yield old, new
        then, here = left, sorted((each for found in waiting.values() for each in found), key=_order)
    yield from ((old, None) for old in then)
    yield from ((None, new) for new in here)


def _of_two_texts(old: ResultFinding, new: ResultFinding) -> bool:
    """Whether both have another reason: two different texts of their code."""
    if old.finding.status is not new.finding.status or gist(old.finding.message) == gist(new.finding.message):
        return False
    texts = {text_of(each.finding.code, each.finding.message) for each in (old, new)}
    return len(texts) == 2 and "" not in texts
