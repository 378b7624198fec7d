"""A run annotates each node that it cordons, and restores the former state exactly, despite other writers."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.faults import BrokenConnection as Breaks
from kubectl_eksdoc.embedded.serving.faults import DuplicatedRequest, Fault, FaultMoment
from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer, serving
from kubectl_eksdoc.embedded.serving.requests import RequestHandler
from kubectl_eksdoc.kube.live_backend import LiveRunBackend
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import Cordon, Exclude, NodeChange, Protect, Release, Restore
from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value
from kubectl_eksdoc.model.nodes import EXCLUDE_FROM_LOAD_BALANCERS, SCALE_DOWN_PROTECTIONS
from kubectl_eksdoc.simulator import faults as mishaps
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.embedded.clients import worlds
from tests.kube.live_backend.served_backends import (
    RUN,
    Kept,
    among,
    answer_to,
    change,
    connection,
    field_among,
    field_on,
    node_of,
    nodes_alone,
    status_of,
)


@pytest.fixture
def api() -> Iterator[Api]:
    """An API of nodes alone: these tests change only nodes."""
    made = nodes_alone()
    yield made
    assert list(made.internal_errors) == []


def some_node(api: Api) -> tuple[str, str]:
    """Name and UID of a node that is not cordoned."""

    def found(plane: ControlPlane) -> tuple[str, str]:
        items = (item for item in plane.store.list("nodes") if not nested_field(item.doc, "spec", "unschedulable"))
        item = next(iter(items))
        return item.key[1], item.uid

    return api.run_locked(found)


def lasting(node: Doc) -> Doc:
    """The node without the fields that every write changes."""
    meta = {k: v for k, v in node["metadata"].items() if k not in ("resourceVersion", "managedFields")}
    return {**node, "metadata": meta}


def notes(api: Api, name: str) -> dict[str, Any]:
    """This tool's annotations on the node."""
    held = nested_field(node_of(api, name), "metadata", "annotations") or {}
    return {key: value for key, value in held.items() if key.startswith("eksdoc.io/")}


def note(api: Api, name: str, key: str, value: str) -> None:
    change(api, kinds.NODES, ("", name), ("metadata", "annotations", key), value)


@pytest.mark.parametrize(
    ("acts", "back", "prior"),
    [
        ([Cordon], Restore, {"unschedulable": False}),
        ([Cordon, Exclude], Restore, {"labels": [EXCLUDE_FROM_LOAD_BALANCERS], "unschedulable": False}),
        ([Protect], Release, {"protected": sorted(SCALE_DOWN_PROTECTIONS)}),
    ],
)
def test_what_is_done_is_noted_and_taken_back_byte_for_byte(
    api: Api, field: LiveRunBackend, acts: list[type[NodeChange]], back: type[NodeChange], prior: dict[str, Any]
) -> None:
    name, uid = some_node(api)
    before = node_of(api, name)
    for act in acts:
        assert answer_to(field, act(name, uid)) == ApiStatus(200)
    now = node_of(api, name)
    assert now["spec"].get("unschedulable", False) is (Cordon in acts)
    assert (now["metadata"]["labels"].get(EXCLUDE_FROM_LOAD_BALANCERS) == "true") is (Exclude in acts)
    assert {now["metadata"]["annotations"].get(key) for key in SCALE_DOWN_PROTECTIONS} == {
        "true" if Protect in acts else None
    }
    assert notes(api, name) == {
        "eksdoc.io/run": RUN,
        "eksdoc.io/prior": json.dumps(prior, separators=(",", ":"), sort_keys=True),
    }
    assert answer_to(field, acts[0](name, uid)) == ApiStatus(200)
    assert node_of(api, name) == now, "once is enough"
    assert answer_to(field, back(name, uid)) == ApiStatus(200)
    assert json.dumps(lasting(node_of(api, name))) == json.dumps(lasting(before))


def test_a_node_of_another_run_that_may_not_be_over_is_not_cordoned(api: Api, field: LiveRunBackend) -> None:
    name, uid = some_node(api)
    note(api, name, "eksdoc.io/run", "run-0")
    before = node_of(api, name)
    for over in ("", "run-9"):
        answer = status_of(field, Cordon(name, uid, over))
        assert answer.code == 409 and "run run-0 has changed it" in answer.message
    assert node_of(api, name) == before


