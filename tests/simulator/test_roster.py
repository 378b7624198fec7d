"""Who selects whom, kept up to date: the same as asking every budget about every pod, whatever changed before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.embedded.loading import StoredFacts
from kubectl_eksdoc.model.api_objects import with_value
from kubectl_eksdoc.simulator.plane import ControlPlane
from tests.simulator.planes import BUDGETS, PODS, START, a_budget_doc, a_pod_doc

APPS = st.sampled_from(["a", "b", "c"])
NAMES = st.sampled_from(["x", "y", "z"])
STEPS = st.lists(st.tuples(st.sampled_from(["pod", "budget"]), NAMES, st.none() | APPS), max_size=25)


def put(plane: ControlPlane, resource: str, name: str, app: str | None) -> None:
    """There is such a pod or budget, for that app; or there is none (None)."""
    item = plane.store.get(resource, ("default", name))
    if app is None:
        if item is not None:
            plane.store.remove(item)
        return
    doc = a_pod_doc(name, "n", app=app) if resource == PODS else a_budget_doc(name, app=app)
    if item is None:
        plane.store.add(resource, ("default", name), doc)
    else:
        plane.store.replace(item, with_value(doc, ("metadata", "uid"), item.uid))


@given(STEPS)
def test_it_is_what_asking_everybody_would_say(steps: list[tuple[str, str, str | None]]) -> None:
    plane = ControlPlane(START, StoredFacts())
    for what, name, app in steps:
        put(plane, PODS if what == "pod" else BUDGETS, name, app)
    facts, store = plane.facts, plane.store
    pods = [facts.pod(item) for item in store.list(PODS)]
    budgets = [facts.budget(item) for item in store.list(BUDGETS)]
    for budget in budgets:
        wanted = {pod.name for pod in pods if budget.selector.matches(pod.labels)}
        assert {pod.name for pod in plane.roster.selected(budget)} == wanted
    for pod in pods:
        said = [budget.name for budget in plane.roster.guards("default", pod.labels)]
        assert said == sorted(b.name for b in budgets if b.selector.matches(pod.labels))
        assert plane.roster.pod(("default", pod.name)) == pod


def test_what_has_gone_is_not_known_any_more() -> None:
    plane = ControlPlane(START, StoredFacts())
    for resource, name in ((PODS, "x"), (BUDGETS, "y")):
        put(plane, resource, name, "a")
        put(plane, resource, name, None)
    assert plane.roster.pod(("default", "x")) is None
    assert plane.roster.budget(("default", "y")) is None
