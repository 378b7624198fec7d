"""Restarts and deletions as they are sent: once in a run, of exactly what was meant, with time to stop."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from kubectl_eksdoc.drain.run.answers import Next, meaning, read
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.faults import BrokenConnection as Breaks
from kubectl_eksdoc.embedded.serving.faults import Fault, FaultMoment
from kubectl_eksdoc.embedded.serving.handler import serving
from kubectl_eksdoc.kube.field.live import LiveRunField
from kubectl_eksdoc.kube.field.writes import options
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus, LostAnswer
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.acts import RESTARTED_AT, Delete, Restart
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.nodes import Pod
from tests.builders import a_pod
from tests.kube.field.fields import RUN, Kept, among, answer_to, change, connection, field_on
from tests.kube.field.fields import read as facts_of

DEPLOYMENTS = kinds.DEPLOYMENTS.full_name


def deployment(api: Api) -> Doc:
    return api.now(lambda plane: next(iter(plane.store.list(DEPLOYMENTS))).doc)


def restart_of(doc: Doc, uid: str = "") -> Restart:
    meta = doc["metadata"]
    pod = a_pod("some", meta["namespace"])
    return Restart(meta["namespace"], meta["name"], uid or meta["uid"], "Deployment", pod)


def noted(api: Api) -> str:
    annotations = at(deployment(api), "spec", "template", "metadata", "annotations") or {}
    return str(annotations.get(RESTARTED_AT, ""))


def test_a_rollout_is_restarted_once_by_a_run(api: Api, tmp_path: Path) -> None:
    sent, was = Kept(api, lambda request: request.method == "PATCH"), deployment(api)
    with serving(sent) as server, field_on(connection(server, tmp_path)) as field:
        assert answer_to(field, restart_of(was)) == ApiStatus(200)
        generation = deployment(api)["metadata"]["generation"]
        assert noted(api) == RUN and generation == was["metadata"]["generation"] + 1
        assert answer_to(field, restart_of(was)) == ApiStatus(200)
    (asked,) = sent.requests
    assert json.loads(asked.body)["metadata"]["uid"] == was["metadata"]["uid"]
    assert deployment(api)["metadata"]["generation"] == generation, "it was asked for twice and done once"


def test_another_deployment_of_that_name_is_left_alone(api: Api, field: LiveRunField) -> None:
    act = restart_of(deployment(api), "uid-of-yesterday")
    answer = answer_to(field, act)
    assert isinstance(answer, ApiStatus) and answer.code == 409
    assert noted(api) == ""
    assert meaning(act, answer).next is Next.LEAVES, "its pods go with it"


def some_pod(tmp_path: Path, api: Api) -> Pod:
    with serving(api) as server:
        pods = facts_of(server, tmp_path).pods
    return next(pod for pod in pods if pod.owner is not None and pod.owner.kind == "ReplicaSet" and not pod.deleting)


def test_a_pod_is_deleted_by_its_uid_with_its_own_time(api: Api, tmp_path: Path) -> None:
    pod, sent = some_pod(tmp_path, api), Kept(api, lambda request: request.method == "DELETE")
    with serving(sent) as server, field_on(connection(server, tmp_path)) as field:
        answer = answer_to(field, Delete(replace(pod, uid="uid-of-yesterday")))
        assert isinstance(answer, ApiStatus) and read(answer).next is Next.GONE
        there = api.now(lambda plane: plane.store.get("pods", (pod.namespace, pod.name)))
        assert there is not None and not there.leaving, "another pod with its name is none of ours"
        answer = answer_to(field, Delete(pod))
        assert isinstance(answer, ApiStatus) and read(answer).next is Next.LEAVES
        assert answer_to(field, Delete(replace(pod, name="gone"))).code == 404  # type: ignore[union-attr]
    assert all(b"gracePeriodSeconds" not in request.body for request in sent.requests)


def test_no_pod_is_deleted_without_time_to_stop() -> None:
    assert options(a_pod(grace_seconds=0))["gracePeriodSeconds"] == 1
    assert "gracePeriodSeconds" not in options(a_pod(grace_seconds=5))


def test_whoever_writes_in_between_loses_nothing(api: Api, tmp_path: Path) -> None:
    meta = deployment(api)["metadata"]
    other = ("metadata", "annotations", "other")
    sent = Kept(
        api,
        lambda request: request.method == "PATCH",
        lambda count: count == 1 and change(api, kinds.DEPLOYMENTS, (meta["namespace"], meta["name"]), other, "x"),
    )
    with serving(sent) as server, field_on(connection(server, tmp_path)) as field:
        assert answer_to(field, restart_of(deployment(api))) == ApiStatus(200)
    assert len(sent.requests) == 2
    assert noted(api) == RUN and deployment(api)["metadata"]["annotations"]["other"] == "x"


def test_an_answer_that_is_lost_is_looked_at_and_changes_nothing_twice(api: Api, tmp_path: Path) -> None:
    act = restart_of(deployment(api))
    lost = Fault(Breaks(FaultMoment.AFTER), method="PATCH", times=1)
    with among(api, lost) as server, field_on(connection(server, tmp_path)) as field:
        answer = answer_to(field, act)
        assert isinstance(answer, LostAnswer) and meaning(act, answer).next is Next.LOOK
        generation = deployment(api)["metadata"]["generation"]
        assert answer_to(field, act) == ApiStatus(200)
    assert deployment(api)["metadata"]["generation"] == generation
