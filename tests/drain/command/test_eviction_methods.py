"""Runs with other eviction methods, from the command line on a served cluster: one pod is restarted, one is deleted."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.embedded.loading import load_documents
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import ScaledTime, SimulatedApiServer
from kubectl_eksdoc.model.actions import RESTARTED_AT_ANNOTATION
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.simulator.control_plane import ControlPlane, workload_controllers
from tests.drain.command.served import Machine, docs, machine
from tests.drain.command.test_runs import valid
from tests.drain.singles import nodes, single
from tests.embedded.clients import worlds
from tests.simulator.control_planes import a_budget_doc, a_pod_doc

BLUE = ("--nodegroup", "blue")
CHOSEN = ("--surge-singles", "--delete-past-budget", "default/db-0")
SPEED = 10.0


def db() -> list[Doc]:
    """Two pods, one of them on the node to drain, under a budget that never allows an eviction."""
    template = {"metadata": {"labels": {"app": "db"}}, "spec": a_pod_doc("x", app="db")["spec"]}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "db"}}, "template": template}
    status = {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "observedGeneration": 1}
    meta = {"name": "db", "namespace": "default", "uid": "uid-db", "generation": 1}
    owner = {"kind": "ReplicaSet", "apiVersion": "apps/v1", "name": "db", "uid": "uid-db", "controller": True}
    pods = [a_pod_doc("db-0", "old-0", app="db"), a_pod_doc("db-1", "new-0", app="db")]
    for pod in pods:
        pod["metadata"]["ownerReferences"] = [owner]
    head = {"kind": "ReplicaSet", "apiVersion": "apps/v1", "metadata": meta}
    return [*pods, {**head, "spec": spec, "status": status}, a_budget_doc("db", allowed=0, healthy=2, app="db")]


def a_namespace(name: str) -> Doc:
    return {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name, "uid": f"uid-of-{name}"}}


def plane_of(*made: Doc) -> ControlPlane:
    """A control plane with these pods and nodes for them."""
    plane = load_documents([*map(a_namespace, ("default", "kube-system")), *nodes(), *made], worlds.START).plane
    plane.start(worlds.QUICK, workload_controllers)
    return plane


@pytest.fixture
def api() -> Api:
    return Api(plane_of(*single(), *db()), worlds.SETUP, ScaledTime(time.monotonic, SPEED))


def pods(api: Api) -> dict[str, str]:
    """Map each pod's name to its node."""
    return api.run_locked(
        lambda plane: {i.key[1]: str(i.doc["spec"].get("nodeName", "")) for i in plane.store.list("pods")}
    )


def restarted_by(api: Api) -> str:
    def noted(plane: ControlPlane) -> Any:
        item = plane.store.get("deployments.apps", ("default", "web"))
        assert item is not None
        return (nested_field(item.doc, "spec", "template", "metadata", "annotations") or {}).get(
            RESTARTED_AT_ANNOTATION, ""
        )

    return str(api.run_locked(noted))


def test_a_single_is_restarted_and_a_named_pod_deleted_when_its_name_is_typed_back(api: Api, one: Machine) -> None:
    one.types = "lab 1\ndefault/db-0\n"
    ran = one.run("drain", "run", *BLUE, *CHOSEN, "-o", "json")
    assert ran.code == 0, ran.err
    assert "Type 'default/db-0' to delete default/db-0 past its budget" in ran.err
    said = docs(ran.out)
    assert {valid(doc) for doc in said} == {"DrainRunEvent", "DrainRun"}
    told = [(doc["what"], doc["subject"]) for doc in said[:-1]]
    assert {("restarted", "default/web-5f7-0"), ("deleted", "default/db-0"), ("done", "old-0")} <= set(told)
    assert "evicted" not in dict(told) and said[-1]["evictions"] == 2 and said[-1]["outcome"] == "done"
    left = pods(api)
    assert "old-0" not in left.values() and not {"web-5f7-0", "db-0"} & left.keys() and left["db-1"] == "new-0"
    assert restarted_by(api) == said[-1]["run"]
    status = one.run("drain", "status", str(said[-1]["run"]), "-o", "json")
    (node,) = json.loads(status.out)["run"]["nodes"]
    assert (node["state"], node["granted"], node["refused"], node["inDoubt"]) == ("done", 2, 0, 0)


def test_nothing_is_done_while_the_name_is_not_typed_back(api: Api, one: Machine) -> None:
    before = pods(api)
    for typed in ("lab 1\n", "lab 1\ndb-0\n", "lab 1\ndefault/db-1\n", "lab 1\nyes\n"):
        one.types = typed
        ran = one.run("drain", "run", *BLUE, *CHOSEN)
        assert ran.code == 2 and "what was typed is not 'default/db-0'" in ran.err, typed
    one.types = ""
    assert one.run("drain", "run", *BLUE, *CHOSEN, "--yes", "--expect-nodes", "1").code == 2
    assert pods(api) == before and restarted_by(api) == ""


@pytest.mark.long
def test_a_run_that_was_stopped_is_gone_on_with_by_the_words_it_was_asked_by(
    api: Api, server: SimulatedApiServer, one: Machine, tmp_path: Path
) -> None:
    """`drain resume` requires the typed confirmation again: the pod of that name may have been replaced."""
    one.types = "lab 1\ndefault/db-0\n"
    one.times_told = lambda: 1
    ran = one.run("drain", "run", *BLUE, *CHOSEN)
    assert ran.code == 6 and "db-0" in pods(api), ran.out
    other = machine(server, tmp_path / "ben")
    other.types = "lab 1\n"
    assert other.run("drain", "resume").code == 2 and "db-0" in pods(api)
    other.types = "lab 1\ndefault/db-0\n"
    again = other.run("drain", "resume")
    assert again.code == 0, again.err
    assert "Drained: 1 of 1 node emptied by 1 restart and 1 deletion in" in again.out
    assert "old-0" not in pods(api).values() and restarted_by(api)


def test_the_server_is_asked_about_all_of_them_and_nothing_is_done(api: Api, one: Machine) -> None:
    before = pods(api)
    ran = one.run("drain", "run", *BLUE, *CHOSEN, "--dry-run=server")
    assert ran.code == 0 and "the server would do 3 of 3 cordons and first evictions" in ran.err, ran.err
    assert pods(api) == before and restarted_by(api) == ""
