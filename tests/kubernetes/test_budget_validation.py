"""What the API server says of a budget's spec, and how one written in an older version is shown."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.kubernetes import budgets
from kubectl_eksdoc.kubernetes.budgets import BudgetSpec, FieldError, amount_of, problems
from kubectl_eksdoc.model.budgets import Amount
from kubectl_eksdoc.model.selectors import EVERYTHING, NOTHING, Requirement, Selector, from_parts
from tests import raw_facts
from tests.kubernetes.budgets_v1 import MARKER, MATCHES_NONE, as_v1


def test_a_real_server_refused_both_in_these_words() -> None:
    exchange = next(e for e in raw_facts.lines("recordings/exchanges.jsonl.gz") if e["name"] == "pdb invalid both")
    spec = exchange["request"]["body"]["spec"]
    (found,) = problems(BudgetSpec(spec["minAvailable"], spec["maxUnavailable"]))
    (cause,) = exchange["response"]["body"]["details"]["causes"]
    assert (found.field, found.reason) == (cause["field"], cause["reason"])
    assert cause["message"].endswith(f": {found.detail}")


@pytest.mark.parametrize(
    "budget", raw_facts.recorded("rich", "poddisruptionbudgets"), ids=lambda b: b["metadata"]["name"]
)
def test_what_a_real_server_stored_is_accepted(budget: dict[str, Any]) -> None:
    spec = budget["spec"]
    written = BudgetSpec(
        spec.get("minAvailable"),
        spec.get("maxUnavailable"),
        spec.get("unhealthyPodEvictionPolicy"),
        raw_facts.selector(spec["selector"]) if "selector" in spec else None,
    )
    assert problems(written) == ()


def test_everything_is_said_in_the_servers_order() -> None:
    spec = BudgetSpec(-1, "101%", "Never", NOTHING)
    assert problems(spec) == (
        FieldError("spec", spec, budgets.BOTH_SET),
        FieldError("spec.minAvailable", -1, budgets.NEGATIVE),
        FieldError("spec.maxUnavailable", "101%", budgets.OVER_100_PERCENT),
        FieldError("spec.selector", NOTHING, budgets.BAD_SELECTOR),
        FieldError(
            "spec.unhealthyPodEvictionPolicy",
            "Never",
            'supported values: "AlwaysAllow", "IfHealthyBudget"',
            "FieldValueNotSupported",
        ),
    )


def test_neither_amount_and_no_selector_is_accepted() -> None:
    assert problems(BudgetSpec(selector=None)) == ()


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("100%", ""),
        ("0100%", ""),
        ("000%", ""),
        ("1000%", budgets.OVER_100_PERCENT),
        ("9" * 5000 + "%", budgets.OVER_100_PERCENT),
        ("90", budgets.NOT_A_PERCENTAGE),
        ("+5%", budgets.NOT_A_PERCENTAGE),
        ("5%\n", budgets.NOT_A_PERCENTAGE),
        ("٥%", budgets.NOT_A_PERCENTAGE),
    ],
)
def test_texts_of_an_amount(text: str, detail: str) -> None:
    assert [p.detail for p in problems(BudgetSpec(max_unavailable=text))] == ([detail] if detail else [])


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("-1%", Amount(-1, percent=True)),
        ("+5%", Amount(5, percent=True)),
        ("5 %", None),
        ("٥%", None),
        (f"{2**63}%", None),
        ("9" * 5000 + "%", None),
    ],
)
def test_what_a_text_amounts_to(text: str, amount: Amount | None) -> None:
    assert amount_of(text) == amount


def test_an_empty_selector_means_the_opposite_in_the_older_version() -> None:
    assert as_v1("policy/v1", EVERYTHING) == EVERYTHING
    assert as_v1("policy/v1beta1", EVERYTHING) == MATCHES_NONE
    assert not MATCHES_NONE.matches({"app": "web"})
    assert as_v1("policy/v1beta1", Selector((Requirement(MARKER, "DoesNotExist"),))) == EVERYTHING


@pytest.mark.parametrize("version", ["policy/v1", "policy/v1beta1"])
def test_other_selectors_are_shown_as_written(version: str) -> None:
    web = from_parts({"app": "web"})
    assert as_v1(version, web) == web
    assert as_v1(version, NOTHING) == NOTHING
    mixed = Selector((*web.requirements, Requirement(MARKER, "Exists")))
    assert as_v1(version, mixed) == web


def test_the_form_that_policy_v1_shows_stays() -> None:
    assert as_v1("policy/v1", MATCHES_NONE) == MATCHES_NONE
