"""Deployments: revisions, rolling updates within their limits, the Recreate strategy, scaling, pausing, deadlines,
history."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.kubernetes.api.defaults import pod_spec_defaults
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.simulator.store import StoredItem
from kubectl_eksdoc.simulator.workloads.deployments import Deployments, rollout_limits
from kubectl_eksdoc.simulator.workloads.garbage import GarbageCollector
from kubectl_eksdoc.simulator.workloads.replica_sets import ReplicaSets
from tests.simulator.workloads.world import World, a_template, a_workload, phase

DEPLOYMENTS, SETS = "deployments.apps", "replicasets.apps"


def a_world(replicas: int = 4, **spec: Any) -> World:
    world = World(
        lambda registry, index: [
            ReplicaSets(registry, index),
            Deployments(registry, index),
            GarbageCollector(registry, index),
        ]
    )
    spec = {"progressDeadlineSeconds": 600, **spec}
    world.create(DEPLOYMENTS, a_workload("Deployment", "web", replicas, **spec))
    return world


def running(replicas: int = 4, **spec: Any) -> World:
    world = a_world(replicas, **spec)
    world.settle()
    return world


def strategy(surge: int | str, away: int | str) -> Doc:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": away}}


def the(world: World) -> StoredItem:
    return world.get(DEPLOYMENTS, "web")


def status(world: World) -> Doc:
    return the(world).doc["status"]


def reasons(world: World) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each["reason"]) for each in status(world)["conditions"]}


def scale(world: World, replicas: int) -> None:
    world.set(the(world), "spec", "replicas", to=replicas)


def sizes(world: World) -> list[int]:
    """Sizes of the ReplicaSets, by revision."""
    found = sorted(world.all(SETS), key=lambda item: int(annotations(item)["revision"]))
    return [item.doc["spec"]["replicas"] for item in found]


def annotations(item: StoredItem) -> dict[str, str]:
    mine = "deployment.kubernetes.io/"
    held = item.doc["metadata"].get("annotations") or {}
    return {key.removeprefix(mine): value for key, value in held.items() if key.startswith(mine)}


def test_a_deployment_has_a_replica_set_of_its_template() -> None:
    world = running(4)
    (item,) = world.all(SETS)
    hash_ = item.doc["metadata"]["labels"]["pod-template-hash"]
    labels = {"app": "web", "pod-template-hash": hash_}
    assert item.key[1] == f"web-{hash_}" and item.doc["spec"]["selector"] == {"matchLabels": labels}
    assert item.doc["spec"]["template"]["metadata"]["labels"] == labels
    assert annotations(item) == annotations(the(world)) == {"revision": "1"}
    numbers = dict.fromkeys(("availableReplicas", "readyReplicas", "replicas", "updatedReplicas"), 4)
    told = {key: value for key, value in status(world).items() if key != "conditions"}
    assert told == {**numbers, "observedGeneration": 1, "terminatingReplicas": 0}
    assert reasons(world) == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }


def test_a_changed_template_is_rolled_out_step_by_step() -> None:
    world = running(4, strategy=strategy(1, 1))
    world.change_image(DEPLOYMENTS, "web")
    seen = []
    for _ in range(12):
        world.run()
        if not seen or seen[-1] != sizes(world):
            seen.append(sizes(world))
        world.kubelets()
    assert seen == [[3, 2], [1, 4], [0, 4]]
    world.settle()
    assert annotations(the(world)) == {"revision": "2"}
    assert reasons(world)["Progressing"] == ("True", "NewReplicaSetAvailable")


def test_going_back_makes_the_old_replica_set_the_newest() -> None:
    world = running(2, revisionHistoryLimit=1)
    first = world.all(SETS)[0].uid
    world.change_image(DEPLOYMENTS, "web")
    world.settle()
    world.set(the(world), "spec", "template", to=a_template("web"))
    world.settle()
    again = next(item for item in world.all(SETS) if item.uid == first)
    assert annotations(again) == annotations(the(world)) == {"revision": "3"}
    assert again.doc["spec"]["replicas"] == 2
    for number in range(3, 6):
        world.change_image(DEPLOYMENTS, "web", number)
        world.settle()
    assert sorted(annotations(item)["revision"] for item in world.all(SETS)) == ["5", "6"], "the others are spare"


@pytest.mark.parametrize(
    ("replicas", "surge", "away", "expected"),
    [
        (10, "25%", "25%", (3, 2)),
        (1, "25%", "25%", (1, 0)),
        (4, 0, 0, (0, 1)),
        (2, 1, 5, (1, 2)),
        (3, None, None, (1, 0)),
    ],
)
def test_percentages_are_rounded_up_for_surge_and_down_for_the_rest(
    replicas: int, surge: Any, away: Any, expected: tuple[int, int]
) -> None:
    limits = rollout_limits(
        StoredItem("", ("", ""), 1, a_workload("Deployment", replicas=replicas, strategy=strategy(surge, away)))
    )
    assert (limits.max_surge, limits.max_unavailable) == expected


def test_recreate_waits_until_the_old_pods_are_gone() -> None:
    world = running(2, strategy={"type": "Recreate"})
    world.change_image(DEPLOYMENTS, "web")
    world.run(20)
    assert sizes(world) == [0] and all(pod.deleting for pod in world.pods()) and len(world.pods()) == 2
    world.settle()
    assert sizes(world) == [0, 2] and len(world.active()) == 2


def test_a_paused_deployment_is_scaled_but_not_rolled_out() -> None:
    world = running(2)
    world.set(the(world), "spec", "paused", to=True)
    world.change_image(DEPLOYMENTS, "web")
    scale(world, 3)
    world.settle()
    assert sizes(world) == [3] and len(world.active()) == status(world)["replicas"] == 3
    world.set(the(world), "spec", "paused", to=None)
    world.settle()
    assert sizes(world) == [0, 3]
    assert reasons(world)["Progressing"] == ("True", "NewReplicaSetAvailable")


def test_without_progress_the_deadline_passes() -> None:
    world = running(2, progressDeadlineSeconds=60)
    world.change_image(DEPLOYMENTS, "web")
    world.run(59)
    assert reasons(world)["Progressing"] == ("True", "ReplicaSetUpdated")
    world.run(3)
    assert reasons(world)["Progressing"] == ("False", "ProgressDeadlineExceeded")
    world.settle()
    assert reasons(world)["Progressing"] == ("True", "NewReplicaSetAvailable")


def test_min_ready_seconds_hold_up_a_rollout() -> None:
    world = running(2, minReadySeconds=30, strategy=strategy(1, 0))
    world.run(40)
    world.change_image(DEPLOYMENTS, "web")
    world.run()
    world.kubelets()
    world.run(29)
    assert sizes(world) == [2, 1]
    world.run(1)
    assert sizes(world) == [1, 2]
    world.set(the(world), "spec", "minReadySeconds", to=5)
    world.run()
    assert {item.doc["spec"]["minReadySeconds"] for item in world.all(SETS)} == {30, 5}


class Bounds:
    """Records the number of pods and of available pods at every change."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.most = self.fewest = len(world.active())
        world.store.listen(self._look)

    def _look(self, change: Any) -> None:
        if change.item.resource == "pods":
            active = self._world.active()
            self.most = max(self.most, len(active))
            self.fewest = min(self.fewest, sum(phase(pod) == "Running" for pod in active))


