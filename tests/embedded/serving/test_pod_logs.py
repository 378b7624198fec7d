"""Requests for pod logs: the container, the amount, and the previous container."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.embedded.serving.pod_logs import PodLogs
from kubectl_eksdoc.embedded.serving.requests import ServedRequest
from kubectl_eksdoc.kubernetes.api.resources import ApiRefusal
from tests.embedded.serving.asking import Asking

RUNNING: dict[str, Any] = {"running": {"startedAt": "2026-11-20T08:00:00Z"}}
ENDED: dict[str, Any] = {"terminated": {"exitCode": 1, "containerID": "containerd://a"}}
WAITING: dict[str, Any] = {"waiting": {"reason": "CrashLoopBackOff"}}
TEXT = "one\ntwo\nthree\n"


def a_pod(state: dict[str, Any], last: dict[str, Any], node: str = "n1") -> dict[str, Any]:
    status = {"containerStatuses": [{"name": "app", "state": state, "lastState": last}], "startTime": "T"}
    return {"metadata": {"namespace": "shop", "name": "p"}, "spec": {"nodeName": node}, "status": status}


def told(pod: dict[str, Any], **query: str) -> str:
    logs = PodLogs()
    logs.store("shop", "p", "app", TEXT)
    logs.store("shop", "p", "app", "before\n", previous=True)
    reply = logs.answer(pod, "app", ServedRequest("GET", "/", {name: (value,) for name, value in query.items()}))
    assert reply.content_type == "text/plain"
    return reply.body.decode()


@pytest.mark.parametrize(
    ("state", "query", "text"),
    [
        (RUNNING, {}, TEXT),
        (RUNNING, {"tailLines": "0"}, ""),
        (RUNNING, {"previous": "true"}, "before\n"),
        (RUNNING, {"previous": "false"}, TEXT),
        (WAITING, {}, "before\n"),  # the previous container's output, until the next start
        (WAITING, {"previous": "true"}, "before\n"),
    ],
)
def test_how_much(state: dict[str, Any], query: dict[str, str], text: str) -> None:
    assert told(a_pod(state, ENDED), **query) == text


@pytest.mark.parametrize(
    ("state", "query", "said"),
    [
        (RUNNING, {"previous": "true"}, 'previous terminated container "app" in pod "p" not found'),
        ({"waiting": {"reason": "ContainerCreating"}}, {}, "is waiting to start: ContainerCreating"),
        ({"waiting": {"reason": "ImagePullBackOff"}}, {}, "is waiting to start: trying and failing to pull image"),
        (RUNNING, {"tailLines": "x"}, 'strconv.ParseInt: parsing "x"'),
        (RUNNING, {"limitBytes": "0"}, "limitBytes: Invalid value: 0: must be greater than 0"),
        (RUNNING, {"tailLines": "-1"}, "tailLines: Invalid value: -1: must be greater than or equal to 0"),
    ],
)
def test_refusals(state: dict[str, Any], query: dict[str, str], said: str) -> None:
    with pytest.raises(ApiRefusal) as refused:
        told(a_pod(state, {}), **query)
    assert said in refused.value.status.message
    assert refused.value.status.code == (422 if "Invalid value" in said else 400)


@given(text=some.text(max_size=40), tail=some.integers(0, 9), limit=some.integers(1, 60))
def test_the_last_lines_first_and_then_the_bytes(text: str, tail: int, limit: int) -> None:
    logs = PodLogs()
    logs.store("shop", "p", "app", text)
    query = {"tailLines": (str(tail),), "limitBytes": (str(limit),)}
    body = logs.answer(a_pod(RUNNING, {}), "app", ServedRequest("GET", "/", query)).body
    kept = text.removesuffix("\n").split("\n")[-tail:] if tail and text else []
    end = "\n" if kept and text.endswith("\n") else ""
    assert body == ("\n".join(kept) + end).encode()[:limit]


def test_over_the_api() -> None:
    asking = Asking()
    pods = "/api/v1/namespaces/default/pods"
    a, b, i = ({"name": name, "image": "x"} for name in "abi")
    spec = {"containers": [a, b], "initContainers": [i], "nodeName": "old-0"}
    asking.create(pods, {"metadata": {"name": "two"}, "spec": spec})
    asking.api.logs.store("default", "two", "b", TEXT)
    assert asking.reply("GET", f"{pods}/two/log?container=b&tailLines=1").body == b"three\n"
    several = asking.ask("GET", f"{pods}/two/log", code=400)
    assert several["message"].endswith("for pod two, choose one of: [a b] or one of the init containers: [i]")
    assert "is not valid for pod two" in asking.ask("GET", f"{pods}/two/log?container=c", code=400)["message"]
    assert json.loads(asking.reply("GET", f"{pods}/nobody/log").body)["code"] == 404
