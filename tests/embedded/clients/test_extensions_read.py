"""The lists that only check reads are served and read: of a recorded cluster, and of the demo before its upgrade."""

from __future__ import annotations

from pathlib import Path

from kubectl_eksdoc.embedded.demo.reader import DemoReader
from kubectl_eksdoc.embedded.loading import load_observed
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import serving
from kubectl_eksdoc.kube.reader import LiveReader
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.objects.single import RawObjects
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs

READ = (kinds.NODES, kinds.PODS, kinds.JOBS, kinds.CRON_JOBS, kinds.DEFINITIONS, kinds.API_SERVICES)


def live(api: Api, tmp_path: Path) -> Cluster:
    with serving(api) as server:
        config = kubeconfigs.one(tmp_path / "config", server.url(worlds.ADMIN_TOKEN))
        return LiveReader(Connection(kubeconfig=config)).read(READ)


def test_of_the_demo(tmp_path: Path) -> None:
    raw = RawObjects()
    held = DemoReader(raw, "check").read((*kinds.ALL, *READ[3:]))
    loaded = load_observed(held, raw)
    assert loaded.notes == ()
    read = live(Api(loaded.plane, worlds.SETUP), tmp_path)
    assert read.api_services == held.api_services
    assert {each.name for each in held.definitions} > {"backups.store.example.com"}
    assert set(read.definitions) > set(held.definitions)  # those that the dump lacks are made up
