"""Label selectors: the form in objects (matchLabels, matchExpressions) and the text form of ``-l``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kubectl_eksdoc.frozen import frozen

Labels = Mapping[str, str]

_NAME = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)"
_DNS = r"(?:[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*)"
_KEY = re.compile(rf"(?:(?=[^/]{{1,253}}/){_DNS}/)?{_NAME}\Z")
_VALUE = re.compile(rf"(?:{_NAME})?\Z")
_INT = re.compile(r"[-+]?[0-9]+\Z")
_SPACE = " \t\r\n"
_TOKEN = re.compile(rf"!=|==|[=!(),><]|[^{_SPACE}=!(),><]+")
_OPERATORS = {"in": "In", "notin": "NotIn", "=": "In", "==": "In", "!=": "NotIn", ">": "Gt", "<": "Lt"}


class InvalidSelector(ValueError):
    """The text is not a label selector. The message says where the error is; `server_message` is the API server's
    message."""

    def __init__(self, message: str, server_message: str = "") -> None:
        super().__init__(message)
        self.server_message = server_message or message


@frozen
class Requirement:
    """One condition: `operator` is In, NotIn, Exists, DoesNotExist, Gt or Lt (as in objects)."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Labels) -> bool:
        """Implements apimachinery's ``labels.Requirement.Matches``."""
        value = labels.get(self.key)
        if self.operator == "In":
            return value is not None and value in self.values
        if self.operator == "NotIn":
            return value is None or value not in self.values
        if self.operator == "Exists":
            return value is not None
        if self.operator == "DoesNotExist":
            return value is None
        if self.operator in ("Gt", "Lt") and value is not None and len(self.values) == 1:
            number, right = _int64(value), _int64(self.values[0])
            if number is None or right is None:
                return False
            return number > right if self.operator == "Gt" else number < right
        return False


@frozen
class Selector:
    """A conjunction of requirements; without any it matches everything.

    `valid` is False for a selector that the API machinery cannot convert: it matches nothing, as in the eviction API
    and the disruption controller.
    """

    requirements: tuple[Requirement, ...] = ()
    valid: bool = True

    def matches(self, labels: Labels) -> bool:
        return self.valid and all(r.matches(labels) for r in self.requirements)

    def __str__(self) -> str:
        return ",".join(_format_requirement(r) for r in self.requirements) or "everything"


EVERYTHING = Selector()
NOTHING = Selector(valid=False)


def from_parts(match_labels: Labels, expressions: tuple[Requirement, ...] = ()) -> Selector:
    """A selector of the object form. Unknown operators and malformed values make it invalid."""
    equal = tuple(Requirement(k, "In", (v,)) for k, v in sorted(match_labels.items()))
    valid = all(_VALUE.match(v) and _KEY.match(k) for k, v in match_labels.items()) and all(
        is_valid(e) for e in expressions
    )
    return Selector(equal + expressions, valid)


def from_document(selector: Mapping[str, Any]) -> Selector:
    """Like `from_parts`, from the value in an object; a null is an empty text, as in Go's decoder."""
    labels = {key: value or "" for key, value in (selector.get("matchLabels") or {}).items()}
    return from_parts(
        labels, tuple(_requirement_from_document(each or {}) for each in selector.get("matchExpressions") or ())
    )


def _requirement_from_document(document: Mapping[str, Any]) -> Requirement:
    values = tuple(value or "" for value in document.get("values") or ())
    return Requirement(document.get("key") or "", document.get("operator") or "", values)


def parse(text: str) -> Selector:
    """Parse the text of ``-l``: ``a=b,c!=d,e in (x,y),f notin (z),g,!h,n>1``.

    The grammar is that of apimachinery's ``labels.Parse``, but an empty text is refused: there it selects everything,
    which a user who writes a selector does not intend.

    Raises:
        InvalidSelector: the text does not follow the grammar.
    """
    reader = _TokenReader(text)
    if reader.at_end():
        raise InvalidSelector("it is empty")
    terms = [_parse_requirement(reader)]
    while reader.take(","):
        terms.append(_parse_requirement(reader))
    if not reader.at_end():
        raise reader.unexpected("a comma or the end", "',' or 'end of string'", within=False)
    return Selector(tuple(terms))


