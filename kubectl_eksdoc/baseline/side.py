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
    FindingChangeKind,
    FindingSince,
    Pair,
    ResultComparison,
    ResultFinding,
    about,
    asked_differently,
    gist,
    numbers,
    other_question,
    outline_of,
    pairs,
    rank,
)

Scope: TypeAlias = frozenset[tuple[str, str]]
"""(kind, name) of the subjects that were checked."""

_About: TypeAlias = tuple[str, str, str]
_Gist: TypeAlias = tuple[_About, str]
"""The subject of an unknown finding, and the pattern of its message."""

_MOST_NAMES = 3

_NAMED_BY = {"Deployment": "replicasets.apps", "CronJob": "jobs.batch"}
"""Workloads that a pod names only through another object: without it, a finding is reported on that object instead."""

_WHOLES = frozenset({CLUSTER, "Command", "Addon", "Node", "Nodes", "NodeGroup", "Nodegroup", "NodePool"})
"""Kinds of subjects that contain others: an unknown finding on one may hide other codes on its parts."""


@frozen
class Side:
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
    read: frozenset[str] = frozenset()
    needs: Mapping[str, frozenset[str]] = field(default_factory=dict)
    scope: Scope | None = None
    kin: Mapping[str, frozenset[str]] = field(default_factory=dict)
    wide: frozenset[str] = frozenset()
    apart: frozenset[str] = frozenset()
    hides: Mapping[FindingOutline, str] = field(default_factory=dict)
    wholes_of: Callable[[Subject], Collection[str]] = field(default=lambda _: (), repr=False, compare=False)
    _open: Mapping[tuple[str, str], Mapping[_Gist, str]] = field(init=False, repr=False, compare=False)
    """By code and kind of subject: the messages of unknown findings, suppressed or not."""
    _of: Mapping[tuple[str, _About], str] = field(init=False, repr=False, compare=False)
    """The same by code and subject."""
    _several: Mapping[tuple[str, str], Mapping[_Gist, str]] = field(init=False, repr=False, compare=False)
    """The part of `_open` about objects without a name of their own, which cannot be told apart."""

    def __post_init__(self) -> None:
        found: dict[tuple[str, str], dict[_Gist, str]] = {}
        of: dict[tuple[str, _About], str] = {}
        for each in (*self.findings, *self.suppressed):
            if each.status is Status.UNKNOWN:
                found.setdefault((each.code, each.subject.kind), {}).setdefault(
                    (about(each.subject), gist(each.message)), each.message
                )
                of.setdefault((each.code, about(each.subject)), each.message)
        object.__setattr__(self, "_open", found)
        object.__setattr__(self, "_of", of)
        # The name of such a subject contains a space (a description or several names), which no object's name does.
        several = {
            where: {each: why for each, why in those.items() if " " in each[0][2]} for where, those in found.items()
        }
        object.__setattr__(self, "_several", several)

    @property
    def said(self) -> Iterator[ResultFinding]:
        yield from (ResultFinding(each) for each in self.findings)
        yield from (ResultFinding(each, True) for each in self.suppressed)

    def not_asked(self, finding: FindingOutline, other: Side) -> str:
        """A clause that says why this result did not check what `other` has found, or ""."""
        if self.codes is not None and finding.code not in self.codes:
            return "its check was not made"
        addons = {("Addon", name) for name in self.wholes_of(finding.subject)}
        if self.scope is None:
            covered = True
        elif addons:
            covered = not addons.isdisjoint(self.scope)
        elif finding.subject.kind in {kind for kind, _ in self.scope}:
            covered = (finding.subject.kind, str(finding.subject)) in self.scope
        else:
            covered = other.scope is not None and other.scope <= self.scope
        return "" if covered else "other objects were checked"

    def not_judged(self, finding: FindingOutline, other: Side) -> str:
        """A clause that says why this result could not judge what `other` has found, or ""."""
        if finding in self.hides:
            return self.hides[finding]
        needs = self.needs.get(finding.code, frozenset()) | {_NAMED_BY.get(finding.subject.kind, "")}
        unread = sorted((needs & other.read) - self.read)
        if unread:
            more = f" and {len(unread) - _MOST_NAMES} more" if len(unread) > _MOST_NAMES else ""
            return f"not read: {', '.join(unread[:_MOST_NAMES])}{more}"
        return ""

    def not_known(self, finding: FindingOutline, other: Side) -> str:
        """The message of an unknown finding here that may hide what `other` has found, or "".

        An unknown finding on an object hides nothing about other objects of its kind. A finding that was unknown in
        `other` as well did not prevent `other` from finding it, so it hides nothing.
        """
        own, kin = about(finding.subject), self.kin.get(finding.code, frozenset()) | {finding.code}
        addons = self.wholes_of(finding.subject)
        for code in sorted(kin):
            if (code, own) in self._of:
                return self._of[code, own]
        for (code, kind), unknown in self._open.items():
            if code not in kin:
                continue
            # Whether the unknown finding may be about more subjects than its own.
            apart = kind != finding.subject.kind and (code == finding.code or kind in _WHOLES)
            if kind != CLUSTER and not apart and (code == finding.code or code not in self.wide):
                unknown = self._several[code, kind]
            for each, message in unknown.items():
                if kind == "Addon" and addons and each[0][2] not in addons:
                    continue
                if not other.leaves_open(code, kind, each, message):
                    return message
        return ""

    def leaves_open(self, code: str, kind: str, unknown: _Gist, message: str) -> bool:
        """Whether the same finding is unknown here for the same reason, for at least as many objects.

        With 20 unknown pods instead of 14, the 6 additional ones may be those that were known.
        """
        here = self._open.get((code, kind), {}).get(unknown)
        if here is None:
            return False
        there, mine = numbers(message), numbers(here)
        return len(there) == len(mine) and all(now <= then for now, then in zip(there, mine, strict=True))


