"""Names of a cluster's objects: one page of metadata for each kind, and any answer of a server."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.kube.config import context_names as contexts
from kubectl_eksdoc.kube.single_objects import MAX_NAMES, names_of, read_names
from kubectl_eksdoc.kube.target import CredentialContext
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.names import CompletionName, NameKind
from tests.any_json import anything
from tests.fakes import kubeconfigs
from tests.fakes.apiserver import ApiServer, json_reply

META = "PartialObjectMetadataList"


def a_node(name: str, **labels: str) -> dict[str, object]:
    return {"metadata": {"name": name, "labels": {key.replace("__", "/"): value for key, value in labels.items()}}}


MANAGED = "eks.amazonaws.com/nodegroup"
NODES = [
    {"metadata": {"name": "b", "labels": {MANAGED: "blue", "topology.kubernetes.io/zone": "a-1a"}}},
    {"metadata": {"name": "a", "labels": {"alpha.eksctl.io/nodegroup-name": "old", MANAGED: "blue"}}},
    {"metadata": {"name": "c", "labels": {"karpenter.sh/nodepool": "spot"}}},
    {"metadata": {"name": "d"}},
]


def asked(
    server: ApiServer, config: str, around: CredentialContext, kind: NameKind, namespace: str = ""
) -> tuple[CompletionName, ...]:
    return names_of(Connection(kubeconfig=config), kind, namespace, around)


def test_nodes_and_groups(server: ApiServer, config: str, around: CredentialContext) -> None:
    server.lists[kinds.NODES] = NODES
    assert asked(server, config, around, NameKind.NODES) == (
        CompletionName("a", "blue, old"),
        CompletionName("b", "blue, a-1a"),
        CompletionName("c", "spot"),
        CompletionName("d"),
    )
    server.lists[kinds.NODE_POOLS] = [a_node("spot"), a_node("empty")]
    assert asked(server, config, around, NameKind.NODE_GROUPS) == (
        CompletionName("blue", "managed node group, 2 nodes"),
        CompletionName("empty", "NodePool, 0 nodes"),
        CompletionName("old", "node group of eksctl, 1 node"),
        CompletionName("spot", "NodePool, 1 node"),
    )
    del server.lists[kinds.NODE_POOLS]
    assert [each.text for each in asked(server, config, around, NameKind.NODE_GROUPS)] == ["blue", "old", "spot"]


def test_one_page_is_asked_for(server: ApiServer, config: str, around: CredentialContext) -> None:
    server.lists[kinds.NODES] = [a_node(f"n{at:04}") for at in range(MAX_NAMES + 50)]
    assert len(asked(server, config, around, NameKind.NODES)) == MAX_NAMES
    assert len(server.asked(kinds.NODES.path)) == 1


def test_pods_of_a_namespace(server: ApiServer, config: str, around: CredentialContext) -> None:
    items = [{"metadata": {"name": "web-1", "namespace": "shop"}}]
    for namespace, path in (("shop", "shop"), ("", "default"), ("a/../b", "a%2F..%2Fb")):
        server.script(f"/api/v1/namespaces/{path}/pods", json_reply({"kind": META, "items": items}))
        assert asked(server, config, around, NameKind.PODS, namespace) == (CompletionName("web-1"),)
    server.lists[kinds.PODS] = items
    assert asked(server, config, around, NameKind.PODS_ANYWHERE) == (CompletionName("shop/web-1"),)


def test_runs_the_latest_first(server: ApiServer, config: str, around: CredentialContext) -> None:
    def head(run: str, begun: str) -> dict[str, object]:
        return {"metadata": {"name": f"eksdoc-run-{run}", "creationTimestamp": begun, "labels": {"eksdoc.io/run": run}}}

    items = [head("20261119-1", "2026-11-19T01:00:00Z"), head("20261120-1", "2026-11-20T01:00:00Z")]
    server.script("/api/v1/namespaces/kube-system/configmaps", json_reply({"kind": META, "items": items}))
    found = asked(server, config, around, NameKind.RUNS, "kube-system")
    assert [each.text for each in found] == ["20261120-1", "20261119-1"]
    assert found[0].about == "begun 2026-11-20T01:00:00Z"
    assert server.requests[-1].query["labelSelector"] == "eksdoc.io/part=head"


KEYS = st.sampled_from(["name", "namespace", "labels", "metadata"])
JSON = anything(keys=KEYS)
LABELS = st.dictionaries(st.sampled_from(["eksdoc.io/run", MANAGED]), JSON)
METADATA = st.fixed_dictionaries(
    {}, optional={"name": JSON, "namespace": JSON, "creationTimestamp": JSON, "labels": JSON | LABELS}
)
ITEMS = st.lists(st.fixed_dictionaries({"metadata": METADATA | JSON}) | JSON, max_size=3) | JSON


@dataclass(frozen=True)
class Said:
    body: bytes


@dataclass(frozen=True)
class Says:
    """A server that returns the same items to every request."""

    items: object

    count_read_time = nullcontext

    def get(self, path: str, query: object, right: str, accept: str = "") -> Said:
        return Said(json.dumps({"kind": META, "items": self.items}).encode())


@given(ITEMS, st.sampled_from(list(NameKind)))
def test_any_answer_gives_names_or_one_of_our_errors(items: object, kind: NameKind) -> None:
    try:
        found = read_names(cast(Transport, Says(items)), kind, "shop")
    except EksdocError:
        return
    assert all(isinstance(each.text, str) and each.text for each in found)


ARN = "arn:aws:eks:eu-west-1:111122223333:cluster/prod"


def test_names_of_the_kubeconfig(tmp_path: Path, around: CredentialContext) -> None:
    path = kubeconfigs.many(
        tmp_path / "c",
        {ARN: {"server": "https://x"}, "lab": {"server": "https://y"}},
        {"me": {}, "odd": {"token": 5}},
        {"prod": (ARN, "me"), "lab": ("lab", "me"), "odd": ("lab", "odd"), "gone": ("nowhere", "me")},
        "lab",
    )
    assert contexts(path, around) == (
        CompletionName("gone", "nowhere"),
        CompletionName("lab", "the current one"),
        CompletionName("odd", "lab"),
        CompletionName("prod", ARN),
    )
    assert contexts("/nowhere", around) == ()
