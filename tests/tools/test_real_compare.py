"""The comparison of `make test-real` for a drain: order, placements, refusals, time; and the differences that are
errors."""

from __future__ import annotations

import pytest

from tools.real.compare import Compared, Doc, Left, compared, in_order, left_of

PODS = ("web-1", "web-2", "api-1", "api-2")


def plan(**changed: object) -> Doc:
    evictions = [{"namespace": "a", "name": pod, "atSeconds": float(at)} for at, pod in enumerate(PODS)]
    estimate = {"p50": 40.0, "p95": 60.0, "stopTimes": {"measured": 2, "workloads": 2}}
    return {"evictions": evictions, "lowerBound": {"seconds": 20.0}, "estimate": estimate, **changed}


def record(**changed: object) -> Doc:
    placements = [
        {"node": "new-1", "planned": 3, "scheduled": 2, "target": False},
        {"node": "new-2", "planned": 1, "scheduled": 2, "target": False},
    ]
    same = {"endedSeconds": 50.0, "readySeconds": 4.0, "refusals": [], "placements": placements, "onTargets": 0}
    return {**same, "outcome": "done", "stopped": None, "notEmptied": [], "moments": events(*PODS), **changed}


def events(*pods: str) -> list[Doc]:
    return [{"what": "evicted", "subject": f"a/{pod}"} for pod in pods]


def drain(run: Doc, *pods: str, rehearsal: Doc | None = None) -> Compared:
    return compared(5.0, plan(), rehearsal or record(), events(*(pods or PODS)), run, Left(41.0, 41.0))


def test_a_drain_as_predicted_has_nothing_wrong() -> None:
    row = drain(record())
    assert row.wrong == ()
    assert (row.took_s, row.in_order, row.placed, row.measured) == (46.0, (1.0, 1.0), (1.0, 0.75), True)
    assert row.off == pytest.approx(-6 / 46)


@pytest.mark.parametrize(
    ("run", "pods", "why"),
    [
        (record(endedSeconds=23.0), PODS, "less than its lower bound of 20.0 s"),
        (record(refusals=[{"cause": None, "count": 2}]), PODS, "2 evictions were refused where none was predicted"),
        (record(), PODS[1:], "missing ['a/web-1']"),
        (record(), (*PODS, "db-0"), "not planned ['a/db-0']"),
        (record(), (*PODS, "web-1"), "twice ['a/web-1']"),
        (record(onTargets=1), PODS, "scheduled onto targets"),
        (record(outcome="partial", notEmptied=["old-1"]), PODS, "did not empty every node: old-1"),
    ],
)
def test_what_does_not_hold_is_told(run: Doc, pods: tuple[str, ...], why: str) -> None:
    (wrong,) = drain(run, *pods).wrong
    assert why in wrong


def test_a_refusal_that_was_predicted_is_not_wrong() -> None:
    refused = record(refusals=[{"cause": "DisruptionBudget", "count": 1}])
    assert drain(refused, rehearsal=refused).wrong == ()


def test_order_is_of_pairs_and_one_time_has_none() -> None:
    planned = {"a": 0.0, "b": 0.0, "c": 5.0}
    assert in_order(planned, ["b", "a", "c"]) == 1.0
    assert in_order(planned, ["b", "c", "a"]) == 0.5
    assert in_order(planned, ["c"]) == 1.0


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("4 of 20 pods gone, 0 of 4 nodes done, about 1m35s left", Left(105.0, 105.0)),
        ("9 of 20 pods gone, 0 of 4 nodes done, about 30s to 3m10s left (p50 to p95)", Left(40.0, 200.0)),
        ("3 of 20 pods gone, 0 of 4 nodes done, about 1m35s left", None),
        ("20 of 20 pods gone, 4 of 4 nodes done, 2 replacements not Ready yet", None),
    ],
)
def test_what_is_left_is_read_once_a_fifth_is_gone(said: str, left: Left | None) -> None:
    assert left_of(said, 10.0) == left
