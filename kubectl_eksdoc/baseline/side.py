"""The two results of a comparison: a missing finding means something only if that result could have had it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from enum import Enum
from typing import Protocol, TypeAlias

from kubectl_eksdoc.errors import BaselineError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.baseline import FindingOutline, SavedResult
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.findings import Code, Finding, Status, Subject

from .changes import (
    CLUSTER,
    FindingChange,
    FindingChangeKind,
    Pair,
    ResultComparison,
    ResultFinding,
    changed_options,
    incomparable_reason,
    message_numbers,
    message_pattern,
    outline_of,
    pair_findings,
    rank,
    subject_key,
)

Scope: TypeAlias = frozenset[tuple[str, str]]
"""(kind, name) of the subjects that were checked."""

_About: TypeAlias = tuple[str, str, str]
_Gist: TypeAlias = tuple[_About, str]
"""The subject of an unknown finding, and the pattern of its message."""

_MAX_NAMES = 3

_NAMED_THROUGH = {"Deployment": "replicasets.apps", "CronJob": "jobs.batch"}
"""Workloads that a pod names only through another object: without it, a finding is reported on that object instead."""

_PARENT_KINDS = frozenset({CLUSTER, "Command", "Addon", "Node", "Nodes", "NodeGroup", "Nodegroup", "NodePool"})
"""Kinds of subjects that contain others: an unknown finding on one may hide other codes on its parts."""


@frozen
class ResultSide:
    """One of the two compared results.

    `codes`: the codes that were checked, None for all. `complete_kinds`: the kinds whose lists were complete.
    `needed_kinds`: by code, the kinds without which it is not judged. `scope`: the subjects the command was narrowed
    to, None for the whole cluster. `related_codes`: by code, other codes whose unknown findings may hide it; by default
    only the code itself. `wide_codes`: codes whose unknown findings hide all related codes, whatever their subjects.
    `per_part_codes`: codes with a finding for each part of a subject; the message names the part before its first
    comma. `hidden_findings`: findings of the other result that this one could not have, each with a clause that says
    why. `addons_of`: the add-ons that a subject may be a part of.
    """

    findings: tuple[FindingOutline, ...] = ()
    suppressed: tuple[FindingOutline, ...] = ()
    codes: frozenset[str] | None = None
    complete_kinds: frozenset[str] = frozenset()
    needed_kinds: Mapping[str, frozenset[str]] = field(default_factory=dict)
    scope: Scope | None = None
    related_codes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    wide_codes: frozenset[str] = frozenset()
    per_part_codes: frozenset[str] = frozenset()
    hidden_findings: Mapping[FindingOutline, str] = field(default_factory=dict)
    addons_of: Callable[[Subject], Collection[str]] = field(default=lambda _: (), repr=False, compare=False)
    _open: Mapping[tuple[str, str], Mapping[_Gist, str]] = field(init=False, repr=False, compare=False)
    """By code and kind of subject: the messages of unknown findings, suppressed or not."""
    _of: Mapping[tuple[str, _About], str] = field(init=False, repr=False, compare=False)
    """The same by code and subject."""
    _several: Mapping[tuple[str, str], Mapping[_Gist, str]] = field(init=False, repr=False, compare=False)
    """The part of `_open` about objects without a name of their own, which cannot be told apart."""

    def __post_init__(self) -> None:
        unknown_by_kind: dict[tuple[str, str], dict[_Gist, str]] = {}
        unknown_by_subject: dict[tuple[str, _About], str] = {}
        for each in (*self.findings, *self.suppressed):
            if each.status is Status.UNKNOWN:
                unknown_by_kind.setdefault((each.code, each.subject.kind), {}).setdefault(
                    (subject_key(each.subject), message_pattern(each.message)), each.message
                )
                unknown_by_subject.setdefault((each.code, subject_key(each.subject)), each.message)
        object.__setattr__(self, "_open", unknown_by_kind)
        object.__setattr__(self, "_of", unknown_by_subject)
        # The name of such a subject contains a space (a description or several names), which no object's name does.
        several = {
            key: {each: why for each, why in messages.items() if " " in each[0][2]}
            for key, messages in unknown_by_kind.items()
        }
        object.__setattr__(self, "_several", several)

    @property
    def result_findings(self) -> Iterator[ResultFinding]:
        yield from (ResultFinding(each) for each in self.findings)
        yield from (ResultFinding(each, True) for each in self.suppressed)

    def not_checked_reason(self, finding: FindingOutline, other: ResultSide) -> str:
        """A clause that says why this result did not check what `other` has found, or ""."""
        if self.codes is not None and finding.code not in self.codes:
            return "its check was not made"
        addons = {("Addon", name) for name in self.addons_of(finding.subject)}
        if self.scope is None:
            covered = True
        elif addons:
            covered = not addons.isdisjoint(self.scope)
        elif finding.subject.kind in {kind for kind, _ in self.scope}:
            covered = (finding.subject.kind, str(finding.subject)) in self.scope
        else:
            covered = other.scope is not None and other.scope <= self.scope
        return "" if covered else "other objects were checked"

    def not_judged_reason(self, finding: FindingOutline, other: ResultSide) -> str:
        """A clause that says why this result could not judge what `other` has found, or ""."""
        if finding in self.hidden_findings:
            return self.hidden_findings[finding]
        kinds = self.needed_kinds.get(finding.code, frozenset()) | {_NAMED_THROUGH.get(finding.subject.kind, "")}
        not_read = sorted((kinds & other.complete_kinds) - self.complete_kinds)
        if not_read:
            more = f" and {len(not_read) - _MAX_NAMES} more" if len(not_read) > _MAX_NAMES else ""
            return f"not read: {', '.join(not_read[:_MAX_NAMES])}{more}"
        return ""

    def hiding_unknown(self, finding: FindingOutline, other: ResultSide) -> str:
        """The message of an unknown finding here that may hide what `other` has found, or "".

        An unknown finding on an object hides nothing about other objects of its kind. A finding that was unknown in
        `other` as well did not prevent `other` from finding it, so it hides nothing.
        """
        subject, codes = (
            subject_key(finding.subject),
            self.related_codes.get(finding.code, frozenset()) | {finding.code},
        )
        addons = self.addons_of(finding.subject)
        for code in sorted(codes):
            if (code, subject) in self._of:
                return self._of[code, subject]
        for (code, kind), unknowns in self._open.items():
            if code not in codes:
                continue
            # Whether the unknown finding may be about more subjects than its own.
            other_subjects = kind != finding.subject.kind and (code == finding.code or kind in _PARENT_KINDS)
            if kind != CLUSTER and not other_subjects and (code == finding.code or code not in self.wide_codes):
                unknowns = self._several[code, kind]
            for each, message in unknowns.items():
                if kind == "Addon" and addons and each[0][2] not in addons:
                    continue
                if not other.has_same_unknown(code, kind, each, message):
                    return message
        return ""

    def has_same_unknown(self, code: str, kind: str, unknown: _Gist, message: str) -> bool:
        """Whether the same finding is unknown here for the same reason, for at least as many objects.

        With 20 unknown pods instead of 14, the 6 additional ones may be those that were known.
        """
        own_message = self._open.get((code, kind), {}).get(unknown)
        if own_message is None:
            return False
        other_numbers, own_numbers = message_numbers(message), message_numbers(own_message)
        return len(other_numbers) == len(own_numbers) and all(
            now <= then for now, then in zip(other_numbers, own_numbers, strict=True)
        )


# The lists of the cluster that codes need, and the lists that a result had.


def kinds_by_code(codes: Iterable[Code]) -> dict[str, frozenset[str]]:
    """The needed kinds by code name."""
    return {code.name: frozenset(kind.full_name for kind in code.needs) for code in codes}


def complete_kinds(cluster: Cluster) -> frozenset[str]:
    """The kinds whose lists were complete."""
    return frozenset(read.resource.full_name for read in cluster.reads if read.known)


# Whether two results are of the same cluster: results of different clusters must not be compared.


class ClusterFacts(Protocol):
    """Facts of a saved result: its cluster, the source of its data, and the UIDs of objects of that cluster."""

    @property
    def identity(self) -> Identity: ...

    @property
    def source(self) -> Source: ...

    @property
    def uids(self) -> frozenset[str]: ...


class SameClusterAnswer(str, Enum):
    SAME = "same"
    OTHER = "other"
    UNKNOWN = "unknown"  # not decided by the known facts


@frozen
class SameClusterVerdict:
    """`why`: a clause without a full stop, "" for the same cluster."""

    answer: SameClusterAnswer
    why: str = ""


def same_cluster(
    baseline: ClusterFacts, now: Cluster, saved_noun: str = "the baseline", current_noun: str = "this plan"
) -> SameClusterVerdict:
    """Whether both are of the same cluster: the UID of Namespace kube-system decides, or else an object that both have.

    Otherwise the names decide: a cluster name is unique in an account and region. A context is a local name: different
    contexts may mean the same cluster, so contexts alone decide nothing.
    """
    saved_identity, identity = baseline.identity, now.identity
    difference = f"it has {_cluster_text(saved_identity)}, this one has {_cluster_text(identity)}"
    if saved_identity.uid and identity.uid:
        if saved_identity.uid == identity.uid:
            return SameClusterVerdict(SameClusterAnswer.SAME)
        return SameClusterVerdict(SameClusterAnswer.OTHER, f"{difference} (their uids differ)")
    if not baseline.uids.isdisjoint(uids_of(now)):
        return SameClusterVerdict(SameClusterAnswer.SAME)
    if (baseline.source is Source.DEMO) != (now.source is Source.DEMO):
        return SameClusterVerdict(SameClusterAnswer.OTHER, f"{difference} (one is the demo)")
    places = (
        (saved_identity.cluster, identity.cluster),
        (saved_identity.account, identity.account),
        (saved_identity.region, identity.region),
    )
    if any(before and after and before != after for before, after in places):
        return SameClusterVerdict(SameClusterAnswer.OTHER, difference)
    complete = all(before and after for before, after in places)
    if complete or (saved_identity.context and saved_identity.context == identity.context):
        return SameClusterVerdict(SameClusterAnswer.SAME)
    return SameClusterVerdict(
        SameClusterAnswer.UNKNOWN,
        f"{saved_noun} has {_cluster_text(saved_identity)}, {current_noun} has {_cluster_text(identity)}",
    )


def uids_of(cluster: Cluster) -> frozenset[str]:
    """UIDs of objects that no other cluster has. Objects written by hand may have none."""
    return frozenset((*(node.uid for node in cluster.nodes), *(budget.uid for budget in cluster.budgets))) - {""}


def _cluster_text(identity: Identity) -> str:
    """``cluster shop in account 1 in eu-west-1 (context prod)``, as far as known."""
    if not (identity.cluster or identity.context or identity.account or identity.region):
        return "a cluster of unknown name"
    parts = [f"cluster {identity.cluster}" if identity.cluster else "a cluster of unknown name"]
    parts += [f"in account {identity.account}"] if identity.account else []
    parts += [f"in {identity.region}"] if identity.region else []
    parts += [f"(context {identity.context})"] if identity.context else []
    return " ".join(parts)


# A result that was computed now from a snapshot, in the form of a saved result.


@frozen
class SnapshotOrigin:
    """`file`: the snapshot; `tool_version`: the version that computes the result; `options`: the options of the result
    (JSON values by flag)."""

    file: str
    tool_version: str
    options: Mapping[str, object] = field(default_factory=dict)


def saved_result(
    origin: SnapshotOrigin, cluster: Cluster, findings: Iterable[Finding], suppressed: Iterable[Finding] = ()
) -> SavedResult:
    """The saved form of the result, without the parts of some commands only (`codes`, `addons`, `way`)."""
    return SavedResult(
        origin.file,
        cluster.identity,
        cluster.source,
        cluster.observed_at,
        origin.tool_version,
        origin.options,
        complete_kinds(cluster),
        tuple(map(outline_of, findings)),
        tuple(map(outline_of, suppressed)),
        uids=uids_of(cluster),
    )


# Comparison of a result with an earlier one: the change of each finding.


_KIND_ORDER = {became: place for place, became in enumerate(FindingChangeKind)}


def compare_with_saved(
    saved: SavedResult,
    cluster: Cluster,
    then: ResultSide,
    now: ResultSide,
    options: Mapping[str, object],
    narrowing: Collection[str],
    notes: tuple[str, ...] = (),
) -> ResultComparison:
    """Compare the result `now` of `cluster`, with `options` (JSON values by flag), with the result `saved` (`then`).

    `narrowing`: as for `incomparable_reason`.

    Raises:
        BaselineError: the saved result is of another cluster.
    """
    verdict = same_cluster(saved, cluster, "the earlier answer", "this one")
    if verdict.answer is SameClusterAnswer.OTHER:
        raise BaselineError(
            f"{saved.file} is of another cluster: {verdict.why}",
            "Only answers about one cluster are compared: choose the cluster of the file, or another file.",
        )
    changed = tuple(changed_options(saved.options, options))
    changes, unchanged = compare_findings(then, now, incomparable_reason(changed, narrowing))
    return ResultComparison(saved, verdict.why, changed, changes, unchanged, notes)


def compare_findings(
    then: ResultSide, now: ResultSide, incomparable: str = ""
) -> tuple[tuple[FindingChange, ...], int]:
    """The changes, ordered by kind and then worst first, and the number of unchanged failing or unknown findings.

    A passing finding counts as no finding. `incomparable`: the result of `incomparable_reason`; unless "", nothing
    counts as fixed.
    """
    changes: list[FindingChange] = []
    unchanged = 0
    for pair in pair_findings(then.result_findings, now.result_findings, then.per_part_codes | now.per_part_codes):
        pair_changes = tuple(_pair_changes(pair, then, now, incomparable))
        changes += pair_changes
        # It counts in both results, and did not change.
        unchanged += not pair_changes and all(
            result_finding is not None
            and not result_finding.suppressed
            and result_finding.finding.status is not Status.PASS
            for result_finding in pair
        )
    return tuple(sorted(changes, key=_change_sort_key)), unchanged


def _pair_changes(pair: Pair, then: ResultSide, now: ResultSide, incomparable: str) -> Iterator[FindingChange]:
    before, current = pair
    if current is None or (current.finding.status is Status.PASS and not current.suppressed):
        yield from _disappeared(before, current, then, now, incomparable)
    elif before is None or (before.finding.status is Status.PASS and not before.suppressed):
        yield _appeared(before, current, then, now, incomparable)
    else:
        yield from _stayed_or_changed(before, current)


def _appeared(
    before: ResultFinding | None, current: ResultFinding, then: ResultSide, now: ResultSide, incomparable: str
) -> FindingChange:
    finding, earlier_pass = current.finding, before.finding if before else None
    reason = ("" if earlier_pass else _not_found_reason(then, current, now)) or incomparable
    if current.suppressed:
        return FindingChange(FindingChangeKind.SUPPRESSED, earlier_pass, finding, reason, suppressed_now=True)
    return FindingChange(
        FindingChangeKind.NEW if finding.status is Status.FAIL else FindingChangeKind.NOT_KNOWN,
        earlier_pass,
        finding,
        reason,
    )


def _disappeared(
    before: ResultFinding | None, current: ResultFinding | None, then: ResultSide, now: ResultSide, incomparable: str
) -> Iterator[FindingChange]:
    if before is None or (before.finding.status is Status.PASS and not before.suppressed):
        return
    finding, current_pass = before.finding, current.finding if current else None
    failed = finding.status is Status.FAIL
    kind = FindingChangeKind.FIXED if failed else FindingChangeKind.KNOWN
    reason = ("" if current_pass else _not_found_reason(now, before, then)) or incomparable
    if (
        failed
        and current_pass is None
        and not now.not_checked_reason(finding, then)
        and now.hiding_unknown(finding, then)
    ):
        kind = FindingChangeKind.NOT_KNOWN
    elif reason:
        kind = FindingChangeKind.NOT_JUDGED
    yield FindingChange(kind, finding, current_pass, reason, suppressed_before=before.suppressed)


def _not_found_reason(side: ResultSide, result_finding: ResultFinding, other: ResultSide) -> str:
    """Why `side` could not have the finding of `other`, a clause."""
    not_checked, unknown = (
        side.not_checked_reason(result_finding.finding, other),
        side.hiding_unknown(result_finding.finding, other),
    )
    return not_checked or (
        f"not known: {unknown}" if unknown else side.not_judged_reason(result_finding.finding, other)
    )


def _stayed_or_changed(before: ResultFinding, current: ResultFinding) -> Iterator[FindingChange]:
    """A finding that both results have and that does not pass."""
    old, new = before.finding, current.finding
    if current.suppressed:
        if not before.suppressed:
            yield FindingChange(FindingChangeKind.SUPPRESSED, old, new, suppressed_now=True)
    elif new.status is Status.UNKNOWN and old.status is Status.FAIL:
        yield FindingChange(FindingChangeKind.NOT_KNOWN, old, new, suppressed_before=before.suppressed)
    elif new.status is Status.FAIL and old.status is Status.UNKNOWN:
        yield FindingChange(FindingChangeKind.NEW, old, new, suppressed_before=before.suppressed)
    elif before.suppressed or rank(old) != rank(new):
        yield FindingChange(FindingChangeKind.CHANGED, old, new, suppressed_before=before.suppressed)


def _change_sort_key(change: FindingChange) -> tuple[object, ...]:
    finding = change.either
    return (
        _KIND_ORDER[change.kind],
        *rank(finding),
        finding.code,
        finding.subject.kind,
        str(finding.subject),
        finding.message,
    )