# The lists of the cluster that codes need, and the lists that a result had.


def needs_of(codes: Iterable[Code]) -> dict[str, frozenset[str]]:
    """The needed kinds by code name."""
    return {code.name: frozenset(kind.full_name for kind in code.needs) for code in codes}


def read_of(cluster: Cluster) -> frozenset[str]:
    """The kinds whose lists were complete."""
    return frozenset(read.resource.full_name for read in cluster.reads if read.known)


# Whether two results are of the same cluster: results of different clusters must not be compared.


class Saved(Protocol):
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

    sameness: SameClusterAnswer
    why: str = ""


def kinship(
    baseline: Saved, now: Cluster, saved_one: str = "the baseline", this_one: str = "this plan"
) -> SameClusterVerdict:
    """Whether both are of the same cluster: the UID of Namespace kube-system decides, or else an object that both have.

    Otherwise the names decide: a cluster name is unique in an account and region. A context is a local name: different
    contexts may mean the same cluster, so contexts alone decide nothing.
    """
    saved, here = baseline.identity, now.identity
    other = f"it has {_named(saved)}, this one has {_named(here)}"
    if saved.uid and here.uid:
        if saved.uid == here.uid:
            return SameClusterVerdict(SameClusterAnswer.SAME)
        return SameClusterVerdict(SameClusterAnswer.OTHER, f"{other} (their uids differ)")
    if not baseline.uids.isdisjoint(uids_of(now)):
        return SameClusterVerdict(SameClusterAnswer.SAME)
    if (baseline.source is Source.DEMO) != (now.source is Source.DEMO):
        return SameClusterVerdict(SameClusterAnswer.OTHER, f"{other} (one is the demo)")
    places = ((saved.cluster, here.cluster), (saved.account, here.account), (saved.region, here.region))
    if any(before and after and before != after for before, after in places):
        return SameClusterVerdict(SameClusterAnswer.OTHER, other)
    whole = all(before and after for before, after in places)
    if whole or (saved.context and saved.context == here.context):
        return SameClusterVerdict(SameClusterAnswer.SAME)
    return SameClusterVerdict(
        SameClusterAnswer.UNKNOWN, f"{saved_one} has {_named(saved)}, {this_one} has {_named(here)}"
    )


def uids_of(cluster: Cluster) -> frozenset[str]:
    """UIDs of objects that no other cluster has. Objects written by hand may have none."""
    return frozenset((*(node.uid for node in cluster.nodes), *(budget.uid for budget in cluster.budgets))) - {""}


def _named(who: Identity) -> str:
    """``cluster shop in account 1 in eu-west-1 (context prod)``, as far as known."""
    if not (who.cluster or who.context or who.account or who.region):
        return "a cluster of unknown name"
    words = [f"cluster {who.cluster}" if who.cluster else "a cluster of unknown name"]
    words += [f"in account {who.account}"] if who.account else []
    words += [f"in {who.region}"] if who.region else []
    words += [f"(context {who.context})"] if who.context else []
    return " ".join(words)


# A result that was computed now from a snapshot, in the form of a saved result.


@frozen
class SnapshotOrigin:
    """`file`: the snapshot; `tool_version`: the version that wrote it; `options`: the options of the result (JSON
    values by flag)."""

    file: str
    tool_version: str
    options: Mapping[str, object] = field(default_factory=dict)