class _TokenReader:
    """Reads the tokens of a selector: words, and the symbols between them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _TOKEN.findall(text)
        self.position = 0

    def peek(self) -> str:
        """The next token, "" at the end."""
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def at_end(self) -> bool:
        return self.position == len(self.tokens)

    def take(self, symbol: str) -> bool:
        """Skip `symbol` if it is the next token."""
        if self.peek() != symbol:
            return False
        self.position += 1
        return True

    def word(self, description: str) -> str:
        """The next token, which must be a word; `description` names the expected kind of word."""
        token = self.peek()
        if not token or token[0] in "=!(),><":
            raise self.unexpected(description, "identifier")
        self.position += 1
        return token

    def unexpected(self, description: str, server_expected: str, within: bool = True) -> InvalidSelector:
        """`server_expected`: the tokens that labels.Parse reports as expected; `within` a requirement, not
        between two."""
        token_text = repr(self.peek()) if self.peek() else "the end"
        server_message = f"found '{self.peek()}', expected: {server_expected}"
        if within:
            server_message = f"unable to parse requirement: {server_message}"
        return InvalidSelector(f"{description} is expected in {self.text!r}, not {token_text}", server_message)


def _parse_requirement(reader: _TokenReader) -> Requirement:
    if reader.take("!"):
        return _validated_requirement(reader.word("a label key"), "DoesNotExist", ())
    key = reader.word("a label key")
    if reader.at_end() or reader.peek() == ",":
        return _validated_requirement(key, "Exists", ())
    word = reader.peek()
    operator = _OPERATORS.get(word)
    if operator is None:
        raise reader.unexpected("an operator (=, !=, in, notin, >, <)", "in, notin, =, ==, !=, gt, lt")
    reader.take(word)
    if word in ("in", "notin"):
        return _validated_requirement(key, operator, _parse_value_set(reader))
    value = "" if reader.at_end() or reader.peek() == "," else reader.word("a label value")
    return _validated_requirement(key, operator, (value,))


def _parse_value_set(reader: _TokenReader) -> tuple[str, ...]:
    """``(a,b)``: between two commas, and next to a parenthesis, the value is empty, but ``()`` is not a set."""
    if not reader.take("("):
        raise reader.unexpected("'('", "'('")
    if reader.peek() == ")":
        raise reader.unexpected("a label value", "',', ')' or identifier")
    values = []
    while True:
        values.append("" if reader.peek() in (",", ")") else reader.word("a label value"))
        if reader.take(")"):
            return tuple(dict.fromkeys(values))
        if not reader.take(","):
            raise reader.unexpected("a comma or ')'", "',' or ')'")


def _validated_requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    if not _KEY.match(key):
        raise InvalidSelector(f"{key!r} is not a label key")
    for value in values:
        if not _VALUE.match(value):
            raise InvalidSelector(f"{value!r} is not a label value")
        if operator in ("Gt", "Lt") and _int64(value) is None:
            raise InvalidSelector(f"{value!r} is not a whole number, which {key!r} is compared with")
    return Requirement(key, operator, values)


def _int64(text: str) -> int | None:
    """Like Go's ``strconv.ParseInt(text, 10, 64)``; Python's `int` accepts more."""
    if not _INT.match(text):
        return None
    value = int(text) if len(text) <= 64 else 2**63
    return value if -(2**63) <= value < 2**63 else None


def is_valid(requirement: Requirement, allow_comparison: bool = False) -> bool:
    """Whether the API machinery accepts it (``labels.NewRequirement``); with `allow_comparison` also Gt and Lt, as for
    nodes."""
    values = requirement.values
    if not _KEY.match(requirement.key):
        return False
    if requirement.operator in ("In", "NotIn"):
        return bool(values) and all(_VALUE.match(v) for v in values)
    if allow_comparison and requirement.operator in ("Gt", "Lt"):
        return len(values) == 1 and _int64(values[0]) is not None
    return requirement.operator in ("Exists", "DoesNotExist") and not values


def _format_requirement(requirement: Requirement) -> str:
    if requirement.operator == "In" and len(requirement.values) == 1:
        return f"{requirement.key}={requirement.values[0]}"
    if requirement.operator in ("In", "NotIn"):
        return f"{requirement.key} {requirement.operator.lower()} ({','.join(requirement.values)})"
    if requirement.operator == "Exists":
        return requirement.key
    if requirement.operator == "DoesNotExist":
        return f"!{requirement.key}"
    return f"{requirement.key}{'>' if requirement.operator == 'Gt' else '<'}{''.join(requirement.values)}"
