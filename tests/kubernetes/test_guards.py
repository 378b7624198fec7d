"""The index of budgets by pod gives the same result as a match of every budget with every pod."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.kubernetes.guards import index_budgets
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.selectors import NOTHING, Requirement, Selector
from tests.builders import a_budget, a_pod

KEYS = st.sampled_from(["app", "tier", "zone"])
VALUES = st.sampled_from(["a", "b", ""])
LABELS = st.dictionaries(KEYS, VALUES)
NAMESPACES = st.sampled_from(["shop", "data"])

REQUIREMENTS = st.one_of(
    st.builds(lambda k, v: Requirement(k, "In", (v,)), KEYS, VALUES),
    st.builds(lambda k, v: Requirement(k, "In", tuple(v)), KEYS, st.lists(VALUES, min_size=1, unique=True)),
    st.builds(lambda k, v: Requirement(k, "NotIn", (v,)), KEYS, VALUES),
    st.builds(lambda k, o: Requirement(k, o), KEYS, st.sampled_from(["Exists", "DoesNotExist"])),
)
SELECTORS = st.one_of(st.lists(REQUIREMENTS, max_size=3).map(lambda r: Selector(tuple(r))), st.just(NOTHING))


@given(
    st.lists(st.tuples(NAMESPACES, SELECTORS), max_size=8),
    st.lists(st.tuples(NAMESPACES, LABELS), max_size=12),
)
def test_the_index_equals_brute_force(
    selectors: list[tuple[str, Selector]], labels: list[tuple[str, dict[str, str]]]
) -> None:
    budgets = [a_budget(f"b{i}", ns, selector=s) for i, (ns, s) in enumerate(selectors)]
    pods = [a_pod(f"p{i}", ns, labels=given_labels) for i, (ns, given_labels) in enumerate(labels)]

    def selects(budget: Budget, pod: Pod) -> bool:
        return budget.namespace == pod.namespace and budget.selector.matches(pod.labels)

    guards = index_budgets(budgets, pods)
    for pod in pods:
        assert [b.key for b in guards.for_pod(pod)] == [b.key for b in budgets if selects(b, pod)]
    for budget in budgets:
        assert [p.key for p in guards.selected_pods(budget)] == [p.key for p in pods if selects(budget, p)]


def test_the_rarest_label_finds_the_candidates() -> None:
    """2,000 budgets of one namespace share a label; each pod must be compared only with the budget of its app."""
    budgets = [a_budget(f"b{i}", selector={"a-team": "shop", "app": f"app-{i}"}) for i in range(2000)]
    pod = a_pod(labels={"a-team": "shop", "app": "app-7"})
    guards = index_budgets(budgets, [pod])
    assert list(guards._namespaces["default"].candidates(pod.labels)) == [budgets[7]]
    assert guards.for_pod(pod) == (budgets[7],)
