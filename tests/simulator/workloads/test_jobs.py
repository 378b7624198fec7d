"""Jobs: completions, failures and their definition, backoff between attempts, and the end of a Job."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.simulator.store import StoredItem
from kubectl_eksdoc.simulator.workloads.garbage import GarbageCollector
from kubectl_eksdoc.simulator.workloads.jobs import Jobs
from tests.simulator.workloads.world import World, a_template, names, phase

JOBS = "jobs.batch"
TRACKING = "batch.kubernetes.io/job-tracking"
ON_DISRUPTION = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]}


def a_job(**spec: Any) -> Doc:
    template = a_template("import", restartPolicy="Never")
    made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "import"}}
    return {**made, "spec": {"template": template, **spec}}


def a_world(**spec: Any) -> World:
    world = World(lambda registry, index: [Jobs(registry, index), GarbageCollector(registry, index)])
    world.create(JOBS, a_job(**spec))
    world.run()
    return world


def the(world: World) -> Doc:
    return world.get(JOBS, "import").doc


def status(world: World) -> Doc:
    return the(world)["status"]


def conditions(world: World) -> list[tuple[str, str]]:
    return [(each["type"], each["reason"]) for each in status(world).get("conditions", ()) if each["status"] == "True"]


def start(world: World) -> list[StoredItem]:
    return [world.report(world.place(pod, "n1")) for pod in world.active() if phase(pod) == "Pending"]


def end(world: World, pod: StoredItem, how: str = "Succeeded") -> None:
    world.report(pod, phase=how, ready=False)
    world.run()


def evict(world: World, pod: StoredItem) -> None:
    pod = world.report(pod, ready=True)
    conditions = [*pod.doc["status"]["conditions"], {"type": "DisruptionTarget", "status": "True"}]
    world.report(pod, conditions=conditions)
    world.delete(pod)
    world.run()


def stop(world: World) -> None:
    """Act as the kubelet: pods in deletion fail and are removed."""
    for pod in world.pods():
        if pod.deleting:
            if phase(pod) == "Running":
                world.report(pod, phase="Failed", ready=False)
                world.run()
            if world.there("pods", pod.key[1]):
                world.delete(pod, grace_s=0)
    world.run()


def test_a_job_gets_the_selector_and_labels_that_the_server_gives() -> None:
    world = a_world()
    job = the(world)
    uid = job["metadata"]["uid"]
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    (pod,) = world.pods()
    assert pod.doc["metadata"]["labels"] == {
        "app": "import",
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "import",
        "controller-uid": uid,
        "job-name": "import",
    }
    assert pod.doc["metadata"]["finalizers"] == [TRACKING]
    assert status(world) == {
        "active": 1,
        "ready": 0,
        "terminating": 0,
        "startTime": "2026-11-20T08:55:00Z",
        "uncountedTerminatedPods": {},
    }


def test_it_is_complete_when_enough_pods_succeeded() -> None:
    world = a_world(completions=3, parallelism=2)
    first, second = start(world)
    end(world, first)
    assert len(world.active()) == 2 and status(world)["succeeded"] == 1
    end(world, second)
    assert len(world.active()) == 1, "no more than are still needed"
    end(world, start(world)[0])
    assert status(world) == {
        "succeeded": 3,
        "ready": 0,
        "terminating": 0,
        "startTime": "2026-11-20T08:55:00Z",
        "completionTime": "2026-11-20T08:55:00Z",
        "uncountedTerminatedPods": {},
        "conditions": status(world)["conditions"],
    }
    assert conditions(world) == [("SuccessCriteriaMet", "CompletionsReached"), ("Complete", "CompletionsReached")]
    assert len(world.pods()) == 3 and not any(pod.doc["metadata"].get("finalizers") for pod in world.pods())


def test_a_pod_that_failed_or_was_evicted_is_made_again_and_the_wait_doubles() -> None:
    world = a_world()
    (pod,) = start(world)
    evict(world, pod)
    assert (status(world)["failed"], status(world)["terminating"]) == (1, 1)
    for wait_s in (10, 20, 40):
        assert world.active() == []
        world.run(wait_s - 1)
        assert world.active() == []
        world.run(1)
        stop(world)
        (pod,) = start(world)
        end(world, pod, "Failed")
    assert status(world)["failed"] == 4


def test_where_disruptions_are_ignored_an_eviction_is_no_failure_and_is_replaced_when_the_pod_is_gone() -> None:
    world = a_world(backoffLimit=0, podFailurePolicy=ON_DISRUPTION)
    (pod,) = start(world)
    evict(world, pod)
    world.run(20)
    assert len(world.pods()) == 1 and status(world)["terminating"] == 1
    stop(world)
    assert "failed" not in status(world) and len(world.active()) == 1 and conditions(world) == []


def test_too_many_failures_end_it_and_its_other_pods() -> None:
    world = a_world(backoffLimit=0, completions=3, parallelism=3)
    pods = start(world)
    end(world, pods[0], "Failed")
    assert conditions(world) == [("FailureTarget", "BackoffLimitExceeded")]
    assert all(pod.deleting for pod in world.pods() if phase(pod) == "Running")
    stop(world)
    assert conditions(world)[-1] == ("Failed", "BackoffLimitExceeded")
    assert status(world)["failed"] == 3 and "completionTime" not in status(world)
    world.run(1000)
    assert world.active() == []


def test_while_suspended_or_deleted_it_has_no_pods_and_none_of_them_failed() -> None:
    world = a_world(parallelism=2, completions=2)
    start(world)
    world.set(world.get(JOBS, "import"), "spec", "suspend", to=True)
    world.run()
    stop(world)
    assert world.pods() == [] and "failed" not in status(world)
    world.set(world.get(JOBS, "import"), "spec", "suspend", to=False)
    world.run(5)
    assert len(world.active()) == 2 and conditions(world) == []
    start(world)
    world.delete(world.get(JOBS, "import"))
    world.run()
    stop(world)
    assert world.pods() == []


DEEDS = st.lists(
    st.tuples(st.sampled_from(("succeed", "fail", "evict", "stop", "run")), st.integers(0, 9)), max_size=20
)


@given(DEEDS, st.integers(1, 4), st.integers(1, 3), st.integers(0, 3))
def test_it_ends_either_way_and_counts_every_pod_once(
    deeds: list[tuple[str, int]], completions: int, parallelism: int, limit: int
) -> None:
    world = a_world(completions=completions, parallelism=parallelism, backoffLimit=limit)
    made: set[str] = set(names(world.pods()))
    world.store.listen(lambda change: made.add(change.item.key[1]) if change.item.resource == "pods" else None)
    for what, number in deeds:
        start(world)
        there = [pod for pod in world.active() if phase(pod) == "Running"]
        if what == "run":
            world.run(number * 10)
        elif what == "stop":
            stop(world)
        elif there and what == "evict":
            evict(world, there[number % len(there)])
        elif there:
            end(world, there[number % len(there)], "Succeeded" if what == "succeed" else "Failed")
        assert len(world.active()) <= parallelism
    for _ in range(60):
        world.run(700)
        stop(world)
        for pod in start(world) or world.active():
            end(world, pod)
    assert conditions(world)[-1][0] in ("Complete", "Failed")
    counted = status(world).get("succeeded", 0) + status(world).get("failed", 0)
    assert counted == len(made) and not any(pod.doc["metadata"].get("finalizers") for pod in world.pods())
    if conditions(world)[-1][0] == "Complete":
        assert status(world)["succeeded"] == completions
    else:
        assert status(world)["failed"] > limit
