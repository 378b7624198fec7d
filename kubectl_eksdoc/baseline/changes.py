"""What became of findings since an earlier answer, as data: the rows that every format shows."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum
from typing import TypeAlias

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.baseline import FindingOutline, SavedResult
from kubectl_eksdoc.model.findings import Finding, Subject, text_of

# Two answers to the same question: which options were given differently.


BESIDE = frozenset({"since", "baseline"})
"""Options that ask for the comparison itself: of course only one of the answers has them."""

JUDGED_ALIKE = frozenset({"accept-unknown", "fail-on", "strict", "suppressions", "each-step", "since-when"})
"""Options that change which findings count, or what is told besides, and not what is found."""


@frozen
class ChangedOption:
    """An option that was given differently, as JSON values; None where it was not given."""

    option: str
    before: object
    now: object


def asked_differently(
    before: Mapping[str, object], now: Mapping[str, object], beside: Collection[str] = BESIDE
) -> Iterator[ChangedOption]:
    """What is off or empty is not given: another version may not write it at all."""
    for option in sorted((before.keys() | now.keys()) - set(beside)):
        if (before.get(option) or None) != (now.get(option) or None):
            yield ChangedOption(option, before.get(option), now.get(option))


def other_question(asked: Iterable[ChangedOption], narrowing: Collection[str]) -> str:
    """A clause on the options that make it another question, "" where none does: then a finding that is gone may still
    be true. Every option does, but those of `JUDGED_ALIKE`, and the `narrowing` ones, which choose some codes or
    objects: what they leave out, the two sides tell by themselves."""
    found = [f"--{each.option}" for each in asked if each.option not in JUDGED_ALIKE.union(narrowing)]
    return f"asked differently: {', '.join(found)}" if found else ""


class FindingChangeKind(str, Enum):
    """In the order in which they are shown. What one of the answers could not say has neither come nor gone."""

    NEW = "new"  # it fails now, and did not fail then
    CHANGED = "changed"  # of another severity, or it counts again that was suppressed
    NOT_KNOWN = "not-known-any-more"  # unknown now, and it was not then
    NOT_JUDGED = "not-judged-this-time"  # it was there then, and nobody looked for it now
    SUPPRESSED = "suppressed"  # somebody has decided that it does not count
    FIXED = "fixed"  # it failed then, and passes or is gone now
    KNOWN = "known-now"  # it was unknown then, and passes or is gone now


@frozen
class FindingSince:
    """One finding of either answer or of both. `before` or `now` is None where that answer does not say it.

    `why` is a clause that says why the answer without it could not say it, "" where it could. `hidden_before` and
    `hidden_now`: it stood or stands there as suppressed.
    """

    became: FindingChangeKind
    before: FindingOutline | None
    now: FindingOutline | None
    why: str = ""
    hidden_before: bool = False
    hidden_now: bool = False

    @property
    def either(self) -> FindingOutline:
        """What is said of it now, else what was said."""
        said = self.now or self.before
        assert said is not None, "a change is of something"
        return said

    @property
    def worse(self) -> bool | None:
        """None where it cannot be told which is worse."""
        if self.before is None or self.now is None or rank(self.before) == rank(self.now):
            return None
        return rank(self.now) < rank(self.before)


@frozen
class ResultComparison:
    """This answer against `earlier`. `doubt` says why it may be of another cluster, "" when it is of this one.

    `changes` in the order of `FindingChangeKind`, worst first among those of one kind; `unchanged` is how many
    findings that fail or are unknown are as they were. `notes` are sentences on what else makes the answers differ.
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
        """What became of those of this answer that are not as they were."""
        return {each.now: each for each in self.changes if each.now is not None}


def outline_of(finding: Finding) -> FindingOutline:
    """As its own document is read."""
    return FindingOutline(finding.code.name, finding.subject, finding.severity, finding.status, finding.message)


def rank(finding: FindingOutline) -> tuple[int, int]:
    """Less is worse."""
    return (finding.status.rank, finding.severity.rank)


# Which finding of one answer is which of the other: the same code on the same subject.
#
# Messages hold numbers that change by the hour, so they tell findings apart only where a code comes more than once on
# one subject: as two manifests of one Helm release. Of some codes each is about a part of its subject, as a field:
# those are one only where they are about the same part.


CLUSTER = "Cluster"
"""The kind of subject of what is about the whole cluster: its name may not be known to both answers."""

_NUMBER = re.compile(r"\d+")
_SOURCE = re.compile(r"the snapshot \S+|the demo\b")
"""As what is not in it is said of it."""


@frozen
class ResultFinding:
    """`hidden`: somebody has decided that it does not count."""

    finding: FindingOutline
    hidden: bool = False


Pair: TypeAlias = tuple[ResultFinding | None, ResultFinding | None]


def pairs(before: Iterable[ResultFinding], now: Iterable[ResultFinding], apart: Collection[str] = ()) -> Iterator[Pair]:
    """(of then, of now), None where one answer has none. Swapping the answers swaps each pair. `apart`: codes of parts
    of a subject, which their messages name before the first comma."""
    then, here = _by_key(before), _by_key(now)
    for key in sorted(then.keys() | here.keys()):
        yield from _matched(then[key], here[key], key[0] in apart)


def about(subject: Subject) -> tuple[str, str, str]:
    """By what subjects are one."""
    return (subject.kind, subject.namespace, "" if subject.kind == CLUSTER else subject.name)


def gist(message: str) -> str:
    """`message` without its numbers, and without what was read: what neither of two snapshots holds is the same."""
    return _NUMBER.sub("#", _SOURCE.sub("the source", message))


def numbers(message: str) -> tuple[tuple[int, str], ...]:
    """Those that its gist lacks, in their order, so that they compare as numbers of any length do."""
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
    """By the same words, then by the same words with other numbers, then the worst with the worst, unless they are
    known to be two answers. `apart`: only where they are about the same part of the subject."""

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
    """Both fail, or are unknown, for another reason: by two texts of their code."""
    if old.finding.status is not new.finding.status or gist(old.finding.message) == gist(new.finding.message):
        return False
    texts = {text_of(each.finding.code, each.finding.message) for each in (old, new)}
    return len(texts) == 2 and "" not in texts
