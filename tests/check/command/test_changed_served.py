"""``check --changed-since`` over HTTP: revisions and Events of a live cluster, and kinds without the right to read
them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.handler import ManualTime, serving
from kubectl_eksdoc.embedded.serving.requests import RbacRule, TokenUsers, restricted
from kubectl_eksdoc.kube.api_usage import LiveChanges
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import Resource, Unknown
from tests.cli.running import called, document
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs

LISTS = (kinds.NODES, kinds.PODS, kinds.REPLICA_SETS)


def changes(folder: Path, *lists: Resource) -> dict[str, Any]:
    """The output for a user with the right to list these, and without credentials of AWS."""
    user = restricted("x", [RbacRule(("list",), (each.plural,), (each.group,)) for each in lists])
    api = Api(worlds.plane_of("rich", None), ApiSetup(TokenUsers({"x": user})), ManualTime())
    with serving(api) as server:
        config = kubeconfigs.one(folder / "config", server.url("x"), name="lab")
        asked = ("check", "--only", "kubelet-skew", "--changed-since", "300d", "-o", "json")
        return document(called(*asked, "--kubeconfig", config).out, "UpgradeCheck")


def test_what_may_be_listed_is_told_and_what_may_not_is_named_with_its_right(tmp_path: Path) -> None:
    found = changes(tmp_path, *LISTS)
    assert {each["source"] for each in found["changes"]} >= {"nodes", "revisions"}
    unread = "\n".join(found["changesUnread"])
    assert "pod templates of DaemonSets" in unread
    assert "list events" in unread
    assert "pod templates of Deployments" not in unread


def test_the_past_of_a_cluster_that_forbids_all_is_unknown(tmp_path: Path) -> None:
    api = Api(worlds.plane_of("rich", None), ApiSetup(TokenUsers({"x": restricted("x", [])})), ManualTime())
    with serving(api) as server:
        past = LiveChanges(Connection(kubeconfig=kubeconfigs.one(tmp_path / "config", server.url("x"), name="lab")))
        told = past.reported_changes()
        past.close()
    assert all(isinstance(each, Unknown) for each in (*told.revisions.values(), told.events))
