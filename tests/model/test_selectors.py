"""Label selectors: the text of ``-l`` against apimachinery's grammar, and matching against its rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
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
from tests.examples import examples

Parsed = list[tuple[str, str, frozenset[str]]]


class Refused(Exception):
    pass


class Grammar:
    """labels.Parse as its lexer and parser are described, token by token; slow and literal.

    Source: staging/src/k8s.io/apimachinery/pkg/labels/selector.go.
    """

    SYMBOLS = ("!=", "==", "=", "!", "(", ")", ",", ">", "<")
    OPERATORS = {"in": "In", "notin": "NotIn", "=": "In", "==": "In", "!=": "NotIn", ">": "Gt", "<": "Lt"}

    def __init__(self, text: str) -> None:
        self.tokens = [*self.lex(text), ("end", "")]

    def lex(self, text: str) -> Iterator[tuple[str, str]]:
        at = 0
        while at < len(text):
            if text[at] in " \t\r\n":
                at += 1
                continue
            symbol = next((s for s in self.SYMBOLS if text.startswith(s, at)), None)
            if symbol:
                yield "symbol", symbol
                at += len(symbol)
                continue
            start = at
            while at < len(text) and text[at] not in " \t\r\n=!(),><":
                at += 1
            yield "word", text[start:at]

    def next(self, kind: str = "", text: str | None = None) -> str:
        found, literal = self.tokens.pop(0)
        if (kind and found != kind) or (text is not None and literal != text):
            raise Refused(literal)
        return literal

    def sees(self, *texts: str) -> bool:
        kind, literal = self.tokens[0]
        return literal in texts if kind == "symbol" else (kind == "end" and "end" in texts)

    def parse(self) -> Parsed:
        found = [self.requirement()]
        while self.sees(","):
            self.next()
            found.append(self.requirement())
        self.next("end")
        return found

    def requirement(self) -> tuple[str, str, frozenset[str]]:
        if self.sees("!"):
            self.next()
            return checked(self.next("word"), "DoesNotExist", [])
        key = self.next("word")
        if self.sees(",", "end"):
            return checked(key, "Exists", [])
        word = self.next()
        if word not in self.OPERATORS:
            raise Refused(word)
        if word in ("in", "notin"):
            return checked(key, self.OPERATORS[word], self.values())
        value = "" if self.sees(",", "end") else self.next("word")
        return checked(key, self.OPERATORS[word], [value])

    def values(self) -> list[str]:
        self.next("symbol", "(")
        if self.sees(")"):
            self.next()
            return []
        found, expects_value = [], True
        while not self.sees(")"):
            if self.sees(","):
                found += [""] if expects_value else []
                self.next()
                expects_value = True
            elif expects_value:
                found.append(self.next("word"))
                expects_value = False
            else:
                raise Refused("two values")
        self.next()
        return found + ([""] if expects_value else [])


def checked(key: str, operator: str, values: list[str]) -> tuple[str, str, frozenset[str]]:
    name = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
    prefix, slash, rest = key.rpartition("/")
    dns = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
    if slash and not (re.fullmatch(dns, prefix) and len(prefix) <= 253):
        raise Refused(key)
    if not re.fullmatch(name, rest) or len(rest) > 63:
        raise Refused(key)
    if operator in ("In", "NotIn") and not values:
        raise Refused("no values")
    for value in values:
        if len(value) > 63 or (value and not re.fullmatch(name, value)):
            raise Refused(value)
        if operator in ("Gt", "Lt") and not (re.fullmatch(r"[0-9]+", value) and int(value) < 2**63):
            raise Refused(value)
    return key, operator, frozenset(values)


def ours(text: str) -> Parsed | None:
    try:
        return [(r.key, r.operator, frozenset(r.values)) for r in parse(text).requirements]
    except InvalidSelector:
        return None


def theirs(text: str) -> Parsed | None:
    try:
        return Grammar(text).parse()
    except Refused:
        return None


PIECES = st.sampled_from(
    [
        "a",
        "b-1",
        "in",
        "notin",
        "x.io/y",
        "A/b",
        "-c",
        "7",
        "-7",
        "1_0",
        "é",
        *" \t=!(),><",
        "==",
        "!=",
        " in ",
        " in (",
    ]
)


@settings(max_examples=examples(1500, 300))
@given(st.lists(PIECES, max_size=9).map("".join))
@example("a in ()")
@example("a in ( )")
@example("a in (,)")
@example("a in (b,,c)")
@example("a in(b)")
@example("in in (in)")
@example("a\xa0=b")
@example("a=b\x0c")
@example("! a")
@example("!a=b")
@example("a>-1")
@example("a>9223372036854775808")
@example("a>=1")
@example("a=b=c")
@example("a in (b) c")
def test_text_is_read_as_apimachinery_reads_it(text: str) -> None:
    if text.strip(" \t\r\n") == "":
        assert ours(text) is None  # there it would select everything; nobody means that by -l ''
        return
    assert ours(text) == theirs(text)


@given(st.sampled_from([1, 63, 64]), st.sampled_from([1, 63, 64, 253, 254]), st.sampled_from([0, 63, 64]))
def test_lengths(name: int, prefix: int, value: int) -> None:
    text = f"{'p' * prefix}/{'n' * name}={'v' * value}"
    assert ours(text) == theirs(text)
    assert (ours(text) is not None) == (name <= 63 and prefix <= 253 and value <= 63)


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
