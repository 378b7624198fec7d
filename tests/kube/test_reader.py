"""Reading a live cluster: pages, expired lists, refusals, garbage, and the cluster's identity."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest

from kubectl_eksdoc.errors import ClusterError, Forbidden, Unauthorized
from kubectl_eksdoc.kube.reader import LiveReader
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import KindRead, ReadState
from kubectl_eksdoc.model.machines import DeclaredMetadataOptions
from tests.fakes import recordings
from tests.fakes.apiserver import ApiServer, Reply, json_reply, recorded, refused

MakeReader = Callable[..., LiveReader]
EXPIRED = "pods page 2, continue token expired (watch cache on)"


def connection(config: str, **more: Any) -> Connection:
    return Connection(kubeconfig=config, **more)


def test_reads_everything_once(server: ApiServer, config: str, reader: MakeReader) -> None:
    cluster = reader(connection(config)).read(kinds.ALL)
    pods = recordings.document("pods on node")["items"]
    assert cluster.source is Source.LIVE
    assert [n.name for n in cluster.nodes] == ["old-0"]
    assert sorted((p["metadata"]["namespace"], p["metadata"]["name"]) for p in pods) == [
        (p.namespace, p.name) for p in cluster.pods
    ]
    assert len(cluster.budgets) == 21
    assert cluster.identity.context == "test"
    assert cluster.identity.server_version == "v1.36.2"
    assert cluster.observed_at == datetime(2026, 11, 20, 9, 30, tzinfo=timezone.utc)
    assert {r.resource for r in cluster.reads} == set(kinds.ALL)
    assert all(r.known for r in cluster.reads)
    assert cluster.read_of(kinds.NODE_POOLS).state is ReadState.NOT_SERVED
    assert cluster.read_of(kinds.PODS) == KindRead(kinds.PODS, ReadState.READ, len(pods))
    asked = [form.path for r in kinds.ALL for form in r.versions]
    assert sorted(r.path for r in server.requests) == sorted(["/version", *asked])


@pytest.mark.parametrize("size", [1, 17, 18])
def test_pages_do_not_change_what_is_read(server: ApiServer, config: str, reader: MakeReader, size: int) -> None:
    seen: list[tuple[str, int]] = []
    cluster = reader(connection(config, page_size=size), lambda *at: seen.append(at)).read([kinds.NODES, kinds.PODS])
    assert cluster.pods == reader(connection(config)).read([kinds.NODES, kinds.PODS]).pods
    counts = [count for plural, count in seen if plural == "pods"]
    assert counts == [min(size * (i + 1), 18) for i in range(-(-18 // size))]
    assert all("resourceVersion" not in r.query for r in server.requests)
    assert {r.query["limit"] for r in server.asked(kinds.PODS.path)} == {str(size), "2000"}


def test_an_expired_list_is_begun_anew(server: ApiServer, config: str, reader: MakeReader) -> None:
    server.expiring = 2
    cluster = reader(connection(config, page_size=5)).read([kinds.NODES, kinds.PODS])
    assert len(cluster.pods) == 18
    assert cluster.notes == ()
    asked = [(r.query.get("limit"), "continue" in r.query) for r in server.asked(kinds.PODS.path)]
    assert asked == [("5", False), ("5", True)] * 2 + [("5", False)] + [("5", True)] * 3
    offered = recordings.document(EXPIRED)["metadata"]["continue"]
    assert offered not in {r.query.get("continue") for r in server.requests}, "it is of another moment"
    server.expiring = 10**6
    assert reader(connection(config, page_size=5)).read([kinds.NODES, kinds.PODS]).pods == cluster.pods
    assert "limit" not in server.asked(kinds.PODS.path)[-1].query, "the last attempt asks for all at once"


@pytest.mark.parametrize("resource", [kinds.NODES, kinds.PODS])
def test_without_nodes_or_pods_nothing_is_read(
    server: ApiServer, config: str, reader: MakeReader, resource: kinds.Resource
) -> None:
    server.forbidden = {resource}
    with pytest.raises(Forbidden) as caught:
        reader(connection(config)).read(kinds.ALL)
    assert caught.value.missing == f"list {resource.plural}"
    assert 'User "viewer" cannot list resource' in caught.value.message


def test_a_hidden_version_is_unknown_not_fatal(server: ApiServer, config: str, reader: MakeReader) -> None:
    server.script("/version", refused("forbidden: cannot get path /version", "Forbidden", 403))
    cluster = reader(connection(config)).read([kinds.NODES, kinds.PODS])
    assert cluster.identity.server_version == ""
    assert cluster.observed_at == datetime(2026, 11, 20, 9, 30, 5, tzinfo=timezone.utc)


_ONLY = [kinds.NODES, kinds.PODS, kinds.NODE_CLASSES]
_NEW, _OLD = kinds.NODE_CLASSES.versions


def some_classes(*names: str) -> list[dict[str, Any]]:
    options = {"httpTokens": "required", "httpPutResponseHopLimit": 2}
    return [{"metadata": {"name": name}, "spec": {"metadataOptions": options}} for name in names]


@pytest.mark.parametrize("served", [_NEW, _OLD])
def test_a_kind_is_read_in_the_version_that_is_served(
    server: ApiServer, config: str, reader: MakeReader, served: kinds.Resource
) -> None:
    server.lists[served] = some_classes("a", "b", "c")
    server.expiring = 1
    cluster = reader(connection(config, page_size=2)).read(_ONLY)
    assert [each.name for each in cluster.node_classes] == ["a", "b", "c"]
    assert {each.metadata for each in cluster.node_classes} == {DeclaredMetadataOptions("required", 2)}
    assert cluster.read_of(kinds.NODE_CLASSES) == KindRead(kinds.NODE_CLASSES, ReadState.READ, 3)
    assert bool(server.asked(_OLD.path)) is (served is _OLD)


NO = refused("no", "Forbidden", 403)
TRUNCATED = Reply(200, {"Content-Type": "application/json"}, recordings.response("pdbs")[2][:9000])
FIRST_PAGE = json_reply({**recordings.document("pdbs"), "metadata": {"continue": "MQ=="}})
FAILING = [refused("etcdserver: request timed out", "Timeout", 504)] * 5
LACKS_CLASSES = "missing right: list ec2nodeclasses.karpenter.k8s.aws at cluster scope"


@pytest.mark.parametrize(
    ("resource", "asked", "answers", "state", "said"),
    [
        (kinds.BUDGETS, kinds.BUDGETS, [NO], "FORBIDDEN", "list poddisruptionbudgets.policy in all namespaces"),
        (kinds.NODE_CLASSES, _NEW, [NO], "FORBIDDEN", LACKS_CLASSES),
        (kinds.NODE_CLASSES, _OLD, [NO], "FORBIDDEN", LACKS_CLASSES),
        (
            kinds.AUTOSCALERS,
            None,
            [],
            "NOT_SERVED",
            "the server does not serve horizontalpodautoscalers.autoscaling in autoscaling/v2",
        ),
        (
            kinds.NODE_CLASSES,
            None,
            [],
            "NOT_SERVED",
            "does not serve ec2nodeclasses.karpenter.k8s.aws in karpenter.k8s.aws/v1 or karpenter.k8s.aws/v1beta1",
        ),
        (kinds.BUDGETS, kinds.BUDGETS, [recorded(EXPIRED)] * 4, "FAILED", "expired 4 times while it was being read"),
        (
            kinds.BUDGETS,
            kinds.BUDGETS,
            [FIRST_PAGE, TRUNCATED] * 4,
            "FAILED",
            "answers cannot be understood",
        ),
        (kinds.BUDGETS, kinds.BUDGETS, FAILING, "FAILED", "answered 504 (5 tries): etcdserver: request timed out"),
        (kinds.BUDGETS, kinds.BUDGETS, [recorded("pdbs", sent=5000)] * 3, "FAILED", "broke off its answer"),
    ],
)
def test_what_a_kind_that_is_not_read_says(
    server: ApiServer,
    config: str,
    reader: MakeReader,
    resource: kinds.Resource,
    asked: kinds.Resource | None,
    answers: list[Reply],
    state: str,
    said: str,
) -> None:
    if asked is None:
        server.lists.pop(resource, None)
    else:
        server.lists.setdefault(_OLD, some_classes("a"))
        server.script(asked.path, *answers)
    cluster = reader(connection(config)).read([kinds.NODES, kinds.PODS, resource])
    (read,) = (each for each in cluster.reads if each.resource is resource)
    assert (read.state, read.count) == (ReadState[state], 0) and said in read.detail
    absent = asked is None and resource.custom
    assert read.known is absent and cluster.not_read(resource) == (() if absent else (read,))
    assert len(cluster.pods) == 18 and not cluster.budgets, "nothing of a first page is left"


def test_refused_credentials_end_it_at_once(server: ApiServer, config: str, reader: MakeReader) -> None:
    server.accepts = lambda request: False
    with pytest.raises(Unauthorized, match="does not accept the token of user 'test': Unauthorized"):
        reader(connection(config)).read(kinds.ALL)
    assert [r.path for r in server.requests] == ["/version"]
    server.accepts = lambda request: request.path != kinds.LEASES.path
    with pytest.raises(Unauthorized):
        reader(connection(config)).read(kinds.ALL)


def test_something_that_is_no_api_server(server: ApiServer, config: str, reader: MakeReader) -> None:
    page = Reply(200, {"Content-Type": "text/html"}, b"<html>Please sign in</html>")
    server.script("/version", page)
    with pytest.raises(ClusterError, match="text/html instead of JSON: <html>Please sign in"):
        reader(connection(config)).read(kinds.ALL)
    server.script("/version", json_reply(["hello"]))
    with pytest.raises(ClusterError, match="not a version"):
        reader(connection(config)).read(kinds.ALL)
