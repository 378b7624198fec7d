"""Changes of findings since a saved result: a line of counts, new findings first, and fixed findings."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any

from kubectl_eksdoc import __version__
from kubectl_eksdoc.model.baseline import FindingOutline
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.findings import Finding, Severity, Status
from kubectl_eksdoc.report import markdown
from kubectl_eksdoc.report.command_result import ClusterResult
from kubectl_eksdoc.report.markdown import escape, folded
from kubectl_eksdoc.report.report import SIGNS, Line, Lines, Mark, flush, unmarked
from kubectl_eksdoc.report.result import Count, Meta, Moment, Printed, SubjectResult, Text, Texts
from kubectl_eksdoc.report.text import Title, Tone, age, between, few, joined, rfc3339

from .changes import FindingChangeKind, FindingSince, ResultComparison, outline_of

# Texts for changes of findings: the counts, the remarks, and the line and mark of a change.


WORDS = {
    FindingChangeKind.NEW: "new",
    FindingChangeKind.CHANGED: "changed",
    FindingChangeKind.NOT_KNOWN: "unknown now",
    FindingChangeKind.NOT_JUDGED: "not judged this time",
    FindingChangeKind.SUPPRESSED: "suppressed",
    FindingChangeKind.FIXED: "fixed",
    FindingChangeKind.KNOWN: "known now",
}


_MOST_OPTIONS = 5


def title(since: ResultComparison, observed: datetime) -> str:
    """``Since 2026-11-19T08:51:00Z (24h before, old.json)``."""
    then = since.earlier.observed_at
    passed = between(then, observed)
    apart = f"{age(abs(passed))} {'before' if passed.total_seconds() > 0 else 'later'}"
    same = rfc3339(then) == rfc3339(observed)
    file = since.earlier.file.rpartition("/")[2]
    return f"Since {rfc3339(then)} ({'the same time' if same else apart}, {file})"


def counts(since: ResultComparison) -> str:
    """``2 new, 1 fixed, 12 unchanged``: findings that fail or are unknown."""
    told = [f"{len(found)} {word}" for became, word in WORDS.items() if (found := since.of(became))]
    return ", ".join([*told, f"{since.unchanged} unchanged"])


def remarks(since: ResultComparison, tool_version: str = __version__) -> Iterator[str]:
    """What the reader must know before the changes, in sentences."""
    earlier = since.earlier
    if since.doubt:
        yield f"It is unknown whether both are about one cluster: {since.doubt}."
    if earlier.tool_version != tool_version:
        made = f"Version {earlier.tool_version} made the earlier one, this is {tool_version}"
        yield f"{made}: the tool may make the difference."
    options = [f"--{each.option}" for each in since.asked]
    if options:
        more = len(options) - _MOST_OPTIONS
        told = options[:_MOST_OPTIONS] + ([f"{more} more"] if more > 0 else [])
        yield f"Asked differently: {joined(told)}."
    yield from since.notes


def told(change: FindingSince) -> str:
    """``new high: Deployment shop/web: … [code]``, with the earlier state."""
    said = change.either
    head = f"{WORDS[change.became]}{_how(change)}, {_grade(change)}: {said.subject.kind} {said.subject}: {said.message}"
    why = change.why and (f" ({change.why})" if change.now is None else f" (it could not be found then: {change.why})")
    return f"{head} [{said.code}]{why}"


def marking(since: ResultComparison | None) -> Mark:
    """A function that marks the changed findings of this result."""
    if since is None:
        return unmarked
    marks = since.marks()

    def mark(finding: Finding) -> str:
        change = marks.get(outline_of(finding))
        return "" if change is None else f" ({WORDS[change.became]}{_how(change)})"

    return mark


def _how(change: FindingSince) -> str:
    """``: worse``, ``: was unknown``; "" where the kind's word is enough."""
    if change.became is FindingChangeKind.NEW and change.before is not None:
        return f": was {_WAS[change.before.status]}"
    if change.became is FindingChangeKind.CHANGED:
        return ": counts again" if change.hidden_before else ": worse" if change.worse else ": better"
    return ""


_WAS = {Status.FAIL: "failing", Status.UNKNOWN: "unknown", Status.PASS: "passing"}


def _grade(change: FindingSince) -> str:
    """``high``, ``medium → high``."""
    before, now = change.before, change.now
    if before is None or now is None or before.severity is now.severity:
        return change.either.severity.value
    return f"{before.severity.value} → {now.severity.value}"


MOST = 6
"""Findings of each kind of change that a page shows."""

_DOWN = {
    FindingChangeKind.FIXED: ("✓", Tone.GOOD),
    FindingChangeKind.KNOWN: ("✓", Tone.GOOD),
    FindingChangeKind.SUPPRESSED: ("⊘", Tone.FAINT),
    FindingChangeKind.NOT_JUDGED: ("?", Tone.UNKNOWN),
    FindingChangeKind.NOT_KNOWN: ("?", Tone.UNKNOWN),
}


