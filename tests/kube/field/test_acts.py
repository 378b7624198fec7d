"""Evictions and reads as they are sent, and every answer that comes of them, read as a run reads it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kubectl_eksdoc.drain.run.answers import Next, RunTrouble, read
from kubectl_eksdoc.embedded.faults.of_requests import made, parse
from kubectl_eksdoc.embedded.serving import faults as fault_answers
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.faults import Fault, Faulty
from kubectl_eksdoc.embedded.serving.faults import FaultyAnswer as Instead
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.kube.field.live import LiveRunField
from kubectl_eksdoc.kube.field.writes import eviction
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus, LostAnswer
from kubectl_eksdoc.kubernetes.news import RequestAnswered
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.acts import Evict, ListPods, Look
from kubectl_eksdoc.model.api_objects import at, with_value
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.simulator.plane import ControlPlane
from tests.embedded.clients import worlds
from tests.examples import one_in
from tests.kube.field.fields import (
    Either,
    Kept,
    among,
    answer_to,
    answers,
    field_among,
    is_eviction,
    wait_until,
)
from tests.kube.field.fields import read as facts_of


def pods_of(api: Api, folder: Path) -> dict[str, Pod]:
    with among(api) as server:
        return {pod.key: pod for pod in facts_of(server, folder).pods}


def without_budgets(api: Api, folder: Path) -> list[Pod]:
    """Pods on nodes that no budget selects, Ready."""
    pods = pods_of(api, folder).values()
    return [pod for pod in pods if pod.namespace == "kube-system" and pod.ready and pod.owner is not None]


def without_budget(api: Api, folder: Path) -> Pod:
    return without_budgets(api, folder)[0]


def is_leaving(api: Api, pod: Pod) -> bool:
    item = api.now(lambda plane: plane.store.get("pods", (pod.namespace, pod.name)))
    return item is None or item.uid != pod.uid or item.leaving


def test_an_eviction_is_of_one_uid_and_never_without_grace(api: Api, tmp_path: Path) -> None:
    heard, pods = Kept(api, lambda request: request.method == "POST"), without_budgets(api, tmp_path)
    wanted = {None: None, 0: 1, -1: 1, 1: 1, 45: 45}
    with field_among(tmp_path, heard) as field:
        for pod, (asked, sent) in zip(pods, wanted.items(), strict=False):
            answer = answer_to(field, Evict(pod, asked))
            assert isinstance(answer, ApiStatus) and answer.code == 201
            request = heard.requests.pop()
            assert request.path == f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction"
            assert request.headers["content-type"] == "application/json" and not heard.requests
            document = json.loads(request.body)
            assert document == eviction(pod, asked)
            assert (document["apiVersion"], document["kind"]) == ("policy/v1", "Eviction")
            options = {"preconditions": {"uid": pod.uid}} | ({"gracePeriodSeconds": sent} if sent else {})
            assert document["deleteOptions"] == options, asked
            assert is_leaving(api, pod)


def test_who_is_not_there_or_another_is_not_evicted(api: Api, field: LiveRunField, tmp_path: Path) -> None:
    pod = without_budget(api, tmp_path)
    for gone, code in ((replace(pod, uid="uid-before"), 409), (replace(pod, name="nobody"), 404)):
        answer = answer_to(field, Evict(gone))
        assert isinstance(answer, ApiStatus) and answer.code == code and read(answer).next is Next.GONE
    assert not is_leaving(api, pod)
    assert answer_to(field, Look(gone)) == ()


BY_FAULT = {
    "over-budget": (Next.BUDGET, RunTrouble.BUDGET, 0.0),
    "budget-unseen": (Next.BUDGET, RunTrouble.BUDGET_BEHIND, 10.0),
    "throttled=7": (Next.AGAIN, RunTrouble.THROTTLED, 7.0),
    "server-error": (Next.LOOK, RunTrouble.SERVER, 1.0),
    "unavailable": (Next.LOOK, RunTrouble.SERVER, 1.0),
    "server-timeout": (Next.LOOK, RunTrouble.SERVER, 1.0),
    "forbidden": (Next.AGAIN, RunTrouble.RIGHT, 10.0),
    "denied": (Next.AGAIN, RunTrouble.DENIED, 30.0),
    "webhook-down": (Next.AGAIN, RunTrouble.WEBHOOK_DOWN, 30.0),
    "reset": (Next.LOOK, RunTrouble.SERVER, 1.0),
    "answer-lost": (Next.LOOK, RunTrouble.SERVER, 1.0),
    "cut-short": (Next.LOOK, RunTrouble.SERVER, 1.0),
    "unanswered": (Next.LOOK, RunTrouble.SERVER, 1.0),
    "swallowed": (Next.LEAVES, RunTrouble.NONE, 0.0),
    "repeated": (Next.LEAVES, RunTrouble.NONE, 0.0),
    "slow": (Next.LEAVES, RunTrouble.NONE, 0.0),
}
DONE = {"server-timeout", "answer-lost", "cut-short", "repeated", "slow"}
"""Faults that leave the eviction done."""


def test_every_answer_is_read_as_it_is_meant_and_asked_for_once(api: Api, tmp_path: Path) -> None:
    """What may have been done is not asked for again."""
    pods, found, bad = without_budgets(api, tmp_path), {}, Kept(api)
    meeting = Either(api, bad, is_eviction)
    with field_among(tmp_path, meeting) as field:
        for fault in BY_FAULT:
            pod = next(pod for pod in pods if not is_leaving(api, pod))
            bad.inner = Faulty(api, made([parse(fault)], 1).requests, lambda seconds: None)
            bad.requests.clear()
            answer = answer_to(field, Evict(pod))
            assert isinstance(answer, (ApiStatus, LostAnswer))
            found[fault] = (read(answer)[:3], len(bad.requests), is_leaving(api, pod))
    assert found == {fault: (expected, 1, fault in DONE) for fault, expected in BY_FAULT.items()}


def test_each_act_is_answered_once_however_many_there_are(api: Api, field: LiveRunField, tmp_path: Path) -> None:
    pods = list(pods_of(api, tmp_path).values())
    acts = [Look(pod) for pod in pods]
    for act in acts:
        field.do(act)
    found = answers(field, len(acts))
    assert sorted(each.act.pod.key for each in found) == sorted(pod.key for pod in pods)  # type: ignore[union-attr]
    assert all(each.pods == (each.act.pod,) for each in found)  # type: ignore[union-attr]
    assert not [each for each in field.news(0.1) if isinstance(each, RequestAnswered)]


def test_the_pods_of_a_node(api: Api, tmp_path: Path) -> None:
    pods = pods_of(api, tmp_path).values()
    node = max({pod.node for pod in pods}, key=lambda name: sum(pod.node == name for pod in pods))
    with field_among(tmp_path, api, page_size=3) as field:
        found = answer_to(field, ListPods(node))
    assert found == tuple(sorted((pod for pod in pods if pod.node == node), key=lambda pod: pod.key))
    assert len(found) > 5


@pytest.mark.parametrize("fault", one_in(2, ["throttled", "unanswered", "cut-short", "list-expired"]))
def test_reads_are_tried_until_they_succeed(api: Api, tmp_path: Path, fault: str) -> None:
    pod = without_budget(api, tmp_path)
    path = rf"/pods(/{pod.name})?$"
    (named,) = made([parse(fault)], 1).requests
    times = Fault(named.effect, path, "GET", watches=False, skip=1, times=6)
    with field_among(tmp_path, api, times, page_size=3) as field:
        assert answer_to(field, Look(pod)) == (pod,)
        listed = answer_to(field, ListPods(pod.node))
        assert isinstance(listed, tuple) and pod in listed


def test_a_proxy_that_knows_no_pod_is_not_believed(api: Api, tmp_path: Path) -> None:
    """A 404 that names no pod says nothing of the pod."""
    pod = without_budget(api, tmp_path)
    page = Fault(Instead(ApiStatus(404, "", "no such page"), plain=True), rf"/pods/{pod.name}$", "GET", times=4)
    with field_among(tmp_path, api, page) as field:
        assert answer_to(field, Look(pod)) == (pod,)


def test_a_read_that_is_refused_for_good_ends_the_news(api: Api, tmp_path: Path) -> None:
    pod = without_budget(api, tmp_path)
    refused = Fault(fault_answers.forbidding(""), rf"/pods/{pod.name}$", "GET")
    with field_among(tmp_path, api, refused) as field:
        field.do(Look(pod))
        with pytest.raises(Forbidden) as caught:
            wait_until(lambda: bool(field.news(0.1)) and False)
        with pytest.raises(Forbidden):
            field.news(0.0)
    assert caught.value.missing == "get pods"


def test_a_budget_that_is_used_up_says_so_in_its_cause(field: LiveRunField, api: Api, tmp_path: Path) -> None:
    pods = pods_of(api, tmp_path)

    def none_left(status: dict[str, object]) -> bool:
        return not status.get("disruptionsAllowed") and bool(status.get("expectedPods"))

    budgets = api.now(lambda plane: list(plane.store.list("poddisruptionbudgets.policy")))
    used_up = [item for item in budgets if none_left(at(item.doc, "status") or {})]
    labels = [(item.key[0], at(item.doc, "spec", "selector", "matchLabels") or {}) for item in used_up]
    pod = next(
        pod
        for pod in pods.values()
        for space, wanted in labels
        if pod.ready and pod.namespace == space and wanted and wanted.items() <= dict(pod.labels).items()
    )
    answer = answer_to(field, Evict(pod))
    assert isinstance(answer, ApiStatus) and answer.code == 429
    assert read(answer)[:3] == (Next.BUDGET, RunTrouble.BUDGET, 0.0)
    assert "disruption budget" in read(answer).said and not is_leaving(api, pod)


def test_a_namespace_that_is_being_deleted(api: Api, field: LiveRunField, tmp_path: Path) -> None:
    pod = without_budget(api, tmp_path)

    def delete(plane: ControlPlane) -> None:
        item = plane.store.get("namespaces", ("", pod.namespace))
        assert item is not None
        leaving = with_value(item.doc, ("metadata", "deletionTimestamp"), "2026-11-20T09:30:00Z")
        plane.store.replace(item, with_value(leaving, ("status", "phase"), "Terminating"))

    api.now(delete)
    answer = answer_to(field, Evict(pod))
    assert isinstance(answer, ApiStatus) and read(answer)[:2] == (Next.AGAIN, RunTrouble.NAMESPACE)


def test_whoever_may_not_evict_is_told_so(api: Api, tmp_path: Path) -> None:
    pod = without_budget(api, tmp_path)
    with field_among(tmp_path, api, token=worlds.VIEWER_TOKEN) as field:
        answer = answer_to(field, Evict(pod))
    assert isinstance(answer, ApiStatus)
    assert read(answer)[:2] == (Next.AGAIN, RunTrouble.RIGHT) and "pods/eviction" in answer.message
    assert kinds.PODS.plural in answer.message