def test_a_node_that_was_uncordoned_meanwhile_is_cordoned_again_and_keeps_its_note(
    api: Api, field: LiveRunBackend
) -> None:
    name, uid = some_node(api)
    answer_to(field, Cordon(name, uid))
    noted = notes(api, name)
    api.run_locked(lambda plane: mishaps.set_cordon(plane, name, unschedulable=False))
    answer_to(field, Cordon(name, uid))
    assert node_of(api, name)["spec"]["unschedulable"] and notes(api, name) == noted


def test_a_note_that_cannot_be_read_leaves_the_node_as_it_is(api: Api, field: LiveRunBackend) -> None:
    name, uid = some_node(api)
    answer_to(field, Cordon(name, uid))
    note(api, name, "eksdoc.io/prior", "nonsense")
    before = node_of(api, name)
    answer = status_of(field, Restore(name, uid))
    assert answer.code == 422 and name in answer.message and "eksdoc.io/prior" in answer.message
    assert node_of(api, name) == before


@pytest.mark.parametrize("act", [Cordon, Restore, Exclude, Protect, Release])
def test_another_node_of_the_same_name_and_one_that_is_not_there(
    api: Api, field: LiveRunBackend, act: type[NodeChange]
) -> None:
    name, _ = some_node(api)
    before = node_of(api, name)
    answer = status_of(field, act(name, "another-uid"))
    assert answer.code == 409 and "UID in the precondition" in answer.message
    assert node_of(api, name) == before
    answer = status_of(field, act("nowhere", "uid"))
    assert (answer.code, answer.reason) == (404, "NotFound")


def written_meanwhile(api: Api, *deeds: Callable[[], object]) -> Kept:
    """Another client acts before the first patches arrive."""
    return Kept(
        api, lambda request: request.method == "PATCH", lambda count: count <= len(deeds) and deeds[count - 1]()
    )


def asked_of(handler: RequestHandler, folder: Path, act: Cordon | Restore) -> ApiStatus:
    with field_among(folder, handler) as field:
        return status_of(field, act)


def test_whoever_cordons_at_the_same_time_is_noted_as_before(api: Api, tmp_path: Path) -> None:
    """Another client cordons between the read and the patch: this run did not cordon the node, and does not uncordon
    it."""
    name, uid = some_node(api)
    handler = written_meanwhile(api, lambda: api.run_locked(lambda plane: mishaps.set_cordon(plane, name)))
    assert asked_of(handler, tmp_path, Cordon(name, uid)) == ApiStatus(200)
    assert len(handler.requests) == 2 and notes(api, name)["eksdoc.io/prior"] == '{"unschedulable":true}'
    asked_of(api, tmp_path, Restore(name, uid))
    assert node_of(api, name)["spec"]["unschedulable"] is True


def test_what_others_write_meanwhile_is_kept(api: Api, tmp_path: Path) -> None:
    name, uid = some_node(api)
    before = node_of(api, name)

    def labelled(key: str) -> Callable[[], object]:
        return lambda: change(api, kinds.NODES, ("", name), ("metadata", "labels", key), "x")

    cordon = written_meanwhile(api, labelled("n1"), labelled("n2"))
    assert asked_of(cordon, tmp_path, Cordon(name, uid)) == ApiStatus(200)
    assert asked_of(written_meanwhile(api, labelled("n3")), tmp_path, Restore(name, uid)) == ApiStatus(200)
    labels = {**before["metadata"]["labels"], "n1": "x", "n2": "x", "n3": "x"}
    assert lasting(node_of(api, name)) == lasting(with_value(before, ("metadata", "labels"), labels))


def test_a_patch_that_arrives_twice_is_done_once(api: Api, tmp_path: Path) -> None:
    """The second patch fails by its own precondition; the node is read again and is already cordoned."""
    name, uid = some_node(api)
    with field_among(tmp_path, api, Fault(DuplicatedRequest(), method="PATCH", times=1)) as field:
        assert answer_to(field, Cordon(name, uid)) == ApiStatus(200)
    assert notes(api, name)["eksdoc.io/prior"] == '{"unschedulable":false}'