AMOUNTS = st.one_of(st.integers(0, 4), st.sampled_from(("0%", "25%", "50%", "100%")))
STEPS = st.lists(st.tuples(st.sampled_from(("image", "ready", "kubelets", "run")), st.integers(1, 5)), max_size=20)


@given(st.integers(1, 7), AMOUNTS, AMOUNTS, STEPS)
def test_a_rolling_update_keeps_within_its_limits(
    replicas: int, surge: Any, away: Any, steps: list[tuple[str, int]]
) -> None:
    world = running(replicas, strategy=strategy(surge, away))
    limits = rollout_limits(the(world))
    bounds = Bounds(world)
    for what, number in steps:
        world.do(what, number, DEPLOYMENTS, "web")
    world.settle(100)
    assert bounds.most <= limits.replicas + limits.max_surge
    assert bounds.fewest >= limits.replicas - limits.max_unavailable
    assert sum(sizes(world)) == status(world)["updatedReplicas"] == len(world.active()) == replicas


ANYTHING = st.lists(
    st.tuples(st.sampled_from(("image", "ready", "kubelets", "run", "scale", "pause", "delete")), st.integers(1, 6)),
    max_size=20,
)


@given(st.integers(1, 5), AMOUNTS, AMOUNTS, ANYTHING, st.sampled_from(("RollingUpdate", "Recreate")))
def test_whatever_happens_it_comes_to_rest_as_wanted(
    replicas: int, surge: Any, away: Any, steps: list[tuple[str, int]], kind: str
) -> None:
    world = running(replicas, strategy=strategy(surge, away) if kind == "RollingUpdate" else {"type": kind})
    for what, number in steps:
        world.do(what, number, DEPLOYMENTS, "web")
    world.set(the(world), "spec", "paused", to=None)
    world.settle(100)
    wanted = the(world).doc["spec"]["replicas"]
    assert len(world.active()) == status(world)["updatedReplicas"] == status(world)["availableReplicas"] == wanted
    template = pod_spec_defaults(the(world).doc["spec"]["template"]["spec"])["containers"]
    assert all(pod.doc["spec"]["containers"] == template for pod in world.active())
    assert reasons(world)["Available"][0] == "True"
