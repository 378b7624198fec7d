"""The result for many clusters: the order of rows, one exit code."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.fleet.clusters import FleetPlan, Row, Standing, summarize
from kubectl_eksdoc.model.cluster import MemberOutcome
from kubectl_eksdoc.model.findings import Severity, Status
from tests.fleet.answers import SEEN, a_finding, a_member, an_answer, refused


def a_plan(**outcomes: MemberOutcome) -> FleetPlan:
    return summarize((a_member(name), outcome) for name, outcome in outcomes.items())


def test_the_worst_comes_first() -> None:
    plan = a_plan(
        clean=an_answer(),
        unsure=an_answer(a_finding("x", Severity.MEDIUM, Status.UNKNOWN)),
        one_high=an_answer(a_finding()),
        two_high=an_answer(a_finding(), a_finding("cgroup-v1")),
        critical=an_answer(a_finding(severity=Severity.CRITICAL)),
        gone=refused(),
    )
    assert [row.member.name for row in plan.rows] == ["gone", "critical", "two_high", "one_high", "unsure", "clean"]
    assert [plan.standing_count(each) for each in Standing] == [1, 3, 1, 1]
    late = replace(an_answer(), observed_at="2026-11-21T00:00:00Z")
    assert a_plan(a=late, b=an_answer(), c=refused()).observed_at == SEEN, "the oldest"


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ((0, 0), 0),
        ((0, 5), 5),
        ((5, 1), 1),
        ((1, 4), 4),
        ((4, 3), 3),
        ((3, 70, 0), 70),
        ((77, 3), 77),
        ((), 0),
    ],
)
def test_the_worst_exit_code_is_the_fleets(codes: tuple[int, ...], expected: int) -> None:
    outcomes = {
        f"m{i}": an_answer(exit_code=code) if code in (0, 1, 5) else refused(code) for i, code in enumerate(codes)
    }
    assert a_plan(**outcomes).exit_code == expected


def test_what_blocks_the_first_step_is_first_in_the_way() -> None:
    after = a_finding("dns-on-spot", Severity.CRITICAL, gate="after")
    before = a_finding("kubelet-skew", Severity.MEDIUM, gate="before-control-plane")
    row = Row(a_member("a"), an_answer(after, before, a_finding("x", Severity.HIGH, gate="before-control-plane")))
    assert row.first_obstacle is not None and row.first_obstacle.message == "x is so"
    assert replace(row, min_severity=Severity.CRITICAL).first_obstacle == after
    assert Row(a_member("a"), an_answer(after, exit_code=0)).first_obstacle is None
    assert Row(a_member("a"), refused()).first_obstacle is None


findings = st.builds(a_finding, st.sampled_from(["a", "b", "c"]), st.sampled_from(Severity), st.sampled_from(Status))
outcomes = st.builds(lambda found: an_answer(*found), st.lists(findings, max_size=4)) | st.builds(
    refused, st.sampled_from([2, 3, 4, 70])
)


@given(st.lists(outcomes, max_size=6), st.randoms())
def test_in_whatever_order_they_answer_it_is_the_same(found: list[MemberOutcome], chance: object) -> None:
    pairs = [(a_member(f"m{number}"), each) for number, each in enumerate(found)]
    mixed = list(pairs)
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    assert summarize(mixed) == summarize(pairs)
    assert {row.member.name for row in summarize(mixed).rows} == {member.name for member, _ in pairs}
