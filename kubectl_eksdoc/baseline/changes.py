"""Changes of findings since an earlier result, as data: the rows that every format shows."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum
from typing import TypeAlias

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.baseline import FindingOutline, SavedResult
from kubectl_eksdoc.model.findings import Finding, Subject, text_name_of

# Two results of the same command: the options that differ.


COMPARISON_OPTIONS = frozenset({"since", "baseline"})
"""Options of the comparison itself, which only one of the results can have."""

NEUTRAL_OPTIONS = frozenset({"accept-unknown", "fail-on", "strict", "suppressions", "each-step", "since-when"})
"""Options that change which findings count or what else is printed, but not which findings are found."""


@frozen
class ChangedOption:
    """An option that differs, as JSON values; None where it was not given."""

    option: str
    before: object
    now: object


def changed_options(
    before: Mapping[str, object], now: Mapping[str, object], excluded: Collection[str] = COMPARISON_OPTIONS
) -> Iterator[ChangedOption]:
    """The options that differ. An option that is off or empty counts as not given: another version may not write it."""
    for option in sorted((before.keys() | now.keys()) - set(excluded)):
        if (before.get(option) or None) != (now.get(option) or None):
            yield ChangedOption(option, before.get(option), now.get(option))


def incomparable_reason(changed: Iterable[ChangedOption], narrowing: Collection[str]) -> str:
    """A clause that names the options because of which the results are not comparable, or "". With such an option a
    finding that is gone may still be true.

    Every option counts, except `NEUTRAL_OPTIONS` and the `narrowing` ones, which select codes or objects: the two
    `ResultSide` objects know what those leave out.
    """
    flags = [f"--{each.option}" for each in changed if each.option not in NEUTRAL_OPTIONS.union(narrowing)]
    return f"asked differently: {', '.join(flags)}" if flags else ""


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
class FindingChange:
    """A finding of one or both results. `before` or `now` is None where that result does not have it.

    `why` is a clause that says why the result without it could not have had it, or "". `suppressed_before` and
    `suppressed_now`: whether it was or is suppressed.
    """

    kind: FindingChangeKind
    before: FindingOutline | None
    now: FindingOutline | None
    why: str = ""
    suppressed_before: bool = False
    suppressed_now: bool = False

    @property
    def either(self) -> FindingOutline:
        """The finding of the current result, or else of the earlier one."""
        finding = self.now or self.before
        assert finding is not None, "a change is of something"
        return finding

    @property
    def worse(self) -> bool | None:
        """None where only one result has it, or neither is worse."""
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
    cluster_doubt: str = ""
    changed_options: tuple[ChangedOption, ...] = ()
    changes: tuple[FindingChange, ...] = ()
    unchanged: int = 0
    notes: tuple[str, ...] = ()

    def of_kind(self, kind: FindingChangeKind) -> tuple[FindingChange, ...]:
        return tuple(each for each in self.changes if each.kind is kind)

    def changes_by_finding(self) -> dict[FindingOutline, FindingChange]:
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
_SOURCE_NAME = re.compile(r"the snapshot \S+|the demo\b")
"""The source, as messages about missing data name it."""


@frozen
class ResultFinding:
    """`suppressed`: a user decided that it does not count."""

    finding: FindingOutline
    suppressed: bool = False


Pair: TypeAlias = tuple[ResultFinding | None, ResultFinding | None]


def pair_findings(
    before: Iterable[ResultFinding], now: Iterable[ResultFinding], per_part_codes: Collection[str] = ()
) -> Iterator[Pair]:
    """Pairs of (earlier, current), None where one result has no such finding. Swapping the results swaps each pair.

    `per_part_codes`: codes about parts of a subject; their messages name the part before the first comma.
    """
    earlier, current = _by_key(before), _by_key(now)
    for key in sorted(earlier.keys() | current.keys()):
        yield from _match_findings(earlier[key], current[key], key[0] in per_part_codes)


def subject_key(subject: Subject) -> tuple[str, str, str]:
    """The key that is equal for equal subjects."""
    return (subject.kind, subject.namespace, "" if subject.kind == CLUSTER else subject.name)


def message_pattern(message: str) -> str:
    """`message` without its numbers and its source, so that messages about missing data of two snapshots are equal."""
    return _NUMBER.sub("#", _SOURCE_NAME.sub("the source", message))


def message_numbers(message: str) -> tuple[tuple[int, str], ...]:
    """The numbers that the pattern lacks, in order, in a form that compares as numbers of any length do."""
    digits_found = (digits.lstrip("0") for digits in _NUMBER.findall(_SOURCE_NAME.sub("the source", message)))
    return tuple((len(digits), digits) for digits in digits_found)


def _by_key(findings: Iterable[ResultFinding]) -> defaultdict[tuple[str, ...], list[ResultFinding]]:
    findings_by_key: defaultdict[tuple[str, ...], list[ResultFinding]] = defaultdict(list)
    for each in sorted(findings, key=_sort_key):
        key = (each.finding.code, *subject_key(each.finding.subject))
        findings_by_key[key].append(each)
    return findings_by_key


def _sort_key(result_finding: ResultFinding) -> tuple[object, ...]:
    return (*rank(result_finding.finding), result_finding.finding.message, result_finding.suppressed)


def _match_findings(earlier: list[ResultFinding], current: list[ResultFinding], per_part: bool) -> Iterator[Pair]:
    """Match by equal messages, then by equal patterns, then the worst with the worst, unless their texts differ.
    `per_part`: only if they are about the same part of the subject."""

    def part(result_finding: ResultFinding) -> str:
        return result_finding.finding.message.partition(",")[0] if per_part else ""

    match_keys: tuple[Callable[[ResultFinding], object], ...] = (
        lambda said: (said.finding.message, said.suppressed),
        lambda said: said.finding.message,
        lambda said: (part(said), message_pattern(said.finding.message)),
        part,
    )
    for match_key in match_keys:
        if not earlier or not current:
            break
        unmatched_by_key: defaultdict[object, deque[ResultFinding]] = defaultdict(deque)
        for each in current:
            unmatched_by_key[match_key(each)].append(each)
        unmatched: list[ResultFinding] = []
        for old in earlier:
            candidates = unmatched_by_key[match_key(old)]
            new = next((each for each in candidates if not _have_different_texts(old, each)), None)
            if new is None:
                unmatched.append(old)
            else:
                candidates.remove(new)
                yield old, new
        earlier, current = (
            unmatched,
            sorted((each for candidates in unmatched_by_key.values() for each in candidates), key=_sort_key),
        )
    yield from ((old, None) for old in earlier)
    yield from ((None, new) for new in current)


def _have_different_texts(old: ResultFinding, new: ResultFinding) -> bool:
    """Whether both have another reason: two different texts of their code."""
    if old.finding.status is not new.finding.status or message_pattern(old.finding.message) == message_pattern(
        new.finding.message
    ):
        return False
    texts = {text_name_of(each.finding.code, each.finding.message) for each in (old, new)}
    return len(texts) == 2 and "" not in texts
