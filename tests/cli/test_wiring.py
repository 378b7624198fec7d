"""What the user chose decides which reader stands behind the port."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.demo.reader import DemoReader
from kubectl_eksdoc.errors import ConfigError, SnapshotError
from kubectl_eksdoc.flows.drain import READS
from kubectl_eksdoc.host.archives.snapshot import SnapshotReader
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.session.sources import SourceChoice, open_reader


def test_the_demo() -> None:
    reader = open_reader(SourceChoice(demo=True), Connection())
    assert isinstance(reader, DemoReader)
    assert reader.read(READS).source is Source.DEMO


def test_a_dump_that_is_not_there(tmp_path: Path) -> None:
    reader = open_reader(SourceChoice(snapshot=str(tmp_path / "nothing")), Connection())
    assert isinstance(reader, SnapshotReader)
    with pytest.raises(SnapshotError, match="nothing"):
        reader.read(READS)


def test_a_live_cluster_needs_a_kubeconfig(tmp_path: Path) -> None:
    choice = SourceChoice()
    assert choice.live
    with pytest.raises(ConfigError):
        open_reader(choice, Connection(kubeconfig=str(tmp_path / "nothing"))).read(READS)
