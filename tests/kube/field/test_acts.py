"""Evictions and reads as they are sent, and every answer that comes of them, read as a run reads it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.acts import Evict, ListPods, Look
from kubectl_eksdoc.core.model.api_objects import at, with_value
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.api.statuses import Details, Lost, Status
from kubectl_eksdoc.core.rules.news import Answered
from kubectl_eksdoc.core.run.answers import Next, Trouble, read
from kubectl_eksdoc.core.sim.cluster.plane import ControlPlane
from kubectl_eksdoc.embedded.faults.registry import made, parse
from kubectl_eksdoc.embedded.serving import fault_answers
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.faults import Answered as Instead
from kubectl_eksdoc.embedded.serving.faults import Fault, Faulty
from kubectl_eksdoc.embedded.serving.messages import Reply, Request
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.kube.field.evictions import eviction
from kubectl_eksdoc.kube.field.live import LiveField
from tests.embedded.clients import worlds
from tests.kube.field.fields import among, answer_to, answers, connection, field_on, wait_until
from tests.kube.field.fields import read as facts_of

EVICTIONS = r"/eviction$"


class Asked:
    """Keeps what was asked for by those methods."""

    def __init__(self, api: Api, *methods: str) -> None:
        self._api = api
        self._methods = methods
        self.requests: list[Request] = []

    def handle(self, request: Request) -> Reply:
        if request.method in self._methods:
            self.requests.append(request)
        return self._api.handle(request)


class Evicting:
    """Evictions meet a fault by its name, and are counted; nothing else does."""

    def __init__(self, api: Api, fault: str) -> None:
        self._api = api
        self._bad = Faulty(api, made([parse(fault)], 1).requests, lambda seconds: None)
        self.count = 0

    def handle(self, request: Request) -> Reply:
        if not request.path.endswith("/eviction"):
            return self._api.handle(request)
        self.count += 1
        return self._bad.handle(request)


def pods_of(api: Api, folder: Path) -> dict[str, Pod]:
    with among(api) as server:
        return {pod.key: pod for pod in facts_of(server, folder).pods}


def without_budget(api: Api, folder: Path) -> Pod:
    """A pod on a node that no budget selects, Ready."""
    pods = pods_of(api, folder).values()
    return next(pod for pod in pods if pod.namespace == "kube-system" and pod.ready and pod.owner is not None)


def is_leaving(api: Api, pod: Pod) -> bool:
    item = api.now(lambda plane: plane.store.get("pods", (pod.namespace, pod.name)))
    return item is None or item.uid != pod.uid or item.leaving


@pytest.mark.parametrize(("asked", "sent"), [(None, None), (0, 1), (-1, 1), (1, 1), (45, 45)])
def test_an_eviction_is_of_one_uid_and_never_without_grace(
    api: Api, tmp_path: Path, asked: int | None, sent: int | None
) -> None:
    pod = without_budget(api, tmp_path)
    heard = Asked(api, "POST")
    with among(heard) as server, field_on(connection(server, tmp_path)) as field:
        answer = answer_to(field, Evict(pod, asked))
    assert isinstance(answer, Status) and answer.code == 201
    (request,) = heard.requests
    assert request.path == f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction"
    assert request.headers["content-type"] == "application/json"
    document = json.loads(request.body)
    assert document == eviction(pod, asked)
    assert (document["apiVersion"], document["kind"]) == ("policy/v1", "Eviction")
    options = {"preconditions": {"uid": pod.uid}} | ({} if sent is None else {"gracePeriodSeconds": sent})
    assert document["deleteOptions"] == options
    assert is_leaving(api, pod)


def test_a_pod_that_has_come_in_its_place_is_not_evicted(api: Api, field: LiveField, tmp_path: Path) -> None:
    pod = without_budget(api, tmp_path)
    there = pod
    gone = Pod(**{name: getattr(pod, name) for name in Pod.__slots__} | {"uid": "uid-before"})
    answer = answer_to(field, Evict(gone))
    assert isinstance(answer, Status) and answer.code == 409
    assert read(answer).next is Next.GONE
    assert not is_leaving(api, there)


def test_a_pod_that_is_not_there(field: LiveField, api: Api, tmp_path: Path) -> None:
    pod = without_budget(api, tmp_path)
    gone = Pod(**{name: getattr(pod, name) for name in Pod.__slots__} | {"name": "nobody"})
    answer = answer_to(field, Evict(gone))
    assert isinstance(answer, Status) and answer.code == 404
    assert answer.details is not None and (answer.details.kind, answer.details.name) == ("pods", "nobody")
    assert read(answer).next is Next.GONE
    assert answer_to(field, Look(gone)) == ()


def test_a_budget_that_is_used_up_says_so_in_its_cause(field: LiveField, api: Api, tmp_path: Path) -> None:
    pods = pods_of(api, tmp_path)
    used_up = api.now(lambda plane: [i for i in plane.store.list("poddisruptionbudgets.policy") if none_left(i.doc)])
    labels = [(item.key[0], at(item.doc, "spec", "selector", "matchLabels") or {}) for item in used_up]
    pod = next(
        pod
        for pod in pods.values()
        for space, wanted in labels
        if pod.ready and pod.namespace == space and wanted and wanted.items() <= dict(pod.labels).items()
    )
    answer = answer_to(field, Evict(pod))
    assert isinstance(answer, Status) and answer.code == 429
    assert read(answer)[:3] == (Next.BUDGET, Trouble.BUDGET, 0.0)
    assert "disruption budget" in read(answer).said and not is_leaving(api, pod)


def none_left(budget: dict[str, object]) -> bool:
    return not at(budget, "status", "disruptionsAllowed") and bool(at(budget, "status", "expectedPods"))


BY_FAULT = {
    "over-budget": (Next.BUDGET, Trouble.BUDGET, 0.0),
    "budget-unseen": (Next.BUDGET, Trouble.BUDGET_BEHIND, 10.0),
    "throttled=7": (Next.AGAIN, Trouble.THROTTLED, 7.0),
    "server-error": (Next.LOOK, Trouble.SERVER, 1.0),
    "unavailable": (Next.LOOK, Trouble.SERVER, 1.0),
    "server-timeout": (Next.LOOK, Trouble.SERVER, 1.0),
    "forbidden": (Next.AGAIN, Trouble.RIGHT, 10.0),
    "denied": (Next.AGAIN, Trouble.DENIED, 30.0),
    "webhook-down": (Next.AGAIN, Trouble.WEBHOOK_DOWN, 30.0),
    "reset": (Next.LOOK, Trouble.SERVER, 1.0),
    "answer-lost": (Next.LOOK, Trouble.SERVER, 1.0),
    "cut-short": (Next.LOOK, Trouble.SERVER, 1.0),
    "unanswered": (Next.LOOK, Trouble.SERVER, 1.0),
    "swallowed": (Next.LEAVES, Trouble.NONE, 0.0),
    "repeated": (Next.LEAVES, Trouble.NONE, 0.0),
    "slow": (Next.LEAVES, Trouble.NONE, 0.0),
}
DONE = {"server-timeout", "answer-lost", "cut-short", "repeated", "slow"}
"""Faults that leave the eviction done."""


@pytest.mark.parametrize("fault", BY_FAULT)
def test_every_answer_is_read_as_it_is_meant_and_asked_for_once(api: Api, tmp_path: Path, fault: str) -> None:
    pod = without_budget(api, tmp_path)
    evicting = Evicting(api, fault)
    with among(evicting) as server, field_on(connection(server, tmp_path)) as field:
        answer = answer_to(field, Evict(pod))
    assert isinstance(answer, (Status, Lost))
    assert read(answer)[:3] == BY_FAULT[fault]
    assert evicting.count == 1, "what may have been done is not asked for again"
    assert is_leaving(api, pod) is (fault in DONE)


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (Status(429, "TooManyRequests", "slow down"), (("Retry-After", "9"),), (Next.AGAIN, Trouble.THROTTLED, 9.0)),
        (Status(503, "", "upstream connect error"), (("Retry-After", "4"),), (Next.LOOK, Trouble.SERVER, 4.0)),
        (Status(403, "Forbidden", "DisruptedPods map too big"), (), (Next.AGAIN, Trouble.BUDGET_BEHIND, 30.0)),
        (
            Status(404, "NotFound", "gone", Details("b", "policy", "poddisruptionbudgets")),
            (),
            (Next.AGAIN, Trouble.CONTENTION, 0.0),
        ),
        (Status(409, "Conflict", "the object has been modified"), (), (Next.AGAIN, Trouble.CONTENTION, 1.0)),
        (Status(422, "Invalid", "no"), (), (Next.NEVER, Trouble.REQUEST, 0.0)),
        (Status(302, "", "moved"), (("Location", "https://login.example/"),), (Next.LOOK, Trouble.SERVER, 1.0)),
    ],
)
@pytest.mark.parametrize("plain", [False, True])
def test_answers_of_others_in_between(
    api: Api,
    tmp_path: Path,
    status: Status,
    headers: tuple[tuple[str, str], ...],
    expected: tuple[Next, Trouble, float],
    plain: bool,
) -> None:
    """As Status documents, and as the plain text of a proxy, which has no details."""
    pod = without_budget(api, tmp_path)
    instead = Fault(Instead(status, plain=plain, headers=headers), EVICTIONS, "POST")
    with among(api, instead) as server, field_on(connection(server, tmp_path)) as field:
        answer = answer_to(field, Evict(pod))
    assert isinstance(answer, (Status, Lost))
    if plain and status.code == 404:
        expected = (Next.GONE, Trouble.NONE, 0.0)
    assert read(answer)[:3] == expected


def test_a_login_page_is_no_success(api: Api, tmp_path: Path) -> None:
    pod = without_budget(api, tmp_path)
    page = Fault(Instead(Status(200, "", "<html>Sign in</html>"), plain=True), EVICTIONS, "POST")
    with among(api, page) as server, field_on(connection(server, tmp_path)) as field:
        answer = answer_to(field, Evict(pod))
    assert isinstance(answer, Lost) and "Sign in" in answer.said


def test_a_namespace_that_is_being_deleted(api: Api, field: LiveField, tmp_path: Path) -> None:
    pod = without_budget(api, tmp_path)

    def delete(plane: ControlPlane) -> None:
        item = plane.store.get("namespaces", ("", pod.namespace))
        assert item is not None
        leaving = with_value(item.doc, ("metadata", "deletionTimestamp"), "2026-11-20T09:30:00Z")
        plane.store.replace(item, with_value(leaving, ("status", "phase"), "Terminating"))

    api.now(delete)
    answer = answer_to(field, Evict(pod))
    assert isinstance(answer, Status) and read(answer)[:2] == (Next.AGAIN, Trouble.NAMESPACE)


def test_each_act_is_answered_once_however_many_there_are(api: Api, field: LiveField, tmp_path: Path) -> None:
    pods = list(pods_of(api, tmp_path).values())
    acts = [Look(pod) for pod in pods]
    for act in acts:
        field.do(act)
    found = answers(field, len(acts))
    assert sorted(each.act.pod.key for each in found) == sorted(pod.key for pod in pods)  # type: ignore[union-attr]
    assert all(each.pods == (each.act.pod,) for each in found)  # type: ignore[union-attr]
    assert not [each for each in field.news(0.1) if isinstance(each, Answered)]


@pytest.mark.parametrize("page", [1, 3, 500])
def test_the_pods_of_a_node(api: Api, tmp_path: Path, page: int) -> None:
    pods = pods_of(api, tmp_path).values()
    node = max({pod.node for pod in pods}, key=lambda name: sum(pod.node == name for pod in pods))
    with among(api) as server, field_on(connection(server, tmp_path, page)) as field:
        found = answer_to(field, ListPods(node))
    assert found == tuple(sorted((pod for pod in pods if pod.node == node), key=lambda pod: pod.key))
    assert len(found) > 5


OF_READS = [
    "throttled",
    "server-error",
    "unavailable",
    "reset",
    "answer-lost",
    "cut-short",
    "unanswered",
    "list-expired",
]


@pytest.mark.parametrize("fault", [*OF_READS, "list-expired"])
def test_reads_are_tried_until_they_succeed(api: Api, tmp_path: Path, fault: str) -> None:
    pod = without_budget(api, tmp_path)
    path = rf"/pods(/{pod.name})?$"
    (named,) = made([parse(fault)], 1).requests
    times = Fault(named.effect, path, "GET", watches=False, skip=1, times=6)
    with among(api, times) as server, field_on(connection(server, tmp_path, 3)) as field:
        assert answer_to(field, Look(pod)) == (pod,)
        listed = answer_to(field, ListPods(pod.node))
        assert isinstance(listed, tuple) and pod in listed


def test_a_proxy_that_knows_no_pod_is_not_believed(api: Api, tmp_path: Path) -> None:
    """A 404 that names no pod says nothing of the pod."""
    pod = without_budget(api, tmp_path)
    page = Fault(Instead(Status(404, "", "no such page"), plain=True), rf"/pods/{pod.name}$", "GET", times=4)
    with among(api, page) as server, field_on(connection(server, tmp_path)) as field:
        assert answer_to(field, Look(pod)) == (pod,)


def test_a_read_that_is_refused_for_good_ends_the_news(api: Api, tmp_path: Path) -> None:
    pod = without_budget(api, tmp_path)
    refused = Fault(fault_answers.forbidding(""), rf"/pods/{pod.name}$", "GET")
    with among(api, refused) as server, field_on(connection(server, tmp_path)) as field:
        field.do(Look(pod))
        with pytest.raises(Forbidden) as caught:
            wait_until(lambda: bool(field.news(0.1)) and False)
        with pytest.raises(Forbidden):
            field.news(0.0)
    assert caught.value.missing == "get pods"


def test_whoever_may_not_evict_is_told_so(api: Api, tmp_path: Path) -> None:
    pod = without_budget(api, tmp_path)
    with among(api) as server, field_on(connection(server, tmp_path, token=worlds.VIEWER_TOKEN)) as field:
        answer = answer_to(field, Evict(pod))
    assert isinstance(answer, Status)
    assert read(answer)[:2] == (Next.AGAIN, Trouble.RIGHT) and "pods/eviction" in answer.message
    assert kinds.PODS.plural in answer.message
