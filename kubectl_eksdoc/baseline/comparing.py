"""This answer against an earlier one: what became of each finding of either."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubectl_eksdoc.baseline.changes import (
    Became,
    FindingSince,
    Pair,
    Said,
    Since,
    asked_differently,
    pairs,
    rank,
)
from kubectl_eksdoc.baseline.side import Sameness, Side, kinship
from kubectl_eksdoc.errors import BaselineError
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.earlier import Earlier
from kubectl_eksdoc.model.findings import Status

_ORDER = {became: place for place, became in enumerate(Became)}


def since(
    earlier: Earlier,
    cluster: Cluster,
    then: Side,
    now: Side,
    options: Mapping[str, object],
    notes: tuple[str, ...] = (),
) -> Since:
    """The answer `now` about `cluster`, asked for with `options` (JSON values by flag), against `earlier` (`then`).

    Raises:
        BaselineError: it is of another cluster.
    """
    akin = kinship(earlier, cluster, "the earlier answer", "this one")
    if akin.sameness is Sameness.OTHER:
        raise BaselineError(
            f"{earlier.file} is of another cluster: {akin.why}",
            "Only answers about one cluster are compared: choose the cluster of the file, or another file.",
        )
    changes, unchanged = findings_since(then, now)
    asked = tuple(asked_differently(earlier.options, options))
    return Since(earlier, akin.why, asked, changes, unchanged, notes)


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


def _came(before: Said | None, here: Said, then: Side, now: Side) -> FindingSince:
    found, passed = here.finding, before.finding if before else None
    why = "" if passed else _blind(then, here, now)
    if here.hidden:
        return FindingSince(Became.SUPPRESSED, passed, found, why, hidden_now=True)
    return FindingSince(Became.NEW if found.status is Status.FAIL else Became.NOT_KNOWN, passed, found, why)


def _went(before: Said | None, here: Said | None, then: Side, now: Side) -> Iterator[FindingSince]:
    if before is None or (before.finding.status is Status.PASS and not before.hidden):
        return
    found, passes = before.finding, here.finding if here else None
    failed = found.status is Status.FAIL
    became, why = Became.FIXED if failed else Became.KNOWN, ""
    if passes is None:
        why = _blind(now, before, then)
        if failed and now.not_known(found, then):
            became = Became.NOT_KNOWN
        elif why:
            became = Became.NOT_JUDGED
    yield FindingSince(became, found, passes, why, hidden_before=before.hidden)


def _blind(side: Side, said: Said, other: Side) -> str:
    """Why `side` could not say what `other` says, a clause."""
    unknown = side.not_known(said.finding, other)
    return f"not known: {unknown}" if unknown else side.not_judged(said.finding, other)


def _stayed(before: Said, here: Said) -> Iterator[FindingSince]:
    """What is told by both, and not as something that passes."""
    old, new = before.finding, here.finding
    if here.hidden:
        if not before.hidden:
            yield FindingSince(Became.SUPPRESSED, old, new, hidden_now=True)
    elif new.status is Status.UNKNOWN and old.status is Status.FAIL:
        yield FindingSince(Became.NOT_KNOWN, old, new, hidden_before=before.hidden)
    elif new.status is Status.FAIL and old.status is Status.UNKNOWN:
        yield FindingSince(Became.NEW, old, new, hidden_before=before.hidden)
    elif before.hidden or rank(old) != rank(new):
        yield FindingSince(Became.CHANGED, old, new, hidden_before=before.hidden)


def _order(change: FindingSince) -> tuple[object, ...]:
    said = change.either
    return (_ORDER[change.became], *rank(said), said.code, said.subject.kind, str(said.subject), said.message)
