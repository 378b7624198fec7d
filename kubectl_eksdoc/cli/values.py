"""Parsers for values of flags, in the forms of people and of kubectl; each function is an argparse `type`.

All raise `argparse.ArgumentTypeError` with a sentence that says what was expected.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic, TypeVar

from kubectl_eksdoc.errors import did_you_mean
from kubectl_eksdoc.frozen import frozen

if TYPE_CHECKING:  # imported late: only the commands of a plan need these modules
    from kubectl_eksdoc.model.budgets import IntOrPercent
    from kubectl_eksdoc.model.quantities import Version
    from kubectl_eksdoc.model.selectors import Selector

T = TypeVar("T")

_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))
_FALSE = frozenset(("0", "f", "F", "false", "FALSE", "False"))
_UNIT_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_DURATION_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|ns)")
_NODE_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\Z")


def parse_bool(text: str) -> bool:
    """The words that Go's strconv.ParseBool accepts."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")


def seconds(text: str) -> float:
    """``0``, ``30``, ``1s``, ``2m``, ``1m30s``, ``3h`` in seconds: kubectl's timeouts, bare numbers are seconds."""
    if re.match(r"[0-9]+\Z", text):
        return float(text)
    parts = _DURATION_PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write 30s, 2m, 1m30s or 1h (0: no limit)")
    return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts)


@frozen
class Codes:
    """A type for finding codes, or other words, separated by commas. `known` is called where the flag is given, or
    completed; `owner` names the command that they belong to, for the error, which lists them if `lists_known`.
    `empty_error`: the error for a value without a code, "" if that is allowed. `word_name`: the name of one such
    word."""

    known: Callable[[], Iterable[str]]
    owner: str = ""
    empty_error: str = ""
    lists_known: bool = False
    word_name: str = "finding code"

    def words(self) -> tuple[str, ...]:
        return tuple(sorted(self.known()))

    def __call__(self, text: str) -> tuple[str, ...]:
        known_words = self.words()
        names = tuple(name.strip() for name in text.split(",") if name.strip())
        if not names and self.empty_error:
            raise argparse.ArgumentTypeError(self.empty_error)
        for name in names:
            if name not in known_words:
                owner_clause = f" of {self.owner}" if self.owner else ""
                known_clause = (
                    f". {self.word_name.split()[-1].capitalize()}s: {', '.join(known_words)}"
                    if self.lists_known
                    else ""
                )
                raise argparse.ArgumentTypeError(
                    f"{name!r} is no {self.word_name}{owner_clause}{did_you_mean(name, known_words)}{known_clause}"
                )
        return names


@frozen
class MatchingText(Generic[T]):
    """A type for a text that `pattern` matches as a whole; `convert` makes the value. `error_text`: the error for any
    other text."""

    pattern: str
    error_text: str
    convert: Callable[[str], T]

    def __call__(self, text: str) -> T:
        if not re.fullmatch(self.pattern, text):
            raise argparse.ArgumentTypeError(f"{text!r} {self.error_text}")
        return self.convert(text)


count = MatchingText("[0-9]{1,9}", "is not a whole number from 0", int)
whole_seconds = MatchingText("-?[0-9]{1,9}", "is not a whole number of seconds", int)
"""It may be negative."""
page_size = MatchingText("[0-9]{1,9}", "is not a number of objects (0: all in one answer)", int)
new_nodes = MatchingText("[0-9]{1,5}", "is no number of nodes; write 0, 1, 2 …", int)
percentage = MatchingText(
    "(100|0{0,2}[1-9]|0?[1-9][0-9])%?",
    "is no percentage from 1 to 100; write 25 or 25%",
    lambda text: int(text.rstrip("%")),
)
pod_key = MatchingText("[a-z0-9][-a-z0-9]*/[a-z0-9][-a-z0-9.]*", "names no pod; write NAMESPACE/POD", str)
rate = MatchingText(
    r"(?=.*[1-9])[0-9]{1,9}(\.[0-9]{1,9})?", "is no rate above 0; write how many a second, such as 5 or 0.5", float
)


def speed(text: str) -> float:
    """A positive number: how many times as fast as real time."""
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 0 < factor <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no speed; write how many times as fast as time, as 60 or 0.5")
    return factor


def amount(text: str) -> IntOrPercent:
    """``3`` or ``25%``: at least 1, at most 100 %."""
    from kubectl_eksdoc.model.budgets import IntOrPercent

    matched = re.match(r"([0-9]{1,9})(%?)\Z", text)
    if not matched or int(matched.group(1)) == 0 or (matched.group(2) and int(matched.group(1)) > 100):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of nodes from 1 on and no percentage from 1% to 100%; write 3 or 25%"
        )
    return IntOrPercent(int(matched.group(1)), bool(matched.group(2)))