def made_earlier(
    of: SnapshotOrigin, cluster: Cluster, findings: Iterable[Finding], suppressed: Iterable[Finding] = ()
) -> SavedResult:
    """The saved form of the result, without the parts of some commands only (`codes`, `addons`, `way`)."""
    return SavedResult(
        of.file,
        cluster.identity,
        cluster.source,
        cluster.observed_at,
        of.tool_version,
        of.options,
        read_of(cluster),
        tuple(map(outline_of, findings)),
        tuple(map(outline_of, suppressed)),
        uids=uids_of(cluster),
    )


# Comparison of a result with an earlier one: the change of each finding.


_ORDER = {became: place for place, became in enumerate(FindingChangeKind)}


def since(
    earlier: SavedResult,
    cluster: Cluster,
    then: Side,
    now: Side,
    options: Mapping[str, object],
    narrowing: Collection[str],
    notes: tuple[str, ...] = (),
) -> ResultComparison:
    """Compare the result `now` of `cluster`, with `options` (JSON values by flag), with the result `saved` (`then`).

    `narrowing`: as for `incomparable_reason`.

    Raises:
        BaselineError: the saved result is of another cluster.
    """
    akin = kinship(earlier, cluster, "the earlier answer", "this one")
    if akin.sameness is SameClusterAnswer.OTHER:
        raise BaselineError(
            f"{earlier.file} is of another cluster: {akin.why}",
            "Only answers about one cluster are compared: choose the cluster of the file, or another file.",
        )
    asked = tuple(asked_differently(earlier.options, options))
    changes, unchanged = findings_since(then, now, other_question(asked, narrowing))
    return ResultComparison(earlier, akin.why, asked, changes, unchanged, notes)


def findings_since(then: Side, now: Side, other: str = "") -> tuple[tuple[FindingSince, ...], int]:
    """The changes, ordered by kind and then worst first, and the number of unchanged failing or unknown findings.

    A passing finding counts as no finding. `incomparable`: the result of `incomparable_reason`; unless "", nothing
    counts as fixed.
    """
    changes: list[FindingSince] = []
    unchanged = 0
    for pair in pairs(then.said, now.said, then.apart | now.apart):
        found = tuple(_became(pair, then, now, other))
        changes += found
        # It counts in both results, and did not change.
        unchanged += not found and all(
            said is not None and not said.hidden and said.finding.status is not Status.PASS for said in pair
        )
    return tuple(sorted(changes, key=_order)), unchanged


def _became(pair: Pair, then: Side, now: Side, other: str) -> Iterator[FindingSince]:
    before, here = pair
    if here is None or (here.finding.status is Status.PASS and not here.hidden):
        yield from _went(before, here, then, now, other)
    elif before is None or (before.finding.status is Status.PASS and not before.hidden):
        yield _came(before, here, then, now, other)
    else:
        yield from _stayed(before, here)


def _came(before: ResultFinding | None, here: ResultFinding, then: Side, now: Side, other: str) -> FindingSince:
    found, passed = here.finding, before.finding if before else None
    why = ("" if passed else _blind(then, here, now)) or other
    if here.hidden:
        return FindingSince(FindingChangeKind.SUPPRESSED, passed, found, why, hidden_now=True)
    return FindingSince(
        FindingChangeKind.NEW if found.status is Status.FAIL else FindingChangeKind.NOT_KNOWN, passed, found, why
    )


def _went(
    before: ResultFinding | None, here: ResultFinding | None, then: Side, now: Side, other: str
) -> Iterator[FindingSince]:
    if before is None or (before.finding.status is Status.PASS and not before.hidden):
        return
    found, passes = before.finding, here.finding if here else None
    failed = found.status is Status.FAIL
    became = FindingChangeKind.FIXED if failed else FindingChangeKind.KNOWN
    why = ("" if passes else _blind(now, before, then)) or other
    if failed and passes is None and not now.not_asked(found, then) and now.not_known(found, then):
        became = FindingChangeKind.NOT_KNOWN
    elif why:
        became = FindingChangeKind.NOT_JUDGED
    yield FindingSince(became, found, passes, why, hidden_before=before.hidden)


def _blind(side: Side, said: ResultFinding, other: Side) -> str:
    """Why `side` could not have the finding of `other`, a clause."""
    unasked, unknown = side.not_asked(said.finding, other), side.not_known(said.finding, other)
    return unasked or (f"not known: {unknown}" if unknown else side.not_judged(said.finding, other))


def _stayed(before: ResultFinding, here: ResultFinding) -> Iterator[FindingSince]:
    """A finding that both results have and that does not pass."""
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
