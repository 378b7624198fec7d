"""The snapshot file: complete or absent, readable, and rejected in one sentence if it is invalid."""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
import tarfile
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest

from kubectl_eksdoc.errors import SnapshotError
from kubectl_eksdoc.host.dump import SnapshotFileReader, SnapshotWriter, read_scene_file, read_snapshot
from kubectl_eksdoc.model.cluster import Identity, Source
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import BUDGETS, LEASES, NODES, PODS, KindRead, ReadState
from kubectl_eksdoc.model.snapshots import SceneManifest, Snapshot
from kubectl_eksdoc.objects import journal_lines
from kubectl_eksdoc.session.sources import SourceChoice, open_reader

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=timezone.utc)
SCENE = SceneManifest(
    Identity("lab", "prod", "111122223333", "eu-west-1", "v1.33", "uid-1"),
    NOW,
    (
        KindRead(NODES, ReadState.READ, 2),
        KindRead(PODS, ReadState.READ, 0),
        KindRead(BUDGETS, ReadState.FORBIDDEN, detail="missing right: list poddisruptionbudgets.policy"),
    ),
)


def page(kind: str, *names: str) -> bytes:
    items = [{"metadata": {"name": name, "uid": f"uid-{name}"}} for name in names]
    return json.dumps({"kind": f"{kind}List", "apiVersion": "v1", "items": items}).encode()


def told(scene: SceneManifest = SCENE, **scenes: SceneManifest) -> bytes:
    return journal_lines.write_manifest(Snapshot("0.1.0", Source.LIVE, {"": scene, **scenes}))


def made(path: Path, manifest: bytes | None = None) -> Path:
    file = SnapshotWriter(str(path))
    file.add_page("", NODES, page("Node", "a"))
    file.add_page("", NODES, page("Node", "b"))
    file.add_page("", PODS, page("Pod"))
    file.add_file("", "cluster-answers", b"{}")
    file.finish(told() if manifest is None else manifest)
    return path


def reader(path: Path, scene: str = "") -> SnapshotFileReader:
    snapshot = read_snapshot(str(path))
    assert snapshot is not None
    return SnapshotFileReader(str(path), scene, snapshot.scenes[scene])


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = made(tmp_path / "lab.eksdoc")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and os.listdir(tmp_path) == ["lab.eksdoc"]
    found = reader(path).read((NODES, PODS, BUDGETS, LEASES))
    assert [node.name for node in found.nodes] == ["a", "b"]
    assert (found.identity, found.observed_at, found.source) == (
        Identity("lab", "prod", "111122223333", "eu-west-1", "v1.33", ""),  # no namespace was read
        NOW,
        Source.SNAPSHOT,
    )
    assert {each.resource: (each.state, each.count, each.detail) for each in found.reads} == {
        NODES: (ReadState.READ, 2, ""),
        PODS: (ReadState.READ, 0, ""),
        BUDGETS: (ReadState.FORBIDDEN, 0, "missing right: list poddisruptionbudgets.policy"),
        LEASES: (ReadState.NOT_HELD, 0, "the snapshot has no leases"),
    }
    assert read_scene_file(str(path), "", "cluster-answers") == b"{}"
    assert read_scene_file(str(path), "", "aws-answers") is None


def test_a_list_that_begins_anew_is_in_it_once(tmp_path: Path) -> None:
    file = SnapshotWriter(str(tmp_path / "lab.eksdoc"))
    file.add_page("", NODES, page("Node", "gone"))
    file.discard()
    assert os.listdir(tmp_path) == []
    file = SnapshotWriter(str(tmp_path / "lab.eksdoc"))
    file.add_page("", NODES, page("Node", "gone"))
    file.restart_list("", NODES)
    file.add_page("", NODES, page("Node", "a", "b"))
    file.finish(told())
    assert [node.name for node in reader(tmp_path / "lab.eksdoc").read((NODES,)).nodes] == ["a", "b"]


def test_the_file_that_was_there_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "lab.eksdoc"
    path.write_bytes(b"old")
    file = SnapshotWriter(str(path))
    file.add_page("", NODES, page("Node", "a"))
    assert path.read_bytes() == b"old"
    file.finish(told())
    assert read_snapshot(str(path)) is not None


def test_what_somebody_else_has_written_meanwhile_stays(tmp_path: Path) -> None:
    file = SnapshotWriter(str(tmp_path / "lab.eksdoc"))
    (tmp_path / "lab.eksdoc").write_bytes(b"theirs")
    with pytest.raises(SnapshotError, match="another process has written it meanwhile"):
        file.finish(told())
    assert os.listdir(tmp_path) == ["lab.eksdoc"]
    assert (tmp_path / "lab.eksdoc").read_bytes() == b"theirs"