def nodes_at_once(text: str) -> tuple[str, IntOrPercent]:
    """``3``, ``25%``, ``zone=1``, ``nodegroup=10%``: the group, and the number of nodes."""
    from kubectl_eksdoc.model.options import ALL, NODEGROUP, ZONE

    group_kind, equals, number = text.rpartition("=")
    if equals and group_kind not in (ZONE, NODEGROUP):
        raise argparse.ArgumentTypeError(f"nodes are not counted by {group_kind!r}; write {ZONE}=1 or {NODEGROUP}=1")
    return group_kind or ALL, amount(number)


def effort(text: str) -> int:
    """A number of evictions, 0 or more."""
    from kubectl_eksdoc.model.options import DEFAULT_EFFORT

    if not re.match(r"[0-9]{1,9}\Z", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of evictions; write 0, or {DEFAULT_EFFORT}")
    return int(text)


def pin(text: str) -> tuple[str, int]:
    """``old-3=2``: a node, and its wave."""
    node, _, wave = text.rpartition("=")
    if not node or not re.match(r"[0-9]{1,4}\Z", wave) or not int(wave):
        raise argparse.ArgumentTypeError(f"{text!r} pins no node to a wave; write NODE=2")
    return node_name(node), int(wave)


def assumed_budget(text: str) -> tuple[str, int]:
    """``shop/thumbs=2``: a PodDisruptionBudget, and how many of its pods may be unavailable."""
    match = re.match(r"([a-z0-9][-a-z0-9]*/[a-z0-9][-a-z0-9.]*)=([0-9]{1,6})\Z", text)
    if not match or int(match.group(2)) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not an assumption; write NAMESPACE/NAME=2")
    return match.group(1), int(match.group(2))


def patience(text: str) -> int:
    """``30m``: whole seconds, 0 or more."""
    duration_s = seconds(text)
    if duration_s != int(duration_s) or duration_s > 7 * 86400:
        raise argparse.ArgumentTypeError(f"{text!r} is no time to wait; write 30m, 1h or 90s, at most 168h (0: none)")
    return int(duration_s)


def selector(text: str) -> Selector:
    """A label selector in the grammar of ``kubectl get -l``."""
    from kubectl_eksdoc.model import selectors

    try:
        return selectors.parse(text)
    except selectors.InvalidSelector as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a label selector: {error}") from error


def version(text: str) -> Version:
    """``v1.33``, ``1.33`` or ``v1.33.2``."""
    from kubectl_eksdoc.model import quantities

    parsed_version = quantities.parse_version(text)
    if parsed_version is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a version; write v1.33 or v1.33.2")
    return parsed_version


def node_name(text: str) -> str:
    """``NAME`` or ``node/NAME``."""
    kind, slash, name = text.rpartition("/")
    if slash and kind.lower() not in ("node", "nodes", "no"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a node; write NAME or node/NAME")
    if not _NODE_NAME.match(name):
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a node")
    return name


def finding_codes(*areas: str) -> Callable[[], Iterable[str]]:
    """A function that returns the names of the finding codes of these areas; they are imported when it is called."""

    def names() -> Iterable[str]:
        from kubectl_eksdoc.model.findings import Code

        return [code.name for code in Code.of_areas(*areas)]

    return names


code_names = Codes(finding_codes("drain"), empty_error="names no finding code", lists_known=True)
"""Finding codes of any command, separated by commas."""


@frozen
class OneOf:
    """A type for one of `known`; `word_name` names it in the error. `alone`: the value of the flag without one, ""
    where it needs one. `not_completed`: words that completion does not offer. `accepts_lower_case`: lower case letters
    are converted to upper case."""

    known: tuple[str, ...]
    word_name: str
    alone: str = ""
    not_completed: tuple[str, ...] = ()
    accepts_lower_case: bool = False

    def words(self) -> tuple[str, ...]:
        return tuple(word for word in self.known if word not in self.not_completed)

    def __call__(self, text: str) -> str:
        word = text.upper() if self.accepts_lower_case else text
        if word in self.known:
            return word
        expected = f"It can be {', '.join(self.known)}"
        raise argparse.ArgumentTypeError(f"{text!r} is no {self.word_name}{did_you_mean(text, self.known)}. {expected}")


def one_of(words: Iterable[str], word_name: str, alone: str = "") -> OneOf:
    return OneOf(tuple(words), word_name, alone)


DRY_RUN = OneOf(("none", "client", "server"), "dry run", alone="client")
NO_SERVER_DRY_RUN = OneOf(DRY_RUN.known, DRY_RUN.word_name, DRY_RUN.alone, not_completed=("server",))
"""For commands that refuse the server dry run with a reason."""


def some_seconds(text: str) -> float:
    """As `seconds`, and more than 0."""
    try:
        duration_s = seconds(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write 30s, 2m, 1m30s or 1h") from error
    if duration_s <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: give more than 0")
    return duration_s


def format_duration(duration_s: float) -> str:
    """In the form that `seconds` accepts: ``30s``, ``10m``, ``90s``."""
    whole = round(duration_s)
    return f"{whole // 60}m" if whole % 60 == 0 and whole else f"{whole}s"