def test_conflicts_for_ever_are_answered_in_the_end(api: Api, tmp_path: Path) -> None:
    name, uid = some_node(api)
    with field_among(tmp_path, api, "conflict") as field:
        assert status_of(field, Cordon(name, uid)).code == 409
    assert "unschedulable" not in node_of(api, name)["spec"]


def test_without_the_right(api: Api, tmp_path: Path) -> None:
    name, uid = some_node(api)
    before = node_of(api, name)
    with field_among(tmp_path, api, token=worlds.VIEWER_TOKEN) as field:
        answer = status_of(field, Cordon(name, uid))
    assert answer.code == 403 and "cannot patch" in answer.message
    assert node_of(api, name) == before


@pytest.mark.parametrize(("act", "back"), [(Cordon, Restore), (Exclude, Restore), (Protect, Release)])
def test_an_answer_that_is_lost_can_be_asked_for_again(
    api: Api, tmp_path: Path, act: type[NodeChange], back: type[NodeChange]
) -> None:
    name, uid = some_node(api)
    before = node_of(api, name)
    for each in (act, back):
        lost = Fault(Breaks(FaultMoment.AFTER), method="PATCH", times=1)
        with field_among(tmp_path, api, lost) as field:
            assert isinstance(answer_to(field, each(name, uid)), LostResponse)
            done = node_of(api, name)
            assert answer_to(field, each(name, uid)) == ApiStatus(200)
            assert node_of(api, name) == done
    assert lasting(node_of(api, name)) == lasting(before)


def test_of_two_runs_at_once_one_has_the_node(api: Api, tmp_path: Path) -> None:
    """The run that sees the other run's annotation leaves the node alone; the other run restores its own changes."""
    name, uid = some_node(api)
    before = node_of(api, name)
    answers: dict[str, int] = {}
    with among(api) as server:
        runs = ["run-a", "run-b"]
        folders = {run: tmp_path / run for run in runs}

        def cordon(run: str) -> None:
            with field_on(connection(server, folders[run]), run) as field:
                answers[run] = status_of(field, Cordon(name, uid)).code

        threads = [threading.Thread(target=cordon, args=(run,)) for run in runs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        has_it = notes(api, name)["eksdoc.io/run"]
        (other,) = set(runs) - {has_it}
        assert answers == {has_it: 200, other: 409}
        for run, cordoned in ((other, True), (has_it, False)):
            with field_on(connection(server, folders[run]), run) as field:
                answer_to(field, Restore(name, uid))
            assert bool(node_of(api, name)["spec"].get("unschedulable")) is cordoned
    assert lasting(node_of(api, name)) == lasting(before)


# If a user cordoned a node while no process of this tool ran, a rollback does not uncordon it.


def by_a_person(server: SimulatedApiServer, name: str, unschedulable: bool) -> None:
    """Cordon and uncordon as kubectl does."""
    request = urllib.request.Request(
        f"{server.url(worlds.ADMIN_TOKEN)}/api/v1/nodes/{name}",
        json.dumps({"spec": {"unschedulable": unschedulable or None}}).encode(),
        {"Content-Type": "application/strategic-merge-patch+json", "User-Agent": "kubectl/v1.33.0 (linux/amd64)"},
        method="PATCH",
    )
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200


@pytest.mark.parametrize("again", [True, False], ids=["cordoned-again", "only-looked-at"])
def test_who_cordoned_it_last_is_asked(again: bool, tmp_path: Path) -> None:
    api: Api = worlds.api_of("small-traps", None)
    name, uid = some_node(api)
    with serving(api) as server, closing(LiveRunBackend(connection(server, tmp_path), RUN)) as field:
        assert answer_to(field, Cordon(name, uid)) == ApiStatus(200)
        if again:
            by_a_person(server, name, False)
        by_a_person(server, name, True)  # has no effect while the node is still cordoned
        assert answer_to(field, Restore(name, uid)) == ApiStatus(200)
    assert bool(node_of(api, name)["spec"].get("unschedulable")) is again
    assert not notes(api, name)
