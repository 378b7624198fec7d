"""Which findings somebody has decided to live with, for how long, and which of these decisions are out of date."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from fnmatch import fnmatchcase

from kubectl_eksdoc.check.wording import number
from kubectl_eksdoc.model.findings import Finding, Status, Suppression


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding that does not count, and by which decision."""

    finding: Finding
    by: Suppression


@dataclass(frozen=True, slots=True)
class Sorted:
    """`kept` are those that count."""

    kept: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...]


def sort_out(found: Iterable[Finding], rules: Sequence[Suppression], observed: datetime) -> Sorted:
    """By the first rule that holds on the day of the observation. What passes needs none."""
    today = day_of(observed)
    kept: list[Finding] = []
    suppressed: list[Suppressed] = []
    for each in found:
        by = next((rule for rule in rules if rule.until >= today and matches(rule, each)), None)
        if by is None:
            kept.append(each)
        else:
            suppressed.append(Suppressed(each, by))
    return Sorted(tuple(kept), tuple(suppressed))


def notes(
    rules: Sequence[Suppression], found: Sequence[Finding], judged: Collection[str], observed: datetime
) -> Iterator[str]:
    """Sentences about rules that have expired, and about those that match nothing of what was found (`found`: with the
    suppressed ones). `judged`: codes that were looked for; of others nobody knows whether a rule is still needed."""
    today = day_of(observed)
    for rule in rules:
        if rule.code not in judged:
            continue
        hits = sum(matches(rule, each) for each in found)
        if rule.until < today:
            ago = number((today - rule.until).days, "day")
            yield f"{_called(rule)} expired on {rule.until.isoformat()} ({ago} ago): {_again(rule, hits)}"
        elif not hits:
            yield f"{_called(rule)} matches nothing: there is no such finding of {rule.code}"


def matches(rule: Suppression, finding: Finding) -> bool:
    """Globs as the shell has them (``*``, ``?``, ``[ab]``), in the case in which they are written."""
    of = finding.subject
    return (
        finding.status is not Status.PASS
        and rule.code == finding.code.name
        and fnmatchcase(of.kind, rule.kind)
        and fnmatchcase(of.namespace, rule.namespace)
        and fnmatchcase(of.name, rule.name)
    )


def day_of(moment: datetime) -> date:
    """In UTC."""
    return (moment if moment.tzinfo is None else moment.astimezone(timezone.utc)).date()


def _again(rule: Suppression, hits: int) -> str:
    if not hits:
        return "nothing needs it any more"
    return f"1 finding of {rule.code} counts again" if hits == 1 else f"{hits} findings of {rule.code} count again"


def _called(rule: Suppression) -> str:
    return f"the suppression {rule.where}" if rule.where else f"the suppression of {rule.code}"
