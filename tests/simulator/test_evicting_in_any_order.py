"""Evictions in any order and at any pace, with all controllers at work: no budget is exceeded, and no pod is lost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.kubernetes.evictions import EvictionRequest
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.simulator.control_plane import ControlPlaneLags, workload_controllers
from kubectl_eksdoc.simulator.kubelets import NEVER
from kubectl_eksdoc.simulator.store import StoreChange, StoreChangeKind
from tests.examples import examples
from tests.simulator.control_planes import BUDGETS, a_budget_doc, a_node_doc, a_plane, condition
from tests.simulator.workloads.world import a_workload

LIMITS = ["minAvailable", "maxUnavailable"]
AMOUNTS = st.integers(0, 6) | st.integers(0, 100).map(lambda percent: f"{percent}%")
APPS = st.lists(
    st.tuples(st.sampled_from(["ReplicaSet", "StatefulSet"]), st.integers(1, 6), st.sampled_from(LIMITS), AMOUNTS),
    min_size=1,
    max_size=3,
)
ASKS = st.lists(st.tuples(st.integers(0, 20), st.sampled_from([0.0, 0.0, 0.01, 0.3, 2.0, 7.0])), max_size=40)
"""Which pod is asked for, of those that are there, and how long after the ask before."""


class Paced:
    """Pods start and stop within seconds, all with different times."""

    def __init__(self, *seconds: float) -> None:
        self._seconds = seconds

    def start_s(self, pod: Pod) -> float:
        return self._seconds[sum(pod.uid.encode()) % len(self._seconds)]

    def stop_s(self, pod: Pod) -> float:
        return self._seconds[sum(pod.uid.encode()) % 7 % len(self._seconds)]

    def run_s(self, pod: Pod) -> float:
        return NEVER


class Guarded:
    """Applications with one budget each, at rest; `healthy` counts at every change, from the objects alone."""

    def __init__(self, apps: list[Any], seconds: list[float], lags: ControlPlaneLags) -> None:
        self.plane = a_plane([a_node_doc(f"n{place}", cpu="64") for place in range(3)], started=False)
        self.apps = {f"app-{place}": app for place, app in enumerate(apps)}
        for name, (kind, replicas, limit, amount) in self.apps.items():
            spec: Doc = {"serviceName": name, "podManagementPolicy": "Parallel"} if kind == "StatefulSet" else {}
            self.plane.registry.create(f"{kind.lower()}s.apps", a_workload(kind, name, replicas, **spec), "default")
            guarding = a_budget_doc(name, app=name, **{limit: amount})
            self.plane.registry.create(BUDGETS, guarding, "default")
        self.plane.start(Paced(*seconds), workload_controllers, lags)
        self.pass_s(60)
        self.evicted: set[str] = set()
        self.gone: set[str] = set()
        self.plane.store.listen(self._look)

    def pass_s(self, seconds: float) -> None:
        self.plane.virtual_time.run_until(self.plane.virtual_time.seconds + seconds)

    def evict(self, place: int) -> bool:
        """Whether the eviction was granted; False if there is no pod to evict."""
        pods = list(self.plane.store.list("pods"))
        if not pods:
            return False
        pod = pods[place % len(pods)]
        self.evicted.add(pod.uid)
        granted = self.plane.evictions.evict(EvictionRequest(name=pod.key[1], url_name=pod.key[1], namespace="default"))
        return granted.ok

    def healthy(self, app: str) -> int:
        return sum(_ready(item.doc) and not item.deleting for item in self._pods(app))

    def desired(self, app: str) -> int:
        """The desired healthy pods as the API reference defines them."""
        _, replicas, limit, amount = self.apps[app]
        count = amount if isinstance(amount, int) else math.ceil(int(amount[:-1]) * replicas / 100)
        return int(count if limit == "minAvailable" else max(0, replicas - count))

    def at_rest(self) -> dict[str, tuple[int, int]]:
        return {app: (len(list(self._pods(app))), self.healthy(app)) for app in self.apps}

    def _look(self, change: StoreChange) -> None:
        if change.item.resource == BUDGETS:
            assert change.item.doc["status"]["disruptionsAllowed"] >= 0
        if change.item.resource == "pods":
            if change.change_kind is StoreChangeKind.DELETED:
                self.gone.add(change.item.uid)
            app = change.item.doc["metadata"]["labels"]["app"]
            if (
                change.change_kind is not StoreChangeKind.ADDED
                and change.before is not None
                and _ready(change.before.doc)
            ):
                assert self.healthy(app) >= min(self.desired(app), self.apps[app][1]), f"{app} is below its budget"

    def _pods(self, app: str) -> Iterator[Any]:
        return (p for p in self.plane.store.list("pods") if p.doc["metadata"]["labels"]["app"] == app)


def _ready(doc: Doc) -> bool:
    return condition(doc, "Ready").get("status") == "True"


@settings(max_examples=examples(60))
@given(
    APPS,
    ASKS,
    st.lists(st.floats(0.0, 20.0), min_size=1, max_size=5),
    st.builds(ControlPlaneLags, st.floats(0, 1), st.floats(0, 1), st.floats(0, 3), st.floats(0, 1)),
)
def test_no_budget_is_exceeded_and_nothing_is_lost(
    apps: list[Any], asks: list[tuple[int, float]], seconds: list[float], lags: ControlPlaneLags
) -> None:
    world = Guarded(apps, seconds, lags)
    whole = {app: (replicas, replicas) for app, (_, replicas, _, _) in world.apps.items()}
    assert world.at_rest() == whole
    for place, pause_s in asks:
        world.pass_s(pause_s)
        world.evict(place)
    assert world.gone <= world.evicted, "nobody goes who was not asked to"
    world.pass_s(400)
    assert world.at_rest() == whole, "everyone is replaced"


@given(APPS)
@settings(max_examples=examples(30))
def test_every_pod_that_can_be_spared_is_granted(apps: list[Any]) -> None:
    """Otherwise a server that refused everything would also exceed no budget."""
    world = Guarded(apps, [5.0], ControlPlaneLags())
    for place in range(sum(replicas for _, replicas, _, _ in apps)):
        world.evict(place)
    for app, (_, replicas, _, _) in world.apps.items():
        assert replicas - world.healthy(app) == max(0, replicas - world.desired(app))
