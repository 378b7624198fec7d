"""The clusters of a fleet: names, patterns, entries of a file, and refusals in one sentence."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.fleet.clusters import KEYS, members_by_name, members_from_entries
from kubectl_eksdoc.model.cluster import FleetMember

ARN = "arn:aws:eks:eu-west-1:111122223333:cluster/shop"
CONTEXTS = ("prod-us", "prod-eu", "staging-eu", ARN)


def names(text: str) -> list[str]:
    return [member.name for member in members_by_name(text, CONTEXTS)]


def refused(text: str) -> str:
    with pytest.raises(UsageError) as error:
        members_by_name(text, CONTEXTS)
    return str(error.value)


def refused_list(*entries: object) -> str:
    with pytest.raises(UsageError) as error:
        members_from_entries(entries, CONTEXTS, "--fleet prod.yaml")
    return str(error.value)


def test_names_come_as_they_were_given() -> None:
    assert members_by_name("staging-eu, prod-eu", CONTEXTS) == (
        FleetMember("staging-eu", "staging-eu"),
        FleetMember("prod-eu", "prod-eu"),
    )
    assert names(f"{ARN},") == [ARN]


def test_what_a_pattern_matches_comes_sorted_and_once() -> None:
    assert names("prod-*") == ["prod-eu", "prod-us"]
    assert names("*-eu,prod-*") == ["prod-eu", "staging-eu", "prod-us"]
    assert names("prod-*,prod-us") == ["prod-eu", "prod-us"]
    assert names("prod-us,prod-*") == ["prod-us", "prod-eu"]
    assert names("arn:*:cluster/*") == [ARN]


def test_an_unknown_name_is_told_with_those_that_are_near() -> None:
    assert refused("prod-ue") == (
        "--fleet: no context, and no file here, is called 'prod-ue' (did you mean prod-us or prod-eu?)\n"
        f"Contexts: {ARN}, prod-eu, prod-us, staging-eu"
    )
    assert refused("prod-eu,prod.yaml").startswith("--fleet: no context is called 'prod.yaml'")
    assert refused("prdo-*").startswith("--fleet: no context matches 'prdo-*' (did you mean prod-us or prod-eu?)")


def test_without_a_kubeconfig_it_is_said_how_to_get_one() -> None:
    with pytest.raises(UsageError, match="aws eks update-kubeconfig"):
        members_by_name("prod-*", ())


def test_twice_is_once_too_often() -> None:
    assert refused("prod-eu,prod-eu").startswith("--fleet: 'prod-eu' is named twice")
    assert refused("prod-*,prod-eu,prod-eu").startswith("--fleet: 'prod-eu' is named twice")


def test_entries_say_what_is_different_for_one() -> None:
    entry = {"name": "shop", "context": ARN, "kubeconfig": "k", "cluster-name": "shop", "region": "r", "profile": "p"}
    assert members_from_entries([entry, "staging-*", {"snapshot": "a.tar.gz"}], CONTEXTS, "f") == (
        FleetMember("shop", ARN, "k", "shop", "r", "p"),
        FleetMember("staging-eu", "staging-eu"),
        FleetMember("a.tar.gz", snapshot="a.tar.gz"),
    )


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"context": "a", "cluster": "b"}, "--fleet prod.yaml, entry 2 has 'cluster', which is not known"),
        ({"region": "eu-west-1"}, "--fleet prod.yaml, entry 2 says neither context nor snapshot"),
        ({"context": 12}, "--fleet prod.yaml, entry 2: context is no text (put it in quotes)"),
        ({"context": " "}, "--fleet prod.yaml, entry 2: context is no text"),
        ({"snapshot": "a", "profile": "b"}, "--fleet prod.yaml, entry 2 has profile beside snapshot"),
        (["prod-eu"], "--fleet prod.yaml, entry 2 is neither a name nor an object"),
        (None, "--fleet prod.yaml, entry 2 is neither a name nor an object"),
        ("prod-us", "--fleet prod.yaml, entry 2: 'prod-us' is named twice"),
        ({"name": "prod-us", "context": "x"}, "--fleet prod.yaml, entry 2: 'prod-us' is named twice"),
        ("x-*", "--fleet prod.yaml, entry 2: no context matches 'x-*'"),
    ],
)
def test_an_entry_that_is_not_as_it_must_be_is_named(entry: object, said: str) -> None:
    assert refused_list("prod-us", entry).startswith(said)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(CONTEXTS),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*KEYS, "x"]) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=5))
def test_whatever_is_listed_is_a_fleet_or_refused(entries: list[object]) -> None:
    try:
        found = members_from_entries(entries, CONTEXTS, "--fleet f")
    except UsageError as error:
        assert error.message.startswith("--fleet f") and "\n" not in error.message.replace(json.dumps("\n"), "")
        return
    assert found and len({member.name for member in found}) == len(found)
    assert all(member.context or member.snapshot or member.kubeconfig for member in found)


@given(st.text(max_size=20))
def test_whatever_is_named_is_a_fleet_or_refused(text: str) -> None:
    try:
        found = members_by_name(text, CONTEXTS)
    except UsageError as error:
        assert error.message.startswith("--fleet")
        return
    assert {member.context for member in found} <= set(CONTEXTS)


def test_a_context_with_commas_in_its_name_is_itself() -> None:
    assert [each.context for each in members_by_name("a,b", ("a", "a,b", "b"))] == ["a,b"]
    assert [each.context for each in members_by_name("a,b", ("a", "b"))] == ["a", "b"]


def test_a_character_that_no_process_takes_is_refused() -> None:
    with pytest.raises(UsageError, match="entry 1: snapshot has a character in it that no name has"):
        members_from_entries([{"snapshot": "a\0b"}], (), "--fleet x")
