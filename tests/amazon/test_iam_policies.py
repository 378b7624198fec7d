"""How policy documents are evaluated: known cases, and a policy that is not understood never gives an answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.amazon.iam import (
    IamRequest,
    PolicyDecision,
    _matches_glob,
    judge_policies,
    merge_statements,
    statements,
)

QUEUE = "arn:aws:sqs:eu-west-1:111122223333:prod"
EVENTS = "events.amazonaws.com"
RULE = "arn:aws:events:eu-west-1:111122223333:rule/spot"
ASKED = IamRequest(
    "sqs:SendMessage",
    QUEUE,
    (("Service", EVENTS),),
    {"aws:sourcearn": RULE, "aws:securetransport": "true", "aws:sourceaccount": "111122223333"},
)
ALLOW: dict[str, Any] = {
    "Effect": "Allow",
    "Principal": {"Service": [EVENTS, "sqs.amazonaws.com"]},
    "Action": "sqs:SendMessage",
    "Resource": QUEUE,
}
HTTP = {
    "Sid": "DenyHTTP",
    "Effect": "Deny",
    "Action": "sqs:*",
    "Resource": QUEUE,
    "Principal": "*",
    "Condition": {"Bool": {"aws:SecureTransport": False}},
}


def doc(*statement: Any) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statement)}


def of(**more: Any) -> dict[str, Any]:
    return {**ALLOW, **more}


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in ALLOW.items() if key != name}


CASES: list[tuple[list[Any], PolicyDecision]] = [
    ([ALLOW], PolicyDecision.ALLOWED),
    ([ALLOW, HTTP], PolicyDecision.ALLOWED),
    ([], PolicyDecision.NOTHING),
    ([HTTP], PolicyDecision.NOTHING),
    ([of(Action=["SQS:Send*", "sqs:ReceiveMessage"])], PolicyDecision.ALLOWED),
    ([of(Action="sqs:ReceiveMessage")], PolicyDecision.NOTHING),
    ([of(Resource="arn:aws:sqs:*:111122223333:pro?")], PolicyDecision.ALLOWED),
    ([of(Resource=f"{QUEUE}-other")], PolicyDecision.NOTHING),
    ([of(Resource="arn:aws:sqs:eu-west-1:${aws:PrincipalAccount}:prod")], PolicyDecision.UNKNOWN),
    ([of(Resource="arn:aws:sns:${aws:region}:*")], PolicyDecision.NOTHING),
    ([of(Principal="*")], PolicyDecision.ALLOWED),
    ([of(Principal={"AWS": "111122223333"})], PolicyDecision.NOTHING),
    ([of(Principal={"AWS": "*"})], PolicyDecision.UNKNOWN),
    ([ALLOW, of(Effect="Deny")], PolicyDecision.DENIED),
    ([of(Effect="Deny", Condition={"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}), ALLOW], PolicyDecision.UNKNOWN),
    ([ALLOW, of(Effect="Deny", Action="sqs:DeleteQueue")], PolicyDecision.ALLOWED),
    ([of(Condition={"ArnEquals": {"aws:SourceArn": RULE}})], PolicyDecision.ALLOWED),
    ([of(Condition={"ArnEquals": {"aws:SourceArn": f"{RULE}-other"}})], PolicyDecision.NOTHING),
    ([of(Condition={"StringEquals": {"aws:SourceAccount": ["1", "111122223333"]}})], PolicyDecision.ALLOWED),
    ([of(Condition={"StringEquals": {"aws:PrincipalOrgID": "o-1"}})], PolicyDecision.UNKNOWN),
    ([of(Condition={"ForAllValues:StringEquals": {"aws:SourceAccount": "1"}})], PolicyDecision.UNKNOWN),
    ([of(Condition={"StringEquals": {"aws:SourceAccount": "1", "aws:PrincipalOrgID": "o-1"}})], PolicyDecision.NOTHING),
    ([without("Action") | {"NotAction": "sqs:DeleteQueue"}], PolicyDecision.ALLOWED),
    ([without("Action") | {"NotAction": "sqs:Send*"}], PolicyDecision.NOTHING),
    ([without("Resource") | {"NotResource": QUEUE}], PolicyDecision.NOTHING),
    ([without("Principal") | {"NotPrincipal": {"Service": EVENTS}}], PolicyDecision.UNKNOWN),
    ([without("Effect")], PolicyDecision.UNKNOWN),
    ([ALLOW, "nonsense"], PolicyDecision.UNKNOWN),
    ([of(Effect="Permit"), ALLOW], PolicyDecision.UNKNOWN),
]


@pytest.mark.parametrize(("statement", "says"), CASES, ids=range(len(CASES)))
def test_what_a_policy_says(statement: list[Any], says: PolicyDecision) -> None:
    ruling = judge_policies([doc(*statement)], ASKED)
    assert ruling.decision is says and ruling.reason


def test_a_single_statement_needs_no_list_and_several_documents_are_one() -> None:
    assert judge_policies([{"Statement": ALLOW}], ASKED).decision is PolicyDecision.ALLOWED
    assert judge_policies([doc(ALLOW), doc(of(Effect="Deny"))], ASKED).decision is PolicyDecision.DENIED
    assert judge_policies([], ASKED).decision is PolicyDecision.NOTHING


def test_the_policies_of_a_role_name_nobody() -> None:
    own = IamRequest("sqs:ReceiveMessage", QUEUE)
    assert (
        judge_policies([doc({"Effect": "Allow", "Action": "sqs:*", "Resource": "*"})], own).decision
        is PolicyDecision.ALLOWED
    )
    assert judge_policies([doc(of(Action="sqs:*"))], own).decision is PolicyDecision.UNKNOWN, (
        "one with a principal is of no role"
    )


def test_the_reason_names_the_statement() -> None:
    assert judge_policies([doc(ALLOW, {**HTTP, "Condition": {"Foo": {"a": "b"}}})], ASKED).reason.startswith(
        "statement DenyHTTP may"
    )
    assert judge_policies([doc(ALLOW)], ASKED).reason == "statement 1 allows it"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["Allow", "Deny", "*", QUEUE]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["Effect", "Principal", "Action", "Resource", "Condition", "Sid", "Service", "x"]),
            inner,
            max_size=6,
        )
    ),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=4))
def test_whatever_a_document_holds_there_is_an_answer(held: list[Any]) -> None:
    ruling = judge_policies([{"Statement": held}], ASKED)
    assert ruling.decision in PolicyDecision
    if ruling.decision is PolicyDecision.ALLOWED:
        assert any(isinstance(each, dict) and each.get("Effect") == "Allow" for each in held)


@given(JSON)
def test_a_deny_that_is_understood_is_never_allowed(held: Any) -> None:
    assert judge_policies([doc(held, of(Effect="Deny"), ALLOW)], ASKED).decision is PolicyDecision.DENIED


STATEMENTS = st.lists(
    st.fixed_dictionaries(
        {"Effect": st.sampled_from(["Allow", "Deny"]), "Action": st.sampled_from(["sqs:*", "sqs:SendMessage"])},
        optional={"Sid": st.sampled_from(["A", "B", "A2"])},
    ),
    max_size=5,
)


@given(
    st.none() | STATEMENTS.map(lambda each: doc(*each)) | STATEMENTS.map(lambda each: {"Id": "x", "Statement": each}),
    STATEMENTS,
)
def test_a_merge_keeps_every_statement_and_done_twice_is_the_same(
    kept: dict[str, Any] | None, needed: list[dict[str, Any]]
) -> None:
    once = merge_statements(kept, needed)
    before = statements(kept or {})
    assert statements(once)[: len(before)] == before
    assert {key: value for key, value in (kept or {}).items() if key != "Statement"}.items() <= once.items()
    assert merge_statements(once, needed) == once
    plain = [{key: value for key, value in each.items() if key != "Sid"} for each in statements(once)]
    assert all({key: value for key, value in each.items() if key != "Sid"} in plain for each in needed)
    added = [each["Sid"] for each in statements(once)[len(before) :] if "Sid" in each]
    assert len(added) == len(set(added)) and not {each.get("Sid") for each in before} & set(added)


@given(st.text("ab*?", max_size=12), st.text("ab", max_size=12))
def test_a_glob_is_what_a_regular_expression_says(pattern: str, value: str) -> None:
    import re

    expected = re.fullmatch(
        "".join({"*": ".*", "?": "."}.get(each, each) for each in re.sub(r"\*+", "*", pattern)), value
    )
    assert _matches_glob(pattern, value) is (expected is not None)


def test_many_stars_take_no_time() -> None:
    assert _matches_glob("*a" * 200 + "b", "a" * 5_000) is False


@given(JSON)
def test_whatever_stands_in_place_of_a_document_there_is_an_answer(held: Any) -> None:
    assert judge_policies([held], ASKED).decision in PolicyDecision
