"""This answer against an earlier one: what became of each finding of either."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubectl_eksdoc.baseline.changes import (
    FindingChangeKind,
    FindingSince,
    Pair,
    ResultComparison,
    ResultFinding,
    asked_differently,
    pairs,
    rank,
)
from kubectl_eksdoc.baseline.side import SameClusterAnswer, Side, kinship
from kubectl_eksdoc.errors import BaselineError
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.earlier import SavedResult
from kubectl_eksdoc.model.findings import Status

_ORDER = {became: place for place, became in enumerate(FindingChangeKind)}


def since(
    earlier: SavedResult,
    cluster: Cluster,
    then: Side,
    now: Side,
    options: Mapping[str, object],
    notes: tuple[str, ...] = (),
) -> ResultComparison:
    """The answer `now` about `cluster`, asked for with `options` (JSON values by flag), against `earlier` (`then`).

    Raises:
        BaselineError: it is of another cluster.
    """
    akin = kinship(earlier, cluster, "the earlier answer", "this one")
    if akin.sameness is SameClusterAnswer.OTHER:
        raise BaselineError(
            f"{earlier.file} is of another cluster: {akin.why}",
            "Only answers about one cluster are compared: choose the cluster of the file, or another file.",
        )
    changes, unchanged = findings_since(then, now)
    asked = tuple(asked_differently(earlier.options, options))
    return ResultComparison(earlier, akin.why, asked, changes, unchanged, notes)


def findings_since(then: Side, now: Side) -> tuple[tuple[FindingSince, ...], int]:
    """What became of them, worst first among those of one kind; and how many that fail or are unknown did not change.

    What passes is as good as not there.
    """
    changes: list[FindingSince] = []
    unchanged = 0
    for pair in pairs(then.said, now.said, then.apart | now.apart):
        found = tuple(_became(pair, then, now))
        changes += found
        unchanged += not found and _told(pair)
    return tuple(sorted(changes, key=_order)), unchanged


def _told(pair: Pair) -> bool:
    """True where it counts in both and is as it was."""
    return all(said is not None and not said.hidden and said.finding.status is not Status.PASS for said in pair)


def _became(pair: Pair, then: Side, now: Side) -> Iterator[FindingSince]:
    before, here = pair
    if here is None or (here.finding.status is Status.PASS and not here.hidden):
        yield from _went(before, here, then, now)
    elif before is None or (before.finding.status is Status.PASS and not before.hidden):
        yield _came(before, here, then, now)
    else:
        yield from _stayed(before, here)


def _came(before: ResultFinding | None, here: ResultFinding, then: Side, now: Side) -> FindingSince:
    found, passed = here.finding, before.finding if before else None
    why = "" if passed else _blind(then, here, now)
    if here.hidden:
        return FindingSince(FindingChangeKind.SUPPRESSED, passed, found, why, hidden_now=True)
    return FindingSince(
        FindingChangeKind.NEW if found.status is Status.FAIL else FindingChangeKind.NOT_KNOWN, passed, found, why
    )


def _went(before: ResultFinding | None, here: ResultFinding | None, then: Side, now: Side) -> Iterator[FindingSince]:
    if before is None or (before.finding.status is Status.PASS and not before.hidden):
        return
    found, passes = before.finding, here.finding if here else None
    failed = found.status is Status.FAIL
    became, why = FindingChangeKind.FIXED if failed else FindingChangeKind.KNOWN, ""
    if passes is None:
        why = _blind(now, before, then)
        if failed and now.not_known(found, then):
            became = FindingChangeKind.NOT_KNOWN
        elif why:
            became = FindingChangeKind.NOT_JUDGED
    yield FindingSince(became, found, passes, why, hidden_before=before.hidden)


def _blind(side: Side, said: ResultFinding, other: Side) -> str:
    """Why `side` could not say what `other` says, a clause."""
    unknown = side.not_known(said.finding, other)
    return f"not known: {unknown}" if unknown else side.not_judged(said.finding, other)


def _stayed(before: ResultFinding, here: ResultFinding) -> Iterator[FindingSince]:
    """What is told by both, and not as something that passes."""
    old, new = before.finding, here.finding
    if here.hidden:
        if not before.hidden:
            yield FindingSince(FindingChangeKind.SUPPRESSED, old, new, hidden_now=True)
    elif new.status is Status.UNKNOWN and old.status is Status.FAIL:
        yield FindingSince(FindingChangeKind.NOT_KNOWN, old, new, hidden_before=before.hidden)
    elif new.status is Status.FAIL and old.status is Status.UNKNOWN:
        yield FindingSince(FindingChangeKind.NEW, old, new, hidden_before=before.hidden)
    elif before.hidden or rank(old) != rank(new):
        yield FindingSince(FindingChangeKind.CHANGED, old, new, hidden_before=before.hidden)


def _order(change: FindingSince) -> tuple[object, ...]:
    said = change.either
    return (_ORDER[change.became], *rank(said), said.code, said.subject.kind, str(said.subject), said.message)
