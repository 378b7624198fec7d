"""What the API server says of a budget's spec, and how one written in an older version is shown."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.kubernetes.api.workload_validation import NEGATIVE, NOT_SUPPORTED, Problem, budget_problems
from kubectl_eksdoc.kubernetes.budgets import amount_of
from kubectl_eksdoc.model.budgets import Amount
from tests import raw_facts

NOT_A_PERCENTAGE = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
OVER_100_PERCENT = "must not be greater than 100%"


def test_a_real_server_refused_both_in_these_words() -> None:
    exchange = next(e for e in raw_facts.lines("recordings/exchanges.jsonl.gz") if e["name"] == "pdb invalid both")
    (found,) = budget_problems(exchange["request"]["body"]["spec"])
    (cause,) = exchange["response"]["body"]["details"]["causes"]
    assert (found.field, found.reason) == (cause["field"], cause["reason"])
    assert cause["message"].endswith(f": {found.said}")


@pytest.mark.parametrize(
    "budget", raw_facts.recorded("rich", "poddisruptionbudgets"), ids=lambda b: b["metadata"]["name"]
)
def test_what_a_real_server_stored_is_accepted(budget: dict[str, Any]) -> None:
    assert not list(budget_problems(budget["spec"]))


def test_everything_is_said_in_the_servers_order() -> None:
    spec = {"minAvailable": -1, "maxUnavailable": "101%", "unhealthyPodEvictionPolicy": "Never"}
    both = {"MinAvailable": -1, "Selector": None, "MaxUnavailable": "101%", "UnhealthyPodEvictionPolicy": "Never"}
    assert list(budget_problems(spec)) == [
        Problem("spec", both, "minAvailable and maxUnavailable cannot be both set"),
        Problem("spec.minAvailable", -1, NEGATIVE),
        Problem("spec.maxUnavailable", "101%", OVER_100_PERCENT),
        Problem(
            "spec.unhealthyPodEvictionPolicy",
            "Never",
            'supported values: "AlwaysAllow", "IfHealthyBudget"',
            NOT_SUPPORTED,
        ),
    ]


def test_neither_amount_and_no_selector_is_accepted() -> None:
    assert not list(budget_problems({}))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("100%", ""),
        ("0100%", ""),
        ("000%", ""),
        ("1000%", OVER_100_PERCENT),
        ("9" * 5000 + "%", OVER_100_PERCENT),
        ("90", NOT_A_PERCENTAGE),
        ("+5%", NOT_A_PERCENTAGE),
        ("5%\n", NOT_A_PERCENTAGE),
        ("٥%", NOT_A_PERCENTAGE),
    ],
)
def test_texts_of_an_amount(text: str, said: str) -> None:
    assert [p.said for p in budget_problems({"maxUnavailable": text})] == ([said] if said else [])


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