def section(
    since: ResultComparison | None, observed: datetime, full: bool, tool_version: str = __version__
) -> Lines | None:
    """None without a saved result. `observed_at`: when the facts of this result were read."""
    if since is None:
        return None
    lines: list[Line | str] = [flush(text, 2) for text in (f"{counts(since)}.", *remarks(since, tool_version))]
    left_out = 0
    for became in FindingChangeKind:
        found = since.of(became)
        kept = found if full else few(found, MOST)
        lines += map(_change, kept)
        left_out += len(found) - len(kept)
    head, _, rest = title(since, observed).partition(" ")
    return Lines(Title(head, f" {rest}"), lines, left_out=left_out)


def _change(change: FindingSince) -> Line:
    sign, tone = _DOWN.get(change.became) or SIGNS[change.either.status]
    if (
        change.became is FindingChangeKind.CHANGED
        and change.either.status is not Status.UNKNOWN
        and change.worse is False
    ):
        tone = Tone.WARN
    return Line(f"{sign} {told(change)}", tone=tone)


# Changes of findings in Markdown: counts, remarks, and the changes; less urgent kinds are folded.


_NEWS = (FindingChangeKind.NEW, FindingChangeKind.CHANGED, FindingChangeKind.NOT_KNOWN)


def lines(since: ResultComparison | None, most: int, tool_version: str = __version__) -> list[str]:
    """The lines without the title; none without a saved result."""
    if since is None:
        return []
    said = [f"**{escape(counts(since))}**", "", *markdown.items(remarks(since, tool_version))]
    for became, word in WORDS.items():
        found = since.of(became)
        if not found:
            continue
        rest = markdown.more(len(found) - most, "findings")
        listed = [*markdown.items(map(told, found[:most])), *(["", *rest] if rest else [])]
        said += ["", *(listed if became in _NEWS else folded(f"{len(found)} {word}", listed))]
    return said


# Changes of findings since an earlier result, as a part of a result.


_KEYS = {
    "new": FindingChangeKind.NEW,
    "fixed": FindingChangeKind.FIXED,
    "changed": FindingChangeKind.CHANGED,
    "not_known_any_more": FindingChangeKind.NOT_KNOWN,
    "not_judged_this_time": FindingChangeKind.NOT_JUDGED,
    "known_now": FindingChangeKind.KNOWN,
    "suppressed": FindingChangeKind.SUPPRESSED,
}


class SinceSaid(Printed):
    """A finding as one result has it."""

    severity: Severity
    status: Status
    message: Text
    suppressed: bool
    """A user suppressed it, so it does not count there."""


class SinceFinding(Printed):
    """A changed finding. null: that result does not have it."""

    called = {"code": "either.code", "subject": "either.subject"}

    code: Text
    subject: SubjectResult
    earlier: SinceSaid | None
    now: SinceSaid | None
    worse: bool | None
    """Whether it is worse now; null where only one result has it, or both have the same severity and status."""
    why: Text | None
    """Why the result without it could not have had it; null where it could."""

    @classmethod
    def of(cls, facts: FindingSince) -> SinceFinding:
        return cls.filled(
            facts,
            earlier=_said(facts.before, facts.hidden_before),
            now=_said(facts.now, facts.hidden_now),
        )


def _said(finding: FindingOutline | None, hidden: bool) -> SinceSaid | None:
    return None if finding is None else SinceSaid.filled(finding, suppressed=hidden)


class SinceOption(Printed):
    called = {"earlier": "before"}

    option: Text
    earlier: Any
    now: Any


class SinceResult(Printed):
    """Changes of findings since an earlier result of the same command; only with --since. earlier and now are the two
    results."""

    file: Text
    tool_version: Text
    cluster: ClusterResult
    source: Source
    observed_at: Moment
    """When the facts of the earlier result were read, UTC."""
    same_cluster: Annotated[bool, Meta(extra_json_schema={"const": True})] | None
    """null: unknown; results of different clusters are never compared."""
    asked: tuple[SinceOption, ...]
    """Options that differ; null: not given."""
    notes: Texts
    """Other reasons why the results differ."""
    new: tuple[SinceFinding, ...]
    """Fails now, and did not fail then."""
    fixed: tuple[SinceFinding, ...]
    """Failed then; it was judged now, and passes or is not found."""
    changed: tuple[SinceFinding, ...]
    """Another severity, or it was suppressed and counts again."""
    not_known_any_more: tuple[SinceFinding, ...]
    """Unknown now, and was not unknown then: a finding that failed then is not fixed."""
    not_judged_this_time: tuple[SinceFinding, ...]
    """Found then, and not checked now, so it is not fixed; why gives the reason."""
    known_now: tuple[SinceFinding, ...]
    """Unknown then; it was judged now, and passes or is not found."""
    suppressed: tuple[SinceFinding, ...]
    """A user suppressed it, so it does not count now; it counted then or was not found."""
    unchanged: Count
    """Number of failing or unknown findings that did not change."""

    @classmethod
    def of(cls, facts: ResultComparison) -> SinceResult:
        return cls.filled(
            facts.earlier,
            cluster=facts.earlier.identity,
            same_cluster=None if facts.doubt else True,
            asked=facts.asked,
            notes=facts.notes,
            unchanged=facts.unchanged,
            **{key: facts.of(became) for key, became in _KEYS.items()},
        )
