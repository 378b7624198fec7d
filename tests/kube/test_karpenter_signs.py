"""Events and counters that a server does not tell, or tells in another shape: each is unknown."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest

from kubectl_eksdoc.kube.api_signs import KarpenterSigns
from kubectl_eksdoc.kube.exchanges import RetryPolicy
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.interruption import SpotEvent
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.objects.karpenter import spot_event
from tests.fakes.apiserver import ApiServer, Reply, refused

EVENTS = "/api/v1/namespaces/default/events"
METRICS = "/api/v1/namespaces/kube-system/pods/karpenter-1:8080/proxy/metrics"
JSON, TEXT = {"Content-Type": "application/json"}, {"Content-Type": "text/plain; version=0.0.4"}
QUICK = RetryPolicy(tries=2, first_pause=0.0)
NOTICE = {
    "reason": "SpotInterrupted",
    "involvedObject": {"kind": "Node", "name": "spot-1"},
    "lastTimestamp": "2026-11-20T08:50:00Z",
}
WHEN = datetime(2026, 11, 20, 8, 50, tzinfo=timezone.utc)


def signs(config: str) -> KarpenterSigns:
    return KarpenterSigns(Connection(kubeconfig=config), patience=QUICK)


def a_list(*items: Any) -> Reply:
    return Reply(200, JSON, json.dumps({"kind": "EventList", "items": list(items)}).encode())


def test_events_are_asked_for_by_their_reasons(server: ApiServer, config: str) -> None:
    server.script(EVENTS, a_list(NOTICE), a_list())
    assert signs(config).events() == (SpotEvent("SpotInterrupted", "spot-1", WHEN),)


@pytest.mark.parametrize(
    ("reply", "missing"),
    [
        (refused("events is forbidden", "Forbidden", 403), "list events"),
        (refused("no", "InternalError", 500), ""),
        (Reply(200, JSON, b'{"items": 1}'), ""),
        (Reply(200, JSON, b'{"items": ["x"]}'), ""),
        (Reply(200, JSON, b"[]"), ""),
    ],
)
def test_events_that_are_not_told(server: ApiServer, config: str, reply: Reply, missing: str) -> None:
    server.script(EVENTS, *[reply] * 4)
    told = signs(config).events()
    assert isinstance(told, Unknown) and told.missing == missing


def test_counters(server: ApiServer, config: str) -> None:
    server.script(METRICS, Reply(200, TEXT, b"karpenter_interruption_received_messages_total 3\n"))
    assert (
        signs(config).metrics("kube-system/karpenter-1", 8080) == "karpenter_interruption_received_messages_total 3\n"
    )


@pytest.mark.parametrize(
    ("reply", "missing"),
    [
        (refused("pods is forbidden", "Forbidden", 403), "get pods/proxy"),
        (refused("error trying to reach service", "ServiceUnavailable", 503), ""),
    ],
)
def test_counters_that_are_not_told(server: ApiServer, config: str, reply: Reply, missing: str) -> None:
    server.script(METRICS, *[reply] * 4)
    told = signs(config).metrics("kube-system/karpenter-1", 8080)
    assert isinstance(told, (Unknown, Absent)) and getattr(told, "missing", "") == missing


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, SpotEvent("SpotInterrupted", "spot-1", WHEN)),
        ({"reason": "NodeReady"}, None),
        ({"involvedObject": {"kind": "NodeClaim", "name": "c"}}, SpotEvent("SpotInterrupted", "", WHEN, "c")),
        ({"involvedObject": {"kind": "Pod", "name": "p"}}, None),
        (
            {"lastTimestamp": None, "eventTime": "2026-11-20T08:50:00.000000Z"},
            SpotEvent("SpotInterrupted", "spot-1", WHEN),
        ),
        ({"lastTimestamp": "yesterday"}, SpotEvent("SpotInterrupted", "spot-1")),
    ],
)
def test_events_of_notices(change: dict[str, Any], found: SpotEvent | None) -> None:
    assert spot_event({**NOTICE, **change}) == found
