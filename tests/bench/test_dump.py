"""The large snapshot is one that the tool reads whole."""

from __future__ import annotations

from pathlib import Path

from bench import dump
from kubectl_eksdoc.host.archives.snapshot import SnapshotReader
from kubectl_eksdoc.model import kinds


def test_all_pods_are_read_and_their_nodes_are_there(tmp_path: Path) -> None:
    written = dump.write(str(tmp_path), "120")
    read = SnapshotReader(str(tmp_path)).read((kinds.NODES, kinds.PODS))
    assert written["pods"] == len(read.pods) == 120
    assert {pod.node for pod in read.pods} == {node.name for node in read.nodes}
    assert all(node.allocatable for node in read.nodes)
    assert written["bytes"] == (tmp_path / "pods.json").stat().st_size > 120 * 6.2 * 1024
