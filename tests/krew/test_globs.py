"""Glob patterns of Go: its own documented cases, and properties of any pattern."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.krew.lint.globs import BadPattern, matches
from tools.krew.lint.paths import clean

NAMES = st.text("ab.-]é", max_size=8)


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    # path/filepath/match_test.go
    [
        ("*", "abc", True),
        ("a*", "ab/c", False),
        ("a*/b", "a/c/b", False),
        ("a*b*c*d*e*/f", "axbxcxdxexxx/f", True),
        ("a*b*c*d*e*/f", "axbxcxdxe/xxx/f", False),
        ("a*b?c*x", "abxbbxdbxebxczzx", True),
        ("ab[b-d]", "abc", True),
        ("ab[^e-g]", "abc", True),
        ("a\\*b", "a*b", True),
        ("a?b", "a☺b", True),
        ("a???b", "a☺b", False),
        ("[a-ζ]*", "α", True),
        ("a?b", "a/b", False),
        ("[\\]a]", "]", True),
        ("[x\\-]", "-", True),
        ("[!a]", "!", True),
        ("**", "a/b", False),
        ("*", ".hidden", True),
        ("[c-a]", "b", False),
        ("[^c-a]x", "bx", True),
    ],
)
def test_as_go_has_it(pattern: str, name: str, expected: bool) -> None:
    assert matches(pattern, name) is expected


@pytest.mark.parametrize("pattern", ["[]a]", "[-]", "[x-]", "[-x]", "\\", "[a-b-c]", "[", "[^", "[^bc", "a[", "a[^]"])
@pytest.mark.parametrize("name", ["a", "", "abc"])
def test_patterns_without_a_meaning(pattern: str, name: str) -> None:
    with pytest.raises(BadPattern):
        matches(pattern, name)


@given(NAMES)
def test_a_name_matches_itself_escaped_and_a_star(name: str) -> None:
    assert matches("".join(f"\\{char}" for char in name), name)
    assert matches("*", name) and matches("?" * len(name), name)
    assert not matches("?" * (len(name) + 1), name)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", "."),
        ("./", "."),
        ("a/", "a"),
        ("a//b", "a/b"),
        ("a/../b", "b"),
        ("../a", "../a"),
        ("/..", "/"),
        ("/a", "/a"),
    ],
)
def test_clean_as_go_has_it(path: str, expected: str) -> None:
    assert clean(path) == expected
