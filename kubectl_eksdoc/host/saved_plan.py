"""From the document of a drain plan to its outline: only what is compared is looked at, and all of that is checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from enum import Enum
from math import isfinite
from typing import TypeVar

from kubectl_eksdoc.core.model.baseline import (
    Baseline,
    BudgetOutline,
    FindingOutline,
    Outline,
    TargetOutline,
    TimesOutline,
)
from kubectl_eksdoc.core.model.cluster import Identity, Source
from kubectl_eksdoc.core.model.findings import Severity, Status, Subject

_MOST = 10**9
"""No count of a plan comes near it, and no time: it is 31 years of seconds."""

_LONGEST = 60
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")

_Word = TypeVar("_Word", bound=Enum)


class Unfit(ValueError):
    """Something in the document is missing or of another form; the message says what and where."""


def short(text: str) -> str:
    """`text` as part of an error, cut where it is long."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def baseline_of(document: Mapping[str, object], file: str) -> Baseline:
    """
    Raises:
        Unfit: the document is not as its schema says.
    """
    plan = _Fields(document)
    metadata = plan.inside("metadata")
    return Baseline(
        file=file,
        identity=_identity(metadata.inside("cluster")),
        source=metadata.word("source", Source),
        observed_at=metadata.moment("observedAt"),
        tool_version=metadata.text("toolVersion"),
        options=_options(metadata.inside("options")),
        outline=_outline(plan),
    )


class _Fields:
    """An object of the document; each method gives the value of a key that must be there."""

    def __init__(self, values: Mapping[str, object], where: str = "") -> None:
        self._values = values
        self._where = where

    def names(self) -> tuple[str, ...]:
        return tuple(self._values)

    def value(self, key: str) -> object:
        if key not in self._values:
            raise self.unfit(key, "is missing")
        return self._values[key]

    def unfit(self, key: str, what: str) -> Unfit:
        return Unfit(f"{self._where}{short(key)} {what}")

    def text(self, key: str) -> str:
        value = self.value(key)
        if not isinstance(value, str) or not value:
            raise self.unfit(key, "is no text")
        return value

    def text_or_null(self, key: str) -> str:
        """ "" for null."""
        return "" if self.value(key) is None else self.text(key)

    def word(self, key: str, words: type[_Word]) -> _Word:
        text = self.text(key)
        try:
            return words(text)
        except ValueError:
            raise self.unfit(key, f"is {short(text)!r}, which is not known here") from None

    def whole(self, key: str) -> int:
        value = self.value(key)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
            raise self.unfit(key, "is no count")
        return value

    def number(self, key: str) -> float:
        value = self.value(key)
        # A comparison first: an integer may be too large for a float.
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= _MOST:
            raise self.unfit(key, "is no amount")
        if not isfinite(value):
            raise self.unfit(key, "is no amount")
        return value

    def moment(self, key: str) -> datetime:
        text = self.text(key)
        try:
            if _MOMENT.fullmatch(text):
                return datetime.fromisoformat(text[:-1]).replace(tzinfo=timezone.utc)
        except ValueError:
            pass
        raise self.unfit(key, "is no moment in UTC")

    def texts(self, key: str) -> tuple[str, ...]:
        values = self._list(key)
        if not all(isinstance(value, str) for value in values):
            raise self.unfit(key, "holds more than texts")
        return tuple(map(str, values))

    def each(self, key: str) -> Iterator[_Fields]:
        """The objects of a list."""
        for at, value in enumerate(self._list(key)):
            if not isinstance(value, dict):
                raise self.unfit(f"{key}[{at}]", "is no object")
            yield _Fields(value, f"{self._where}{key}[{at}].")

    def inside(self, key: str) -> _Fields:
        value = self.value(key)
        if not isinstance(value, dict):
            raise self.unfit(key, "is no object")
        return _Fields(value, f"{self._where}{key}.")

    def inside_or_null(self, key: str) -> _Fields | None:
        return None if self.value(key) is None else self.inside(key)

    def _list(self, key: str) -> list[object]:
        value = self.value(key)
        if not isinstance(value, list):
            raise self.unfit(key, "is no list")
        return value


def _identity(cluster: _Fields) -> Identity:
    return Identity(
        context=cluster.text_or_null("context"),
        cluster=cluster.text_or_null("cluster"),
        account=cluster.text_or_null("account"),
        region=cluster.text_or_null("region"),
        server_version=cluster.text_or_null("serverVersion"),
        uid=cluster.text_or_null("uid"),
    )


def _options(options: _Fields) -> dict[str, object]:
    """Flags have one value, or a list of texts."""
    found: dict[str, object] = {}
    for key in options.names():
        value = options.value(key)
        if isinstance(value, list):
            found[key] = list(options.texts(key))
        elif isinstance(value, str) or (isinstance(value, (int, float)) and -_MOST <= value <= _MOST):
            found[key] = value
        else:
            raise options.unfit(key, "is no value of a flag")
    return found


def _outline(plan: _Fields) -> Outline:
    return Outline(
        targets=_all(plan, "targets", _target),
        budgets=_all(plan, "budgets", _budget),
        findings=_all(plan, "findings", _finding),
        evictions=len(list(plan.each("evictions"))),
        left=len(list(plan.each("left"))),
        rounds=plan.whole("rounds"),
        waves=len(list(plan.each("waves"))),
        times=_times(plan),
    )


_Made = TypeVar("_Made")


def _all(plan: _Fields, key: str, make: Callable[[_Fields], _Made]) -> tuple[_Made, ...]:
    return tuple(make(fields) for fields in plan.each(key))


def _target(target: _Fields) -> TargetOutline:
    return TargetOutline(target.text("name"), target.text("verdict"), target.texts("why"))


def _budget(budget: _Fields) -> BudgetOutline:
    key = f"{budget.text('namespace')}/{budget.text('name')}"
    return BudgetOutline(key, budget.text("verdict"), budget.whole("perRound"))


def _finding(finding: _Fields) -> FindingOutline:
    subject = finding.inside("subject")
    namespace = subject.text("namespace") if "namespace" in subject.names() else ""
    return FindingOutline(
        code=finding.text("code"),
        subject=Subject(subject.text("kind"), subject.text("name"), namespace),
        severity=finding.word("severity", Severity),
        status=finding.word("status", Status),
        message=finding.text("message"),
    )


def _times(plan: _Fields) -> TimesOutline | None:
    estimate = plan.inside_or_null("estimate")
    bound = plan.inside_or_null("lowerBound")
    if estimate is None:
        return None
    gap = None if plan.value("gap") is None else plan.number("gap")
    return TimesOutline(
        p50_s=estimate.number("p50"),
        p95_s=estimate.number("p95"),
        peak_away=estimate.whole("peakAway"),
        bound_s=bound.number("seconds") if bound else None,
        binds=f"{bound.text('binding')} {bound.text_or_null('subject')}".rstrip() if bound else "",
        gap=gap,
    )
