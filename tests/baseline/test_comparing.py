"""Changes between two sets of findings: each kind of change, unknown changes, and reversed results if the answers are
swapped."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.baseline.changes import ChangedOption, FindingChange, FindingChangeKind, outline_of
from kubectl_eksdoc.baseline.side import ResultSide, compare_findings, compare_with_saved
from kubectl_eksdoc.model.baseline import FindingOutline, SavedResult
from kubectl_eksdoc.model.cluster import Identity, Source
from kubectl_eksdoc.model.findings import Finding, Severity, Status, Subject
from tests.builders import NOW, a_cluster

FAIL, PASS, UNKNOWN = Status.FAIL, Status.PASS, Status.UNKNOWN


def said(
    code: str = "a", status: Status = FAIL, name: str = "web", severity: Severity = Severity.HIGH, **more: str
) -> FindingOutline:
    subject = Subject(more.get("kind", "Deployment"), name, more.get("namespace", "shop"))
    return FindingOutline(code, subject, severity, status, more.get("message", "because"))


def the_cluster(status: Status = UNKNOWN, **more: Any) -> FindingOutline:
    return said(**{"kind": "Cluster", "namespace": "", "name": "prod", "status": status, **more})


def became(then: ResultSide, now: ResultSide) -> list[tuple[str, str]]:
    """(change, code) of each change."""
    return [(each.kind.value, each.either.code) for each in compare_findings(then, now)[0]]


def one(then: list[FindingOutline], now: list[FindingOutline], **side: Any) -> FindingChange:
    (change,) = compare_findings(ResultSide(tuple(then)), ResultSide(tuple(now), **side))[0]
    return change


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (None, FAIL, FindingChangeKind.NEW),
        (PASS, FAIL, FindingChangeKind.NEW),
        (UNKNOWN, FAIL, FindingChangeKind.NEW),
        (FAIL, None, FindingChangeKind.FIXED),
        (FAIL, PASS, FindingChangeKind.FIXED),
        (FAIL, UNKNOWN, FindingChangeKind.NOT_KNOWN),
        (PASS, UNKNOWN, FindingChangeKind.NOT_KNOWN),
        (None, UNKNOWN, FindingChangeKind.NOT_KNOWN),
        (UNKNOWN, None, FindingChangeKind.KNOWN),
        (UNKNOWN, PASS, FindingChangeKind.KNOWN),
        (FAIL, FAIL, None),
        (UNKNOWN, UNKNOWN, None),
        (PASS, PASS, None),
        (PASS, None, None),
        (None, PASS, None),
    ],
)
def test_each_kind_of_change(before: Status | None, now: Status | None, expected: FindingChangeKind | None) -> None:
    then, here = ([] if each is None else [said(status=each)] for each in (before, now))
    found, unchanged = compare_findings(ResultSide(tuple(then)), ResultSide(tuple(here)))
    assert [each.kind for each in found] == ([] if expected is None else [expected])
    assert unchanged == (before is now and now in (FAIL, UNKNOWN))
    assert [each.why for each in found] == [""] * len(found)


@pytest.mark.parametrize("status", [FAIL, UNKNOWN])
def test_another_severity_is_worse_or_better(status: Status) -> None:
    low, high = said(severity=Severity.LOW, status=status), said(severity=Severity.HIGH, status=status)
    assert (one([low], [high]).kind, one([low], [high]).worse) == (FindingChangeKind.CHANGED, True)
    assert (one([high], [low]).kind, one([high], [low]).worse) == (FindingChangeKind.CHANGED, False)
    assert one([], [high]).worse is None


def test_other_numbers_in_a_message_are_no_change() -> None:
    then, now = ResultSide((said(message="3 of 4 pods"),)), ResultSide((said(message="2 of 4 pods"),))
    assert compare_findings(then, now) == ((), 1)


def test_of_several_on_one_subject_the_one_that_went_is_told_by_its_words() -> None:
    first, second = said(message="Role: 2 of v1beta1"), said(message="Binding: 3 of v1beta1")
    other = replace(second, message="Binding: 4 of v1beta1")
    assert one([first, second], [other]).before == first
    assert one([other], [first, second]).now == first
    again = compare_findings(ResultSide((first, first)), ResultSide((first,)))
    assert [each.kind for each in again[0]] == [FindingChangeKind.FIXED] and again[1] == 1


def unread(text: str, **values: object) -> FindingOutline:
    return outline_of(Finding.of(f"addon-object-unread/{text}", Subject("Addon", "vpc-cni"), **values))


def test_two_texts_of_a_code_on_one_subject_are_two_findings() -> None:
    beyond = unread("beyond-manifest", addon_name="vpc-cni", some_of="Service x")
    unlisted = unread("unlisted", addon_name="vpc-cni", some_of="secrets", rights="list secrets", lacking="")
    assert became(ResultSide((beyond,)), ResultSide((unlisted,))) == [
        ("not-known-any-more", "addon-object-unread"),
        ("not-judged-this-time", "addon-object-unread"),  # unlisted findings may hide it
    ]
    more = unread("unlisted", addon_name="vpc-cni", some_of="secrets, jobs.batch", rights="list jobs", lacking="")
    assert became(ResultSide((unlisted,)), ResultSide((more,))) == []
    assert became(ResultSide((beyond, unlisted)), ResultSide((more,))) == [
        ("not-judged-this-time", "addon-object-unread")
    ]
    # What has become of one question is told once, and words of another version may be those of any text.
    assert became(ResultSide((replace(beyond, status=FAIL),)), ResultSide((unlisted,))) == [
        ("not-known-any-more", "addon-object-unread")
    ]
    assert became(ResultSide((replace(beyond, message="in other words"),)), ResultSide((unlisted,))) == []


def test_the_name_of_the_cluster_may_not_be_known_to_both() -> None:
    then, now = ResultSide((the_cluster(FAIL, name="prod"),)), ResultSide((the_cluster(FAIL, name="cluster"),))
    assert compare_findings(then, now) == ((), 1)


def test_worst_first_and_new_ones_before_all_others() -> None:
    then = ResultSide((said("gone"), said("slight", severity=Severity.LOW)))
    now = ResultSide((said("slight"), said("b", severity=Severity.LOW), said("a", severity=Severity.CRITICAL)))
    assert became(then, now) == [("new", "a"), ("new", "b"), ("changed", "slight"), ("fixed", "gone")]


# Findings an answer could not have ----------------------------------------------------------


def test_a_kind_that_is_not_read_any_more() -> None:
    needs = {"a": frozenset({"pods", "jobs.batch"})}
    then = ResultSide((said("a"), said("b")), complete_kinds=frozenset({"pods", "jobs.batch"}), needed_kinds=needs)
    now = ResultSide(complete_kinds=frozenset({"pods"}), needed_kinds=needs)
    assert became(then, now) == [("not-judged-this-time", "a"), ("fixed", "b")]
    assert compare_findings(then, now)[0][0].why == "not read: jobs.batch"
    # A kind that neither has read did not prevent the first finding.
    assert became(replace(then, complete_kinds=frozenset({"pods"})), now) == [("fixed", "a"), ("fixed", "b")]


@pytest.mark.parametrize(
    ("then", "now", "expected"),
    [
        (None, None, FindingChangeKind.FIXED),
        ({("Node", "a")}, None, FindingChangeKind.FIXED),
        ({("Node", "a")}, {("Node", "a"), ("Node", "b")}, FindingChangeKind.FIXED),
        ({("Node", "a"), ("Node", "b")}, {("Node", "a")}, FindingChangeKind.NOT_JUDGED),
        (None, {("Node", "a")}, FindingChangeKind.NOT_JUDGED),
    ],
)
def test_a_narrower_look(then: Any, now: Any, expected: FindingChangeKind) -> None:
    scopes = [None if each is None else frozenset(each) for each in (then, now)]
    change = compare_findings(ResultSide((said(),), scope=scopes[0]), ResultSide(scope=scopes[1]))[0][0]
    assert change.kind is expected


def test_a_question_that_is_open_for_the_whole_cluster_fixes_nothing() -> None:
    then, now = ResultSide((said("a"), said("b"))), ResultSide((the_cluster(code="a", message="may not list pods"),))
    changes = compare_findings(then, now)[0]
    assert [(each.kind, each.either.code, each.either.subject.kind) for each in changes] == [
        (FindingChangeKind.NOT_KNOWN, "a", "Deployment"),
        (FindingChangeKind.NOT_KNOWN, "a", "Cluster"),
        (FindingChangeKind.FIXED, "b", "Deployment"),
    ]
    assert changes[0].why == "not known: may not list pods"


@pytest.mark.parametrize(
    ("then", "now", "became"),
    [
        ("14 pods are not known", "14 pods are not known", FindingChangeKind.FIXED),
        ("14 pods are not known", "9 pods are not known", FindingChangeKind.FIXED),
        ("14 pods are not known", "20 pods are not known", FindingChangeKind.NOT_KNOWN),
        ("9 of 20", "9 of 21", FindingChangeKind.NOT_KNOWN),
        ("# of 1", "9 of 1", FindingChangeKind.NOT_KNOWN),
        (f"{'9' * 5000} pods", f"1{'0' * 5000} pods", FindingChangeKind.NOT_KNOWN),
    ],
)
def test_more_of_what_was_open_then_may_hide_what_was_found_then(
    then: str, now: str, became: FindingChangeKind
) -> None:
    before, after = (the_cluster(code="a", message=each) for each in (then, now))
    changes = compare_findings(ResultSide((said(), before)), ResultSide((after,)))
    assert became in {each.kind for each in changes[0] if each.before and each.before.status is FAIL}


def test_what_is_unknown_of_one_object_hides_nothing_of_another() -> None:
    now = ResultSide((said("a", UNKNOWN, "other"),))
    assert became(ResultSide((said("a"),)), now) == [("not-known-any-more", "a"), ("fixed", "a")]


@pytest.mark.parametrize("name", ["subnet-1, subnet-2", "one that could not be described"])
def test_what_is_unknown_of_objects_that_have_no_name_hides_all_of_their_kind(name: str) -> None:
    changes = {
        each.kind for each in compare_findings(ResultSide((said(),)), ResultSide((said(status=UNKNOWN, name=name),)))[0]
    }
    assert changes == {FindingChangeKind.NOT_KNOWN}


def test_a_wide_code_hides_its_kin_on_whatever_object() -> None:
    then, unread = said(), said(code="unread", status=UNKNOWN, kind="Service", name="dns")
    kin = {"a": frozenset({"unread"})}
    assert became(ResultSide((then,)), ResultSide((unread,), related_codes=kin)) == [
        ("not-known-any-more", "unread"),
        ("fixed", "a"),
    ]
    hidden = ResultSide((unread,), related_codes=kin, wide_codes=frozenset({"unread"}))
    assert became(ResultSide((then,)), hidden) == [("not-known-any-more", "a"), ("not-known-any-more", "unread")]


def test_who_owns_a_pod_is_known_only_by_what_stands_between_them() -> None:
    owner = "jobs.batch"
    then, read = (said(kind="CronJob"),), frozenset({owner, "pods"})
    (change,) = compare_findings(ResultSide(then, complete_kinds=read), ResultSide(complete_kinds=frozenset({"pods"})))[
        0
    ]
    assert (change.kind, change.why) == (FindingChangeKind.NOT_JUDGED, f"not read: {owner}")
    assert became(ResultSide(then, complete_kinds=read), ResultSide(complete_kinds=read)) == [("fixed", "a")]


def test_of_a_code_that_comes_once_a_field_another_field_is_another_finding() -> None:
    old, new = (said(message=f"FIELD_{name}, set to 1, is reset to 2") for name in "AB")
    apart = frozenset({"a"})
    assert became(ResultSide((old,)), ResultSide((new,), per_part_codes=apart)) == [("new", "a"), ("fixed", "a")]
    assert became(ResultSide((old,)), ResultSide((new,))) == []
    other_value = said(message="FIELD_A, set to 3, is removed")
    assert became(ResultSide((old,)), ResultSide((other_value,), per_part_codes=apart)) == []


def test_a_code_that_stays_open_may_hide_its_kin() -> None:
    kin = {"a": frozenset({"whole"})}
    part = said("whole", UNKNOWN, "addon-diff", kind="Command", namespace="")
    of_pod = said("whole", UNKNOWN, "x", kind="Pod")
    hidden = [("not-known-any-more", "a"), ("not-known-any-more", "whole")]
    assert became(ResultSide((said("a"),)), ResultSide((part,), related_codes=kin)) == hidden
    assert ("fixed", "a") in became(ResultSide((said("a"),)), ResultSide((of_pod,), related_codes=kin))
    assert ("fixed", "a") in became(ResultSide((said("a"),)), ResultSide((part,)))


def test_what_was_unknown_and_is_hidden_now_is_not_known_now() -> None:
    then, now = ResultSide((said("a", UNKNOWN),)), ResultSide((the_cluster(code="a"),))
    assert ("not-judged-this-time", "a") in became(then, now) and ("known-now", "a") not in became(then, now)


def test_what_is_unknown_and_suppressed_hides_as_well() -> None:
    now = ResultSide(suppressed=(the_cluster(code="a", message="may not list pods"),))
    assert became(ResultSide((said("a"),)), now) == [("not-known-any-more", "a"), ("suppressed", "a")]


def test_many_findings_on_one_subject_are_compared_in_no_time() -> None:
    """To try each pair in every combination would take 4 * 10^8 steps."""
    then, now = (tuple(said(message=f"{'x' * (n % times)} {n}") for n in range(10_000)) for times in (97, 89))
    assert compare_findings(ResultSide(then), ResultSide(now)) == ((), 10_000)


# Suppressed --------------------------------------------------------------------------------


def test_what_is_suppressed_is_told_as_that() -> None:
    counts, hidden = ResultSide((said(),)), ResultSide(suppressed=(said(),))
    (change,) = compare_findings(counts, hidden)[0]
    assert (change.kind, change.suppressed_before, change.suppressed_now) == (FindingChangeKind.SUPPRESSED, False, True)
    (change,) = compare_findings(hidden, counts)[0]
    assert (change.kind, change.suppressed_before, change.worse) == (FindingChangeKind.CHANGED, True, None)
    assert compare_findings(hidden, hidden) == ((), 0)
    assert became(ResultSide(), hidden) == [("suppressed", "a")]
    assert became(hidden, ResultSide()) == [("fixed", "a")]


# The whole ---------------------------------------------------------------------------------

WHO = Identity("prod", "shop", "111122223333", "eu-west-1", "v1.33", "uid-1")


def an_earlier(**more: Any) -> SavedResult:
    return replace(SavedResult("old.json", WHO, Source.LIVE, NOW, "1.2.3", {"gate": "after", "since": "x"}), **more)


def test_the_options_are_compared_but_for_the_one_that_compares() -> None:
    cluster = replace(a_cluster(), identity=WHO, source=Source.LIVE)
    found = compare_with_saved(
        an_earlier(),
        cluster,
        ResultSide(),
        ResultSide((said(),)),
        {"only": ["a"], "since": "old.json"},
        (),
        ("a note",),
    )
    assert found.changed_options == (ChangedOption("gate", "after", None), ChangedOption("only", None, ["a"]))
    assert (found.cluster_doubt, found.notes, found.unchanged) == ("", ("a note",), 0)
    assert found.of_kind(FindingChangeKind.NEW) == found.changes and found.changes_by_finding() == {
        said(): found.changes[0]
    }


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"gate": "after", "fail-on": "high", "since": "y"}, ("fixed", "")),
        ({"gate": "after", "only": ["a"]}, ("fixed", "")),  # the sides name what it leaves out
        ({"gate": "before-nodes"}, ("not-judged-this-time", "asked differently: --gate")),
        ({"to": "v2"}, ("not-judged-this-time", "asked differently: --gate, --to")),
    ],
)
@pytest.mark.parametrize("status", [FAIL, UNKNOWN])
def test_only_the_same_question_can_be_answered_as_fixed(
    options: dict[str, Any], expected: tuple[str, str], status: Status
) -> None:
    cluster = replace(a_cluster(), identity=WHO, source=Source.LIVE)
    then = ResultSide((said(status=status),))
    (change,) = compare_with_saved(an_earlier(), cluster, then, ResultSide(), options, ("only",)).changes
    fixed = "fixed" if status is FAIL else "known-now"
    assert (change.kind.value.replace(fixed, "fixed"), change.why) == expected


def test_what_another_question_finds_is_new_and_says_so() -> None:
    cluster = replace(a_cluster(), identity=WHO, source=Source.LIVE)
    (change,) = compare_with_saved(an_earlier(), cluster, ResultSide(), ResultSide((said(),)), {"to": "v2"}, ()).changes
    assert (change.kind, change.why) == (FindingChangeKind.NEW, "asked differently: --gate, --to")


# Whatever is compared ----------------------------------------------------------------------

OUTLINES = st.builds(
    FindingOutline,
    st.sampled_from(["a", "b", "c"]),
    st.builds(Subject, st.sampled_from(["Cluster", "Node", "Pod"]), st.sampled_from(["x", "y"]), st.just("")),
    st.sampled_from(Severity),
    st.sampled_from(Status),
    st.sampled_from(["one", "2 pods", "3 pods"]),
)
MANY = st.lists(OUTLINES, max_size=8).map(tuple)
COUNTING = st.builds(
    ResultSide,
    MANY,
    st.lists(OUTLINES.filter(lambda each: each.status is not PASS), max_size=3).map(tuple),
    st.none() | st.sets(st.sampled_from(["a", "b", "c"])).map(frozenset),
    scope=st.none() | st.sets(st.tuples(st.just("Node"), st.sampled_from(["x", "y"]))).map(frozenset),
    related_codes=st.just({"a": frozenset({"b"})}),
)


@given(COUNTING)
def test_beside_itself_nothing_has_changed(side: ResultSide) -> None:
    changes, unchanged = compare_findings(side, side)
    assert changes == () and unchanged == sum(each.status is not PASS for each in side.findings)


@given(COUNTING, COUNTING)
def test_the_other_way_round_is_the_mirror(one_side: ResultSide, other: ResultSide) -> None:
    one_side, other = replace(one_side, suppressed=()), replace(other, suppressed=())
    there, back = compare_findings(one_side, other), compare_findings(other, one_side)
    assert there[1] == back[1]
    fixed = Counter((each.before, each.now) for each in there[0] if each.kind is FindingChangeKind.FIXED)
    new = Counter(
        (each.now, each.before)
        for each in back[0]
        if each.kind is FindingChangeKind.NEW and not each.why and (each.before is None or each.before.status is PASS)
    )
    assert fixed == new
    worse = Counter((each.before, each.now) for each in there[0] if graded(each, True))
    assert worse == Counter((each.now, each.before) for each in back[0] if graded(each, False))


def graded(change: FindingChange, worse: bool) -> bool:
    return change.kind is FindingChangeKind.CHANGED and change.worse is worse


@given(COUNTING, COUNTING)
def test_each_finding_is_told_once_and_nothing_is_fixed_that_is_unknown(then: ResultSide, now: ResultSide) -> None:
    changes, unchanged = compare_findings(then, now)
    told = Counter(each.now for each in changes if each.now is not None)
    assert not told - Counter((*now.findings, *now.suppressed))
    failing = sum(each.status is not PASS for each in now.findings)
    came = sum(each.now is not None and not each.suppressed_now and each.now.status is not PASS for each in changes)
    assert came + unchanged == failing
    for each in changes:
        if each.kind is FindingChangeKind.FIXED and each.now is None:
            assert each.before is not None and each.why == ""
            assert not any(
                said.status is UNKNOWN and (said.code, said.subject) == (each.before.code, each.before.subject)
                for said in now.findings
            )
