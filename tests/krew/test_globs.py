"""Go's patterns: its own documented cases, and what holds of any pattern."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.krew.lint.globs import BadPattern, matches
from tools.krew.lint.paths import below, clean, inside

NAMES = st.text("ab.-]é", max_size=8)
PATTERNS = st.text("ab*?[]^-\\/.é", max_size=10)


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


@given(PATTERNS, NAMES)
def test_a_pattern_says_the_same_as_all_of_its_ways(pattern: str, name: str) -> None:
    """Against the plainest reading: every way in which a star can be cut is tried."""
    try:
        found_ = matches(pattern, name)
    except BadPattern:
        return
    if "[" not in pattern:
        assert found_ == _tried(pattern, name)


def _tried(pattern: str, name: str) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "*":
        cut = name.partition("/")[0]
        return any(_tried(pattern[1:], name[i:]) for i in range(len(cut) + 1))
    if not name:
        return False
    if pattern[0] == "\\":
        return name[0] == pattern[1] and _tried(pattern[2:], name[1:])
    return (name[0] == pattern[0] or (pattern[0] == "?" and name[0] != "/")) and _tried(pattern[1:], name[1:])


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


@given(st.text("ab./", max_size=12))
def test_what_is_below_is_clean_and_tells_whether_it_leads_away(path: str) -> None:
    joined = below(path)
    assert joined == "" or clean(joined) == joined
    assert inside(joined) == (not joined.startswith(".."))
    assert not joined.startswith("/")
