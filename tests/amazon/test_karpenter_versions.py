"""Facts about Karpenter by version, and the EventBridge rules for each kind of event."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.amazon import interruption
from kubectl_eksdoc.amazon.iam import IamMatch
from kubectl_eksdoc.amazon.interruption import is_about_event, match_event
from kubectl_eksdoc.model.quantities import parse_version

KNOWN = {
    "source": "aws.ec2",
    "detail-type": interruption.spot_notice().detail_type,
    "account": "1",
    "region": "eu-west-1",
}


@pytest.mark.parametrize(
    ("version", "key", "by_map", "by_variable", "kinds", "http"),
    [
        ("v0.31.4", interruption.OLD_HELM_KEY, True, False, 4, False),
        ("v0.32.0", interruption.NEW_HELM_KEY, True, True, 4, False),
        ("v0.33.0", interruption.NEW_HELM_KEY, False, True, 4, False),
        ("1.0.0", interruption.NEW_HELM_KEY, False, True, 4, True),
        ("1.10.0", interruption.NEW_HELM_KEY, False, True, 5, True),
        ("", interruption.NEW_HELM_KEY, None, True, 4, True),
    ],
)
def test_by_version(
    version: str, key: tuple[str, ...], by_map: bool | None, by_variable: bool, kinds: int, http: bool
) -> None:
    which = parse_version(version)
    assert (interruption.helm_key(which), interruption.reads_config_map(which), interruption.reads_variable(which)) == (
        key,
        by_map,
        by_variable,
    )
    assert len(interruption.event_kinds_of(which)) == kinds
    assert interruption.denies_http(which) is http


@pytest.mark.parametrize(
    ("pattern", "fits", "meant"),
    [
        ({"source": ["aws.ec2"], "detail-type": [interruption.spot_notice().detail_type]}, IamMatch.YES, True),
        ({"detail-type": [interruption.spot_notice().detail_type, "other"]}, IamMatch.YES, True),
        ({"source": [{"prefix": "aws."}]}, IamMatch.YES, True),
        ({"source": ["aws.health"]}, IamMatch.NO, False),
        ({"source": ["aws.ec2"], "account": ["2"]}, IamMatch.NO, False),
        ({"source": ["aws.ec2"], "region": ["eu-west-1"]}, IamMatch.YES, True),
        ({"source": ["aws.ec2"], "detail": {"instance-id": ["i-1"]}}, IamMatch.MAYBE, True),
        ({"source": [{"anything-but": ["aws.s3"]}]}, IamMatch.MAYBE, True),
        ({"source": "aws.ec2"}, IamMatch.MAYBE, True),
        ({}, IamMatch.YES, False),
        ({"account": ["1"]}, IamMatch.YES, False),
    ],
)
def test_patterns(pattern: dict[str, Any], fits: IamMatch, meant: bool) -> None:
    assert match_event(pattern, KNOWN) is fits and is_about_event(pattern, KNOWN) is meant


@given(
    st.dictionaries(
        st.sampled_from(["source", "detail-type", "detail", "x"]), st.lists(st.none() | st.text() | st.integers())
    )
)
def test_whatever_a_pattern_says_there_is_an_answer(pattern: dict[str, Any]) -> None:
    assert match_event(pattern, KNOWN) in IamMatch
