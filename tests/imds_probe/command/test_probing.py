"""``imds-probe --active`` on a served cluster: the plan, the typed confirmation, the pods, their output, the report,
and the deletion."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.embedded.probed import MetadataServices
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer
from kubectl_eksdoc.embedded.serving.requests import VIEWER
from kubectl_eksdoc.imds_probe.probe_result import SCRIPT
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.machines import MetadataOptions
from tests.cli.running import Ran, run_cli
from tests.cli.running import document as valid
from tests.drain.command.served import Machine, machine
from tests.probes import stand_ins as probes
from tests.probes.stand_ins import Lab, a_node, there
from tests.yaml_reader import yaml_documents

ONE, TWO = MetadataOptions("required", 1), MetadataOptions("required", 2)
GREEN = {"eks.amazonaws.com/nodegroup": "green"}
NODES = (a_node("blue-0"), a_node("blue-1"), a_node("green-0", **GREEN))
SERVICES = MetadataServices({"blue-0": TWO, "blue-1": TWO, "green-0": ONE})
TYPED = "lab 2\n"


@dataclass
class Desk:
    """A machine, and the cluster on which its user works."""

    machine: Machine
    server: SimulatedApiServer
    api: Api

    def run(self, *argv: str, **environ: str) -> Ran:
        return self.machine.run("imds-probe", *argv, "--active", **environ)


def nothing_left(api: Api) -> None:
    assert there(api, "pods") == there(api, "configmaps") == []


Opened = Callable[..., Desk]


@pytest.fixture(autouse=True)
def without_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The machine that runs the tests may have credentials."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no-config"))


@pytest.fixture
def desk(tmp_path: Path, request: pytest.FixtureRequest) -> Opened:
    """Serve a lab until the test ends; every created object is gone then."""

    def opened(lab: Lab = Lab(NODES, SERVICES), token: str = probes.TOKEN, types: str = TYPED) -> Desk:
        served = lab.served()
        server, api = served.__enter__()
        request.addfinalizer(lambda: served.__exit__(None, None, None))
        request.addfinalizer(lambda: nothing_left(api))
        made = machine(server, tmp_path / "ann", token)
        made.types = types
        return Desk(made, server, api)

    return opened


def document(text: str) -> dict[str, Any]:
    return valid(text, "ImdsActiveProbe")


def test_one_node_of_each_kind(desk: Opened) -> None:
    ran = desk().run("-o", "json")
    assert ran.code == 1, ran.err
    assert "This would make 4 pods on 2 nodes" in ran.err and "Type 'lab 2' to probe 2 nodes of lab" in ran.err
    found = document(ran.out)
    verdicts = {each["name"]: (each["v4"]["verdict"], each["v4"]["cause"]) for each in found["nodes"]}
    assert verdicts == {"blue-0": ("reachable", "none"), "green-0": ("unreachable", "hop limit")}
    blue, green = found["groups"]
    assert (blue["nodes"], blue["probed"], green["probed"]) == (["blue-0", "blue-1"], ["blue-0"], ["green-0"])
    cleanup = {"interrupted": False, "left": [], "notRemoved": None}
    assert found["cleanup"] == {"owner": f"eksdoc-imds-probe-{found['probe']['id']}", **cleanup}
    assert found["nodes"][1]["pod"]["v4"]["requests"][1]["status"] is None
    assert found["metadata"]["options"]["active"] is True


def test_the_node_of_a_pod_from_its_namespace(desk: Opened) -> None:
    pod: Doc = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "cart", "namespace": "shop", "uid": "u"},
        "spec": {"nodeName": "green-0", "containers": [{"name": "cart", "image": "cart"}]},
        "status": {"phase": "Running"},
    }
    at = desk(types="lab 1\n")
    at.api.run_locked(lambda plane: plane.load("namespaces", [probes.a_namespace("shop")]))
    at.api.run_locked(lambda plane: plane.load("pods", [pod]))
    found = document(at.run("pod/cart", "-n", "shop", "-o", "json").out)
    assert found["probe"]["namespace"] == "shop"
    assert [each["name"] for each in found["nodes"]] == ["green-0"]


def test_an_environment_that_refuses_changes(desk: Opened) -> None:
    at = desk()
    ran = at.run(EKSDOC_READ_ONLY="1")
    assert ran.code == 2 and "imds-probe --active changes the cluster" in ran.err
    assert at.run("--dry-run", EKSDOC_READ_ONLY="1").code == 0


def test_rights_that_are_missing_are_all_named_before_anything_is_made(desk: Opened) -> None:
    at = desk(Lab(NODES, SERVICES, users={probes.OTHER: VIEWER}), probes.OTHER)
    ran = at.run()
    assert ran.code == 3
    for right in ("create configmaps", "delete configmaps", "create pods"):
        assert f"{right} in namespace default" in ran.err
    assert "in the probe's namespace: " in ran.err


def test_a_dry_run_prints_what_kubectl_takes(desk: Opened) -> None:
    at = desk()
    ran = at.run("--dry-run")
    docs: list[Doc] = yaml_documents(ran.out)
    assert [doc["kind"] for doc in docs] == ["ConfigMap", "Pod", "Pod", "Pod", "Pod"]
    assert all(doc["spec"]["containers"][0]["command"][-1] == SCRIPT for doc in docs[1:])
    assert "    - |\n      # Who answers" in ran.out, "the script can be read"
    listed = json.loads(at.run("--dry-run", "-o", "json").out)
    assert [item["kind"] for item in listed["items"]] == [doc["kind"] for doc in docs]
    assert at.run("--dry-run=server").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--all-nodes",), "without --active"),
        (("--demo", "--active"), "--demo and --snapshot have none"),
        (("--yes",), "without --active"),
        (("--active", "--all-nodes", "node/x"), "--all-nodes excludes"),
    ],
)
def test_flags_that_do_not_go_together(words: tuple[str, ...], said: str) -> None:
    ran = run_cli("imds-probe", *words)
    assert ran.code == 2 and said in ran.err


def test_a_node_that_goes_while_it_is_typed(desk: Opened) -> None:
    at = desk()

    def goes(plane: Any) -> None:
        plane.store.remove(plane.registry.get("nodes", ("", "green-0")))

    at.machine.before_typing = lambda: at.api.run_locked(goes)
    ran = at.run()
    assert ran.code == 7 and "not as they were when they were shown" in ran.err, ran.err


def test_pods_of_a_process_that_was_killed_are_listed_and_removed(desk: Opened) -> None:
    at = desk()
    assert at.run().code in (0, 1)
    (journal,) = (at.machine.home / ".local/state/eksdoc/changes").glob("*.jsonl")
    lines = journal.read_text().splitlines(keepends=True)
    assert [json.loads(line)["entry"] for line in lines] == ["begun", "asking", "asked", "ended"]
    journal.write_text("".join(lines[:2]))
    (change,) = json.loads(at.machine.run("changes", "-o", "json").out)["changes"]
    assert (change["kind"], change["state"]) == ("test-pods", "open") and "imds-probe --active" in change["what"]
    resumed = at.machine.run("changes", "resume", journal.stem)
    assert resumed.code == 6 and "run it again" in resumed.err and f"changes undo {journal.stem}" in resumed.err
    at.machine.types = f"{journal.stem}\n"
    undone = at.machine.run("changes", "undo", journal.stem)
    assert undone.code == 0, undone.err
    assert json.loads(at.machine.run("changes", "-o", "json").out)["changes"][0]["state"] == "undone"


def test_an_expectation_that_is_wrong(desk: Opened) -> None:
    at = desk()
    assert at.machine.run("imds-probe", "--active", "--yes", "--expect-nodes", "3").code == 7
    assert at.machine.run("imds-probe", "--active", "--yes").code == 2
    at.machine.types = "lab 3\n"
    assert at.run().code == 2


def test_a_node_that_is_not_ready_gets_no_pod(desk: Opened) -> None:
    at = desk(Lab((a_node("blue-0", ready="Unknown"),)))
    ran = at.machine.run("imds-probe", "--active")
    assert ran.code == 5 and "its kubelet would start nothing" in " ".join(ran.out.split())
