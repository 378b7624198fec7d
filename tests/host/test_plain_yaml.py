"""YAML that this tool writes is read back as the same; other YAML features are rejected in one line."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.host.documents import looks_like_yaml, parse_go_yaml, parse_plain_yaml
from kubectl_eksdoc.report.encode import to_yaml

TEXTS = st.text(string.printable + "é한\u2028", max_size=12)
SCALARS = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | TEXTS
VALUES = st.recursive(
    SCALARS | st.floats(allow_nan=False, allow_infinity=False, width=32),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


@given(VALUES)
def test_what_was_written_is_read(value: object) -> None:
    assert parse_plain_yaml(to_yaml({"kind": value}).encode()) == {"kind": value}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# said\na: ~\nb: 1.5\nc: -3\nd: 2026-11-20T08:51:00Z\ne: 0x10\n", None),
        ("a: &x [1]\nb: !!str 1", {"a": [1], "b": "1"}),
        ("1: x", {"1": "x"}),
        ("a: " + "9" * 400, {"a": "9" * 400}),
    ],
)
def test_plain_values(text: str, found: object) -> None:
    expected = found or {"a": None, "b": 1.5, "c": -3, "d": "2026-11-20T08:51:00Z", "e": "0x10"}
    assert parse_plain_yaml(text.encode()) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"a: *b", "it has aliases"),
        (b"a: " + b"[" * 200_000, "it is nested too deeply"),
        (b"? [a]\n: b", "a key of it is no text"),
        (b"!!python/object/apply:os.system [ls]", "it has tags"),
        (b"a: b\n---\na: c", "it holds 2 documents"),
        (b"a: 1\nb: 2\na: 3", "'a' is twice in one object"),
        (b"a: \xff", "invalid leading UTF-8 octet"),
    ],
)
def test_what_else_yaml_can_say_is_refused(text: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        parse_plain_yaml(text)
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=60) | st.text(string.printable, max_size=60).map(str.encode))
def test_whatever_it_is(content: bytes) -> None:
    looks_like_yaml(content)
    try:
        parse_plain_yaml(b"a: " + content)
    except ValueError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_what_powershell_writes_looks_like_it_and_is_read(encoding: str) -> None:
    content = "apiVersion: eksdoc.io/v1alpha1\nkind: é\n".encode(encoding)
    assert looks_like_yaml(content) and parse_plain_yaml(content) == {"apiVersion": "eksdoc.io/v1alpha1", "kind": "é"}


LAUGHS = b"a: &a [1, 2]\n" + b"".join(
    b"%c: &%c [%s]\n" % (n, n, b", ".join([b"*%c" % (n - 1)] * 9)) for n in range(98, 122)
)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a: &x [1]\nb: *x\n", {"a": [1], "b": [1]}),
        (b"a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}),
        (b"a: {<<: [{b: 1}, {b: 2, c: 3}], d: 4}\n---\na: [\n", {"a": {"b": 1, "c": 3, "d": 4}}),
    ],
)
def test_what_go_reads_beyond_plain_values(content: bytes, expected: object) -> None:
    assert parse_go_yaml(content) == expected


def test_aliases_grow_nothing() -> None:
    """Expanded, this would be some 10^22 numbers."""
    found = parse_go_yaml(LAUGHS)
    assert isinstance(found, dict) and found["b"][0] is found["a"] and len(found) == 25


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"a: &x text\n*x : b\n", "a key of it is no text"),
        (b"a: *b", "[*]b leads nowhere"),
        (b"a: &a [*a]", "[*]a stands in what it leads to"),
        (b"a: {<<: 1}", "<< stands before what is no object"),
    ],
)
def test_aliases_that_lead_nowhere(content: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_go_yaml(content)
