"""From the document of a saved drain plan to its outline: only what is compared is looked at, and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from kubectl_eksdoc.core.model.baseline import Baseline, BudgetOutline, Outline, Promise, TargetOutline, TimesOutline
from kubectl_eksdoc.core.model.documents import DRAIN_PLAN
from kubectl_eksdoc.core.model.findings import Status
from kubectl_eksdoc.host.documents.fields import Fields
from kubectl_eksdoc.host.saved.answer import read_answer
from kubectl_eksdoc.host.saved.metadata import finding, identity, known, options, source

_Made = TypeVar("_Made")
_FLAG = "--since (or --baseline)"


def read_baseline(path: str) -> Baseline:
    """The drain plan that was saved at `path`. Raises: as `read_answer`."""
    return read_answer(path, DRAIN_PLAN, "drain plan", lambda document: baseline_of(document, path), _FLAG)


def baseline_of(document: Mapping[str, object], file: str) -> Baseline:
    """
    Raises:
        Unfit: the document is not as its schema says.
    """
    plan = Fields(document)
    metadata = plan.inside("metadata")
    return Baseline(
        file=file,
        identity=identity(metadata.inside("cluster")),
        source=source(metadata),
        observed_at=metadata.moment("observedAt"),
        tool_version=metadata.text("toolVersion"),
        options=options(metadata.inside("options")) | _ordered(plan),
        outline=_outline(plan),
        read=frozenset(each.text("resource") for each in metadata.each("kindsRead") if known(each)),
        promise=_promise(plan),
        uids=frozenset(each.text_or_empty("uid") for key in ("targets", "budgets") for each in plan.each(key)) - {""},
    )


def _promise(plan: Fields) -> Promise:
    return Promise(
        {each.text("name"): (each.text_or_empty("uid"), each.text("verdict")) for each in plan.each("targets")},
        {
            each.text_or_empty("uid"): (f"{each.text('namespace')}/{each.text('name')}", _owner(each), _means(each))
            for each in plan.each("evictions")
        },
        {f"{each.text('namespace')}/{each.text('name')}": each.text("verdict") for each in plan.each("budgets")},
        frozenset(each.text("code") for each in plan.each("findings") if each.word("status", Status) is Status.UNKNOWN),
    )


def _owner(eviction: Fields) -> str:
    """Plans of earlier versions do not say it."""
    return (eviction.text_or_null("ownerUid") or "") if "ownerUid" in eviction.names() else ""


def _means(eviction: Fields) -> str:
    """In plans of earlier versions all are evicted."""
    return eviction.text("means") if "means" in eviction.names() else "eviction"


def _ordered(plan: Fields) -> dict[str, object]:
    """The nodes that an order's file named; plans of earlier versions know no such file."""
    allowed = plan.inside("options") if "options" in plan.names() else Fields({})
    nodes = allowed.texts("orderNodes") if "orderNodes" in allowed.names() else ()
    return {"order-file": list(nodes)} if nodes else {}


def _outline(plan: Fields) -> Outline:
    return Outline(
        targets=_all(plan, "targets", _target),
        budgets=_all(plan, "budgets", _budget),
        findings=_all(plan, "findings", finding),
        evictions=len(list(plan.each("evictions"))),
        left=len(list(plan.each("left"))),
        rounds=plan.whole("rounds"),
        waves=len(list(plan.each("waves"))),
        times=_times(plan),
        stops=frozenset((code, row.text("node")) for row in plan.each("left") for code in row.texts("codes")),
    )


def _all(plan: Fields, key: str, make: Callable[[Fields], _Made]) -> tuple[_Made, ...]:
    return tuple(make(fields) for fields in plan.each(key))


def _target(target: Fields) -> TargetOutline:
    return TargetOutline(target.text("name"), target.text("verdict"), tuple(filter(None, target.texts("why"))))


def _budget(budget: Fields) -> BudgetOutline:
    key = f"{budget.text('namespace')}/{budget.text('name')}"
    return BudgetOutline(key, budget.text("verdict"), budget.whole("perRound"))


def _times(plan: Fields) -> TimesOutline | None:
    estimate = plan.inside_or_null("estimate")
    bound = plan.inside_or_null("lowerBound")
    if estimate is None:
        return None
    # Before that was written, the bound was that of the estimate's pace.
    decides = estimate.inside_or_null("decides") if "decides" in estimate.names() else bound
    gap = None if plan.value("gap") is None else plan.number("gap")
    return TimesOutline(
        p50_s=estimate.number("p50"),
        p95_s=estimate.number("p95"),
        peak_away=estimate.whole("peakAway"),
        bound_s=bound.number("seconds") if bound else None,
        binds=f"{decides.text('binding')} {decides.text_or_null('subject')}".rstrip() if decides else "",
        gap=gap,
    )
