"""Answers of AWS are recorded and replayed, refusals and unknown facts included."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.aws import eks
from kubectl_eksdoc.aws.asking import describe_cluster
from kubectl_eksdoc.aws.recorded import RecordedAws, Recorder
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsMissing, AwsThrottled, SnapshotError
from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.model.kinds import Absent, Unknown
from tests.aws.answers import RECORDED, Scripted, a_cluster, sees

NOW = datetime(2026, 11, 20, 9, tzinfo=timezone.utc)

_names = st.text(max_size=5) | st.sampled_from(["$time", "$$time", "$"])
_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.datetimes(timezones=st.just(timezone.utc)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3),
    max_leaves=8,
)


HEAD = Recorder(Scripted({})).to_bytes(RECORDED).replace(b'"calls": [], ', b"").removesuffix(b"}") + b", "
"""A recording up to its calls."""


def again(recorder: Recorder) -> RecordedAws:
    return RecordedAws(recorder.to_bytes(RECORDED))


@given(st.dictionaries(_names, _json, max_size=4), st.dictionaries(_names, _json, max_size=3))
def test_any_answer_is_the_same_again(answer: dict[str, Any], parameters: dict[str, Any]) -> None:
    recorder = Recorder(Scripted({"eks:DescribeCluster": answer}))
    assert recorder.ask(questions.CLUSTER, parameters) == answer
    assert again(recorder).ask(questions.CLUSTER, parameters) == answer


def test_what_was_refused_is_named_by_its_action() -> None:
    denied = AwsDenied("IAM does not allow it", "", "eks:DescribeAddon")
    live = Scripted(
        {
            "eks:DescribeAddon": denied,
            "eks:ListAddons": AwsMissing("no such cluster"),
            "eks:DescribeCluster": a_cluster(),
        }
    )
    recorder = Recorder(live)
    recorder.ask(questions.CLUSTER, {})
    for question in (questions.ADDON, questions.ADDONS):
        with suppress(AwsError):
            recorder.ask(question, {})
    assert recorder.refused_actions == {"eks:DescribeAddon": "IAM does not allow it"}


def test_facts_of_a_recording_are_those_of_the_live_answers() -> None:
    denied = AwsDenied("IAM does not allow it", "AWS says: no", "eks:DescribeAddon")
    live = Scripted(
        {
            "eks:DescribeCluster": a_cluster(createdAt=NOW),
            "eks:ListAddons": {"addons": ["vpc-cni", "coredns"]},
            "eks:DescribeAddon": lambda asked: (
                denied if asked["addonName"] == "coredns" else {"addon": {"addonName": "vpc-cni", "modifiedAt": NOW}}
            ),
            "eks:DescribeAddonVersions": AwsMissing("no such add-on", code="ResourceNotFoundException"),
            "eks:DescribeClusterVersions": AwsThrottled("too often"),
        }
    )
    recorder = Recorder(live)

    def facts(aws: Any) -> tuple[Any, ...]:
        return (
            describe_cluster(aws, "demo-shop"),
            eks.addons(sees(aws)),
            eks.addon_versions(sees(aws), "x"),
            eks.cluster_versions(sees(aws)),
        )

    seen = facts(recorder)
    assert facts(again(recorder)) == seen
    assert seen[0].created == NOW and seen[1][0] == Unknown("IAM does not allow it", "eks:DescribeAddon")
    assert seen[2] == Absent("no such add-on") and seen[3] == Unknown("too often")


def test_the_same_answers_give_the_same_bytes_in_whatever_order_they_came() -> None:
    live = Scripted({"eks:DescribeCluster": a_cluster(), "sts:GetCallerIdentity": {"Account": "1"}})
    one, other = Recorder(live), Recorder(live)
    one.ask(questions.CLUSTER, {"name": "a"}), one.ask(questions.CALLER, {})
    other.ask(questions.CALLER, {}), other.ask(questions.CLUSTER, {"name": "a"})
    assert one.to_bytes(RECORDED) == other.to_bytes(RECORDED)


def test_an_answer_stays_whatever_is_done_with_it_and_is_not_asked_for_again() -> None:
    answers: list[Any] = [AwsThrottled("too often"), a_cluster()]
    recorder = Recorder(Scripted({"eks:DescribeCluster": lambda asked: answers.pop(0)}))
    with pytest.raises(AwsThrottled):
        recorder.ask(questions.CLUSTER, {})
    for _ in range(2):
        asked = recorder.ask(questions.CLUSTER, {})
        assert asked == a_cluster()
        asked["cluster"].clear()
    assert len(recorder) == 1
    recorded = again(recorder)
    recorded.ask(questions.CLUSTER, {}).clear()
    assert recorded.ask(questions.CLUSTER, {}) == a_cluster()


def test_what_was_not_asked_is_unknown_and_never_nothing() -> None:
    empty = again(Recorder(Scripted({})))
    assert isinstance(eks.addons(sees(empty)), Unknown)
    with pytest.raises(AwsDenied, match="does not hold the answer of eks:DescribeCluster"):
        describe_cluster(empty, "demo-shop")


def test_what_ends_everything_is_not_kept_as_an_answer() -> None:
    recorder = Recorder(Scripted({"eks:DescribeCluster": AwsError("no network")}))
    with pytest.raises(AwsError, match="no network"):
        recorder.ask(questions.CLUSTER, {})
    assert b'"calls": []' in recorder.to_bytes(RECORDED)


@pytest.mark.parametrize(
    "written",
    [
        *(
            HEAD + b'"calls": [%s]}' % call
            for call in (
                b"{}",
                b'{"service": "eks", "operation": "x", "parameters": {}}',
                b'{"service": "eks", "operation": "x", "parameters": [], "answer": {}}',
            )
        ),
        b"",
        HEAD.replace(b": 1,", b": 2,") + b'"calls": []}',
        HEAD + b'"call": []}',
        HEAD + b'"calls": {"$time": "yesterday"}}',
        HEAD + b'"calls": [{"$time": "?"}]}',
        HEAD.replace(b'"$time": ', b'"time": ') + b'"calls": []}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_recording_is_said_to_be_none(written: bytes) -> None:
    with pytest.raises(SnapshotError):
        RecordedAws(written)


@given(st.binary(max_size=200))
def test_no_bytes_break_it(written: bytes) -> None:
    try:
        RecordedAws(HEAD + b'"calls": ' + written + b"}")
    except SnapshotError:
        return


_named = st.sampled_from(["addons", "addon", "cluster", "clusterVersions", "updateIds", "update", "name", "version"])
_edited = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_named, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(_named, _edited, max_size=3), st.booleans())
def test_an_answer_that_somebody_has_edited_is_unknown_or_refused(answer: Any, refused: bool) -> None:
    asked = ("DescribeCluster", {"name": "x"}), ("ListAddons", {"clusterName": "x"}), ("DescribeClusterVersions", {})
    asked += (
        ("DescribeAddon", {"clusterName": "x", "addonName": "y"}),
        ("ListUpdates", {"name": "x", "addonName": "y"}),
    )
    what = {"refused": answer} if refused else {"answer": answer}
    calls = [{"service": "eks", "operation": name, "parameters": given, **what} for name, given in asked]
    aws = RecordedAws(HEAD + b'"calls": ' + json.dumps(calls).encode() + b"}")
    for ask in (
        lambda: describe_cluster(aws, "x"),
        lambda: eks.addons(sees(aws, "x")),
        lambda: eks.addon(sees(aws, "x"), "y"),
        lambda: eks.cluster_versions(sees(aws, "x")),
        lambda: eks.updates_of_addon(sees(aws, "x"), "y"),
    ):
        with suppress(AwsError):
            ask()
