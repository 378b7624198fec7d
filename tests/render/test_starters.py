"""Budgets to begin with: the workload's own selector, exactly, and never the name of one that is there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.model.selectors import Requirement, Selector, from_parts
from kubectl_eksdoc.model.workloads import Workload
from kubectl_eksdoc.render.roles import starter_budgets
from tests.reading import yaml_documents

KEYS, VALUES = st.sampled_from(["app", "tier", "x.io/y"]), st.sampled_from(["a", "b", "1", "true"])
REQUIREMENTS = st.one_of(
    st.builds(lambda key: Requirement(key, "Exists"), KEYS),
    st.builds(lambda key, values: Requirement(key, "NotIn", tuple(values)), KEYS, st.lists(VALUES, min_size=1)),
    st.builds(lambda key, values: Requirement(key, "In", tuple(values)), KEYS, st.lists(VALUES, min_size=1)),
)


def a_workload(selector: Selector, name: str = "web") -> Workload:
    return Workload("Deployment", "shop", name, f"uid-{name}", 3, selector=selector)


def read_back(selector: dict[str, object]) -> Selector:
    """As an API server reads it."""
    labels: dict[str, str] = selector.get("matchLabels", {})  # type: ignore[assignment]
    told: list[dict[str, object]] = selector.get("matchExpressions", [])  # type: ignore[assignment]
    expressions = (
        Requirement(str(e["key"]), str(e["operator"]), tuple(e.get("values", ())))  # type: ignore[arg-type]
        for e in told
    )
    return from_parts(labels, tuple(expressions))


@given(st.lists(REQUIREMENTS, max_size=4), st.dictionaries(KEYS, VALUES))
def test_it_selects_what_the_workload_selects(requirements: list[Requirement], labels: dict[str, str]) -> None:
    selector = Selector(tuple(requirements))
    (budget,) = yaml_documents(starter_budgets([a_workload(selector)], ()))
    back = read_back(budget["spec"]["selector"])
    assert back.valid and back.matches(labels) == selector.matches(labels)


def test_one_of_each_may_be_away() -> None:
    text = starter_budgets([a_workload(from_parts({"app": "web"})), a_workload(from_parts({"app": "db"}), "db")], ())
    web, db = yaml_documents(text)
    assert web == {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    assert db["metadata"]["name"] == "db"


def test_a_budget_that_is_there_is_not_written_over() -> None:
    (budget,) = yaml_documents(starter_budgets([a_workload(from_parts({"app": "web"}))], {"shop/web"}))
    assert budget["metadata"]["name"] == "web-one-at-a-time"


def test_nothing_is_nothing() -> None:
    assert starter_budgets([], ()) == ""
