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
from kubectl_eksdoc.report.markdown import collapsible, escape_markdown
from kubectl_eksdoc.report.report import SYMBOLS, FindingSuffix, Line, TextBlock, flush_left, no_suffix
from kubectl_eksdoc.report.result import Count, Meta, Printed, SubjectResult, Text, Texts, Timestamp
from kubectl_eksdoc.report.text import Title, Tone, first_items, format_age, join_words, rfc3339, time_between

from .changes import FindingChange, FindingChangeKind, ResultComparison, outline_of

# Texts for changes of findings: the counts, the remarks, and the line and mark of a change.


KIND_WORDS = {
    FindingChangeKind.NEW: "new",
    FindingChangeKind.CHANGED: "changed",
    FindingChangeKind.NOT_KNOWN: "unknown now",
    FindingChangeKind.NOT_JUDGED: "not judged this time",
    FindingChangeKind.SUPPRESSED: "suppressed",
    FindingChangeKind.FIXED: "fixed",
    FindingChangeKind.KNOWN: "known now",
}


_MAX_OPTIONS = 5


def title(since: ResultComparison, observed_at: datetime) -> str:
    """``Since 2026-11-19T08:51:00Z (24h before, old.json)``."""
    saved_at = since.earlier.observed_at
    elapsed = time_between(saved_at, observed_at)
    age_text = f"{format_age(abs(elapsed))} {'before' if elapsed.total_seconds() > 0 else 'later'}"
    same_time = rfc3339(saved_at) == rfc3339(observed_at)
    file = since.earlier.file.rpartition("/")[2]
    return f"Since {rfc3339(saved_at)} ({'the same time' if same_time else age_text}, {file})"


def counts_text(since: ResultComparison) -> str:
    """``2 new, 1 fixed, 12 unchanged``: findings that fail or are unknown."""
    texts = [f"{len(changes)} {word}" for kind, word in KIND_WORDS.items() if (changes := since.of_kind(kind))]
    return ", ".join([*texts, f"{since.unchanged} unchanged"])


def remarks(since: ResultComparison, tool_version: str = __version__) -> Iterator[str]:
    """What the reader must know before the changes, in sentences."""
    earlier = since.earlier
    if since.cluster_doubt:
        yield f"It is unknown whether both are about one cluster: {since.cluster_doubt}."
    if earlier.tool_version != tool_version:
        versions = f"Version {earlier.tool_version} made the earlier one, this is {tool_version}"
        yield f"{versions}: the tool may make the difference."
    options = [f"--{each.option}" for each in since.changed_options]
    if options:
        more = len(options) - _MAX_OPTIONS
        listed = options[:_MAX_OPTIONS] + ([f"{more} more"] if more > 0 else [])
        yield f"Asked differently: {join_words(listed)}."
    yield from since.notes


def change_text(change: FindingChange) -> str:
    """``new high: Deployment shop/web: … [code]``, with the earlier state."""
    finding = change.either
    text = (
        f"{KIND_WORDS[change.kind]}{_kind_detail(change)}, {_severity_text(change)}: {finding.subject.kind} "
        f"{finding.subject}: {finding.message}"
    )
    reason = change.why and (
        f" ({change.why})" if change.now is None else f" (it could not be found then: {change.why})"
    )
    return f"{text} [{finding.code}]{reason}"


def change_marks(since: ResultComparison | None) -> FindingSuffix:
    """A function that marks the changed findings of this result."""
    if since is None:
        return no_suffix
    marks = since.changes_by_finding()

    def mark(finding: Finding) -> str:
        change = marks.get(outline_of(finding))
        return "" if change is None else f" ({KIND_WORDS[change.kind]}{_kind_detail(change)})"

    return mark


def _kind_detail(change: FindingChange) -> str:
    """``: worse``, ``: was unknown``; "" where the kind's word is enough."""
    if change.kind is FindingChangeKind.NEW and change.before is not None:
        return f": was {_STATUS_WORDS[change.before.status]}"
    if change.kind is FindingChangeKind.CHANGED:
        return ": counts again" if change.suppressed_before else ": worse" if change.worse else ": better"
    return ""


