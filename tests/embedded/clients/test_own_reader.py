"""This project's own reader finds in the served cluster what the dump of it holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.handler import ManualTime
from kubectl_eksdoc.host.archives.snapshot import SnapshotReader
from kubectl_eksdoc.kube.reader import LiveReader
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import ReadState
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
