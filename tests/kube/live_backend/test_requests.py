"""Evictions and reads as they are sent, and the interpretation of each possible answer."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kubectl_eksdoc.drain.run.answers import FollowUp, RunTrouble, interpret_eviction, interpret_response
from kubectl_eksdoc.embedded.faults import build_faults, parse_fault
from kubectl_eksdoc.embedded.serving import faults as fault_answers
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.faults import BrokenConnection as Breaks
from kubectl_eksdoc.embedded.serving.faults import Fault, FaultMoment, FaultyHandler
from kubectl_eksdoc.embedded.serving.faults import FaultyAnswer as Instead
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.kube.live_backend import LiveRunBackend
from kubectl_eksdoc.kube.writes import deletion_document, eviction_document
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import RESTARTED_AT_ANNOTATION, Delete, Evict, ListPods, ReadPod, Restart
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.model.nodes import Pod
from tests.builders import a_pod
from tests.examples import one_in
from tests.kube.live_backend.served_backends import (
    RUN,
    Either,
    Kept,
    among,
    answer_to,
    change,
    field_among,
    is_eviction,
    status_of,
    wait_until,
)
from tests.kube.live_backend.served_backends import read as facts_of


def pods_of(api: Api, folder: Path) -> dict[str, Pod]:
    with among(api) as server:
        return {pod.key: pod for pod in facts_of(server, folder).pods}


def without_budgets(api: Api, folder: Path) -> list[Pod]:
    """Ready pods on nodes that no budget selects."""
    pods = pods_of(api, folder).values()
    return [pod for pod in pods if pod.namespace == "kube-system" and pod.ready and pod.owner is not None]


def without_budget(api: Api, folder: Path) -> Pod:
    return without_budgets(api, folder)[0]


def is_leaving(api: Api, pod: Pod) -> bool:
    item = api.run_locked(lambda plane: plane.store.get("pods", (pod.namespace, pod.name)))
    return item is None or item.uid != pod.uid or item.deleting


def test_an_eviction_is_of_one_uid_and_never_without_grace(api: Api, tmp_path: Path) -> None:
    heard, pods = Kept(api, lambda request: request.method == "POST"), without_budgets(api, tmp_path)
    wanted = {None: None, 0: 1, -1: 1, 1: 1, 45: 45}
    with field_among(tmp_path, heard) as field:
        for pod, (asked, sent) in zip(pods, wanted.items(), strict=False):
            assert status_of(field, Evict(pod, asked)).code == 201
            request = heard.requests.pop()
            assert request.path == f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction"
            assert request.headers["content-type"] == "application/json" and not heard.requests
            document = json.loads(request.body)
            assert document == eviction_document(pod, asked)
            assert (document["apiVersion"], document["kind"]) == ("policy/v1", "Eviction")
            options = {"preconditions": {"uid": pod.uid}} | ({"gracePeriodSeconds": sent} if sent else {})
            assert document["deleteOptions"] == options, asked
            assert is_leaving(api, pod)


def test_who_is_not_there_or_another_is_not_evicted(api: Api, field: LiveRunBackend, tmp_path: Path) -> None:
    pod = without_budget(api, tmp_path)
    for gone, code in ((replace(pod, uid="uid-before"), 409), (replace(pod, name="nobody"), 404)):
        answer = status_of(field, Evict(gone))
        assert answer.code == code and interpret_eviction(answer).follow_up is FollowUp.GONE
    assert not is_leaving(api, pod)
    assert answer_to(field, ReadPod(gone)) == ()


BY_FAULT = {
    "over-budget": (FollowUp.BUDGET, RunTrouble.BUDGET, 0.0),
    "budget-unseen": (FollowUp.BUDGET, RunTrouble.BUDGET_BEHIND, 10.0),
    "throttled=7": (FollowUp.RETRY, RunTrouble.THROTTLED, 7.0),
    "server-error": (FollowUp.CHECK, RunTrouble.SERVER, 1.0),
    "unavailable": (FollowUp.CHECK, RunTrouble.SERVER, 1.0),
    "server-timeout": (FollowUp.CHECK, RunTrouble.SERVER, 1.0),
    "forbidden": (FollowUp.RETRY, RunTrouble.RIGHT, 10.0),
    "denied": (FollowUp.RETRY, RunTrouble.DENIED, 30.0),
    "webhook-down": (FollowUp.RETRY, RunTrouble.WEBHOOK_DOWN, 30.0),
    "reset": (FollowUp.CHECK, RunTrouble.SERVER, 1.0),
    "answer-lost": (FollowUp.CHECK, RunTrouble.SERVER, 1.0),
    "cut-short": (FollowUp.CHECK, RunTrouble.SERVER, 1.0),
    "unanswered": (FollowUp.CHECK, RunTrouble.SERVER, 1.0),
    "swallowed": (FollowUp.ACCEPTED, RunTrouble.NONE, 0.0),
    "repeated": (FollowUp.ACCEPTED, RunTrouble.NONE, 0.0),
    "slow": (FollowUp.ACCEPTED, RunTrouble.NONE, 0.0),
}
DONE = {"server-timeout", "answer-lost", "cut-short", "repeated", "slow"}
"""Faults that leave the eviction done."""


def test_every_answer_is_read_as_it_is_meant_and_asked_for_once(api: Api, tmp_path: Path) -> None:
    """A request that may have succeeded is not sent again."""
    pods, found, bad = without_budgets(api, tmp_path), {}, Kept(api)
    meeting = Either(api, bad, is_eviction)
    with field_among(tmp_path, meeting) as field:
        for fault in BY_FAULT:
            pod = next(pod for pod in pods if not is_leaving(api, pod))
            bad.inner = FaultyHandler(api, build_faults([parse_fault(fault)], 1).requests, lambda seconds: None)
            bad.requests.clear()
            answer = answer_to(field, Evict(pod))
            assert isinstance(answer, (ApiStatus, LostResponse))
            found[fault] = (interpret_eviction(answer)[:3], len(bad.requests), is_leaving(api, pod))
    assert found == {fault: (expected, 1, fault in DONE) for fault, expected in BY_FAULT.items()}


@pytest.mark.parametrize("fault", one_in(2, ["throttled", "unanswered", "cut-short", "list-expired"]))
def test_reads_are_tried_until_they_succeed(api: Api, tmp_path: Path, fault: str) -> None:
    pods = pods_of(api, tmp_path)
    pod = without_budget(api, tmp_path)
    path = rf"/pods(/{pod.name})?$"
    (named,) = build_faults([parse_fault(fault)], 1).requests
    times = Fault(named.effect, path, "GET", watches=False, skip=1, times=6)
    with field_among(tmp_path, api, times, page_size=3) as field:
        assert answer_to(field, ReadPod(pod)) == (pod,)
        on_it = sorted((each for each in pods.values() if each.node == pod.node), key=lambda each: each.key)
        assert answer_to(field, ListPods(pod.node)) == tuple(on_it) and len(on_it) > 5


def test_a_proxy_that_knows_no_pod_is_not_believed(api: Api, tmp_path: Path) -> None:
    """A 404 that names no pod proves nothing about the pod."""
    pod = without_budget(api, tmp_path)
    page = Fault(Instead(ApiStatus(404, "", "no such page"), plain=True), rf"/pods/{pod.name}$", "GET", times=4)
    with field_among(tmp_path, api, page) as field:
        assert answer_to(field, ReadPod(pod)) == (pod,)


def test_a_read_that_is_refused_for_good_ends_the_news(api: Api, tmp_path: Path) -> None:
    pod = without_budget(api, tmp_path)
    refused = Fault(fault_answers.forbidden_for(""), rf"/pods/{pod.name}$", "GET")
    with field_among(tmp_path, api, refused) as field:
        field.do(ReadPod(pod))
        with pytest.raises(Forbidden) as caught:
            wait_until(lambda: bool(field.updates(0.1)) and False)
        with pytest.raises(Forbidden):
            field.updates(0.0)
    assert caught.value.missing == "get pods"


# Restarts and deletions as they are sent: once in a run, of exactly the intended object, with a grace period.

DEPLOYMENTS = kinds.DEPLOYMENTS.full_name


def deployment(api: Api) -> Doc:
    return api.run_locked(lambda plane: next(iter(plane.store.list(DEPLOYMENTS))).doc)


def restart_of(doc: Doc, uid: str = "") -> Restart:
    meta = doc["metadata"]
    pod = a_pod("some", meta["namespace"])
    return Restart(meta["namespace"], meta["name"], uid or meta["uid"], "Deployment", pod)


def noted(api: Api) -> str:
    annotations = nested_field(deployment(api), "spec", "template", "metadata", "annotations") or {}
    return str(annotations.get(RESTARTED_AT_ANNOTATION, ""))


def test_a_rollout_is_restarted_once_by_a_run(api: Api, tmp_path: Path) -> None:
    sent, was = Kept(api, lambda request: request.method == "PATCH"), deployment(api)
    with field_among(tmp_path, sent) as field:
        assert answer_to(field, restart_of(was)) == ApiStatus(200)
        generation = deployment(api)["metadata"]["generation"]
        assert noted(api) == RUN and generation == was["metadata"]["generation"] + 1
        assert answer_to(field, restart_of(was)) == ApiStatus(200)
    (asked,) = sent.requests
    assert json.loads(asked.body)["metadata"]["uid"] == was["metadata"]["uid"]
    assert deployment(api)["metadata"]["generation"] == generation, "it was asked for twice and done once"


def test_another_deployment_of_that_name_is_left_alone(api: Api, field: LiveRunBackend) -> None:
    act = restart_of(deployment(api), "uid-of-yesterday")
    answer = status_of(field, act)
    assert answer.code == 409 and noted(api) == ""
    assert interpret_response(act, answer).follow_up is FollowUp.ACCEPTED, "its pods go with it"


def test_a_pod_is_deleted_by_its_uid_with_its_own_time(api: Api, tmp_path: Path) -> None:
    pod, sent = without_budget(api, tmp_path), Kept(api, lambda request: request.method == "DELETE")
    with field_among(tmp_path, sent) as field:
        assert (
            interpret_eviction(status_of(field, Delete(replace(pod, uid="uid-of-yesterday")))).follow_up
            is FollowUp.GONE
        )
        assert not is_leaving(api, pod), "another pod with its name is none of ours"
        assert interpret_eviction(status_of(field, Delete(pod))).follow_up is FollowUp.ACCEPTED
        assert status_of(field, Delete(replace(pod, name="gone"))).code == 404
    assert all(b"gracePeriodSeconds" not in request.body for request in sent.requests)


def test_no_pod_is_deleted_without_time_to_stop() -> None:
    assert deletion_document(a_pod(grace_seconds=0))["gracePeriodSeconds"] == 1
    assert "gracePeriodSeconds" not in deletion_document(a_pod(grace_seconds=5))


def test_whoever_writes_in_between_loses_nothing(api: Api, tmp_path: Path) -> None:
    meta = deployment(api)["metadata"]
    other = ("metadata", "annotations", "other")
    sent = Kept(
        api,
        lambda request: request.method == "PATCH",
        lambda count: count == 1 and change(api, kinds.DEPLOYMENTS, (meta["namespace"], meta["name"]), other, "x"),
    )
    with field_among(tmp_path, sent) as field:
        assert answer_to(field, restart_of(deployment(api))) == ApiStatus(200)
    assert len(sent.requests) == 2
    assert noted(api) == RUN and deployment(api)["metadata"]["annotations"]["other"] == "x"


def test_an_answer_that_is_lost_is_looked_at_and_changes_nothing_twice(api: Api, tmp_path: Path) -> None:
    act = restart_of(deployment(api))
    lost = Fault(Breaks(FaultMoment.AFTER), method="PATCH", times=1)
    with field_among(tmp_path, api, lost) as field:
        answer = answer_to(field, act)
        assert isinstance(answer, LostResponse) and interpret_response(act, answer).follow_up is FollowUp.CHECK
        generation = deployment(api)["metadata"]["generation"]
        assert answer_to(field, act) == ApiStatus(200)
    assert deployment(api)["metadata"]["generation"] == generation
