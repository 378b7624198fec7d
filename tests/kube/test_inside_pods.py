"""Logs and containers that a server does not tell: each is unknown, and the others are had."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.kube.exchanges import RetryPolicy
from kubectl_eksdoc.kube.inside_pods import LivePodReader
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.nodes import LogOf
from tests.fakes.apiserver import ApiServer, Reply, refused

PODS = "/api/v1/namespaces/default/pods"
LOG = LogOf("default", "asks", "app")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (refused('Get "https://10.0.0.5:10250/": dial tcp: i/o timeout', "InternalError", 500), "i/o timeout"),
        (Reply(200, {"Content-Type": "text/html"}, b"<html>Sign in"), "text/html instead of plain text: <html>Sign in"),
    ],
)
def test_one_that_is_not_answered_leaves_the_others(server: ApiServer, config: str, reply: Reply, said: str) -> None:
    other = LogOf("default", "other", "app")
    server.script(f"{PODS}/asks/log", *[reply] * 2)
    server.script(f"{PODS}/other/log", Reply(200, {"Content-Type": "text/plain"}, b"caf\xc3\xa9 \xff\n"))
    quick = RetryPolicy(tries=2, first_pause=0.0)
    found = LivePodReader(Connection(kubeconfig=config), patience=quick).logs([LOG, other])
    told = found[LOG]
    assert isinstance(told, Unknown) and said in told.why
    assert found[other] == "café \ufffd\n"


def test_a_pod_that_is_none_is_unknown(server: ApiServer, config: str) -> None:
    json_type = {"Content-Type": "application/json"}
    server.script(f"{PODS}/a", Reply(200, json_type, b'{"spec": 1}'))
    server.script(f"{PODS}/b", Reply(200, json_type, b'{"spec": null, "status": {"containerStatuses": null}}'))
    found = LivePodReader(Connection(kubeconfig=config)).containers(["default/a", "default/b"])
    told = found["default/a"]
    assert isinstance(told, Unknown) and "is no pod" in told.why and found["default/b"] == ()


def test_a_report_has_events_and_the_logs_of_each_container(server: ApiServer, config: str) -> None:
    json_type, plain = {"Content-Type": "application/json"}, {"Content-Type": "text/plain"}
    ended = b'"lastState": {"terminated": {"reason": "OOMKilled"}}'
    status = b'{"name": "app", "restartCount": 2, "state": {"running": {}}, %s}' % ended
    pod = b'{"spec": {"containers": [{"name": "app"}]}, "status": {"containerStatuses": [%s]}}' % status
    server.script(f"{PODS}/asks", Reply(200, json_type, pod))
    server.script(f"{PODS}/asks/log", Reply(200, plain, b"now\n"), Reply(200, plain, b"before\n"))
    listed = (
        b'{"items": [{"reason": "Killing", "type": "Normal", "message": "bye", "lastTimestamp": "2026-11-20T09:00:00Z",'
        b' "involvedObject": {"kind": "Pod", "name": "asks", "namespace": "default"}}]}'
    )
    server.script("/api/v1/namespaces/default/events", Reply(200, json_type, listed))
    found = LivePodReader(Connection(kubeconfig=config)).report("default/asks")
    assert isinstance(found.containers, tuple) and isinstance(found.events, tuple)
    assert found.containers[0].ended_as == "OOMKilled" and found.events[0].reason == "Killing"
    assert {log.previous for log in found.logs} == {True, False}


def test_events_that_may_not_be_read_are_unknown_by_that_right(server: ApiServer, config: str) -> None:
    server.script(f"{PODS}/asks", refused("pods asks not found", "NotFound", 404))
    server.script("/api/v1/namespaces/default/events", refused("events is forbidden", "Forbidden", 403))
    found = LivePodReader(Connection(kubeconfig=config)).report("default/asks")
    assert isinstance(found.events, Unknown) and found.events.missing == "list events"
    assert isinstance(found.containers, Unknown) and not found.logs
