"""An API server's data on the use of API versions: metrics, objects, Helm releases, Events and logs. Refused or odd
answers mean unknown."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest

from kubectl_eksdoc.amazon.removed_apis import find_removed_api
from kubectl_eksdoc.amazon.written_kinds import resource_of
from kubectl_eksdoc.kube.api_usage import LiveApiUsage, LiveInterruptionEvents
from kubectl_eksdoc.kube.exchanges import RetryPolicy
from kubectl_eksdoc.kube.pod_details import LivePodReader
from kubectl_eksdoc.kube.single_objects import METADATA_ONLY
from kubectl_eksdoc.model.api_objects import KindUsage, ManifestText
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.interruption import InterruptionEvent
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.nodes import LogKey
from kubectl_eksdoc.objects.karpenter import interruption_event
from tests.fakes.apiserver import ApiServer, Reply, json_reply, recorded, refused
from tests.objects.test_dump_readers import OLD, an_object, applied
from tests.objects.test_helm_releases import TOKEN, a_secret

QUICK = RetryPolicy(tries=2, first_pause=0.0)
TEXT = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
ROW = find_removed_api("policy/v1beta1", "PodDisruptionBudget")
assert ROW is not None
PDB = resource_of(ROW)
V1, V1BETA1 = "/apis/policy/v1/poddisruptionbudgets", "/apis/policy/v1beta1/poddisruptionbudgets"
SECRETS = "/api/v1/secrets"
NO = refused("nobody may", "Forbidden", 403)
SAMPLE = 'apiserver_requested_deprecated_apis{group="policy",version="v1beta1",resource="poddisruptionbudgets"} 1'


def signs(config: str, page: int = 500) -> LiveApiUsage:
    return LiveApiUsage(Connection(kubeconfig=config, page_size=page), retry_policy=QUICK)


def a_list(*items: Any, token: str = "") -> Reply:
    kind = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
    return json_reply({**kind, "metadata": {"continue": token}, "items": list(items)})


def written(config: str) -> KindUsage:
    (told,) = signs(config).written((PDB,))
    return told


# The metric ----------------------------------------------------------------------------------


def test_only_the_lines_of_the_metric_are_taken(server: ApiServer, config: str) -> None:
    body = f'# HELP apiserver_requested_deprecated_apis x\nother{{token="{TOKEN}"}} 1\n{SAMPLE}\n\xff\n'
    server.script("/metrics", Reply(200, TEXT, body.encode("latin-1")))
    assert signs(config).requested() == (SAMPLE,)


# Objects -------------------------------------------------------------------------------------


def test_metadata_is_asked_for_page_by_page(server: ApiServer, config: str) -> None:
    server.script(V1, a_list(an_object(applied(), OLD), token="next"), a_list(an_object(name="fine")))
    told = written(config)
    assert not isinstance(told.objects, Unknown) and [each.of.name for each in told.objects] == ["web"]
    assert told.objects[0].of.api_version == "policy/v1" and TOKEN not in repr(told)
    first, second = server.asked(V1)
    assert first.header("Accept") == METADATA_ONLY and (first.query, second.query["continue"]) == (
        {"limit": "500"},
        "next",
    )


def test_a_list_that_expires_is_read_in_one_answer(server: ApiServer, config: str) -> None:
    expired = recorded("pods page 2, continue token expired (watch cache on)")
    server.script(V1, a_list(an_object(applied()), token="next"), expired, a_list(an_object(applied())))
    told = written(config)
    assert not isinstance(told.objects, Unknown) and len(told.objects) == 1
    assert server.asked(V1)[-1].query == {}


def test_an_older_version_is_asked_for_where_the_newest_is_not_served(server: ApiServer, config: str) -> None:
    server.lists.clear()
    server.script(V1BETA1, a_list(an_object(applied())))
    told = written(config)
    assert not isinstance(told.objects, Unknown) and told.objects[0].of.api_version == "policy/v1beta1"


def test_what_is_not_served_has_no_objects(server: ApiServer, config: str) -> None:
    server.lists.clear()
    assert written(config) == KindUsage(PDB, ())


# Releases of Helm ----------------------------------------------------------------------------


def meta_of(secret: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": secret["metadata"]}


ONE = "/api/v1/namespaces/shop/secrets/sh.helm.release.v1.web.v3"


def test_only_the_secrets_of_the_revisions_that_count_are_read(server: ApiServer, config: str) -> None:
    old = a_secret(version="2", status="superseded")
    server.script(SECRETS, a_list(meta_of(old), meta_of(a_secret()), {"metadata": {"name": "plain"}}, {}))
    server.script(ONE, json_reply(a_secret()))
    found = signs(config).releases()
    assert not isinstance(found, Unknown)
    (release,) = found
    assert release.revision == 3 and isinstance(release.manifest, ManifestText) and len(release.manifest.documents) == 2
    assert TOKEN not in repr(found)
    (listed,) = server.asked(SECRETS)
    assert listed.query["labelSelector"] == "owner=helm" and listed.header("Accept") == METADATA_ONLY
    assert [each.path for each in server.requests if "/namespaces/" in each.path] == [ONE]


@pytest.mark.parametrize("reply", [NO, json_reply([]), json_reply(a_secret(b"x"))])
def test_a_secret_that_cannot_be_read_is_an_unknown_release(server: ApiServer, config: str, reply: Reply) -> None:
    server.script(SECRETS, a_list(meta_of(a_secret())))
    server.script(ONE, *[reply] * 4)
    found = signs(config).releases()
    assert not isinstance(found, Unknown)
    (release,) = found
    assert isinstance(release.manifest, Unknown)
    assert release.manifest.missing == ("get secrets" if reply is NO else "")


def test_a_secret_that_is_gone_or_none_of_helm_is_no_release(server: ApiServer, config: str) -> None:
    server.script(SECRETS, a_list(meta_of(a_secret())), a_list(meta_of(a_secret())))
    server.script(ONE, recorded("unknown path"), json_reply(a_secret() | {"type": "Opaque"}))
    assert signs(config).releases() == () == signs(config).releases()
    assert json.dumps(server.asked(ONE)[0].query) == "{}"


# Events and counters that a server does not return, or returns in another shape: each is unknown.

EVENTS = "/api/v1/namespaces/default/events"
METRICS = "/api/v1/namespaces/kube-system/pods/karpenter-1:8080/proxy/metrics"
NOTICE = {
    "reason": "SpotInterrupted",
    "involvedObject": {"kind": "Node", "name": "spot-1"},
    "lastTimestamp": "2026-11-20T08:50:00Z",
}
WHEN = datetime(2026, 11, 20, 8, 50, tzinfo=timezone.utc)


def karpenter(config: str) -> LiveInterruptionEvents:
    return LiveInterruptionEvents(Connection(kubeconfig=config), retry_policy=QUICK)


def events_listed(*items: Any) -> Reply:
    return json_reply({"kind": "EventList", "items": list(items)})


def test_events_are_asked_for_by_their_reasons(server: ApiServer, config: str) -> None:
    server.script(EVENTS, events_listed(NOTICE), events_listed())
    assert karpenter(config).events() == (InterruptionEvent("SpotInterrupted", "spot-1", WHEN),)


READS: dict[str, tuple[str, Callable[[str], object]]] = {
    "/metrics": ("get /metrics", lambda config: signs(config).requested()),
    V1: ("list poddisruptionbudgets.policy", lambda config: written(config).objects),
    SECRETS: ("list secrets", lambda config: signs(config).releases()),
    EVENTS: ("list events", lambda config: karpenter(config).events()),
    METRICS: ("get pods/proxy", lambda config: karpenter(config).metrics("kube-system/karpenter-1", 8080)),
}


@pytest.mark.parametrize("path", READS)
@pytest.mark.parametrize("reply", [NO, refused("no", "InternalError", 500), a_list("x"), json_reply([]), Reply(200)])
def test_what_is_not_told_is_unknown(server: ApiServer, config: str, path: str, reply: Reply) -> None:
    right, ask = READS[path]
    server.script(path, *[reply] * 4)
    told = ask(config)
    assert isinstance(told, Unknown) and told.missing == (right if reply is NO else "")


def test_counters(server: ApiServer, config: str) -> None:
    counted = "karpenter_interruption_received_messages_total 3\n"
    server.script(METRICS, Reply(200, TEXT, counted.encode()))
    assert karpenter(config).metrics("kube-system/karpenter-1", 8080) == counted


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, InterruptionEvent("SpotInterrupted", "spot-1", WHEN)),
        ({"reason": "NodeReady"}, None),
        ({"involvedObject": {"kind": "NodeClaim", "name": "c"}}, InterruptionEvent("SpotInterrupted", "", WHEN, "c")),
        ({"involvedObject": {"kind": "Pod", "name": "p"}}, None),
        (
            {"lastTimestamp": None, "eventTime": "2026-11-20T08:50:00.000000Z"},
            InterruptionEvent("SpotInterrupted", "spot-1", WHEN),
        ),
        ({"lastTimestamp": "yesterday"}, InterruptionEvent("SpotInterrupted", "spot-1")),
    ],
)
def test_events_of_notices(change: dict[str, Any], found: InterruptionEvent | None) -> None:
    assert interruption_event({**NOTICE, **change}) == found


# Logs and containers that a server does not return: each is unknown, and the others are read.

PODS = "/api/v1/namespaces/default/pods"
LOG = LogKey("default", "asks", "app")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (refused('Get "https://10.0.0.5:10250/": dial tcp: i/o timeout', "InternalError", 500), "i/o timeout"),
        (Reply(200, {"Content-Type": "text/html"}, b"<html>Sign in"), "text/html instead of plain text: <html>Sign in"),
    ],
)
def test_one_that_is_not_answered_leaves_the_others(server: ApiServer, config: str, reply: Reply, said: str) -> None:
    other = LogKey("default", "other", "app")
    server.script(f"{PODS}/asks/log", *[reply] * 2)
    server.script(f"{PODS}/other/log", Reply(200, TEXT, b"caf\xc3\xa9 \xff\n"))
    found = LivePodReader(Connection(kubeconfig=config), retry_policy=QUICK).logs([LOG, other])
    told = found[LOG]
    assert isinstance(told, Unknown) and said in told.why
    assert found[other] == "café \ufffd\n"


def test_a_pod_that_is_none_is_unknown(server: ApiServer, config: str) -> None:
    server.script(f"{PODS}/a", json_reply({"spec": 1}))
    server.script(f"{PODS}/b", json_reply({"spec": None, "status": {"containerStatuses": None}}))
    found = LivePodReader(Connection(kubeconfig=config)).containers(["default/a", "default/b"])
    told = found["default/a"]
    assert isinstance(told, Unknown) and "is no pod" in told.why and found["default/b"] == ()


def test_a_report_has_events_and_the_logs_of_each_container(server: ApiServer, config: str) -> None:
    ended = {"terminated": {"reason": "OOMKilled"}}
    status = {"name": "app", "restartCount": 2, "state": {"running": {}}, "lastState": ended}
    pod = {"spec": {"containers": [{"name": "app"}]}, "status": {"containerStatuses": [status]}}
    server.script(f"{PODS}/asks", json_reply(pod))
    server.script(f"{PODS}/asks/log", *(Reply(200, TEXT, said) for said in (b"now\n", b"before\n")))
    of = {"kind": "Pod", "name": "asks", "namespace": "default"}
    server.script(EVENTS, events_listed({**NOTICE, "reason": "Killing", "type": "Normal", "involvedObject": of}))
    found = LivePodReader(Connection(kubeconfig=config)).pod_report("default/asks")
    assert isinstance(found.containers, tuple) and isinstance(found.events, tuple)
    assert found.containers[0].ended_as == "OOMKilled" and found.events[0].reason == "Killing"
    assert {log.previous for log in found.logs} == {True, False}


def test_events_that_may_not_be_read_are_unknown_by_that_right(server: ApiServer, config: str) -> None:
    server.script(f"{PODS}/asks", refused("pods asks not found", "NotFound", 404))
    server.script(EVENTS, refused("events is forbidden", "Forbidden", 403))
    found = LivePodReader(Connection(kubeconfig=config)).pod_report("default/asks")
    assert isinstance(found.events, Unknown) and found.events.missing == "list events"
    assert isinstance(found.containers, Unknown) and not found.logs
