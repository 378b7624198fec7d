"""Label selectors: parsing of ``-l`` compared with apimachinery's grammar, and matching compared with its rules."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.model.selectors import (
    EVERYTHING,
    NOTHING,
    InvalidSelector,
    Requirement,
    Selector,
    from_document,
    from_parts,
    parse,
)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a in (b,,c)", [("a", "In", ("b", "", "c"))]),
        ("a in (,)", [("a", "In", ("",))]),
        ("in in(in)", [("in", "In", ("in",))]),
        ("a notin (b , c),x.io/y", [("a", "NotIn", ("b", "c")), ("x.io/y", "Exists", ())]),
        ("a==b,c!=d", [("a", "In", ("b",)), ("c", "NotIn", ("d",))]),
        ("a=,\tb", [("a", "In", ("",)), ("b", "Exists", ())]),
        ("! a", [("a", "DoesNotExist", ())]),
        ("a>9223372036854775807,a<7", [("a", "Gt", ("9223372036854775807",)), ("a", "Lt", ("7",))]),
        *(
            (text, None)
            for text in (
                *(
                    "a in ( )",
                    "a in (b) c",
                    "a in (b,c",
                    "a in (b c)",
                    "a,",
                    "!",
                    "!a=b",
                    "a>9223372036854775808",
                    "a>-1",
                ),
                *("a>-1", "a>=1", "a=b=c", "a\xa0=b", "a=b\x0c", "A/b=c", "-c", "é=1", "a/b/c"),
            )
        ),
    ],
)
def test_text_is_read_as_apimachinery_reads_it(text: str, read: list[tuple[str, str, tuple[str, ...]]] | None) -> None:
    """Source: staging/src/k8s.io/apimachinery/pkg/labels/selector.go, its lexer and parser."""
    try:
        found = [(each.key, each.operator, each.values) for each in parse(text).requirements]
    except InvalidSelector:
        assert read is None
    else:
        assert found == read


@given(st.lists(st.sampled_from([*" \t=!(),><", "a", "b-1", "in", "notin", "x.io/y", "7", "==", " in ("])).map("".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(InvalidSelector):
        assert parse(str(parse(text))) == parse(text)


@given(st.sampled_from([1, 63, 64]), st.sampled_from([1, 63, 64, 253, 254]), st.sampled_from([0, 63, 64]))
def test_lengths(name: int, prefix: int, value: int) -> None:
    text = f"{'p' * prefix}/{'n' * name}={'v' * value}"
    if name <= 63 and prefix <= 253 and value <= 63:
        assert len(parse(text).requirements) == 1
    else:
        with pytest.raises(InvalidSelector):
            parse(text)


@pytest.mark.parametrize(
    ("text", "matching", "other"),
    [
        ("a=b", {"a": "b"}, {"a": "c"}),
        ("a!=b", {}, {"a": "b"}),
        ("a in (b,c)", {"a": "c"}, {}),
        ("a notin (b,c)", {}, {"a": "c"}),
        ("a", {"a": ""}, {"b": ""}),
        ("!a", {"b": ""}, {"a": ""}),
        ("a>5", {"a": "6"}, {"a": "5"}),
        ("a<5", {"a": "-6"}, {"a": "5"}),
        ("a=", {"a": ""}, {}),
        ("a=b,c=d", {"a": "b", "c": "d"}, {"a": "b"}),
    ],
)
def test_matching(text: str, matching: dict[str, str], other: dict[str, str]) -> None:
    assert parse(text).matches(matching)
    assert not parse(text).matches(other)


@pytest.mark.parametrize("value", ["", "1_0", "9223372036854775808", "9" * 5000, None])
def test_a_label_that_is_no_int64_is_neither_more_nor_less(value: str | None) -> None:
    labels = {} if value is None else {"a": value}
    assert not parse("a>1").matches(labels)
    assert not parse("a<5").matches(labels)


def test_empty_and_invalid_selectors() -> None:
    assert EVERYTHING.matches({}) and EVERYTHING.matches({"a": "b"})
    assert not NOTHING.matches({}) and not NOTHING.matches({"a": "b"})
    assert from_parts({}) == EVERYTHING


@pytest.mark.parametrize(
    "expression",
    [
        Requirement("a", "illegal", ("b",)),
        Requirement("a", "In"),
        Requirement("a", "NotIn"),
        Requirement("a", "Exists", ("b",)),
        Requirement("a", "DoesNotExist", ("b",)),
        Requirement("a", "Gt", ("1",)),  # an operator of -l and of node affinity, not of objects' selectors
        Requirement("a/b/c", "Exists"),
        Requirement("a", "In", ("not valid",)),
    ],
)
def test_objects_with_such_an_expression_select_nothing(expression: Requirement) -> None:
    selector = from_parts({"app": "web"}, (expression,))
    assert not selector.valid
    assert not selector.matches({"app": "web", "a": "b"})


@pytest.mark.parametrize("labels", [{"k8s.io/too/many/slashes": "v"}, {"a": "-b"}, {"": "b"}, {"a": "v" * 64}])
def test_objects_with_such_labels_select_nothing(labels: dict[str, str]) -> None:
    assert not from_parts(labels).valid


@pytest.mark.parametrize(
    "text", ["a=b", "a in (b,c)", "a notin (b)", "a", "!a", "a>5", "a<5", "a=b,!c", "a=", "x.io/y=z"]
)
def test_what_is_printed_can_be_read_again(text: str) -> None:
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("a=b c", "a comma or the end is expected in 'a=b c', not 'c'"),
        ("a in (b", "a comma or ')' is expected in 'a in (b', not the end"),
        ("a in ()", "a label value is expected in 'a in ()', not ')'"),
        ("a,,b", "a label key is expected in 'a,,b', not ','"),
        ("-a=b", "'-a' is not a label key"),
        ("a=-b", "'-b' is not a label value"),
        ("a>b", "'b' is not a whole number, which 'a' is compared with"),
    ],
)
def test_the_error_says_where_it_breaks(text: str, message: str) -> None:
    with pytest.raises(InvalidSelector) as caught:
        parse(text)
    assert str(caught.value) == message


def test_no_requirement_prints_as_everything() -> None:
    assert str(Selector()) == "everything"


def test_a_null_in_an_object_is_an_empty_text() -> None:
    terms = [{"key": "b", "operator": "In", "values": [None, "x"]}, None]
    found = from_document({"matchLabels": {"a": None}, "matchExpressions": terms[:1]})
    assert found.valid and found.matches({"a": "", "b": ""}) and not found.matches({"a": "x", "b": ""})
    assert not from_document({"matchExpressions": terms}).valid, "one without a key"
