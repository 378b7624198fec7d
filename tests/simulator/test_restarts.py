"""Controllers and scheduler crash at any moment: the cluster reaches the same final state as without a crash."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value
from kubectl_eksdoc.simulator import faults as mishaps
from kubectl_eksdoc.simulator.control_plane import ControlPlane, workload_controllers
from tests.examples import examples
from tests.simulator.control_planes import BUDGETS, Steady, a_budget_doc, a_node_doc, a_plane
from tests.simulator.workloads.world import a_template, a_workload

PACE = Steady(start=4.0, stop=3.0, run=15.0)
LAST_S = 120.0
END_S = 1_500.0

NODES = tuple(a_node_doc(name, cpu="64") for name in ("n0", "n1", "n2"))
STABLE = {"restartPolicy": "Always", "terminationGracePeriodSeconds": 30}


def a_world() -> ControlPlane:
    plane = a_plane(NODES, started=False)
    plane.start(PACE, workload_controllers)
    for resource, doc in WORKLOADS:
        plane.registry.create(resource, doc, "default")
    return plane


def an_app(kind: str, name: str, **spec: Any) -> Doc:
    return a_workload(kind, name, template=a_template(name, **STABLE), **spec)


JOB = {"completions": 3, "parallelism": 2, "backoffLimit": 50, "template": a_template("job", restartPolicy="Never")}
WORKLOADS = (
    ("deployments.apps", an_app("Deployment", "web", replicas=4)),
    ("statefulsets.apps", an_app("StatefulSet", "db", replicas=3, serviceName="db")),
    ("daemonsets.apps", an_app("DaemonSet", "log", replicas=None)),
    ("jobs.batch", {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}, "spec": JOB}),
    *((BUDGETS, a_budget_doc(name, app=name, maxUnavailable=1)) for name in ("web", "db")),
)


def write(resource: str, name: str, *path: str, to: Any) -> Callable[[ControlPlane], object]:
    def do(plane: ControlPlane) -> None:
        item = plane.registry.get(resource, ("default", name))
        plane.registry.update(item, with_value(item.doc, path, to))

    return do


ACTS: dict[str, Callable[[ControlPlane], object]] = {
    "drain n1": lambda plane: mishaps.drain_node(plane, "n1"),
    "drain n2": lambda plane: mishaps.drain_node(plane, "n2"),
    "uncordon n1": lambda plane: mishaps.uncordon(plane, "n1"),
    "lose n2": lambda plane: mishaps.delete_node(plane, "n2"),
    "more": write("deployments.apps", "web", "spec", "replicas", to=7),
    "fewer": write("statefulsets.apps", "db", "spec", "replicas", to=1),
    "roll out": write("deployments.apps", "web", "spec", "template", "metadata", "annotations", to={"at": "2"}),
    "delete": lambda plane: mishaps.delete_pod(plane, "default", "db-0"),
}
MOMENTS = st.floats(0.0, LAST_S, allow_nan=False).map(lambda moment: round(moment, 3))
SCRIPTS = st.lists(st.tuples(st.integers(1, int(LAST_S)).map(float), st.sampled_from(sorted(ACTS))), max_size=5)


def ended(script: list[tuple[float, str]], restarts: list[float]) -> Doc:
    plane = a_world()
    for moment, act in script:
        plane.virtual_time.schedule(moment, lambda act=act: ACTS[act](plane))  # type: ignore[misc]
    for moment in restarts:
        plane.virtual_time.schedule(moment, plane.restart)
    plane.virtual_time.run_until(END_S)
    return shape(plane)


def shape(plane: ControlPlane) -> Doc:
    """The state without random parts: counts of objects, and the status that controllers wrote."""
    docs = {resource: [item.doc for item in plane.store.list(resource)] for resource in plane.store.resources()}
    pods = Counter(
        (doc["metadata"]["labels"]["app"], nested_field(doc, "status", "phase"), "deletionTimestamp" in doc["metadata"])
        for doc in docs["pods"]
        if doc["metadata"]["labels"]["app"] != "job"
    )
    budgets = {doc["metadata"]["name"]: {**doc["status"], "conditions": ()} for doc in docs[BUDGETS]}
    counts = {
        (doc["kind"], doc["metadata"]["name"]): {
            key: value for key, value in doc["status"].items() if isinstance(value, int) and key != "collisionCount"
        }
        for resource in ("deployments.apps", "statefulsets.apps", "daemonsets.apps")
        for doc in docs[resource]
    }
    job = docs["jobs.batch"][0]["status"]
    done = sorted(each["type"] for each in job.get("conditions") or () if each["status"] == "True")
    replica_sets = sorted(doc["spec"]["replicas"] for doc in docs["replicasets.apps"])
    taints = {doc["metadata"]["name"]: [t["key"] for t in doc["spec"].get("taints") or ()] for doc in docs["nodes"]}
    return {
        "pods": pods,
        "budgets": budgets,
        "counts": counts,
        "job": (job.get("succeeded"), job.get("active"), done),
        "replica sets": replica_sets,
        "taints": taints,
    }


@settings(max_examples=examples(30))
@given(SCRIPTS, st.lists(MOMENTS, min_size=1, max_size=6))
def test_the_end_is_the_same(script: list[tuple[float, str]], restarts: list[float]) -> None:
    assert ended(script, restarts) == ended(script, [])


def test_the_end_is_one_in_which_all_is_well() -> None:
    """This rules out final states that are equal but all wrong."""
    found = ended([(30.0, "drain n1"), (40.0, "roll out"), (50.0, "lose n2")], [])
    assert found["pods"] == {
        ("web", "Running", False): 4,
        ("db", "Running", False): 3,
        ("log", "Running", False): 2,
    }
    assert found["job"] == (3, None, ["Complete", "SuccessCriteriaMet"])
    assert {name: status["disruptionsAllowed"] for name, status in found["budgets"].items()} == {"web": 1, "db": 1}
    assert found["replica sets"] == [0, 4]