_STATUS_WORDS = {Status.FAIL: "failing", Status.UNKNOWN: "unknown", Status.PASS: "passing"}


def _severity_text(change: FindingChange) -> str:
    """``high``, ``medium → high``."""
    before, now = change.before, change.now
    if before is None or now is None or before.severity is now.severity:
        return change.either.severity.value
    return f"{before.severity.value} → {now.severity.value}"


MAX_FINDINGS = 6
"""Findings of each kind of change that a page shows."""

_KIND_SYMBOLS = {
    FindingChangeKind.FIXED: ("✓", Tone.GOOD),
    FindingChangeKind.KNOWN: ("✓", Tone.GOOD),
    FindingChangeKind.SUPPRESSED: ("⊘", Tone.FAINT),
    FindingChangeKind.NOT_JUDGED: ("?", Tone.UNKNOWN),
    FindingChangeKind.NOT_KNOWN: ("?", Tone.UNKNOWN),
}


def section(
    since: ResultComparison | None, observed_at: datetime, full: bool, tool_version: str = __version__
) -> TextBlock | None:
    """None without a saved result. `observed_at`: when the facts of this result were read."""
    if since is None:
        return None
    lines: list[Line | str] = [
        flush_left(text, 2) for text in (f"{counts_text(since)}.", *remarks(since, tool_version))
    ]
    left_out = 0
    for kind in FindingChangeKind:
        changes = since.of_kind(kind)
        shown_changes = changes if full else first_items(changes, MAX_FINDINGS)
        lines += map(_change_line, shown_changes)
        left_out += len(changes) - len(shown_changes)
    heading, _, rest = title(since, observed_at).partition(" ")
    return TextBlock(Title(heading, f" {rest}"), lines, omitted=left_out)


def _change_line(change: FindingChange) -> Line:
    symbol, tone = _KIND_SYMBOLS.get(change.kind) or SYMBOLS[change.either.status]
    if (
        change.kind is FindingChangeKind.CHANGED
        and change.either.status is not Status.UNKNOWN
        and change.worse is False
    ):
        tone = Tone.WARN
    return Line(f"{symbol} {change_text(change)}", tone=tone)


# Changes of findings in Markdown: counts, remarks, and the changes; less urgent kinds are folded.


_UNFOLDED_KINDS = (FindingChangeKind.NEW, FindingChangeKind.CHANGED, FindingChangeKind.NOT_KNOWN)


def markdown_lines(since: ResultComparison | None, limit: int, tool_version: str = __version__) -> list[str]:
    """The lines without the title; none without a saved result."""
    if since is None:
        return []
    texts = [f"**{escape_markdown(counts_text(since))}**", "", *markdown.bullet_list(remarks(since, tool_version))]
    for kind, word in KIND_WORDS.items():
        changes = since.of_kind(kind)
        if not changes:
            continue
        rest = markdown.omitted_note(len(changes) - limit, "findings")
        items = [*markdown.bullet_list(map(change_text, changes[:limit])), *(["", *rest] if rest else [])]
        texts += ["", *(items if kind in _UNFOLDED_KINDS else collapsible(f"{len(changes)} {word}", items))]
    return texts


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


class SinceSeverity(Printed):
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
    earlier: SinceSeverity | None
    now: SinceSeverity | None
    worse: bool | None
    """Whether it is worse now; null where only one result has it, or both have the same severity and status."""
    why: Text | None
    """Why the result without it could not have had it; null where it could."""

    @classmethod
    def of(cls, facts: FindingChange) -> SinceFinding:
        return cls.from_facts(
            facts,
            earlier=_since_said(facts.before, facts.suppressed_before),
            now=_since_said(facts.now, facts.suppressed_now),
        )


def _since_said(finding: FindingOutline | None, hidden: bool) -> SinceSeverity | None:
    return None if finding is None else SinceSeverity.from_facts(finding, suppressed=hidden)


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
    observed_at: Timestamp
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
        return cls.from_facts(
            facts.earlier,
            cluster=facts.earlier.identity,
            same_cluster=None if facts.cluster_doubt else True,
            asked=facts.changed_options,
            notes=facts.notes,
            unchanged=facts.unchanged,
            **{key: facts.of_kind(became) for key, became in _KEYS.items()},
        )
