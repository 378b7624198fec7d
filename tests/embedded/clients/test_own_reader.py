"""This project's own reader finds in the served cluster what the dump of it holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.loading import load
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import ManualTime, serving
from kubectl_eksdoc.host.archives.snapshot import SnapshotReader
from kubectl_eksdoc.kube.reader import LiveReader
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.cluster import Cluster, NodeClass
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import ReadState
from kubectl_eksdoc.model.machines import SaidOptions
from tests.embedded.clients import worlds
from tests.examples import one_in
from tests.fakes import kubeconfigs


def without_source(cluster: Cluster, like: Cluster) -> Cluster:
    """What does not depend on whether it was read from a server or from a dump."""
    same = {name: getattr(like, name) for name in ("identity", "source", "observed_at", "reads", "notes")}
    return replace(cluster, **same)


@pytest.mark.parametrize("name", ["small-traps", "rich"])
@pytest.mark.parametrize("page", one_in(2, [7, 2000]))
def test_the_same_facts(name: str, page: int, tmp_path: Path) -> None:
    dumped = SnapshotReader(str(worlds.archive(name))).read(kinds.ALL)
    with worlds.served(name, ManualTime(), pace=None) as (server, _):
        config = kubeconfigs.one(tmp_path / "config", server.url(worlds.ADMIN_TOKEN))
        live = LiveReader(Connection(kubeconfig=config, page_size=page)).read(kinds.ALL)
    states = {read.state for read in live.reads if not read.resource.custom}
    assert states == {ReadState.READ}
    assert live.identity.server_version.startswith("v1.36")
    if name == "small-traps":  # the dump has no namespaces; the server cannot be without
        live = replace(live, namespaces=dumped.namespaces)
    assert without_source(live, dumped) == dumped


def test_what_a_viewer_may_not_see_is_named(tmp_path: Path) -> None:
    with worlds.served("small-traps", ManualTime(), pace=None) as (server, _):
        config = kubeconfigs.one(tmp_path / "config", server.url(worlds.DRAINER_TOKEN))
        live = LiveReader(Connection(kubeconfig=config)).read((kinds.NODES, kinds.PODS, kinds.BUDGETS))
    assert live.read_of(kinds.BUDGETS).state == ReadState.FORBIDDEN
    assert live.read_of(kinds.PODS).state == ReadState.READ and len(live.pods) == 131


@pytest.mark.parametrize("served", ["v1", "v1beta1"])
def test_classes_of_karpenter_are_read_in_the_version_that_is_served(served: str, tmp_path: Path) -> None:
    names = {"plural": "ec2nodeclasses", "singular": "ec2nodeclass", "kind": "EC2NodeClass"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": served, "served": True, "storage": True, "schema": schema}
    options = {"httpTokens": "required", "httpPutResponseHopLimit": 2}
    definition: Doc = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kinds.NODE_CLASSES.full_name},
        "spec": {"group": "karpenter.k8s.aws", "scope": "Cluster", "names": names, "versions": [version]},
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    }
    node_class: Doc = {
        "apiVersion": f"karpenter.k8s.aws/{served}",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default"},
        "spec": {"metadataOptions": options},
    }
    api = Api(load([definition, node_class], worlds.START).plane, worlds.SETUP)
    with serving(api) as server:
        config = kubeconfigs.one(tmp_path / "config", server.url(worlds.ADMIN_TOKEN))
        live = LiveReader(Connection(kubeconfig=config)).read((kinds.NODES, kinds.PODS, kinds.NODE_CLASSES))
    assert live.node_classes == (NodeClass("default", SaidOptions("required", 2)),)
    assert live.read_of(kinds.NODE_CLASSES).state is ReadState.READ