def test_a_scene_has_its_own_lists(tmp_path: Path) -> None:
    file = SnapshotWriter(str(tmp_path / "lab.eksdoc"))
    file.add_page("", NODES, page("Node", "a", "b"))
    file.add_page("check", NODES, page("Node", "c"))
    own = SceneManifest(SCENE.identity, NOW, (KindRead(NODES, ReadState.READ, 1),))
    file.finish(told(check=own))
    assert [node.name for node in reader(tmp_path / "lab.eksdoc").read((NODES,)).nodes] == ["a", "b"]
    assert [node.name for node in reader(tmp_path / "lab.eksdoc", "check").read((NODES,)).nodes] == ["c"]


def test_pages_that_are_not_there_are_missed(tmp_path: Path) -> None:
    file = SnapshotWriter(str(tmp_path / "lab.eksdoc"))
    file.add_page("", NODES, page("Node", "a"))
    file.finish(told())
    with pytest.raises(SnapshotError, match="it holds 1 of 2 nodes"):
        reader(tmp_path / "lab.eksdoc").read((NODES,))


@pytest.mark.parametrize("of", [None, ReadState.FORBIDDEN])
def test_nothing_is_told_without_nodes_and_pods(tmp_path: Path, of: ReadState | None) -> None:
    file = SnapshotWriter(str(tmp_path / "lab.eksdoc"))
    reads = () if of is None else (KindRead(PODS, of, 0),)
    file.finish(told(SceneManifest(SCENE.identity, NOW, reads)))
    with pytest.raises(SnapshotError, match="it has no list of pods"):
        reader(tmp_path / "lab.eksdoc").read((PODS,))


def packed_anew(path: Path, names: Callable[[list[str]], list[str]], before: str = "") -> Path:
    with tarfile.open(path, "r:gz") as archive:
        held = {each.name: archive.extractfile(each).read() for each in archive}  # type: ignore[union-attr]
    with tarfile.open(path, "w:gz") as archive:
        for name in names(list(held)):
            info = tarfile.TarInfo(before + name)
            info.size = len(held[name])
            archive.addfile(info, io.BytesIO(held[name]))
    return path


def test_packed_anew_as_a_folder_it_is_the_same(tmp_path: Path) -> None:
    path = packed_anew(made(tmp_path / "lab.eksdoc"), list, "./")
    with tarfile.open(path, "r:gz") as archive:
        archive.extractall(tmp_path / "open", filter="data")
    for each in (path, tmp_path / "open"):
        assert len(reader(each).read((NODES, PODS)).nodes) == 2
    assert read_scene_file(str(path), "", "cluster-answers") == b"{}"


def test_in_another_order_it_is_not_taken_for_a_dump(tmp_path: Path) -> None:
    path = packed_anew(made(tmp_path / "lab.eksdoc"), lambda names: sorted(names, reverse=True))
    assert read_snapshot(str(path)) is None
    with pytest.raises(SnapshotError, match="it is a snapshot of kubectl eksdoc"):
        open_reader(SourceChoice(snapshot=str(path)), Connection()).read((NODES, PODS))


@pytest.mark.parametrize("share", [0.2, 0.99])
def test_one_that_is_cut_short_is_refused(tmp_path: Path, share: float) -> None:
    path = made(tmp_path / "lab.eksdoc")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(SnapshotError, match="cannot read the snapshot") as caught:
        open_reader(SourceChoice(snapshot=str(path)), Connection()).read((NODES, PODS))
    assert "\n" not in caught.value.message


def refusal(path: Path) -> str:
    with pytest.raises(SnapshotError) as caught:
        read_snapshot(str(path))
    return caught.value.message


@pytest.mark.parametrize(
    ("manifest", "why"),
    [
        (told().replace(b'"format": 1', b'"format": 9'), "it is of format 9, and this tool reads 1"),
        (b"no json", "what it says of itself cannot be read"),
        (told().replace(b"SnapshotManifest", b"Pod"), "it is 'Pod'"),
        (told().replace(b'"scenes"', b'"others"'), "what it says of itself cannot be read"),
        (
            journal_lines.write_manifest(Snapshot("0.1.0", Source.LIVE, {"check": SCENE})),
            "no scene that all commands see",
        ),
    ],
)
def test_what_it_says_of_itself_is_none(tmp_path: Path, manifest: bytes, why: str) -> None:
    assert why in refusal(made(tmp_path / "lab.eksdoc", manifest))


def test_a_dump_is_none(tmp_path: Path) -> None:
    dump = tmp_path / "dump.json.gz"
    dump.write_bytes(gzip.compress(page("Pod", "a")))
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        archive.add(dump, "dump.json.gz")
    (tmp_path / "dump.tar").write_bytes(held.getvalue())
    assert [read_snapshot(str(path)) for path in (dump, tmp_path / "dump.tar", tmp_path)] == [None, None, None]
    assert read_snapshot("-") is None
