"""Which finding of one answer is which of the other: the same code on the same subject.

Messages hold numbers that change by the hour, so they tell findings apart only where a code comes more than once on one
subject: as two manifests of one Helm release. Of some codes each is about a part of its subject, as a field: those are
one only where they are about the same part.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from kubectl_eksdoc.core.model.earlier import FindingOutline
from kubectl_eksdoc.core.model.findings import Subject
from kubectl_eksdoc.core.plan.since.changes import rank

CLUSTER = "Cluster"
"""The kind of subject of what is about the whole cluster: its name may not be known to both answers."""

_NUMBER = re.compile(r"\d+")
_SOURCE = re.compile(r"the snapshot \S+|the demo\b")
"""As what is not in it is said of it."""


@dataclass(frozen=True, slots=True)
class Said:
    """`hidden`: somebody has decided that it does not count."""

    finding: FindingOutline
    hidden: bool = False


Pair: TypeAlias = tuple[Said | None, Said | None]
_Key: TypeAlias = tuple[str, str, str, str]


def pairs(before: Iterable[Said], now: Iterable[Said], apart: Collection[str] = ()) -> Iterator[Pair]:
    """(of then, of now), None where one answer has none. Swapping the answers swaps each pair. `apart`: codes of parts
    of a subject, which their messages name before the first comma."""
    then, here = _by_key(before), _by_key(now)
    for key in sorted(then.keys() | here.keys()):
        yield from _matched(then[key], here[key], _part if key[0] in apart else _no_part)


def _part(said: Said) -> str:
    return said.finding.message.partition(",")[0]


def _no_part(said: Said) -> str:
    return ""


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


def _by_key(said: Iterable[Said]) -> defaultdict[_Key, list[Said]]:
    found: defaultdict[_Key, list[Said]] = defaultdict(list)
    for each in sorted(said, key=_order):
        kind, namespace, name = about(each.finding.subject)
        found[each.finding.code, kind, namespace, name].append(each)
    return found


def _order(said: Said) -> tuple[object, ...]:
    return (*rank(said.finding), said.finding.message, said.hidden)


def _matched(then: list[Said], here: list[Said], part: Callable[[Said], str]) -> Iterator[Pair]:
    """By the same words, then by the same words with other numbers, then the worst with the worst."""
    same: tuple[Callable[[Said], object], ...] = (
        lambda said: (said.finding.message, said.hidden),
        lambda said: said.finding.message,
        lambda said: (part(said), gist(said.finding.message)),
        part,
    )
    for told_by in same:
        if not then or not here:
            break
        waiting: defaultdict[object, deque[Said]] = defaultdict(deque)
        for each in here:
            waiting[told_by(each)].append(each)
        left: list[Said] = []
        for old in then:
            found = waiting[told_by(old)]
            if found:
                yield old, found.popleft()
            else:
                left.append(old)
        then, here = left, sorted((each for found in waiting.values() for each in found), key=_order)
    yield from ((old, None) for old in then)
    yield from ((None, new) for new in here)
